"""The engine on the GPU beside the one in memory: on a card where there is one, and on an emulated one everywhere."""

from __future__ import annotations

import gc
import weakref
from dataclasses import replace

import numpy as np
import pytest

import jamrank as jr
import jamrank.rows.rows as rows_module
from jamrank.data.comparisons import Comparisons
from jamrank.engines import ENGINES, GpuEngine, Kind, MemoryEngine
from jamrank.engines.gpu_crowd import GpuCrowd, rows_on_device
from jamrank.engines.kind import read_into_memory
from jamrank.errors import GpuError, GpuFallbackWarning
from jamrank.fitting.newton import newton_step
from jamrank.kernels.gpu_device import GpuDevice
from jamrank.rows import ROWS_BY, RaggedVotes, Rows
from jamrank.scorers import ObjectScorer
from tests.engines.emulated_gpu import EmulatedDevice

N_ITEMS = 40


def real_device() -> GpuDevice:
    try:
        return GpuDevice()
    except GpuError as error:
        pytest.skip(f"no GPU here: {error}")


@pytest.fixture(params=["emulated", "GPU"])
def device(request):
    return EmulatedDevice() if request.param == "emulated" else real_device()


def crowd(n_votes=3000, weights=(1.0,), n_items=N_ITEMS, seed=0) -> Comparisons:
    rng = np.random.default_rng(seed)
    left = rng.integers(0, n_items, n_votes)
    right = (left + rng.integers(1, n_items, n_votes)) % n_items
    said = rng.choice([0.0, 0.5, 1.0], n_votes, p=[0.4, 0.1, 0.5])
    return Comparisons.from_arrays(left, right, rng.integers(0, 8, n_votes), said, rng.choice(weights, n_votes))


def crowd_of_two() -> Comparisons:
    """Return votes of one annotator on the one pair of two items."""
    return Comparisons.from_arrays(["a", "a", "b"], ["b", "b", "a"], ["x"] * 3, [1.0, 0.0, 1.0])


def jury(share: float, n_items: int = N_ITEMS, seed=1) -> Comparisons:
    """Draw the votes of three on a share of all pairs."""
    rng = np.random.default_rng(seed)
    first, second = np.triu_indices(n_items, 1)
    kept = rng.permutation(len(first)) < share * len(first)
    kept[:1] = kept[-1:] = True
    first, second = first[kept], second[kept]
    said = rng.random((len(first), 3)) < 0.5 + 0.3 * np.sign(second - first)[:, None]
    return Comparisons.from_matrix(first, second, said.astype(np.int8))


def questions() -> Comparisons:
    votes = [crowd(800, seed=s) for s in (2, 3)]
    frames = [
        (v.items[v.pair_first[p]], v.items[v.pair_second[p]], v.vote_annotator, v.vote_result / 2, q)
        for q, v in enumerate(votes)
        for p in [np.repeat(np.arange(v.n_pairs), np.diff(v.vote_start))]
    ]
    left, right, who, said = (np.concatenate([frame[k] for frame in frames]) for k in range(4))
    said = np.where(said == 0.5, 1.0, 0.0)
    asked = np.concatenate([np.full(len(frame[0]), frame[4]) for frame in frames])
    return Comparisons.from_arrays(left, right, who, said, question=asked)


def as_lists(votes: Comparisons) -> Rows:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rows_module, "few_patterns", lambda votes: False)
        rows = Rows._find_per_pair(votes, 1)
    assert isinstance(rows.ballots, RaggedVotes)
    return rows


def weighted(rows: Rows) -> Rows:
    return replace(rows, weight=np.random.default_rng(5).choice([0.25, 1.0, 3.0], len(rows)))


ROWS = {
    "all pairs": lambda: Rows.per_pair(jury(1.0)),
    "nearly all pairs": lambda: Rows.per_pair(jury(0.7)),
    "few pairs": lambda: Rows.per_pair(jury(0.2)),
    "more items than a tile is wide": lambda: Rows.per_pair(jury(0.9, 700)),
    "weighted patterns": lambda: weighted(Rows.per_pair(jury(0.5))),
    "many patterns": lambda: Rows.per_pair(crowd()),
    "questions": lambda: Rows.per_pair(questions()),
    "lists": lambda: as_lists(crowd()),
    "weighted lists": lambda: as_lists(crowd(weights=(0.5, 1.0, 2.0))),
    "lists on few pairs": lambda: as_lists(crowd(700, n_items=80)),
    "votes": lambda: Rows.per_vote(crowd(400)),
    "votes on few pairs": lambda: Rows.per_vote(crowd(700, n_items=80)),
    "votes in runs": lambda: Rows.per_vote(crowd(5000)),
    "votes in long runs": lambda: Rows.per_vote(crowd(9000, n_items=20)),
    "weighted votes": lambda: Rows.per_vote(crowd(3000, weights=(0.5, 1.0, 4.0))),
    "margins": lambda: ROWS_BY["margin"](crowd(5000), None),
    "ties": lambda: ROWS_BY["tie"](crowd(5000), None),
}


