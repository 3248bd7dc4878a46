"""Probabilities of truths and votes given a fit: one small class for each model of votes."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit

from jamrank.data.comparisons import Comparisons
from jamrank.data.ids import locate
from jamrank.errors import ParameterError, UnknownItemError
from jamrank.fitting.link import fit_link
from jamrank.inference.latent import LatentInference
from jamrank.inference.scores import Scores, as_ids
from jamrank.inference.vote_query import VoteQuery, probit_adjusted_sigmoid
from jamrank.inference.vote_summary import VoteSummary
from jamrank.kernels import default_threads, kernels
from jamrank.linalg.marginals import is_dense, score_variances
from jamrank.rows import EasedPatterns, Rows, vote_shares
from jamrank.rows.eased import WEIGHTS
from jamrank.scorers import SCORERS
from jamrank.typing import FloatArray

# Log-odds of a posterior that is 0 or 1 in float64.
_SURELY_NOT = 1e-15


class LinkPredictor:
    """Votes follow ``sigmoid(a · margin)``, the slope ``a`` fitted to the votes: for scores that are not log-odds.

    posterior: P(left truly beats right) for each pair, if already known.
    """

    saved = ("posterior", "link", "score_variances", "vote_tables")
    # Computed where a model is saved: a file without votes could not tell.
    saved_always: tuple[str, ...] = ()

    def __init__(self, votes: VoteSummary, scores: Scores, posterior: FloatArray | None = None) -> None:
        self.votes, self.scores = votes, scores
        if posterior is not None:
            self.posterior = posterior

    @cached_property
    def posterior(self) -> FloatArray:
        """P(left truly beats right) for each pair: the sigmoid of the difference of the scores, in log-odds."""
        return np.asarray(expit(self.votes.margins(self.scores.slope * self.scores.scores)))

    @cached_property
    def link(self) -> float:
        """Slope from a difference of scores to the log-odds of a vote."""
        votes = self.votes.require()
        assert isinstance(votes, Comparisons)
        rows = Rows.per_pair(votes)
        wins, vote_counts = rows.vote_totals()
        scores = self.scores.scores
        return fit_link(scores[rows.first] - scores[rows.second], wins, vote_counts)

    @cached_property
    def score_variances(self) -> FloatArray:
        """Posterior variance of each score; 0 if the model has none."""
        return np.zeros(len(self.votes.items))

    @cached_property
    def vote_tables(self) -> FloatArray:
        """Probability of a vote by confusion group, by whether it is for the first item, and by the truth."""
        return np.empty((0, 2, 2))

    def truth(self, left: Any, right: Any, features: Any = None) -> FloatArray:
        """Return the probability that left truly beats right, from the scores alone."""
        a, b = _two_sides(left, right)
        return np.asarray(expit(self.scores.log_odds(a, features) - self.scores.log_odds(b, features)))

    def vote(self, votes: Comparisons, features: Any = None) -> FloatArray:
        """Return the probability that each decided vote is for the first item of its pair."""
        if not isinstance(votes, Comparisons):
            raise ParameterError(f"votes is a {type(votes).__name__}; expected jamrank.Comparisons")
        return self.of_query(VoteQuery.of(self.votes, votes), features)

    def of_query(self, query: VoteQuery, features: Any) -> FloatArray:
        """Return the probability that each vote is for the first item of its pair."""
        margin, variance = self.margins(query, features)
        return probit_adjusted_sigmoid(self.link * margin, self.link**2 * variance)

    def tie(self, votes: Comparisons, features: Any = None) -> FloatArray | None:
        """Return for each vote, ties included, how likely a tie is; None where the model has no ties."""
        return None

    def margins(self, query: VoteQuery, features: Any) -> tuple[FloatArray, FloatArray]:
        """Return the margin of each vote and its posterior variance."""
        known, spread = self.scores, self.score_variances
        sides = []
        for item, of_pair in ((query.first, query.votes.pair_first), (query.second, query.votes.pair_second)):
            score = np.append(known.scores, 0.0)[item]
            variance = np.append(spread, self._unseen_variance())[item]
            unseen = item < 0
            if unseen.any() and features is not None and known.features is not None:
                code = of_pair[query.votes.vote_pair[query.which[unseen]]]
                score[unseen] = known.of_unseen(query.votes.items[code], features)
                variance[unseen] = known.score_variance or 0.0
            elif unseen.any():
                score[unseen] = known.scores.mean()
            sides.append((score, variance))
        (a, var_a), (b, var_b) = sides
        return a - b, var_a + var_b

    def _unseen_variance(self) -> float:
        """Return the variance of the score of an item without votes."""
        known = self.scores
        return float(known.scores.var()) if known.score_variance is None else known.score_variance

    def outcomes(self, left: Any, right: Any, annotator: Any, flip: FloatArray, traits: dict[str, Any]) -> FloatArray:
        """Return the probabilities of a vote for left, for right, and of a tie: one row per vote.

        left, right: On the sides on which they are shown.
        flip: Of each annotator.
        traits: What else is estimated of each.
        """
        names = as_ids(annotator)
        who = locate(self.votes.annotators, names)
        if (who < 0).any():
            raise ParameterError(f"annotator {names[who < 0][0]!s} has cast no vote")
        better = self.truth(left, right)
        says_left = self.says_left(better, who, flip, traits)
        tied = np.zeros(len(better))
        if "tie" in traits:
            odds = 2.0 * traits["tie"][who] * np.sqrt(better * (1 - better))
            tied = odds / (1.0 + odds)
        return np.stack([says_left * (1 - tied), (1 - says_left) * (1 - tied), tied], axis=1)

    def grades(self, left: Any, right: Any, annotator: Any, flip: FloatArray, traits: dict[str, Any]) -> FloatArray:
        """Return how likely each grade is, from the clearest win of left over a tie to the clearest win of right.

        Parameters are those of :meth:`outcomes`. Without grades there are three columns.
        """
        left_won, right_won, tied = self.outcomes(left, right, annotator, flip, traits).T
        if "grade_slope" not in traits:
            return np.stack([left_won, tied, right_won], axis=1)
        who, margin = locate(self.votes.annotators, as_ids(annotator)), logit(self.truth(left, right))
        slope, threshold = traits["grade_slope"][who][:, None], traits["grade_threshold"][who]

        def of_winner(seen: FloatArray) -> FloatArray:
            on = expit(slope * seen[:, None] - threshold)
            reached = np.cumprod(np.column_stack([np.ones(len(on)), on]), axis=1)
            return np.asarray(reached * np.column_stack([1 - on, np.ones(len(on))]))

        ahead, behind = left_won[:, None] * of_winner(margin), right_won[:, None] * of_winner(-margin)
        return np.column_stack([ahead[:, ::-1], tied, behind])

    def says_left(
        self, better: FloatArray, who: NDArray[np.intp], flip: FloatArray, traits: dict[str, Any]
    ) -> FloatArray:
        """Return the probability that decided votes are for left, if left is better with probability ``better``."""
        on_left, on_right = traits["side_flip"].T if "side_flip" in traits else (flip, flip)
        return np.asarray(better * (1 - on_left[who]) + (1 - better) * on_right[who])


class SlopePredictor(LinkPredictor):
    """Scores from counts, with a slope that was fitted along with them."""

    @cached_property
    def link(self) -> float:
        """The slope."""
        return self.scores.slope

    def truth(self, left: Any, right: Any, features: Any = None) -> FloatArray:
        """Return the probability that left truly beats right; every item must have votes."""
        for side in (left, right):
            ids = as_ids(side)
            at = locate(self.votes.items, ids)
            if (at < 0).any():
                raise UnknownItemError(
                    f"item {ids[at < 0][0]!s} has no votes, and {self.scores.model} uses no features"
                )
        return super().truth(left, right)


class SharePredictor(SlopePredictor):
    """Votes are predicted by the share of votes on their pair: majority vote."""

    saved_always = ("posterior",)

    @cached_property
    def posterior(self) -> FloatArray:
        """The share of the votes on each pair for its first item."""
        votes = self.votes.require()
        assert isinstance(votes, Comparisons)
        return vote_shares(votes)

    def truth(self, left: Any, right: Any, features: Any = None) -> FloatArray:
        """Return the share of votes for left on each pair, over all questions; 1/2 without votes."""
        a, b = (locate(self.votes.items, ids) for ids in _two_sides(left, right))
        if (a < 0).any() or (b < 0).any():
            unknown = as_ids(left)[a < 0] if (a < 0).any() else as_ids(right)[b < 0]
            raise UnknownItemError(f"item {unknown[0]!s} has no votes, and {self.scores.model} uses no features")
        n_items, pairs = len(self.votes.items), self.votes.pairs
        key = pairs.first.astype(np.int64) * n_items + pairs.second
        wanted = np.minimum(a, b) * n_items + np.maximum(a, b)
        keys, at = np.unique(key, return_inverse=True)
        wins = np.bincount(at, self.posterior * pairs.votes, len(keys))
        total = np.bincount(at, pairs.votes, len(keys))
        place = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
        known = (keys[place] == wanted) & (total[place] > 0)
        share = np.where(known, wins[place] / np.maximum(total[place], 1e-300), 0.5)
        return np.where(a < b, share, 1 - share)

    def of_query(self, query: VoteQuery, features: Any) -> FloatArray:
        """Return the share on the pair within its question, with one pseudo-vote for each side."""
        votes = self.votes.pairs.votes
        share = (self.posterior * votes + 1) / (votes + 2)
        return 0.5 + query.seen_from_first(share - 0.5, np.zeros(len(query)))


class LatentPredictor(LinkPredictor):
    """Votes distort a latent truth, by a scorer and a noise.

    votes, scores: As in :class:`LinkPredictor`.
    inference: Of the fit.
    """

    def __init__(self, votes: VoteSummary, scores: Scores, inference: LatentInference) -> None:
        super().__init__(votes, scores)
        self.inference, self.fit = inference, inference.fit

    @cached_property
    def posterior(self) -> FloatArray:
        """P(left truly beats right) for each pair; from the scores if each vote has its own truth."""
        fitted = self.fit.fitted
        point, problem = fitted.point, fitted.problem
        if self.fit.settings.unit == "vote":
            first, second = self.votes.pair_items
            prior, scores = np.empty(len(first)), np.ascontiguousarray(point.scores)
            kernels.prior_of_pairs(first, second, scores, prior, default_threads())
            return prior
        noise, params = problem.noise.decided(point.params)
        log_emission = noise.log_emission(params)
        parts = []
        for votes, engine in problem.engine.parts():
            of_rows = engine.posterior(point.scores, log_emission)
            if len(of_rows) < votes.n_pairs:  # a pair without decided votes is predicted from its scores
                of_pairs = expit(point.scores[votes.pair_first] - point.scores[votes.pair_second])
                of_pairs[engine.rows.pair] = of_rows
                of_rows = np.asarray(of_pairs)
            parts.append(of_rows)
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    @cached_property
    def link(self) -> float:
        """1: scores are log-odds."""
        return 1.0

    @cached_property
    def score_variances(self) -> FloatArray:
        """Posterior variance of each score."""
        if self.fit.integrated_variances is not None:
            return self.fit.integrated_variances
        refined = self.fit.refined
        problem, point = refined.problem, refined.point
        engine = problem.engine
        links = engine.in_memory and not is_dense(engine.n_links, engine.n_items)
        information = engine.observed(point.scores, problem.noise.log_emission(point.params), links)
        variance = self.fit.score_variance
        return score_variances(information[0], 0.0 if variance is None else 1.0 / variance, information[1])

    @cached_property
    def ease(self) -> FloatArray | None:
        """Posterior of the ease of each pair by truth and node; None where flips do not depend on the pair."""
        fitted = self.fit.fitted
        noise, params = fitted.problem.noise.decided(fitted.params)
        if not noise.eased:
            return None
        found = np.broadcast_to(WEIGHTS, (len(self.votes.pairs.first), 2, len(WEIGHTS))).copy()
        for _, engine in fitted.problem.engine.parts():
            ballots = engine.rows.ballots
            assert isinstance(ballots, EasedPatterns)
            found[engine.rows.pair] = ballots.ease(noise.log_emission(params))[ballots.of_row]
        return found

    @cached_property
    def vote_tables(self) -> FloatArray:
        """Probability of a vote by confusion group, by whether it is for the first item, and by the truth."""
        fitted = self.fit.fitted
        noise, params = fitted.problem.noise.decided(fitted.params)
        return np.asarray(np.exp(noise.vote_table(params)))

    def of_query(self, query: VoteQuery, features: Any) -> FloatArray:
        """Return the probability of a vote for the first item, summed over the truth of its pair."""
        truth = self.truth_of_query(query, features)
        for_first = self.confusion(query, features)
        return np.asarray(truth * for_first[:, 1] + (1 - truth) * for_first[:, 0])

    def tie(self, votes: Comparisons, features: Any = None) -> FloatArray | None:
        """Return for each vote, ties included, how likely a tie is; an unknown annotator has a usual threshold."""
        if "tie" not in self.fit.traits:
            return None
        query = VoteQuery.of(self.votes, votes, ties=True)
        logs = np.log(np.maximum(self.fit.traits["tie"], _SURELY_NOT))
        margin, _ = self.margins(query, features)
        threshold = np.append(logs, logs.mean())[query.annotator]
        return np.asarray(expit(threshold - np.logaddexp(margin / 2, -margin / 2) + np.log(2.0)))

    def truth_of_query(self, query: VoteQuery, features: Any) -> FloatArray:
        """Return P(first truly beats second), given the scores and the votes that were fitted on the same pair.

        The evidence of those votes is the posterior's log-odds minus the margin in it: if only features explain the
        truths, that is the margin of their part of the scores, not of the scores.
        """
        margin, variance = self.margins(query, features)
        if self.fit.settings.unit == "pair":
            at = np.unique(query.pair[query.pair >= 0])
            known, pairs = self.scores, self.votes.pairs
            base = known.scores if SCORERS[self.fit.scorer].effects else known.feature_scores
            assert base is not None
            odds = np.zeros(len(pairs.first))
            odds[at] = logit(np.clip(self.posterior[at], _SURELY_NOT, 1 - _SURELY_NOT))
            odds[at] -= base[pairs.first[at]] - base[pairs.second[at]]
            margin = margin + query.seen_from_first(odds, np.zeros(len(query)))
        return probit_adjusted_sigmoid(margin, variance)

    def confusion(self, query: VoteQuery, features: Any) -> FloatArray:
        """Return the probability of a vote for the first item, by the truth; for unknown annotators, the mean."""
        for_first = self.vote_tables[:, 1].reshape(len(self.votes.annotators), -1, 2)
        weight = np.maximum(self.votes.decided_votes, 0.0)
        mean = np.einsum("a,akz->kz", weight / max(float(weight.sum()), 1e-300), for_first)
        found = np.asarray(np.concatenate([for_first, mean[None]])[query.annotator, self.group(query, features)])
        known = (query.pair >= 0) & (query.annotator >= 0)
        if self.ease is not None and known.any():
            found[known] = self._on_pair(query, known)
        return found

    def _on_pair(self, query: VoteQuery, known: NDArray[np.bool_]) -> FloatArray:
        """Return the probability of votes for the first item, by the truth, given the other votes on the pair."""
        assert self.ease is not None
        noise, params = self.fit.fitted.problem.noise.decided(self.fit.fitted.params)
        tables = np.exp(noise.log_emission(params)).reshape(len(WEIGHTS), -1, 2, 2)[:, :, 1]
        ease = self.ease[query.pair[known]]
        turned = query.turned[known]
        ease[turned] = ease[turned][:, ::-1]
        return np.asarray(np.einsum("vtn,nvt->vt", ease, tables[:, query.annotator[known]]))

    def group(self, query: VoteQuery, features: Any) -> Any:
        """Return each vote's confusion group within its annotator: by side if the noise has sides."""
        two_sides = len(self.vote_tables) == 2 * len(self.votes.annotators)
        return query.swapped.astype(np.int64) if two_sides else 0


