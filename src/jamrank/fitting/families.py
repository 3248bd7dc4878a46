"""Families of annotators who share an effect on items: draws from the posterior by Gibbs sampling.

Annotator ``k`` has the scores ``q_k = s + f_g + e_k`` in mind: common scores, an effect of the family ``g`` if there
is one, an own effect; all normal. A vote follows ``sigmoid`` of a margin of ``q_k``, or is flipped. Given Pólya-Gamma
variables and flips, votes are a normal likelihood; effects are then integrated out along the tree of annotators,
families and common scores, so that memberships and deviations are drawn without them. All chains advance together:
arrays have the chain first.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.special import betaln, expit, gammaln, logit

from jamrank.fitting.family_votes import AnnotatorPairs
from jamrank.typing import FloatArray, IntArray

__all__ = ["ALONE", "N_CHAINS", "FamilyDraws", "absorb", "log_membership", "sample_families"]

# Chains that advance together: many short ones cost little more than few, and find explanations that differ.
N_CHAINS = 8
# The family of annotators who have none.
ALONE = -1
# Deviations that effects of families and own effects may have. Of the latter 0 is as likely as all others together; a
# family without an effect is none.
FAMILY_SDS = np.array([0.25, 0.35, 0.5, 0.7, 1.0, 1.4, 2.0, 2.8])
OWN_SDS = np.array([0.0, 0.15, 0.25, 0.4, 0.6, 0.9, 1.4])
_OWN_WEIGHTS = np.append(0.5, np.full(len(OWN_SDS) - 1, 0.5 / (len(OWN_SDS) - 1)))
# How likely there are no families at all, and the prior of the share of annotators without: Beta(1, 1). Whether a
# few share a taste or all others do, votes do not tell.
_NO_FAMILIES, _FEW = 0.5, 1.0
# Means and sizes of the Beta prior of the flips.
_FLIP_PRIORS = np.array([(m * c, (1 - m) * c) for m in (0.03, 0.1, 0.2, 0.3) for c in (5.0, 20.0, 80.0)]).T

# Joint steps of scale and flips in a sweep.
_STRETCHES = 3


@dataclass(frozen=True)
class State:
    """Where the chains are."""

    family: IntArray
    scores: FloatArray
    own: FloatArray
    flip: FloatArray
    flip_prior: IntArray
    score_sd: FloatArray
    family_sd: FloatArray
    own_sd: FloatArray


@dataclass(frozen=True)
class FamilyDraws:
    """Draws from the posterior, one row each.

    Attributes
    ----------
    scores : ndarray of shape (draws, items)
        The common scores, with mean 0.
    own : ndarray of shape (draws, annotators, items)
        The scores that each annotator has in mind.
    flip : ndarray of shape (draws, annotators)
    family : ndarray of int, shape (draws, annotators)
        Numbers of families, :data:`ALONE` for those without. Only who is with whom has a meaning.
    sds : ndarray of shape (draws, 3)
        Deviations of the common scores, of the effects of families, and of own effects.
    """

    scores: FloatArray
    own: FloatArray
    flip: FloatArray
    family: IntArray
    sds: FloatArray


@dataclass(frozen=True)
class Normal:
    """Stacked normal likelihoods ``exp(shift x - x precision x / 2)``, and the logarithm of a factor of each."""

    precision: FloatArray
    shift: FloatArray
    log_factor: FloatArray

    def __getitem__(self, at: Any) -> Normal:
        return Normal(self.precision[at], self.shift[at], self.log_factor[at])

    def __add__(self, other: Normal) -> Normal:
        return Normal(self.precision + other.precision, self.shift + other.shift, self.log_factor + other.log_factor)

    def __sub__(self, other: Normal) -> Normal:
        return Normal(self.precision - other.precision, self.shift - other.shift, self.log_factor - other.log_factor)

    def sum(self, axis: int) -> Normal:
        """Return the product of the likelihoods along an axis."""
        return Normal(self.precision.sum(axis=axis), self.shift.sum(axis=axis), self.log_factor.sum(axis=axis))

    def put(self, at: Any, value: Normal) -> None:
        """Replace some in place."""
        for mine, other in zip(vars(self).values(), vars(value).values(), strict=True):
            mine[at] = other


def absorb(below: Normal, sd: FloatArray) -> Normal:
    """Integrate out normal effects with deviations that broadcast to the stack."""
    variance = np.broadcast_to(sd, below.log_factor.shape)[..., None, None] ** 2
    matrix = variance * below.precision
    at = np.arange(matrix.shape[-1])
    matrix[..., at, at] += 1.0
    both = np.concatenate([below.precision, below.shift[..., None]], axis=-1)
    solved = np.linalg.solve(matrix, both)
    left, moved = solved[..., :-1], solved[..., -1]
    half = np.log(np.linalg.cholesky(matrix)[..., at, at]).sum(axis=-1)
    gained = 0.5 * variance[..., 0, 0] * (below.shift * moved).sum(axis=-1)
    return Normal(0.5 * (left + np.swapaxes(left, -1, -2)), moved, below.log_factor + gained - half)


def evidence(below: Normal, sd: FloatArray) -> FloatArray:
    """Return the logarithm of what is left when all is integrated out."""
    variance = np.broadcast_to(sd, below.log_factor.shape)[..., None, None] ** 2
    matrix = variance * below.precision
    at = np.arange(matrix.shape[-1])
    matrix[..., at, at] += 1.0
    lower = np.linalg.cholesky(matrix)
    moved = np.linalg.solve(lower, below.shift[..., None])[..., 0]
    half = np.log(lower[..., at, at]).sum(axis=-1)
    return np.asarray(below.log_factor + 0.5 * variance[..., 0, 0] * (moved**2).sum(axis=-1) - half)


def draw_effect(below: Normal, sd: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Draw normal effects with deviations that broadcast to the stack, given their likelihoods."""
    spread = np.broadcast_to(sd, below.log_factor.shape)[..., None, None]
    matrix = spread**2 * below.precision
    at = np.arange(matrix.shape[-1])
    matrix[..., at, at] += 1.0
    lower = np.linalg.cholesky(matrix)
    noise = rng.standard_normal((*below.shift.shape, 1))
    half = np.linalg.solve(lower, spread * below.shift[..., None]) + noise
    return np.asarray(spread * np.linalg.solve(np.swapaxes(lower, -1, -2), half))[..., 0]


