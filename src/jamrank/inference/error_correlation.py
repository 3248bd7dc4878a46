"""Annotators with correlated errors, and the number of effective judges."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import coo_array, csr_array
from scipy.sparse.csgraph import connected_components
from scipy.special import ndtri

from jamrank.data.comparisons import Comparisons
from jamrank.data.storage import FIRST, TIE, DenseVotes
from jamrank.inference.response_bias import chunks
from jamrank.io.any_votes import votes_in_memory
from jamrank.io.given import VoteSource
from jamrank.typing import BoolArray, FloatArray, IntArray

# Fewest common pairs of two judges.
_LEAST_COMMON = 10
# The probability of any false link among independent judges, and of a further one where there is one.
_FALSE_ALARM, _FURTHER = 0.002, 0.02
# Most couples of votes on one pair that are used; beyond that, an even sample of the pairs.
_MOST_COUPLES = 10_000_000
# Most judges that are compared; the number of couples grows with their square.
_MOST_JUDGES = 3_000
_ROUNDS, _ITERATIONS = 30, 500
# Of many couples, those whose surplus is near the largest are removed together.
_FEW_COUPLES, _NEAR = 500, 0.8
# Up to so many judges, the variances of skills allow for those of third judges.
_JOINT = 64
# Fewest third judges with whom both judges of a couple share pairs; the skills are estimated from these.
_LEAST_OTHERS = 2
# Pseudo-counts of common pairs that shrink a judge's skill to its initial value.
_IMAGINED = 1.0
# If skills differ by so many standard errors more than possible, they vary between pairs.
_TOO_FAR = 3.0
# A skill of 1 would leave no errors to correlate.
_LARGEST_SKILL = 0.98


@dataclass(frozen=True)
class Couples:
    """Couples of judges with at least ten common pairs: how many, and agreement on them from -1 to 1."""

    first: IntArray
    second: IntArray
    common: FloatArray
    agreement: FloatArray
    n_judges: int

    def matrix(self, values: FloatArray, kept: BoolArray) -> csr_array:
        """Return values of the couples that are kept, judges × judges, symmetric."""
        a, b, v = self.first[kept], self.second[kept], values[kept]
        at = np.concatenate([a, b]), np.concatenate([b, a])
        return csr_array(coo_array((np.concatenate([v, v]), at), shape=(self.n_judges, self.n_judges)))

    def third_parties(self) -> FloatArray:
        """Return with how many others both judges of each couple have pairs in common."""
        linked = self.matrix(np.ones(len(self.common)), np.ones(len(self.common), dtype=bool))
        return np.asarray(csr_array(linked @ linked)[self.first, self.second]).ravel()


@dataclass(frozen=True)
class Links:
    """Couples of judges whose errors are correlated.

    Attributes
    ----------
    first, second : ndarray of int
        The two judges, as indices into ``votes.annotators``; highest correlation first.
    common : ndarray
        Pairs that both judged.
    agreed : ndarray
        On how many of them they agreed.
    expected : ndarray
        On how many they would have if they erred independently.
    correlation : ndarray
        Correlation of their errors, shrunk towards 0 by its sampling error.
    effective_judges : float
        How many independent judges all of them are worth.
    couples : Couples
        Every couple with common pairs, linked or not.
    """

    first: IntArray
    second: IntArray
    common: FloatArray
    agreed: FloatArray
    expected: FloatArray
    correlation: FloatArray
    effective_judges: float
    couples: Couples

    def to_array(self) -> FloatArray:
        """Return the couples as rows of numbers, for files."""
        columns = [self.first, self.second, self.common, self.agreed, self.expected, self.correlation]
        return np.stack(columns, axis=1).astype(np.float64)


def correlated(votes: Comparisons | VoteSource, flip: Any = None) -> Links:
    """Find judges whose errors are correlated.

    Judges who err independently agree on a pair, less disagree, as often as the product of their skills 1 - 2 flip,
    whatever the truth is. So the skills can be estimated from the agreements of all couples. A couple that agrees
    significantly more than its product is linked and removed, until there is no such couple left.

    Parameters
    ----------
    votes : Comparisons, path-like, data frame, mapping or list
        The votes, or whatever :func:`jamrank.read_comparisons` reads, in memory; ties are left out. At least four
        judges with common pairs are needed to detect any couple.
    flip : array-like, optional
        Initial value of each judge's flip.

    Returns
    -------
    Links
    """
    votes = votes_in_memory(votes, "correlated")
    couples = agreements(votes)
    guess = np.full(votes.n_annotators, 0.5) if flip is None else 1 - 2 * np.asarray(flip, dtype=np.float64)
    none = np.empty(0), np.empty(0)
    correlation, explained = _surplus(couples, guess) if len(couples.common) else none
    kept = np.flatnonzero(correlation > 0)
    kept = kept[np.argsort(-correlation[kept], kind="stable")]
    first, second, linked = couples.first[kept], couples.second[kept], correlation[kept]
    common = couples.common[kept]
    agreed, expected = (common * (1 + balance[kept]) / 2 for balance in (couples.agreement, explained))
    judges = int(np.count_nonzero(votes.annotator_decided > 0))
    lost = _shared(first, second, linked, votes.n_annotators)
    return Links(first, second, common, np.round(agreed, 9), expected, linked, judges - lost, couples)


def agreements(votes: Comparisons) -> Couples:
    """Return how often any two annotators with common pairs agree."""
    said = _ballots(votes)
    busy = _busiest(said)
    said = csr_array(said[:, busy])
    judged = abs(said)
    common, balance = csr_array(judged.T @ judged).tocoo(), csr_array(said.T @ said)
    some = (common.row < common.col) & (common.data >= _LEAST_COMMON)
    first, second, both = common.row[some], common.col[some], common.data[some]
    agreed = np.asarray(balance[first, second]).ravel() if len(both) else np.empty(0)
    return Couples(busy[first], busy[second], both, agreed / both, votes.n_annotators)


def _busiest(said: csr_array) -> IntArray:
    """Return the judges with enough pairs to be compared; of very many, those with the most pairs."""
    judged = np.bincount(said.indices, minlength=said.shape[1])
    busy = np.flatnonzero(judged >= _LEAST_COMMON)
    if len(busy) > _MOST_JUDGES:
        busy = np.sort(busy[np.argsort(-judged[busy], kind="stable")[:_MOST_JUDGES]])
    return busy.astype(np.int64)


def _ballots(votes: Comparisons) -> csr_array:
    """Return each judge's vote on each pair that is used: 1 first, -1 second.

    If a judge voted more than once on a pair, the mean counts.
    """
    kept = _sample(votes)
    place = np.cumsum(kept) - 1
    rows, columns, data = [np.empty(0, np.int64)], [np.empty(0, np.int32)], [np.empty(0)]
    for chunk in chunks(votes):
        taken = kept[chunk.pair] & (chunk.result != TIE)
        rows.append(place[chunk.pair[taken]])
        columns.append(chunk.annotator[taken])
        data.append((chunk.weight * np.where(chunk.result == FIRST, 1.0, -1.0))[taken])
    shape = int(kept.sum()), votes.n_annotators
    said = csr_array(coo_array((np.concatenate(data), (np.concatenate(rows), np.concatenate(columns))), shape=shape))
    said.data = np.sign(said.data)
    said.eliminate_zeros()
    return said


def _sample(votes: Comparisons) -> BoolArray:
    """Return which pairs are used: all with more than one vote, or a sample that bounds the work."""
    if isinstance(votes.storage, DenseVotes):
        count = np.broadcast_to(float(votes.n_annotators), votes.n_pairs)
    else:
        count = np.diff(votes.vote_start).astype(np.float64)
    telling = np.flatnonzero(count > 1)
    every = max(int(np.ceil((count[telling] ** 2).sum() / _MOST_COUPLES)), 1)
    kept = np.zeros(votes.n_pairs, dtype=bool)
    kept[telling[::every]] = True
    return kept


def _surplus(couples: Couples, guess: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the shrunken error correlation of each couple, 0 if not significant; and the explained agreement.

    Explained is the agreement, less disagreement, of judges with these skills who err independently.
    """
    common, agreement = couples.common, couples.agreement
    aside = np.zeros(len(common), dtype=bool)
    telling = couples.third_parties() >= _LEAST_OTHERS
    if not telling.any():
        return np.zeros(len(common)), np.zeros(len(common))
    first_limit, limit = (-float(ndtri(alarm / np.count_nonzero(telling))) for alarm in (_FALSE_ALARM, _FURTHER))
    few = len(common) <= _FEW_COUPLES
    for _ in range(_ROUNDS):
        (one, unsure_one), (other, unsure_other), together = _skills(couples, aside, guess, few)
        excess = _excess(one, other, agreement)
        unsure = unsure_one + unsure_other
        alike = np.abs(excess) <= _TOO_FAR * np.sqrt(unsure + (1 - agreement**2) / common)
        one, other = one - excess * unsure_one / unsure, other + excess * unsure_other / unsure
        explained = one * other
        variance = (1 - explained**2) / common
        variance += one**2 * unsure_other + other**2 * unsure_one + 2 * explained * together
        surplus = np.where(telling & alike, (agreement - explained) / np.sqrt(variance), 0.0)
        worst = float(surplus[~aside].max(initial=0.0))
        if worst <= (limit if aside.any() else first_limit):
            break
        aside |= surplus >= (worst if few else max(limit, _NEAR * worst))
    spread = np.sqrt(np.maximum((1 - one**2) * (1 - other**2), 1e-12))
    correlation = np.clip((agreement - explained) / spread, -1.0, 1.0)
    sure = aside & (surplus > limit)
    shrunk = correlation - np.divide(1.0, common * correlation, out=np.ones_like(common), where=sure)
    return np.where(sure, np.maximum(shrunk, 0.0), 0.0), explained


