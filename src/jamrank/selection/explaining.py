"""Whether features explain the scores of the items."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from scipy.special import betainc

from jamrank.data.comparisons import Comparisons
from jamrank.errors import JamrankWarning
from jamrank.models.registry import find_model
from jamrank.scorers import Features, align_features

THEY_EXPLAIN = "features explain the scores (p < 0.001)"
_FALSE_ALARM = 1e-3


def features_explain(votes: Comparisons, features: Any) -> bool:
    """Tell whether the features explain the scores of a fit without them, better than any others would.

    An F test of the regression of the scores on the features: without an effect, it does not matter which item has
    which features, so that the test is right however the errors of the scores are spread.
    """
    matrix, names = align_features(features, votes.items)
    design = Features.of(matrix, names).standardise(matrix)
    design = design[:, np.ptp(design, axis=0) > 0]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", JamrankWarning)
        scores = find_model("BradleyTerry")().set_params(ties="leave out").fit(votes).scores_
    centred = design - design.mean(axis=0)
    rank = int(np.linalg.matrix_rank(centred))
    free = len(scores) - 1 - rank
    if rank < 1 or free < 1:
        return False
    target = scores - scores.mean()
    fitted = centred @ np.linalg.lstsq(centred, target, rcond=None)[0]
    explained, rest = float((fitted**2).sum()), float(((target - fitted) ** 2).sum())
    return bool(betainc(free / 2, rank / 2, rest / max(explained + rest, 1e-300)) < _FALSE_ALARM)