@pytest.fixture(params=ROWS)
def rows(request) -> Rows:
    return ROWS[request.param]()


def scores_of(rows: Rows, seed=7) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(rows.n_items)


def tables_of(rows: Rows) -> np.ndarray:
    params = np.linspace(-2, 1, rows.n_confusion_groups)
    if rows.about != "truth":
        return params
    # Not symmetric, so that sides matter.
    log_flip, log_keep = -np.logaddexp(0, -params), -np.logaddexp(0, params)
    log_emission = np.stack([np.stack([log_keep, log_flip], axis=1), np.stack([log_flip, log_keep], axis=1)], axis=1)
    return log_emission * np.array([1.0, 0.8])[None, :, None]


def same(found, expected, name="", rtol=1e-9) -> None:
    scale = max(float(np.abs(expected).max(initial=0.0)), 1e-3)
    np.testing.assert_allclose(found, expected, rtol=rtol, atol=rtol * scale, err_msg=name)


def assert_same_marginal_passes(engine: GpuEngine, memory: MemoryEngine) -> None:
    """Compare passes in which margins are integrated out."""
    rows, rng = memory.rows, np.random.default_rng(9)
    given = scores_of(rows), tables_of(rows), rng.uniform(0.01, 2.0, rows.n_items)
    here, there = (one.marginal(*given) for one in (engine, memory))
    for name in ("value", "gradient", "degree", "observed", "expected_counts", "truth_variance"):
        same(getattr(here, name), getattr(there, name), name)
    vector = scores_of(rows, 8)
    products = [one.curvature_times(at.curvature, vector) for one, at in ((engine, here), (memory, there))]
    same(*products, "product", 1e-6)
    if memory.has_observed:
        assert engine.has_observed
        passes = [one.observed_expectation(*given[:2]) for one in (engine, memory)]
        for name in ("value", "gradient", "degree", "observed", "expected_counts", "truth_variance"):
            same(*(getattr(at, name) for at in passes), name, 1e-9 if name != "degree" else 1e-6)
        if rows.distinct or rows.begin is not None:
            weight = rng.uniform(1.0, 2.0, rows.n_items)
            same(*(one.mean_of_others(scores_of(rows), weight) for one in (engine, memory)), "mean of others")
    # The curvature of another pass takes its place, and it is worked out anew.
    engine.expectation(*given[:2])
    same(engine.curvature_times(here.curvature, vector), products[1], "product again", 1e-6)
    same(engine.links(here.curvature).curvature, memory.links(there.curvature).curvature, "curvature", 1e-6)


def assert_same_passes(engine: GpuEngine, memory: MemoryEngine) -> None:
    """Compare whatever an engine says."""
    rows = memory.rows
    scores, log_emission, vector = scores_of(rows), tables_of(rows), scores_of(rows, 8)
    here, there = (one.expectation(scores, log_emission) for one in (engine, memory))
    for name in ("value", "gradient", "expected_counts", "truth_variance"):
        same(getattr(here, name), getattr(there, name), name)
    # Curvatures are single: they shape a step but not where it ends.
    same(here.degree, there.degree, "degree", 1e-6)
    products = [one.curvature_times(at.curvature, vector) for one, at in ((engine, here), (memory, there))]
    same(*products, "product", 1e-6)
    same(engine.links(here.curvature).curvature, memory.links(there.curvature).curvature, "curvature", 1e-6)
    if rows.about == "truth":
        same(engine.posterior(scores, log_emission), memory.posterior(scores, log_emission), "posterior")
        same(
            engine.truth_variance(scores, log_emission), memory.truth_variance(scores, log_emission), "truth_variance"
        )
        starts = [one.initial_step(np.zeros(rows.n_items)) for one in (engine, memory)]
        for name in ("value", "gradient", "degree"):
            same(*(getattr(start[0], name) for start in starts), name)
        same(starts[0][1], starts[1][1])
        same(*(one.curvature_times(s[0].curvature, vector) for one, s in zip((engine, memory), starts, strict=True)))
        # An earlier curvature is worked out anew.
        same(engine.curvature_times(here.curvature, vector), products[1], "product again", 1e-6)
    for (degree, links), (other, pairs) in [[one.observed(scores, log_emission, True) for one in (engine, memory)]]:
        same(degree, other, "observed")
        same(links.curvature, pairs.curvature, "observed links")
    same(engine.vote_counts, memory.vote_counts)
    if rows.about == "truth":
        np.testing.assert_array_equal(engine.sides_taken(), memory.sides_taken())
    assert (engine.n_rows, engine.n_links, engine.n_confusion_groups) == (
        memory.n_rows,
        memory.n_links,
        memory.n_confusion_groups,
    )
    if rows.about == "truth":
        assert_same_marginal_passes(engine, memory)


