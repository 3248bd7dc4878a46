"""Base of all models with a scorer and a noise."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

from jamrank.errors import FeatureError, ParameterError
from jamrank.fitting.fit_input import FitInput
from jamrank.fitting.latent import LatentFitter
from jamrank.fitting.latent_fit import LatentFit
from jamrank.fitting.settings import FitSettings
from jamrank.inference.bootstrap import Refit
from jamrank.inference.latent import LatentInference
from jamrank.inference.latent_annotators import LatentAnnotators
from jamrank.inference.prediction import LatentPredictor
from jamrank.inference.result import Convergence, RankingResult
from jamrank.inference.score_uncertainty import LatentUncertainty, ScoreUncertainty
from jamrank.inference.scores import Scores
from jamrank.inference.vote_summary import VoteSummary
from jamrank.models.base import RankingModel
from jamrank.scorers import SCORERS


class LatentModel(RankingModel):
    """Base of models with a scorer and a noise, which a subclass names in its spec."""

    _fitter: ClassVar[type[LatentFitter]] = LatentFitter
    _predictor: ClassVar[type[LatentPredictor]] = LatentPredictor

    def _fit(self, given: FitInput) -> RankingResult:
        self._check_features(given.features)
        settings = FitSettings.of(type(self).__name__, self._spec, self.get_params())
        fitter = self._make_fitter(settings, given)
        fit = fitter.fit(given.features)
        engine = fit.fitted.problem.engine
        return self._result_of(
            fit, VoteSummary.of(given.votes, given.gold), Convergence.of(fit, engine, given.choice)
        )

    def _check_features(self, features: Any) -> None:
        name, use = type(self).__name__, self._spec.capabilities.features
        if use == "refused" and SCORERS.get(self.get_params().get("scorer", "objects"), SCORERS["objects"]).features:
            use = "always"
        if features is None and use == "always":
            raise FeatureError(
                f"{name} needs features", "give one row per item (--features FILE), or use JAM, which needs none"
            )
        if features is not None and use == "refused":
            raise ParameterError(f"{name} uses no features; JAM does")

    def _make_fitter(self, settings: FitSettings, given: FitInput) -> LatentFitter:
        return self._fitter(settings, given.choice, given.votes, given.gold, given.start)

    @classmethod
    def _assemble(
        cls, fit: LatentFit, votes: VoteSummary, convergence: Convergence, params: dict[str, Any]
    ) -> RankingResult:
        """Assemble the result of a fit."""
        inference = LatentInference(fit, votes)
        scores = Scores(
            votes.items,
            fit.scores,
            cls.__name__,
            feature_scores=fit.feature_scores,
            coef=fit.coef,
            features=fit.features,
            kernel=fit.kernel,
            kernel_weights=fit.kernel_weights,
            score_variance=fit.score_variance,
            weight_variance=fit.weight_variance,
            scorer=fit.scorer,
        )
        predictor = cls._predictor(votes, scores, inference)
        return RankingResult(
            model=cls.__name__,
            spec=replace(cls._spec, scorer=fit.scorer, noise=fit.settings.noise),
            votes=votes,
            scores=scores,
            annotators=LatentAnnotators(votes, predictor, inference),
            convergence=convergence,
            predictor=predictor,
            uncertainty=cls._uncertainty_of(votes, scores, inference),
            inference=inference,
            extras=dict(fit.extras),
            refit=Refit(cls, params),
        )

    def _result_of(self, fit: LatentFit, votes: VoteSummary, convergence: Convergence) -> RankingResult:
        return self._assemble(fit, votes, convergence, self.get_params())

    @classmethod
    def _uncertainty_of(cls, votes: VoteSummary, scores: Scores, inference: LatentInference) -> ScoreUncertainty:
        return LatentUncertainty(votes, scores, inference)
