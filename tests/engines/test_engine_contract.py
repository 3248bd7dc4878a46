"""Every engine says what the one in memory says: passes, curvatures, whole fits."""

from __future__ import annotations

import logging
import os
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import jamrank as jr
from jamrank.engines import ENGINES, Choice, Engine, GpuEngine, choose, make_engine
from jamrank.errors import ClusterError, GpuError, InputError, ParameterError
from jamrank.io.out_of_core import cluster as cluster_module
from jamrank.io.out_of_core import storage_plan
from jamrank.io.out_of_core.cluster import Cluster
from jamrank.kernels.gpu_device import GpuDevice
from jamrank.rows import ROWS_BY
from tests.engines.emulated_gpu import EmulatedDevice
from tests.engines.test_disk import draw

pytest.importorskip("distributed", reason="needs jamrank[cluster]")

TO_NUMBERS = {"margin", "tie", "tie-shared"}
MODELS = {
    "JAM": lambda: jr.JAM(max_iter=5),
    "BradleyTerry": lambda: jr.BradleyTerry(max_iter=3),
}


@pytest.fixture(
    scope="module",
    params=[pytest.param(False, id="threads"), pytest.param(True, id="processes", marks=pytest.mark.long)],
)
def cluster(request) -> Iterator[str]:
    """Two workers: threads, which start at once, and in the long suite processes."""
    from distributed import LocalCluster

    logging.getLogger("distributed").setLevel(logging.CRITICAL + 1)
    with LocalCluster(
        n_workers=2, threads_per_worker=1, processes=request.param, dashboard_address=None, silence_logs=50
    ) as local:
        yield local.scheduler_address


@pytest.fixture(scope="module")
def log_emission(tmp_path_factory) -> dict[str, tuple[pl.DataFrame, Path]]:
    folder = tmp_path_factory.mktemp("votes")
    made = {}
    for columns in ("", "question weight"):
        frame, _ = draw(40, 4000, columns)
        if columns:  # a pair that nobody voted on, and questions that are not named
            gone = pl.lit(None, dtype=pl.String)
            frame = frame.with_columns(
                pl.when(pl.int_range(pl.len()) < 25).then(gone).otherwise("winner").alias("winner"),
                pl.when(pl.col("question") == 2).then(None).otherwise("question").alias("question"),
            )
        where = folder / (columns or "plain")
        where.mkdir()
        for number in range(2):
            frame[2000 * number : 2000 * (number + 1)].write_parquet(where / f"{number}.parquet", row_group_size=700)
        made[columns] = frame, where
    return made


