"""Dawid and Skene's model: the truths of pairs and the errors of annotators, without scores."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from scipy.special import logit

from jamrank.fitting.latent import LatentFitter, Outcome
from jamrank.fitting.latent_fit import LatentFit
from jamrank.fitting.prior import Prior
from jamrank.fitting.spec import Capabilities, ModelSpec
from jamrank.inference.cluster_prediction import PairPredictor
from jamrank.inference.latent import LatentInference
from jamrank.inference.prediction import LatentPredictor
from jamrank.inference.score_uncertainty import ScoreUncertainty
from jamrank.inference.scores import Scores
from jamrank.inference.vote_summary import VoteSummary
from jamrank.models.latent import LatentModel


class PairFitter(LatentFitter):
    """Fits truths and errors, and scores items by their shares of pairs won."""

    def finish(self, outcome: Outcome) -> LatentFit:
        """Return the fit, with scores."""
        rows, first_won = outcome.problem.in_memory.rows, outcome.problem.posterior(outcome.fit.point)
        n_items = len(self.votes.items)
        won = np.bincount(rows.first, first_won, n_items) + np.bincount(rows.second, 1 - first_won, n_items)
        pairs = np.bincount(np.concatenate([rows.first, rows.second]), minlength=n_items)
        scores = np.asarray(logit((won + 1) / (pairs + 2)))
        return replace(super().finish(replace(outcome, scores=scores)), extras={"item_pairs": pairs})


@dataclass(kw_only=True, repr=False, eq=False)
class DawidSkene(LatentModel):
    """Independent truths of pairs, and annotators who err.

    The prior probability of each truth is 1/2. Items are ranked by their shares of pairs
    won, each pair by its posterior.

    Parameters
    ----------
    noise : {"flip", "two-coin", "difficulty"}
        ``flip`` is the one-coin model; ``two-coin`` has an error rate for each side of the better item; with
        ``difficulty`` some pairs are harder for everyone.
    prior : "auto", Prior or None
        Weak prior on the errors; None for plain maximum likelihood.
    init, n_init, max_iter, tol, random_state, n_jobs, verbose
        As in :class:`JAM`.

    Attributes
    ----------
    scores_ : ndarray
        Log-odds of each item's share of pairs won, with one pseudo-win and one pseudo-loss.
    flip_ : ndarray
        As in :class:`JAM`.
    """

    _spec: ClassVar[ModelSpec] = ModelSpec(
        unit="pair", scorer="none", noise="flip", capabilities=Capabilities(gold=True, annotators=True)
    )
    _fitter: ClassVar[type[LatentFitter]] = PairFitter
    _predictor: ClassVar[type[LatentPredictor]] = PairPredictor

    noise: str = "flip"
    prior: Prior | str | None = "auto"
    init: str = "share"
    n_init: int = 1
    max_iter: int = 500
    tol: float = 1e-5
    random_state: Any = None
    n_jobs: int | None = None
    verbose: bool = False

    @classmethod
    def _uncertainty_of(cls, votes: VoteSummary, scores: Scores, inference: LatentInference) -> ScoreUncertainty:
        """Return standard errors for independent pairs."""
        share = 1.0 / (1.0 + np.exp(-scores.scores))
        pairs = inference.fit.extras["item_pairs"]
        return ScoreUncertainty(votes, scores, 1.0 / np.sqrt((pairs + 2) * share * (1 - share)))
