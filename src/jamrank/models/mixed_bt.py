"""Bradley–Terry with features and an effect of each item."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from jamrank.fitting.spec import ModelSpec
from jamrank.models.bradley_terry import BradleyTerry


@dataclass(kw_only=True, repr=False, eq=False)
class MixedBT(BradleyTerry):
    """Scores are a sum of a linear function of the features and an effect of each item; votes without noise.

    Parameters
    ----------
    scorer : {"linear+objects", "kernel+objects", "linear", "kernel"}
        Where scores come from, as in :class:`JAM`.
    ties : {"auto", "davidson", "half", "leave out"}
        As in :class:`JAM`.
    prior : "auto", Prior or None
        Normal priors on weights and effects, their variances estimated from the votes; None: no prior on the weights.
    max_iter, tol, engine, n_jobs, verbose
        As in :class:`BradleyTerry`.

    Attributes
    ----------
    coef_ : ndarray
        Weight of each feature, in the user's units.
    feature_scores_ : ndarray
        The part that the features explain.
    result_.scores.score_variance, result_.scores.weight_variance : float
        Prior variance of the effects, and of the weights.
    flip_ : ndarray
        Share of each annotator's votes that go against the scores.
    """

    _spec: ClassVar[ModelSpec] = replace(
        BradleyTerry._spec,
        scorer="linear+objects",
        capabilities=replace(BradleyTerry._spec.capabilities, features="always"),
    )

    scorer: str = "linear+objects"
