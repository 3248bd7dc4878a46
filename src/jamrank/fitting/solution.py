"""The end of a fit, as plain data from which the problem can be rebuilt.

An engine is as large as the votes and cannot be pickled or written to a file. So a fit keeps its parameters and what
they refer to; the engine is kept beside them while the process runs.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from jamrank.data.comparisons import Comparisons
from jamrank.engines import Choice, Engine, GradedEngine, MemoryEngine, TiedEngine, make_engine
from jamrank.errors import FormatError, JamrankError, NotStoredError
from jamrank.fitting.em import Point, Problem
from jamrank.fitting.prior import Prior
from jamrank.fitting.tie_use import NO_TIES, TieMode, TieUse
from jamrank.io.out_of_core.parted import Votes
from jamrank.noise import NOISES, ClusteredFlip, Discrimination, Graded, Noise, Tied
from jamrank.rows import ROWS_BY, grade_steps, with_halves
from jamrank.scorers import SCORERS, Scorer
from jamrank.typing import FloatArray, Int32Array

# Rows of the passes that ask of each vote whether it is a tie.
TIE_ROWS = {"each": "tie", "shared": "tie-shared"}


@dataclass(frozen=True, eq=False)
class EngineSource:
    """What an engine is made from.

    votes: The votes; None for a model that was saved without them.
    gold: The votes and one further annotator, who states the known truths.
    rows: Layout of the rows.
    ties ({"none", "half", "each", "shared"}): How ties enter, as in :class:`jamrank.fitting.tie_use.TieUse`.
    choice: The engine that was chosen.
    n_jobs: Threads.
    cluster: Cluster of each pair, where an annotator has one confusion group for each.
    graded: Whether grades of votes have passes of their own.
    """

    votes: Votes | None
    gold: Comparisons | None
    rows: str
    ties: TieMode
    choice: Choice
    n_jobs: int | None
    cluster: Int32Array | None = None
    n_clusters: int = 1
    graded: bool = False

    @cached_property
    def engine(self) -> Engine:
        """The engine; rebuilt after a pickle or a file."""
        return self.build()

    def build(self, tick: Any = None) -> Engine:
        """Make the engine."""
        if self.votes is None:
            raise NotStoredError("the saved model has no votes from which this could be computed; fit again")
        source = self._halved() if self.ties == "half" else self
        engine = source._of_rows(self.rows, tick)
        if self.graded:
            engine = GradedEngine(engine, grade_steps(self._in_memory))
        layout = TIE_ROWS.get(self.ties)
        return engine if layout is None else TiedEngine(engine, self._of_rows(layout, tick))

    def _halved(self) -> EngineSource:
        gold = None if self.gold is None else with_halves(self.gold)
        return replace(self, votes=with_halves(self._in_memory), gold=gold)

    def _of_rows(self, layout: str, tick: Any) -> Engine:
        assert self.votes is not None
        if self.cluster is not None:
            rows = self._gold_rows(layout) if self.gold is not None else ROWS_BY[layout](self._in_memory, self.n_jobs)
            return MemoryEngine(
                rows.clustered(self.cluster[rows.pair], self.n_clusters), self.n_jobs, self._in_memory
            )
        if self.gold is None or layout in TIE_ROWS.values():
            return make_engine(self.choice, self.votes, layout, self.n_jobs, tick)
        return MemoryEngine(self._gold_rows(layout), self.n_jobs, self._in_memory)

    @property
    def _in_memory(self) -> Comparisons:
        assert isinstance(self.votes, Comparisons)
        return self.votes

    def _gold_rows(self, layout: str) -> Any:
        assert self.gold is not None
        rows = ROWS_BY[layout](self.gold, self.n_jobs)
        return rows.with_gold(rows.n_confusion_groups // self.gold.n_annotators)

    def with_engine(self, engine: Engine) -> EngineSource:
        """Return the same source with its engine set."""
        vars(self)["engine"] = engine
        return self

    def __getstate__(self) -> dict[str, Any]:
        # Votes on disk and on clusters belong to this process; a copy has only the computed results.
        votes = self.votes if isinstance(self.votes, Comparisons) else None
        choice = Choice("memory", self.choice.why)
        return {name: vars(self)[name] for name in self.__dataclass_fields__} | {"votes": votes, "choice": choice}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)


@dataclass(frozen=True)
class ScorerState:
    """A scorer by name, and what it is made from.

    name: In :data:`jamrank.scorers.SCORERS`.
    weight_variance, score_variance: Prior variances of weights and of free scores or effects; None for no prior.
    matrix: Standardised features, or their kernel map.
    centre: Prior mean of free scores.
    """

    name: str
    weight_variance: float | None = None
    score_variance: float | None = None
    matrix: FloatArray | None = None
    centre: FloatArray | None = None

    def build(self, n_items: int) -> Scorer:
        """Make the scorer."""
        return SCORERS[self.name].make(n_items, self)


@dataclass(frozen=True)
class NoiseState:
    """A noise by name, and what it is made from.

    name: In :data:`jamrank.noise.NOISES`.
    ties: How ties enter: whether thresholds come on top, and their prior.
    scale: Scale of the discriminations, if it changed during the fit.
    overall: Overall flips of the annotators, the prior means of those by cluster.
    strength: Strength of that prior, in votes.
    """

    name: str
    prior: Prior | None
    ties: TieUse = NO_TIES
    scale: float | None = None
    overall: FloatArray | None = None
    strength: float = 0.0

    def build(self, engine: Engine) -> Noise:
        """Make the noise."""
        noise, steps = self._decided(engine), engine.grades
        n_sums = noise.n_sums or engine.n_confusion_groups
        if steps is not None:
            noise = Graded(noise, n_sums, steps.counts, steps.n_annotators, self.prior is not None)
            n_sums += noise.n_further
        if engine.ties is None:
            return noise
        return Tied(noise, n_sums, engine.ties.vote_counts, self.ties.variance, self.ties.mode == "shared")

    def _decided(self, engine: Engine) -> Noise:
        if self.overall is not None:
            weak = self.prior.flip_votes if self.prior else ()
            counts = engine.vote_counts
            return ClusteredFlip(counts, len(counts) // len(self.overall), self.overall, self.strength, *weak)
        if self.scale is not None:
            variance = self.prior.discrimination_spread if self.prior else None
            return Discrimination(engine.vote_counts, variance, self.scale)
        return NOISES[self.name].make(engine.vote_counts, self.prior)


@dataclass(frozen=True, eq=False)
class Solution:
    """Parameters where a fit ended, and the problem that they solve."""

    source: EngineSource
    scorer: ScorerState
    noise: NoiseState
    loss: str
    theta: FloatArray
    params: FloatArray

    @cached_property
    def problem(self) -> Problem:
        """The problem, rebuilt if necessary."""
        engine = self.source.engine
        return Problem(engine, self.scorer.build(engine.n_items), self.noise.build(engine), self.loss)

    @cached_property
    def point(self) -> Point:
        """The parameters with the E-step there; computed only after loading, since a fit stores it."""
        try:
            return self.problem.evaluate(self.theta, self.params)
        except JamrankError:
            raise
        except (ValueError, IndexError) as error:
            raise FormatError(f"the saved parameters do not fit the saved votes ({error}); fit again") from None

    @classmethod
    def of(
        cls, source: EngineSource, scorer: ScorerState, noise: NoiseState, problem: Problem, point: Point
    ) -> Solution:
        """Return the solution of a fit that has just ended, with its problem and point set."""
        found = cls(source, scorer, noise, problem.loss, point.theta, point.params)
        vars(found).update(problem=problem, point=point)
        return found

    def __getstate__(self) -> dict[str, Any]:
        return {name: vars(self)[name] for name in self.__dataclass_fields__}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
