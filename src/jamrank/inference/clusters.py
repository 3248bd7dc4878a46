"""Clusters of pairs, described in the user's features."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from jamrank.typing import FloatArray

# A feature is named if its difference is at least half of the largest one; at most so many are named.
_WORTH, _MOST_NAMED = 0.5, 3
# Below half a standard deviation in every feature, two items are called similar.
_ALIKE = 0.5


def describe_cluster(centroid: FloatArray, names: Sequence[str], scale: FloatArray) -> str:
    """Describe how the items of a cluster's pairs differ.

    Parameters
    ----------
    centroid : ndarray
        Their mean difference, in standardised features. A pair has no order, so its opposite means the same.
    names : sequence of str
        Of the features.
    scale : ndarray
        Standard deviation of each feature, to give the difference in the user's units.

    Returns
    -------
    str
        Such as ``pairs that differ mostly in alcohol (by about 2.1) and sulphates (the same way, by about 0.15)``.
    """
    size = np.abs(centroid)
    if not size.max(initial=0.0) >= _ALIKE:
        return "pairs of items that are similar in every feature"
    order = np.argsort(-size, kind="stable")
    named = [f for f in order[:_MOST_NAMED] if size[f] >= _WORTH * size[order[0]]]
    described = [_feature(names[f], float(size[f] * scale[f]), _way(f, named, centroid)) for f in named]
    listed = described[0] if len(described) == 1 else f"{', '.join(described[:-1])} and {described[-1]}"
    return f"pairs that differ mostly in {listed}"


def _way(feature: int, named: Sequence[int], centroid: FloatArray) -> str:
    if feature == named[0]:
        return ""
    return "the same way, " if centroid[feature] * centroid[named[0]] > 0 else "the other way, "


def _feature(name: str, gap: float, way: str) -> str:
    return f"{name} ({way}by about {gap:.2g})"
