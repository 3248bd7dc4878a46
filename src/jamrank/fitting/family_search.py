"""Explanations of normal likelihoods by families: a climb to the likeliest one, and those that are nearly as likely.

An explanation says who is in which family and who is an adversary; effects are integrated out, and the standard
deviations of scores and families over a grid. The likeliest is found from clusters of annotators, by moving single
annotators and whole families. Explanations that differ from it by a few such moves and are not much less likely are
kept beside it (Occam's window: Madigan and Raftery, *JASA* 89, 1994).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from jamrank.fitting.family_state import (
    ALONE,
    FAMILY_SDS,
    LAPSE_MEAN,
    LAPSE_MEAN_SD,
    LOG_SIGN,
    SCORE_SHAPE,
    log_membership,
)
from jamrank.linalg.normal_effects import Normal, absorb, absorb_columns, evidence, evidence_columns
from jamrank.typing import FloatArray, IntArray

# Standard deviations of the scores.
SCORE_SDS = np.exp(np.arange(np.log(0.05), np.log(20.0), 0.25))
_LOG_SCORE_SDS = -2.0 * SCORE_SHAPE * np.log(SCORE_SDS) - 0.5 / SCORE_SDS**2
# Steps over their grid at first; and the logarithm of what is no share of the posterior to speak of.
_COARSE, _NEGLIGIBLE = 4, 12.0
_MOST_CLUSTERS = 8
_MOST_CLIMBS = 12
# Annotators that are placed side by side: at least so many, and as many as have so many numbers.
_FEWEST_TOGETHER, _MOST_TOGETHER = 8, 50_000
# Numbers of the explanations that are tried side by side.
_MOST_TRIED = 1_000_000
# Explanations that are less likely than the best by more than this are left out, and those beyond so many.
_WINDOW, _MOST_KEPT = 6.0, 40


@dataclass(frozen=True)
class Explanation:
    """The family of each annotator, numbered as they come, :data:`ALONE` for none; and -1 for adversaries, else 1."""

    family: IntArray
    sign: FloatArray

    @classmethod
    def of(cls, family: IntArray, sign: FloatArray) -> Explanation:
        """Return an explanation, its families numbered as they come."""
        inside = family[family != ALONE]
        _, first = np.unique(inside, return_index=True)
        order = inside[np.sort(first)]
        number = np.full(family.max(initial=ALONE) + 2, ALONE)
        number[order] = np.arange(len(order))
        return cls(number[family], sign)

    @cached_property
    def n_families(self) -> int:
        """Number of families."""
        return int(self.family.max(initial=ALONE)) + 1

    @cached_property
    def key(self) -> bytes:
        """What is equal for equal explanations."""
        return self.family.tobytes() + self.sign.tobytes()

    @cached_property
    def log_prior(self) -> float:
        """The log prior of families and signs."""
        sizes = np.bincount(self.family[self.family != ALONE], minlength=self.n_families).astype(np.float64)
        return float(log_membership(sizes, len(self.family)) + LOG_SIGN[(self.sign < 0).astype(np.int64)].sum())

    def members(self, more: int = 0) -> FloatArray:
        """Return who is in each family, in so many empty ones, and last in none."""
        groups = np.append(np.arange(self.n_families + more), ALONE)
        return np.asarray(self.family == groups[:, None], np.float64)

    def gather(self, below: Normal, more: int = 0) -> Normal:
        """Multiply the likelihoods of each family's members, of so many empty ones, and last of those without one."""
        member = self.members(more)
        return _multiplied(below, member, member * self.sign)


def _multiplied(below: Normal, member: FloatArray, signed: FloatArray) -> Normal:
    """Multiply the likelihoods of members; ``signed`` has their signs."""
    k, n = below.shift.shape[:2]
    precision = (member @ below.precision.reshape(k, -1)).reshape(-1, n, n)
    shift = (signed @ below.shift.reshape(k, -1)).reshape(-1, *below.shift.shape[1:])
    return Normal(precision, shift, member @ below.log_factor)


@dataclass(frozen=True)
class Weighed:
    """An explanation with its log posterior, by standard deviation of the families and of the scores.

    It is minus infinity where the latter is far less likely than others.

    lapse_mean, lapse_information: Of the mean of the logits of lapses, its normal posterior for each of these.
    """

    explanation: Explanation
    by_sd: FloatArray
    lapse_mean: FloatArray
    lapse_information: FloatArray

    @property
    def total(self) -> float:
        """The log posterior of the explanation, up to a constant."""
        return float(np.logaddexp.reduce(self.by_sd.ravel()))

    @property
    def at(self) -> tuple[int, int]:
        """The likeliest standard deviations, as places in their grids."""
        f, s = np.unravel_index(int(np.argmax(self.by_sd)), self.by_sd.shape)
        return int(f), int(s)

    @property
    def sds(self) -> tuple[float, float]:
        """The likeliest standard deviations of families and scores."""
        f, s = self.at
        return float(FAMILY_SDS[f]), float(SCORE_SDS[s])


