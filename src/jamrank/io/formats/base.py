"""What a format is, and what it makes of a file."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import polars as pl
from numpy.typing import NDArray

from jamrank.data.parsing import SELF_PAIR, is_soft
from jamrank.errors import InputError
from jamrank.io.documents import shown
from jamrank.io.formats.outcomes import LEFT, MISSING, OUTCOMES, RIGHT, TIE, WINNERS, Outcomes, categories_of, turned
from jamrank.io.formats.table import Table
from jamrank.typing import FloatArray, IntArray

_WINNER = pl.Enum(list(dict.fromkeys(word for word in WINNERS if word is not None)))


@dataclass(frozen=True)
class Ballots:
    """The votes of a file, one per row.

    Attributes
    ----------
    annotator, left, right : polars.Series
        Ids: text or whole numbers.
    said : ndarray of int8
        Outcomes, from :mod:`jamrank.io.formats.outcomes`.
    weight : ndarray of float64, optional
    question : polars.Series, optional
    row : ndarray of int, optional
        The row of the file from which each vote came, counted from 0; without it, its own.
    sides : bool
        Whether the file says which item was shown on which side.
    set_aside : dict
        How many rows or answers are no votes, by reason.
    notes : tuple of str
        What else a user should know; empty ones are dropped.
    p_left : ndarray of float64, optional
        The probability that left is better, of soft votes; NaN of others.
    grade : ndarray of int8, optional
        How clearly the winner won, from 1; 0 where that is not known.
    """

    annotator: pl.Series
    left: pl.Series
    right: pl.Series
    said: Outcomes
    weight: FloatArray | None = None
    question: pl.Series | None = None
    row: IntArray | None = None
    sides: bool = True
    set_aside: dict[str, int] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    p_left: FloatArray | None = None
    grade: NDArray[np.int8] | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "notes", tuple(filter(None, self.notes)))

    def __len__(self) -> int:
        return len(self.said)

    def frame(self) -> pl.DataFrame:
        """Return the votes in the canonical form, with both-bad and abstained votes distinguished from ties and gaps.

        Raises
        ------
        InputError
            If an item is compared with itself.
        """
        (left, right), said, p_left = of_one_type(self.left, self.right), self.said, self.p_left
        same = left == right
        if same.any():
            at = same.arg_true().to_numpy()
            rows = np.unique((at if self.row is None else self.row[at]) + 1).tolist()
            problem = f"{shown(left[int(at[0])])} is compared with itself"
            raise InputError(
                problem, "left and right must be different items", row=rows[0], rows=rows, reason=SELF_PAIR
            )
        if not self.sides:
            # Who won must not look like who stood on the left: the item that sorts first stands there.
            swap = left > right
            if swap.any():
                said = turned(said, swap.to_numpy())
                p_left = None if p_left is None else np.where(swap.to_numpy(), 1 - p_left, p_left)
                left, right = left.zip_with(~swap, right), right.zip_with(~swap, left)
        winner = pl.Series(WINNERS, dtype=_WINNER).gather(pl.Series(said.astype(np.uint8)))
        columns = [
            self.annotator.alias("annotator"),
            left.alias("left"),
            right.alias("right"),
            winner.alias("winner"),
        ]
        if self.weight is not None:
            columns.append(pl.Series("weight", self.weight))
        if self.question is not None:
            columns.append(self.question.alias("question"))
        if p_left is not None:
            columns.append(pl.Series("p_left", p_left, nan_to_null=True))
        if self.grade is not None and self.grade.any():
            columns.append(pl.Series("grade", self.grade))
        return pl.DataFrame(columns)

    def outcomes(self) -> dict[str, int]:
        """Return how many votes came out in which way."""
        # Several times as fast as bincount, which makes indices of the bytes.
        counts = [int(np.count_nonzero(self.said == outcome)) for outcome in range(len(OUTCOMES))]
        return {name: count for name, count in zip(OUTCOMES, counts, strict=True) if count}


@dataclass(frozen=True)
class Format:
    """A form in which votes come.

    Attributes
    ----------
    name : str
        As in ``--format``.
    title : str
        As people call it.
    columns : tuple of str
        Those it cannot do without; ``a|b`` for either.
    read : callable
        Table to :class:`Ballots`.
    fits : callable, optional
        Whether a table with these columns is of this form, where the columns alone do not tell.
    kind : callable, optional
        The title of a table of this form, where it has several releases.
    coded : bool
        Whether `read` takes ids and words as categories too, which large files come in; as text otherwise.
    """

    name: str
    title: str
    columns: tuple[str, ...]
    read: Callable[[Table], Ballots]
    fits: Callable[[Table], bool] | None = None
    kind: Callable[[Table], str] | None = None
    coded: bool = False

    def lacks(self, table: Table) -> list[str]:
        """Return the columns that a table would need to be of this form."""
        return [name for name in self.columns if not any(one in table for one in name.split("|"))]

    def matches(self, table: Table) -> bool:
        """Return whether a table is of this form."""
        return not self.lacks(table) and (self.fits is None or self.fits(table))

    def called(self, table: Table) -> str:
        """Return the title for this table."""
        return self.title if self.kind is None else self.kind(table)


def soft_votes(p_left: FloatArray) -> tuple[Outcomes, FloatArray | None]:
    """Understand votes given as the probability that left is better.

    Parameters
    ----------
    p_left : ndarray
        0 to 1, NaN for no answer.

    Returns
    -------
    said : ndarray of int8
        The likelier side; exactly ½ is a tie.
    soft : ndarray of float64 or None
        The probability of votes that are neither certain nor ties, NaN for others; None where there are none.
    """
    said = np.select([np.isnan(p_left), p_left == 0.5, p_left > 0.5], [MISSING, TIE, LEFT], RIGHT).astype(np.int8)
    soft = is_soft(p_left)
    return said, np.where(soft, p_left, np.nan) if soft.any() else None


def of_one_type(one: pl.Series, other: pl.Series) -> tuple[pl.Series, pl.Series]:
    """Return two columns of ids as they are, both as text where one is, or in the same sorted categories."""
    if isinstance(one.dtype, pl.Enum) and isinstance(other.dtype, pl.Enum):
        together = pl.concat(map(categories_of, (one, other))).unique().sort()
        kind = pl.Enum(together)
        return in_categories(one, kind), in_categories(other, kind)
    if one.dtype == other.dtype:
        return one, other
    return one.cast(pl.String), other.cast(pl.String)


def in_categories(column: pl.Series, kind: pl.Enum) -> pl.Series:
    """Return a column of categories as one of others, which these are among."""
    return categories_of(column).cast(kind).gather(column.to_physical()).alias(column.name)
