"""The pair whose order is least certain."""

from __future__ import annotations

import numpy as np
from scipy.special import ndtr

from jamrank.acquisition.view import Proposals, View


def uncertainty(view: View) -> Proposals:
    """Value a pair by the uncertainty of its order; among equals, by the variance of its margin."""
    mean, variance = view.belief.scores.margin(view.first, view.second)
    unsure = ndtr(-np.abs(mean) / np.sqrt(variance)) * np.sqrt(variance)
    value = unsure[None, :] * (1 - 2 * np.minimum(view.belief.reliability.flip[view.annotators], 0.5))[:, None]
    why = "the order of the pair is among the least certain"
    return Proposals(np.arange(len(unsure)), value / view.cost[:, None], why)