def test_the_posterior_of_every_pair_is_computed_where_the_votes_are():
    for share, launches in ((1.0, 0), (0.5, 1)):
        device = EmulatedDevice()
        engine = GpuEngine(Rows.per_pair(jury(share)), device=device)
        assert engine.gpu.all_pairs == (share == 1.0)
        scores, log_emission = scores_of(engine.rows), tables_of(engine.rows)
        kept, before = engine.expectation(scores, log_emission).curvature, len(device.launched)
        engine.posterior(scores, log_emission)
        assert sum(kernel.startswith(("walk", "over_")) for kernel in device.launched[before:]) == launches
        # It leaves the curvature of the pass alone.
        passes = engine.passes
        engine.curvature_times(kept, scores)
        assert engine.passes == passes


@pytest.mark.parametrize("variance", [None, 0.5])
def test_steps_are_those_that_are_worked_out_in_memory(rows, device, variance):
    engine, memory = GpuEngine(rows, device=device), MemoryEngine(rows)
    scorer, found = ObjectScorer(rows.n_items, variance), []
    for one in (engine, memory):
        at = one.expectation(0.1 * scores_of(rows), tables_of(rows))
        given = at.gradient, scorer.precision, scorer.evened(at.degree), 0.1, 9
        assert one.start_solving(at.curvature, *given) is not None
        found.append(newton_step(one, scorer, at, np.zeros(rows.n_items)))
    same(*found, rtol=1e-5)


def test_every_pass_says_what_it_says_in_memory(rows, device):
    assert_same_passes(GpuEngine(rows, device=device), MemoryEngine(rows))


def test_votes_that_do_not_fit_are_passed_over_in_parts(rows, device):
    whole = GpuEngine(rows, device=device)
    memory = sum(part.bytes for part in whole.gpu.parts) // 3
    engine = GpuEngine(rows, device=device, memory=memory)
    assert len(engine.gpu.parts) > 3
    stays = [part.resident is not None for part in engine.gpu.parts]
    assert stays[0] and not stays[-1]
    assert sum(part.bytes for part in engine.gpu.parts if part.resident is not None) <= memory
    assert [part.begin for part in engine.gpu.parts[1:]] == [part.end for part in engine.gpu.parts[:-1]]
    assert_same_passes(engine, MemoryEngine(rows))


def test_parts_change_no_sum_of_a_pass(rows, device):
    memory = sum(part.bytes for part in GpuEngine(rows, device=device).gpu.parts) // 3
    one, other = (
        GpuEngine(rows, device=device, memory=m).expectation(scores_of(rows), tables_of(rows)) for m in (None, memory)
    )
    if not GpuEngine(rows, device=device).gpu.walks:
        for name in ("gradient", "degree", "expected_counts"):
            np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
    assert one.value == pytest.approx(other.value, rel=1e-13)


def test_a_pass_is_the_same_to_the_last_bit_when_it_is_run_again(rows, device):
    engines = [GpuEngine(rows, device=device) for _ in range(2)]
    passes = [engine.expectation(scores_of(rows), tables_of(rows)) for engine in (*engines, engines[0])]
    for other in passes[1:]:
        for name in ("value", "gradient", "degree", "expected_counts", "truth_variance"):
            np.testing.assert_array_equal(getattr(passes[0], name), getattr(other, name))


@pytest.mark.parametrize(
    "name", ["all pairs", "nearly all pairs", "few pairs", "many patterns", "lists", "votes in runs"]
)
@pytest.mark.parametrize("far", [1.0, 300.0, 1e6])
def test_scores_far_apart_neither_overflow_nor_vanish(name, far, device):
    rows = ROWS[name]()
    scores, log_emission = far * scores_of(rows), tables_of(rows) * 30
    here, there = (
        engine.expectation(scores, log_emission) for engine in (GpuEngine(rows, device=device), MemoryEngine(rows))
    )
    for which in ("value", "gradient", "expected_counts"):
        same(getattr(here, which), getattr(there, which), which, 1e-8)
    same(here.degree, there.degree, "degree", 1e-6)