def _excess(one: FloatArray, other: FloatArray, agreement: FloatArray) -> FloatArray:
    """Return by how much the difference in skill of each couple exceeds the maximum on their common pairs.

    Error rates r and s limit the agreement to 1 - 2 |r - s|, so the skills of two judges differ by at most 1 minus
    their agreement. A good and a bad judge who agree more than that have other skills on their common pairs than
    elsewhere, which must not be taken for correlated errors.
    """
    gap = one - other
    return np.asarray(np.sign(gap) * np.maximum(np.abs(gap) - (1 - agreement), 0.0))


def _skills(
    couples: Couples, aside: BoolArray, guess: FloatArray, few: bool
) -> tuple[tuple[FloatArray, FloatArray], tuple[FloatArray, FloatArray], FloatArray]:
    """Return the skills of both judges of each couple, estimated from the other couples; variances and covariance.

    If couples are few, skills are refitted without each of them. If they are many, a couple hardly changes the skills
    of third judges, and only the last step leaves it out; third judges' skills are then taken as known.
    """
    a, b = couples.first, couples.second
    weight, agreed = (couples.matrix(v, ~aside) for v in (couples.common, couples.common * couples.agreement))
    own_weight, own_told = (np.where(aside, 0.0, v) for v in (couples.common, couples.common * couples.agreement))
    start = np.clip(guess, -_LARGEST_SKILL, _LARGEST_SKILL)
    skill = np.tile(start, (len(a) if few else 1, 1))
    row = np.arange(len(a)) if few else np.zeros(len(a), dtype=np.int64)
    if few:
        weight, agreed = weight.toarray(), agreed.toarray()
    for _ in range(_ITERATIONS):
        above, below = skill @ agreed, skill**2 @ weight
        if few:
            for k, j in ((a, b), (b, a)):
                above[row, k] -= own_told * skill[row, j]
                below[row, k] -= own_weight * skill[row, j] ** 2
        fitted = _ratio(above, below, start)
        # Half steps, since full steps may oscillate.
        moved, skill = float(np.abs(fitted - skill).max()), (fitted + skill) / 2
        if moved < 1e-7:
            break
    above, below = skill @ agreed, skill**2 @ weight
    found = []
    for k, j in ((a, b), (b, a)):
        known = np.maximum(below[row, k] - own_weight * skill[row, j] ** 2, 0.0)
        found.append((_ratio(above[row, k] - own_told * skill[row, j], known, start[k]), 1 / (known + _IMAGINED)))
    judges = np.unique(np.concatenate([a, b]))
    if not few or len(judges) > _JOINT:
        return found[0], found[1], np.zeros(len(a))
    at = np.searchsorted(judges, a), np.searchsorted(judges, b)
    unsure_one, unsure_other, together = _covariances(skill[:, judges], weight[np.ix_(judges, judges)], *at)
    return (found[0][0], unsure_one), (found[1][0], unsure_other), together


