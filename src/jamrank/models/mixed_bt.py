"""Bradley–Terry with features and an effect of each item."""

from __future__ import annotations

from typing import Any, ClassVar

from jamrank.errors import FeatureError
from jamrank.fitting.prior import Prior
from jamrank.io.out_of_core.parted import Votes
from jamrank.models.base import FeatureUse
from jamrank.models.bradley_terry import BradleyTerry
from jamrank.models.latent import LatentModel

__all__ = ["MixedBT"]


class MixedBT(BradleyTerry):
    """Scores that are a sum of what the features say and an effect of each item; votes are taken for the truth.

    Parameters
    ----------
    scorer : {"linear+objects", "kernel+objects", "linear", "kernel"}
        How scores arise, as in :class:`JAM`.
    ties : {"leave out", "davidson"}
        As in :class:`JAM`.
    prior : "auto", Prior or None
        Normal priors on weights and effects, their variances estimated from the votes; None frees the weights.
    max_iter, tol, engine, n_jobs, verbose
        As in :class:`BradleyTerry`.

    Attributes
    ----------
    coef_ : ndarray
        Weight of each feature, in the user's units.
    feature_scores_ : ndarray
        The part that the features explain.
    score_variance_, weight_variance_ : float
        Prior variance of the effects, and of the weights.
    flip_ : ndarray
        Share of each annotator's votes that go against the scores.
    """

    _from_disk: ClassVar[bool] = True
    _takes_features: ClassVar[FeatureUse] = "always"

    def __init__(
        self,
        *,
        scorer: str = "linear+objects",
        ties: str = "leave out",
        prior: Prior | str | None = "auto",
        max_iter: int = 500,
        tol: float = 1e-8,
        engine: str = "auto",
        n_jobs: int | None = None,
        verbose: bool = False,
    ) -> None:
        super().__init__(
            ties=ties, prior=prior, max_iter=max_iter, tol=tol, engine=engine, n_jobs=n_jobs, verbose=verbose
        )
        self.scorer = scorer

    def _fit(self, votes: Votes, features: Any) -> None:
        if features is None:
            raise FeatureError("MixedBT needs features", "give one row an item, or use BradleyTerry")
        LatentModel._fit(self, votes, features)
