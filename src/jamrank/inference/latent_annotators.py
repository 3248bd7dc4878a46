"""The annotators of a model of latent truths: flips that were estimated, and intervals of all traits."""

from __future__ import annotations

from functools import cached_property

import numpy as np
from scipy.special import expit

from jamrank.fitting.solution import Solution
from jamrank.inference.annotators import AnnotatorFit
from jamrank.inference.cluster_shrinkage import common_to_all
from jamrank.inference.exchangeability import codes
from jamrank.inference.information import information_on_flips, interval, joint_covariance
from jamrank.inference.latent import LatentInference
from jamrank.inference.prediction import LinkPredictor
from jamrank.inference.response_bias import VoteChunk, without_own_vote
from jamrank.inference.uncertainty import pooled_quantiles
from jamrank.inference.verdicts import (
    inner_flip,
)
from jamrank.inference.vote_summary import VoteSummary
from jamrank.noise import NOISES
from jamrank.typing import FloatArray


class LatentAnnotators(AnnotatorFit):
    """Flips that are estimated together with the scores.

    votes, predictor: As in :class:`AnnotatorFit`.
    inference: Of the fit.
    """

    saved = (*AnnotatorFit.saved, "bias_interval", "tie_interval", "discrimination_interval", "cluster_interval")

    def __init__(self, votes: VoteSummary, predictor: LinkPredictor, inference: LatentInference) -> None:
        self.inference, self.fit = inference, inference.fit
        super().__init__(votes, self.fit, predictor, self.fit.traits)

    @property
    def counted(self) -> bool:
        """Whether flips are shares of votes against the scores, not estimates of the noise."""
        return not NOISES[self.fit.settings.noise].flips

    @property
    def flip_known(self) -> bool:
        """Whether votes tell of errors, as votes do that features explain."""
        return super().flip_known or (not self.counted and self.fit.scorer != "objects")

    @property
    def allows_for_correlation(self) -> bool:
        """Whether the model allows for annotators who err together: on pairs that are hard for all of them."""
        return self.fit.settings.noise == "difficulty"

    @cached_property
    def level_known(self) -> bool:
        """Whether the votes tell how high flips are.

        With a truth per vote they tell the products of 1 - 2 flip and 2 P(truth) - 1. Unless pairs form a cycle, or
        ties or grades tell of margins, all flips may be higher and all margins larger for it.
        """
        fit, votes = self.fit, self.votes
        source = fit.fitted.source
        if self.counted or fit.settings.unit == "pair" or fit.scorer != "objects" or votes.gold is not None:
            return True
        # A lone annotator's flip is not compared with anyone's, whatever the pairs.
        alone = np.count_nonzero(votes.decided_votes) < 2
        if alone or source.graded or source.ties in ("each", "shared"):
            return True
        return votes.in_memory is None or votes.has_cycle

    @cached_property
    def flip_information(self) -> FloatArray:
        """Information on each annotator's flip: complete-data minus missing information."""
        fitted = self.fit.fitted
        kind = fitted.problem.noise.flip_kind
        if kind == "counted":
            decided = self.votes.decided_votes
            flip = inner_flip(self.overall, decided)
            return np.asarray(decided * flip * (1 - flip))
        if kind == "mean of sides":
            return information_on_flips(fitted.params, self.inference.noise_covariance)
        return self._information_at(self.fit.overall or fitted)

    def _information_at(self, solution: Solution) -> FloatArray:
        n = len(self.votes.annotators)
        if self.fit.flip_information is not None:
            # The joint posterior has no maximum where scores are integrated out: its curvature says nothing there.
            return self.fit.flip_information[:n]
        problem, point = solution.problem, solution.point
        observed = self.inference.observed_at(solution)
        if observed is not None:
            return problem.noise.flip_information(observed.marginal(), n)
        hidden = problem.engine.truth_variance(point.scores, problem.noise.log_emission(point.params)).sum(axis=1)
        rate = problem.noise.annotator_flips(point.params, n)
        complete = problem.engine.vote_counts.sum(axis=1) * rate * (1 - rate)
        return np.asarray(np.maximum(complete - hidden, 0.0))

    def _bounds(self, level: float) -> tuple[FloatArray, FloatArray]:
        # With two sides the joint information is available, and gives their mean more precisely than a few hundred
        # draws.
        noise = self.fit.fitted.problem.noise
        if not self.inference.can_draw or noise.flip_kind != "parameter":
            return super()._bounds(level)
        flip, n = self.overall, len(self.overall)
        rates = np.stack([noise.annotator_flips(params, n) for params in self.inference.draws.params])
        same = codes(np.round(flip, 9), self.inference.exchangeability.annotator)
        low, high = pooled_quantiles(rates, [(1 - level) / 2, (1 + level) / 2], same, "weibull")
        return np.minimum(low, flip), np.maximum(high, flip)

    def _chance(self) -> FloatArray:
        return np.asarray(expit(self.votes.margins(self.fit.scores)))

    def _truth_of_votes(self, chunk: VoteChunk) -> FloatArray:
        """Return the probability given the scores and the other votes on the pair, without the vote itself."""
        if self.fit.fitted.problem.noise.flip_kind == "counted":
            return super()._truth_of_votes(chunk)
        posterior = self.predictor.posterior[chunk.pair]
        shared = self.fit.settings.unit == "pair" and self.fit.scorer != "none"
        return without_own_vote(posterior, chunk, self._flip_of_votes(chunk)) if shared else posterior

    def _flip_of_votes(self, chunk: VoteChunk) -> FloatArray:
        if self.flip.ndim == 1:
            return self.flip[chunk.annotator]
        return np.asarray(self.flip[chunk.annotator, self.fit.extras["cluster"][chunk.pair]])

    # -- intervals of traits ----------------------------------------------------------------------------------

    @cached_property
    def bias_interval(self) -> FloatArray | None:  # type: ignore[override]
        """95 % interval of each annotator's bias, from low to high; None if the noise has no sides."""
        bias = self.trait("bias")
        return None if bias is None else interval(bias, self.inference.noise_covariance[1, 1])

    @cached_property
    def tie_interval(self) -> FloatArray | None:  # type: ignore[override]
        """95 % interval of each annotator's threshold for ties, from low to high; None if ties are left out."""
        tie = self.trait("tie")
        if tie is None:
            return None
        if not tie.any():
            # No tie in n votes: the upper bound is about 3 ties in n votes.
            return np.stack([tie, 3.0 / (self.votes.annotator_votes + 1.0)], axis=1)
        if self.fit.fitted.problem.noise.n_shared:
            variance = np.full(len(tie), self.inference.shared_variance[-1])
        else:
            variance = self.inference.noise_covariance[-1, -1]
        return np.asarray(np.exp(interval(np.log(tie), variance)))

    @cached_property
    def discrimination_interval(self) -> FloatArray | None:  # type: ignore[override]
        """95 % interval of each annotator's discrimination, from low to high; None without discriminations."""
        if self.trait("discrimination") is None:
            return None
        fitted = self.fit.fitted
        problem, point = fitted.problem, fitted.point
        if len(point.rates) == 1:  # 1 by definition
            return np.ones((1, 2))
        covariance = joint_covariance(problem, point)
        if covariance is None:
            # Given the scores.
            return interval(point.rates, 1.0 / np.maximum(point.expectation.expected_counts[:, 1], 1e-300))
        # The parameters are these discriminations up to a common scale, which is not identified.
        value, n = point.params, len(point.params)
        size = float(np.abs(value).mean())
        turn = (np.eye(n) - np.outer(value, np.sign(value)) / (n * size)) / size
        return interval(point.rates, np.einsum("ij,jk,ik->i", turn, covariance, turn))

    @cached_property
    def cluster_interval(self) -> FloatArray | None:  # type: ignore[override]
        """95 % interval of each flip, by annotator and cluster; None without clusters, or if it is too expensive.

        A flip is shrunk towards the annotator's overall flip and inherits its uncertainty. If a cluster is easier or
        harder for everyone, this shrinkage is biased; the interval includes the bias.
        """
        if self.flip.ndim == 1 or self.fit.overall is None:
            return None
        fitted, strength = self.fit.fitted, self.fit.extras["strength"]
        covariance = joint_covariance(fitted.problem, fitted.point)
        if covariance is None:
            return None
        n_annotators, n_clusters = self.flip.shape
        centre = self.fit.overall.point.rates
        pull = np.repeat(strength * centre * (1 - centre), n_clusters)
        inherited = (covariance * pull).reshape(-1, n_annotators, n_clusters).sum(axis=2)
        variance = np.diag(covariance) + (inherited**2 / np.maximum(self.flip_information, 1e-6)).sum(axis=1)
        away = fitted.params - np.repeat(self.fit.overall.params, n_clusters)
        moved, more = common_to_all(away, np.diag(covariance), pull, n_clusters)
        bounds = expit(interval(fitted.params + moved, variance + more)).reshape(n_annotators, n_clusters, 2)
        low, high = np.minimum(bounds[..., 0], self.flip), np.maximum(bounds[..., 1], self.flip)
        return np.stack([low, high], axis=2)
