"""What the benchmarks compute from their measurements."""

from __future__ import annotations

import json
import time
from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip("benchmarks", reason="benchmarks/ is found where tests run as `python -m pytest` in the checkout")

from benchmarks import gpu, growth, ratios, recovery, report, stages, verdicts
from benchmarks.rivals import CONTENDERS
from benchmarks.trials import Trial
from benchmarks.votes import draw_jury


def rows_of(values):
    return [{"size": size, "seconds": value} for size, value in values.items()]


def test_the_exponent_of_a_power_is_found():
    slope, error = growth.exponent(rows_of({n: 3e-6 * n**1.5 for n in (100, 200, 400, 800, 1600)}), "seconds")
    assert slope == pytest.approx(1.5)
    assert error == pytest.approx(0.0, abs=1e-9)


def test_there_is_no_exponent_of_what_is_not_positive():
    assert growth.exponent(rows_of({100: 1.0, 200: 0.0, 400: 2.0}), "seconds") is None


def test_every_growth_has_five_sizes_and_draws_votes():
    for one in growth.GROWTHS:
        assert len(one.sizes) >= 5
        arrays = one.draw_tiny()
        assert growth.fit(one.model, arrays, growth.encode(arrays)).n_passes_ > 0


@pytest.mark.parametrize(
    ("value", "sign", "asked", "is_bound", "met"),
    [
        (0.5, "≤", 0.5, False, True),
        (0.51, "≤", 0.5, False, False),
        (4.0, "<", 4.0, False, False),
        (100.0, "≥", 100.0, False, True),
        (99.0, "≥", 100.0, False, False),
        (99.0, "≥", 100.0, True, None),
        (101.0, "≥", 100.0, True, True),
        (None, "≥", 100.0, False, None),
    ],
)
def test_a_bound_is_met_missed_or_open(value, sign, asked, is_bound, met):
    assert ratios.Judged("", value, sign, asked, is_bound=is_bound).met is met


def trial(name, seconds=None, limit=60.0):
    made = Trial(CONTENDERS[name], 500_000, limit)
    if seconds is not None:
        made.add([{"seconds": seconds, "warm": warm} for warm in (False, True)])
    return made


def test_a_rival_that_was_stopped_gives_a_lower_bound():
    ours, rival = trial(ratios.OURS, 0.1), trial(ratios.SLOW[0], limit=20.0)
    rival.stop("> 20 s", over_limit=True)
    judged = ratios.judge("", rival, ours, "≥", 100.0, "")
    assert (judged.value, judged.is_bound, judged.met) == (pytest.approx(200.0), True, True)


def test_a_rival_that_is_not_installed_is_shown_as_such():
    rival = trial(ratios.FAST[0])
    rival.stop("not installed")
    judged = ratios.judge("", trial(ratios.OURS, 0.1), rival, "≤", 0.5, "")
    assert judged.value is None and judged.met is None and "not installed" in judged.why


def test_figures_at_scale_are_read_where_they_are(tmp_path):
    path = tmp_path / "scale.json"
    assert [one.value for one in ratios.judge_scale(path)] == [None, None]
    path.write_text('{"about": {"commit": "abc"}, "results": {"votes": 1e9, "peak_gb": 3.5, "exponent": 1.1}}')
    assert [one.met for one in ratios.judge_scale(path)] == [True, False]


def test_every_moment_belongs_to_one_stage():
    owner = SimpleNamespace(outer=lambda: (time.sleep(0.02), owner.inner()), inner=lambda: time.sleep(0.02))
    original = owner.inner
    watch = stages.Stopwatch()
    watch.watch(owner, "outer", "a")
    watch.watch(owner, "inner", "b")
    begin = time.perf_counter()
    owner.outer()
    seconds = watch.stop()
    assert sum(seconds.values()) == pytest.approx(time.perf_counter() - begin, abs=0.01)
    assert min(seconds["a"], seconds["b"]) >= 0.019
    assert owner.inner is original


def test_kernels_within_encoding_belong_to_it():
    owner = SimpleNamespace(kernel=lambda array: None)
    watch = stages.Stopwatch()
    watch.watch(owner, "kernel", stages.E_STEP, kernel=True)
    with watch.stage(stages.ENCODING):
        owner.kernel(np.zeros(3))
    owner.kernel(np.zeros(5))
    assert vars(watch.work[stages.E_STEP]) == {"calls": 1, "rows": 5, "bytes": 40}
    assert set(watch.stop()) == {stages.REST, stages.ENCODING, stages.E_STEP}


def test_a_drawn_jury_judges_every_item():
    drawn = draw_jury(30, 40, 3, np.array([0.1, 0.2]), seed=0)
    assert len(drawn["first"]) == 40 and (drawn["first"] < drawn["second"]).all()
    assert set(drawn["first"]) | set(drawn["second"]) == set(range(30))


def test_tables_keep_their_columns():
    assert report.table(["a", "b"], [["1|2", "x\ny"]]) == ["| a | b |", "|---|---|", "| 1\\|2 | x y |", ""]


@pytest.mark.filterwarnings("ignore::jamrank.errors.TiesExcludedWarning")
def test_the_benchmark_of_verdicts_runs_in_small():
    found = verdicts.shares(verdicts.verdicts_of(0, "pair", "JAM"))
    assert found["all kinds"] >= 0.8
    assert found["accused"] <= 0.05
    assert verdicts.crowd_bt(0)[0] > 0.7


def test_shares_of_verdicts():
    told = [("honest", "reliable"), ("honest", "random"), *((kind, "noisy") for kind in verdicts.KINDS)]
    found = verdicts.shares(told)
    assert found["accused"] == 0.5
    assert found["noisy"] == 1.0
    assert found["all kinds"] == pytest.approx(1 / len(verdicts.KINDS))


def test_every_noise_has_a_trial_of_recovery():
    assert len({case.name for case in recovery.CASES}) == len(recovery.CASES)
    cases = []
    for case in recovery.CASES:
        found = recovery.trial(case, 0, 600)
        assert all(
            0 <= inside <= total and total >= recovery.ANNOTATORS for inside, total in found["inside"].values()
        )
        assert 0 < found["loss"] < 2 and 0 < found["bradley_terry"] < 2
        cases.append(recovery.summary(case, [found]))
    written = recovery.text(cases, 600, {"commit": "x"})
    assert all(case.name in written for case in recovery.CASES)


def test_the_figures_of_a_gpu_are_those_that_were_measured():
    found = json.loads((report.HERE / "gpu.json").read_text())
    assert gpu.as_markdown(found) == (report.HERE / "gpu.md").read_text()
    assert all(one["largest"] <= gpu.AGREEMENT for one in found["agreement"])


@pytest.mark.parametrize("n_items", [2, 9])
def test_pairs_of_a_layout_are_sorted_and_in_order(n_items):
    first, second = gpu.every_pair(n_items)
    np.testing.assert_array_equal((first, second), np.triu_indices(n_items, 1))
    for first, second in (gpu.some_pairs(n_items, 0.7), gpu.spread_pairs(n_items, 40)):
        assert (np.diff(first) >= 0).all() and (first < second).all() and (second < n_items).all()