@dataclass(frozen=True)
class Below:
    """Normal likelihoods of each annotator's scores, own effects integrated out.

    likelihood: One column of shifts each where the mean of the logits of lapses is one less than ``lapse_mean``, is
        equal to it, and is one more; the likelihood is normal in this mean, too.
    """

    likelihood: Normal
    lapse_mean: float

    @cached_property
    def given(self) -> Normal:
        """The likelihoods given this mean."""
        return Normal(self.likelihood.precision, self.likelihood.shift[..., 1], self.likelihood.log_factor[..., 1])

    def gathered(self, explanation: Explanation) -> Normal:
        """Return what ``explanation.gather`` does, which is kept for the last one."""
        if explanation.key not in self._gathered:
            self._gathered.clear()
            self._gathered[explanation.key] = explanation.gather(self.likelihood)
        return self._gathered[explanation.key]

    @cached_property
    def _gathered(self) -> dict[bytes, Normal]:
        return {}


def weigh(below: Below, explanation: Explanation) -> Weighed:
    """Return the log posterior of an explanation."""
    sums = below.gathered(explanation)
    top = sums[-1:]
    if explanation.n_families:
        top = absorb_columns(sums[:-1], FAMILY_SDS[None]).sum(axis=0) + top
    likely = _likely_score_sds(top)
    found = evidence_columns(top, SCORE_SDS[None, likely])
    # Normal in the mean: value, slope and curvature from three points, and then the prior.
    slope, curvature = (found[..., 2] - found[..., 0]) / 2, 2 * found[..., 1] - found[..., 0] - found[..., 2]
    away, prior = LAPSE_MEAN - below.lapse_mean, 1 / LAPSE_MEAN_SD**2
    information = np.maximum(curvature, 0.0) + prior
    pull = slope + prior * away
    by_sd = found[..., 1] + 0.5 * (pull**2 / information - prior * away**2 - np.log(information / prior))
    by_sd = by_sd + _LOG_SCORE_SDS[likely] + explanation.log_prior - np.log(len(FAMILY_SDS))
    every = np.empty((3, len(FAMILY_SDS), len(SCORE_SDS)))
    every[:] = np.array([-np.inf, below.lapse_mean, prior])[:, None, None]
    every[..., likely] = by_sd, below.lapse_mean + pull / information, information
    return Weighed(explanation, *every)


def _likely_score_sds(top: Normal) -> slice:
    """Return where in their grid standard deviations of scores are likely, from some of them."""
    some = slice(None, None, _COARSE)
    found = evidence_columns(top[[0, -1]], SCORE_SDS[None, some])[..., 1] + _LOG_SCORE_SDS[some]
    inside = np.flatnonzero((found > found.max(axis=1, keepdims=True) - _NEGLIGIBLE).any(axis=0))
    last = int(inside[-1]) + 1
    return slice(max(int(inside[0]) - 1, 0) * _COARSE, last * _COARSE if last < found.shape[1] else None)