def _covariances(
    skill: FloatArray, weight: FloatArray, first: IntArray, second: IntArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the variances of the skills of both judges of each couple, without that couple, and their covariance.

    Third judges' skills are uncertain, too: where others guess, a good judge shows only in products of skills.

    skill: One row for each couple.
    weight: Common pairs of any two judges.
    """
    row = np.arange(len(first))
    weights = np.repeat(weight[None], len(row), axis=0)
    weights[row, first, second] = weights[row, second, first] = 0.0
    product = skill[:, :, None] * skill[:, None, :]
    inverse = np.linalg.inv(_normal_matrix(weights, skill, product))
    scatter = _normal_matrix(weights * (1 - product**2), skill, product)
    found = np.einsum("kij,kjl,klm->kim", inverse, scatter, inverse, optimize=True)
    return found[row, first, first], found[row, second, second], found[row, first, second]


def _normal_matrix(weights: FloatArray, skill: FloatArray, product: FloatArray) -> FloatArray:
    """Return the normal matrix of the least squares that fit products of skills, with the imagined pairs."""
    found, diagonal = weights * product, np.arange(skill.shape[1])
    found[:, diagonal, diagonal] = np.einsum("kij,kj->ki", weights, skill**2) + _IMAGINED
    return found


def _ratio(above: FloatArray, below: FloatArray, start: FloatArray) -> FloatArray:
    drawn = (above + _IMAGINED * start) / (np.maximum(below, 0.0) + _IMAGINED)
    return np.asarray(np.clip(drawn, -_LARGEST_SKILL, _LARGEST_SKILL))


def _shared(first: IntArray, second: IntArray, linked: FloatArray, n: int) -> float:
    """Return the loss of effective judges: a group of m is worth m / (1 + (m - 1) mean correlation)."""
    graph = coo_array((np.ones(len(first)), (first, second)), shape=(n, n))
    _, group = connected_components(graph, directed=False)
    size = np.bincount(group).astype(np.float64)
    total = np.bincount(group[first], linked, len(size))
    # The sum over couples, twice, is m (m - 1) times their mean.
    return float((size - size / (1 + 2 * total / size)).sum())
