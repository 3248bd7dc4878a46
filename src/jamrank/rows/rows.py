"""Rows of a likelihood: pairs of items, each with the votes that share one latent truth."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from jamrank.data.comparisons import Comparisons
from jamrank.data.storage import TIE, DenseVotes
from jamrank.kernels import default_threads, kernels
from jamrank.kernels.in_threads import over_blocks
from jamrank.rows.ballots import Codes, Patterns, RaggedVotes, as_codes, code_type, single_patterns
from jamrank.rows.find_ballots import (
    count_if_few_repeats,
    few_patterns,
    find_patterns,
    find_ragged_votes,
    fold_sides,
    keep_rows,
    known_pattern_weight,
    select_votes,
)
from jamrank.rows.layout import (
    Layout,
    Links,
    fits_two_bytes,
    has_gaps,
    item_start,
    lay_out,
    narrow,
    where_pairs_begin,
)
from jamrank.typing import BoolArray, FloatArray, Int32Array, IntArray

_Value = TypeVar("_Value", bound=np.generic)
# Rows that are counted at a time.
_COUNT_BLOCK = 1 << 18
# With so many votes on a pair of items, computing what the votes share once for all of them pays on a CPU.
RUN_PAYS = 3


@dataclass(frozen=True)
class Rows:
    """Rows of a fit, sorted by their first and second item.

    Attributes
    ----------
    link_first, link_second : ndarray of int32
        Codes of the two items of each row or, with ``link_begin``, of each run of rows that have the same.
    link_begin : ndarray of int64 or None
        Where these runs begin, followed by the number of rows; None for one row each.
    weight : ndarray of float64
        Weight of each row; empty where all are 1.
    ballots : Patterns or RaggedVotes
        The votes on each row.
    of_pair : ndarray of int64 or None
        The pair of the votes' table to which each row belongs; None for one row per pair, in order.
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
        What votes depend on: a latent truth, or the margin itself, through the preferred item or through being a tie.
    sides : tuple of ndarray or None
        Where votes are the truth: the weight of those for the first item of each run of rows, and of all of them.
    least_run : int
        Passes go by runs of rows if these have so many rows on average: then computing once what they share pays.
    """

    link_first: Int32Array
    link_second: Int32Array
    link_begin: IntArray | None
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
    sides: tuple[FloatArray, FloatArray] | None = None
    least_run: int = RUN_PAYS

    def __len__(self) -> int:
        return len(self.link_first) if self.link_begin is None else int(self.link_begin[-1])

    @cached_property
    def begin(self) -> IntArray | None:
        """Where runs of rows begin, if passes go by runs: where these are long enough for that, or added up."""
        pays = self.sides is not None or len(self) >= self.least_run * len(self.link_first)
        return self.link_begin if pays else None

    @cached_property
    def first(self) -> Int32Array:
        """Code of the first item of each row."""
        return self._by_row(self.link_first)

    @cached_property
    def second(self) -> Int32Array:
        """Code of the second item of each row."""
        return self._by_row(self.link_second)

    def _by_row(self, of_link: NDArray[_Value], kind: type[np.generic] | None = None) -> NDArray[Any]:
        if self.link_begin is None:
            return of_link
        of_row = np.empty(len(self), dtype=kind or of_link.dtype)
        kernels.repeat(self.link_begin, of_link, of_row, default_threads())
        return of_row

    @cached_property
    def share(self) -> FloatArray:
        """(wins of the first item + 1) / (votes + 2) on the row's pair: the initial posterior."""
        if self.known_share is not None:
            return self._by_row(self.known_share)
        assert isinstance(self.ballots, Patterns)
        return np.asarray(self.ballots.share[self.ballots.of_row])

    @property
    def pair(self) -> IntArray | slice:
        """Index of each row's pair in the table of votes."""
        if self.pair_begin is not None:
            return np.repeat(np.arange(len(self.pair_begin) - 1), np.diff(self.pair_begin))
        return slice(None) if self.of_pair is None else self.of_pair

    @property
    def n_confusion_groups(self) -> int:
        """Number of confusion groups."""
        return self.ballots.n_confusion_groups

    @cached_property
    def layout(self) -> Layout:
        """The items as passes read them: where the rows of each first item begin, and the second items.

        Both are empty where the rows are all pairs, which a pass can enumerate. Second items take two bytes where
        that is enough.
        """
        if self.link_begin is None:
            return lay_out(self.link_first, self.link_second, self.n_items, self.distinct)
        second = self._by_row(self.link_second, np.uint16 if fits_two_bytes(self.n_items) else None)
        return self.link_begin[item_start(self.link_first, self.n_items)], second

    @cached_property
    def index(self) -> Layout:
        """The layout of the runs of rows, or else of the rows, also where they are all pairs."""
        if self.link_begin is not None and self.begin is None:
            return self.layout
        return item_start(self.link_first, self.n_items), narrow(self.link_second, self.n_items)

    @property
    def link_layout(self) -> Layout:
        """The layout of the runs of rows that have the same two items; of the rows where there are no runs."""
        return self.layout if self.begin is None else self.links.layout

    @cached_property
    def links(self) -> Links:
        """The pairs of items that have rows, each once where several rows have the same pair."""
        if self.begin is not None:
            return Links(self.begin[:-1], lay_out(self.link_first, self.link_second, self.n_items, True))
        if self.distinct or self.single_votes or 2 * len(self.edges) > len(self):
            return Links(None, self.layout)
        first, second = self.first[self.edges], self.second[self.edges]
        return Links(self.edges, lay_out(first, second, self.n_items, True))

    @cached_property
    def pattern_weight(self) -> FloatArray:
        """Total weight of the rows of each pattern."""
        if self.known_weight is not None:
            return self.known_weight
        assert isinstance(self.ballots, Patterns)
        total = np.zeros(len(self.ballots))
        # numpy copies the codes to eight bytes each: in blocks the copy stays small.
        for begin in range(0, len(self), _COUNT_BLOCK):
            block = slice(begin, begin + _COUNT_BLOCK)
            weight = self.weight[block] if len(self.weight) else None
            total += np.bincount(self.ballots.of_row[block], weight, len(total))
        return total

    @cached_property
    def vote_counts(self) -> FloatArray:
        """Votes of each confusion group for the second and for the first item of their rows, by weight."""
        if isinstance(self.ballots, Patterns):
            return self.ballots.over_patterns(self.pattern_weight)
        return self.over_votes(np.ones(len(self))) if len(self.weight) else self.ballots.vote_counts

    @cached_property
    def edges(self) -> IntArray:
        """Where each distinct pair of items begins."""
        if self.link_begin is not None:
            return self.link_begin[:-1]
        return np.arange(len(self)) if self.distinct else where_pairs_begin(self.first, self.second)

    @cached_property
    def pairs(self) -> tuple[Int32Array, Int32Array]:
        """The distinct pairs of items."""
        if self.distinct or self.link_begin is not None:
            return self.link_first, self.link_second
        return self.first[self.edges], self.second[self.edges]

    def over_votes(self, values: FloatArray, power: int = 1) -> FloatArray:
        """Add up a value for each row over its votes, by confusion group and side.

        Parameters
        ----------
        values : ndarray
            One for each row.
        power : int
            Of the votes' weights, which multiply the values.

        Returns
        -------
        ndarray of shape (groups, 2)
            In column 1 the votes for the first item of their row.
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
        find = find_patterns if few_patterns(votes) else find_ragged_votes
        ballots, share = find(votes, threads or default_threads())
        start = ballots.start
        if not has_gaps(start):
            rows = cls._over(votes, None, np.empty(0), ballots, share)
        else:
            voted = np.diff(start) > 0
            kept = voted[ballots.of_row] if isinstance(ballots, Patterns) else voted
            share = None if share is None else share[kept]
            rows = cls._over(votes, np.flatnonzero(kept), np.empty(0), keep_rows(ballots, kept), share)
        # Verdicts are only in short where no pair is without a vote.
        return replace(rows, distinct=not votes.has_questions, known_weight=known_pattern_weight(votes))

    @classmethod
    def per_vote(cls, votes: Comparisons, annotator: int | None = None) -> Rows:
        """One row for each decided vote, which reports on a truth of its own.

        With ``annotator``, only that annotator's votes.
        """
        if annotator is not None and (quick := cls._of_jury_member(votes, annotator)) is not None:
            return quick
        table, n_pairs, kinds = votes.storage.table, votes.n_pairs, 2 * votes.n_annotators
        times = count_if_few_repeats(table)
        if annotator is not None:
            table = select_votes(table, table.annotator == annotator)
        if times is not None:
            # Spell out repeated votes: a pass without weights is quicker.
            begin, wins, vote_counts = np.empty(n_pairs + 1, dtype=np.int64), np.empty(n_pairs), np.empty(kinds)
            if annotator is not None:
                times = kernels.count_spelled(table.result, table.weight, default_threads())
            kind = np.empty(times, dtype=code_type(kinds))
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
            return cls._singles(votes, begin, kind, np.empty(0), votes.n_annotators, wins, None, vote_counts)
        pair, who, first_won, weight = fold_sides(table)
        begin = np.searchsorted(pair, np.arange(n_pairs + 1))
        kind = as_codes(who * np.int32(2) + first_won, kinds)
        wins, total = (
            np.bincount(pair, values, n_pairs).astype(np.float64) for values in (weight * first_won, weight)
        )
        own = weight if (weight != 1).any() else np.empty(0)
        return cls._singles(votes, begin, kind, own, votes.n_annotators, wins, total)

    @classmethod
    def per_side(cls, votes: Comparisons, threads: int | None = None) -> Rows:
        """Two rows for each pair, one for the votes for either item: for models without annotators."""
        wins, vote_counts = decided_sides(votes)
        begin, weight = np.empty(votes.n_pairs + 1, dtype=np.int64), np.empty(2 * votes.n_pairs)
        kind = np.empty(2 * votes.n_pairs, dtype=np.uint8)
        n_rows = kernels.split_sides(wins, vote_counts, begin, kind, weight)
        by_side = np.array([(vote_counts - wins).sum(), wins.sum()])
        own = weight[:n_rows]
        return cls._singles(votes, begin, kind[:n_rows], own, 1, wins, vote_counts, by_side, certain=True)

    @classmethod
    def _singles(
        cls,
        votes: Comparisons,
        pair_begin: IntArray,
        kind: Codes,
        weight: FloatArray,
        n_confusion_groups: int,
        wins: FloatArray,
        vote_counts: FloatArray | None,
        known_weight: FloatArray | None = None,
        certain: bool = False,
    ) -> Rows:
        """Return rows of one vote each.

        Parameters
        ----------
        pair_begin : ndarray of int64
            Where those of each pair begin, followed by their number.
        kind : ndarray
            Of each vote: twice its confusion group plus 1 if it is for the first item.
        weight : ndarray of float64
            Of each vote; empty where all are 1.
        n_confusion_groups : int
        wins, vote_counts : ndarray
            Weight of the votes for the first item of each pair, which is overwritten, and of all votes on it; None
            where votes count once.
        known_weight : ndarray, optional
            Weight of the votes of each kind.
        certain : bool
            Whether votes are the truth.
        """
        first, second, begin = votes.pair_first, votes.pair_second, pair_begin
        if votes.has_questions or has_gaps(begin):
            voted = np.flatnonzero(np.diff(pair_begin))
            links = voted[where_pairs_begin(first[voted], second[voted])] if votes.has_questions else voted
            first, second = first[links], second[links]
            begin = np.append(pair_begin[links], pair_begin[-1])
            wins = np.add.reduceat(wins, links) if len(links) else wins[:0]
            if vote_counts is not None:
                vote_counts = np.add.reduceat(vote_counts, links) if len(links) else vote_counts[:0]
        sides = (wins.copy(), vote_counts) if certain and vote_counts is not None else None
        share = _shrunken(wins, begin, vote_counts)
        return cls(
            first,
            second,
            begin,
            weight,
            single_patterns(n_confusion_groups, kind),
            None,
            share,
            votes.n_items,
            single_votes=True,
            pair_begin=pair_begin,
            known_weight=known_weight,
            sides=sides,
        )

    @classmethod
    def _of_jury_member(cls, votes: Comparisons, annotator: int) -> Rows | None:
        """Return the rows of one member of a jury, who has at most one vote on a pair; None for other votes."""
        if not isinstance(votes.storage, DenseVotes):
            return None
        result = votes.storage.results[:, annotator]
        decided = result < TIE
        pair = None if decided.all() else np.flatnonzero(decided)
        result = result[pair] if pair is not None else result
        kinds = 2 * votes.n_annotators
        kind = as_codes(result + np.int32(2 * annotator), kinds)
        rows = cls._over(votes, pair, np.empty(0), single_patterns(votes.n_annotators, kind), (result + 1) / 3)
        return replace(rows, distinct=True, single_votes=True)

    def list_totals(self) -> tuple[FloatArray, FloatArray]:
        """Return the weight of the votes for the first item, and of all votes, of each list of votes or pattern."""
        ballots = self.ballots
        lists = ballots.vote_pattern if isinstance(ballots, Patterns) else ballots.vote_row
        weight = ballots.weight if len(ballots.weight) else np.ones(len(ballots.vote))
        n_lists = len(ballots.start) - 1
        wins = np.bincount(lists, weight * (ballots.vote % 2), n_lists).astype(np.float64)
        return wins, np.bincount(lists, weight, n_lists).astype(np.float64)

    def vote_totals(self) -> tuple[FloatArray, FloatArray]:
        """Return the weight of the votes for each row's first item, and of all votes on it."""
        wins, total = self.list_totals()
        if isinstance(self.ballots, Patterns):
            return wins[self.ballots.of_row], total[self.ballots.of_row]
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
        """Return one row for each of some pairs; for all pairs where ``pair`` is None."""
        first, second = votes.pair_first, votes.pair_second
        if pair is not None:
            first, second = first[pair], second[pair]
        return cls(first, second, None, weight, ballots, pair, share, votes.n_items)

    def clustered(self, cluster: Int32Array, n_clusters: int) -> Rows:
        """Return the same rows with a confusion group for each annotator and cluster of rows."""
        return replace(self, ballots=self.ballots.clustered(cluster, n_clusters), known_weight=None)

    def with_gold(self, n_gold: int) -> Rows:
        """Return the same rows with the last ``n_gold`` confusion groups as gold: they always report the truth."""
        ballots = replace(self.ballots, n_confusion_groups=self.n_confusion_groups - n_gold, n_gold=n_gold)
        return replace(self, ballots=ballots)


def decided_sides(votes: Comparisons) -> tuple[FloatArray, FloatArray]:
    """Return the weight of the decided votes on each pair: those for its first item, and all."""
    wins, total = np.zeros(votes.n_pairs), np.zeros(votes.n_pairs)
    if isinstance(votes.storage, DenseVotes):  # the votes of a jury are not listed for this
        rows = Rows.per_pair(votes)
        wins[rows.pair], total[rows.pair] = rows.vote_totals()
        return wins, total
    table = votes.storage
    kernels.count_sides(table.start, table.result, table.weight, wins, total, default_threads())
    return wins, total


def _shrunken(wins: FloatArray, begin: IntArray, vote_counts: FloatArray | None) -> FloatArray:
    """Return (wins + 1) / (votes + 2) of each run of rows, in place of the wins."""

    def shrink(block: slice) -> None:
        votes = np.diff(begin[block.start : block.stop + 1]) if vote_counts is None else vote_counts[block]
        wins[block] += 1
        wins[block] /= votes + 2

    over_blocks(len(wins), shrink)
    return wins


# Votes are frozen: their rows are found once, and kept as long as the votes.
_ROWS_OF: WeakKeyDictionary[Comparisons, Rows] = WeakKeyDictionary()
