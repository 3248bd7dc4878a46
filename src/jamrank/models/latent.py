"""What all models fitted by the EM loop share: a scorer and a noise, from start to results."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from scipy.special import expit, logit

from jamrank.data.comparisons import Comparisons
from jamrank.engines import Engine, MemoryEngine, PartedEngine, TiedEngine, make_engine
from jamrank.errors import InputError, NotConvergedWarning, ParameterError, TiesExcludedWarning, warn
from jamrank.fitting.effective_dof import effective_dof
from jamrank.fitting.em import Fit, Point, Problem, run
from jamrank.fitting.feature_scorers import Featured, choose_kernel, resolve_scorer
from jamrank.fitting.leave_one_out import leave_one_out
from jamrank.fitting.marginal_flips import MarginalFit, can_integrate, fit_marginal
from jamrank.fitting.prior import Prior, linear_variance, resolve_prior
from jamrank.fitting.prior_variances import Variances, estimate_variances, free_scores
from jamrank.fitting.progress import Progress
from jamrank.fitting.separation import warn_of_loose_items
from jamrank.fitting.warm_start import warm_start
from jamrank.inference.information import interval, whole_covariance
from jamrank.inference.response_bias import VoteChunk
from jamrank.io.out_of_core.parted import PartedComparisons, Votes
from jamrank.linalg.marginals import is_dense, score_variances
from jamrank.models.intervals import LatentIntervals
from jamrank.models.vote_query import VoteQuery, probit_adjusted_sigmoid
from jamrank.noise import Flip, Noise, Tied, TwoCoin
from jamrank.rows.rows import ROWS_BY
from jamrank.scorers import Features, KernelMap, LinearScorer, ObjectScorer, SumScorer, align_features
from jamrank.text import many
from jamrank.typing import FloatArray

__all__ = ["LatentModel"]


# Second summits belong to small data; on large data a second run would only cost time.
_FEW_ROWS, _FURTHER = 2000, 4.0
# Log-odds of a posterior that is 0 or 1 to all digits.
_SURELY_NOT = 1e-15
# With more visits of rows than that, intervals of weights take the flips as known.
_MOST_VISITS = 200_000_000
_NOISES = ("flip", "two-coin")
_TIES = ("leave out", "davidson")
_UNDECIDED = "no decided vote", "a ranking needs votes that prefer one item to another"


class LatentModel(LatentIntervals):
    """Base of the models that are a scorer and a noise.

    A subclass says which votes share one latent truth (``_likelihood_unit``) and, unless it takes ``noise`` as an
    argument, which noise its votes have (``_noise``).
    """

    _likelihood_unit: ClassVar[str] = "pair"
    _knows_annotators: ClassVar[bool] = True
    _log_odds: ClassVar[bool] = True
    _extra_state: ClassVar[tuple[str, ...]] = (
        *LatentIntervals._extra_state,
        "scorer_",
        "weight_variance_",
        "coef_interval_",
        "_kernel",
        "_kernel_weights",
    )

    scorer_: str
    weight_variance_: float | None
    _kernel: dict[str, Any] | None = None
    _kernel_weights: FloatArray | None = None
    scorer: str = "auto"
    kernel: str = "rbf"
    n_landmarks: int = 200
    loss: str = "logistic"
    flips: str = "joint"
    init: str = "share"
    n_init: int = 1
    max_iter: int
    tol: float
    random_state: Any = None
    verbose: bool

    def _noise(self, engine: Engine, prior: Prior | None) -> Noise:
        wrong, right = prior.flip_votes if prior else (0.0, 0.0)
        if self.noise == "two-coin":
            return TwoCoin(engine.vote_counts, wrong, right, prior.bias_variance if prior else None)
        return Flip(engine.vote_counts, wrong, right)

    def _fit(self, votes: Votes, features: Any) -> None:
        self._validate()
        with Progress(type(self).__name__, self.verbose, self.tol) as self._progress:
            self._fit_votes(votes, features)

    def _fit_votes(self, votes: Votes, features: Any) -> None:
        self.scorer_ = resolve_scorer(self.scorer, features is not None, type(self).__name__)
        self._kernel = self._kernel_weights = self.weight_variance_ = self._marginal = None
        prior = resolve_prior(self.prior)
        matrix = None if self.scorer_ == "objects" else self._measure(features, votes)
        self._leave_out_ties(votes)
        engine = self._engine(votes, self._row)
        if self.ties == "davidson" and votes.n_ties:
            engine = TiedEngine(engine, self._engine(votes, "tie"))
        if not engine.n_rows:
            raise InputError(*_UNDECIDED)
        noise = self._noise(engine, prior)
        if isinstance(engine, TiedEngine):
            noise = Tied(
                noise, engine.n_confusion_groups, engine.ties.vote_counts, prior.tie_variance if prior else None
            )
        if matrix is None:
            problem, fit = self._fit_objects(engine, noise, prior)
        else:
            problem, fit = self._fit_featured(votes, engine, noise, prior, matrix)
        self._finish(votes, problem, fit)

    def _engine(self, votes: Votes, row: str) -> Engine:
        if isinstance(votes, PartedComparisons) and self.loss == "hinge":
            raise ParameterError("loss is 'hinge', which needs the votes in memory; in parts only 'logistic'")
        if self._gold is None or row == "tie":
            return make_engine(self._choice, votes, row, self.n_jobs, self._progress.part)
        rows = ROWS_BY[row](self._gold.told, self.n_jobs)
        return MemoryEngine(rows.knowing(rows.n_confusion_groups // self._gold.told.n_annotators), self.n_jobs)

    @property
    def _row(self) -> str:
        return f"{self._likelihood_unit}-by-side" if self.noise == "two-coin" else self._likelihood_unit

    def _validate(self) -> None:
        if self.kernel not in ("rbf", "linear"):
            raise ParameterError(f"kernel is {self.kernel!r}; expected 'rbf' or 'linear'")
        if self.loss not in ("logistic", "hinge"):
            raise ParameterError(f"loss is {self.loss!r}; expected 'logistic' or 'hinge'")
        if self.noise not in _NOISES:
            raise ParameterError(f"noise is {self.noise!r}; expected {' or '.join(map(repr, _NOISES))}")
        if self.ties not in _TIES:
            raise ParameterError(f"ties is {self.ties!r}; expected {' or '.join(map(repr, _TIES))}")
        if self.ties == "davidson" and self.loss == "hinge":
            raise ParameterError("ties is 'davidson', which needs the logistic loss; loss is 'hinge'")
        if self.flips not in ("marginal", "joint"):
            raise ParameterError(f"flips is {self.flips!r}; expected 'marginal' or 'joint'")
        if self.init not in ("share", "random"):
            raise ParameterError(f"init is {self.init!r}; expected 'share' or 'random'")
        for name in ("n_init", "max_iter", "n_landmarks", "n_jobs"):
            value = getattr(self, name)
            if not (isinstance(value, (int, np.integer)) and value >= 1) and (name, value) != ("n_jobs", None):
                raise ParameterError(f"{name} is {value!r}; expected a whole number of at least 1")
        try:
            np.random.default_rng(self.random_state)
        except (TypeError, ValueError):
            raise ParameterError(
                f"random_state is {self.random_state!r}; expected None, a whole number or a Generator"
            ) from None
        if not (isinstance(self.tol, (int, float, np.number)) and self.tol > 0):
            raise ParameterError(f"tol is {self.tol!r}; expected a number above 0")

    def _leave_out_ties(self, votes: Votes) -> None:
        self.n_ties_ = votes.n_ties
        if votes.n_ties and not float(votes.annotator_weight.sum()) > votes.n_ties:
            raise InputError(*_UNDECIDED)
        if votes.n_ties and self.ties == "leave out":
            name, counted = type(self).__name__, many(votes.n_ties, "tie vote")
            told = f"{counted} left out: {name} has no place for ties"
            if "ties" in self._parameter_names():
                told = f"{counted} left out; {name}(ties='davidson') has a place for ties"
            warn(told, TiesExcludedWarning)

    def _measure(self, features: Any, votes: Votes) -> FloatArray:
        matrix, names = align_features(features, votes.items)
        self._features = Features.of(matrix, names)
        return self._features.standardise(matrix)

    # -- the scorers ----------------------------------------------------------------------------------------

    def _fit_featured(
        self, votes: Votes, engine: Engine, noise: Noise, prior: Prior | None, matrix: FloatArray
    ) -> tuple[Problem, Fit]:
        if self.scorer_ == "linear":
            return self._fit_linear(votes, engine, noise, prior, matrix)
        warn_of_loose_items(engine, votes.items)
        explained, _, objects = self.scorer_.partition("+")
        own_prior = prior
        if explained == "kernel":
            # A kernel is nothing but a prior: without one there are as many free weights as landmarks.
            own_prior = prior or Prior() if self.kernel == "rbf" else prior
            matrix = self._mapped(matrix, engine, noise, own_prior)
            if not objects and self.kernel == "linear":
                return self._fit_linear(votes, engine, noise, prior, matrix)
        featured = Featured(engine, noise, matrix, bool(objects), self.loss, self._begin)
        variances, start = featured.estimate(own_prior)
        problem = featured.problem(variances)
        fit = self._best_run(problem, start)
        self.weight_variance_ = variances[0]
        if objects:
            self._finish_sum(problem, variances, fit)
        else:
            self._finish_linear(problem, prior, fit)
        return problem, fit

    def _mapped(self, matrix: FloatArray, engine: Engine, noise: Noise, prior: Prior | None) -> FloatArray:
        """Return what the kernel makes of the features, and keep how: unseen items are mapped in the same way."""

        def problems(mapped: FloatArray) -> Featured:
            return Featured(engine, noise, mapped, False, self.loss, self._begin)

        kernel = choose_kernel(matrix, self.kernel, self.n_landmarks, problems, prior)
        self._kernel = vars(kernel).copy()
        return kernel(matrix)

    def _fit_linear(
        self,
        votes: Votes,
        engine: Engine,
        noise: Noise,
        prior: Prior | None,
        matrix: FloatArray,
    ) -> tuple[Problem, Fit]:
        problem = self._linear_problem(engine, noise, prior, matrix)
        fit = self._best_run(problem)
        self._finish_linear(problem, prior, fit)
        return problem, fit

    def _linear_problem(self, engine: Engine, noise: Noise, prior: Prior | None, matrix: FloatArray) -> Problem:
        self.weight_variance_ = linear_variance(prior)
        return Problem(engine, LinearScorer(matrix, self.weight_variance_), noise, self.loss)

    def _finish_linear(self, problem: Problem, prior: Prior | None, fit: Fit) -> None:
        """Take weights from the fit, then scores from votes and features together."""
        point = fit.point
        self._keep_weights(point.theta)
        self.feature_scores_ = point.scores
        self.score_variance_, refined = free_scores(
            problem.engine, problem.noise, point, prior.score_variance if prior else None
        )
        self.scores_ = refined.point.scores
        scorer = ObjectScorer(len(point.scores), self.score_variance_, point.scores)
        self._refined = Problem(problem.engine, scorer, problem.noise), refined.point
        self.converged_ = refined.converged
        self._warn_unless(refined.converged, "item scores that had not settled; flips and posterior have")

    def _finish_sum(self, problem: Problem, variances: Variances, fit: Fit) -> None:
        """Take weights, and scores with the effects of the items, from one fit."""
        assert isinstance(problem.scorer, SumScorer)
        weights, _ = problem.scorer.split(fit.point.theta)
        self._keep_weights(weights)
        self.feature_scores_ = problem.scorer.features.scores(weights)
        self.score_variance_, self.scores_ = variances[1], fit.point.scores
        self._refined = problem, fit.point

    def _keep_weights(self, weights: FloatArray) -> None:
        assert self._features is not None
        if self._kernel is None:
            self.coef_ = self._features.in_user_units(weights)
        else:
            self._kernel_weights = weights

    def _fit_objects(self, engine: Engine, noise: Noise, prior: Prior | None) -> tuple[Problem, Fit]:
        def problem(variances: Variances) -> Problem:
            return Problem(engine, ObjectScorer(engine.n_items, variances[0]), noise, self.loss)

        if prior is not None:
            warn_of_loose_items(engine, self.items_)
        if prior is not None and self._integrates(engine, noise):
            return self._fit_marginal(engine, noise, prior)
        variances: Variances = (prior.score_variance if prior else None,)
        start = None
        if prior is not None and variances[0] is None:
            guess = 3.0 if self._start is None else self._start.score_variance_ or 3.0
            variances, start = estimate_variances(problem, self._begin(problem((guess,))), (guess,))
        final = problem(variances)
        fit = self._best_run(final, start)
        (self.score_variance_,) = variances
        self.scores_ = fit.point.scores - fit.point.scores.mean()
        self._refined = final, fit.point
        return final, fit

    def _integrates(self, engine: Engine, noise: Noise) -> bool:
        """Tell whether flips are fitted with the scores integrated out."""
        return (
            self.flips == "marginal" and self.loss == "logistic" and isinstance(noise, Flip) and can_integrate(engine)
        )

    def _fit_marginal(self, engine: Engine, noise: Noise, prior: Prior) -> tuple[Problem, Fit]:
        """Fit flips with the scores integrated out; scores are the means that go with them."""
        estimate = prior.score_variance is None
        guess = prior.score_variance or 1.0
        if estimate and self._start is not None:
            guess = self._start.score_variance_ or guess
        best: MarginalFit | None = None
        for begin in self._starts(Problem(engine, ObjectScorer(engine.n_items, guess), noise), None):
            start = begin()
            found = self._best_sign(engine, noise, start.theta, start.params, guess, estimate, prior.pools_flips)
            if best is None or found.fit.objectives[-1] > best.fit.objectives[-1]:
                best = found
        assert best is not None
        self._warn_unless(best.fit.converged, _why(best.fit, self.max_iter))
        final = Problem(engine, ObjectScorer(engine.n_items, best.variance), best.noise)
        point = final.evaluate(best.fit.point.theta, best.fit.point.params)
        self.score_variance_, self._marginal = best.variance, best
        self.scores_ = point.scores - point.scores.mean()
        self._refined = final, point
        return final, Fit(point, best.fit.objectives, best.fit.converged)

    def _best_sign(
        self,
        engine: Engine,
        noise: Noise,
        theta: FloatArray,
        params: FloatArray,
        variance: float,
        estimate: bool,
        pool: bool,
    ) -> MarginalFit:
        """Return the fit from a start or from its mirror image: known truths decide, else orientation."""

        def run_from(theta: FloatArray, params: FloatArray) -> MarginalFit:
            return fit_marginal(
                engine,
                noise,
                theta,
                params,
                variance,
                estimate=estimate,
                pool=pool,
                max_iter=self.max_iter,
                tol=self.tol,
                progress=self._progress,
            )

        found = run_from(theta, params)
        ended = found.fit.point
        if self._gold is None and found.noise.orientation(ended.params) >= 0:
            return found
        other = run_from(-ended.theta, noise.sign_flipped(ended.params))
        if self._gold is None or other.fit.objectives[-1] > found.fit.objectives[-1]:
            return other
        return found

    # -- starts and the end ---------------------------------------------------------------------------------

    def _best_run(self, problem: Problem, start: Point | None = None) -> Fit:
        """Run the loop from every start and keep the best end, its sign settled.

        With ``start``, a point of a similar problem takes the place of the start from the vote shares.
        """
        best: Fit | None = None
        for begin in self._starts(problem, start):
            fit = self._settle_sign(problem, self._try_rescaled_start(problem, self._run(problem, begin())))
            if best is None or fit.objectives[-1] > best.objectives[-1]:
                best = fit
        assert best is not None
        self._warn_unless(best.converged, _why(best, self.max_iter))
        return best

    def _begin(self, problem: Problem) -> Point:
        """Return where a fit begins: at the vote shares or an earlier model, on the side of the known truths."""
        point = problem.evaluate(*(problem.start() if self._start is None else warm_start(problem, self)))
        if self._gold is None:
            return point
        other = problem.evaluate(-point.theta, problem.noise.sign_flipped(point.params))
        return other if other.objective > point.objective else point

    def _settle_sign(self, problem: Problem, fit: Fit) -> Fit:
        """Return the fit or its mirror image, which fits the votes as well: known truths decide, else good will."""
        if self._gold is None and problem.noise.orientation(fit.point.params) >= 0:
            return fit
        sign_flipped = problem.noise.sign_flipped(fit.point.params)
        other = self._run(problem, problem.evaluate(-fit.point.theta, sign_flipped))
        if self._gold is None or other.objectives[-1] > fit.objectives[-1]:
            return other
        return fit

    def _try_rescaled_start(self, problem: Problem, fit: Fit) -> Fit:
        """Return a better summit where one lies further out, which happens with a handful of votes.

        There the scores are larger and the annotators blamed more, or the other way round.
        """
        point = fit.point
        if problem.engine.n_rows > _FEW_ROWS or not len(point.params):
            return fit
        other = self._run(problem, problem.evaluate(_FURTHER * point.theta, point.params))
        better = other.objectives[-1] - fit.objectives[-1] > 1e-6
        return other if better and other.converged else fit

    def _warn_unless(self, converged: bool, stopped_at: str) -> None:
        if not converged:
            warn(f"{type(self).__name__} stopped at {stopped_at}", NotConvergedWarning)

    def _run(self, problem: Problem, start: Point) -> Fit:
        return run(problem, start, max_iter=self.max_iter, tol=self.tol, progress=self._progress)

    def _starts(self, problem: Problem, start: Point | None) -> list[Callable[[], Point]]:
        rng = np.random.default_rng(self.random_state)

        def from_share() -> Point:
            if start is not None:
                return problem.with_prior(start)
            return self._begin(problem)

        def at_random() -> Point:
            return problem.evaluate(rng.standard_normal(problem.scorer.n_params), problem.noise.random(rng))

        if self.init == "random":
            return [at_random] * self.n_init
        return [from_share, *[at_random] * (self.n_init - 1)]

    def _finish(self, votes: Votes, problem: Problem, fit: Fit) -> None:
        point = fit.point
        self.log_likelihoods_ = np.array(fit.objectives[1:] or fit.objectives)
        self.log_likelihood_ = point.expectation.value if self._marginal is None else self._marginal.log_likelihood
        self.flip_ = self._flips(votes, point)
        self._fitted = problem, point
        self._finish_annotators(problem.noise, point.params)
        self.n_iter_, self.n_passes_ = fit.n_iter, problem.engine.passes
        self.converged_ = self.converged_ and fit.converged

    def _flips(self, votes: Votes, point: Point) -> FloatArray:
        return point.rates[: len(self._annotators)]

    def _estimate_posterior(self) -> FloatArray:
        _, point = self._fitted
        parts = [self._posterior(part, engine, point) for part, engine in self._parts()]
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    def _parts(self) -> Iterator[tuple[Comparisons, MemoryEngine]]:
        """Yield the votes, and what passes over them."""
        engine = self._fitted[0].engine
        engine = engine.decided if isinstance(engine, TiedEngine) else engine
        if isinstance(engine, MemoryEngine) and isinstance(self._votes, Comparisons):
            yield self._votes, engine
        elif isinstance(engine, PartedEngine):
            yield from engine.parts()

    def _posterior(self, votes: Comparisons, engine: MemoryEngine, point: Point) -> FloatArray:
        """Return the posterior of every pair; one without decided votes gets what its scores say."""
        of_rows = engine.posterior(point.scores, self._tables(point.params))
        if len(of_rows) == votes.n_pairs:
            return of_rows
        posterior = expit(point.scores[votes.pair_first] - point.scores[votes.pair_second])
        posterior[engine.rows.pair] = of_rows
        return np.asarray(posterior)

    def _estimate_recommended(self) -> str:
        """Ask whether votes are better foretold if the better score is always truly better."""
        problem, point = self._fitted
        fitted_together = self._refined[1] is point
        if not fitted_together or self._likelihood_unit != "pair" or not isinstance(problem.engine, MemoryEngine):
            return "posterior"
        if not problem.scorer.precision[-1:].any():
            return "posterior"
        return leave_one_out(problem, point).recommended

    def _explained(self, matrix: FloatArray) -> FloatArray:
        """Return what the features say of unseen items: through the kernel, where there is one."""
        if self._kernel is None:
            return super()._explained(matrix)
        assert self._features is not None and self._kernel_weights is not None
        mapped = KernelMap(**self._kernel)(self._features.standardise(matrix))
        return np.asarray(np.einsum("if,f->i", mapped, self._kernel_weights))

    def _chance(self) -> FloatArray:
        return np.asarray(expit(self.scores_[self._pair_first] - self.scores_[self._pair_second]))

    def _truth_of_votes(self, chunk: VoteChunk) -> FloatArray:
        return self.posterior_[chunk.pair]

    def _loose(self) -> FloatArray | None:
        """Return how scores move with what is not known of the weights."""
        scorer, (problem, point) = self._fitted[0].scorer, self._refined
        if isinstance(scorer, LinearScorer):
            scorer = SumScorer(scorer, ObjectScorer(len(self.scores_), self.score_variance_))
        return (
            effective_dof(problem.engine, scorer, point.expectation).loose if isinstance(scorer, SumScorer) else None
        )

    @cached_property
    def coef_interval_(self) -> FloatArray | None:
        """95 % interval of each weight of ``coef_``, from low to high; None without, and for the hinge loss."""
        self._require_fit()
        if self.coef_ is None or self._features is None or self.loss == "hinge":
            return None
        problem, point = self._fitted
        covariance = whole_covariance(problem, point, _MOST_VISITS)
        if covariance is None:
            variance = effective_dof(problem.engine, problem.scorer, point.expectation).weights
        else:
            variance = np.diag(covariance)[: len(self.coef_)]
        error = self._features.in_user_units(np.sqrt(variance))
        return np.where(error[:, None] > 0, interval(self.coef_, error**2), self.coef_[:, None])

    # -- how likely a vote is ----------------------------------------------------------------------------------

    def _vote_proba(self, query: VoteQuery, features: Any) -> FloatArray:
        """Return the probability of a vote for the first item, summed over the truth of its pair."""
        truth = self._truth_proba(query, features)
        for_first = self._confusion_groups(query, features)
        return np.asarray(truth * for_first[:, 1] + (1 - truth) * for_first[:, 0])

    def _truth_proba(self, query: VoteQuery, features: Any) -> FloatArray:
        """Return P(first truly beats second), given the scores and the votes that were fitted on the same pair.

        What those votes say is the posterior's log-odds less the margin that went into it: where features explain
        the truths alone that was theirs, and the scores know more.
        """
        margin, variance = self._margins(query, features)
        if self._likelihood_unit == "pair":
            at = np.unique(query.pair[query.pair >= 0])
            base = self.scores_ if "objects" in self.scorer_ else self.feature_scores_
            assert base is not None
            odds = np.zeros(len(self._pair_first))
            odds[at] = logit(np.clip(self.posterior_[at], _SURELY_NOT, 1 - _SURELY_NOT))
            odds[at] -= base[self._pair_first[at]] - base[self._pair_second[at]]
            margin = margin + query.seen_from_first(odds, np.zeros(len(query)))
        return probit_adjusted_sigmoid(margin, variance)

    def _confusion_groups(self, query: VoteQuery, features: Any) -> FloatArray:
        """Return the probability of a vote for the first item, by the truth; unknown annotators are the mean one."""
        log_emission = self._vote_tables[:, 1].reshape(len(self._annotators), -1, 2)
        weight = np.maximum(self._decided_votes, 0.0)
        mean = np.einsum("a,akz->kz", weight / max(float(weight.sum()), 1e-300), log_emission)
        return np.asarray(np.concatenate([log_emission, mean[None]])[query.annotator, self._kinds(query, features)])

    def _kinds(self, query: VoteQuery, features: Any) -> Any:
        """Return which of an annotator's coins decides each vote: one for each side where the noise knows sides."""
        return query.swapped.astype(np.int64) if self.noise == "two-coin" else 0

    def _estimate_vote_tables(self) -> FloatArray:
        return np.asarray(np.exp(self._tables(self._fitted[1].params)))

    def _tables(self, params: FloatArray) -> FloatArray:
        """Return the log-likelihoods of decided votes, by coin."""
        noise = self._fitted[0].noise
        return (
            noise.noise.log_emission(noise.split(params)[0])
            if isinstance(noise, Tied)
            else noise.log_emission(params)
        )

    def _estimate_score_variances(self) -> FloatArray:
        problem, point = self._refined
        engine = problem.engine
        links = isinstance(engine, MemoryEngine) and not is_dense(engine.n_links, engine.n_items)
        information = engine.observed(point.scores, problem.noise.log_emission(point.params), links)
        precision = 0.0 if self.score_variance_ is None else 1.0 / self.score_variance_
        return score_variances(information[0], precision, information[1])

    def _estimate_link(self) -> float:
        return 1.0


def _why(fit: Fit, max_iter: int) -> str:
    if fit.n_iter >= max_iter:
        return f"max_iter={max_iter} before reaching tol; raise max_iter"
    return "scores that grow without end and gain nothing, as where items only win or only lose; use a prior"
