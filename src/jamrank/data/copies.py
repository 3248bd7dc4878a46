"""Annotators whose votes are identical, more often than independent ones' could be."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln, logsumexp, ndtr

from jamrank.data.comparisons import Comparisons
from jamrank.data.storage import FIRST, TIE, DenseVotes
from jamrank.errors import CopiesWarning, warn
from jamrank.kernels import default_threads, kernels
from jamrank.text import many
from jamrank.typing import BoolArray, FloatArray, IntArray

# Identical votes are no accident where they are less likely than the first for independent annotators as skilled as
# estimated, and together with an estimate that misleads less likely than the second.
ACCIDENT, _MISLED = 1e-6, 1e-3
# Fewer pairs may be decided alike by accident: 20 tosses of a coin.
_LEAST_PAIRS = 20
# Pairs that two must both have judged, and how many others an annotator is compared with.
_LEAST_COMMON, _MOST_OTHERS = 10, 50
# Pairs of a jury that are looked at first.
_FIRST_PAIRS = 4096
# Votes of an annotator in which cycles are looked for.
_MOST_CYCLED = 20_000
# True values that are tried between an estimate and the value with which equal votes are likeliest.
_TRUE_VALUES = 200
# Votes on a pair beyond which equal numbers are taken to be as likely as of so many; the least probability.
_MOST_CAST, _TINY = 10_000, 1e-300
# Standard errors by which others must agree among themselves.
_SURE = 1.0


def set_aside_copies(votes: Comparisons) -> Comparisons:
    """Return the votes without those of copies, who are named in ``copy_of``, and warn of them."""
    copy_of = find_copies(votes)
    copied = copy_of >= 0
    if not copied.any():
        return votes
    known = votes.copy_of if len(votes.copy_of) else np.full(votes.n_annotators, -1)
    kept = replace(votes.only(~copied[votes.vote_annotator]), copy_of=np.where(copied, copy_of, known))
    first = int(np.flatnonzero(copied)[0])
    others = int(np.count_nonzero(copied)) - 1
    more = f", and {many(others, 'more annotator')} {'is a copy' if others == 1 else 'are copies'}" if others else ""
    warn(
        f"{votes.annotators[first]!s} cast the same votes as {votes.annotators[copy_of[first]]!s}{more}: copies are "
        "counted once",
        CopiesWarning,
    )
    return kept


def find_copies(votes: Comparisons) -> IntArray:
    """Return whose votes each annotator's are identical to, as a code; -1 for nobody's, and for the first of a group.

    Annotators are called copies where identical votes on all their pairs would have a probability under one in a
    million if they erred independently. ``c`` annotators who are right with probability ``p`` agree on a share
    ``p^c + (1 - p)^c`` of the pairs; the probability that they agree on all is at most that share to the power of the
    number of pairs, whatever the pairs. The square of the skill ``2 p - 1`` follows from the first one's agreement
    with others. It may be larger than estimated, even 1: for every value the probability of equality is multiplied by
    that of so low an estimate, and the largest product must be under one in a thousand. Without two others to compare
    with, nobody is called a copy. Several votes on a pair count as one of first, second or both; see
    `_chance_by_agreement`.

    Votes that contradict each other tell as well: of the three votes of a cycle, at least one is against the order of
    the items, and an independent annotator repeats it with a probability of at most one half. Cycles count where
    others agree less with the votes in them than with the rest, by more than would happen once in a thousand times;
    otherwise the truth itself may have cycles.
    """
    copy_of = np.full(votes.n_annotators, -1, dtype=np.int64)
    for group in identical(votes):
        chance = _chance_of_equality(votes, group, copy_of)
        if chance < ACCIDENT:
            copy_of[group[1:]] = group[0]
    return copy_of


def identical(votes: Comparisons) -> list[IntArray]:
    """Return groups of annotators with many votes that are the same, whatever the reason."""
    if isinstance(votes.storage, DenseVotes):
        # The first pairs mostly tell all members of a jury apart.
        some = votes.storage.results_of(slice(_FIRST_PAIRS)).T
        if len({said.tobytes() for said in some}) == len(some):
            return []
    elif len(set(_marks(votes, _FIRST_PAIRS).tolist())) == votes.n_annotators:
        # And those of a crowd.
        return []
    weight = np.round(votes.annotator_decided, 6)
    _, at, count = np.unique(weight, return_inverse=True, return_counts=True)
    if not ((count[at] > 1) & (weight >= _LEAST_PAIRS)).any():
        return []
    return _alike(weight, _marks(votes, _FIRST_PAIRS)) and _alike(weight, _marks(votes, votes.n_pairs))


def log_chance_of_same_counts(p: FloatArray, cast: FloatArray, annotators: int) -> float:
    """Return the log-probability that independent annotators cast equal numbers of votes for the items of all pairs.

    Of several votes on a pair, equal numbers do not mean that each vote is the same.

    p: Probability of a vote for the first item, of each pair.
    cast: Votes that each of the annotators cast on the pair.
    """
    number = np.clip(np.round(cast), 1, _MOST_CAST).astype(np.int64)
    log_p, log_q = np.log(np.clip(p, _TINY, 1)), np.log(np.clip(1 - p, _TINY, 1))
    total = 0.0
    for n in np.unique(number):
        own, k = number == n, np.arange(n + 1)
        ways = gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1)
        log_count = ways + log_p[own, None] * k + log_q[own, None] * (n - k)
        total += float(logsumexp(annotators * log_count, axis=1).sum())
    return total


def _alike(weight: FloatArray, marks: NDArray[np.uint64]) -> list[IntArray]:
    """Return groups of annotators with the same weight of votes and the same marks."""
    order = np.lexsort((np.arange(len(marks)), marks, weight))
    new = np.concatenate([[True], (marks[order][1:] != marks[order][:-1]) | (np.diff(weight[order]) != 0)])
    groups = np.split(order, np.flatnonzero(new)[1:])
    return [group for group in groups if len(group) > 1 and weight[group[0]] >= _LEAST_PAIRS]


def _marks(votes: Comparisons, n_pairs: int) -> NDArray[np.uint64]:
    """Return a number for the votes of each annotator on the first pairs, the same for the same votes."""
    n_pairs = min(n_pairs, votes.n_pairs)
    table, marks = votes.storage.table, np.empty(votes.n_annotators, dtype=np.uint64)
    own = slice(int(table.start[n_pairs]))
    kernels.mark_ballots(
        table.start[: n_pairs + 1],
        table.annotator[own],
        table.result[own],
        table.weight[own],
        marks,
        default_threads(),
    )
    return marks


def _chance_of_equality(votes: Comparisons, group: IntArray, copy_of: IntArray) -> float:
    """Return a bound of the probability that somebody as skilled as the first casts the same votes."""
    first = int(group[0])
    mine = (votes.vote_annotator == first) & (votes.vote_result != TIE) & (votes.vote_weight > 0)
    pairs = np.unique(votes.vote_pair[mine])
    if len(pairs) < _LEAST_PAIRS:
        return 1.0
    total, count = _sums(votes, pairs, first, np.concatenate([group[1:], np.flatnonzero(copy_of >= 0)]))
    if total.shape[1] < 3:
        return 1.0
    # Of votes both ways on a pair, none is known to be wrong.
    one_way = np.abs(total[:, 0]) == count[:, 0]
    cycles, distinct = _distinct_cycles(votes, pairs[one_way], np.sign(total[one_way]))
    by_agreement = _chance_by_agreement(total, count, len(group), cycles, distinct)
    return min(by_agreement, _chance_by_cycles(cycles, distinct, len(group)))


def _chance_by_agreement(total: FloatArray, count: FloatArray, copies: int, cycles: int, distinct: float) -> float:
    """Return the bound that follows from the skill of the first, by agreement with others.

    Several votes on a pair count as one that says first, second, or both; an independent annotator repeats the last
    with a probability of at most one half.

    total, count: Sum of votes on each pair, 1 for the first item and -1 for the second, and their number; the first
        column is that of the first annotator.
    cycles, distinct: As :func:`_distinct_cycles` returns them. Of fewer errors than cycles, only some explain that
        others agree less with votes in cycles; the rest of the difference would be chance.
    """
    said = total / np.maximum(count, 1)
    said[:, 0] = np.trunc(said[:, 0])
    skill, error = _squared_skill(said, count > 0, np.ones(len(total)))
    several = (count[:, 0] > 1).any()

    def equal(skill: FloatArray) -> FloatArray:
        if several:
            return np.asarray(((1 + skill) / 2) ** (len(total) * copies / 2))
        right = (1 + np.sqrt(skill)) / 2
        explained = np.minimum((1 - right) * len(total) / max(cycles, 1), 1.0)
        of_cycles = ndtr(-max(distinct, 0.0) * (1 - explained))
        return np.asarray((right**copies + (1 - right) ** copies) ** len(total) * of_cycles)

    by_skill = _with_luck(equal, skill, error, 1.0)
    return max(by_skill, _chance_by_variance(total, count, copies)) if several else by_skill


def _with_luck(equal: Callable[[FloatArray], FloatArray], found: float, error: float, farthest: float) -> float:
    """Return the probability of equal votes or, if that is larger, the one together with an estimate that misleads.

    The latter is the product of the probability of equality, for each true value, and that of an estimate so far from
    it; it is scaled so that its bound is the same.

    equal: Probability of equal votes by the true value.
    found, error: Estimate and standard error.
    farthest: The true value with which equality is likeliest.
    """
    true = np.linspace(found, farthest, _TRUE_VALUES)
    likely = equal(true)
    return max(float(likely[0]), _scaled(float((likely * ndtr(-np.abs(true - found) / max(error, 1e-300))).max())))


def _scaled(misled: float) -> float:
    """Return the probability of an estimate that misleads on the scale on which equality is judged."""
    return misled * ACCIDENT / _MISLED


def _chance_by_variance(total: FloatArray, count: FloatArray, copies: int) -> float:
    """Return the bound that follows from what the number of votes for an item varies beyond what others explain.

    Where votes on a pair are about different questions without a name, or are shown in both orders to somebody who
    prefers a side, those who never err vote both ways too. The number for an item then varies by errors alone: with
    ``n`` votes of variance ``v``, two numbers are equal with a probability of at most ``1 - 2 v`` for one vote, and
    for more of ``(C(2n, n) / 4^n)^(4 v)``.
    """
    n_votes = count[:, 0]
    skill, error = _squared_skill(total / np.maximum(count, 1), count > 0, n_votes)
    varies, error = (total[:, 0] ** 2 / n_votes).mean() - skill * n_votes.mean(), error * n_votes.mean()
    if varies <= 0:
        return 1.0
    of_coins = gammaln(n_votes + 0.5) - gammaln(n_votes + 1) - np.log(np.pi) / 2

    def equal(varies: FloatArray) -> FloatArray:
        v = np.minimum(varies / 4, 0.25)[:, None]
        return np.asarray(np.exp(copies / 2 * np.where(n_votes > 1, 4 * v * of_coins, np.log1p(-2 * v)).sum(axis=1)))

    return _with_luck(equal, varies, error, 0.0)


def _squared_skill(said: FloatArray, judged: BoolArray, of_pair: FloatArray) -> tuple[float, float]:
    """Return the square of the first one's skill with its standard error; 1 and 0 where it is not known.

    said: What each annotator, the first one first, says of each pair, between -1 and 1.
    judged: Whether they judged it.
    of_pair: Weight of each pair.
    """
    weighed = np.maximum((judged.T * of_pair) @ judged, 1e-300)
    agreement = ((said.T * of_pair) @ said) / weighed
    variance = ((said.T**2 * of_pair) @ said**2) / weighed - agreement**2
    # Pairs in common, as many as would be of equal weight.
    number = weighed**2 / np.maximum((judged.T * of_pair**2) @ judged, 1e-300)
    a, b = np.triu_indices(said.shape[1] - 1, 1)
    a, b = a + 1, b + 1
    kept = number[a, b] >= _LEAST_COMMON
    if not kept.any():
        return 1.0, 0.0
    a, b = a[kept], b[kept]
    # What is expected of two agreements with others is the squared skill times the agreement of these two.
    both, weight = agreement[0, a] * agreement[0, b], number[a, b]
    between = np.sign(both) * agreement[a, b]
    of_both = agreement[0, a] ** 2 * variance[0, b] / number[0, b]
    of_both += agreement[0, b] ** 2 * variance[0, a] / number[0, a]
    of_between = variance[a, b] / weight
    total = float((weight * between).sum())
    if total <= _SURE * float(np.sqrt((weight**2 * of_between).sum())):
        return 1.0, 0.0
    skill = float((weight * np.abs(both)).sum()) / total
    error = float(np.sqrt((weight**2 * (of_both + skill**2 * of_between)).sum())) / total
    return skill, error


def _chance_by_cycles(cycles: int, distinct: float, copies: int) -> float:
    """Return the bound that follows from cycles in the votes of the first.

    If the votes on all pairs were against the order of the items ``m`` times on average, the probability that ``c``
    annotators cast the same is largest where these are coin tosses, or for large ``c`` rare errors.

    cycles, distinct: As :func:`_distinct_cycles` returns them. Without errors in cycles, others would agree less
        there only by chance.
    """

    def equal(errors: FloatArray) -> FloatArray:
        return np.asarray(np.exp(-min(copies, 2 * (copies - 1) * np.log(2)) * errors))

    return max(_scaled(float(ndtr(-distinct))), _with_luck(equal, cycles, np.sqrt(cycles), 0.0))


def _distinct_cycles(votes: Comparisons, pairs: IntArray, said: FloatArray) -> tuple[int, float]:
    """Return the number of cycles in the first one's votes, and how many standard errors less others agree there."""
    first, second = votes.pair_first[pairs].astype(np.int64), votes.pair_second[pairs].astype(np.int64)
    node = votes.pair_question[pairs].astype(np.int64) * votes.n_items if votes.has_questions else 0
    won = said[:, 0] > 0
    winner, loser = node + np.where(won, first, second), node + np.where(won, second, first)
    in_cycle = _cycles(winner[:_MOST_CYCLED].tolist(), loser[:_MOST_CYCLED].tolist())
    inside = np.zeros(len(pairs), dtype=bool)
    inside[in_cycle] = True
    others = said[:, 1:] != 0
    judged = others.any(axis=1)
    agreement = np.where(others, said[:, 1:] == said[:, :1], 0).sum(axis=1) / np.maximum(others.sum(axis=1), 1)
    within, rest = agreement[judged & inside], agreement[judged & ~inside]
    if min(len(within), len(rest)) < _LEAST_COMMON:
        return 0, 0.0
    error = np.sqrt(within.var() / len(within) + rest.var() / len(rest))
    return len(in_cycle) // 3, float((rest.mean() - within.mean()) / max(error, 1e-300))