def log_membership(sizes: FloatArray, n_annotators: int) -> FloatArray:
    """Return the log prior of families of such sizes, last axis: a share of annotators have families, by chance.

    One family of everybody is impossible: its effect would be the common scores.
    """
    inside = sizes.sum(axis=-1)
    share = np.log(_FEW) + betaln(n_annotators - inside + _FEW, inside + 1)
    found = np.log(1 - _NO_FAMILIES) + share + gammaln(np.maximum(sizes, 1)).sum(axis=-1) - gammaln(inside + 1)
    none = np.log(_NO_FAMILIES + (1 - _NO_FAMILIES) * _FEW / (n_annotators + _FEW))
    found = np.where(inside == 0, none, found)
    return np.asarray(np.where(sizes.max(axis=-1) == n_annotators, -np.inf, found))


def sample_families(
    votes: AnnotatorPairs,
    families: IntArray | None = None,
    *,
    n_draws: int = 400,
    n_chains: int = N_CHAINS,
    warm_up: int = 100,
    thin: int = 2,
    random_state: int = 0,
) -> FamilyDraws:
    """Draw from the posterior; row ``i`` is of chain ``i % n_chains``.

    Parameters
    ----------
    votes : AnnotatorPairs
    families : ndarray of int, optional
        The family of each annotator where it is known, :data:`ALONE` for none; drawn unless given.
    n_draws, n_chains, warm_up, thin, random_state : int
    """
    rng = np.random.default_rng(random_state)
    state, kept = _start(votes, families, n_chains), []
    for sweep in range(warm_up + thin * -(-n_draws // n_chains)):
        # Flips settle first: an adversary would else be taken for a family of opposite taste.
        settled = sweep >= warm_up // 3
        state = _sweep(votes, state, families is None and settled, settled, sweep, rng)
        if sweep >= warm_up and (sweep - warm_up) % thin == thin - 1:
            kept.append(state)

    def rows(name: str) -> FloatArray:
        return np.concatenate([getattr(one, name) for one in kept])[:n_draws]

    scores, own = rows("scores"), rows("own")
    level = scores.mean(axis=1, keepdims=True)
    sds = np.stack([rows(name) for name in ("score_sd", "family_sd", "own_sd")], axis=1)
    return FamilyDraws(scores - level, own - level[:, None], rows("flip"), rows("family").astype(np.int64), sds)


def _start(votes: AnnotatorPairs, families: IntArray | None, chains: int) -> State:
    k, n = votes.n_annotators, votes.n_items
    family = np.full((chains, k), ALONE) if families is None else np.tile(families, (chains, 1))
    one = np.ones(chains)
    return State(
        family=family,
        scores=np.zeros((chains, n)),
        own=np.zeros((chains, k, n)),
        flip=np.full((chains, k), 0.1),
        flip_prior=np.zeros(chains, dtype=np.int64),
        score_sd=one,
        family_sd=0.7 * one,
        own_sd=0.0 * one,
    )


def _sweep(
    votes: AnnotatorPairs, state: State, search: bool, tastes: bool, sweep: int, rng: np.random.Generator
) -> State:
    for _ in range(_STRETCHES):
        state = _stretch(votes, state, rng)
    margin = votes.margins(state.own)
    flipped = votes.draw_flipped(margin, state.flip, rng)
    state = _draw_flips(votes, flipped, state, rng)
    precision, shift = votes.likelihood(margin, flipped, rng)
    own = Normal(precision, shift, np.zeros(shift.shape[:2]))
    # One annotator's own effects cannot be told from the common scores.
    if tastes and sweep % 4 == 1 and votes.n_annotators > 1:
        state = replace(state, own_sd=_draw_own_sd(own, state, rng))
    below = absorb(own, state.own_sd[:, None])
    if search:
        state = replace(state, family=_exchange(below, state, rng))
    if search and not sweep % 2:
        state = replace(state, family=_draw_membership(below, state, rng))
        state = replace(state, family=_exchange(below, state, rng))
    if sweep % 4 == 3:
        state = replace(state, family_sd=_draw_family_sd(below, state, rng))
    return _draw_scores(own, below, state, rng)


def _draw_flips(votes: AnnotatorPairs, flipped: FloatArray, state: State, rng: np.random.Generator) -> State:
    a, b = _FLIP_PRIORS
    wrong = votes.by_annotator(flipped.sum(axis=1))
    right = votes.by_annotator((votes.wins + votes.losses)[None]) - wrong
    # The prior with the flips integrated out.
    found = betaln(a + wrong[..., None], b + right[..., None]).sum(axis=1) - wrong.shape[1] * betaln(a, b)
    chosen = _draw_index(found, rng)
    rates = rng.beta(a[chosen, None] + wrong, b[chosen, None] + right)
    return replace(state, flip=np.clip(rates, 1e-9, 1 - 1e-9), flip_prior=chosen)


def _stretch(votes: AnnotatorPairs, state: State, rng: np.random.Generator) -> State:
    """Propose wider scores with more flips, or the reverse: votes hardly tell these apart."""
    chains = len(state.scores)
    # Steps of all sizes: the more votes, the smaller those that are taken.
    size = 10.0 ** -rng.uniform(0.0, 1.5, chains)
    by, more = 0.25 * size * rng.standard_normal(chains), size * rng.standard_normal(chains)
    log_odds = logit(state.flip) + (more + 5.0 * by * (rng.random(chains) < 0.5))[:, None]
    stretched = np.exp(by)[:, None] * state.scores
    proposed = replace(
        state,
        scores=stretched,
        own=state.own + (stretched - state.scores)[:, None],
        score_sd=np.exp(by) * state.score_sd,
        flip=np.clip(expit(log_odds), 1e-9, 1 - 1e-9),
    )
    gain = _log_density(votes, proposed) - _log_density(votes, state)
    taken = np.log(rng.random(chains)) < gain
    chosen = {
        name: np.where(taken.reshape(-1, *[1] * (np.ndim(value) - 1)), value, getattr(state, name))
        for name, value in vars(proposed).items()
    }
    return State(**chosen)


def _log_density(votes: AnnotatorPairs, state: State) -> FloatArray:
    """Return the log posterior of scores in units of their deviation, of its logarithm, and of logits of flips."""
    a, b = _FLIP_PRIORS[:, state.flip_prior]
    of_flips = (a[:, None] * np.log(state.flip) + b[:, None] * np.log1p(-state.flip)).sum(axis=1)
    return np.asarray(
        votes.log_likelihood(state.own, state.flip) + of_flips - np.log(state.score_sd) - 0.5 / state.score_sd**2
    )


def _draw_index(log_weight: FloatArray, rng: np.random.Generator) -> IntArray:
    """Draw one of the last axis for each chain."""
    weight = np.cumsum(np.exp(log_weight - log_weight.max(axis=-1, keepdims=True)), axis=-1)
    return np.asarray((weight < rng.random((len(weight), 1)) * weight[:, -1:]).sum(axis=-1))


def _gathered(below: Normal, family: IntArray, n_families: int) -> Normal:
    """Multiply the likelihoods of each family's members; the last of the stack are those without a family."""
    member = (family[:, None, :] == np.append(np.arange(n_families), ALONE)[None, :, None]).astype(np.float64)
    n = below.shift.shape[-1]
    flat = below.precision.reshape(*below.shift.shape[:2], n * n)
    return Normal(
        (member @ flat).reshape(len(family), n_families + 1, n, n),
        member @ below.shift,
        (member @ below.log_factor[..., None])[..., 0],
    )


def _tree_evidence(gathered: Normal, family_sd: FloatArray, score_sd: FloatArray) -> FloatArray:
    up = absorb(gathered[:, :-1], family_sd[:, None])
    return evidence(up.sum(axis=1) + gathered[:, -1], score_sd)


def _n_families(family: IntArray) -> int:
    return int(family.max(initial=ALONE)) + 1


def _draw_own_sd(own: Normal, state: State, rng: np.random.Generator) -> FloatArray:
    found = []
    for sd, weight in zip(OWN_SDS, _OWN_WEIGHTS, strict=True):
        below = absorb(own, np.asarray(sd)) if sd else own
        gathered = _gathered(below, state.family, _n_families(state.family))
        found.append(np.log(weight) + _tree_evidence(gathered, state.family_sd, state.score_sd))
    return OWN_SDS[_draw_index(np.stack(found, axis=1), rng)]


def _draw_family_sd(below: Normal, state: State, rng: np.random.Generator) -> FloatArray:
    gathered = _gathered(below, state.family, _n_families(state.family))
    found = [_tree_evidence(gathered, np.full(len(state.flip), sd), state.score_sd) for sd in FAMILY_SDS]
    return FAMILY_SDS[_draw_index(np.stack(found, axis=1), rng)]


def _draw_membership(below: Normal, state: State, rng: np.random.Generator) -> IntArray:
    """Draw the family of one annotator after the other, effects integrated out."""
    family = _renumbered(state.family)
    chains, n = family.shape
    every, sd = np.arange(chains), state.family_sd[:, None]
    # One more, which is empty: a new family. There may be several such.
    slots = _n_families(family) + 1
    sums = _gathered(below, family, slots)
    up = absorb(sums[:, :-1], sd)
    for k in rng.permutation(n):
        own, at = below[:, k], family[:, k]
        sums.put((every, at), sums[every, at] - own)
        moved = np.flatnonzero(at != ALONE)
        if len(moved):
            up.put((moved, at[moved]), absorb(sums[moved, at[moved]], state.family_sd[moved]))
        family[:, k] = ALONE - 1
        sizes = (family[:, None, :] == np.arange(slots)[:, None]).sum(axis=2)
        joined = absorb(sums[:, :-1] + own[:, None], sd)
        rest = up.sum(axis=1) + sums[:, -1]
        found = np.empty((chains, slots + 1))
        found[:, :-1] = evidence(rest[:, None] + (joined - up), state.score_sd[:, None])
        found[:, -1] = evidence(rest + own, state.score_sd)
        grown = sizes[:, None, :] + np.eye(slots + 1, slots, dtype=np.int64)
        found += log_membership(grown.astype(np.float64), n)
        # Of several empty ones the first stands for all.
        found[:, :-1][(np.cumsum(sizes == 0, axis=1) > 1) & (sizes == 0)] = -np.inf
        chosen = _draw_index(found, rng)
        into = np.where(chosen == slots, ALONE, chosen)
        family[:, k] = into
        sums.put((every, into), sums[every, into] + own)
        in_family = np.flatnonzero(into != ALONE)
        if len(in_family):
            up.put((in_family, into[in_family]), joined[in_family, into[in_family]])
        if ((family[:, None, :] == np.arange(slots)[:, None]).any(axis=2)).all(axis=1).any():
            slots, sums = slots + 1, _gathered(below, family, slots + 1)
            up = absorb(sums[:, :-1], sd)
    return _renumbered(family)


def _exchange(below: Normal, state: State, rng: np.random.Generator) -> IntArray:
    """Propose that those without a family are one, and that one family has no effect: the votes hardly tell."""
    family = state.family
    chains, n = family.shape
    count = family.max(axis=1) + 1
    some_alone = (family == ALONE).any(axis=1)
    proposed, log_ratio = family.copy(), np.full(chains, -np.inf)
    for c in range(chains):
        if not count[c]:
            continue
        kind = rng.integers(2)
        g = int(rng.integers(count[c]))
        if kind == 0 and some_alone[c]:  # they change places
            proposed[c] = np.where(family[c] == g, ALONE, np.where(family[c] == ALONE, g, family[c]))
            log_ratio[c] = 0.0
        elif kind == 1 and some_alone[c]:  # all have a family
            proposed[c] = np.where(family[c] == ALONE, count[c], family[c])
            log_ratio[c] = -np.log(count[c] + 1)
        elif kind == 1:  # one family is none
            proposed[c] = np.where(family[c] == g, ALONE, family[c])
            log_ratio[c] = np.log(count[c])
    proposed = _renumbered(proposed)
    found = []
    for one in (family, proposed):
        slots = _n_families(one)
        sizes = (one[:, None, :] == np.arange(slots)[:, None]).sum(axis=2).astype(np.float64)
        prior = log_membership(np.concatenate([sizes, np.zeros((chains, 1))], axis=1), n)
        found.append(_tree_evidence(_gathered(below, one, slots), state.family_sd, state.score_sd) + prior)
    taken = np.log(rng.random(chains)) < found[1] - found[0] + log_ratio
    return np.where(taken[:, None], proposed, family)


def _renumbered(family: IntArray) -> IntArray:
    """Return the families numbered without gaps."""
    found = family.copy()
    for own in found:
        some = own != ALONE
        own[some] = np.unique(own[some], return_inverse=True)[1]
    return found


def _draw_scores(own: Normal, below: Normal, state: State, rng: np.random.Generator) -> State:
    sums = _gathered(below, state.family, _n_families(state.family))
    top = absorb(sums[:, :-1], state.family_sd[:, None]).sum(axis=1) + sums[:, -1]
    scores = draw_effect(top, state.score_sd, rng)
    effects = draw_effect(_about(sums[:, :-1], scores[:, None]), state.family_sd[:, None], rng)
    none = np.zeros((len(scores), 1, scores.shape[1]))
    parent = scores[:, None] + np.concatenate([effects, none], axis=1)[np.arange(len(scores))[:, None], state.family]
    tastes = draw_effect(_about(own, parent), state.own_sd[:, None], rng)
    shape, rate = 0.5 + 0.5 * scores.shape[1], 0.5 + 0.5 * (scores**2).sum(axis=1)
    score_sd = np.sqrt(rate / rng.standard_gamma(shape, len(scores)))
    return replace(state, scores=scores, own=parent + tastes, score_sd=score_sd)


def _about(likelihood: Normal, centre: FloatArray) -> Normal:
    """Return the likelihood of what is added to a centre."""
    at = np.broadcast_to(centre, likelihood.shift.shape)[..., None]
    moved = likelihood.shift - (likelihood.precision @ at)[..., 0]
    return Normal(likelihood.precision, moved, likelihood.log_factor)
