"""The votes so far, in the order in which they came, with codes that grow as items and annotators join."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from jamrank.acquisition.channel import LEFT, RIGHT, TIE
from jamrank.data.comparisons import Comparisons
from jamrank.data.duplicates import count_once
from jamrank.data.frames import open_frame
from jamrank.data.parsing import REQUIRED
from jamrank.errors import InputError, ParameterError
from jamrank.io.given import is_path
from jamrank.io.reader import read_comparisons
from jamrank.typing import FloatArray, IntArray

_WORDS = {"left": LEFT, "right": RIGHT, "tie": TIE, "both_bad": TIE, "abstain": None, "": None, None: None}
OUTCOME_NAMES = {LEFT: "left", RIGHT: "right", TIE: "tie", None: "abstain"}


@dataclass(frozen=True)
class Vote:
    """One vote; an outcome of None is an abstention."""

    annotator: Any
    left: Any
    right: Any
    outcome: int | None
    question: Any = None
    weight: float = 1.0


@dataclass
class Ids:
    """Ids in the order in which they were first seen."""

    names: list[Any] = field(default_factory=list)
    codes: dict[Any, int] = field(default_factory=dict)

    def code(self, name: Any) -> int:
        """Return the code of a name, a new one where it is new."""
        if name not in self.codes:
            self.codes[name] = len(self.names)
            self.names.append(name)
        return self.codes[name]

    def places(self, names: NDArray[Any]) -> list[int]:
        """Return the codes of known names."""
        return [self.codes[name] for name in names.tolist()]

    def __len__(self) -> int:
        return len(self.names)


class VotePool:
    """Votes as growing columns of codes.

    items, annotators, questions: Names and codes.
    """

    def __init__(self) -> None:
        self.items, self.annotators, self.questions = Ids(), Ids(), Ids()
        self._rows: list[tuple[int, int, int, int, int, float]] = []
        self._table: FloatArray | None = None

    def __len__(self) -> int:
        return len(self._rows)

    def add(self, vote: Vote) -> tuple[int, int, int]:
        """Record a decided vote or a tie; return the codes of annotator, left and right."""
        assert vote.outcome is not None
        who, left, right = (
            self.annotators.code(vote.annotator),
            self.items.code(vote.left),
            self.items.code(vote.right),
        )
        question = self.questions.code(vote.question)
        self._rows.append((who, left, right, vote.outcome, question, vote.weight))
        self._table = None
        return who, left, right

    @property
    def table(self) -> FloatArray:
        """Columns annotator, left, right, outcome, question and weight, one row per vote."""
        if self._table is None:
            self._table = np.array(self._rows, dtype=np.float64).reshape(-1, 6)
        return self._table

    def columns(self) -> tuple[IntArray, IntArray, IntArray, IntArray]:
        """Return annotator, left, right and outcome of each vote."""
        who, left, right, outcome = self.table[:, :4].astype(np.int64).T
        return who, left, right, outcome

    @property
    def weight(self) -> FloatArray:
        """Weight of each vote."""
        return self.table[:, 5]

    def to_comparisons(self) -> Comparisons:
        """Return the votes as Comparisons."""
        who, left, right, outcome = self.columns()
        item, name = _named(self.items), _named(self.annotators)
        said = np.array([0.0, 1.0, 0.5])[outcome]
        asked = self.table[:, 4].astype(np.int64)
        question = None if len(self.questions) < 2 else _named(self.questions)[asked].tolist()
        weight = None if (self.weight == 1).all() else self.weight
        return Comparisons.from_arrays(
            item[left].tolist(), item[right].tolist(), name[who].tolist(), said, weight, question
        )


def _named(ids: Ids) -> NDArray[Any]:
    names = np.empty(len(ids), dtype=object)
    names[:] = ids.names
    return names


def read_votes(votes: Any) -> list[Vote]:
    """Return votes one by one, from any accepted form.

    votes: A path, a frame or columns in any known form; one mapping with ``annotator``, ``left``, ``right`` and
        ``winner``, or several; or tuples ``(annotator, left, right, winner)`` or with a question as the fifth.
    """
    if isinstance(votes, Comparisons):
        return list(_from_comparisons(count_once(votes)))
    if is_path(votes) or _is_table_of_another_form(votes):
        return list(_from_comparisons(count_once(read_comparisons(votes))))
    if isinstance(votes, Mapping):
        return [_from_mapping(votes)]
    if hasattr(votes, "columns"):
        Comparisons.from_frame(votes)  # raises the usual errors
        table = open_frame(votes, InputError)
        return [_from_mapping(row) for row in table.iter_rows(named=True)]
    if not isinstance(votes, Iterable):
        raise ParameterError(f"votes is a {type(votes).__name__}; expected a path, a data frame, or votes one by one")
    return [_from_mapping(row) if isinstance(row, Mapping) else _from_tuple(row) for row in votes]


def _is_table_of_another_form(votes: Any) -> bool:
    """Return whether votes are columns of lists, or a frame that has not the columns of the canonical form."""
    if isinstance(votes, Mapping):
        return bool(votes) and all(hasattr(one, "__len__") and not isinstance(one, str) for one in votes.values())
    return hasattr(votes, "columns") and not set(REQUIRED) <= set(votes.columns)


def _from_comparisons(votes: Comparisons) -> Iterable[Vote]:
    items, names = votes.items.tolist(), votes.annotators.tolist()
    several = len(votes.questions) > 1
    questions = votes.questions.tolist()
    columns = (votes.vote_pair, votes.vote_annotator, votes.vote_result, votes.vote_swapped, votes.vote_weight)
    for pair, who, result, swapped, weight in zip(*(column.tolist() for column in columns), strict=True):
        if not weight > 0:
            continue
        ends = items[votes.pair_first[pair]], items[votes.pair_second[pair]]
        left, right = reversed(ends) if swapped else ends
        outcome = TIE if result == 2 else LEFT if (result == 1) != swapped else RIGHT
        question = questions[votes.pair_question[pair]] if several else None
        yield Vote(names[who], left, right, outcome, question, weight)


def _from_mapping(row: Mapping[Any, Any]) -> Vote:
    missing = [name for name in ("annotator", "left", "right", "winner") if name not in row]
    if missing:
        raise InputError(f"a vote without {missing[0]}", "expected annotator, left, right and winner")
    weight = row.get("weight")
    fields = (row["annotator"], row["left"], row["right"], row["winner"], row.get("question"))
    return _from_tuple(fields, 1.0 if weight is None else float(weight))


def _from_tuple(row: Any, weight: float = 1.0) -> Vote:
    if isinstance(row, Vote):
        return row
    if not (isinstance(row, (tuple, list)) and len(row) in (4, 5)):
        raise InputError(f"a vote given as {row!r}", "expected (annotator, left, right, winner), or a data frame")
    who, left, right, winner = row[:4]
    word = winner.strip().lower() if isinstance(winner, str) else winner
    if word not in _WORDS:
        raise InputError(f"winner is {winner!r}", "expected left, right, tie, both_bad or abstain")
    if left == right:
        raise InputError(f"item {left!s} compared with itself", "expected two items")
    return Vote(who, left, right, _WORDS[word], row[4] if len(row) == 5 else None, weight)