def _cycles(winner: list[int], loser: list[int]) -> list[int]:
    """Return the places of votes that form cycles of three, no vote in two of them."""
    place = {edge: at for at, edge in enumerate(zip(winner, loser, strict=True))}
    beats: dict[int, set[int]] = {}
    beaten_by: dict[int, set[int]] = {}
    for one, other in place:
        beats.setdefault(one, set()).add(other)
        beaten_by.setdefault(other, set()).add(one)
    found = []
    for one, other in place:
        third = beats.get(other, set()) & beaten_by.get(one, set()) if other in beats[one] else set()
        if third:
            last = min(third)
            for a, b in ((one, other), (other, last), (last, one)):
                beats[a].discard(b)
                beaten_by[b].discard(a)
                found.append(place[a, b])
    return found


def _sums(votes: Comparisons, pairs: IntArray, first: int, aside: IntArray) -> tuple[FloatArray, FloatArray]:
    """Return the sum, 1 for the first item and -1 for the second, and number of votes on some pairs.

    Columns are the annotator, and those others who judged most of the same pairs. Weights that are no whole numbers,
    and soft votes, do not tell how many votes there are: they count as one that says what most of them say.
    """
    place = np.full(votes.n_pairs, -1, dtype=np.int64)
    place[pairs] = np.arange(len(pairs))
    telling = (place[votes.vote_pair] >= 0) & (votes.vote_result != TIE) & (votes.vote_weight > 0)
    row, who = place[votes.vote_pair[telling]], votes.vote_annotator[telling].astype(np.int64)
    judged = np.bincount(who, minlength=votes.n_annotators)
    judged[aside] = 0
    judged[first] = 0
    others = np.argsort(-judged, kind="stable")[:_MOST_OTHERS]
    chosen = np.concatenate([[first], others[judged[others] >= _LEAST_COMMON]])
    column = np.full(votes.n_annotators, -1, dtype=np.int64)
    column[chosen] = np.arange(len(chosen))
    kept = column[who] >= 0
    at, weight = (row[kept], column[who[kept]]), votes.vote_weight[telling][kept]
    total, count = np.zeros((len(pairs), len(chosen))), np.zeros((len(pairs), len(chosen)))
    np.add.at(total, at, np.where(votes.vote_result[telling][kept] == FIRST, weight, -weight))
    np.add.at(count, at, weight)
    if votes.vote_soft.any() or (weight % 1).any():
        return np.sign(total), np.abs(np.sign(total))
    return total, count
