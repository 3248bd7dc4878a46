"""Gold pairs: their truths enter a fit as votes of an annotator who never errs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from jamrank.data.comparisons import Comparisons
from jamrank.data.frames import open_frame
from jamrank.data.ids import as_array, as_column, encode, locate
from jamrank.data.parsing import fill_questions, parse_winners, refuse_missing, refuse_self_pairs
from jamrank.data.storage import FIRST, MISSING, TIE, DenseVotes, VoteTable
from jamrank.errors import GoldError, GoldWarning, InputError, warn
from jamrank.text import many
from jamrank.typing import BoolArray, IntArray

_NEEDED = ("left", "right", "winner")
_SHAPES = "give a frame with left, right and winner, or (better, worse) pairs of items"


@dataclass(frozen=True)
class KnownTruths:
    """Votes, and the same votes with known truths.

    votes: The votes; a gold pair without votes is included.
    with_truths: The votes and those of one further annotator, the last, who states the known truths.
    n_pairs: Number of known truths.
    """

    votes: Comparisons
    with_truths: Comparisons
    n_pairs: int


def known_truths(gold: Any, votes: Comparisons, only_voted: bool = False) -> KnownTruths:
    """Match gold pairs with the votes.

    gold: A frame has ``left``, ``right``, ``winner`` (``left`` or ``right``) and optionally ``question``; without it
        a truth holds for all questions of the pair.
    votes: The votes.
    only_voted: Leave out pairs on which nobody voted.
    Raises GoldError: If a truth is missing, a tie, or contradicts another.
    """
    try:
        left, right, first_better, question = _columns(gold)
    except InputError as error:
        raise GoldError(error.problem, error.remedy, row=error.row, rows=error.rows) from None
    at_left, at_right = locate(votes.items, left), locate(votes.items, right)
    asked = None if question is None else locate(votes.questions, question)
    known = (at_left >= 0) & (at_right >= 0)
    if asked is not None:
        known &= asked >= 0
    _tell(int((~known).sum()), "items or questions that no vote names")
    turned = at_left > at_right
    first = np.where(turned, at_right, at_left)[known]
    second = np.where(turned, at_left, at_right)[known]
    truth = (first_better ^ turned)[known]
    rows = _spread(votes, first, second, truth, None if asked is None else asked[known])
    rows = _distinct(rows, votes)
    there = _places(votes, rows)
    if only_voted and not (there >= 0).all():
        _tell(int((there < 0).sum()), "pairs on which nobody voted")
        rows, there = rows[there >= 0], there[there >= 0]
    if not len(rows):
        raise GoldError("no gold pair is about items that were voted on", "check the ids")
    if not (there >= 0).all():
        votes = _listed(votes, rows[there < 0, :3])
        there = _places(votes, rows)
    return KnownTruths(votes, _with_truths(votes, there, rows[:, 3]), len(rows))


def _columns(gold: Any) -> tuple[NDArray[Any], NDArray[Any], BoolArray, NDArray[Any] | None]:
    """Return left, right, whether left is better, and questions if there are any."""
    if not hasattr(gold, "columns") and not hasattr(gold, "column_names"):
        better, worse = _pairs(gold)
        return better, worse, np.ones(len(better), dtype=bool), None
    frame = open_frame(gold, GoldError)
    missing = [name for name in _NEEDED if name not in frame.columns]
    if missing:
        raise GoldError(
            f"gold has no column {', '.join(map(repr, missing))} among {', '.join(map(repr, frame.columns))}",
            "needed: left, right, winner; optional: question",
        )
    columns = {name: as_column(frame.get_column(name).to_native()) for name in frame.columns if name != "winner"}
    for name in ("left", "right"):
        refuse_missing(name, columns[name], "gold pair")
    winner = parse_winners(as_column(frame.get_column("winner").to_native()))
    open_ones = np.flatnonzero(winner >= TIE)
    if len(open_ones):
        found = "tie" if winner[open_ones[0]] == TIE else "missing"
        raise GoldError(f"winner is {found}", "a gold pair has a winner, left or right", row=int(open_ones[0]) + 1)
    items, (left, right) = encode(columns["left"], columns["right"])
    refuse_self_pairs(items, left, right)
    question = as_array(fill_questions(columns["question"])) if "question" in columns else None
    return items[left], items[right], winner == FIRST, question


def _pairs(gold: Any) -> tuple[NDArray[Any], NDArray[Any]]:
    try:
        pairs = [tuple(pair) for pair in gold if not isinstance(pair, str)] if isinstance(gold, Iterable) else None
    except TypeError:
        pairs = None
    if isinstance(gold, str) or pairs is None or any(len(pair) != 2 for pair in pairs):
        raise GoldError(f"gold is a {type(gold).__name__} that is not a list of pairs", _SHAPES)
    if not pairs:
        raise GoldError("gold has no pairs", _SHAPES)
    better, worse = as_column([pair[0] for pair in pairs]), as_column([pair[1] for pair in pairs])
    items, codes = encode(better, worse)
    refuse_self_pairs(items, *codes)
    return items[codes[0]], items[codes[1]]


def _spread(votes: Comparisons, first: IntArray, second: IntArray, truth: Any, question: IntArray | None) -> IntArray:
    """Return rows of first, second, question and truth; without questions one for each that the pair has."""
    if question is not None or not votes.has_questions:
        asked = np.zeros(len(first), dtype=np.int64) if question is None else question
        return np.stack([first, second, asked, truth], axis=1).astype(np.int64)
    key = votes.pair_first.astype(np.int64) * votes.n_items + votes.pair_second
    wanted = first * votes.n_items + second
    begin, end = np.searchsorted(key, wanted, "left"), np.searchsorted(key, wanted, "right")
    rows = [
        (a, b, q, t)
        for a, b, t, lo, hi in zip(first, second, truth, begin, end, strict=True)
        for q in (votes.pair_question[lo:hi] if hi > lo else [0])
    ]
    return np.array(rows, dtype=np.int64).reshape(-1, 4)


def _distinct(rows: IntArray, votes: Comparisons) -> IntArray:
    rows = np.unique(rows, axis=0)
    same = (rows[1:, :3] == rows[:-1, :3]).all(axis=1)
    if same.any():
        first, second = rows[int(same.argmax()), :2]
        raise GoldError(
            f"gold says both that {votes.items[first]} beats {votes.items[second]} and the opposite", "keep one"
        )
    return np.asarray(rows)


def _places(votes: Comparisons, rows: IntArray) -> IntArray:
    """Return the pair of each row; -1 if the votes have no such pair."""
    key = votes.pair_first.astype(np.int64) * votes.n_items + votes.pair_second
    wanted = rows[:, 0] * votes.n_items + rows[:, 1]
    begin, end = np.searchsorted(key, wanted, "left"), np.searchsorted(key, wanted, "right")
    places = np.full(len(rows), -1, dtype=np.int64)
    for row, (lo, hi) in enumerate(zip(begin, end, strict=True)):
        at = lo + int(np.searchsorted(votes.pair_question[lo:hi], rows[row, 2]))
        if at < hi and votes.pair_question[at] == rows[row, 2]:
            places[row] = at
    return places


def _listed(votes: Comparisons, pairs: IntArray) -> Comparisons:
    """Return the votes with further pairs that have no votes."""
    old = votes.pair_first, votes.pair_second, votes.pair_question
    first, second, question = (np.concatenate([own, new]) for own, new in zip(old, pairs.T, strict=True))
    order = np.lexsort((question, second, first))
    table = votes.storage.table
    counts = np.concatenate([np.diff(table.start), np.zeros(len(pairs), dtype=np.int64)])[order]
    storage = replace(table, start=np.concatenate([[0], np.cumsum(counts)]))
    first, second, question = (column[order].astype(np.int32) for column in (first, second, question))
    return replace(votes, storage=storage, pair_first=first, pair_second=second, pair_question=question)


def _with_truths(votes: Comparisons, pair: IntArray, truth: IntArray) -> Comparisons:
    """Return the votes with those of an annotator who states the known truths."""
    annotators = np.empty(votes.n_annotators + 1, dtype=object)
    annotators[:-1] = votes.annotators
    if isinstance(votes.storage, DenseVotes):
        column = np.full((votes.n_pairs, 1), MISSING, dtype=np.int8)
        column[pair, 0] = truth
        results = np.concatenate([votes.storage.results, column], axis=1)
        missing = votes.n_missing + votes.n_pairs - len(pair)
        return replace(
            votes, annotators=annotators, storage=DenseVotes(results, votes.storage.swapped), n_missing=missing
        )
    table = votes.storage
    order = np.argsort(pair)
    at, said = table.start[pair[order] + 1], truth[order].astype(np.int8)
    more = np.zeros(len(table.start), dtype=np.int64)
    more[pair + 1] = 1

    def inserted(values: NDArray[Any], new: Any) -> NDArray[Any]:
        return np.insert(values, at, new) if len(values) else values

    storage = VoteTable(
        table.start + np.cumsum(more),
        np.insert(table.annotator, at, votes.n_annotators),
        np.insert(table.result, at, said),
        inserted(table.swapped, False),
        inserted(table.weight, 1.0),
        inserted(table.grade, 0),
    )
    return replace(votes, annotators=annotators, storage=storage)


def _tell(n_left_out: int, why: str) -> None:
    if n_left_out:
        warn(f"{many(n_left_out, 'gold pair')} left out: {why}", GoldWarning)
