"""Typed errors and warnings.

Every error that a user can cause is a :class:`JamrankError` whose text is one line that says what was found,
where, and what would be right. The command line prints that line and exits with code 2.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence
from typing import Any, Self

from jamrank.text import safe_line

__all__ = [
    "BudgetError",
    "ClusterError",
    "DisconnectedWarning",
    "FeatureError",
    "FeatureWarning",
    "FormatError",
    "GoldError",
    "GoldWarning",
    "GpuError",
    "GpuFallbackWarning",
    "GradesIgnoredWarning",
    "GroupWarning",
    "InputError",
    "JamrankError",
    "JamrankWarning",
    "JudgeError",
    "LedgerError",
    "NotConvergedWarning",
    "NotFittedError",
    "NotStoredError",
    "ParameterError",
    "ScratchError",
    "ScratchWarning",
    "SlowKernelsWarning",
    "SparseVotesWarning",
    "TiesExcludedWarning",
    "UncertaintyWarning",
    "UnknownItemError",
    "warn",
]


# Of more rows with the same problem, an error names the first.
_ROWS_NAMED = 5


class JamrankError(ValueError):
    """Base of everything that jamrank raises on purpose.

    Its text may quote files and names: it is made safe to print, on one line of bounded length.
    """

    def __init__(self, *parts: object) -> None:
        super().__init__(*(safe_line(part) if isinstance(part, str) else part for part in parts))


class InputError(JamrankError):
    """Invalid votes.

    Parameters
    ----------
    problem : str
        What was found.
    remedy : str
        What would be right.
    source : str, optional
        The file, where there is one.
    row : int, optional
        The row, counted from 1 (the header of a file is not counted).
    rows : sequence of int, optional
        All rows with the same problem, `row` among them; only `row` unless given. Empty where the problem is not one
        of single rows, although it was seen in one.
    reason : str
        The problem without what was found in one row; `problem` unless given.
    """

    def __init__(
        self,
        problem: str,
        remedy: str = "",
        *,
        source: str | None = None,
        row: int | None = None,
        rows: Sequence[int] | None = None,
        reason: str = "",
    ) -> None:
        self.problem, self.remedy = problem, remedy
        self.source, self.row, self.reason = source, row, reason or self.problem
        self.rows: tuple[int, ...] = tuple(rows) if rows is not None else () if row is None else (row,)
        where = ", ".join(filter(None, [source, f"row {row}" if row is not None else None]))
        same = "the same" if self.reason == self.problem else self.reason
        more = _more_rows([other for other in self.rows if other != row], same)
        what = "; ".join(filter(None, [self.problem, more, self.remedy]))
        super().__init__(": ".join(filter(None, [where, what])))

    def within(self, source: str) -> Self:
        """Return the same error, naming the file that it came from."""
        return self.but(source=source)

    def but(self, **changes: Any) -> Self:
        """Return the same error with something said otherwise: `remedy`, `source`, `row`, `rows`."""
        own = {name: getattr(self, name) for name in ("problem", "remedy", "source", "row", "rows", "reason")}
        return type(self)(**{**own, **changes})


def _more_rows(rows: Sequence[int], what: str) -> str:
    """Name further rows with the same problem, though perhaps with other values."""
    if not rows:
        return ""
    named = ", ".join(map(str, rows[:_ROWS_NAMED]))
    if len(rows) == 1:
        return f"{what} in row {named}"
    return f"{what} in {len(rows):,} more rows: {named}{', …' if rows[_ROWS_NAMED:] else ''}"


class FeatureError(InputError):
    """Features that do not fit the votes or the model."""


class GoldError(InputError):
    """Pairs of known truth that contradict each other, or cannot be read."""


class ScratchError(InputError):
    """Scratch files of a fit from disk that were changed or damaged."""


class FormatError(JamrankError):
    """A saved model that this version cannot read."""


class ParameterError(JamrankError):
    """An invalid argument."""


class ClusterError(JamrankError):
    """A cluster that cannot be reached, or that failed in the middle of a fit."""


class NotFittedError(JamrankError, AttributeError):
    """A result was requested before ``fit``."""


class NotStoredError(JamrankError, LookupError):
    """A saved or pickled model has neither the requested result nor the votes to compute it."""


class UnknownItemError(JamrankError, LookupError):
    """An item that the model has never seen and cannot score."""


class GpuError(JamrankError):
    """A GPU that is missing or cannot run the fit."""


class LedgerError(JamrankError):
    """A ledger of votes that cannot be opened, or something that cannot be written to it."""


class BudgetError(LedgerError):
    """A request that would exceed the budget; it was neither recorded nor sent."""


class JudgeError(JamrankError):
    """A judge that is described wrongly, or cannot be reached."""


class JamrankWarning(UserWarning):
    """Base of jamrank's warnings."""


class GradesIgnoredWarning(JamrankWarning):
    """Votes say by how much an item won, and the model uses only the winners."""


class TiesExcludedWarning(JamrankWarning):
    """Tie votes were left out of a likelihood without ties."""


class CopiesWarning(JamrankWarning):
    """Annotators cast identical votes, which are counted once."""


class DuplicatesWarning(JamrankWarning):
    """Every vote occurs several times, as if a file was included more than once."""


class DisconnectedWarning(JamrankWarning):
    """The items fall into groups with no vote between them, whose scores cannot be compared."""


class FeatureWarning(JamrankWarning):
    """A feature was constant or had gaps."""


class GoldWarning(JamrankWarning):
    """Some pairs of known truth could not be used."""


class GroupWarning(JamrankWarning):
    """A group of votes could not be ranked."""


class NotConvergedWarning(JamrankWarning):
    """The fit stopped at ``max_iter``."""


class SparseVotesWarning(JamrankWarning):
    """Votes do not determine the scores of some items; only the prior or the features do."""


class GpuFallbackWarning(JamrankWarning):
    """A fit requested on a GPU runs in memory."""


class ScratchWarning(JamrankWarning):
    """Scratch files of an earlier fit from disk were damaged and are recreated."""


class SlowKernelsWarning(JamrankWarning):
    """The compiled kernels are missing, and numpy is used."""


class UncertaintyWarning(JamrankWarning):
    """Intervals are based on a matrix that had to be modified."""


def warn(message: str, category: type[JamrankWarning]) -> None:
    """Warn with the location of the caller outside jamrank."""
    level, frame = 2, sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] == "jamrank":
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)
