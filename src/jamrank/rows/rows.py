"""Rows of a fit: pairs of items, each with the list of votes that share one truth.

Where the same lists occur again and again they are stored once, as *patterns*: a jury of six has at most 3⁶ of them
however many pairs it judges. In a crowd nearly every row has a list of its own, and *lists* say so. The rest of the
code knows neither by name: it asks rows for sums over their votes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Protocol, TypeVar
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from jamrank.data.comparisons import FIRST, TIE, Comparisons
from jamrank.data.storage import DenseVotes, VoteTable
from jamrank.kernels import default_threads, kernels
from jamrank.typing import BoolArray, FloatArray, Int32Array, IntArray

__all__ = [
    "ROWS_BY",
    "Ballots",
    "Codes",
    "Links",
    "Patterns",
    "RaggedVotes",
    "Rows",
    "as_ties",
    "by_side",
    "with_known",
]

_Value = TypeVar("_Value", bound=np.generic)
# One byte where there are few patterns, else four.
Codes = NDArray[np.uint8] | Int32Array
_FEW = 256

# Patterns pay while few are distinct: looked for in a sample of the pairs, if there are more than these.
_SAMPLE, _MOST_DISTINCT = 4096, 0.5
_LARGEST_JURY, _SMALL_JURY, _LOOKED_AT = 64, 8, 64
_MOST_REPEATS = 1.5
_COUNTED = 1 << 18
# With so many votes on a pair of items, what they share is better worked out once.
_RUN_PAYS = 3
# By so many nats a known truth outweighs votes against it; still more would cost digits of the objective.
_CERTAIN = 1000.0


class Ballots(Protocol):
    """The votes on each row.

    A *confusion group* is a set of votes that distort the truth in the same way: an annotator, or an annotator within
    a cluster. A vote is one integer, twice its group plus 1 if it is for the row's first item. Beyond
    ``n_confusion_groups`` there may be ``n_known`` more, which always report the truth (gold); no sums are returned
    for them.
    """

    n_confusion_groups: int
    n_known: int

    def over_votes(self, values: FloatArray, power: int) -> FloatArray:
        """Add up a value for each row over its votes, times a power of their weight, by coin and side."""
        ...

    def matrix(self, rows: slice) -> csr_array:
        """Return the weight of every vote by list of votes and kind; a kind is the integer that stands for a vote."""
        ...

    def clustered(self, cluster: Int32Array, n_clusters: int) -> Ballots:
        """Return the same votes with a coin for each annotator and cluster of rows."""
        ...


@dataclass(frozen=True)
class RaggedVotes:
    """A list of votes for each row: those of row ``r`` are ``start[r]:start[r + 1]``; no weights: all 1."""

    start: IntArray
    vote: Int32Array
    weight: FloatArray
    n_confusion_groups: int
    n_known: int = 0

    @property
    def vote_row(self) -> IntArray:
        """The row of each vote."""
        return np.repeat(np.arange(len(self.start) - 1), np.diff(self.start))

    def over_votes(self, values: FloatArray, power: int) -> FloatArray:
        """Add up a value for each row over its votes, by coin and side."""
        per_vote = np.repeat(values, np.diff(self.start))
        if len(self.weight):
            per_vote *= self.weight**power
        return _by_coin(self.vote, per_vote, self.n_confusion_groups)

    def matrix(self, rows: slice) -> csr_array:
        """Return the weight of every vote by row, of some of them, and kind."""
        start = self.start[rows.start : rows.stop + 1]
        at = slice(start[0], start[-1])
        weight = self.weight[at] if len(self.weight) else np.ones(at.stop - at.start)
        return _kinds(weight, self.vote[at], start - start[0], self)

    def clustered(self, cluster: Int32Array, n_clusters: int) -> RaggedVotes:
        """Return the same votes with a coin for each annotator and cluster of rows."""
        of_vote = np.repeat(cluster, np.diff(self.start))
        vote = _in_cluster(self.vote, of_vote, n_clusters)
        n_confusion_groups, n_known = self.n_confusion_groups * n_clusters, self.n_known * n_clusters
        return replace(self, vote=vote.astype(np.int32), n_confusion_groups=n_confusion_groups, n_known=n_known)


@dataclass(frozen=True)
class Patterns:
    """The distinct lists of votes, and which each row has; those of pattern ``u`` are ``start[u]:start[u + 1]``."""

    of_row: Codes
    start: IntArray
    vote: Int32Array
    weight: FloatArray
    n_confusion_groups: int
    n_known: int = 0

    def __len__(self) -> int:
        return len(self.start) - 1

    @cached_property
    def vote_pattern(self) -> IntArray:
        """The pattern of each vote."""
        return np.repeat(np.arange(len(self)), np.diff(self.start))

    @cached_property
    def share(self) -> FloatArray:
        """(votes for the first item + 1) / (votes + 2) of each pattern."""
        wins, vote_counts = (
            np.bincount(self.vote_pattern, values, len(self))
            for values in (self.weight * (self.vote % 2), self.weight)
        )
        return np.asarray((wins + 1) / (vote_counts + 2), dtype=np.float64)

    def log_likelihoods(self, tables: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the log-likelihood of each pattern if the first, or the second, item is truly better."""
        by_vote = with_known(tables, self.n_known).reshape(-1, 2)[self.vote] * self.weight[:, None]
        first, second = (np.bincount(self.vote_pattern, by_vote[:, truth], len(self)) for truth in (1, 0))
        return first.astype(np.float64), second.astype(np.float64)

    def over_patterns(self, values: FloatArray, power: int = 1) -> FloatArray:
        """Add up a value for each pattern over its votes, by coin and side."""
        return _by_coin(self.vote, values[self.vote_pattern] * self.weight**power, self.n_confusion_groups)

    def over_votes(self, values: FloatArray, power: int) -> FloatArray:
        """Add up a value for each row over its votes, by coin and side."""
        by_pattern = np.bincount(self.of_row, values, len(self)).astype(np.float64)
        return self.over_patterns(by_pattern, power)

    def matrix(self, rows: slice) -> csr_array:
        """Return the weight of every vote by pattern, of all of them, and kind."""
        return _kinds(self.weight, self.vote, self.start, self)

    def clustered(self, cluster: Int32Array, n_clusters: int) -> Patterns:
        """Return the same votes with a coin for each annotator and cluster of rows."""
        used, of_row = np.unique(self.of_row.astype(np.int64) * n_clusters + cluster, return_inverse=True)
        old, in_cluster = used // n_clusters, used % n_clusters
        lengths = np.diff(self.start)[old]
        start = np.concatenate([[0], np.cumsum(lengths)])
        at = np.arange(start[-1]) + np.repeat(self.start[old] - start[:-1], lengths)
        vote = _in_cluster(self.vote[at], np.repeat(in_cluster, lengths), n_clusters)
        return Patterns(
            _codes(of_row, len(used)),
            start,
            vote.astype(np.int32),
            self.weight[at],
            self.n_confusion_groups * n_clusters,
            self.n_known * n_clusters,
        )


