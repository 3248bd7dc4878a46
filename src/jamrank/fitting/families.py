"""Families of annotators who share an effect on items: draws from the posterior by Gibbs sampling.

Annotator ``k`` has the scores ``q_k = s + f_g + e_k`` in mind: common scores, an effect of the family ``g`` if there
is one, an own effect; all normal. A vote follows ``sigmoid`` of a margin of ``z_k q_k``, where the sign ``z_k`` is -1
for an adversary, or is a lapse, the toss of a coin. Given Pólya-Gamma variables and lapses, votes are a normal
likelihood; effects are then integrated out along the tree of annotators, families and common scores, so that
memberships, signs and standard deviations are drawn without them. All chains advance together: arrays have the chain
first.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.special import expit

from jamrank.fitting.family_state import (
    ALONE,
    FAMILY_SDS,
    LAPSE_MEAN,
    LAPSE_SDS,
    LOG_SIGN,
    OWN_SDS,
    OWN_WEIGHTS,
    SCORE_SHAPE,
    State,
    log_lapses,
    log_membership,
)
from jamrank.fitting.family_trajectory import move, rescale
from jamrank.fitting.family_votes import FamilyVotes
from jamrank.linalg.normal_effects import (
    Normal,
    absorb,
    absorb_columns,
    draw_effect,
    evidence,
    evidence_columns,
)
from jamrank.typing import Float32Array, FloatArray, IntArray

# Chains that advance together: many short ones cost little more than few, and find explanations that differ.
N_CHAINS = 16
# Sweeps that are discarded.
WARM_UP = 80
# Families of the chains that do not start without any.
_MOST_STARTING = 8
# Chains that are so much below the median of all in log-likelihood are stuck.
_STUCK = 15.0
# Spacing and bounds of log standard deviations of the scores.
_LATTICE = 0.35, (np.log(0.05), np.log(20.0))
# The share of trajectories that should be accepted.
_ACCEPTED = 0.8


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
        The probability of a vote against them; above one half for adversaries.
    family : ndarray of int, shape (draws, annotators)
        Numbers of families, :data:`ALONE` for those without. Only who is with whom has a meaning.
    sds : ndarray of shape (draws, 3)
        Standard deviations of the common scores, of the effects of families, and of own effects.
    """

    scores: FloatArray
    own: FloatArray | Float32Array
    flip: FloatArray
    family: IntArray
    sds: FloatArray