def test_only_dense_juries_are_walked(device):
    walked = {name for name, make in ROWS.items() if GpuEngine(make(), device=device).gpu.walks}
    assert walked == {"all pairs", "nearly all pairs", "more items than a tile is wide"}


def test_very_many_posteriors_are_added_up_in_words(device, monkeypatch):
    rows = ROWS["more items than a tile is wide"]()
    monkeypatch.setattr("jamrank.engines.gpu_layout._MANY_ROWS", len(rows))
    engine, memory = GpuEngine(rows, device=device), MemoryEngine(rows)
    assert engine.gpu.walks and engine.gpu.sums_in_words
    here, there = (one.expectation(scores_of(rows), tables_of(rows)) for one in (engine, memory))
    for name in ("value", "gradient"):
        same(getattr(here, name), getattr(there, name), name)
    # Roundings are independent: in all they are much smaller than one of them times the number of rows.
    np.testing.assert_allclose(here.expected_counts, there.expected_counts, atol=2**-23 * len(rows) ** 0.5)
    same(here.degree, there.degree, "degree", 1e-6)


def test_products_walk_where_a_third_of_all_pairs_has_votes(device):
    in_cells = {name for name, make in ROWS.items() if GpuEngine(make(), device=device).gpu.in_cells}
    assert in_cells.isdisjoint({"few pairs", "questions", "lists on few pairs", "votes on few pairs"})
    assert in_cells >= {"all pairs", "nearly all pairs", "lists", "votes", "votes in runs", "weighted votes", "ties"}


def decided(votes: Comparisons) -> Comparisons:
    return votes.only(votes.vote_result < 2)


@pytest.fixture
def in_lists(monkeypatch):
    """Few votes are mostly the same lists: say that they are not."""
    for module in ("rows.rows", "engines.gpu_crowd"):
        monkeypatch.setattr(f"jamrank.{module}.few_patterns", lambda votes: False)


@pytest.mark.parametrize("row", ["pair", "vote"])
@pytest.mark.parametrize(
    "votes",
    [
        decided(crowd(3000)),
        decided(crowd(700, n_items=80)),
        decided(crowd(3000, (1.0, 1.0, 1.0, 2.0))),
        crowd_of_two(),
    ],
    ids=["dense", "sparse", "repeated", "two items"],
)
def test_rows_of_a_crowd_are_made_on_the_device(votes, row, device, in_lists):
    made = rows_on_device(votes, row, device)
    assert isinstance(made, GpuCrowd)
    engine = GpuEngine(made, votes=votes)
    scores = np.zeros(votes.n_items)
    for use in (engine.initial_step(scores), engine.sides_taken(), engine.vote_counts, engine.n_links):
        assert use is not None
    engine.posterior(scores, np.log(np.full((votes.n_annotators, 2, 2), 0.5)))
    # A fit with its posterior needs no rows in memory.
    assert "rows" not in vars(made)
    assert_same_passes(engine, MemoryEngine(ROWS_BY[row](votes, None)))


@pytest.mark.parametrize(
    ("votes", "row"),
    [
        (crowd(), "vote"),
        (questions(), "vote"),
        (jury(0.5), "vote"),
        (decided(crowd(weights=(0.5, 1.0))), "vote"),
        (decided(crowd(weights=(1.0, 300.0))), "vote"),
        (decided(crowd(weights=(4.0,))), "vote"),
        (decided(crowd(4000, n_items=10)), "pair"),
        (decided(crowd()), "side"),
    ],
    ids=["ties", "questions", "jury", "fractions", "large weights", "many repeats", "patterns", "other rows"],
)
def test_other_rows_are_made_in_memory(votes, row, device):
    assert rows_on_device(votes, row, device) is None


def test_rows_that_do_not_fit_at_once_are_made_in_memory(device):
    assert rows_on_device(decided(crowd()), "vote", device, memory=10_000) is None


def test_a_pair_without_votes_that_count_is_left_to_memory(device):
    votes = decided(crowd())
    weight = np.ones(len(votes.vote_result))
    weight[votes.vote_start[3] : votes.vote_start[4]] = 0.0
    votes = replace(votes, storage=replace(votes.storage.table, weight=weight))
    assert rows_on_device(votes, "vote", device) is None


