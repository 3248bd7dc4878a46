"""An engine from outside the package is one registration; the engine that is reported is the one that ran."""

from __future__ import annotations

import numpy as np
import pytest

import jamrank as jr
from jamrank.engines import ENGINES, Choice, Kind, Load, MemoryEngine, choose, make_engine
from jamrank.engines.kind import read_into_memory
from jamrank.errors import GpuFallbackWarning, ParameterError
from jamrank.rows import ROWS_BY

MADE = []


class CountingEngine(MemoryEngine):
    """Runs in memory, and counts the products with the curvature."""

    products = 0

    def curvature_times(self, curvature, vector):
        self.products += 1
        return super().curvature_times(curvature, vector)


def make(votes, row, threads, tick):
    MADE.append(CountingEngine(ROWS_BY[row](votes, threads), threads, votes))
    return MADE[-1]


def suits(load: Load) -> str:
    return f"{load.described} are easily counted" if load.in_memory and load.n_votes == 6 else ""


# What an author of an engine writes; as in a module of their own, looked up by its name.
KIND = Kind(read_into_memory, make, suits)


@pytest.fixture
def registered():
    ENGINES.register("counting", f"{__name__}:KIND")
    MADE.clear()
    yield
    ENGINES.unregister("counting")


@pytest.fixture
def votes():
    return jr.Comparisons.from_arrays(list("aabbca"), list("bbacbc"), list("xyzxyz"), np.ones(6))


def test_an_engine_from_outside_fits(registered, votes):
    here, there = jr.JAM().fit(votes), jr.JAM(engine="counting").fit(votes)
    np.testing.assert_array_equal(there.scores_, here.scores_)
    assert there.result_.convergence.engine == "counting"
    assert sum(engine.products for engine in MADE) > 0


def test_auto_asks_every_engine_in_order(registered, votes):
    # Memory comes first, and takes what is there.
    assert choose("auto", votes).name == "memory"
    memory = ENGINES["memory"]
    ENGINES.unregister("memory")
    try:
        assert choose("auto", votes) == Choice("counting", "6 votes are easily counted")
    finally:
        order = [name for name in ENGINES if name != "gpu"]
        ENGINES.register("memory", memory)
        for name in order:
            kind = ENGINES[name]
            ENGINES.unregister(name)
            ENGINES.register(name, kind)
    assert list(ENGINES)[:2] == ["gpu", "memory"]


def test_an_engine_that_is_missing_falls_back_truthfully(votes):
    kind = Kind(read_into_memory, make, lambda load: "", missing=lambda: "its licence has expired", fallback="memory")
    ENGINES.register("rented", kind)
    try:
        with pytest.warns(GpuFallbackWarning, match="'rented': its licence has expired; the fit runs in memory"):
            choice = choose("rented", votes)
        assert choice == Choice("memory", "engine rented cannot be used: its licence has expired")
        assert make_engine(choice, votes, "pair", 1, None).choice == choice
    finally:
        ENGINES.unregister("rented")


def test_an_engine_that_is_missing_and_has_no_fallback_is_refused(votes):
    ENGINES.register("rented", Kind(read_into_memory, make, lambda load: "", missing=lambda: "it is not there"))
    try:
        with pytest.raises(ParameterError, match="engine 'rented' cannot be used: it is not there"):
            jr.JAM(engine="rented").fit(votes)
    finally:
        ENGINES.unregister("rented")


def test_engines_say_what_they_can(votes):
    engine = make_engine(Choice("memory", ""), votes, "pair", 1, None)
    assert engine.in_memory and engine.can_draw and engine.has_information
    assert engine.decided is engine and engine.ties is None
    assert list(engine.parts()) == [(votes, engine)]
    assert [len(local.rows) for local in engine.local_engines()] == [engine.n_rows]