def _kinds(weight: FloatArray, vote: Int32Array, start: IntArray, ballots: RaggedVotes | Patterns) -> csr_array:
    """Return weights by list of votes and kind; coins that always tell the truth are none of them."""
    shape = len(start) - 1, 2 * (ballots.n_confusion_groups + ballots.n_known)
    return csr_array((weight, vote, start), shape=shape)[:, : 2 * ballots.n_confusion_groups]


def _codes(of_row: NDArray[np.integer], n_patterns: int) -> Codes:
    return of_row.astype(np.uint8) if n_patterns <= _FEW else of_row.astype(np.int32)


def _by_coin(vote: Int32Array, values: FloatArray, n_confusion_groups: int) -> FloatArray:
    sums = np.bincount(vote, values, 2 * n_confusion_groups)[: 2 * n_confusion_groups]
    return sums.astype(np.float64, copy=False).reshape(n_confusion_groups, 2)


def with_known(tables: FloatArray, n_known: int) -> FloatArray:
    """Return the log-likelihoods of votes with those of coins that always tell the truth."""
    if not n_known:
        return tables
    certain = np.where(np.eye(2, dtype=bool), 0.0, -_CERTAIN)
    return np.concatenate([tables, np.broadcast_to(certain, (n_known, 2, 2))])


