"""What a check finds, and all of it together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

LEVELS = ("problem", "warning", "note", "good")


@dataclass(frozen=True)
class Finding:
    """One finding.

    Attributes
    ----------
    level : {"problem", "warning", "note", "good"}
        How serious it is. With a problem the votes cannot be ranked as they are.
    sentence : str
        What was found and what to do about it.
    about : str
        The subject, such as ``"connection"`` or ``"sign"``.
    """

    level: str
    sentence: str
    about: str = ""


@dataclass(frozen=True)
class CheckResult:
    """What one check returns: findings, and numbers and names for :class:`Health`."""

    findings: Sequence[Finding] = ()
    counts: Mapping[str, int | float] = field(default_factory=dict)
    measures: Mapping[str, float | None] = field(default_factory=dict)
    details: Mapping[str, list[Any]] = field(default_factory=dict)


@dataclass(frozen=True)
class Health:
    """The result of all checks of a data set.

    Attributes
    ----------
    counts : dict
        Numbers of items, annotators, votes and so on.
    findings : list of Finding
        Sorted by level, problems first.
    measures : dict
        Shares and other real numbers; None where there is nothing to measure.
    details : dict
        Lists of ids: bridges, items that never lost, annotators who contradict themselves.
    """

    counts: dict[str, int | float]
    findings: list[Finding]
    measures: dict[str, float | None] = field(default_factory=dict)
    details: dict[str, list[Any]] = field(default_factory=dict)

    @property
    def comparable(self) -> bool:
        """Whether all items can be put on one scale."""
        return not any(finding.level == "problem" and finding.about != "sign" for finding in self.findings)

    @property
    def settled(self) -> bool:
        """Whether the votes determine the direction of the ranking."""
        return not any(finding.level == "problem" and finding.about == "sign" for finding in self.findings)

    @property
    def sentences(self) -> list[str]:
        """The sentences of all findings, problems first."""
        return [finding.sentence for finding in self.findings]

    @property
    def reasons(self) -> list[str]:
        """Why the votes cannot be ranked as they are; empty where they can."""
        return [finding.sentence for finding in self.findings if finding.level == "problem"]

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain data for JSON."""
        return {"comparable": self.comparable, "settled": self.settled, "reasons": self.reasons, **asdict(self)}