def roughly(below: Below, tried: list[Explanation], score_sd: float) -> FloatArray:
    """Return the log posterior of explanations given the standard deviation of the scores and the mean of lapses."""
    n, most = below.given.shift.shape[-1], 1 + max(one.n_families for one in tried)
    size = max(_MOST_TRIED // (most * len(FAMILY_SDS) * n * n), 1)
    found = [_roughly(below.given, tried[i : i + size], score_sd) for i in range(0, len(tried), size)]
    return np.asarray(np.concatenate(found) + np.array([one.log_prior for one in tried]))


def _roughly(given: Normal, tried: list[Explanation], score_sd: float) -> FloatArray:
    members = [one.members() for one in tried]
    signed = [member * one.sign for member, one in zip(members, tried, strict=True)]
    sums = _multiplied(given, np.concatenate(members), np.concatenate(signed))
    whose = np.repeat(np.arange(len(tried)), [len(member) for member in members])
    last = np.append(whose[1:] != whose[:-1], True)
    top = sums[last][:, None]
    if not last.all():
        inside = np.asarray(whose[~last] == np.arange(len(tried))[:, None], np.float64)
        parts = vars(absorb(sums[~last], FAMILY_SDS[None])).values()
        top = Normal(*(np.tensordot(inside, part, axes=1) for part in parts)) + top
    found = evidence(top, np.asarray(score_sd))
    return np.asarray(np.logaddexp.reduce(found, axis=1) - np.log(found.shape[1]))


def _weigh_likely(below: Below, tried: list[Explanation], best: Weighed) -> list[Weighed]:
    """Weigh those that are not far less likely than the best at its standard deviation of scores."""
    found = roughly(below, [best.explanation, *tried], best.sds[1])
    return [weigh(below, one) for one, value in zip(tried, found[1:], strict=True) if value > found[0] - 2 * _WINDOW]


def climb(below: Below, best: Weighed) -> tuple[Weighed, list[Explanation]]:
    """Move single annotators and whole families as long as this makes the explanation likelier.

    Also returns what other families and signs of single annotators make of it, if they are nearly as likely.
    """
    near: list[Explanation] = []
    for _ in range(_MOST_CLIMBS):
        before = best.total
        moved, lost = reassign(below.given, best)
        if moved.key != best.explanation.key:
            best = max(best, weigh(below, moved), key=lambda one: one.total)
        near = others(moved, lost)
        tried = _weigh_likely(below, neighbours(best.explanation), best)
        best = max([best, *tried], key=lambda one: one.total)
        if best.total <= before + 1e-6:
            break
    return best, near


def window(below: Below, best: Weighed, near: list[Explanation], fixed: bool = False) -> list[Weighed]:
    """Return explanations that are nearly as likely as the best, likeliest first.

    near: To be tried beside the neighbours.
    fixed: Families are known, and have no neighbours.
    """
    found, todo, tried = [best], [best], {best.explanation.key}
    while todo and len(found) < _MOST_KEPT:
        around = near + ([] if fixed else neighbours(todo.pop(0).explanation))
        around, near = [one for one in around if one.key not in tried], []
        tried |= {one.key for one in around}
        new = [one for one in _weigh_likely(below, around, best) if one.total > best.total - _WINDOW]
        found, todo = found + new, [] if fixed else todo + new
    most = max(one.total for one in found)
    kept = [one for one in found if one.total > most - _WINDOW]
    return sorted(kept, key=lambda one: -one.total)[:_MOST_KEPT]


def clustered(deviations: FloatArray, sign: FloatArray) -> list[Explanation]:
    """Return explanations by clusters of annotators who deviate alike from the scores, of which the largest has none.

    By average linkage and by Ward's method, cut into all numbers of clusters that are not large.
    """
    if len(sign) < 3:
        return []
    # Takes long to import, and every choice of a model imports this file.
    from scipy.cluster.hierarchy import fcluster, linkage

    found = {}
    for tree in (linkage(deviations, method) for method in ("average", "ward")):
        for count in range(2, min(_MOST_CLUSTERS, len(sign) - 1) + 1):
            cluster = fcluster(tree, count, "maxclust")
            size = np.bincount(cluster)
            # A cluster of one is none.
            family = np.where((cluster == np.argmax(size)) | (size[cluster] < 2), ALONE, cluster)
            one = Explanation.of(family, sign)
            found[one.key] = one
    return list(found.values())


def reassign(below: Normal, at: Weighed, fixed: bool = False) -> tuple[Explanation, FloatArray]:
    """Give one annotator after the other the likeliest family and sign, effects integrated out.

    Also returns how much less likely the others are, of shape (annotators, families and the first empty and none, 2).
    """
    family, sign = at.explanation.family.copy(), at.explanation.sign.copy()
    family_sd, score_sd = (np.full(1, sd) for sd in at.sds)
    k, slots = len(family), at.explanation.n_families + (0 if fixed else 1)
    sums = at.explanation.gather(below, slots - at.explanation.n_families)
    up = absorb(sums[:-1], family_sd[0]) if slots else sums[:0]
    lost = np.full((k, slots + 1, 2), -np.inf)
    begin, most = 0, max(_FEWEST_TOGETHER, _MOST_TOGETHER // ((slots + 1) * below.shift.shape[-1] ** 2))
    size = most
    while begin < k:
        # Those up to the first who moves are placed as if they were placed one after the other.
        some = slice(begin, min(begin + size, k))
        found, joined = _placed(below[some], family[some], sign[some], sums, up, (family_sd[0], score_sd[0]))
        own = np.arange(slots + 1) == (family[some] % (slots + 1))[:, None]
        sizes = (family == np.arange(slots)[:, None]).sum(axis=1) - own[:, :-1]
        if fixed:
            found[~own] = -np.inf
        else:
            found += log_membership(sizes[:, None] + np.eye(slots + 1, slots), k)[..., None]
            # Of several empty ones the first stands for all.
            found[:, :-1][(np.cumsum(sizes == 0, axis=1) > 1) & (sizes == 0)] = -np.inf
        found += LOG_SIGN
        found -= found.max(axis=(1, 2), keepdims=True)
        chosen, turned = np.divmod(found.reshape(len(found), -1).argmax(axis=1), 2)
        chosen[chosen == slots] = ALONE
        moves = np.flatnonzero((chosen != family[some]) | (turned != (sign[some] < 0)))
        placed = int(moves[0]) + 1 if len(moves) else len(found)
        lost[begin : begin + placed] = found[:placed]
        begin, size = begin + placed, min(2 * size, most)
        if not len(moves):
            continue
        i, j, size = begin - 1, placed - 1, max(size // 4, 1)
        one, left, into, turn = below[i], int(family[i]), int(chosen[j]), int(turned[j])
        sums.put(left, sums[left] - one.signed(sign[i]))
        if left != ALONE:
            up.put(left, absorb(sums[[left]], family_sd)[0])
        family[i], sign[i] = into, 1.0 - 2.0 * turn
        sums.put(into, sums[into] + one.signed(sign[i]))
        if into != ALONE:
            up.put(
                into,
                Normal(joined.precision[j, into], joined.shift[j, into, :, turn], joined.log_factor[j, into, turn]),
            )
            if not fixed and not np.delete(sizes[j] == 0, into).any():
                break  # No family is empty now; the others wait for the next round.
    return Explanation.of(family, sign), lost


def _placed(
    own: Normal, family: IntArray, sign: FloatArray, sums: Normal, up: Normal, sds: tuple[float, float]
) -> tuple[FloatArray, Normal]:
    """Return the evidence with each annotator in each family, last in none, and with either sign; the others stay.

    sums, up: Likelihoods of families and last of those without one, and those of families without their effects.
    Also returns the latter with the annotator, by annotator and family.
    """
    who, inside, slots = np.arange(len(family)), family != ALONE, len(up.shift)
    each = np.broadcast_to(np.arange(slots + 1), (len(family), slots + 1))
    without, members, others = sums[family] - own.signed(sign), sums[each], up[each[:, :-1]]
    members.put((who, family), without)
    if inside.any():
        others.put((who[inside], family[inside]), absorb(without[inside], np.asarray(sds[0])))
    either = Normal(own.precision, np.stack([own.shift, -own.shift], axis=-1), own.log_factor[:, None])
    rest, joined = (others.sum(axis=1) + members[:, -1]).columns(), others.columns()
    found = np.empty((len(family), slots + 1, 2))
    found[:, -1] = evidence_columns(rest + either, np.asarray(sds[1]))
    if slots:
        joined = absorb_columns(members[:, :-1].columns() + either[:, None], np.asarray(sds[0]))
        found[:, :-1] = evidence_columns(rest[:, None] + (joined - others.columns()), np.asarray(sds[1]))
    return found, joined


def others(at: Explanation, lost: FloatArray) -> list[Explanation]:
    """Return what a single annotator's other families and signs make of an explanation, in the window."""
    found = []
    slots = lost.shape[1] - 1
    # What is not lost is the explanation itself.
    for i, into, turned in np.argwhere((lost > -_WINDOW) & (lost < 0)):
        family, sign = at.family.copy(), at.sign.copy()
        family[i], sign[i] = (ALONE if into == slots else into), 1.0 - 2.0 * turned
        found.append(Explanation.of(family, sign))
    return found


def neighbours(at: Explanation) -> list[Explanation]:
    """Return what changes of whole families make of an explanation.

    Those without a family change places with one, or become one; one family has no effect, or is turned; two become
    one. The votes hardly tell the first ones.
    """
    family, sign, count = at.family, at.sign, at.n_families
    alone, found = family == ALONE, []
    for g in range(count):
        own = family == g
        found.append((np.where(own, ALONE, family), sign))
        found.append((family, np.where(own, -sign, sign)))
        if alone.any():
            found.append((np.where(own, ALONE, np.where(alone, g, family)), sign))
            found.append((np.where(own, ALONE, np.where(alone, count, family)), sign))
        found += [(np.where(own, other, family), sign) for other in range(g)]
    if count and alone.any():
        found.append((np.where(alone, count, family), sign))
    kept = (Explanation.of(*one) for one in found)
    return [one for one in kept if np.isfinite(one.log_prior)]