def _in_cluster(vote: Int32Array, cluster: NDArray[np.integer], n_clusters: int) -> IntArray:
    confusion_group: IntArray = (vote // 2).astype(np.int64) * n_clusters + cluster
    return confusion_group * 2 + vote % 2


@dataclass(frozen=True)
class Links:
    """Pairs of items, sorted, and where the rows of each begin (None: each row is one); see ``Rows.layout``."""

    first: Int32Array
    second: Int32Array
    begin: IntArray | None
    layout: tuple[IntArray, NDArray[np.integer]]


def _begins(first: Int32Array, second: Int32Array) -> IntArray:
    """Return where each pair of items begins among sorted ones."""
    new = np.diff(first, prepend=-1) != 0
    new |= np.diff(second, prepend=-1) != 0
    return np.flatnonzero(new)


def _lay_out(
    first: Int32Array, second: Int32Array, n_items: int, distinct: bool
) -> tuple[IntArray, NDArray[np.integer]]:
    if distinct and len(first) == n_items * (n_items - 1) // 2:
        return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int32)
    return _item_start(first, n_items), _narrow(second, n_items)


def _item_start(first: Int32Array, n_items: int) -> IntArray:
    return np.asarray(np.searchsorted(first, np.arange(n_items + 1, dtype=first.dtype)))


def _narrow(second: Int32Array, n_items: int) -> NDArray[np.integer]:
    return second.astype(np.uint16) if n_items <= 1 << 16 else second


