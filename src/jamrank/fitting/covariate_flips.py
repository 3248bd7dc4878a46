"""Flips of annotators whom covariates sway, estimated with the scores integrated out.

Every vote is compared with what the others say of it: the normal posterior of its margin, the vote itself left out.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.special import expit

from jamrank.fitting.covariate_mode import CovariateVotes, Mode, Variances, find_mode, margins
from jamrank.typing import BoolArray, FloatArray

_FIRST_FLIP, _STEPS = 0.15, 10
# Pseudo-votes with the common flip, added to those of each annotator.
_IMAGINED = 10.0
_CHUNK = 10_000


def estimate_flips(
    votes: CovariateVotes, variances: Variances, free: BoolArray, mode: Mode
) -> tuple[FloatArray, FloatArray]:
    """Return the flip of each annotator, shrunk towards a common one, and the variances of their log-odds."""
    flip = np.full(votes.n_annotators, _FIRST_FLIP)
    decided = votes.weight * (votes.outcome != 0.5)
    given = votes.by_annotator(decided)
    for _ in range(_STEPS):
        mode = find_mode(replace(votes, flip=flip), variances, free, mode)
        variances = replace(variances, score=mode.score_variance)
        first, own = _left_out(replace(votes, flip=flip), mode), flip[votes.annotator]
        said_first = own * (1 - first) / (own * (1 - first) + (1 - own) * first)
        said_second = own * first / (own * first + (1 - own) * (1 - first))
        flipped = votes.outcome * said_first + (1 - votes.outcome) * said_second
        wrong = votes.by_annotator(decided * flipped)
        common = (wrong.sum() + 1.0) / (given.sum() + 3.0)
        flip = (wrong + _IMAGINED * common) / (given + _IMAGINED)
    own = flip[votes.annotator]
    said = own + (1 - 2 * own) * first
    information = votes.by_annotator(decided * (1 - 2 * first) ** 2 / (said * (1 - said)))
    odds = flip * (1 - flip)
    return flip, 1 / (odds**2 * information + _IMAGINED * odds)


def _left_out(votes: CovariateVotes, mode: Mode) -> FloatArray:
    """Return the probability that the first item of each vote is preferred, without that vote (to first order)."""
    mean = margins(votes, mode.scores, mode.common, mode.own)
    variance = _margin_variances(votes, mode)
    pull, information, _ = votes.derivatives(mean)
    keep = np.maximum(1 - information * variance, 0.2)
    mean, variance = mean - pull * variance / keep, variance / keep
    return np.asarray(expit(mean / np.sqrt(1 + np.pi / 8 * variance)))


def _margin_variances(votes: CovariateVotes, mode: Mode) -> FloatArray:
    linear = -mode.follow
    n = votes.n_items
    linear[:, np.flatnonzero(mode.free), n + np.arange(np.count_nonzero(mode.free))] += 1.0
    found = []
    for start in range(0, len(votes.weight), _CHUNK):
        part = slice(start, start + _CHUNK)
        who, x = votes.annotator[part], votes.x[part]
        of_margin = np.einsum("vc,vcm->vm", x, linear[who])
        rows = np.arange(len(who))
        of_margin[rows, votes.first[part]] += 1.0
        of_margin[rows, votes.second[part]] -= 1.0
        own = np.einsum("vc,vcd,vd->v", x, mode.inner[who], x)
        found.append(np.einsum("vm,vm->v", of_margin @ mode.covariance, of_margin) + own)
    return np.concatenate(found)