@pytest.mark.parametrize("model", [jr.JAM(engine="gpu"), jr.CrowdBT(engine="gpu")])
def test_fits_to_rows_made_on_the_device_agree_with_those_in_memory(model, device, monkeypatch, in_lists):
    votes = decided(crowd(4000))
    expected = type(model)().fit(votes)
    there = [getattr(expected, name).copy() for name in ("scores_", "flip_", "posterior_")]
    made = []
    monkeypatch.setattr("jamrank.engines.gpu.GpuDevice", lambda: device)
    monkeypatch.setattr(
        "jamrank.engines.gpu.rows_on_device", lambda *given: made.append(rows_on_device(*given)) or made[-1]
    )
    found = model.fit(replace(votes))
    for name, expected in zip(("scores_", "flip_", "posterior_"), there, strict=True):
        np.testing.assert_allclose(getattr(found, name), expected, atol=1e-6, err_msg=name)
    assert isinstance(made[0], GpuCrowd)
    # Scores were integrated out, and no pass went to rows in memory.
    assert found.result_.annotators.fit.flip_information is not None
    assert "rows" not in vars(made[0])


def test_more_items_than_two_bytes_can_number(device):
    n_items = (1 << 16) + 10
    left = np.arange(n_items - 1)
    votes = Comparisons.from_arrays(left, left + 1, left % 3, (left % 5 > 0).astype(float))
    rows = Rows.per_pair(votes)
    assert_same_passes(GpuEngine(rows, device=device), MemoryEngine(rows))


@pytest.mark.parametrize(
    "model", [jr.JAM(), jr.JAM(noise="two-coin"), jr.CrowdBT(), jr.JAM(ties="davidson"), jr.AmElo()]
)
@pytest.mark.parametrize("votes", [crowd(4000), jury(0.8)], ids=["crowd", "jury"])
@pytest.mark.filterwarnings("ignore::jamrank.errors.TiesExcludedWarning")
def test_fits_agree_with_those_in_memory(model, votes, device):
    expected = model.fit(votes)
    found = [getattr(expected, name).copy() for name in ("scores_", "flip_", "posterior_")]
    engines = []

    def make(votes, row, threads, tick):
        engines.append(GpuEngine(ROWS_BY[row](votes, threads), threads, votes, device=device))
        return engines[-1]

    memory = ENGINES["memory"]
    ENGINES.register("memory", Kind(read_into_memory, make, memory.suits))
    try:
        fitted = model.fit(votes)
        for name, there in zip(("scores_", "flip_", "posterior_"), found, strict=True):
            np.testing.assert_allclose(getattr(fitted, name), there, atol=1e-6, err_msg=name)
    finally:
        ENGINES.register("memory", memory)
    assert engines


def test_an_engine_goes_when_nobody_holds_it(device):
    rows = Rows.per_pair(jury(0.8))
    engine = GpuEngine(rows, device=device)
    at = engine.expectation(scores_of(rows), tables_of(rows))
    engine.initial_step(np.zeros(rows.n_items))
    gone = weakref.ref(engine)
    gc.disable()
    try:
        del engine
        assert gone() is None
    finally:
        gc.enable()
    assert at.value < 0


def test_weights_that_differ_too_much_stay_in_memory():
    rows = weighted(Rows.per_pair(jury(0.5)))
    rows = replace(rows, weight=np.where(rows.weight > 1, 1e12, 1e-3))
    with pytest.raises(GpuError, match="weights of the votes differ too much"):
        GpuEngine(rows, device=EmulatedDevice())


def test_without_a_gpu_the_fit_runs_in_memory_and_says_why(monkeypatch):
    def none() -> GpuDevice:
        raise GpuError("there is no GPU")

    monkeypatch.setattr("jamrank.engines.gpu.GpuDevice", none)
    with pytest.warns(GpuFallbackWarning, match="engine='gpu': there is no GPU; the fit runs in memory instead"):
        model = jr.JAM(engine="gpu").fit(jury(0.5))
    assert model.result_.convergence.engine == "memory"
    assert model.result_.convergence.engine_reason == "engine gpu cannot be used: there is no GPU"


def test_a_gpu_with_too_little_memory_is_not_reported_as_used(monkeypatch):
    class Full(EmulatedDevice):
        def empty(self, length, dtype):
            raise GpuError("the GPU has too little memory for the votes")

    monkeypatch.setattr("jamrank.engines.gpu.GpuDevice", Full)
    with pytest.warns(GpuFallbackWarning, match="too little memory for the votes; the fit runs in memory instead"):
        model = jr.JAM(engine="gpu").fit(jury(0.5))
    assert model.result_.convergence.engine == "memory"
    assert "too little memory" in model.result_.convergence.engine_reason


def test_no_cupy_is_told_in_one_line(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "cupy", None)
    with pytest.raises(GpuError, match=r"CuPy is not installed; pip install 'jamrank\[gpu\]'"):
        GpuDevice()