class CertainPredictor(LatentPredictor):
    """A vote is its own truth: Bradley–Terry."""

    def of_query(self, query: VoteQuery, features: Any) -> FloatArray:
        """Return the probability that the first item is better."""
        return self.truth_of_query(query, features)

    def says_left(
        self, better: FloatArray, who: NDArray[np.intp], flip: FloatArray, traits: dict[str, Any]
    ) -> FloatArray:
        """Return the probability that left is better."""
        return better


class DiscriminationPredictor(CertainPredictor):
    """Votes follow ``sigmoid(b · margin)`` with a discrimination for each annotator."""

    @property
    def _discrimination(self) -> FloatArray:
        return self.fit.traits["discrimination"]

    @cached_property
    def vote_tables(self) -> FloatArray:
        """Empty: there are no latent truths."""
        return np.empty((0, 2, 2))

    def of_query(self, query: VoteQuery, features: Any) -> FloatArray:
        """Return the probability of a vote for the first item; for an unknown annotator, of a typical one."""
        margin, variance = self.margins(query, features)
        sharpness = np.append(self._discrimination, 1.0)[query.annotator]
        return probit_adjusted_sigmoid(sharpness * margin, sharpness**2 * variance)

    def says_left(
        self, better: FloatArray, who: NDArray[np.intp], flip: FloatArray, traits: dict[str, Any]
    ) -> FloatArray:
        """Return the sigmoid of the annotator's discrimination times the log-odds."""
        return np.asarray(expit(self._discrimination[who] * logit(better)))


def _two_sides(left: Any, right: Any) -> tuple[NDArray[Any], NDArray[Any]]:
    a, b = as_ids(left), as_ids(right)
    if len(a) != len(b):
        raise ParameterError(f"left has {len(a)} items and right {len(b)}; expected the same number")
    return a, b