@pytest.fixture(scope="module")
def votes(log_emission, cluster, tmp_path_factory) -> Iterator[dict[tuple[str, str], object]]:
    """The same votes for every engine, by engine and columns."""
    found: dict[tuple[str, str], object] = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(storage_plan, "_PART_BYTES", (600_000_000 - storage_plan._PROCESS_BYTES) // 1000)
        for columns, (_, path) in log_emission.items():
            found["memory", columns] = jr.read_comparisons(path)
            found["disk", columns] = jr.store_comparisons(path, tmp_path_factory.mktemp("scratch"), "600MB")
            # Plain ones in one part, which needs no shuffle.
            found["dask", columns] = jr.distribute_comparisons(path, cluster, part_votes=1000 if columns else 10_000)
    yield found
    for columns in log_emission:
        found["dask", columns].close()


# On votes in memory the GPU runs, on a card or on an emulated one; test_gpu.py goes through its layouts.
OTHERS = [name for name in ENGINES if name not in ("memory", "gpu")]
PASSING = [*OTHERS, "gpu", "gpu, emulated"]
# How far sums may be from those in memory.
NEAR = {"gpu": 1e-6, "gpu, emulated": 1e-6}


def skip_without_gpu() -> None:
    try:
        GpuDevice()
    except GpuError as error:
        pytest.skip(f"no GPU here: {error}")


def engine_of(name: str, votes: dict[tuple[str, str], object], row: str) -> Engine:
    if name == "gpu, emulated":
        return GpuEngine(ROWS_BY[row](votes["memory", "question weight"], 1), 1, device=EmulatedDevice())
    if name == "gpu":
        skip_without_gpu()
    at = "memory" if name == "gpu" else name
    return make_engine(Choice(name, ""), votes[at, "question weight"], row, 1, None)


@pytest.mark.parametrize("columns", ["", "question weight"])
@pytest.mark.parametrize("engine", OTHERS)
def test_votes_are_the_same(votes, engine, columns):
    here, there = votes["memory", columns], votes[engine, columns]
    for name in ("n_votes", "n_missing", "n_ties", "n_pairs", "n_items", "has_questions"):
        assert getattr(there, name) == getattr(here, name), name
    for name in ("items", "annotators", "questions", "pair_first", "pair_second", "pair_question", "pair_weight"):
        np.testing.assert_array_equal(getattr(there, name), getattr(here, name), err_msg=name)
    for name in ("annotator_weight", "annotator_decided"):
        np.testing.assert_allclose(getattr(there, name), getattr(here, name), rtol=1e-12)


# A noise that needs lists of votes runs in memory alone.
@pytest.mark.parametrize("row", [row for row in ROWS_BY if row != "pair-by-ease"])
@pytest.mark.parametrize("engine", PASSING)
def test_passes_are_the_same(votes, engine, row):
    here, there = (engine_of(name, votes, row) for name in ("memory", engine))
    near = NEAR.get(engine, 1e-9)
    for name in ("n_items", "n_rows", "n_links", "n_confusion_groups"):
        assert getattr(there, name) == getattr(here, name), name
    np.testing.assert_allclose(there.vote_counts, here.vote_counts, rtol=1e-12)
    rng = np.random.default_rng(0)
    scores, vector = rng.normal(size=(2, here.n_items))
    shape = (here.n_confusion_groups,) if row in TO_NUMBERS else (here.n_confusion_groups, 2, 2)
    log_emission = np.log(rng.uniform(0.1, 0.9, shape)) * (-1 if row in TO_NUMBERS else 1)

    def same(a: object, b: object) -> None:
        np.testing.assert_allclose(b, a, rtol=near, atol=near)

    (begin, shares), (its_begin, its_shares) = (each.initial_step(np.zeros(here.n_items)) for each in (here, there))
    same(begin.gradient, its_begin.gradient)
    same(shares, its_shares)
    first, its_first = (each.expectation(scores, log_emission) for each in (here, there))
    last, its_last = (each.expectation(scores / 2, log_emission) for each in (here, there))
    for name in ("value", "gradient", "degree", "expected_counts", "truth_variance"):
        same(getattr(last, name), getattr(its_last, name))
    # The last one is kept; the others are worked out again, also where a fit begins.
    for mine, its in ((last, its_last), (first, its_first), (begin, its_begin)):
        # Curvatures are kept in single precision, by row or by pair.
        expected = here.curvature_times(mine.curvature, vector)
        np.testing.assert_allclose(there.curvature_times(its.curvature, vector), expected, rtol=1e-5, atol=1e-5)
    links, its_links = here.links(last.curvature), there.links(its_last.curvature)
    np.testing.assert_array_equal(links.first, its_links.first)
    np.testing.assert_array_equal(links.second, its_links.second)
    np.testing.assert_allclose(its_links.curvature, links.curvature, rtol=1e-6)
    (degree, known), (its_degree, its_known) = (each.observed(scores, log_emission, True) for each in (here, there))
    same(degree, its_degree)
    same(known.curvature, its_known.curvature)
    same(here.truth_variance(scores, log_emission), there.truth_variance(scores, log_emission))


@pytest.mark.filterwarnings("ignore::jamrank.errors.JamrankWarning")
@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("engine", [pytest.param("dask", marks=pytest.mark.long), "gpu"])  # from disk: test_disk.py
def test_fits_are_the_same(votes, engine, name):
    if engine == "gpu":
        skip_without_gpu()
    here = MODELS[name]().fit(votes["memory", "question weight"])
    there = (
        MODELS[name]()
        .set_params(engine=engine)
        .fit(votes["memory" if engine == "gpu" else engine, "question weight"])
    )
    assert (here.result_.convergence.engine, there.result_.convergence.engine) == ("memory", engine)
    for result in ("scores_", "flip_", "posterior_", "log_likelihood_"):
        expected = getattr(here, result)
        np.testing.assert_allclose(getattr(there, result), expected, atol=NEAR.get(engine, 1e-9), err_msg=result)
    # Here in closed form, there by differences of the slope; on a cluster nothing is drawn.
    its, own = there.ranking_["score_se"].to_numpy(), here.uncertainty("information").score_se
    np.testing.assert_allclose(np.sort(its), np.sort(own), rtol=1e-3)
    assert there.annotators_["verdict"].to_list() == here.annotators_["verdict"].to_list()


@pytest.fixture(scope="module")
def many_parts(log_emission, cluster) -> Iterator[jr.DistributedComparisons]:
    """So many parts that those of one worker are added up by few tasks."""
    spread = jr.distribute_comparisons(log_emission["question weight"][1], cluster, part_votes=90)
    assert len(spread.part_pairs) >= 4 * cluster_module._FAN_IN
    yield spread
    spread.close()


def test_parts_that_are_added_up_by_one_task_have_the_same_sums(many_parts, monkeypatch):
    own, done = many_parts, []
    scores = np.random.default_rng(0).normal(size=own.n_items)

    def passes() -> list[np.ndarray]:
        engine = make_engine(Choice("dask", ""), own, "vote", 1, lambda *tick: done.append(tick))
        log_emission = np.log(np.broadcast_to([[0.8, 0.2], [0.3, 0.7]], (engine.n_confusion_groups, 2, 2)))
        first, counts = engine.initial_step(scores)
        at = engine.expectation(scores, log_emission)
        product = engine.curvature_times(at.curvature, scores)
        return [first.gradient, counts, at.gradient, at.expected_counts, np.array(at.value), product]

    tasks: list[str] = []
    submit = Cluster._submit

    def watched(cluster, worker, function, *given):
        tasks.append(function.__name__)
        return submit(cluster, worker, function, *given)

    monkeypatch.setattr(Cluster, "_submit", watched)
    together = passes()
    few = len(tasks)
    assert "_sum_of_parts" in tasks
    assert {of for _, of in done} == {len(own.part_pairs)} and (len(own.part_pairs),) * 2 in done
    monkeypatch.setattr(cluster_module, "_SUMS_A_THREAD", 1000)
    apart = passes()
    assert "_sum_of_parts" not in tasks[few:]
    for one, other in zip(together, apart, strict=True):
        np.testing.assert_array_equal(one, other)


def a_worker(client) -> int:
    """Return the process of a worker."""
    process: int = next(iter(client.run(os.getpid).values()))
    if process == os.getpid():
        pytest.skip("a worker that is a thread cannot be killed")
    return process


@pytest.mark.long
@pytest.mark.filterwarnings("ignore::jamrank.errors.JamrankWarning")
def test_a_worker_that_dies_with_many_parts_costs_a_recomputation_not_the_fit(many_parts):
    expected = jr.CrowdBT(max_iter=4).fit(many_parts).scores_
    timer = threading.Timer(0.3, os.kill, (a_worker(many_parts.cluster.client), signal.SIGKILL))
    timer.start()
    np.testing.assert_array_equal(jr.CrowdBT(max_iter=4).fit(many_parts).scores_, expected)
    timer.join()


@pytest.mark.long
@pytest.mark.filterwarnings("ignore::jamrank.errors.JamrankWarning")
def test_a_worker_that_dies_costs_a_recomputation_not_the_fit(votes, cluster):
    spread = votes["dask", "question weight"]
    expected = jr.JAM(max_iter=2).fit(spread).scores_
    client = spread.cluster.client
    victim = a_worker(client)
    os.kill(victim, signal.SIGKILL)
    np.testing.assert_array_equal(jr.JAM(max_iter=2).fit(spread).scores_, expected)
    deadline = time.monotonic() + 60
    while len(client.run(os.getpid)) < 2 and time.monotonic() < deadline:
        time.sleep(0.1)
    assert victim not in client.run(os.getpid).values()


@pytest.mark.long
@pytest.mark.filterwarnings("ignore::jamrank.errors.JamrankWarning")
def test_votes_in_memory_are_sent(log_emission, cluster, monkeypatch):
    monkeypatch.setenv("DASK_SCHEDULER_ADDRESS", cluster)
    frame, path = log_emission["question weight"]
    here = jr.Comparisons.from_frame(frame)
    sent = jr.distribute_comparisons(here, part_votes=500)
    assert len(sent.part_pairs) > 4
    assert sent.n_pairs == here.n_pairs
    np.testing.assert_array_equal(sent.pair_question, here.pair_question)
    sent.close()
    model = jr.CrowdBT(engine="dask", max_iter=2).fit(path)
    np.testing.assert_allclose(model.scores_, jr.CrowdBT(max_iter=2).fit(here).scores_, atol=1e-9)
    assert model.result_.convergence.engine == "dask"
    model.result_.votes.source.close()


def test_what_is_wrong_with_a_file_is_told_with_its_row(log_emission, cluster, tmp_path):
    frame, _ = log_emission[""]
    bad = frame.with_columns(
        pl.when(pl.int_range(pl.len()) == 1500).then(pl.lit("up")).otherwise("winner").alias("winner")
    )
    bad.write_parquet(tmp_path / "bad.parquet", row_group_size=700)
    with pytest.raises(InputError, match=r"bad.parquet, row 1501: winner is 'up'"):
        jr.distribute_comparisons(tmp_path, cluster)
    alone = frame.with_columns(pl.when(pl.int_range(pl.len()) == 900).then("right").otherwise("left").alias("left"))
    alone.write_parquet(tmp_path / "bad.parquet", row_group_size=700)
    with pytest.raises(InputError, match=r"bad.parquet, row 901: .* is compared with itself"):
        jr.distribute_comparisons(tmp_path, cluster)
    with pytest.raises(InputError, match="no such file"):
        jr.distribute_comparisons(tmp_path / "nowhere", cluster)
    frame.drop("winner").write_parquet(tmp_path / "bad.parquet")
    with pytest.raises(InputError, match="no column 'winner'"):
        jr.distribute_comparisons(f"file://{tmp_path}", cluster)


def test_a_scheduler_that_is_not_there_is_named(monkeypatch):
    monkeypatch.setattr("jamrank.io.out_of_core.cluster._ANSWER_WITHIN", 0.5)
    with pytest.raises(ClusterError, match=r"no dask scheduler answers at 'tcp://127.0.0.1:9'"):
        jr.distribute_comparisons("votes", "tcp://127.0.0.1:9")


@pytest.mark.parametrize(
    ("engine", "given", "told"),
    [
        ("disk", "memory", "engine is 'disk', and the votes are a Comparisons"),
        ("memory", "disk", "votes are a StoredComparisons, and the engine needs them in memory"),
        ("dask", "disk", "engine is 'dask', and the votes are a StoredComparisons"),
        ("abacus", "memory", "engine is 'abacus'; expected 'auto', 'gpu', 'memory'"),
    ],
)
def test_engines_refuse_votes_that_are_elsewhere(votes, engine, given, told):
    with pytest.raises(ParameterError, match=told):
        jr.JAM(engine=engine).fit(votes[given, ""])


def test_models_that_need_memory_say_so(votes):
    with pytest.raises(ParameterError, match="VRJAM needs the votes in memory; JAM, CrowdBT and BradleyTerry"):
        jr.VRJAM().fit(votes["dask", ""])


def test_auto_goes_by_size_and_by_what_is_there(votes, log_emission, monkeypatch):
    monkeypatch.delenv("DASK_SCHEDULER_ADDRESS", raising=False)
    path = log_emission[""][1]
    assert [choose("auto", votes[name, ""]).name for name in ("memory", *OTHERS)] == ["memory", *OTHERS]
    assert choose("auto", path) == Choice("memory", "4,000 votes fit into memory")
    assert choose("auto", "votes.csv").name == "memory"
    monkeypatch.setattr("jamrank.engines.kind._memory", lambda: 1 << 20)
    assert choose("auto", path) == Choice("disk", "4,000 votes may not fit into memory")
    assert choose("auto", path, in_parts=False).name == "memory"
    monkeypatch.setenv("DASK_SCHEDULER_ADDRESS", "tcp://10.0.0.1:8786")
    assert choose("auto", path).name == "dask"
    assert "tcp://10.0.0.1:8786" in choose("auto", path).why