@dataclass(frozen=True)
class Rows:
    """Rows of a fit, sorted by their first and second item.

    Attributes
    ----------
    link_first, link_second : ndarray of int32
        Codes of the two items of each row or, with ``begin``, of each run of rows that have the same.
    begin : ndarray of int64 or None
        Where these runs begin, and at last how many rows there are; None for one row each.
    weight : ndarray of float64
        How often the row counts; empty where all count once.
    ballots : Patterns or Lists
        The votes on each row.
    of_pair : ndarray of int64 or None
        The pair of the votes' table to which each row belongs; None for one row a pair, in order.
    known_share : ndarray of float64 or None
        The ``share`` of each row, or of each run of rows, where it is known already.
    n_items : int
    distinct : bool
        Whether no two rows are known to be of the same items.
    single_votes : bool
        Whether every row is one vote.
    pair_begin : ndarray of int64 or None
        Where the rows of each pair of the votes' table begin, in place of ``of_pair``.
    known_weight : ndarray of float64 or None
        The ``pattern_weight``, where it is known already.
    about : {"truth", "margin", "tie"}
        What the votes tell of: a hidden truth, or directly the margin, by the item they prefer or by being ties.
    """

    link_first: Int32Array
    link_second: Int32Array
    begin: IntArray | None
    weight: FloatArray
    ballots: Patterns | RaggedVotes
    of_pair: IntArray | None
    known_share: FloatArray | None
    n_items: int
    distinct: bool = False
    single_votes: bool = False
    pair_begin: IntArray | None = None
    known_weight: FloatArray | None = None
    about: str = "truth"

    def __len__(self) -> int:
        return len(self.link_first) if self.begin is None else int(self.begin[-1])

    @cached_property
    def first(self) -> Int32Array:
        """Code of the first item of each row."""
        return self._by_row(self.link_first)

    @cached_property
    def second(self) -> Int32Array:
        """Code of the second item of each row."""
        return self._by_row(self.link_second)

    def _by_row(self, of_link: NDArray[_Value]) -> NDArray[_Value]:
        return of_link if self.begin is None else np.repeat(of_link, np.diff(self.begin))

    @cached_property
    def share(self) -> FloatArray:
        """(wins of the first item + 1) / (votes + 2) on the row's pair: where a fit starts."""
        if self.known_share is not None:
            return self._by_row(self.known_share)
        assert isinstance(self.ballots, Patterns)
        return np.asarray(self.ballots.share[self.ballots.of_row])

    @property
    def pair(self) -> IntArray | slice:
        """What picks the rows' values out of an array with one for each pair."""
        if self.pair_begin is not None:
            return np.repeat(np.arange(len(self.pair_begin) - 1), np.diff(self.pair_begin))
        return slice(None) if self.of_pair is None else self.of_pair

    @property
    def n_confusion_groups(self) -> int:
        """Number of coins."""
        return self.ballots.n_confusion_groups

    @cached_property
    def layout(self) -> tuple[IntArray, NDArray[np.integer]]:
        """The items as passes read them: where the rows of each first item begin, and the second items.

        Both are empty where the rows are all pairs, which a pass can walk without being told. Second items take two
        bytes where that is enough.
        """
        return _lay_out(self.first, self.second, self.n_items, self.distinct)

    @property
    def index(self) -> tuple[IntArray, NDArray[np.integer]]:
        """The layout of the runs of rows, or else of the rows, with all spelled out."""
        return _item_start(self.link_first, self.n_items), _narrow(self.link_second, self.n_items)

    @property
    def link_layout(self) -> tuple[IntArray, NDArray[np.integer]]:
        """The layout of the runs of rows that have the same two items; of the rows where they come in none."""
        return self.layout if self.begin is None else self.links.layout

    @cached_property
    def links(self) -> Links:
        """The pairs of items between which there are rows: where several have the same pair, it is there but once."""
        if self.begin is not None:
            layout = _lay_out(self.link_first, self.link_second, self.n_items, True)
            return Links(self.link_first, self.link_second, self.begin[:-1], layout)
        if self.distinct or self.single_votes or 2 * len(self.edges) > len(self):
            return Links(self.first, self.second, None, self.layout)
        first, second = self.first[self.edges], self.second[self.edges]
        return Links(first, second, self.edges, _lay_out(first, second, self.n_items, True))

    @cached_property
    def pattern_weight(self) -> FloatArray:
        """How many rows have each pattern, by weight."""
        if self.known_weight is not None:
            return self.known_weight
        assert isinstance(self.ballots, Patterns)
        total = np.zeros(len(self.ballots))
        # numpy counts a copy of the codes, eight bytes each: block by block it stays small.
        for begin in range(0, len(self), _COUNTED):
            block = slice(begin, begin + _COUNTED)
            weight = self.weight[block] if len(self.weight) else None
            total += np.bincount(self.ballots.of_row[block], weight, len(total))
        return total

    @cached_property
    def vote_counts(self) -> FloatArray:
        """Votes of each coin for the second and for the first item of their rows, by weight."""
        if isinstance(self.ballots, Patterns):
            return self.ballots.over_patterns(self.pattern_weight)
        return self.over_votes(np.ones(len(self)))

    @cached_property
    def edges(self) -> IntArray:
        """Where each distinct pair of items begins."""
        if self.begin is not None:
            return self.begin[:-1]
        return np.arange(len(self)) if self.distinct else _begins(self.first, self.second)

    def over_votes(self, values: FloatArray, power: int = 1) -> FloatArray:
        """Add up a value for each row over its votes, by coin and by whether the vote is for the first item.

        Parameters
        ----------
        values : ndarray
            One for each row.
        power : int
            Of the votes' weights, which multiply the values.

        Returns
        -------
        ndarray of shape (coins, 2)
        """
        return self.ballots.over_votes(values * self.weight if len(self.weight) else values, power)

    @classmethod
    def per_pair(cls, votes: Comparisons, threads: int | None = None) -> Rows:
        """One row for each pair with a decided vote: all its votes report on one truth.

        Votes are frozen, so their rows are found once and kept for the next fit.
        """
        if votes not in _ROWS_OF:
            _ROWS_OF[votes] = cls._find_per_pair(votes, threads)
        return _ROWS_OF[votes]

    @classmethod
    def _find_per_pair(cls, votes: Comparisons, threads: int | None) -> Rows:
        find = _find_patterns if _repeats_itself(votes) else _find_lists
        ballots, share = find(votes, threads or default_threads())
        voted = np.diff(ballots.start) > 0
        if voted.all():
            rows = cls._over(votes, None, np.empty(0), ballots, share)
        else:
            kept = voted[ballots.of_row] if isinstance(ballots, Patterns) else voted
            share = None if share is None else share[kept]
            rows = cls._over(votes, np.flatnonzero(kept), np.empty(0), _keep(ballots, kept), share)
        return replace(rows, distinct=not votes.has_questions)

    @classmethod
    def per_vote(cls, votes: Comparisons, annotator: int | None = None) -> Rows:
        """One row for each decided vote, which reports on a truth of its own.

        With ``annotator``, only that annotator's votes.
        """
        if annotator is not None and (quick := cls._of_juror(votes, annotator)) is not None:
            return quick
        table, n_pairs, kinds = votes.storage.table, votes.n_pairs, 2 * votes.n_annotators
        few_repeats = _few_repeats(table)
        if annotator is not None:
            table = _only(table, table.annotator == annotator)
        if few_repeats:
            # Repeated votes again and again: without weights a pass is quicker.
            begin, wins, vote_counts = np.empty(n_pairs + 1, dtype=np.int64), np.empty(n_pairs), np.empty(kinds)
            decided = table.result != TIE
            times = table.weight[decided].sum() if len(table.weight) else np.count_nonzero(decided)
            kind = _codes(np.empty(int(times), dtype=np.uint8), kinds)
            kernels.spell_out(
                table.start,
                table.annotator,
                table.result,
                table.weight,
                begin,
                kind,
                wins,
                vote_counts,
                default_threads(),
            )
            rows = cls._singles(votes, begin, kind, np.empty(0), votes.n_annotators, wins, np.diff(begin))
            return replace(rows, known_weight=vote_counts)
        pair, who, first_won, weight = _fold_sides(table)
        begin = np.searchsorted(pair, np.arange(n_pairs + 1))
        kind = _codes(who * np.int32(2) + first_won, kinds)
        wins, total = (
            np.bincount(pair, values, n_pairs).astype(np.float64) for values in (weight * first_won, weight)
        )
        own = weight if (weight != 1).any() else np.empty(0)
        return cls._singles(votes, begin, kind, own, votes.n_annotators, wins, total)

    @classmethod
    def per_side(cls, votes: Comparisons, threads: int | None = None) -> Rows:
        """Two rows for each pair, of the votes for either item, whoever cast them: for models that do not ask."""
        pairs = cls.per_pair(votes, threads)
        wins, vote_counts = pairs.vote_totals()
        weight = np.stack([vote_counts - wins, wins], axis=1).ravel()
        there = np.flatnonzero(weight > 0)
        sides = np.zeros(votes.n_pairs, dtype=np.int64)
        sides[pairs.pair] = np.bincount(there // 2, minlength=len(pairs))
        begin = np.concatenate([[0], np.cumsum(sides)])
        of_pair = np.zeros((2, votes.n_pairs))
        of_pair[:, pairs.pair] = wins, vote_counts
        return cls._singles(votes, begin, _codes(there % 2, 2), weight[there], 1, *of_pair)

    @classmethod
    def _singles(
        cls,
        votes: Comparisons,
        pair_begin: IntArray,
        kind: Codes,
        weight: FloatArray,
        n_confusion_groups: int,
        wins: FloatArray,
        vote_counts: NDArray[Any],
    ) -> Rows:
        """Return rows of one vote each.

        Parameters
        ----------
        pair_begin : ndarray of int64
            Where those of each pair begin, and at last how many there are.
        kind : ndarray
            Of each vote: twice its coin plus 1 if it is for the first item.
        weight : ndarray of float64
            Of each vote; empty where all count once.
        n_coins : int
        wins, cast : ndarray
            Weight of the votes for the first item of each pair, and of all votes on it.
        """
        first, second, begin = votes.pair_first, votes.pair_second, pair_begin
        if votes.has_questions or not (np.diff(pair_begin) > 0).all():
            voted = np.flatnonzero(np.diff(pair_begin))
            links = voted[_begins(first[voted], second[voted])] if votes.has_questions else voted
            first, second = first[links], second[links]
            begin = np.append(pair_begin[links], pair_begin[-1])
            wins, vote_counts = (
                np.add.reduceat(sums, links) if len(links) else sums[:0] for sums in (wins, vote_counts)
            )
        share = (wins + 1) / (vote_counts + 2)
        runs = len(kind) >= _RUN_PAYS * len(first)
        if not runs:
            first, second, share = (np.repeat(of_link, np.diff(begin)) for of_link in (first, second, share))
        every = np.arange(2 * n_confusion_groups, dtype=np.int32)
        ballots = Patterns(
            kind, np.arange(2 * n_confusion_groups + 1), every, np.ones(2 * n_confusion_groups), n_confusion_groups
        )
        return cls(
            first,
            second,
            begin if runs else None,
            weight,
            ballots,
            None,
            share,
            votes.n_items,
            single_votes=True,
            pair_begin=pair_begin,
        )

    @classmethod
    def _of_juror(cls, votes: Comparisons, annotator: int) -> Rows | None:
        """Return the rows of one of a jury, who has at most one vote on a pair; None for other votes."""
        if not isinstance(votes.storage, DenseVotes):
            return None
        said = votes.storage.results[:, annotator]
        decided = said < TIE
        pair = None if decided.all() else np.flatnonzero(decided)
        said = said[pair] if pair is not None else said
        kinds = 2 * votes.n_annotators
        every = np.arange(kinds, dtype=np.int32)
        kind = _codes(said + np.int32(2 * annotator), kinds)
        ballots = Patterns(kind, np.arange(kinds + 1), every, np.ones(kinds), votes.n_annotators)
        rows = cls._over(votes, pair, np.empty(0), ballots, (said + 1) / 3)
        return replace(rows, distinct=True, single_votes=True)

    def vote_totals(self) -> tuple[FloatArray, FloatArray]:
        """Return the weight of the votes for each row's first item, and of all votes on it."""
        ballots = self.ballots
        lists = ballots.vote_pattern if isinstance(ballots, Patterns) else ballots.vote_row
        weight = ballots.weight if len(ballots.weight) else np.ones(len(ballots.vote))
        n_lists = len(ballots.start) - 1
        wins = np.bincount(lists, weight * (ballots.vote % 2), n_lists).astype(np.float64)
        total = np.bincount(lists, weight, n_lists).astype(np.float64)
        if isinstance(ballots, Patterns):
            return wins[ballots.of_row], total[ballots.of_row]
        return wins, total

    @cached_property
    def first_won(self) -> BoolArray:
        """Whether the vote of each row is for its first item, where every row is one vote."""
        assert self.single_votes and isinstance(self.ballots, Patterns)
        return np.asarray(self.ballots.of_row % 2 == 1)

    @classmethod
    def _over(
        cls,
        votes: Comparisons,
        pair: IntArray | None,
        weight: FloatArray,
        ballots: Patterns | RaggedVotes,
        share: FloatArray | None,
    ) -> Rows:
        """Return rows over some pairs; None for one over each."""
        first, second = votes.pair_first, votes.pair_second
        if pair is not None:
            first, second = first[pair], second[pair]
        return cls(first, second, None, weight, ballots, pair, share, votes.n_items)

    def clustered(self, cluster: Int32Array, n_clusters: int) -> Rows:
        """Return the same rows with a coin for each annotator and cluster of rows."""
        return replace(self, ballots=self.ballots.clustered(cluster, n_clusters))

    def knowing(self, n_known: int) -> Rows:
        """Return the same rows with the last so many coins as such that always tell the truth."""
        ballots = replace(self.ballots, n_confusion_groups=self.n_confusion_groups - n_known, n_known=n_known)
        return replace(self, ballots=ballots)


_ROWS_OF: WeakKeyDictionary[Comparisons, Rows] = WeakKeyDictionary()


def by_side(votes: Comparisons) -> Comparisons:
    """Return the votes as if every annotator were two: one for each side on which a pair's first item is shown.

    Annotator ``k`` becomes ``2 k`` where it was on the left, and ``2 k + 1`` where it was on the right.
    """
    table = votes.storage.table
    who = np.asarray(table.annotator * np.int32(2) + votes.vote_swapped, dtype=np.int32)
    storage = VoteTable(table.start, who, table.result, np.empty(0, dtype=np.bool_), table.weight)
    return replace(votes, annotators=np.repeat(votes.annotators, 2), storage=storage)


def as_ties(votes: Comparisons) -> Comparisons:
    """Return the votes by whether they are ties: for the first item where they are, for the second where not."""
    table = votes.storage.table
    tied = (table.result == TIE).astype(np.int8)
    storage = VoteTable(table.start, table.annotator, tied, np.empty(0, dtype=np.bool_), table.weight)
    return replace(votes, storage=storage)


# What may be a row: a truth shared by the votes on a pair, one for each vote, or votes that are the truth; the first
# two also with a coin for each annotator and side. Or votes that tell of the margin itself.
ROWS_BY: dict[str, Callable[[Comparisons, int | None], Rows]] = {
    "pair": Rows.per_pair,
    "vote": lambda votes, threads: Rows.per_vote(votes),
    "side": Rows.per_side,
    "pair-by-side": lambda votes, threads: Rows.per_pair(by_side(votes), threads),
    "vote-by-side": lambda votes, threads: Rows.per_vote(by_side(votes)),
    "margin": lambda votes, threads: replace(Rows.per_vote(votes), about="margin"),
    "tie": lambda votes, threads: replace(Rows.per_vote(as_ties(votes)), about="tie"),
}


def _few_repeats(table: VoteTable) -> bool:
    """Tell whether weights are but a few votes that were cast more than once."""
    if not len(table.weight):
        return True
    weight = table.weight
    return bool((weight == np.floor(weight)).all() and weight.sum() <= _MOST_REPEATS * len(weight))


def _only(table: VoteTable, keep: BoolArray) -> VoteTable:
    """Return some of the votes."""
    start = np.concatenate([[0], np.cumsum(keep)])[table.start]
    swapped = table.swapped[keep] if len(table.swapped) else table.swapped
    weight = table.weight[keep] if len(table.weight) else table.weight
    return VoteTable(start, table.annotator[keep], table.result[keep], swapped, weight)


def _repeats_itself(votes: Comparisons) -> bool:
    """Tell whether few lists of votes are distinct, from pairs spread evenly over the table."""
    few = isinstance(votes.storage, DenseVotes) and 3**votes.n_annotators <= _MOST_DISTINCT * _SAMPLE
    if few or votes.n_pairs <= _SAMPLE:
        return True
    sample = np.linspace(0, votes.n_pairs - 1, _SAMPLE).astype(np.int64)
    if isinstance(votes.storage, DenseVotes):
        verdicts = np.ascontiguousarray(votes.storage.results[sample])
        whole = np.dtype((np.void, verdicts.shape[1]))
        return len(set(verdicts.view(whole).ravel().tolist())) <= _MOST_DISTINCT * _SAMPLE
    start, stop = votes.vote_start[sample].tolist(), votes.vote_start[sample + 1].tolist()
    seen = {
        (votes.vote_annotator[a:b].tobytes(), votes.vote_result[a:b].tobytes(), votes.vote_weight[a:b].tobytes())
        for a, b in zip(start, stop, strict=True)
    }
    return len(seen) <= _MOST_DISTINCT * _SAMPLE


def _find_patterns(votes: Comparisons, threads: int) -> tuple[Patterns, FloatArray | None]:
    if isinstance(votes.storage, DenseVotes) and votes.n_annotators <= _LARGEST_JURY:
        return _find_verdicts(votes.storage.results, threads), None
    of_row, example = np.empty(votes.n_pairs, dtype=np.int32), np.empty(votes.n_pairs, dtype=np.int64)
    share = np.empty(votes.n_pairs)
    n_patterns = kernels.patterns(
        votes.vote_start,
        votes.vote_annotator,
        votes.vote_result,
        votes.storage.table.weight,
        of_row,
        example,
        share,
        threads,
    )
    pair = example[:n_patterns]
    lengths = votes.vote_start[pair + 1] - votes.vote_start[pair]
    begin = np.concatenate([[0], np.cumsum(lengths)])
    at = np.arange(begin[-1]) + np.repeat(votes.vote_start[pair] - begin[:-1], lengths)
    start, at = _leave_out_idle(votes, begin, at)
    codes = _codes(of_row, n_patterns)
    return Patterns(codes, start, _as_votes(votes, at), votes.vote_weight[at], votes.n_annotators), share


def _find_verdicts(results: NDArray[np.int8], threads: int) -> Patterns:
    """Find the patterns of a jury without spelling out its votes."""
    n_pairs, n_annotators = results.shape
    of_row: Codes
    if n_annotators <= _SMALL_JURY:
        # Verdicts of some pairs are mostly those of all; where there are others, all are looked at first.
        for looked_at in (results[: max(n_pairs // _LOOKED_AT, 1)], results):
            seen = np.empty(4**n_annotators, dtype=np.uint8)
            kernels.mark_verdicts(looked_at.ravel(), n_annotators, seen, threads)
            kinds = np.flatnonzero(seen)
            numbers = np.where(seen > 0, np.cumsum(seen, dtype=np.int32) - 1, np.int32(-1))
            of_row = np.empty(n_pairs, dtype=np.uint8) if len(kinds) <= _FEW else np.empty(n_pairs, dtype=np.int32)
            if kernels.number_verdicts(results.ravel(), n_annotators, numbers, of_row, threads):
                break
        distinct = (kinds[:, None] >> 2 * np.arange(n_annotators - 1, -1, -1)) & 3
    else:
        wide, example = np.empty(n_pairs, dtype=np.int32), np.empty(n_pairs, dtype=np.int64)
        n_patterns = kernels.jury_patterns(results.ravel(), n_annotators, wide, example, threads)
        distinct, of_row = results[example[:n_patterns]], _codes(wide, n_patterns)
    decided = distinct < TIE
    start = np.concatenate([[0], np.cumsum(decided.sum(axis=1))])
    vote = (2 * np.arange(n_annotators) + distinct)[decided].astype(np.int32)
    return Patterns(of_row, start, vote, np.ones(len(vote)), n_annotators)


def _find_lists(votes: Comparisons, threads: int) -> tuple[RaggedVotes, FloatArray]:
    start = votes.vote_start
    at: IntArray | slice = slice(None)
    if votes.n_ties or not votes.storage.table.weight.all():
        start, at = _leave_out_idle(votes, start, np.arange(len(votes.vote_result)))
    vote, weight = _as_votes(votes, at), votes.vote_weight[at]
    pair = np.repeat(np.arange(votes.n_pairs), np.diff(start))
    wins, vote_counts = (np.bincount(pair, values, votes.n_pairs) for values in (weight * (vote % 2), weight))
    own = weight if len(votes.storage.table.weight) else np.empty(0)
    return RaggedVotes(start, vote, own, votes.n_annotators), (wins + 1) / (vote_counts + 2)


def _leave_out_idle(votes: Comparisons, start: IntArray, at: IntArray) -> tuple[IntArray, IntArray]:
    """Leave out ties and votes of no weight, which say nothing of the truth."""
    says = (votes.vote_result[at] != TIE) & (votes.vote_weight[at] > 0)
    counts = np.bincount(np.repeat(np.arange(len(start) - 1), np.diff(start))[says], minlength=len(start) - 1)
    return np.concatenate([[0], np.cumsum(counts)]), at[says]


def _as_votes(votes: Comparisons, at: IntArray | slice) -> Int32Array:
    return np.asarray(votes.vote_annotator[at] * np.int32(2) + (votes.vote_result[at] == FIRST))


def _keep(ballots: Patterns | RaggedVotes, rows: BoolArray) -> Patterns | RaggedVotes:
    """Return the ballots of some rows; the others have no votes."""
    if isinstance(ballots, Patterns):
        return replace(ballots, of_row=ballots.of_row[rows])
    return replace(ballots, start=ballots.start[np.concatenate([np.flatnonzero(rows), [len(rows)]])])


def _fold_sides(table: VoteTable) -> tuple[IntArray, Int32Array, BoolArray, FloatArray]:
    """Return pair, annotator, result and weight of the decided votes, those that differ in the side made one."""
    table = _only(table, (table.result != TIE) & (table.weight > 0))
    pair, who = np.repeat(np.arange(len(table.start) - 1), np.diff(table.start)), table.annotator
    new = (np.diff(pair, prepend=-1) != 0) | (np.diff(who, prepend=-1) != 0)
    cell = np.cumsum(new) - 1
    by_result = 2 * cell + (table.result == FIRST)
    weight = np.bincount(by_result, table.weight, 2 * int(new.sum())).astype(np.float64)
    there = np.flatnonzero(weight)
    at = np.flatnonzero(new)[there // 2]
    return pair[at], who[at], there % 2 == 1, weight[there]
