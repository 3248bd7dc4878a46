"""One fit of a scorer and a noise: from votes and settings to a :class:`LatentFit`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, Any, TypeGuard, cast

import numpy as np

from jamrank.data.comparisons import Comparisons
from jamrank.data.gold import KnownTruths
from jamrank.engines import Choice, Engine
from jamrank.errors import (
    GradesIgnoredWarning,
    InputError,
    warn,
)
from jamrank.fitting.dense import fit_dense
from jamrank.fitting.em import Fit, Point, Problem, run
from jamrank.fitting.feature_scorers import Featured, choose_kernel, resolve_scorer
from jamrank.fitting.fit_warnings import UNDECIDED, has_grades, warn_of_ties, warn_unless, why_unconverged
from jamrank.fitting.latent_fit import LatentFit
from jamrank.fitting.marginal_flips import (
    MANY_ROWS,
    MarginalFit,
    can_integrate,
    fit_marginal,
    integration_matters,
)
from jamrank.fitting.prior import Prior, linear_variance
from jamrank.fitting.prior_variances import Variances, estimate_variances, free_scores
from jamrank.fitting.progress import Progress
from jamrank.fitting.separation import warn_of_loose_items
from jamrank.fitting.settings import FitSettings
from jamrank.fitting.shrinkage import begun, is_crowd, shrink
from jamrank.fitting.solution import EngineSource, NoiseState, ScorerState, Solution
from jamrank.fitting.starts import Start, best_maximum
from jamrank.fitting.tie_use import resolve_ties
from jamrank.fitting.warm_start import warm_start
from jamrank.io.out_of_core.parted import Votes
from jamrank.noise import NOISES, Flip, Noise
from jamrank.scorers import SCORERS, Features, LinearScorer, SumScorer, align_features
from jamrank.typing import FloatArray

if TYPE_CHECKING:
    from jamrank.inference.result import RankingResult

_FIRST_VARIANCE = 3.0


@dataclass(frozen=True)
class Outcome:
    """The end of the EM loop, and the free scores computed from it."""

    problem: Problem
    fit: Fit
    scorer: ScorerState
    noise: NoiseState
    refined: tuple[ScorerState, Problem, Point]
    scores: FloatArray
    feature_scores: FloatArray | None = None
    weights: FloatArray | None = None
    converged: bool = True
    marginal: MarginalFit | None = None


class LatentFitter:
    """Fits one model once.

    choice: The engine.
    gold: Pairs of known truth.
    start: An earlier result to start from.
    """

    def __init__(
        self,
        settings: FitSettings,
        choice: Choice,
        votes: Votes,
        gold: KnownTruths | None,
        start: RankingResult | None,
    ) -> None:
        self.settings, self.choice, self.votes, self.gold, self.start = settings, choice, votes, gold, start
        self.prior = settings.prior
        self.features: Features | None = None
        self.kernel: Any = None

    def fit(self, features: Any) -> LatentFit:
        """Run the fit."""
        settings = self.settings
        with Progress(settings.model, settings.verbose, settings.tol) as self.progress:
            self.scorer = self.resolve_scorer(features is not None)
            matrix = self.standardised(features) if SCORERS[self.scorer].features else None
            self.ties = resolve_ties(settings, self.votes)
            warn_of_ties(self.votes, settings, self.ties)
            self.source = self.engine_source()
            engine = self.source.engine
            if not engine.n_rows:
                raise InputError(*UNDECIDED)
            self.noise_state = NoiseState(settings.noise, self.prior, self.ties)
            noise = self.noise_state.build(engine)
            if matrix is not None:
                outcome = self.fit_features(engine, noise, matrix)
            else:
                outcome = self.fit_objects(engine, noise)
        return self.finish(outcome)

    def resolve_scorer(self, has_features: bool) -> str:
        """Return the name of the scorer."""
        if self.settings.scorer in SCORERS and not SCORERS[self.settings.scorer].selectable:
            return self.settings.scorer
        return resolve_scorer(self.settings.scorer, has_features, self.settings.model)

    def standardised(self, features: Any) -> FloatArray:
        """Return the standardised features of the items."""
        matrix, names = align_features(features, self.votes.items)
        self.features = Features.of(matrix, names)
        return self.features.standardise(matrix)

    def engine_source(self) -> EngineSource:
        """Return the source of the engine, with the engine built."""
        settings, votes = self.settings, self.votes
        self.choice = settings.engine_for(isinstance(votes, Comparisons), self.choice)
        gold = None if self.gold is None else self.gold.with_truths
        graded = settings.models_ties and settings.loss == "logistic" and has_grades(votes)
        if has_grades(votes) and not graded:
            warn(f"grades of votes are not used: {settings.model} uses only the winners", GradesIgnoredWarning)
        source = EngineSource(votes, gold, settings.rows, self.ties.mode, self.choice, settings.n_jobs, graded=graded)
        return source.with_engine(source.build(self.progress.part))

    # -- scorers ----------------------------------------------------------------------------------------------

    def fit_objects(self, engine: Engine, noise: Noise) -> Outcome:
        """Fit a free score for each item."""
        loss, prior = self.settings.loss, self.prior

        def state(variances: Variances) -> ScorerState:
            return ScorerState(self.scorer, score_variance=variances[0])

        def problem(variances: Variances) -> Problem:
            return Problem(engine, state(variances).build(engine.n_items), noise, loss)

        if not SCORERS[self.scorer].effects:
            final = problem((None,))
            fit = self.best_run(final)
            plain = state((None,))
            return Outcome(final, fit, plain, self.noise_state, (plain, final, fit.point), fit.point.scores)
        if prior is not None:
            warn_of_loose_items(engine, self.votes.items)
            if self._integrates(noise, engine):
                return self.fit_marginal(engine, noise, prior)
        pools = self._pools(engine)
        if pools and not NOISES[self.settings.noise].flips:
            self.noise_state = begun(self.noise_state)
            noise = self.noise_state.build(engine)
        variances: Variances = (prior.score_variance if prior else None,)
        start, found = None, self._fit_dense(problem, variances)
        if found is not None:
            variances = found[0]
        elif prior is not None and variances[0] is None:
            guess = _FIRST_VARIANCE if self.start is None else self.start.scores.score_variance or _FIRST_VARIANCE
            variances, start = estimate_variances(problem, self.begin(problem((guess,))), (guess,))
        final, own, noise_state = problem(variances), state(variances), self.noise_state
        fit = self.best_run(final, start, None if found is None else found[1])
        if prior is not None and pools:
            of_pairs, limits = self.settings.unit == "pair", (self.settings.max_iter, self.settings.tol)
            shrunk = shrink(prior, noise_state, final, fit, *limits, flips=of_pairs)
            final, fit, noise_state = shrunk.problem, shrunk.fit, shrunk.noise
            self.warn_unless(fit.converged, why_unconverged(fit, self.settings.max_iter))
        scores = fit.point.scores - fit.point.scores.mean()
        return Outcome(final, fit, own, noise_state, (own, final, fit.point), scores)

    def _fit_dense(
        self, problem: Callable[[Variances], Problem], variances: Variances
    ) -> tuple[Variances, Fit] | None:
        """Return a fit without products with the curvature, where nothing but the votes says where to start."""
        settings, estimated = self.settings, self.prior is not None and variances[0] is None
        if self.start is not None or self.gold is not None or settings.init != "share" or settings.n_init > 1:
            return None
        guess = (_FIRST_VARIANCE,) if estimated else variances
        limits = settings.max_iter, settings.tol
        return fit_dense(problem, guess, *limits, estimate=estimated, progress=self.progress)

    def _pools(self, engine: Engine) -> bool:
        """Tell whether the prior of the annotators' parameters is estimated."""
        may = self.settings.flips != "joint" or not NOISES[self.settings.noise].flips
        of_crowd = is_crowd(engine, self.settings.loss, self.votes.annotator_decided)
        return self.prior is not None and may and of_crowd

    def _integrates(self, noise: Noise, engine: Engine) -> TypeGuard[Flip]:
        """Tell whether flips are fitted with the scores integrated out."""
        how = self.settings.flips
        if how == "joint" or not can_integrate(noise, engine, self.settings.loss):
            return False
        return how == "marginal" or integration_matters(engine, self.settings.unit)

    def fit_marginal(self, engine: Engine, noise: Flip, prior: Prior) -> Outcome:
        """Fit flips with the scores integrated out; scores are the means that go with them."""
        if engine.n_rows <= MANY_ROWS:
            # Variances settle within a per cent of their limits: the end must not depend on where a fit began.
            self.start = None
        earlier = None if self.start is None else self.start.scores.score_variance
        guess = prior.score_variance or earlier or 1.0
        begun = Problem(engine, ScorerState(self.scorer, score_variance=guess).build(engine.n_items), noise)
        best: MarginalFit | None = None
        for begin in self._starts(begun, None):
            start = begin()
            found = self._marginal_run(engine, noise, (start.theta, start.params), guess, prior)
            ended = found.fit.point
            if self.gold is not None or noise.orientation(ended.params) < 0:
                mirrored = -ended.theta, noise.sign_flipped(ended.params)
                other = self._marginal_run(engine, noise, mirrored, guess, prior)
                found = found if self.gold is not None and not _better(other, found) else other
            if best is None or _better(found, best):
                best = found
        assert best is not None
        best = self._higher_marginal(engine, noise, best, prior)
        self.warn_unless(best.fit.converged, why_unconverged(best.fit, self.settings.max_iter))
        own, noise_state = ScorerState(self.scorer, score_variance=best.variance), self.noise_state
        if best.flip_votes is not None:
            wrong, right = best.flip_votes
            noise_state = replace(noise_state, prior=replace(prior, flip_wrong=wrong, flip_right=right))
        final = Problem(engine, own.build(engine.n_items), best.noise)
        point = final.evaluate(best.fit.point.theta, best.fit.point.params)
        fit = replace(best.fit, point=point)
        scores = point.scores - point.scores.mean()
        return Outcome(final, fit, own, noise_state, (own, final, point), scores, marginal=best)

    def _higher_marginal(self, engine: Engine, noise: Flip, found: MarginalFit, prior: Prior) -> MarginalFit:
        """Return the fit, or one whose objective is higher under the same variances, with variances of its own."""
        same = replace(found.fit, objectives=[found.fit.point.objective])
        higher = self._best_maximum(found.problem, same).point
        if higher is found.fit.point:
            return found
        other = self._marginal_run(engine, noise, (higher.theta, higher.params), found.variance, prior)
        return other if _better(other, found) else found

    def _marginal_run(
        self, engine: Engine, noise: Flip, start: tuple[FloatArray, FloatArray], variance: float, prior: Prior
    ) -> MarginalFit:
        return fit_marginal(
            engine,
            noise,
            *start,
            variance,
            estimate=prior.score_variance is None,
            pool=prior.pools_flips,
            max_iter=self.settings.max_iter,
            tol=self.settings.tol,
            progress=self.progress,
        )

    def fit_features(self, engine: Engine, noise: Noise, matrix: FloatArray) -> Outcome:
        """Fit scores from features, with or without an effect of each item."""
        spec, prior = SCORERS[self.scorer], self.prior
        if self.scorer == "linear":
            return self.fit_linear(engine, noise, matrix)
        warn_of_loose_items(engine, self.votes.items)
        own_prior = prior
        if spec.kernel:
            # A kernel is a prior: without one there are as many free weights as landmarks.
            own_prior = prior or Prior() if self.settings.kernel == "rbf" else prior
            matrix = self.mapped(matrix, engine, noise, own_prior)
            if not spec.effects and self.settings.kernel == "linear":
                return self.fit_linear(engine, noise, matrix)
        featured = Featured(engine, noise, matrix, spec.effects, self.settings.loss, self.begin)
        variances, start = featured.estimate(own_prior)
        problem = featured.problem(variances)
        fit = self.best_run(problem, start)
        state = ScorerState(self.scorer, variances[0], variances[1] if spec.effects else None, matrix)
        return self.with_effects(problem, fit, state) if spec.effects else self.with_free_scores(problem, fit, state)

    def mapped(self, matrix: FloatArray, engine: Engine, noise: Noise, prior: Prior | None) -> FloatArray:
        """Return the kernel map of the features, and keep the map for unseen items."""
        settings = self.settings

        def problems(mapped: FloatArray) -> Featured:
            return Featured(engine, noise, mapped, False, settings.loss, self.begin)

        self.kernel = choose_kernel(matrix, settings.kernel, settings.n_landmarks, problems, prior)
        return np.asarray(self.kernel(matrix))

    def fit_linear(self, engine: Engine, noise: Noise, matrix: FloatArray) -> Outcome:
        """Fit weights of the features."""
        problem, state = self.linear_problem(engine, noise, matrix)
        return self.with_free_scores(problem, self.best_run(problem), state)

    def linear_problem(self, engine: Engine, noise: Noise, matrix: FloatArray) -> tuple[Problem, ScorerState]:
        """Return the problem of the weights alone."""
        state = ScorerState(self.scorer, linear_variance(self.prior), None, matrix)
        return Problem(engine, state.build(engine.n_items), noise, self.settings.loss), state

    def with_free_scores(
        self, problem: Problem, fit: Fit, state: ScorerState, noise: NoiseState | None = None
    ) -> Outcome:
        """Take weights from the fit, then scores from votes and features together."""
        point = fit.point
        given = self.prior.score_variance if self.prior else None
        variance, refined = free_scores(problem.engine, problem.noise, point, given)
        free = ScorerState("objects", score_variance=variance, centre=point.scores)
        own = Problem(problem.engine, free.build(problem.engine.n_items), problem.noise)
        self.warn_unless(refined.converged, "flips and posterior converged, but the item scores did not")
        return Outcome(
            problem,
            fit,
            state,
            noise or self.noise_state,
            (free, own, refined.point),
            refined.point.scores,
            point.scores,
            cast(LinearScorer, problem.scorer).weights(point.theta),
            refined.converged,
        )

    def with_effects(self, problem: Problem, fit: Fit, state: ScorerState) -> Outcome:
        """Take weights, and scores including item effects, from one fit."""
        scorer = cast(SumScorer, problem.scorer)
        own, _ = scorer.split(fit.point.theta)
        explained, weights = scorer.features.scores(own), scorer.features.weights(own)
        refined = (state, problem, fit.point)
        return Outcome(problem, fit, state, self.noise_state, refined, fit.point.scores, explained, weights)

    # -- starts and the end -----------------------------------------------------------------------------------

    def best_run(self, problem: Problem, start: Point | None = None, found: Fit | None = None) -> Fit:
        """Run the loop from every start and keep the best optimum, with its sign determined.

        ``start``, a point of a similar problem, replaces the start from the vote shares; ``found`` is where the loop
        has ended already.
        """
        best = None if found is None else self._settle_sign(problem, found)
        for begin in self._starts(problem, start) if found is None else ():
            fit = self._settle_sign(problem, self.run(problem, begin()))
            if best is None or fit.objectives[-1] > best.objectives[-1]:
                best = fit
        assert best is not None
        best = self._best_maximum(problem, best)
        self.warn_unless(best.converged, why_unconverged(best, self.settings.max_iter))
        return best

    def begin(self, problem: Problem) -> Point:
        """Return the initial point: from the vote shares or an earlier result, with the sign of the known truths."""
        theta, params = problem.start()
        if self.start is not None:
            kernel = SCORERS[self.scorer].kernel
            theta, params = warm_start(problem, theta, params, self.start, self.votes, self.features, kernel)
        point = problem.evaluate(theta, params)
        if self.gold is None:
            return point
        other = problem.evaluate(-point.theta, problem.noise.sign_flipped(point.params))
        return other if other.objective > point.objective else point

    def _settle_sign(self, problem: Problem, fit: Fit) -> Fit:
        """Return the fit or its sign-flipped image of the same likelihood: gold decides, else the orientation."""
        if self.gold is None and problem.noise.orientation(fit.point.params) >= 0:
            return fit
        sign_flipped = problem.noise.sign_flipped(fit.point.params)
        other = self.run(problem, problem.evaluate(-fit.point.theta, sign_flipped))
        if self.gold is None or other.objectives[-1] > fit.objectives[-1]:
            return other
        return fit

    def _best_maximum(self, problem: Problem, fit: Fit) -> Fit:
        """Return the fit, or a higher maximum, as may exist with few votes."""

        def climb(start: Start) -> Fit:
            return self._settle_sign(problem, self.run(problem, problem.evaluate(*start)))

        return best_maximum(problem, fit, self.votes.annotator_decided, climb)

    def run(self, problem: Problem, start: Point) -> Fit:
        """Run the loop."""
        settings = self.settings
        return run(problem, start, max_iter=settings.max_iter, tol=settings.tol, progress=self.progress)

    def _starts(self, problem: Problem, start: Point | None) -> list[Callable[[], Point]]:
        rng = cache(lambda: np.random.default_rng(self.settings.random_state))

        def from_share() -> Point:
            return self.begin(problem) if start is None else problem.with_prior(start)

        def at_random() -> Point:
            return problem.evaluate(rng().standard_normal(problem.scorer.n_params), problem.noise.random(rng()))

        if self.settings.init == "random":
            return [at_random] * self.settings.n_init
        return [from_share, *[at_random] * (self.settings.n_init - 1)]

    def warn_unless(self, converged: bool, stopped_at: str) -> None:
        """Warn that the fit stopped early, unless it converged."""
        warn_unless(converged, self.settings.model, stopped_at)

    def finish(self, outcome: Outcome) -> LatentFit:
        """Return the fit."""
        point, fit, marginal = outcome.fit.point, outcome.fit, outcome.marginal
        fitted = Solution.of(self.source, outcome.scorer, outcome.noise, outcome.problem, point)
        state, problem, refined = outcome.refined
        same = refined is point
        coef = None
        if outcome.weights is not None and self.features is not None and self.kernel is None:
            coef = self.features.in_user_units(outcome.weights)
        found = LatentFit(
            settings=replace(self.settings, random_state=None),
            scorer=self.scorer,
            fitted=fitted,
            refined=fitted if same else Solution.of(self.source, state, outcome.noise, problem, refined),
            scores=outcome.scores,
            estimated_flip=self.flips(outcome.problem.noise, point),
            counted_against=point.scores,
            traits=self._traits(outcome.problem.noise, point),
            log_likelihoods=np.array(fit.objectives[1:] or fit.objectives),
            log_likelihood=point.expectation.value if marginal is None else marginal.log_likelihood,
            n_iter=fit.n_iter,
            n_passes=outcome.problem.engine.passes,
            converged=fit.converged and outcome.converged,
            features=self.features,
            coef=coef,
            feature_scores=outcome.feature_scores,
            kernel=self.kernel,
            kernel_weights=None if self.kernel is None else outcome.weights,
            score_variance=state.score_variance,
            weight_variance=outcome.scorer.weight_variance,
            flip_information=None if marginal is None else marginal.information,
            score_information=None if marginal is None else marginal.score_information,
            extras=outcome.problem.noise.shared_traits(point.params),
        )
        # Votes on disk or on a cluster are counted while they are there.
        return found if isinstance(self.votes, Comparisons) else replace(found, estimated_flip=found.flip)

    def flips(self, noise: Noise, point: Point) -> FloatArray | None:
        """Return the flip of each annotator; None if the noise has none."""
        counted = noise.flip_kind == "counted"
        return None if counted else noise.annotator_flips(point.params, len(self.votes.annotators))

    def _traits(self, noise: Noise, point: Point) -> dict[str, FloatArray]:
        found, everyone = noise.traits(point.params), np.ones(len(self.votes.annotators))
        if self.settings.ties == "davidson" and "tie" not in found:  # no vote is a tie
            found = {**found, "tie": 0.0 * everyone}
        elif self.ties.mode == "shared":
            found = {**found, "tie": found["tie"] * everyone}
        return found


def _better(a: MarginalFit, b: MarginalFit) -> bool:
    return a.fit.objectives[-1] > b.fit.objectives[-1]
