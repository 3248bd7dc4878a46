"""How consistent each annotator's votes are with each other."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from jamrank.data.comparisons import Comparisons
from jamrank.data.storage import FIRST, TIE, DenseVotes
from jamrank.diagnostics.cycles import count_triads
from jamrank.typing import FloatArray, Int32Array, IntArray

# Triads are counted in this many votes; of more, for the first annotators only.
_MOST_VOTES = 2_000_000
# The parts of a soft vote add up to 1 but for rounding.
_ROUNDING = 1e-9


@dataclass(frozen=True)
class SelfConsistency:
    """Repeated, contradictory and circular votes, by annotator.

    repeated: Pairs, within a question, on which the annotator cast more than one decided vote.
    contradicted: Those of them on which the annotator voted both ways.
    soft: Those of them with soft votes: added up, these do not tell whether they contradict each other.
    cancelled: Votes, by weight, that are cancelled by the same annotator's votes for the other item.
    agreeing, twice: Of the annotator's votes, two at a time on one pair: those that agree, and all.
    moments: Sums over the pairs of the squares of those that agree, of their product with all, and of the squares of
        all: three rows.
    ordering: Pairs with more votes for one item than for the other, among which triads are counted.
    circular, ordered: Circular and ordered triads, within a question, of the annotator's own votes; of very many
        votes, only for the first annotators.
    exact: Whether all triads were counted.
    """

    repeated: FloatArray
    contradicted: FloatArray
    soft: FloatArray
    cancelled: FloatArray
    agreeing: FloatArray
    twice: FloatArray
    moments: FloatArray
    ordering: FloatArray
    circular: FloatArray
    ordered: FloatArray
    exact: bool


def self_consistency(votes: Comparisons) -> SelfConsistency:
    """Compare the votes of each annotator with each other."""
    n = votes.n_annotators
    pair, who, wins, losses, times, lean, of_soft = _cells(votes)
    both = (wins > 0) & (losses > 0)
    agree, twice = (np.maximum(one, 0.0) for one in (wins * (wins - 1) + losses * (losses - 1), times * (times - 1)))
    plain = np.abs(wins + losses - times) < _ROUNDING  # neither soft votes nor parts of votes
    agree, twice, net = agree * plain / 2, twice * plain / 2, wins - losses + lean
    repeats = times > 1 + _ROUNDING
    values = repeats, both, repeats & (of_soft > 0) & ~both, 2 * np.minimum(wins, losses), agree, twice
    squares = agree**2, agree * twice, twice**2
    sums = [np.bincount(who, value, n).astype(np.float64) for value in (*values, *squares, net != 0)]
    repeated, contradicted, unknown, cancelled, agreeing, pairs, *moments, ordering = sums
    circular, ordered, exact = _triads(votes, pair, who, net)
    told = repeated, contradicted, unknown, cancelled, agreeing, pairs, np.array(moments), ordering
    return SelfConsistency(*told, circular, ordered, exact)


def _cells(
    votes: Comparisons,
) -> tuple[IntArray, Int32Array, FloatArray, FloatArray, FloatArray, FloatArray, FloatArray]:
    """Return pair, annotator, votes for the first and for the second item and their number, for decided votes.

    Soft votes are neither for the one nor for the other: which way they lean, and their weight, come last.
    """
    if isinstance(votes.storage, DenseVotes):
        # One vote a cell: there are no repeated votes, only triads to count.
        few = _MOST_VOTES // votes.n_pairs
        pair, who = (np.asarray(at) for at in np.nonzero(votes.storage.results[:, :few] < TIE))
        first_won = (votes.storage.results[pair, who] == FIRST).astype(np.float64)
        none = np.zeros(len(pair))
        return pair, who.astype(np.int32), first_won, 1.0 - first_won, np.ones(len(pair)), none, none
    decided = (votes.vote_result != TIE) & (votes.vote_weight > 0)
    pair, who = votes.vote_pair[decided], votes.vote_annotator[decided]
    weight, first_won = votes.vote_weight[decided], votes.vote_result[decided] == FIRST
    new = (np.diff(pair, prepend=-1) != 0) | (np.diff(who, prepend=-1) != 0)
    if new.all() and (weight <= 1).all():
        none = np.zeros(len(pair))
        return pair, who, weight * first_won, weight * ~first_won, np.ones(len(pair)), none, none
    cell, begin = np.cumsum(new) - 1, np.flatnonzero(new)
    # An integer weight above 1 stands for as many identical votes.
    soft = votes.vote_soft[decided]
    times = np.where(soft, weight, np.maximum(np.where(weight == np.floor(weight), weight, 1.0), 1.0))
    lean, plain = np.where(soft, weight * np.where(first_won, 1, -1), 0.0), np.where(soft, 0.0, weight)
    values = (plain * first_won, plain * ~first_won, times, lean, weight * soft)
    wins, losses, count, leans, of_soft = (np.bincount(cell, one, len(begin)).astype(np.float64) for one in values)
    return pair[begin], who[begin], wins, losses, count, leans, of_soft


def _triads(
    votes: Comparisons, pair: IntArray, who: Int32Array, margin: FloatArray
) -> tuple[FloatArray, FloatArray, bool]:
    n = votes.n_annotators
    chosen = margin != 0
    looked_at = np.cumsum(np.bincount(who[chosen], minlength=n)) <= _MOST_VOTES
    exact = bool(looked_at.all()) and not (isinstance(votes.storage, DenseVotes) and n * votes.n_pairs > _MOST_VOTES)
    if not looked_at.all():
        chosen &= looked_at[who]
    pair, who, margin = pair[chosen], who[chosen].astype(np.int64), margin[chosen]
    asked = votes.pair_question[pair].astype(np.int64)
    first, second = votes.pair_first[pair].astype(np.int64), votes.pair_second[pair].astype(np.int64)
    ballot = (who * len(votes.questions) + asked) * votes.n_items
    nodes, codes = np.unique(np.concatenate([ballot + first, ballot + second]), return_inverse=True)
    a, b = codes[: len(pair)], codes[len(pair) :]
    group_key = nodes // votes.n_items
    ballots, group = np.unique(group_key, return_inverse=True)
    triads = count_triads(np.where(margin > 0, a, b), np.where(margin > 0, b, a), group, len(ballots))
    owner = ballots // len(votes.questions)
    circular, ordered = (np.bincount(owner, own, n).astype(np.float64) for own in (triads.circular, triads.ordered))
    return circular, ordered, exact and triads.exact
