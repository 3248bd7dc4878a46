"""How a file of votes was understood."""

from __future__ import annotations

from dataclasses import dataclass, field

from jamrank.text import many

__all__ = ["ABSTAINED", "BOTH_BAD", "INCONSISTENT", "NO_ANSWER", "ReadLog"]

BOTH_BAD, INCONSISTENT, ABSTAINED, NO_ANSWER = "both bad", "tie (inconsistent)", "abstained", "no answer"
# What the models make of outcomes that are neither a win nor a plain tie.
_TAKEN = {BOTH_BAD: "counts as a tie", INCONSISTENT: "counts as a tie", ABSTAINED: "no vote", NO_ANSWER: "no vote"}


@dataclass(frozen=True)
class ReadLog:
    """How a file was understood.

    Attributes
    ----------
    source : str
        The file.
    format : str
        The name of the format.
    title : str
        The format as people call it.
    chosen : str
        ``"recognised"``, ``"named"`` (with ``format=``) or ``"mapped"``.
    rows : int
        Rows or records of the file.
    outcomes : dict
        How many votes came out in which way; both bad, abstained and no answer are counted separately. Empty for a
        canonical file without any of these.
    set_aside : dict
        How many rows or answers are no votes, by reason.
    notes : tuple of str
        What else to know.
    sides : bool
        Whether the file says which item was shown on which side.
    asked_in : str, optional
        The column of the questions, where it was found by its name and by its values.
    """

    source: str
    format: str
    title: str
    chosen: str = "recognised"
    rows: int = 0
    outcomes: dict[str, int] = field(default_factory=dict)
    set_aside: dict[str, int] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    sides: bool = True
    asked_in: str | None = None

    @property
    def plain(self) -> bool:
        """Whether there is nothing to tell: the canonical form, and every row a vote or left empty."""
        return self.format == "canonical" and not (self.outcomes or self.set_aside or self.notes)

    def __str__(self) -> str:
        told = [f"{self.source}: {self.title}, {many(self.rows, 'row')}"]
        counts = [
            f"{self.outcomes[name]:,} {name} ({taken})" for name, taken in _TAKEN.items() if name in self.outcomes
        ]
        counts += [f"{count:,} set aside ({reason})" for reason, count in self.set_aside.items()]
        return "; ".join([*told, *([", ".join(counts)] if counts else []), *self.notes])
