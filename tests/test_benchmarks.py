"""What the benchmarks compute from their measurements."""

from __future__ import annotations

import json
from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip("benchmarks", reason="benchmarks/ is found where tests run as `python -m pytest` in the checkout")

from benchmarks import (
    alike_models,
    baseline,
    baseline_jobs,
    cluster,
    coverage,
    gpu,
    growth,
    heldout,
    ratios,
    recovery,
    report,
    scale,
    scorers,
    stages,
    verdicts,
)
from benchmarks.rivals import CONTENDERS
from benchmarks.trials import Trial
from benchmarks.votes import draw_jury

import jamrank as jr


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
        assert growth.fit(one.model, arrays, growth.encode(arrays)).result_.convergence.n_passes > 0


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
    rival = trial("evalica BT")
    rival.stop("not installed")
    judged = ratios.judge("", trial(ratios.OURS, 0.1), rival, "≤", 0.5, "")
    assert judged.value is None and judged.met is None and "not installed" in judged.why


def test_text_ids_are_judged_for_each_kind_of_object_or_said_to_be_missing():
    seconds = {"CrowdBT": 0.2, "BradleyTerry": 0.2, "evalica BT": 0.5}
    judged = ratios.judge_text([{"kind": "lists", "votes": 10, "seconds": seconds}])
    assert [one.met for one in judged] == [True, False]
    assert [one.value for one in ratios.judge_text([])] == [None]


def test_figures_at_scale_are_read_where_they_are(tmp_path):
    path = tmp_path / "scale.json"
    assert [one.value for one in ratios.judge_scale(path)] == [None, None]
    path.write_text('{"about": {"commit": "abc"}, "results": {"votes": 1e9, "peak_gb": 3.5, "exponent": 1.1}}')
    assert [one.met for one in ratios.judge_scale(path)] == [True, False]


def test_every_moment_belongs_to_one_stage(monkeypatch):
    now = [0.0]

    def spend(seconds):
        now[0] += seconds

    monkeypatch.setattr(stages, "time", SimpleNamespace(perf_counter=lambda: now[0]))
    owner = SimpleNamespace(outer=lambda: (spend(2.0), owner.inner()), inner=lambda: spend(3.0))
    original = owner.inner
    watch = stages.Stopwatch(_since=0.0)
    watch.watch(owner, "outer", "a")
    watch.watch(owner, "inner", "b")
    owner.outer()
    spend(0.5)
    assert watch.stop() == {"a": 2.0, "b": 3.0, stages.REST: 0.5}
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


@pytest.mark.parametrize("cell", heldout.CELLS, ids=lambda cell: cell.name)
def test_votes_of_every_cell_are_drawn_with_features(cell):
    votes, features = heldout.draw(cell, np.random.default_rng(0))
    assert 3_000 <= votes.n_votes <= 8_000
    assert set(votes.items.tolist()) <= set(features)


@pytest.mark.long
def test_a_simulation_tells_what_was_picked():
    run = heldout.simulate(heldout.CELLS[1], 0)
    assert (run["cell"], run["picked"], run["ok"]) == ("CrowdBT", "CrowdBT", True)


@pytest.mark.long
def test_real_votes_are_held_out_from_the_choice_too():
    votes = jr.simulate(20, 8, 1500, truth="vote", random_state=0).votes
    found = heldout.measure_real(heldout.Real("made up", lambda folder: (votes, None), 0.01), heldout.SHARED, "vote")
    assert len(found["chosen"]) == heldout.FOLDS
    assert found["ok"] and found["gain_low"] > 0
    runs = [{"cell": cell.name, "picked": cell.name, "behind": 0.0, "ok": True} for cell in heldout.CELLS]
    text = heldout.as_markdown(runs, [found], ["arguments"], {"seed": "0"})
    assert "arguments: not there, left out." in text


