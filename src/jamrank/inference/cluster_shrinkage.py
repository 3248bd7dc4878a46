"""What shrinking flips in clusters of pairs towards an annotator's overall flip does to intervals."""

from __future__ import annotations

import numpy as np

from jamrank.typing import FloatArray


def common_to_all(
    away: FloatArray, variance: FloatArray, pull: FloatArray, n_clusters: int
) -> tuple[FloatArray, FloatArray]:
    """Return the shrinkage bias of each flip's logit that comes from an effect of its cluster on all annotators.

    Votes and prior are weighted as normals. The second value is the variance of the first.

    away: Distance of each flip's logit from the annotator's overall flip, cluster by cluster of each annotator.
    variance: Of that logit.
    pull: The curvature of its prior; 0 without one.
    """
    if not pull.any():
        return np.zeros_like(pull), np.zeros_like(pull)
    of_votes = np.maximum(1.0 / variance - pull, 1e-3)
    without_pull = away * (of_votes + pull) / of_votes
    weight = (of_votes * pull / (of_votes + pull)).reshape(-1, n_clusters)
    total = np.maximum(weight.sum(axis=0), 1e-12)
    common = (weight * without_pull.reshape(-1, n_clusters)).sum(axis=0) / total
    share = (pull / (of_votes + pull)).reshape(-1, n_clusters)
    return np.asarray((share * common).ravel()), np.asarray((share**2 / total).ravel())
