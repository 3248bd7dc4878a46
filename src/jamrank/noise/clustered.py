"""A flip probability for each annotator and cluster of pairs: the noise of VRJAM."""

from __future__ import annotations

import numpy as np
from scipy.special import betaln

from jamrank.noise.flip import Flip
from jamrank.typing import FloatArray

_STRENGTHS = np.logspace(0, 5, 41)


class ClusteredFlip(Flip):
    """Flips by annotator and cluster, shrunk towards the annotator's overall flip.

    The prior of each flip has its mode at the annotator's overall flip (and the weak prior of :class:`Flip`),
    as if ``strength`` further votes had been cast at exactly that rate.

    cast: Votes of each annotator and cluster, as in :class:`Flip`.
    n_clusters: Number of clusters.
    flip: The annotators' overall flips, held fixed.
    strength: Number of pseudo-votes.
    wrong, right: Pseudo-votes of the weak prior.
    """

    def __init__(
        self,
        vote_counts: FloatArray,
        n_clusters: int,
        flip: FloatArray,
        strength: float,
        wrong: float = 0.0,
        right: float = 0.0,
    ) -> None:
        overall = np.repeat(flip, n_clusters)
        super().__init__(vote_counts, wrong + strength * overall, right + strength * (1 - overall))

    def orientation(self, params: FloatArray) -> float:
        """Return 1: the overall flips determine the orientation."""
        return 1.0

    def with_trust(self, trust: FloatArray) -> FloatArray | None:
        """Return None: the overall flips are given."""
        return None


def choose_strength(errors: FloatArray, votes: FloatArray, flip: FloatArray) -> float:
    """Estimate how strongly cluster flips are shrunk towards the annotator's overall flip.

    The strength maximises the beta-binomial likelihood of the expected errors: large if the clusters differ no more
    than by chance, small if they really differ.

    errors, votes, of shape (annotators, clusters): Expected errors, and votes, in each cell.
    flip, of shape (annotators,): Overall flips.
    """
    # A grid, not an optimiser: if all strengths are equally good, rounding must not decide.
    mean = np.clip(flip, 1e-6, 1 - 1e-6)[:, None, None]
    a, b = _STRENGTHS * mean, _STRENGTHS * (1 - mean)
    errors, votes = errors[:, :, None], votes[:, :, None]
    likelihood = (betaln(errors + a, votes - errors + b) - betaln(a, b)).sum(axis=(0, 1))
    return float(_STRENGTHS[likelihood.argmax()])