def test_a_line_is_slower_where_its_ratio_exceeds_the_spread_of_the_old_commit():
    def line(old, new):
        measured = [{"wall": seconds, "cpu": seconds} for seconds in (*old, new)]
        return baseline.Line("", measured[:1], measured[2:], measured[1:2])

    assert line((1.0, 1.2), 1.5).spread("cpu") == 1.2
    assert line((1.0, 1.2), 1.5).slower("cpu")
    assert not line((1.0, 1.2), 1.3).slower("cpu")


def test_jobs_beside_an_earlier_commit_fit_flips_jointly():
    assert baseline_jobs.joint("JAM").flips == "joint"
    names = [baseline_jobs.as_text(kind, "left-", np.array([1, 0])) for kind in ("lists", "numpy text", "polars")]
    assert all(list(one) == ["item-1", "item-0"] for one in names)


def test_tables_keep_their_columns():
    assert report.table(["a", "b"], [["1|2", "x\ny"]]) == ["| a | b |", "|---|---|", "| 1\\|2 | x y |", ""]


@pytest.mark.parametrize("noise", [True, False])
def test_the_benchmark_of_scorers_recovers_what_it_drew(noise):
    found = scorers.recover(0, 1.0, noise, n_items=80, n_pairs=800)
    assert found["largest error of a weight"] < 0.4 and found["largest error of a flip"] < 0.05
    assert 0.3 < found["variance"] < 3.5


def test_scorers_are_judged_by_the_better_rival_and_the_best_variance():
    def one(value):
        return {
            "recommended": value,
            "by": "scores",
            "posterior": 98.0,
            "order": value,
            "order of all": 97.0,
            "variance": 1.0,
        }

    names = dict(zip((*scorers.SCORERS, "best variance"), (98.0, 99.5, 99.3, 99.7), strict=True))
    point = scorers.summed_up([{name: one(value) for name, value in names.items()}], 1.0, 3000)
    digits = {"ties=random": {"MV": [80.0], "JAM": [83.0], "VRJAM": [82.5], "KernelJAM": [84.0]}}
    varying = {"the same two": [{"JAM": 90.0, "VRJAM": 92.0, "largest error of a flip": 0.05}]}
    assert [row[1:] for row in scorers.judged([point], digits, varying)] == [
        ["0.20", "≤ 0.3", "met"],
        ["0.40", "≤ 0.3", "missed"],
        ["99.30", "≥ 99.0", "met"],
        ["4.00", "≥ 3.0", "met"],
        ["0.50", "≤ 0.1", "missed"],
        ["2.00", "≥ 1.5", "met"],
        ["0.050", "≤ 0.06", "met"],
    ]
    drawn = [{"model": "JAM", "true variance": 1.0, "variance": 1.2}]
    found = {"wine": [point], "digits": digits, "digits by sums": {}, "varying": varying, "recovery": drawn}
    text = scorers.as_markdown(found, {"seeds": "0"})
    assert "noise 1.0, 3,000 pairs" in text and "1.200" in text


@pytest.mark.long
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


@pytest.mark.parametrize("every", [4, pytest.param(1, marks=pytest.mark.long)])
def test_every_noise_and_scorer_has_a_trial_of_recovery(every):
    assert len({case.name for case in recovery.CASES}) == len(recovery.CASES)
    cases = []
    for case in recovery.CASES[::every]:
        found = recovery.trial(case, 0, 600)
        assert all(0 <= inside <= total and total >= recovery.FEATURES for inside, total in found["inside"].values())
        assert 0 < found["loss"] < 2 and 0 < found["bradley_terry"] < 2
        cases.append(recovery.summary(case, [found]))
    written = recovery.text(cases, 600, {"commit": "x"})
    assert all(case.name in written for case in recovery.CASES[::every])


