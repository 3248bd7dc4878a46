"""The specification of a named model."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

FeatureUse = Literal["refused", "ignored", "optional", "always"]


@dataclass(frozen=True)
class Capabilities:
    """What a model can do.

    features ({"refused", "ignored", "optional", "always"}): How features of the items are treated.
    gold: Whether it uses pairs of known truth.
    ties: Whether ties count without an option: half a vote for each side.
    out_of_core: Whether it fits votes on disk and on a cluster.
    log_odds: Whether scores are log-odds, which can be shown as Elo and used for a warm start.
    annotators: Whether it estimates how reliable each annotator is.
    families: Whether intervals allow for annotators who think alike.
    tastes: Whether annotators may have scores of their own in mind.
    covariates: Whether it takes effects of covariates of the votes out of the scores.
    likelihood: Whether its scores maximise a likelihood, so that there is an information matrix.
    """

    features: FeatureUse = "refused"
    gold: bool = False
    ties: bool = False
    out_of_core: bool = False
    log_odds: bool = False
    annotators: bool = False
    families: bool = False
    tastes: bool = False
    covariates: bool = False
    likelihood: bool = False


@dataclass(frozen=True)
class ModelSpec:
    """The assumptions of a model, and what it can do.

    unit ({"pair", "vote"}): What shares one latent truth: all votes on a pair within a question, or each vote alone.
    scorer: Name of a scorer of :data:`jamrank.scorers.SCORERS`, or ``"auto"``; None for a model without a likelihood.
    noise: Name of a noise of :data:`jamrank.noise.NOISES`; None for a model without one.
    """

    unit: Literal["pair", "vote"] = "pair"
    scorer: str | None = None
    noise: str | None = None
    capabilities: Capabilities = field(default_factory=Capabilities)