def sample_families(
    votes: FamilyVotes,
    families: IntArray | None = None,
    *,
    n_draws: int = 400,
    n_chains: int = N_CHAINS,
    warm_up: int = WARM_UP,
    thin: int = 2,
    random_state: int = 0,
) -> FamilyDraws:
    """Draw from the posterior; row ``i`` is of chain ``i % n_chains``.

    Half of the chains start without families, the others with one for each annotator.

    Parameters
    ----------
    votes : FamilyVotes
    families : ndarray of int, optional
        The family of each annotator where it is known, :data:`ALONE` for none; drawn unless given.
    n_draws, n_chains, warm_up, thin, random_state : int
    """
    rng = np.random.default_rng(random_state)
    state, kept, step = start(votes, families, n_chains), [], 0.2
    for sweep in range(warm_up + thin * -(-n_draws // n_chains)):
        state, accepted = move(votes, rescale(votes, state, rng), step, rng)
        if sweep < warm_up:
            step *= np.exp(0.5 * (accepted.mean() - _ACCEPTED))
        if sweep == warm_up // 2:
            state = _without_stuck(votes, state, rng)
        state = _sweep(votes, state, families is None, sweep, rng)
        if sweep >= warm_up and (sweep - warm_up) % thin == thin - 1:
            kept.append(state)

    def rows(name: str) -> FloatArray:
        return np.concatenate([getattr(one, name) for one in kept])[:n_draws]

    scores, own, flip = rows("scores"), rows("own"), 0.5 * rows("lapse")
    flip = np.where(rows("sign") < 0, 1 - flip, flip)
    level = scores.mean(axis=1, keepdims=True)
    sds = np.stack([rows(name) for name in ("score_sd", "family_sd", "own_sd")], axis=1)
    return FamilyDraws(scores - level, own - level[:, None], flip, rows("family").astype(np.int64), sds)


def start(votes: FamilyVotes, families: IntArray | None, chains: int) -> State:
    """Return where the chains start."""
    k, n = votes.n_annotators, votes.n_items
    family = np.full((chains, k), ALONE) if families is None else np.tile(families, (chains, 1))
    if families is None and k > 1:
        family[1::2] = np.arange(k) % _MOST_STARTING
    one = np.ones(chains)
    return State(
        family=family,
        sign=np.ones((chains, k)),
        scores=np.zeros((chains, n)),
        effects=np.zeros((chains, _n_families(family), n)),
        tastes=np.zeros((chains, k, n)),
        log_odds=np.full((chains, k), LAPSE_MEAN),
        score_sd=one,
        family_sd=0.7 * one,
        own_sd=0.0 * one,
        lapse_sd=0.8 * one,
    )


def _without_stuck(votes: FamilyVotes, state: State, rng: np.random.Generator) -> State:
    """Put chains whose votes are far less likely than in others where one of the others is."""
    found = votes.log_likelihood(state.sign[..., None] * state.own, state.lapse).sum(axis=1)
    good = found > np.median(found) - _STUCK
    at = np.where(good, np.arange(len(good)), rng.choice(np.flatnonzero(good), len(good)))
    return State(**{name: value[at] for name, value in vars(state).items()})


def _sweep(votes: FamilyVotes, state: State, search: bool, sweep: int, rng: np.random.Generator) -> State:
    state, margin = _draw_sign(votes, state, rng)
    kept = votes.draw_kept(margin, state.lapse, rng)
    state = replace(state, lapse_sd=_draw_lapse_sd(state, rng))
    precision, shift = votes.likelihood(margin, kept, rng)
    said = Normal(precision, shift, np.zeros(shift.shape[:2]))
    # One annotator's own effects cannot be told from the common scores.
    if sweep % 4 == 1 and votes.n_annotators > 1:
        state = replace(state, own_sd=_draw_own_sd(said, state, rng))
    below = absorb(said, state.own_sd[:, None])
    if search and not sweep % 2:
        state = _draw_membership(below, state, rng)
    if sweep % 3 == 2:
        state = _exchange(below, state, search, rng)
    return _draw_scores(said.signed(state.sign), below.signed(state.sign), state, rng)


def _draw_sign(votes: FamilyVotes, state: State, rng: np.random.Generator) -> tuple[State, FloatArray]:
    """Draw the sign of each annotator given their scores, lapses integrated out; return the margins, too."""
    own = state.own
    straight, turned = (votes.log_likelihood(by * own, state.lapse) for by in (1.0, -1.0))
    log_odds = straight - turned + LOG_SIGN[0] - LOG_SIGN[1]
    sign = np.where(rng.random(log_odds.shape) < expit(log_odds), 1.0, -1.0)
    return replace(state, sign=sign), votes.margins(sign[..., None] * own)


def _draw_lapse_sd(state: State, rng: np.random.Generator) -> FloatArray:
    found = [log_lapses(state.log_odds, np.full(len(state.log_odds), sd))[0] for sd in LAPSE_SDS]
    return LAPSE_SDS[_draw_index(np.stack(found, axis=1), rng)]


def _draw_index(log_weight: FloatArray, rng: np.random.Generator) -> IntArray:
    """Draw one of the last axis for each chain."""
    weight = np.cumsum(np.exp(log_weight - log_weight.max(axis=-1, keepdims=True)), axis=-1)
    return np.asarray((weight < rng.random((len(weight), 1)) * weight[:, -1:]).sum(axis=-1))


def _gathered(below: Normal, family: IntArray, n_families: int) -> Normal:
    """Multiply the likelihoods of each family's members; the last of the stack are those without a family."""
    member = (family[:, None, :] == np.append(np.arange(n_families), ALONE)[None, :, None]).astype(np.float64)

    def gather(values: FloatArray) -> FloatArray:
        sums = member @ values.reshape(*family.shape, -1)
        return np.asarray(sums.reshape(len(family), n_families + 1, *values.shape[2:]))

    return Normal(gather(below.precision), gather(below.shift), gather(below.log_factor))


def _n_families(family: IntArray) -> int:
    return int(family.max(initial=ALONE)) + 1


def _draw_own_sd(said: Normal, state: State, rng: np.random.Generator) -> FloatArray:
    below = absorb(said, OWN_SDS[None, None]).signed(state.sign[..., None])
    sums = _gathered(below, state.family, _n_families(state.family))
    up = absorb(sums[:, :-1], state.family_sd[:, None, None])
    found = np.log(OWN_WEIGHTS) + evidence(up.sum(axis=1) + sums[:, -1], state.score_sd[:, None])
    return OWN_SDS[_draw_index(found, rng)]


def _draw_membership(below: Normal, state: State, rng: np.random.Generator) -> State:
    """Draw family and sign of one annotator after the other, effects integrated out.

    To turn an annotator negates the shift and leaves the precision as it is, so that an adversary of a family and a
    member of a family of opposite taste are one step apart.
    """
    family, sign = _renumbered(state.family), state.sign.copy()
    chains, n = family.shape
    every, sd = np.arange(chains), state.family_sd[:, None]
    # One more, which is empty: a new family. There may be several such.
    slots = _n_families(family) + 1
    sums = _gathered(below.signed(sign), family, slots)
    up = absorb(sums[:, :-1], sd)
    for k in rng.permutation(n):
        own, at = below[:, k], family[:, k].copy()
        sums.put((every, at), sums[every, at] - own.signed(sign[:, k]))
        moved = np.flatnonzero(at != ALONE)
        if len(moved):
            up.put((moved, at[moved]), absorb(sums[moved, at[moved]], state.family_sd[moved]))
        either = Normal(own.precision, np.stack([own.shift, -own.shift], axis=-1), own.log_factor[:, None])
        joined = absorb_columns(sums[:, :-1].columns() + either[:, None], sd)
        rest = (up.sum(axis=1) + sums[:, -1]).columns()
        found = np.empty((chains, slots + 1, 2))
        found[:, :-1] = evidence_columns(rest[:, None] + (joined - up.columns()), state.score_sd[:, None])
        found[:, -1] = evidence_columns(rest + either, state.score_sd)
        family[:, k] = ALONE - 1
        sizes = (family[:, None, :] == np.arange(slots)[:, None]).sum(axis=2)
        grown = sizes[:, None, :] + np.eye(slots + 1, slots, dtype=np.int64)
        found += log_membership(grown.astype(np.float64), n)[..., None]
        # Of several empty ones the first stands for all.
        found[:, :-1][(np.cumsum(sizes == 0, axis=1) > 1) & (sizes == 0)] = -np.inf
        chosen, turned = np.divmod(_draw_index((found + LOG_SIGN).reshape(chains, -1), rng), 2)
        into, sign[:, k] = np.where(chosen == slots, ALONE, chosen), 1.0 - 2.0 * turned
        family[:, k] = into
        sums.put((every, into), sums[every, into] + own.signed(sign[:, k]))
        inside = np.flatnonzero(into != ALONE)
        if len(inside):
            where, which = (inside, into[inside]), turned[inside]
            gained = joined[where]
            pick = np.arange(len(inside))
            up.put(where, Normal(gained.precision, gained.shift[pick, :, which], gained.log_factor[pick, which]))
        if ((family[:, None, :] == np.arange(slots)[:, None]).any(axis=2)).all(axis=1).any():
            slots, sums = slots + 1, _gathered(below.signed(sign), family, slots + 1)
            up = absorb(sums[:, :-1], sd)
    return replace(state, family=_renumbered(family), sign=sign)


def _exchange(below: Normal, state: State, search: bool, rng: np.random.Generator) -> State:
    """Draw the standard deviations of scores and families, and propose changes of whole families.

    All effects are integrated out and, of the proposals, the standard deviations.
    """
    # The standard deviation of the scores moves on a lattice through where it is.
    spacing, (low, high) = _LATTICE
    at = np.log(state.score_sd)
    lattice = (at - low) % spacing + low
    score_sd = np.exp(lattice[:, None] + spacing * np.arange(int((high - low) / spacing)))
    options = [(state.family, state.sign, np.zeros(len(at)))]
    if search:
        options.append(_proposals(state.family, state.sign, rng))
    found = np.stack([_log_evidences(below.signed(sign), family, score_sd) for family, sign, _ in options])
    total = np.logaddexp.reduce(found.reshape(len(options), len(at), -1), axis=2)
    chosen = np.zeros(len(at), dtype=np.int64)
    if search:
        prior = [log_prior + _log_groups(family, sign) for family, sign, log_prior in options]
        gain = total[1] + prior[1] - total[0] - prior[0]
        chosen[np.log(rng.random(len(at))) < gain] = 1
    every = np.arange(len(at))
    of_family, of_score = np.divmod(_draw_index(found[chosen, every].reshape(len(at), -1), rng), score_sd.shape[1])
    taken = (chosen == 1)[:, None]
    return replace(
        state,
        family=np.where(taken, options[-1][0], state.family),
        sign=np.where(taken, options[-1][1], state.sign),
        family_sd=FAMILY_SDS[of_family],
        score_sd=score_sd[every, of_score],
    )


def _proposals(
    family: IntArray, sign: FloatArray, rng: np.random.Generator
) -> tuple[IntArray, FloatArray, FloatArray]:
    """Propose a change of each chain; return families, signs, and the log ratio of proposing it back and forth.

    Those without a family change places with one, or become one; one family has no effect; one is turned. The votes
    hardly tell the first ones.
    """
    count = family.max(axis=1) + 1
    some_alone = (family == ALONE).any(axis=1)
    proposed, turned, log_ratio = family.copy(), sign.copy(), np.full(len(family), -np.inf)
    for c in np.flatnonzero(count):
        kind, g = rng.integers(3), int(rng.integers(count[c]))
        if kind == 0 and some_alone[c]:
            proposed[c] = np.where(family[c] == g, ALONE, np.where(family[c] == ALONE, g, family[c]))
            log_ratio[c] = 0.0
        elif kind == 1 and some_alone[c]:
            proposed[c] = np.where(family[c] == ALONE, count[c], family[c])
            log_ratio[c] = -np.log(count[c] + 1)
        elif kind == 1:
            proposed[c] = np.where(family[c] == g, ALONE, family[c])
            log_ratio[c] = np.log(count[c])
        elif kind == 2:
            turned[c] = np.where(family[c] == g, -sign[c], sign[c])
            log_ratio[c] = 0.0
    return _renumbered(proposed), turned, log_ratio


def _log_groups(family: IntArray, sign: FloatArray) -> FloatArray:
    """Return the log prior of families and signs."""
    sizes = (family[:, None, :] == np.arange(_n_families(family) + 1)[:, None]).sum(axis=2).astype(np.float64)
    return np.asarray(log_membership(sizes, family.shape[1]) + LOG_SIGN[(sign < 0).astype(np.int64)].sum(axis=1))


def _log_evidences(below: Normal, family: IntArray, score_sd: FloatArray) -> FloatArray:
    """Return the log evidence times prior for all standard deviations of families and scores: chains × both."""
    sums = _gathered(below, family, _n_families(family))
    up = absorb(sums[:, :-1], FAMILY_SDS[None, None]).sum(axis=1) + sums[:, None, -1]
    prior = -2.0 * SCORE_SHAPE * np.log(score_sd) - 0.5 / score_sd**2
    return np.asarray(evidence(up, score_sd[:, None]) + prior[:, None])


def _renumbered(family: IntArray) -> IntArray:
    """Return the families numbered without gaps."""
    found = family.copy()
    for own in found:
        some = own != ALONE
        own[some] = np.unique(own[some], return_inverse=True)[1]
    return found


def _draw_scores(own: Normal, below: Normal, state: State, rng: np.random.Generator) -> State:
    n_families, n_items = _n_families(state.family), own.shift.shape[-1]
    sums = _gathered(below, state.family, n_families)
    top = absorb(sums[:, :-1], state.family_sd[:, None]).sum(axis=1) + sums[:, -1]
    scores = draw_effect(top, state.score_sd, rng)
    effects = draw_effect(sums[:, :-1].about(scores[:, None]), state.family_sd[:, None], rng)
    units = state.family_sd[:, None, None]
    parent = replace(state, scores=scores, effects=effects / units, own_sd=0.0 * state.own_sd).own
    tastes = draw_effect(own.about(parent), state.own_sd[:, None], rng)
    shape, rate = SCORE_SHAPE + 0.5 * n_items, 0.5 + 0.5 * (scores**2).sum(axis=1)
    without = rng.standard_normal(tastes.shape)
    own_sd = state.own_sd[:, None, None]
    return replace(
        state,
        scores=scores,
        effects=effects / units,
        tastes=np.where(own_sd > 0, tastes / np.where(own_sd > 0, own_sd, 1.0), without),
        score_sd=np.sqrt(rate / rng.standard_gamma(shape, len(scores))),
    )