def test_the_cluster_s_page_says_what_was_measured():
    costs = {"memory": 5.0, "disk": 20.0, "dask": 6.0}
    away = dict.fromkeys(cluster.RESULTS, 1e-12)
    scaling = {"votes": 10**8, "parts": 48, "ratio": 1.9}
    for count in (1, 2):
        scaling |= {f"encode_seconds_{count}": 90.0 / count, f"resident_{count}": 4 * 10**9}
        scaling |= {f"pass_seconds_{count}": 0.6 / count}
    found = {
        "agreement": {"wine": {"disk": away, "dask": away}},
        "scaling": scaling,
        "traffic": [{"votes": 10**6, "parts": 1, "bytes": 5e6, "sums_bytes": 2e6}],
        "killed": {"died": True, "same_bits": True, "seconds": 3.0, "seconds_with_a_death": 9.0},
        "gone": {"exit": 2, "told": "jamrank: gone", "untouched": True},
        "cost": {
            "votes": 10**7,
            "encode_ns": costs,
            "encode_processor_ns": 293.4,
            "pass_ns": costs,
            "vote_seconds": 6e-9,
            "sum_seconds": 1e-9,
            "task_seconds": 1e-3,
            "row_bytes": costs,
        },
    }
    found["model"] = cluster.model(found)
    # Six nanoseconds a vote and one a sum on one thread, half as many on two; a millisecond for each of 48 tasks and
    # for those that add up.
    sums = 48e-9 * (1 + 2 * scale.N_ITEMS + 3 * scale.N_ANNOTATORS)
    assert found["model"]["check"]["1"]["told"] == pytest.approx(0.6 + sums + 48 * 8 / 7 * 1e-3)
    assert found["model"]["check"]["2"]["told"] == pytest.approx(0.3 + sums / 2 + 48 * 8 / 7 * 1e-3)
    large = found["model"]["large"]
    assert large["passing"] == pytest.approx(10**11 * 6e-9 / 4096 * 3)
    assert large["scheduling"] == pytest.approx(4096 * 8 / 7 * 1e-3)
    page = cluster.as_markdown(found, {"seed": "0"})
    for told in ("1.90 times faster", "the same result, bit for bit", "exit code 2", "1.0e-12", "5.0 | 2.0 |"):
        assert told in page


@pytest.mark.long
def test_coverage_is_measured_on_votes_of_each_model_and_goes_on_where_it_stopped(tmp_path):
    done, cases = tmp_path / "build" / "done.jsonl", coverage.cases_of([(6, 3, 80)], 1, 2.0)
    found = coverage.run(cases[:1], done, 1)
    assert coverage.run(cases, done, 1)[cases[0]] == found[cases[0]]
    rows = coverage.summary(coverage.run(cases, done, 1))
    assert [row["model"] for row in rows] == list(coverage.MODELS)
    assert all(0 <= row[name] <= 1 for row in rows for name in (*coverage.SHOWN, *coverage.NORMAL))
    assert all(0.1 < row["ratio"] < 10 for row in rows)
    assert "JAM" in coverage.text(rows, 2.0, {"commit": "x"})


@pytest.mark.parametrize(("truth", "model"), [("pair", jr.JAM), ("vote", jr.CrowdBT)])
def test_the_oracle_of_unusual_scores_draws_as_the_one_of_coverage_where_scores_are_normal(truth, model):
    line = alike_models.ModelLine("plain", model, truth=truth)
    drawn = alike_models.draw(line, 0)
    known = alike_models.oracle(line, drawn, 0)
    fitted = model().fit(drawn.votes)
    same = coverage._with_the_truth_known(fitted, SimpleNamespace(flips=drawn.base), 1.5)
    np.testing.assert_allclose(known.score_se, same.score_se, rtol=0.25)
    assert np.abs(known.score_low - same.score_low).mean() < 0.15
    assert known.score_se.mean() == pytest.approx(same.score_se.mean(), rel=0.05)


@pytest.mark.parametrize("line", alike_models.MODEL_LINES, ids=lambda line: line.name)
def test_lines_of_unusual_scores_and_flips_are_determined_by_the_seed(line):
    one, again, other = (alike_models.draw(line, seed) for seed in (3, 3, 4))
    assert (one.won == again.won).all() and (one.scores == again.scores).all()
    assert not np.array_equal(one.scores, other.scores)
    assert one.won.sum() + one.lost.sum() == line.n_votes == one.votes.n_votes
    assert ((one.flips > 0) & (one.flips < 1)).all()


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
