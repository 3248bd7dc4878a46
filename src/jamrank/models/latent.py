"""What all models fitted by the EM loop share: a scorer and a noise, from start to results."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.special import expit

from jamrank.comparisons import Comparisons
from jamrank.engines import DiskEngine, Engine, MemoryEngine
from jamrank.errors import (
    InputError,
    NotConvergedWarning,
    ParameterError,
    TiesExcludedWarning,
    UncertaintyWarning,
    warn,
)
from jamrank.io.store import StoredComparisons, Votes
from jamrank.models.base import RankingModel
from jamrank.models.em import Fit, Point, Problem, run
from jamrank.models.posterior import Posterior, can_draw
from jamrank.models.prior import Prior, resolve_prior
from jamrank.models.progress import Progress
from jamrank.models.sandwich import pulls
from jamrank.models.uncertain import N_DRAWS
from jamrank.models.variance import estimate_variance, free_scores
from jamrank.noise import Measured, Noise, NoNoise
from jamrank.ranking import Uncertainty, from_information, laplace, needs_links, normal_draws, sandwich
from jamrank.ranking.joint import factored, is_small, joint_information
from jamrank.rows import ROWS_BY
from jamrank.scorers import Features, LinearScorer, ObjectScorer, align_features
from jamrank.text import many

__all__ = ["LatentModel"]

Doubles = NDArray[np.float64]


# Second summits belong to small data; on large data a second run would only cost time.
_FEW_ROWS, _FURTHER = 2000, 4.0
_UNDECIDED = "no decided vote", "a ranking needs votes that prefer one item to another"


class LatentModel(RankingModel):
    """Base of the models that are a scorer and a noise.

    A subclass says what a row is (``_rows_by``) and which noise distorts its votes (``_noise``).
    """

    _rows_by: ClassVar[str] = "pair"

    prior: Prior | str | None
    loss: str = "logistic"
    init: str = "share"
    n_init: int = 1
    max_iter: int
    tol: float
    random_state: Any = None
    n_jobs: int | None
    verbose: bool

    def _noise(self, engine: Engine, prior: Prior | None) -> Noise:
        raise NotImplementedError

    def _fit(self, votes: Votes, features: Any) -> None:
        self._validate()
        with Progress(type(self).__name__, self.verbose, self.tol) as self._progress:
            self._fit_votes(votes, features)

    def _fit_votes(self, votes: Votes, features: Any) -> None:
        prior = resolve_prior(self.prior)
        matrix = None if features is None else self._measure(features, votes)
        self._leave_out_ties(votes)
        engine = self._engine(votes)
        if not engine.n_rows:
            raise InputError(*_UNDECIDED)
        noise = self._noise(engine, prior)
        if matrix is None:
            problem, fit = self._fit_objects(engine, noise, prior)
        else:
            problem, fit = self._fit_linear(votes, engine, noise, prior, matrix)
        self._finish(votes, problem, fit)

    def _engine(self, votes: Votes) -> Engine:
        if isinstance(votes, StoredComparisons):
            if self.loss == "hinge":
                raise ParameterError("loss is 'hinge', which needs the votes in memory; from disk only 'logistic'")
            return DiskEngine(votes, self._rows_by, self.n_jobs, self._progress.part)
        return MemoryEngine(ROWS_BY[self._rows_by](votes, self.n_jobs), self.n_jobs)

    def _validate(self) -> None:
        if self.loss not in ("logistic", "hinge"):
            raise ParameterError(f"loss is {self.loss!r}; expected 'logistic' or 'hinge'")
        if self.init not in ("share", "random"):
            raise ParameterError(f"init is {self.init!r}; expected 'share' or 'random'")
        for name in ("n_init", "max_iter", "n_jobs"):
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
        if votes.n_ties:
            told = f"{many(votes.n_ties, 'tie vote')} left out: {type(self).__name__} has no place for ties"
            warn(told, TiesExcludedWarning)

    def _measure(self, features: Any, votes: Votes) -> Doubles:
        matrix, names = align_features(features, votes.items)
        self._features = Features.of(matrix, names)
        return self._features.standardise(matrix)

    # -- the two scorers ------------------------------------------------------------------------------------

    def _fit_linear(
        self,
        votes: Votes,
        engine: Engine,
        noise: Noise,
        prior: Prior | None,
        matrix: Doubles,
    ) -> tuple[Problem, Fit]:
        problem = self._linear_problem(engine, noise, prior, matrix)
        fit = self._best_run(problem)
        self._finish_linear(problem, prior, fit)
        return problem, fit

    def _linear_problem(self, engine: Engine, noise: Noise, prior: Prior | None, matrix: Doubles) -> Problem:
        scorer = LinearScorer(matrix, prior.weight_variance if prior else None)
        return Problem(engine, scorer, noise, self.loss)

    def _finish_linear(self, problem: Problem, prior: Prior | None, fit: Fit) -> None:
        """Take weights from the fit, then scores from votes and features together."""
        assert self._features is not None
        point = fit.point
        self.coef_ = self._features.in_user_units(point.theta)
        self.feature_scores_ = point.scores
        self.score_variance_, refined = free_scores(
            problem.engine, problem.noise, point, prior.score_variance if prior else None
        )
        self.scores_ = refined.point.scores
        self._refined = problem, refined.point
        self.converged_ = refined.converged
        self._warn_unless(refined.converged, "item scores that had not settled; flips and posterior have")

    def _fit_objects(self, engine: Engine, noise: Noise, prior: Prior | None) -> tuple[Problem, Fit]:
        def problem(variance: float | None) -> Problem:
            return Problem(engine, ObjectScorer(engine.n_items, variance), noise, self.loss)

        variance = prior.score_variance if prior else None
        start = None
        if prior is not None and variance is None:
            first = problem(3.0)
            begin = first.evaluate(*first.start())
            variance, start = estimate_variance(problem, begin)
        fit = self._best_run(problem(variance), start)
        self.score_variance_ = variance
        self.scores_ = fit.point.scores - fit.point.scores.mean()
        self._refined = problem(variance), fit.point
        return problem(variance), fit

    # -- starts and the end ---------------------------------------------------------------------------------

    def _best_run(self, problem: Problem, start: Point | None = None) -> Fit:
        """Run the loop from every start and keep the best end, its sign settled.

        With ``start``, a point of a similar problem takes the place of the start from the vote shares.
        """
        best: Fit | None = None
        for begin in self._starts(problem, start):
            fit = self._look_further(problem, self._run(problem, begin()))
            if problem.noise.goodwill(fit.point.params) < 0:
                # The mirror image fits the votes as well and takes them, as a whole, for well meant.
                mirrored = problem.noise.mirrored(fit.point.params)
                fit = self._run(problem, problem.evaluate(-fit.point.theta, mirrored))
            if best is None or fit.objectives[-1] > best.objectives[-1]:
                best = fit
        assert best is not None
        self._warn_unless(best.converged, _why(best, self.max_iter))
        return best

    def _look_further(self, problem: Problem, fit: Fit) -> Fit:
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
                return problem.reassess(start)
            return problem.evaluate(*problem.start())

        def at_random() -> Point:
            return problem.evaluate(rng.standard_normal(problem.scorer.n_params), problem.noise.random(rng))

        if self.init == "random":
            return [at_random] * self.n_init
        return [from_share, *[at_random] * (self.n_init - 1)]

    def _finish(self, votes: Votes, problem: Problem, fit: Fit) -> None:
        point = fit.point
        self.log_likelihoods_ = np.array(fit.objectives[1:] or fit.objectives)
        self.log_likelihood_ = point.at.value
        self.flip_ = self._flips(votes, point)
        self._fitted = problem, point
        self.n_iter_, self.n_passes_ = fit.n_iter, problem.engine.passes
        self.converged_ = self.converged_ and fit.converged

    def _flips(self, votes: Votes, point: Point) -> Doubles:
        return point.rates

    def _estimate_posterior(self) -> Doubles:
        _, point = self._fitted
        parts = [self._posterior(part, engine, point) for part, engine in self._parts()]
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    def _parts(self) -> Iterator[tuple[Comparisons, MemoryEngine]]:
        """Yield the votes, and what passes over them."""
        engine = self._fitted[0].engine
        if isinstance(engine, DiskEngine):
            yield from engine.parts()
        elif isinstance(engine, MemoryEngine) and isinstance(self._votes, Comparisons):
            yield self._votes, engine

    def _posterior(self, votes: Comparisons, engine: MemoryEngine, point: Point) -> Doubles:
        """Return the posterior of every pair; one without decided votes gets what its scores say."""
        of_rows = engine.posterior(point.scores, self._fitted[0].noise.tables(point.params))
        if len(of_rows) == votes.n_pairs:
            return of_rows
        posterior = expit(point.scores[votes.pair_first] - point.scores[votes.pair_second])
        posterior[engine.rows.pair] = of_rows
        return np.asarray(posterior)

    # -- how sure -------------------------------------------------------------------------------------------

    @cached_property
    def _drawable(self) -> Posterior | None:
        """What draws come from; None where the normal approximation has to do."""
        if "_fitted" not in vars(self):
            return None
        problem, point = self._fitted
        prior, measured = resolve_prior(self.prior), isinstance(problem.noise, Measured) or not len(point.params)
        free = isinstance(problem.scorer, ObjectScorer) and problem.loss == "logistic" and prior is not None
        if not (free and measured and can_draw(problem.engine, len(point.params))):
            return None
        assert prior is not None
        return Posterior(problem.engine, problem.noise, point.theta, point.params, prior.score_variance)

    @cached_property
    def _draws(self) -> tuple[Doubles, Doubles]:
        assert self._drawable is not None
        return self._drawable.draw(N_DRAWS)

    def _draw_scores(self, n: int, random_state: Any) -> Doubles:
        self._require_votes()
        if "_fitted" not in vars(self):
            return super()._draw_scores(n, random_state)
        if self._drawable is not None:
            usual = n <= N_DRAWS and isinstance(random_state, int) and random_state == 0
            drawn = self._draws[0][:n] if usual else self._drawable.draw(n, random_state)[0]
            return np.asarray(self.scores_.mean() + drawn)
        information = self._score_information
        if information is None:
            return super()._draw_scores(n, random_state)
        return normal_draws(self.scores_, information, n, random_state)[1]

    def _estimate_uncertainty(self) -> Uncertainty:
        """Draw from the posterior where votes are few enough; worked out only when it is asked for."""
        if self._drawable is not None:
            return Uncertainty.of_draws(self.scores_, self.scores_.mean() + self._draws[0], "posterior")
        return self._information_uncertainty()

    def _information_uncertainty(self) -> Uncertainty:
        self._require_votes()
        if "_fitted" not in vars(self):
            return super()._information_uncertainty()
        if self._score_information is not None:
            found = from_information(self.scores_, self._score_information)
        else:
            problem, point = self._refined
            engine = problem.engine
            links = needs_links(engine.n_links, engine.n_items)
            information = engine.observed(point.scores, problem.noise.tables(point.params), links)
            precision = 0.0 if self.score_variance_ is None else 1.0 / self.score_variance_
            found = laplace(self.scores_, *information, precision)
        if found.raised:
            warn(
                "the information on the scores is not positive definite, as where votes are very few: "
                f"{found.raised:.2g} was added to its diagonal, and intervals are only a rough guide",
                UncertaintyWarning,
            )
        return found

    @cached_property
    def _score_information(self) -> Doubles | None:
        """The observed information on scores and noise together; None where there are too many."""
        problem, point = self._refined
        precision = 0.0 if self.score_variance_ is None else 1.0 / self.score_variance_
        return self._joint(problem.engine, self._fitted[0].noise, point, precision)[0]

    @staticmethod
    def _joint(
        engine: Engine, noise: Noise, point: Point, precision: float | Doubles, features: Doubles | None = None
    ) -> tuple[Doubles | None, NDArray[np.bool_]]:
        """Return the joint information, and which parameters of the noise are in it.

        A parameter of which nothing is known, such as a flip of 0 without a prior, is taken as it is.
        """
        params, measured = point.params, isinstance(noise, Measured)
        known = noise.known(params) if isinstance(noise, Measured) else np.zeros(len(params))
        inside = known > 1e-6 * max(float(known.max(initial=0.0)), 1e-300)
        if not is_small(engine.n_items, int(inside.sum())) or (len(params) and not measured):
            return None, inside
        at = engine.information(point.scores, noise.tables(params))
        empty = csr_array((2 * engine.n_coins, len(params)))
        leaning = noise.leaning(params) if isinstance(noise, Measured) else empty
        return joint_information(at, known[inside], leaning[:, np.flatnonzero(inside)], precision, features), inside

    def _estimate_flip_information(self) -> Doubles:
        """Return the information on each annotator's flip: of the known truths, less what scores and truths hide."""
        problem, point = self._fitted
        features = problem.scorer.matrix if isinstance(problem.scorer, LinearScorer) else None
        joint, inside = self._joint(problem.engine, problem.noise, point, problem.scorer.precision, features)
        if joint is not None:
            n_theta = len(point.theta)
            if features is None:
                joint[:n_theta, :n_theta] += 1.0 / n_theta
            spread = factored(joint).spread()[n_theta:]
            information = np.zeros(len(point.params))
            information[inside] = 1.0 / (spread**2).sum(axis=1)
        else:
            hidden = problem.engine.hidden(point.scores, problem.noise.tables(point.params)).sum(axis=1)
            rate = point.rates
            information = problem.engine.cast.sum(axis=1) * rate * (1 - rate) - hidden
        return np.asarray(np.maximum(information.reshape(len(self._annotators), -1).sum(axis=1), 0.0))

    def _estimate_flip_bounds(self) -> Doubles:
        if self._drawable is None or len(self._drawable.params) != len(self._annotators):
            return super()._estimate_flip_bounds()
        noise = self._drawable.noise
        rates = np.stack([noise.rates(params) for params in self._draws[1]])
        low, high = np.quantile(rates, [0.025, 0.975], axis=0, method="weibull")
        return np.stack([np.minimum(low, self.flip_), np.maximum(high, self.flip_)])

    def _sandwich_uncertainty(self) -> Uncertainty:
        """Take the spread between annotators for that of the gradient."""
        self._require_votes()
        if "_fitted" not in vars(self):
            return super()._sandwich_uncertainty()
        information, votes = self._score_information, self._votes
        if information is None or not isinstance(votes, Comparisons) or self._features is not None:
            raise ParameterError("a sandwich needs votes in memory, no features, and not too many items")
        noise, point = self._fitted[0].noise, self._fitted[1]
        flips = len(point.params) > 0
        rows = ROWS_BY["vote" if not flips else self._rows_by](votes, self.n_jobs)
        tables = noise.tables(point.params) if flips else NoNoise(rows.n_coins).tables(point.params)
        pull = pulls(MemoryEngine(rows, self.n_jobs), point.scores, tables, point.rates if flips else np.empty(0))
        return sandwich(self.scores_, information, pull)


def _why(fit: Fit, max_iter: int) -> str:
    if fit.n_iter >= max_iter:
        return f"max_iter={max_iter} before reaching tol; raise max_iter"
    return "scores that grow without end and gain nothing, as where items only win or only lose; use a prior"
