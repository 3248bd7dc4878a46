"""The annotators of a result: flips, intervals, response bias, error correlations, verdicts."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np
from scipy.special import expit

from jamrank.data.ids import names_annotators
from jamrank.data.sides import sides_identified
from jamrank.fitting.latent_fit import LatentFit
from jamrank.fitting.solution import Solution
from jamrank.inference.agreement import Agreement, ordered_agreement
from jamrank.inference.cluster_shrinkage import common_to_all
from jamrank.inference.error_correlation import Links, correlated
from jamrank.inference.exchangeability import codes
from jamrank.inference.information import information_on_flips, interval, joint_covariance
from jamrank.inference.latent import LatentInference
from jamrank.inference.prediction import LinkPredictor
from jamrank.inference.response_bias import ResponseBias, VoteChunk, habits, without_own_vote
from jamrank.inference.uncertainty import pooled_quantiles
from jamrank.inference.verdicts import (
    Verdicts,
    flip_intervals,
    inner_flip,
    judge,
    judge_relative,
    leaning,
    name_copies,
    name_nobody,
)
from jamrank.inference.vote_summary import VoteSummary, whole_numbers
from jamrank.noise import NOISES
from jamrank.typing import FloatArray

USUAL_LEVEL = 0.95
# Intervals of flips are withheld where annotators are worth less than this share of their number.
_INDEPENDENT = 0.975
CORRELATED = "The errors of the annotators are correlated: intervals of flips are withheld."


class AnnotatorFit:
    """Counted flips: the share of each annotator's votes against the scores.

    flip: Of each annotator; by annotator and cluster where flips differ between clusters. Or a fit that has it.
    predictor: Predicts the truths with which votes are compared.
    traits: Other estimates for each annotator, by name: ``bias``, ``side_flip``, ``tie``, ``discrimination``.
    """

    # Traits that only some noises have.
    bias_interval: FloatArray | None = None
    tie_interval: FloatArray | None = None
    discrimination_interval: FloatArray | None = None
    cluster_interval: FloatArray | None = None

    saved: tuple[str, ...] = ("flip_information", "flip_range", "response_sums", "link_rows", "effective_judges")

    def __init__(
        self,
        votes: VoteSummary,
        flip: FloatArray | LatentFit,
        predictor: LinkPredictor,
        traits: dict[str, FloatArray] | None = None,
    ) -> None:
        self.votes, self.predictor = votes, predictor
        self.traits = {} if traits is None else traits
        if len(votes.copy_of):
            self.traits = {name: self._shown(value) for name, value in self.traits.items()}
        self._flip = flip

    @cached_property
    def flip(self) -> FloatArray:
        """Flip of each annotator; by annotator and cluster where flips differ between clusters."""
        return self._shown(self._flip.flip if isinstance(self._flip, LatentFit) else self._flip)

    @cached_property
    def overall(self) -> FloatArray:
        """One flip for each annotator, where ``flip`` has several."""
        return self._shown(self._flip.overall_flip) if isinstance(self._flip, LatentFit) else self.flip

    def _shown(self, values: FloatArray) -> FloatArray:
        """Return values as they are shown: of copies, who have no votes here, those of the annotator they copy."""
        return values[self.votes.stands_for] if len(self.votes.copy_of) else values

    @property
    def counted(self) -> bool:
        """Whether flips are shares of votes against the scores, not estimates of a model of annotators."""
        return True

    @property
    def level_known(self) -> bool:
        """Whether the votes tell how high flips are, and not only which are higher."""
        return True

    @property
    def flip_known(self) -> bool:
        """Whether votes tell of errors: a single annotator's agree with scores of their own, whatever the errors."""
        return len(self.overall) > 1 or self.votes.gold is not None

    @property
    def allows_for_correlation(self) -> bool:
        """Whether the model allows for annotators who err together."""
        return False

    @cached_property
    def why_withheld(self) -> str:
        """Why intervals of flips are withheld, in a sentence; empty where they are not."""
        if self.allows_for_correlation or self.effective_judges is None:
            return ""
        n = np.count_nonzero(self.votes.decided_votes > 0)
        return CORRELATED if self.effective_judges < _INDEPENDENT * n else ""

    def trait(self, name: str) -> FloatArray | None:
        """Return a trait of each annotator; None if the noise does not have it."""
        return self.traits.get(name)

    # -- flips ------------------------------------------------------------------------------------------------

    @cached_property
    def flip_information(self) -> FloatArray:
        """Information on the logit of each annotator's overall flip, here the complete-data information."""
        decided = self.votes.decided_votes
        flip = inner_flip(self.overall, decided)
        return np.asarray(decided * flip * (1 - flip))

    def flip_bounds(self, level: float) -> tuple[FloatArray, FloatArray]:
        """Return an interval of each annotator's overall flip."""
        low, high = self.flip_range if level == USUAL_LEVEL else self._shown_bounds(level)
        return low, high

    def _bounds(self, level: float) -> tuple[FloatArray, FloatArray]:
        return flip_intervals(self.overall, self.flip_information, self.votes.decided_votes, level)

    @cached_property
    def flip_range(self) -> FloatArray:
        """The 95 % interval of each annotator's overall flip: low and high."""
        return self._shown_bounds(USUAL_LEVEL)

    def _shown_bounds(self, level: float) -> FloatArray:
        return np.stack(self._bounds(level))[:, self.votes.stands_for]

    # -- sides, ties, correlation -----------------------------------------------------------------------------

    @cached_property
    def response_sums(self) -> FloatArray:
        """Sums over sides and ties, as in :class:`ResponseBias`; empty for votes on disk."""
        self.votes.require()
        votes = self.votes.in_memory
        if votes is None:
            return np.empty((0, 0))
        found = habits(votes, self._chance() if votes.n_ties else None, self._truth_of_votes, self.overall)
        if leaning(found).any() and not sides_identified(votes, fixed=True):
            # A preference for a side cannot be separated from one for the items on it.
            found.left[:] = found.expected_left
        return found.sums

    @property
    def response_bias(self) -> ResponseBias | None:
        """How annotators treat sides and ties; None for votes on disk."""
        return ResponseBias(self.response_sums) if len(self.response_sums) else None

    def _chance(self) -> FloatArray:
        """Return the prior probability that the first item of each pair is better; here unknown."""
        return np.full(len(self.votes.pairs.first), 0.5)

    def _truth_of_votes(self, chunk: VoteChunk) -> FloatArray:
        """Return for each vote the probability that the first item is better, with which flips are counted."""
        return np.heaviside(self.predictor.posterior[chunk.pair] - 0.5, 0.5)

    @cached_property
    def _links(self) -> Links | None:
        self.votes.require()
        votes = self.votes.in_memory
        return None if votes is None else correlated(votes, self.overall)

    @cached_property
    def effective_judges(self) -> float | None:
        """How many independent annotators the annotators are worth; None for votes on disk."""
        return None if self._links is None else self._links.effective_judges

    def agreement(self, most: int) -> Agreement | None:
        """Return who agrees with whom; None for votes on disk, and where no two annotators have pairs in common."""
        return None if self._links is None else ordered_agreement(self._links.couples, most)

    @cached_property
    def link_rows(self) -> FloatArray:
        """Annotator pairs with correlated errors, as rows of numbers."""
        found = np.empty((0, 6)) if self._links is None else self._links.to_array()
        return np.concatenate([self._copies(), found])

    def _copies(self) -> FloatArray:
        """Return every two copies of one annotator, and the annotator, as such rows: they agree on everything."""
        copy_of = self.votes.copy_of
        groups = [[of, *np.flatnonzero(copy_of == of)] for of in np.unique(copy_of[copy_of >= 0])]
        couples = [couple for group in groups for couple in combinations(group, 2)]
        first, copies = np.array(couples, dtype=np.int64).reshape(-1, 2).T
        pairs, skill = self.votes.decided_votes[self.votes.stands_for[first]], 1 - 2 * self.overall[first]
        return np.stack([first, copies, pairs, pairs, pairs * (1 + skill**2) / 2, np.ones(len(first))], axis=1)

    # -- frames -----------------------------------------------------------------------------------------------

    @cached_property
    def verdicts(self) -> Verdicts:
        """The verdict on each annotator, with evidence and action."""
        low, high = self.flip_range
        if self.level_known:
            found = judge(self.overall, low, high, self.response_bias, shown=not self.why_withheld)
        else:
            found = judge_relative(self.overall, low, high, self.response_bias)
        found = self.amend(found)
        if not names_annotators(self.votes.annotators):
            return name_nobody(found)
        return name_copies(found, self.votes.annotators, self.votes.copy_of)

    def amend(self, found: Verdicts) -> Verdicts:
        """Return verdicts with what the model of the ranking knows beside flips, sides and ties; here nothing."""
        return found

    def frame(self, more: Mapping[str, FloatArray] | None = None) -> Any:
        """Return the annotators as a frame: counts, flip, verdict, traits of the noise, and more columns."""
        verdicts = self.verdicts
        return self.votes.frame(
            {
                "annotator": self.votes.annotators,
                "votes": whole_numbers(self.votes.annotator_votes[self.votes.stands_for]),
                **self._flip_columns(USUAL_LEVEL),
                "verdict": np.array(verdicts.verdict, dtype=object),
                "evidence": np.array(verdicts.evidence, dtype=object),
                "action": np.array(verdicts.action, dtype=object),
                **self.trait_columns(),
                **(more or {}),
            }
        )

    def intervals_frame(self, level: float) -> Any:
        """Return flips with their intervals as a frame."""
        return self.votes.frame({"annotator": self.votes.annotators, **self._flip_columns(level)})

    def _flip_columns(self, level: float) -> dict[str, Any]:
        """Return flips with their intervals, which are missing where they would not hold.

        So it is where only the prior tells how high flips are, and where annotators err together. The flip of a
        single annotator is missing, too, unless features or pairs of known truth tell of it.
        """
        told = np.full(len(self.overall), self.flip_known)
        known = told & (self.level_known and not self.why_withheld)
        low, high = (self.votes.with_gaps(bound, known) for bound in self.flip_bounds(level))
        return {"flip": self.votes.with_gaps(self.overall, told), "flip_low": low, "flip_high": high}

    def correlated_frame(self) -> Any:
        """Return annotators with correlated errors as a frame, highest correlation first."""
        first, second, common, agreed, expected, correlation = self.link_rows.reshape(-1, 6).T
        names = self.votes.annotators
        return self.votes.frame(
            {
                "first": names[first.astype(np.int64)],
                "second": names[second.astype(np.int64)],
                "pairs": whole_numbers(common),
                "agreed": whole_numbers(agreed),
                "expected": expected,
                "correlation": correlation,
            }
        )

    def trait_columns(self) -> dict[str, FloatArray]:
        """Return what is estimated of each annotator besides the flip, with intervals, as columns."""
        columns: dict[str, FloatArray] = {}
        for name, value in self.traits.items():
            if value.ndim > 1:
                continue
            columns[name] = value
            reach = getattr(self, f"{name}_interval", None)
            if reach is not None:
                columns |= {f"{name}_low": reach[:, 0], f"{name}_high": reach[:, 1]}
        return columns


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
