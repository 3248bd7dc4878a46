"""How a file of votes was read."""

from __future__ import annotations

from dataclasses import dataclass, field

from jamrank.text import many

BOTH_BAD, INCONSISTENT, ABSTAINED, NO_ANSWER = "both bad", "tie (inconsistent)", "abstained", "no answer"
# What the models make of outcomes that are neither a win nor a plain tie.
_TAKEN = {BOTH_BAD: "counts as a tie", INCONSISTENT: "counts as a tie", ABSTAINED: "no vote", NO_ANSWER: "no vote"}


class NotReadError(Exception):
    """A column is looked at that was not read."""


@dataclass(frozen=True)
class ReadLog:
    """How a file was read.

    Attributes
    ----------
    source : str
        The file.
    format : str
        The name of the format.
    title : str
        Title of the format.
    chosen : str
        ``"recognised"``, ``"named"`` (with ``format=``) or ``"mapped"``.
    rows : int
        Rows or records of the file.
    outcomes : dict
        Number of votes by outcome; both bad, abstained and no answer are counted separately. Empty for a
        canonical file without any of these.
    set_aside : dict
        Number of rows or answers that are not votes, by reason.
    notes : tuple of str
        Further notes.
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
        """Whether nothing needs a note: the canonical format, and every row a vote or empty."""
        return self.format == "canonical" and not (self.outcomes or self.set_aside or self.notes)

    def __str__(self) -> str:
        parts = [f"{self.source}: {self.title}, {many(self.rows, 'row')}"]
        counts = [
            f"{self.outcomes[name]:,} {name} ({taken})" for name, taken in _TAKEN.items() if name in self.outcomes
        ]
        counts += [f"{count:,} set aside ({reason})" for reason, count in self.set_aside.items()]
        return "; ".join([*parts, *([", ".join(counts)] if counts else []), *self.notes])
