"""The families model where votes are many: normal likelihoods in place of drawn ones.

With many votes the likelihood of an annotator's scores and lapses is nearly normal. It is expanded about the mean of
the posterior given all votes; lapses are integrated out of it, and the rest is linear: families by their evidence,
and draws of scores and effects from a mixture of normal distributions over explanations and standard deviations. The
model and its priors are those of the sampler.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.special import expit

from jamrank.fitting.families import FamilyDraws
from jamrank.fitting.family_conditional import Conditional, inverse_root
from jamrank.fitting.family_expansion import Cells, Expansion, Spread, expand
from jamrank.fitting.family_search import (
    SCORE_SDS,
    Below,
    Explanation,
    Weighed,
    climb,
    clustered,
    others,
    reassign,
    roughly,
    weigh,
    window,
)
from jamrank.fitting.family_state import ALONE, FAMILY_SDS, LAPSE_MEAN, LAPSE_SDS
from jamrank.fitting.family_votes import MOST_SAMPLED, FamilyVotes
from jamrank.linalg.normal_effects import Normal
from jamrank.typing import Float32Array, FloatArray, IntArray

# Annotators times the cube of the items, beyond which this is slow; up to MOST_SAMPLED sampling is fast.
_MOST_WORK = 1_000_000_000
# Votes of an annotator for each item, below which likelihoods are not nearly normal.
_FEWEST_EACH = 30
# Standard deviations of own effects, finer than those of the sampler: many votes by many annotators tell them apart.
_OWN_SDS = np.concatenate([[0.0], 0.1 * 1.1 ** np.arange(30)])
_LOG_OWN = np.log(np.append(0.5, np.full(len(_OWN_SDS) - 1, 0.5 / (len(_OWN_SDS) - 1))))
# Steps over the grid until the fine ones.
_COARSE = 4
# To neighbours on the grid of standard deviations of own effects and lapses.
_STEPS = (-1, 0), (1, 0), (0, -1), (0, 1)

_ROUNDS, _FIRST_PASSES, _PASSES = 4, 10, 30
# Scores of annotators in the first rounds: wide, so that families are not taken for errors.
_FIRST_OWN_SD, _FIRST_LAPSE_SD = float(_OWN_SDS[20]), 0.8
_SETTLED, _ROUGHLY, _NEAR = 2e-3, 3e-2, 1e-1  # Of an annotator's steps, root mean square.
# Largest step of a score and of the logit of a lapse.
_LARGEST = 2.0
_SMALLEST_SHARE = 0.2
# How far back a step goes after one that was too large, as a share of it.
_FAR_BACK = 0.3
# Clusters that are tried with smaller own effects, and those that are weighed.
_MOST_TRIED, _MOST_WEIGHED = 6, 2
# With so many votes for each unknown score the mode is where the mean is.
_MANY_EACH = 2_000
# Explanations and deviations with a smaller share are not drawn from.
_LEAST_SHARE = 1e-3


@dataclass(frozen=True)
class Sds:
    """Standard deviations of own effects and of the logits of lapses."""

    own: float
    lapse: float


@dataclass(frozen=True)
class Fit:
    """Where the votes are expanded, and what explains them best.

    near: Explanations that differ from the best in a single annotator and are nearly as likely.
    spread: The posterior over which slopes are taken; None at the mode.
    """

    scores: FloatArray
    log_odds: FloatArray
    best: Weighed
    sds: Sds
    near: list[Explanation]
    spread: Spread | None

    @property
    def lapse_mean(self) -> float:
        """The mean of the logits of lapses."""
        return float(self.best.lapse_mean[self.best.at])


def settle(
    cells: Cells,
    fit: Fit,
    found: Expansion | None = None,
    passes: int = _PASSES,
    *,
    mode: bool = False,
    settled: float = _SETTLED,
) -> tuple[Fit, Expansion]:
    """Move to the posterior mean given explanation and standard deviations, and return the expansion there.

    found: The expansion to start from.
    mode: Go to the mode instead, which is fast but less accurate, and only near it.
    settled: Largest last step of an annotator.
    """
    last, share = np.empty(0), 1.0
    unknown = cells.n_items * (1 + fit.best.explanation.n_families + cells.n_annotators * (fit.sds.own > 0))
    smooth = not mode and (cells.won.sum() + cells.lost.sum()) < _MANY_EACH * unknown
    if not smooth:
        fit = replace(fit, spread=None)
    for done in range(passes + 1):
        if done or found is None:
            found = expand(cells, fit.scores, fit.log_odds, fit.spread)
        if done == passes:
            break
        said, below = found.below(fit.lapse_mean, fit.sds.lapse, fit.sds.own)
        fit = replace(fit, best=weigh(below, fit.best.explanation))
        given = Conditional.of(said, below, fit.best.explanation, *fit.best.sds, fit.sds.own)
        scores = given.mean(fit.lapse_mean - below.lapse_mean)[1]
        log_odds, precision = found.log_odds(scores, fit.lapse_mean, fit.sds.lapse)
        step = np.column_stack([scores - fit.scores, log_odds - fit.log_odds])
        # Steps along the ridge of wide scores with many lapses may go too far, and back.
        back = done and (step * last).sum() < -_FAR_BACK * (last * last).sum()
        share = max(0.5 * share, _SMALLEST_SHARE) if back else min(1.5 * share, 1.0)
        last, moved = step, np.clip(share * step, -_LARGEST, _LARGEST)
        fit = replace(fit, scores=fit.scores + moved[:, :-1], log_odds=fit.log_odds + moved[:, -1])
        size = np.sqrt((step**2).mean(axis=1).max(initial=0.0))
        if size < settled and (fit.spread or not smooth):
            break
        if smooth:
            fit = replace(fit, spread=_spread(found, given, fit, precision))
    assert found is not None
    return fit, found


def _spread(found: Expansion, given: Conditional, fit: Fit, precision: FloatArray) -> Spread:
    """Return posterior covariances. ``precision``: Of the logits of lapses given scores."""
    of_mean = 1.0 / float(fit.best.lapse_information[fit.best.at])
    scores = given.covariance(of_mean)
    slope = found.slope / precision[:, None]
    both = -(scores @ slope[..., None])[..., 0]
    return Spread(scores, both, 1 / precision - (both * slope).sum(axis=1))


def fit_families(votes: FamilyVotes, families: IntArray | None, n_draws: int, random_state: int = 0) -> FamilyDraws:
    """Return draws as :func:`jamrank.fitting.families.sample_families` does, from the normal approximation.

    families: The family of each annotator where it is known.
    """
    cells = Cells.of(votes)
    fit, found = settle(cells, _start(cells, families), passes=_FIRST_PASSES, mode=True, settled=_NEAR)
    kept = False
    for done in range(_ROUNDS):
        before = fit
        if kept and done > 1:
            fit = _with_sds(found, fit)
        else:
            fit = _explain(found, fit, families is not None, first=not done)
        kept = fit.best.explanation.key == before.best.explanation.key
        same = kept and fit.sds == before.sds
        # The first round is rough. Later ones are not, and what did not change need not be settled again.
        if same and done > 1:
            break
        fit, found = settle(cells, fit, found, settled=_ROUGHLY if not done else _SETTLED)
        if same and done:
            break
    return _draws(found, fit, n_draws, families is not None, np.random.default_rng(random_state))


def nearly_normal(n_annotators: int, n_items: int, n_votes: float) -> bool:
    """Tell whether this approximation is used: votes are many, and sampling would take more than some ten seconds."""
    work = n_annotators * n_items**3
    return MOST_SAMPLED < work <= _MOST_WORK and n_votes >= _FEWEST_EACH * n_annotators * n_items


def _start(cells: Cells, families: IntArray | None) -> Fit:
    """Return scores, signs and lapses as if all annotators had one taste and erred alike."""
    k, n, one = cells.n_annotators, cells.n_items, np.ones((1, 1))
    sign = _signs(cells)

    def about(scores: FloatArray, log_odds: FloatArray, start: Explanation, own_sd: float) -> Fit:
        best = Weighed(start, one, log_odds.mean() * one, one)
        return Fit(scores, log_odds, best, Sds(own_sd, _FIRST_LAPSE_SD), [], None)

    alone = Explanation(np.full(1, ALONE), np.ones(1))
    common = about(np.zeros((1, n)), np.full(1, LAPSE_MEAN), alone, 0.0)
    common, _ = settle(cells.together(sign), common, mode=True, settled=_ROUGHLY)
    start = Explanation.of(np.full(k, ALONE) if families is None else families, sign)
    scores, log_odds = sign[:, None] * common.scores, np.repeat(common.log_odds, k)
    return about(scores, log_odds, start, _FIRST_OWN_SD if k > 1 else 0.0)


def _signs(cells: Cells) -> FloatArray:
    """Return -1 for annotators whose votes point away from those of the others."""
    k, n, more = cells.n_annotators, cells.n_items, cells.won - cells.lost
    base = cells.annotator * n
    wins = np.bincount(base + cells.first, more, k * n) - np.bincount(base + cells.second, more, k * n)
    wins, sign = wins.reshape(k, n), np.ones(k)
    for _ in range(5):
        signed = sign[:, None] * wins
        sign = np.where((wins * (signed.sum(axis=0) - signed)).sum(axis=1) < 0, -1.0, 1.0)
    return sign if sign.sum() >= 0 else -sign


def _explain(found: Expansion, fit: Fit, fixed: bool, first: bool) -> Fit:
    """Find the likeliest explanation, and the standard deviations that are likeliest with it.

    first: Start from clusters of annotators if they are likelier.
    """
    fit = _with_sds(found, fit, (0, _COARSE), (1, 1)) if first else _with_sds(found, fit)
    if first and not fixed:
        fit = _from_clusters(found, fit)
    below = found.below(fit.lapse_mean, fit.sds.lapse, fit.sds.own)[1]
    before = weigh(below, fit.best.explanation)
    if fixed:
        moved, lost = reassign(below.given, before, fixed)
        best, near = weigh(below, moved), others(moved, lost)
    else:
        best, near = climb(below, before)
    fit = replace(fit, best=best, near=near)
    if first:
        return _with_sds(found, fit, (0, 1))
    return fit if best.explanation.key == before.explanation.key else _with_sds(found, fit)


def _from_clusters(found: Expansion, fit: Fit) -> Fit:
    """Return the fit with the likeliest clusters, and the own effects with which they are likeliest, if it gains."""
    said, below = found.below(fit.lapse_mean, fit.sds.lapse, fit.sds.own)
    sign = fit.best.explanation.sign
    given = Conditional.of(said, below, fit.best.explanation, *fit.best.sds, fit.sds.own)
    tried = clustered(fit.scores * sign[:, None] - given.mean(0.0)[0], sign)
    if not tried:
        return fit
    places = np.flatnonzero(fit.sds.own >= _OWN_SDS)[::-_COARSE]
    chosen = (fit.best.total + float(_LOG_OWN[places[0]]), fit.best.explanation, fit.sds.own)
    last = -np.inf
    for at in places:
        below = found.below(fit.lapse_mean, fit.sds.lapse, float(_OWN_SDS[at]))[1]
        # Those that are unlikely with the first own effects are with smaller ones.
        likeliest = np.argsort(-roughly(below, tried, fit.best.sds[1]), kind="stable")[:_MOST_TRIED]
        tried = [tried[i] for i in likeliest]
        totals = [weigh(below, one).total + float(_LOG_OWN[at]) for one in tried[:_MOST_WEIGHED]]
        best = int(np.argmax(totals))
        if totals[best] <= last:
            break
        last = totals[best]
        chosen = max(chosen, (last, tried[best], float(_OWN_SDS[at])), key=lambda each: each[0])
    return replace(fit, best=replace(fit.best, explanation=chosen[1]), sds=replace(fit.sds, own=chosen[2]))


def _with_sds(found: Expansion, fit: Fit, *steps: tuple[int, int]) -> Fit:
    """Return the fit with standard deviations that no step makes likelier, of own effects and then of lapses.

    steps: Which of the two to change, and by how much.
    """
    seen: dict[tuple[int, int], tuple[float, Weighed]] = {}

    def total(at: tuple[int, int]) -> float:
        if at not in seen:
            below = found.below(fit.lapse_mean, float(LAPSE_SDS[at[1]]), float(_OWN_SDS[at[0]]))[1]
            weighed = weigh(below, fit.best.explanation)
            seen[at] = weighed.total + float(_LOG_OWN[at[0]]), weighed
        return seen[at][0]

    at = _nearest(fit.sds)
    # One annotator's own effects cannot be separated from the scores.
    limits = len(_OWN_SDS) if len(found.pull) > 1 else 1, len(LAPSE_SDS)
    for which, size in steps or ((0, 1), (1, 1)):
        for by in (-size, size):
            while 0 <= at[which] + by < limits[which]:
                to = (at[0] + by, at[1]) if which == 0 else (at[0], at[1] + by)
                if total(to) <= total(at):
                    break
                at = to
    total(at)
    return replace(fit, best=seen[at][1], sds=Sds(float(_OWN_SDS[at[0]]), float(LAPSE_SDS[at[1]])))


def _nearest(sds: Sds) -> tuple[int, int]:
    """Return the place on the grids."""
    return int(np.argmin(np.abs(_OWN_SDS - sds.own))), int(np.argmin(np.abs(LAPSE_SDS - sds.lapse)))


@dataclass(frozen=True)
class Likely:
    """Standard deviations: their log posterior with an explanation, and the likelihoods that they lead to."""

    total: float
    said: Normal
    below: Below
    best: Weighed


def _likely_sds(found: Expansion, fit: Fit) -> dict[Sds, Likely]:
    """Return the standard deviations that are likely given the explanation, searched from those of the fit."""
    limits, todo = (len(_OWN_SDS) if len(found.pull) > 1 else 1, len(LAPSE_SDS)), {_nearest(fit.sds)}
    seen: dict[tuple[int, int], Likely] = {}
    kept: list[tuple[int, int]] = []
    while todo:
        for i, j in sorted(todo):
            said, below = found.below(fit.lapse_mean, float(LAPSE_SDS[j]), float(_OWN_SDS[i]))
            best = weigh(below, fit.best.explanation)
            seen[i, j] = Likely(best.total + float(_LOG_OWN[i]), said, below, best)
        level = max(one.total for one in seen.values()) + np.log(_LEAST_SHARE)
        kept = [at for at in sorted(seen) if seen[at].total > level]
        beside = {(i + a, j + b) for i, j in kept for a, b in _STEPS} - set(seen)
        todo = {at for at in beside if 0 <= at[0] < limits[0] and 0 <= at[1] < limits[1]}
    return {Sds(float(_OWN_SDS[i]), float(LAPSE_SDS[j])): seen[i, j] for i, j in kept}


def _draws(found: Expansion, fit: Fit, n_draws: int, fixed: bool, rng: np.random.Generator) -> FamilyDraws:
    """Draw from the mixture over explanations and standard deviations."""
    k, n = found.shift.shape
    likely = dict(sorted(_likely_sds(found, fit).items(), key=lambda one: -one[1].total))
    # What explains votes with the likeliest standard deviations does so with others.
    first = next(iter(likely.values()))
    kept = [one.explanation for one in window(first.below, first.best, fit.near, fixed)]
    parts = [(weigh(one.below, each), sds) for sds, one in likely.items() for each in kept]
    weights = [one.by_sd + _LOG_OWN[_nearest(sds)[0]] for one, sds in parts]
    log_weight = np.concatenate([weight.ravel() for weight in weights])
    weight = np.exp(log_weight - log_weight.max())
    weight[weight < _LEAST_SHARE * weight.max()] = 0.0
    # Systematic: as many draws of each part as its weight, but for rounding.
    cumulated = np.cumsum(weight) / weight.sum()
    chosen = np.searchsorted(cumulated, (np.arange(n_draws) + rng.random()) / n_draws).clip(max=len(weight) - 1)
    mixed = rng.permutation(n_draws)
    scores, own, flip = np.empty((n_draws, n)), np.empty((k, n_draws, n), np.float32), np.empty((n_draws, k))
    family, drawn_sds = np.empty((n_draws, k), dtype=np.int64), np.empty((n_draws, 3))
    size, roots = len(FAMILY_SDS) * len(SCORE_SDS), dict[Sds, Float32Array]()
    for at in np.unique(chosen):
        rows = mixed[chosen == at]
        one, sds = parts[at // size]
        f, s = divmod(at % size, len(SCORE_SDS))
        said, below = likely[sds].said, likely[sds].below
        family_sd, score_sd, sign = float(FAMILY_SDS[f]), float(SCORE_SDS[s]), one.explanation.sign
        given = Conditional.of(said, below, one.explanation, family_sd, score_sd, sds.own)
        mean = one.lapse_mean[f, s] + rng.standard_normal(len(rows)) / np.sqrt(one.lapse_information[f, s])
        if sds.own > 0 and sds not in roots:
            roots[sds] = inverse_root(said.precision, sds.own, np.float32)
        scores[rows], voted = given.draw(mean - below.lapse_mean, rng, roots.get(sds))
        log_odds, precision = found.log_odds(voted.transpose(1, 0, 2), mean, sds.lapse)
        rate = 0.5 * expit(log_odds + rng.standard_normal(log_odds.shape) / np.sqrt(precision))
        voted *= sign.astype(voted.dtype)[:, None, None]
        own[:, rows], flip[rows] = voted, np.where(sign < 0, 1 - rate, rate)
        family[rows], drawn_sds[rows] = one.explanation.family, (score_sd, family_sd, sds.own)
    level = scores.mean(axis=1, keepdims=True)
    scores -= level
    own -= level.astype(np.float32)
    return FamilyDraws(scores, own.transpose(1, 0, 2), flip, family, drawn_sds)
