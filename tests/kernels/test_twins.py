"""Every compiled loop against its numpy twin."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jamrank.kernels import compiled, default_threads, kernels, twin

CODE_TYPES = [np.uint8, np.int32, float]
needs_compiled = pytest.mark.skipif(not compiled, reason="jamrank was built without its compiled kernels")


def rows_of(rng: np.random.Generator, n: int, n_items: int) -> tuple[np.ndarray, np.ndarray]:
    first = np.sort(rng.integers(0, n_items - 1, n)).astype(np.int32)
    second = (first + 1 + rng.integers(0, n_items, n) % (n_items - 1 - first)).astype(np.int32)
    return first, second


@st.composite
def problems(draw):
    """Random rows with margins up to ±2000, tables with zeros, and sometimes weights."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n, n_items = draw(st.integers(1, 1500)), draw(st.integers(2, 60))
    n_patterns = draw(st.integers(1, 20) | st.sampled_from([63, 64, 65, 256]))
    kind = draw(st.sampled_from(["near", "far", "walk"]))
    if kind == "walk":
        first, second = (side.astype(np.int32) for side in np.triu_indices(n_items, 1))
        n = len(first)
    else:
        first, second = rows_of(rng, n, n_items)
    scores = rng.standard_normal(n_items) * draw(st.sampled_from([0.0, 1e-9, 1.0, 30.0, 1000.0]))
    table = np.exp(rng.standard_normal((2, n_patterns)) * draw(st.sampled_from([0.0, 3.0, 100.0])))
    table /= table.max(axis=0)
    certain = rng.random(n_patterns) < draw(st.sampled_from([0.0, 0.5]))
    table[rng.integers(0, 2, n_patterns), np.arange(n_patterns)] *= 1 - certain
    table[:, table.max(axis=0) == 0] = [[1.0], [0.0]]
    table /= table.max(axis=0)
    return {
        "first": first,
        "second": second,
        "scores": scores,
        "if_first": np.ascontiguousarray(table[0]),
        "if_second": np.ascontiguousarray(table[1]),
        "pattern": rng.integers(0, n_patterns, n).astype(draw(st.sampled_from([np.int32, np.uint8]))),
        "layout": kind,
        "weight": rng.uniform(0, 3, n) if draw(st.booleans()) else np.empty(0),
        "posterior": rng.choice([0.0, 1.0, 0.3, 0.999], n),
        "threads": draw(st.integers(1, 4)),
    }


def layout(p) -> tuple[np.ndarray, np.ndarray]:
    """Return the items as passes read them; all pairs need none, few items take two bytes."""
    if p.get("layout") == "walk":
        return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int32)
    start = np.searchsorted(p["first"], np.arange(len(p["scores"]) + 1))
    return start, p["second"].astype(np.uint16) if p.get("layout") == "near" else p["second"]


def room(p, curvature: bool, posterior: bool) -> dict[str, np.ndarray]:
    """Return what every expectation writes into."""
    n, n_items = len(p["first"]), len(p["scores"])
    return {
        "posterior": np.full(n if posterior else 0, np.nan),
        "curvature": np.full(n if curvature else 0, np.nan, dtype=np.float32),
        "gradient": np.full(n_items, np.nan),
        "degree": np.full(n_items if curvature or n % 2 else 0, np.nan),
    }


def expectation(
    module, p, sums: bool = True, posterior: bool = True, curvature: bool = True
) -> dict[str, np.ndarray]:
    out = room(p, curvature, posterior)
    out["by_pattern"] = np.full(len(p["if_second"]) if sums else 0, np.nan)
    inputs = [*layout(p), *(p[name] for name in ("pattern", "weight", "if_first", "if_second", "scores"))]
    out["value"] = np.array(module.expectation(*inputs, *out.values(), p["threads"]))
    return out


def expectation_votes(
    module, p, begin: np.ndarray, posterior: bool = True, curvature: bool = True, observed: bool = True
) -> dict[str, np.ndarray]:
    """Run the pass over single votes; the problem's rows are links, and ``pattern`` has the kind of each vote."""
    n, n_items, n_kinds = len(p["pattern"]), len(p["scores"]), len(p["if_second"])
    out = {
        "posterior": np.full(n if posterior else 0, np.nan),
        "curvature": np.full(len(p["first"]) if curvature else 0, np.nan, dtype=np.float32),
        "gradient": np.full(n_items, np.nan),
        "degree": np.full(n_items, np.nan),
        "expected_counts": np.full(n_kinds, np.nan),
        "hidden": np.full(n_kinds, np.nan),
        "observed": np.full(n_items if observed else 0, np.nan),
    }
    inputs = [*layout(p), begin, *(p[name] for name in ("pattern", "weight", "if_first", "if_second", "scores"))]
    out["value"] = np.array(module.expectation_votes(*inputs, *out.values(), p["threads"]))
    return out


def expectation_sides(module, p) -> dict[str, np.ndarray]:
    """Run the pass over votes that are the truth; the problem's rows are links."""
    n, n_items = len(p["first"]), len(p["scores"])
    total = p["weight"] if len(p["weight"]) else np.arange(1.0, n + 1) % 4
    wins = total * np.random.default_rng(n).choice([0.0, 0.5, 1.0], n)
    out = {
        "curvature": np.full(n, np.nan, dtype=np.float32),
        "gradient": np.full(n_items, np.nan),
        "degree": np.full(n_items, np.nan),
    }
    out["value"] = np.array(
        module.expectation_sides(*layout(p), wins, total, p["scores"], *out.values(), p["threads"])
    )
    return out


def direct(module, p, begin: np.ndarray, question: int) -> dict[str, np.ndarray]:
    """Run the pass over votes that depend on the margin directly; the problem's rows are links."""
    n_items, n_confusion_groups = len(p["scores"]), len(p["params"])
    out = {
        "curvature": np.full(len(p["first"]), np.nan, dtype=np.float32),
        "gradient": np.full(n_items, np.nan),
        "degree": np.full(n_items, np.nan),
        "slope": np.full(n_confusion_groups, np.nan),
        "information": np.full(n_confusion_groups, np.nan),
    }
    inputs = [*layout(p), begin, *(p[name] for name in ("pattern", "weight", "params", "scores")), question]
    out["value"] = np.array(module.direct(*inputs, *out.values(), p["threads"]))
    return out


def with_params(problem) -> dict:
    """Return the problem with a parameter for each coin, from small to very large ones."""
    rng = np.random.default_rng(len(problem["scores"]))
    n_confusion_groups = (len(problem["if_second"]) + 1) // 2
    return problem | {"params": rng.standard_normal(n_confusion_groups) * rng.choice([0.0, 1.0, 50.0])}


def maximisation(module, p, loss: int) -> dict[str, np.ndarray]:
    n, n_items = len(p["first"]), len(p["scores"])
    out = {"curvature": np.empty(n, np.float32), "gradient": np.empty(n_items), "degree": np.empty(n_items)}
    inputs = [*layout(p), p.get("pattern_of", np.empty(0, np.int32)), p["weight"], p["posterior"], p["scores"]]
    out["value"] = np.array(module.maximisation(*inputs, loss, *out.values(), p["threads"]))
    return out


def laplacian(module, p, vector: np.ndarray, counted: bool = False) -> dict[str, np.ndarray]:
    curvature = np.empty(0, np.float32) if counted else p["posterior"].astype(np.float32)
    product = np.empty(len(vector))
    module.laplacian(*layout(p), curvature, vector, product, p["threads"])
    return {"product": product}


def solve_laplacian(module, p, diagonal: float, held: bool) -> dict[str, np.ndarray]:
    n_items, curvature = len(p["scores"]), p["posterior"].astype(np.float32)
    degree = np.bincount(p["first"], curvature, n_items) + np.bincount(p["second"], curvature, n_items)
    own, solution = np.full(n_items, diagonal), np.empty(n_items)
    share = degree / (degree + own)
    given = p["scores"], own, 1 / (degree + own), share, (degree * (1 - share)).sum() if held else np.inf, 0.0, 2
    module.solve_laplacian(*layout(p), curvature, *given, solution, p["threads"])
    return {"solution": solution}


def lloyd(module, p, matrix: np.ndarray, centroids: np.ndarray, rounds: int = 3) -> dict[str, np.ndarray]:
    out = {"centroids": centroids.ravel().copy(), "cluster": np.full(len(p["first"]), -1, dtype=np.int32)}
    module.lloyd(p["first"], p["second"], matrix.ravel(), *out.values(), matrix.shape[1], rounds, 0.0, p["threads"])
    return out


def patterns(module, start, annotator, result, weight) -> dict[str, np.ndarray]:
    n = len(start) - 1
    pattern, example, share = np.empty(n, np.int32), np.empty(n, np.int64), np.empty(n)
    count = module.patterns(start, annotator, result, weight, pattern, example, share, 2)
    return {"pattern": pattern, "example": example[:count], "share": share}


def assert_close(a: dict[str, np.ndarray], b: dict[str, np.ndarray], relative: float = 1e-12) -> None:
    for name in b:
        assert a[name].dtype == b[name].dtype, name
        if b[name].dtype == np.float32:
            np.testing.assert_allclose(a[name], b[name], rtol=1e-6, atol=1e-13, err_msg=name)
            continue
        scale = max(float(np.abs(b[name]).max(initial=0.0)), 1.0)
        np.testing.assert_allclose(a[name], b[name], rtol=relative, atol=relative * scale, err_msg=name)


# -- compiled equals plain ----------------------------------------------------------------------------------


@needs_compiled
@settings(deadline=None)
@given(problems(), st.booleans(), st.booleans(), st.booleans())
def test_expectation_equals_its_twin(problem, sums, posterior, curvature):
    wanted = sums, posterior, curvature
    assert_close(expectation(kernels, problem, *wanted), expectation(twin, problem, *wanted))


@needs_compiled
@pytest.mark.parametrize("name", ["baseline", "v3", "v4"])
@settings(deadline=None)
@given(problem=problems(), sums=st.booleans(), posterior=st.booleans(), curvature=st.booleans())
def test_one_table_of_ratios_says_the_same_as_two(name, problem, sums, posterior, curvature):
    known = problem["if_first"] > 0
    problem = problem | {
        "if_first": np.empty(0),
        "if_second": np.where(known, problem["if_second"] / np.where(known, problem["if_first"], 1.0), 1.0),
    }
    wanted = sums, posterior, curvature
    if not kernels.select(name):
        pytest.skip(f"this processor lacks {name}")
    try:
        ours = expectation(kernels, problem, *wanted)
    finally:
        kernels.select("auto")
    assert_close(ours, expectation(twin, problem, *wanted))


@needs_compiled
@pytest.mark.parametrize("log_ratio", [30.0, 80.0, 200.0, 300.0, 650.0])
@pytest.mark.parametrize("spread", [1.0, 90.0, 145.0, 200.0])
@pytest.mark.parametrize("kind", ["walk", "near", "far"])
def test_extreme_ratios_and_scores_neither_vanish_nor_overflow(log_ratio, spread, kind):
    rng = np.random.default_rng(0)
    first, second = (side.astype(np.int32) for side in np.triu_indices(40, 1))
    problem = {
        "first": first,
        "second": second,
        "layout": kind,
        "scores": rng.uniform(-spread, spread, 40),
        "if_first": np.empty(0),
        "if_second": np.exp(rng.choice([-1.0, 1.0], 9) * log_ratio),
        "weight": np.empty(0),
        "threads": 1,
    }
    for side in (0, 1):
        # Alike for long, so that products would grow.
        pattern = np.where(rng.random(len(first)) < 0.05, rng.integers(0, 9, len(first)), side)
        problem["pattern"] = pattern.astype(np.uint8)
        ours, plain = (expectation(module, problem) for module in (kernels, twin))
        assert_close(ours, plain)
        np.testing.assert_allclose(ours["posterior"], plain["posterior"], rtol=1e-12)


@needs_compiled
@settings(deadline=None)
@given(problems(), st.integers(1, 8), st.sampled_from([1, 4, 40]), *[st.booleans()] * 4)
def test_expectation_over_lists_equals_its_twin(
    problem, n_confusion_groups, longest, weighted, posterior, curvature, observed
):
    n = len(problem["first"])
    rng = np.random.default_rng(n)
    vote_start = np.concatenate([[0], np.cumsum(rng.integers(0, longest + 1, n))])
    vote = rng.integers(0, 2 * n_confusion_groups, vote_start[-1]).astype(np.int32)
    weight = rng.uniform(0, 3, len(vote)) if weighted else np.empty(0)
    log_emission = -rng.exponential(2.0, 4 * n_confusion_groups)
    results = []
    for module in (kernels, twin):
        out = room(problem, curvature, posterior)
        out["degree"] = np.full(len(problem["scores"]), np.nan)
        out["expected_counts"] = np.full(2 * n_confusion_groups, np.nan)
        out["hidden"] = np.full(2 * n_confusion_groups if observed else 0, np.nan)
        out["observed"] = np.full(len(problem["scores"]) if observed else 0, np.nan)
        inputs = *layout(problem), vote_start, vote, weight, log_emission, problem["scores"]
        out["value"] = np.array(module.expectation_lists(*inputs, *out.values(), problem["threads"]))
        results.append(out)
    assert_close(*results)


def on_links(problem, most: int) -> tuple[dict, np.ndarray]:
    """Return a problem whose rows are links with up to so many votes each, and where those of each begin."""
    rng = np.random.default_rng(len(problem["first"]))
    counts = rng.integers(1, most + 1, len(problem["first"]))
    begin = np.concatenate([[0], np.cumsum(counts)])
    kind = rng.integers(0, len(problem["if_second"]), begin[-1]).astype(problem["pattern"].dtype)
    weight = rng.uniform(0, 3, begin[-1]) if len(problem["weight"]) else np.empty(0)
    return problem | {"pattern": kind, "weight": weight}, begin


@needs_compiled
@settings(deadline=None)
@given(problems(), st.sampled_from([1, 2, 40, 300]), st.booleans(), st.booleans(), st.booleans())
def test_expectation_over_single_votes_equals_its_twin(problem, most, posterior, curvature, observed):
    problem, begin = on_links(problem, most)
    wanted = posterior, curvature, observed
    ours, plain = (expectation_votes(module, problem, begin, *wanted) for module in (kernels, twin))
    # Many votes on a link almost cancel, and their sums are rounded.
    assert_close(ours, plain, 1e-12 if most < 40 else 1e-10)
    if most == 1:
        without = expectation_votes(kernels, problem, np.empty(0, dtype=np.int64), *wanted)
        assert_close(without, plain)


@needs_compiled
@settings(deadline=None)
@given(problems())
def test_one_table_of_ratios_says_the_same_of_single_votes(problem):
    known = problem["if_first"] > 0
    ratio = np.where(known, problem["if_second"] / np.where(known, problem["if_first"], 1.0), 1.0)
    problem, begin = on_links(problem | {"if_first": np.empty(0), "if_second": ratio}, 5)
    assert_close(*(expectation_votes(module, problem, begin) for module in (kernels, twin)))


@needs_compiled
@settings(deadline=None)
@given(problems())
def test_the_pass_over_sides_equals_its_twin(problem):
    assert_close(*(expectation_sides(module, problem) for module in (kernels, twin)))


@settings(deadline=None)
@given(problems())
def test_the_pass_over_sides_is_that_over_votes_which_are_certain(problem):
    """Of one kind of vote for the first item, with no likelihood if the second is better."""
    certain = {"pattern": np.zeros(len(problem["first"]), dtype=np.uint8), "weight": np.ones(len(problem["first"]))}
    certain |= {"if_first": np.ones(1), "if_second": np.zeros(1)}
    votes = expectation_votes(twin, problem | certain, np.empty(0, dtype=np.int64))
    n_items, out = len(problem["scores"]), {"curvature": votes["curvature"] * np.float32(0)}
    out |= {"gradient": np.empty(n_items), "degree": np.empty(n_items)}
    given_sides = certain["weight"], certain["weight"], problem["scores"]
    out["value"] = np.array(twin.expectation_sides(*layout(problem), *given_sides, *out.values(), 1))
    assert_close(out, {name: votes[name] for name in out})


@needs_compiled
@pytest.mark.parametrize("name", ["baseline", "v3", "v4"])
@settings(deadline=None)
@given(problem=problems(), most=st.sampled_from([1, 2, 40, 300]), question=st.sampled_from([0, 1]))
def test_the_direct_pass_equals_its_twin(name, problem, most, question):
    problem, begin = on_links(with_params(problem), most)
    if not kernels.select(name):
        pytest.skip(f"this processor lacks {name}")
    try:
        ours = direct(kernels, problem, begin, question)
    finally:
        kernels.select("auto")
    # Many votes on a link almost cancel, and their sums are rounded.
    assert_close(ours, direct(twin, problem, begin, question), 1e-12 if most < 40 else 1e-10)
    if most == 1:
        assert_close(direct(kernels, problem, np.empty(0, dtype=np.int64), question), ours)


@needs_compiled
@pytest.mark.parametrize("question", [0, 1])
def test_threads_change_no_bit_of_the_direct_pass(question):
    rng = np.random.default_rng(0)
    first, second = (side.astype(np.int32) for side in np.triu_indices(200, 1))
    problem = {"first": first, "second": second, "layout": "walk", "scores": rng.standard_normal(200), "threads": 1}
    begin = np.concatenate([[0], np.cumsum(rng.integers(0, 12, len(first)))])
    problem |= {"pattern": rng.integers(0, 40, begin[-1]).astype(np.uint8), "weight": np.empty(0)}
    problem["params"] = rng.standard_normal(20)
    one, five = (direct(kernels, problem | {"threads": threads}, begin, question) for threads in (1, 5))
    for name in one:
        assert one[name].tobytes() == five[name].tobytes(), name


@pytest.mark.parametrize("question", [0, 1])
def test_the_direct_pass_hands_back_the_derivatives_of_its_value(question):
    rng = np.random.default_rng(1)
    first, second = rows_of(rng, 60, 8)
    problem = {"first": first, "second": second, "scores": rng.standard_normal(8), "threads": 1}
    problem |= {"pattern": rng.integers(0, 10, 60).astype(np.int32), "weight": rng.uniform(0, 2, 60)}
    problem["params"], none = rng.standard_normal(5), np.empty(0, dtype=np.int64)
    at = direct(twin, problem, none, question)
    for name, sums in (("scores", "gradient"), ("params", "slope")):
        for k in range(len(problem[name])):
            step = 1e-6 * (np.arange(len(problem[name])) == k)
            ends = [direct(twin, problem | {name: problem[name] + s * step}, none, question) for s in (1, -1)]
            assert (ends[0]["value"] - ends[1]["value"]) / 2e-6 == pytest.approx(at[sums][k], abs=1e-6)
    assert (at["curvature"] >= 0).all()


@settings(deadline=None)
@given(problems())
def test_a_pass_over_single_votes_is_one_over_rows_of_one_vote(problem):
    problem, begin = on_links(problem, 4)
    rows = problem | {side: np.repeat(problem[side], np.diff(begin)) for side in ("first", "second")}
    rows["layout"] = "far"
    votes, alone = expectation_votes(twin, problem, begin), expectation(twin, rows)
    alone["expected_counts"] = alone["by_pattern"]
    for name in ("posterior", "gradient", "expected_counts", "value"):
        scale = max(float(np.abs(alone[name]).max(initial=0.0)), 1.0)
        np.testing.assert_allclose(votes[name], alone[name], rtol=1e-9, atol=1e-9 * scale, err_msg=name)


@needs_compiled
@settings(deadline=None)
@given(st.integers(1, 3000), st.integers(0, 63), st.integers(0, 2**32 - 1), st.integers(1, 4))
def test_sorting_and_folding_keys_equal_their_twins(n, bits, seed, threads):
    rng = np.random.default_rng(seed)
    drawn = rng.integers(0, 2**bits, rng.integers(1, n + 1))
    keys = rng.choice(drawn, n)
    ours, plain = keys.copy(), keys.copy()
    kernels.sort_keys(ours, np.empty_like(ours), bits, threads)
    twin.sort_keys(plain, np.empty_like(plain), bits, threads)
    np.testing.assert_array_equal(ours, plain)
    n_distinct = kernels.count_pairs(ours, 0, threads)
    folded = []
    for module in (kernels, twin):
        distinct, times = np.empty(n_distinct, dtype=np.int64), np.empty(n_distinct)
        module.fold_keys(ours, distinct, times, threads)
        folded.append((distinct.tolist(), times.tolist()))
    assert folded[0] == folded[1]


@needs_compiled
@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("bits", [16, 17, 40, 41, 63])
@pytest.mark.parametrize("distinct", [3, 100, 1 << 20])
def test_many_keys_are_sorted_however_they_are_spread(bits, distinct, threads):
    rng = np.random.default_rng(bits)
    values = np.concatenate([rng.integers(0, 2**bits, distinct), rng.integers(0, 300, distinct), [2**bits - 1]])
    keys = rng.choice(values, 200_000)
    ours = keys.copy()
    kernels.sort_keys(ours, np.empty_like(ours), bits, threads)
    np.testing.assert_array_equal(ours, np.sort(keys))


@needs_compiled
@pytest.mark.parametrize("threads", [1, 2, 5])
def test_many_keys_are_sorted_and_folded_by_any_number_of_threads(threads):
    keys = np.random.default_rng(0).integers(0, 2**17, 300_000)
    expected, times = np.unique(keys, return_counts=True)
    kernels.sort_keys(keys, np.empty_like(keys), 17, threads)
    assert (np.diff(keys) >= 0).all()
    distinct, folded = np.empty(len(expected), dtype=np.int64), np.empty(len(expected))
    kernels.fold_keys(keys, distinct, folded, threads)
    np.testing.assert_array_equal(distinct, expected)
    np.testing.assert_array_equal(folded, times)


@needs_compiled
@settings(deadline=None)
@given(st.lists(st.integers(-50, 50), min_size=1, max_size=300), st.sampled_from([np.int32, np.int64]), st.booleans())
def test_codes_of_ids_equal_their_twins(values, kind, ranked):
    ids, low = np.array(values, dtype=kind), min(values)
    found = []
    for module in (kernels, twin):
        seen, codes = np.zeros(max(values) - low + 1, dtype=np.uint8), np.empty(len(ids), dtype=np.int32)
        module.mark_ids(ids, low, seen, 3)
        rank = np.cumsum(seen if ranked else seen[:0], dtype=np.int32) - np.int32(1)
        module.code_ids(ids, low, rank, codes, 3)
        found.append((seen.tolist(), codes.tolist()))
    assert found[0] == found[1]
    assert sum(found[0][0]) == len(set(values))


@needs_compiled
@settings(deadline=None)
@given(st.lists(st.integers(-2, 140), max_size=300), st.sampled_from([np.int32, np.int64]))
def test_ids_taken_as_codes_equal_their_twins(values, kind):
    ids, found = np.array(values, dtype=kind), []
    for module in (kernels, twin):
        seen, codes = np.zeros(128, dtype=np.uint8), np.zeros(len(ids), dtype=np.int32)
        found.append(module.take_ids(ids, codes, seen, 3) and (seen.tolist(), codes.tolist()))
    assert found[0] == found[1]
    assert bool(found[0]) == all(0 <= value < 128 for value in values)


@needs_compiled
@pytest.mark.parametrize("one_table", [True, False])
@given(problems())
def test_the_posterior_alone_equals_that_of_the_pass(one_table, problem):
    if one_table:
        ratio = np.exp(np.random.default_rng(1).standard_normal(len(problem["if_second"])))
        problem |= {"if_first": np.empty(0), "if_second": ratio}
    inputs = [*layout(problem), *(problem[name] for name in ("pattern", "if_first", "if_second", "scores"))]
    for module in (kernels, twin):
        found = np.full(len(problem["first"]), np.nan)
        module.posterior(*inputs, found, problem["threads"])
        expected = expectation(module, problem)["posterior"]
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-300)


@needs_compiled
@settings(deadline=None)
@given(
    st.lists(st.tuples(st.integers(-1, 130), st.integers(0, 130)), max_size=300),
    st.booleans(),
    st.integers(1, 4),
    st.sampled_from([np.int32, np.int64]),
)
def test_pairs_taken_as_codes_equal_their_twins(pairs, ordered, threads, kind):
    pairs = sorted({(min(pair), max(pair)) for pair in pairs if pair[0] != pair[1]}) if ordered else pairs
    left, right = np.array(pairs, dtype=kind).reshape(-1, 2).T.copy()
    found = []
    for module in (kernels, twin):
        seen, codes = np.zeros(128, dtype=np.uint8), np.zeros((2, len(pairs)), dtype=np.int32)
        in_order = module.take_pairs(left, right, *codes, seen, threads)
        found.append((in_order, [seen.tolist(), codes.tolist()] if in_order >= 0 else None))
    assert found[0] == found[1]
    assert (found[0][0] < 0) == any(not 0 <= code < 128 for pair in pairs for code in pair)
    assert not ordered or found[0][0] != 0


@needs_compiled
@settings(deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(2, 60_000), st.integers(1, 4), st.booleans())
def test_the_order_of_many_pairs_is_found_by_any_number_of_threads(seed, n, threads, spoilt):
    rng = np.random.default_rng(seed)
    left, right = (side[:n].astype(np.int64) for side in np.triu_indices(int(np.sqrt(2 * n)) + 2, 1))
    if spoilt:
        at = rng.integers(0, n - 1)
        right[at : at + 2] = right[at : at + 2][::-1].copy() if left[at] == left[at + 1] else left[at]
    codes, seen = np.zeros((2, n), dtype=np.int32), np.zeros(1 << 16, dtype=np.uint8)
    assert kernels.take_pairs(left, right, *codes, seen, threads) == (not spoilt)
    np.testing.assert_array_equal(codes, [left, right])


@needs_compiled
@pytest.mark.parametrize("range_of_ids", [100, 50_000])
def test_many_ids_are_marked_and_coded_by_all_threads(range_of_ids):
    ids = np.random.default_rng(0).integers(0, range_of_ids, 200_000) * 2
    seen, codes = np.zeros(2 * range_of_ids, dtype=np.uint8), np.empty(len(ids), dtype=np.int32)
    kernels.mark_ids(ids, 0, seen, 4)
    np.testing.assert_array_equal(np.flatnonzero(seen), np.unique(ids))
    kernels.code_ids(ids, 0, np.cumsum(seen, dtype=np.int32) - np.int32(1), codes, 4)
    np.testing.assert_array_equal(codes, np.unique(ids, return_inverse=True)[1])


@needs_compiled
@settings(deadline=None)
@given(st.integers(1, 400), st.integers(1, 200), st.integers(0, 2**32 - 1), st.booleans(), st.booleans())
def test_votes_spelled_out_equal_their_twins_and_so_do_their_sums(pairs, annotators, seed, weighted, few):
    rng = np.random.default_rng(seed)
    start = np.concatenate([[0], np.cumsum(rng.integers(0, 5, pairs))])
    n = int(start[-1])
    who, result = rng.integers(0, annotators, n).astype(np.int32), rng.integers(0, 3, n).astype(np.int8)
    weight = rng.integers(0, 4, n).astype(np.float64) if weighted else np.empty(0)
    total = int(((result < 2) * (weight if weighted else 1)).sum())
    kind = np.uint8 if few and annotators <= 128 else np.int32
    values, votes_weight = rng.standard_normal(pairs), rng.uniform(0, 2, total if weighted else 0)
    found = []
    for module in (kernels, twin):
        begin, kinds = np.empty(pairs + 1, dtype=np.int64), np.empty(total, dtype=kind)
        wins, cast, sums = np.empty(pairs), np.empty(2 * annotators), np.empty(2 * annotators)
        module.spell_out(start, who, result, weight, begin, kinds, wins, cast, 3)
        module.sum_by_kind(begin, kinds, votes_weight, values, sums, 3)
        found.append({"begin": begin, "kinds": kinds, "wins": wins, "cast": cast, "sums": sums})
    assert_close(*found)


@needs_compiled
@settings(deadline=None)
@given(st.integers(1, 400), st.integers(1, 300), st.integers(0, 2**32 - 1), st.sampled_from(["", "whole", "soft"]))
def test_lists_of_votes_equal_their_twins_and_so_do_their_sums(pairs, annotators, seed, weights):
    rng = np.random.default_rng(seed)
    start = np.concatenate([[0], np.cumsum(rng.integers(0, 4, pairs))])
    n = int(start[-1])
    who, result = rng.integers(0, annotators, n).astype(np.int32), rng.integers(0, 3, n).astype(np.int8)
    weight = {"": np.empty(0), "whole": rng.integers(0, 3, n) * 1.0, "soft": rng.uniform(0, 2, n)}[weights]
    kept = int(np.count_nonzero((result < 2) & (weight > 0 if len(weight) else True)))
    values, found = rng.uniform(0, 1, pairs), []
    for module in (kernels, twin):
        begin, vote = np.empty(pairs + 1, dtype=np.int64), np.empty(kept, dtype=np.int32)
        own, share = np.empty(kept if len(weight) else 0), np.empty(pairs)
        module.list_votes(start, who, result, weight, begin, vote, own, share, 3)
        marks, by_pair, by_annotator = np.empty(annotators, np.uint64), np.empty(pairs), np.empty(annotators)
        module.mark_ballots(start, who, result, weight, marks, 3)
        module.sum_by_link(start, weight, by_pair, 3)
        module.sum_by_code(who, weight, by_annotator, 3)
        near, by_row = np.empty(n, np.uint16), np.empty(n)
        module.repeat(start, np.arange(pairs, dtype=np.int32), near, 3)
        module.repeat(start, values, by_row, 3)
        spelled = module.count_spelled(result, weight, 3)
        sides, against = np.empty((2, pairs)), np.empty((2, annotators))
        module.count_sides(start, result, weight, *sides, 3)
        first_row, side, of_side = np.empty(pairs + 1, np.int64), np.empty(2 * pairs, np.uint8), np.empty(2 * pairs)
        rows = module.split_sides(*np.round(sides), first_row, side, of_side)
        module.count_against(start, who, result, weight, np.round(2 * values - 1), *against, 3)
        lists = {"begin": begin, "vote": vote, "weight": own, "share": share, "spelled": np.array(spelled)}
        sums = {"pairs": by_pair, "annotators": by_annotator, "near": near, "rows": by_row}
        sums |= {"sides": sides, "against": against}
        sums |= {"first row": first_row, "side": side[:rows], "of side": of_side[:rows]}
        found.append(({**lists, **sums}, marks.tolist()))
    assert_close(found[0][0], found[1][0])
    assert found[0][1] == found[1][1]


@needs_compiled
@settings(deadline=None)
@given(st.integers(0, 60), st.integers(1, 9), st.integers(0, 2**32 - 1), st.booleans())
def test_likelihoods_of_lists_equal_their_twins(lists, groups, seed, weighted):
    rng = np.random.default_rng(seed)
    start = np.concatenate([[0], np.cumsum(rng.integers(0, 4, lists))])
    vote = rng.integers(0, 2 * groups, start[-1]).astype(np.int32)
    weight = rng.uniform(0, 2, len(vote)) if weighted else np.empty(0)
    of_kind, found = np.log(rng.uniform(0, 1, 4 * groups)), []
    for module in (kernels, twin):
        first, second = np.empty(lists), np.empty(lists)
        module.list_likelihoods(start, vote, weight, of_kind, first, second, 3)
        found.append({"first": first, "second": second})
    assert_close(*found)


@needs_compiled
@settings(deadline=None)
@given(problems())
def test_maximisation_by_pattern_is_that_by_row(problem):
    by_pattern = np.random.default_rng(0).uniform(0, 1, len(problem["if_second"]))
    looked_up = problem | {"posterior": by_pattern[problem["pattern"]]}
    given_by_pattern = problem | {"posterior": by_pattern, "pattern_of": problem["pattern"]}
    for module in (kernels, twin):
        assert_close(maximisation(module, given_by_pattern, 0), maximisation(twin, looked_up, 0))


@needs_compiled
@settings(deadline=None)
@given(st.integers(1, 8), st.integers(1, 300), st.integers(0, 2**32 - 1), st.sampled_from([np.uint8, np.int32]))
def test_verdicts_of_a_small_jury_equal_their_twins(annotators, pairs, seed, kind):
    rng = np.random.default_rng(seed)
    results = rng.choice(4, (pairs, annotators), p=[0.45, 0.45, 0.05, 0.05]).astype(np.int8)
    found = []
    for module in (kernels, twin):
        seen = np.empty(4**annotators, dtype=np.uint8)
        module.mark_verdicts(results.ravel(), annotators, seen, 3)
        numbers, pattern = (np.cumsum(seen) - 1).astype(np.int32) % 256, np.empty(pairs, dtype=kind)
        assert module.number_verdicts(results.ravel(), annotators, numbers, pattern, 3)
        found.append((seen.tolist(), pattern.tolist()))
        numbers[np.flatnonzero(seen)[-1]] = -1
        assert not module.number_verdicts(results.ravel(), annotators, numbers, pattern, 3)
    assert found[0] == found[1]
    assert sum(found[0][0]) == len(np.unique(np.minimum(results, 2), axis=0))


@needs_compiled
@settings(deadline=None)
@given(st.integers(1, 20), st.integers(1, 600) | st.just(2500), st.integers(0, 2**32 - 1))
def test_products_of_rows_equal_their_twins(rows, columns, seed):
    rng = np.random.default_rng(seed)
    matrix, weight, found = rng.standard_normal((rows, columns)), rng.random(columns), np.zeros((2, rows, rows))
    factor, sums, products_of_rows = rng.standard_normal(rows), np.empty((2, columns)), np.empty((2, rows))
    for at, (module, products) in enumerate(zip((kernels, twin), found, strict=True)):
        module.weighted_gram(matrix.ravel(), factor, weight, products.ravel())
        module.sum_of_rows(matrix.ravel(), factor, sums[at])
        module.row_products(matrix.ravel(), weight, products_of_rows[at])
    np.testing.assert_allclose(*np.triu(found), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(*sums, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(*products_of_rows, rtol=1e-12, atol=1e-12)


@needs_compiled
@settings(deadline=None)
@given(
    st.integers(0, 300), st.integers(2, 40), st.integers(0, 2**32 - 1), st.sampled_from([np.uint8, np.int32, float])
)
def test_marks_of_sides_equal_their_twins(n, n_items, seed, kind):
    rng = np.random.default_rng(seed)
    first, second = rows_of(rng, n, n_items)
    codes, side = rng.integers(0, 5, n).astype(kind), rng.integers(0, 3, 5).astype(np.uint8)
    codes = codes / 4 if kind is float else codes
    found = np.full((2, n_items), 77, dtype=np.uint8)
    for module, seen in zip((kernels, twin), found, strict=True):
        module.mark_sides(first, second, codes, side, seen, 3)
    np.testing.assert_array_equal(*found)


@needs_compiled
@settings(deadline=None)
@given(st.integers(1, 64), st.integers(1, 300), st.integers(0, 2**32 - 1), st.sampled_from([0.0, 0.3, 0.9]))
def test_verdicts_of_a_jury_equal_their_twins(annotators, pairs, seed, gaps):
    rng = np.random.default_rng(seed)
    pool = rng.integers(0, 2, (rng.integers(1, 20), annotators))
    results = pool[rng.integers(0, len(pool), pairs)]
    results = np.where(rng.random(results.shape) < gaps, rng.integers(2, 4, results.shape), results).astype(np.int8)
    found = []
    for module in (kernels, twin):
        pattern, example = np.empty(pairs, dtype=np.int32), np.empty(pairs, dtype=np.int64)
        count = module.jury_patterns(results.ravel(), annotators, pattern, example, 3)
        found.append((count, pattern.tolist()))
        decided = np.minimum(results, 2)
        np.testing.assert_array_equal(decided[example[:count]][pattern], decided)
    assert found[0] == found[1]


@needs_compiled
@settings(deadline=None)
@given(st.integers(1, 400), st.integers(2, 40), st.integers(1, 5), st.integers(1, 9), st.integers(0, 2**32 - 1))
def test_packed_votes_equal_their_twins_and_come_back(n, n_items, n_questions, n_annotators, seed):
    rng = np.random.default_rng(seed)
    left = rng.integers(0, n_items, n).astype(np.int32)
    right = ((left + rng.integers(1, n_items, n)) % n_items).astype(np.int32)
    who, asked = (rng.integers(0, count, n).astype(np.int32) for count in (n_annotators, n_questions))
    asked = asked if n_questions > 1 else np.empty(0, dtype=np.int32)
    result = rng.integers(0, 4, n).astype(np.int8)
    bits = tuple((count - 1).bit_length() for count in (n_items, n_questions, n_annotators))
    packed = []
    for module in (kernels, twin):
        keys = np.empty(n, dtype=np.int64)
        module.pack_votes(left, right, who, asked, result, *bits, keys, 3)
        packed.append(keys)
    np.testing.assert_array_equal(*packed)
    keys = np.sort(packed[0])
    found = []
    for module in (kernels, twin):
        pairs = module.count_pairs(keys, bits[2] + 3, 3)
        of_pair = [np.empty(pairs, dtype=np.int32) for _ in range(3)]
        of_pair[2] = of_pair[2][: pairs if n_questions > 1 else 0]
        start, annotator = np.empty(pairs + 1, dtype=np.int64), np.empty(n, dtype=np.int32)
        said, swapped = np.empty(n, dtype=np.int8), np.empty(n, dtype=bool)
        module.unpack_votes(keys, *bits, *of_pair, start, annotator, said, swapped, 3)
        found.append([*of_pair, start, annotator, said, swapped])
    for ours, plain in zip(*found, strict=True):
        np.testing.assert_array_equal(ours, plain)
    first, second, question, start, annotator, said, swapped = found[0]
    pair = np.repeat(np.arange(len(first)), np.diff(start))
    shown_left, shown_right = (np.where(swapped, b[pair], a[pair]) for a, b in ((first, second), (second, first)))
    back = np.where((said < 2) & swapped, 1 - said, said)
    question = question[pair] if len(question) else np.zeros(n)
    ours = sorted(zip(shown_left, shown_right, annotator, question, back, strict=True))
    assert ours == sorted(zip(left, right, who, asked if len(asked) else np.zeros(n), result, strict=True))


@needs_compiled
@pytest.mark.parametrize(("pairs", "most"), [(150_000, 3), (90_000, 1), (100, 4000)])
def test_votes_of_many_blocks_equal_their_twins(pairs, most):
    """Where blocks begin within a pair, or between pairs with and without votes."""
    rng = np.random.default_rng(most)
    start = np.concatenate([[0], np.cumsum(rng.integers(0, most + 1, pairs))])
    n, there = int(start[-1]), np.flatnonzero(np.diff(start))
    who, result = rng.integers(0, 50, n).astype(np.int32), rng.integers(0, 3, n).astype(np.int8)
    weight = rng.integers(0, 3, n).astype(np.float64)
    keys = np.repeat(there.astype(np.int64) << 12, np.diff(start)[there]) + np.arange(n) % 4096
    keys.sort()
    found = []
    for module in (kernels, twin):
        begin, kinds = np.empty(pairs + 1, np.int64), np.empty(int(weight[result < 2].sum()), np.uint8)
        wins, cast, sides = np.empty(pairs), np.empty(100), np.empty((2, pairs))
        module.spell_out(start, who, result, weight, begin, kinds, wins, cast, 3)
        module.count_sides(start, result, weight, *sides, 3)
        of_row = np.empty(n, np.uint16)
        module.repeat(start, np.arange(pairs, dtype=np.int32) % 60_000, of_row, 3)
        first, second, none = np.empty(len(there), np.int32), np.empty(len(there), np.int32), np.empty(0, np.int32)
        unpacked = [
            np.empty(len(there) + 1, np.int64),
            np.empty(n, np.int32),
            np.empty(n, np.int8),
            np.empty(n, bool),
        ]
        module.unpack_votes(keys, 10, 0, 9, first, second, none, *unpacked, 3)
        found.append([begin, kinds, wins, cast, sides, of_row, first, second, *unpacked])
    for ours, plain in zip(*found, strict=True):
        np.testing.assert_array_equal(ours, plain)


@needs_compiled
@given(st.text(alphabet='ab,"\n\r', max_size=60), st.integers(1, 4), st.integers(0, 50))
def test_regular_lines_equal_their_twins(text, width, repeats):
    rows = '"x, y",b\n' * repeats + text + "a,b\n"
    for shape in (text, text + "\n", rows):
        data = np.frombuffer(shape.encode(), dtype=np.uint8)
        ours, plain = (module.regular_lines(data, ord(","), width, 3) for module in (kernels, twin))
        assert ours == plain


@needs_compiled
def test_lines_that_cross_blocks_are_counted_once():
    rng = np.random.default_rng(0)
    fields = np.array(["abc", '"a, b"', '"line\nbreak"', '"say ""x"""', ""])
    drawn = fields[rng.integers(0, len(fields), (60_000, 3))]
    data = np.frombuffer("".join(",".join(row) + "\n" for row in drawn).encode(), dtype=np.uint8)
    assert len(data) > 40 * 16384
    assert [module.regular_lines(data, ord(","), 3, 4) for module in (kernels, twin)] == [60_000, 60_000]
    broken = np.append(data, np.frombuffer(b"a,b\n", dtype=np.uint8))
    assert [module.regular_lines(broken, ord(","), 3, 4) for module in (kernels, twin)] == [-1, -1]


@needs_compiled
@given(st.lists(st.text(alphabet='ab,"\n\r', max_size=60), min_size=1, max_size=3), st.integers(0, 30))
def test_codes_of_fields_equal_their_twins(texts, repeats):
    lines = 'x,"x ""y"", z\r\n",\nab,,abcdefghijklmnopqrstuvwxyz\r\na,"b",ab cdef ghij klm\n'
    parts = [lines * repeats + text + end for text, end in zip(texts, ["\n", "\n\n", "\nab"], strict=False)]
    found = []
    for module, threads in ((kernels, 1), (kernels, 4), (twin, 1)):
        codes, own = module.FieldCodes(ord(","), [0, 1, 1]), []
        for part in parts:
            size = codes.scan(np.frombuffer(part.encode(), dtype=np.uint8), threads)
            own.append((size, codes.n_lines if size >= 0 else -1, codes.ascii))
            for column in range(3 if size > 0 else 0):
                written = np.empty(codes.n_lines, dtype=[np.int8, np.int16, np.int32][column])
                low, high = codes.column(column, written, threads)
                assert (low, high) == (min(written.min(), 0), written.max())
                words = [*codes.words(min(column, 1)), ""]
                assert codes.n_words(min(column, 1)) == len(words) - 1
                own.append([words[code] for code in written])
            if size < 0:
                break
        found.append(own)
    assert found[0] == found[1] == found[2]
    size, n_lines, _ = found[0][0]
    assert size <= 0 or n_lines == twin.regular_lines(
        np.frombuffer(parts[0].encode()[:size], dtype=np.uint8), ord(","), 3, 1
    )


@needs_compiled
@given(st.data())
def test_codes_of_fields_of_any_length_equal_their_twins(data):
    """Fields and lines end anywhere within the 64 bytes that are looked at together."""
    quoted = st.text(alphabet="aé, \n", max_size=40).map(lambda text: f'"{text}"')
    field = quoted | st.text(alphabet="abé ", max_size=70)
    rows = data.draw(st.lists(st.tuples(field, field), min_size=1, max_size=30))
    text = "".join(f"{one},{other}\n" for one, other in rows)
    at = data.draw(st.integers(0, len(text)))
    mark = data.draw(st.sampled_from(["", "", '"', "\r", ",", "\n", "\0", '""']))
    text = np.frombuffer((text[:at] + mark + text[at:]).encode(), dtype=np.uint8)
    found = []
    for module, threads in ((kernels, 1), (kernels, 3), (twin, 1)):
        codes = module.FieldCodes(ord(","), [0, 1])
        size = codes.scan(text, threads)
        columns = [np.empty(codes.n_lines if size > 0 else 0, dtype=np.int32) for _ in range(2)]
        if size > 0:
            for column, own in enumerate(columns):
                codes.column(column, own, threads)
        words = [[*codes.words(kind), ""] if size > 0 else [] for kind in range(2)]
        found.append((size, [[words[k][code] for code in own] for k, own in enumerate(columns)]))
    assert found[0] == found[1] == found[2]


@needs_compiled
def test_columns_that_are_passed_over_have_no_codes():
    text = np.frombuffer(b'a,"x,\n",b\nb,,a\n', dtype=np.uint8)
    for module in (kernels, twin):
        codes, own = module.FieldCodes(ord(","), [0, -1, 0]), np.empty(2, dtype=np.int32)
        assert codes.scan(text, 2) == len(text) and codes.n_lines == 2
        assert codes.column(2, own, 1) == (0, 1)
        assert [codes.words(0)[code] for code in own] == ["b", "a"]


@needs_compiled
def test_codes_that_do_not_fit_are_refused():
    codes = kernels.FieldCodes(ord(","), [0, -1])
    text = "".join(f"{k},\n" for k in range(200)).encode()
    assert codes.scan(np.frombuffer(text, dtype=np.uint8), 2) == len(text)
    with pytest.raises(ValueError, match="fit"):
        codes.column(0, np.empty(200, dtype=np.int8), 2)
    with pytest.raises(ValueError, match="one code a line"):
        codes.column(0, np.empty(199, dtype=np.int16), 2)


def as_offsets(column):
    """Return text as older arrow has it: two arrays, of which the first begins within its memory."""
    whole = pa.concat_arrays(
        [
            pa.array(["\N{ROMAN NUMERAL ONE}", None], pa.large_string()),
            *pa.chunked_array(column.to_arrow()).cast(pa.large_string()).chunks,
        ]
    )
    return pa.chunked_array([whole[2 : 2 + len(column) // 2], whole[2 + len(column) // 2 :]])


@needs_compiled
@given(
    st.lists(st.lists(st.none() | st.text(max_size=20), max_size=30), min_size=1, max_size=3),
    st.integers(1, 400),
    st.booleans(),
)
def test_codes_of_text_equal_their_twins(texts, repeats, views):
    parts = [pl.Series(part * repeats, dtype=pl.String) for part in texts]
    parts = [pl.concat([part, part]).slice(1) if len(part) else part for part in parts]
    found = []
    for module, threads in ((kernels, 1), (kernels, 4), (twin, 1)):
        codes, own = module.TextCodes(), []
        for part in parts:
            written = np.empty(len(part), dtype=np.int32)
            codes.code(part if views or module is twin else as_offsets(part), written, threads)
            words = [*codes.words(), None]
            own.append([words[code] for code in written])
        found.append(own)
    assert found[0] == found[1] == found[2] == [part.to_list() for part in parts]


@needs_compiled
@pytest.mark.parametrize("kind", [pa.string(), pa.large_string()])
def test_empty_texts_are_not_missing(kind):
    for texts in (["", ""], ["", None, "a"], [None]):
        codes, coder = np.empty(len(texts), dtype=np.int32), kernels.TextCodes()
        coder.code(pa.chunked_array([pa.array(texts, kind)]), codes, 1)
        assert [None if code < 0 else coder.words()[code] for code in codes] == texts


@needs_compiled
def test_columns_that_are_no_text_are_refused():
    with pytest.raises(ValueError, match="text"):
        kernels.TextCodes().code(pl.Series([1, 2]), np.empty(2, dtype=np.int32), 1)
    with pytest.raises(ValueError, match="one code"):
        kernels.TextCodes().code(pl.Series(["a", "b"]), np.empty(3, dtype=np.int32), 1)


@needs_compiled
@settings(deadline=None)
@given(problems())
def test_small_posteriors_are_as_exact_as_large_ones(problem):
    ours, plain = expectation(kernels, problem)["posterior"], expectation(twin, problem)["posterior"]
    np.testing.assert_allclose(ours, plain, rtol=1e-12)
    assert ((ours >= 0) & (ours <= 1)).all()


@needs_compiled
@pytest.mark.parametrize("loss", [0, 1], ids=["logistic", "hinge"])
@settings(deadline=None)
@given(problem=problems())
def test_maximisation_equals_its_twin(loss, problem):
    assert_close(maximisation(kernels, problem, loss), maximisation(twin, problem, loss))


@needs_compiled
@settings(deadline=None)
@given(problems(), st.booleans())
def test_laplacian_equals_its_twin(problem, counted):
    given_ = problem, problem["scores"], counted
    assert_close(laplacian(kernels, *given_), laplacian(twin, *given_))


@needs_compiled
@settings(deadline=None)
@given(problems(), st.floats(0.1, 10), st.booleans())
def test_conjugate_gradients_equal_their_twin(problem, diagonal, held):
    given = problem, diagonal, held
    assert_close(solve_laplacian(kernels, *given), solve_laplacian(twin, *given))


@needs_compiled
@settings(deadline=None)
@given(problems(), st.integers(1, 7), st.booleans(), st.integers(0, 4))
def test_lloyd_equals_its_twin(problem, n_clusters, whole, rounds):
    rng = np.random.default_rng(len(problem["first"]))
    matrix, centroids = rng.standard_normal((len(problem["scores"]), 3)), rng.standard_normal((n_clusters, 3))
    if whole:
        # Means of whole numbers are not whole: pairs halfway between two would be told apart by rounding.
        matrix, centroids, rounds = matrix.round(), centroids.round(), min(rounds, 1)
    ours, plain = (lloyd(module, problem, matrix, centroids, rounds) for module in (kernels, twin))
    np.testing.assert_array_equal(ours["cluster"], plain["cluster"])
    assert_close(ours, plain, 1e-11)  # rounded to twelve digits


@needs_compiled
@pytest.mark.parametrize("name", ["baseline", "v3", "v4"])
def test_clusters_are_the_same_with_every_instruction_set(name, large):
    rng = np.random.default_rng(1)
    matrix, centroids = rng.standard_normal((len(large["scores"]), 5)), rng.standard_normal((20, 5))
    if not kernels.select(name):
        pytest.skip(f"this processor lacks {name}")
    try:
        ours = lloyd(kernels, large, matrix, centroids)
    finally:
        kernels.select("auto")
    assert_close(ours, lloyd(twin, large, matrix, centroids), 1e-11)


@needs_compiled
@given(st.integers(0, 10_000), st.integers(1, 40), st.integers(1, 12), st.booleans())
def test_seeds_equal_their_twins(seed, n, most, whole):
    sample = np.random.default_rng(seed).standard_normal((n, 2)) * 2
    sample = sample.round() if whole else sample
    chosen = [np.full(most, -1, np.int32) for _ in range(2)]
    ours, plain = (module.seeds(sample.ravel(), 2, own) for module, own in zip((kernels, twin), chosen, strict=True))
    assert ours == plain
    np.testing.assert_array_equal(*chosen)


@needs_compiled
@given(problems(), st.floats(0, 1))
def test_thinning_equals_its_twin(problem, share):
    of_item = np.random.default_rng(0).integers(0, 2**32, len(problem["scores"])).astype(np.uint64)
    kept = [np.empty(len(problem["first"]), np.bool_) for _ in range(2)]
    for module, own in zip((kernels, twin), kept, strict=True):
        module.thin(problem["first"], problem["second"], of_item, int(share * 2**32), own, problem["threads"])
    np.testing.assert_array_equal(*kept)


def losses_by_cell(module, seed: int, n: int, n_clusters: int, threads: int) -> dict[str, np.ndarray]:
    rng, n_pairs = np.random.default_rng(seed), max(n // 3, 1)
    pair, who = rng.integers(0, n_pairs, n), rng.integers(0, 4, n).astype(np.int32)
    cluster = rng.integers(0, n_clusters, n_pairs).astype(np.int32)
    weight, wrong, right = rng.choice([1.0, 2.0, 0.5], n), rng.random(n), rng.choice([0.0, 0.3, 1.0], n)
    out = {"cell": np.full(n, -1, np.int32), "errors": np.empty(4 * n_clusters), "votes": np.empty(4 * n_clusters)}
    module.cell_errors(pair, who, weight, wrong, cluster, n_clusters, *out.values())
    cells, loss = (out["errors"] + 0.1, out["votes"] + 2.0), np.empty(n)
    module.cell_losses(out["cell"], weight, wrong, right, *cells, loss, threads)
    return out | {"loss": loss}


@needs_compiled
@given(st.integers(0, 10_000), st.integers(0, 700), st.integers(1, 9))
def test_losses_by_cell_equal_their_twins(seed, n, n_clusters):
    found = [losses_by_cell(module, seed, n, n_clusters, threads=2) for module in (kernels, twin)]
    assert_close(*found)


VOTE = st.tuples(st.integers(0, 2), st.integers(0, 2), st.sampled_from([1.0, 2.0, 0.5]))


@needs_compiled
@given(st.lists(st.lists(VOTE, max_size=3), max_size=40))
def test_patterns_equal_their_twins(rows):
    start = np.cumsum([0, *map(len, rows)])
    votes = [vote for row in rows for vote in row]
    annotator, result = (np.array([vote[k] for vote in votes], kind) for k, kind in ((0, np.int32), (1, np.int8)))
    weight = np.array([vote[2] for vote in votes], dtype=np.float64)
    ours = patterns(kernels, start, annotator, result, weight)
    assert_close(ours, patterns(twin, start, annotator, result, weight))
    assert len(ours["example"]) == len({tuple(vote for vote in row if vote[1] != 2) for row in rows})


@needs_compiled
@given(problems())
def test_sums_of_patterns_equal_their_twins(problem):
    wins, votes = np.random.default_rng(0).integers(0, 9, (2, len(problem["if_first"]))).astype(np.float64)
    found = []
    for module in (kernels, twin):
        sums = {side: np.full(2 * len(problem["scores"]), np.nan) for side in ("first", "second")}
        ends = problem["first"], problem["second"], problem["pattern"]
        module.sum_patterns(*ends, wins, votes, *sums.values(), problem["threads"])
        found.append(sums)
    assert_close(*found)


@needs_compiled
def test_patterns_by_the_thousand_are_told_apart():
    rng = np.random.default_rng(0)
    start = np.concatenate([[0], np.cumsum(rng.integers(1, 5, 20_000))])
    n = start[-1]
    votes = (
        rng.integers(0, 9, n).astype(np.int32),
        rng.integers(0, 3, n).astype(np.int8),
        rng.choice([1.0, 2.0], n),
    )
    ours, plain = patterns(kernels, start, *votes), patterns(twin, start, *votes)
    assert len(ours["example"]) > 4096
    assert_close(ours, plain)


# -- the plain twins against arithmetic ---------------------------------------------------------------------


def test_expectation_is_bayes_rule_row_by_row():
    p = {
        "first": np.array([0, 0], dtype=np.int32),
        "second": np.array([1, 2], dtype=np.int32),
        "pattern": np.array([0, 1], dtype=np.int32),
        "weight": np.array([1.0, 2.0]),
        "if_first": np.array([0.9, 0.2]),
        "if_second": np.array([0.1, 1.0]),
        "scores": np.array([0.0, -np.log(3.0), np.log(4.0)]),
        "threads": 1,
    }
    out = expectation(twin, p)
    joint = np.array([[0.75 * 0.9, 0.25 * 0.1], [0.2 * 0.2, 0.8 * 1.0]])
    posterior = joint[:, 0] / joint.sum(axis=1)
    np.testing.assert_allclose(out["posterior"], posterior)
    np.testing.assert_allclose(out["value"], np.log(joint.sum(axis=1)) @ [1, 2])
    slope = (posterior - [0.75, 0.2]) * [1, 2]
    np.testing.assert_allclose(out["gradient"], [slope.sum(), -slope[0], -slope[1]])
    np.testing.assert_allclose(out["by_pattern"], posterior * [1, 2])


def test_curvature_of_the_expectation_is_that_of_the_likelihood_where_it_is_concave():
    margins = np.linspace(-3, 3, 61)
    p = {
        "first": np.zeros(61, dtype=np.int32),
        "second": np.arange(1, 62, dtype=np.int32),
        "pattern": np.zeros(61, dtype=np.int32),
        "weight": np.empty(0),
        "if_first": np.array([1.0]),
        "if_second": np.array([0.05]),
        "threads": 1,
    }
    out = expectation(twin, p | {"scores": np.concatenate([[0.0], -margins])})

    def slope(m):
        e, q = np.exp(-m), 1 / (1 + 0.05 * np.exp(-m))
        return q - 1 / (1 + e)

    exact = (slope(margins - 1e-5) - slope(margins + 1e-5)) / 2e-5
    concave = exact > 0.05
    assert 10 < concave.sum() < 61
    np.testing.assert_allclose(out["curvature"][concave], exact[concave], rtol=1e-5)
    assert (out["curvature"] > 0).all()


@pytest.mark.parametrize("loss", [0, 1], ids=["logistic", "hinge"])
def test_gradient_of_the_maximisation_is_that_of_its_value(loss):
    rng = np.random.default_rng(3)
    first, second = rows_of(rng, 40, 6)
    p = {"first": first, "second": second, "scores": rng.standard_normal(6), "threads": 1}
    p |= {"weight": rng.uniform(0, 2, 40), "posterior": rng.uniform(0, 1, 40)}
    gradient = maximisation(twin, p, loss)["gradient"]
    for item in range(6):
        step = 1e-6 * np.eye(6)[item]
        up, down = (maximisation(twin, p | {"scores": p["scores"] + s}, loss)["value"] for s in (step, -step))
        np.testing.assert_allclose((up - down) / 2e-6, gradient[item], rtol=1e-6, atol=1e-7)


# -- threads and instruction sets ---------------------------------------------------------------------------


@pytest.fixture(scope="module")
def large():
    rng = np.random.default_rng(11)
    first, second = rows_of(rng, 300_000, 500)
    return {
        "first": first,
        "second": second,
        "scores": 2 * rng.standard_normal(500),
        "if_first": rng.uniform(0, 1, 64),
        "if_second": np.ones(64),
        "pattern": rng.integers(0, 64, len(first)).astype(np.int32),
        "weight": rng.uniform(0, 2, len(first)),
        "posterior": rng.uniform(0, 1, len(first)),
        "threads": 1,
    }


def juries(problem, kind: str, n_patterns: int) -> dict:
    """Return rows without weights, and with one table of ratios: what the quickest passes are for."""
    rng = np.random.default_rng(1)
    n_items = len(problem["scores"])
    if kind == "walk":
        first, second = (side.astype(np.int32) for side in np.triu_indices(n_items, 1))
    else:
        first, second = problem["first"], problem["second"]
    return problem | {
        "first": first,
        "second": second,
        "layout": kind,
        "if_first": np.empty(0),
        "if_second": np.exp(2 * rng.standard_normal(n_patterns)),
        "pattern": rng.integers(0, n_patterns, len(first)).astype(np.uint8 if n_patterns <= 256 else np.int32),
        "weight": np.empty(0),
    }


JURIES = [(kind, count) for kind in ("walk", "near", "far") for count in (64, 256, 1000)]


def every_pass(problem) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(0)
    matrix, centroids = rng.standard_normal((500, 4)), rng.standard_normal((5, 4))
    begin = np.arange(len(problem["first"]) + 1)
    begin[1:-1] += np.arange(1, len(begin) - 1) % 2
    quick = {
        f"{kind} {count} {curvature}": expectation(kernels, juries(problem, kind, count), curvature=curvature)
        for kind, count in JURIES
        for curvature in (False, True)
    }
    runs = quick | {
        "expectation": expectation(kernels, problem),
        "votes": expectation_votes(kernels, problem, begin),
        "sides": expectation_sides(kernels, problem),
        "logistic": maximisation(kernels, problem, 0),
        "hinge": maximisation(kernels, problem, 1),
        "laplacian": laplacian(kernels, problem, problem["scores"]),
        "lloyd": lloyd(kernels, problem, matrix, centroids),
    }
    return {f"{run} {name}": array for run, outs in runs.items() for name, array in outs.items()}


@needs_compiled
@pytest.mark.parametrize("threads", [2, 5])
def test_results_have_the_same_bits_for_any_number_of_threads(large, threads):
    alone, together = every_pass(large), every_pass(large | {"threads": threads})
    for name, array in alone.items():
        assert array.tobytes() == together[name].tobytes(), name


@needs_compiled
@pytest.mark.parametrize("name", ["baseline", "v3", "v4"])
def test_every_instruction_set_agrees(large, name):
    best = every_pass(large)
    if not kernels.select(name):
        pytest.skip(f"this processor lacks {name}")
    try:
        other = every_pass(large)
    finally:
        kernels.select("auto")
    assert_close(best, other, 1e-9)


@needs_compiled
def test_many_blocks_add_up_to_what_the_twin_says(large):
    assert_close(expectation(kernels, large), expectation(twin, large), 1e-11)


@needs_compiled
@pytest.mark.parametrize(("kind", "count"), JURIES)
@pytest.mark.parametrize("curvature", [False, True])
def test_many_blocks_of_juries_add_up_to_what_the_twin_says(large, kind, count, curvature):
    problem = juries(large, kind, count)
    ours, plain = (expectation(module, problem, curvature=curvature) for module in (kernels, twin))
    assert_close(ours, plain, 1e-11)
    without = expectation(kernels, problem, curvature=False)
    for name in ("posterior", "by_pattern", "value", "gradient"):
        np.testing.assert_allclose(without[name], ours[name], rtol=1e-12, atol=1e-10, err_msg=name)


@needs_compiled
def test_an_unknown_instruction_set_is_refused():
    assert not kernels.select("v9")


@needs_compiled
def test_arrays_of_the_wrong_length_are_refused(large):
    with pytest.raises(ValueError, match="curvature"):
        expectation(kernels, large | {"first": large["first"][:5]}, posterior=False)
    with pytest.raises(ValueError, match="row"):
        laplacian(kernels, large | {"posterior": np.ones(3)}, large["scores"])


# -- which kernels are loaded -------------------------------------------------------------------------------

FIT = """
import json, jamrank, numpy as np
from jamrank import kernels
drawn = jamrank.simulate(20, 6, 800, n_features=3, random_state=5)
out = {"compiled": kernels.compiled}
for name, features in (("objects", None), ("linear", drawn.features)):
    model = jamrank.JAM(tol=1e-9).fit(drawn.votes, features)
    out[name] = [*model.scores_, *model.flip_, *model.posterior_, model.log_likelihood_]
print(json.dumps(out))
"""

BLOCKED = """
import sys, warnings
sys.modules["jamrank.kernels._native"] = None
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    import jamrank.kernels, jamrank.models
    votes = jamrank.Comparisons.from_arrays(["a", "b"], ["b", "c"], ["x", "x"], [1, 1])
    jamrank.JAM().fit(votes)
    jamrank.JAM().fit(votes)
print(*[w.category.__name__ for w in caught if "kernels" in str(w.message)], jamrank.kernels.compiled)
"""


def python(code: str, **environment: str) -> str:
    env = {name: value for name, value in os.environ.items() if name != "JAMRANK_KERNELS"} | environment
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=True, timeout=120)
    return done.stdout.strip()


@needs_compiled
def test_numpy_kernels_asked_for_give_the_same_fits():
    compiled_fit, numpy_fit = json.loads(python(FIT)), json.loads(python(FIT, JAMRANK_KERNELS="numpy"))
    assert (compiled_fit.pop("compiled"), numpy_fit.pop("compiled")) == (True, False)
    for name in compiled_fit:
        np.testing.assert_allclose(compiled_fit[name], numpy_fit[name], rtol=1e-9, atol=1e-9, err_msg=name)


def test_a_missing_extension_warns_once_and_numpy_takes_over():
    assert python(BLOCKED) == "SlowKernelsWarning False"


def test_kernels_of_an_older_build_are_not_used():
    code = BLOCKED.replace('_native"] = None', '_native"] = type(sys)("_native")')
    assert code != BLOCKED
    assert python(code) == "SlowKernelsWarning False"


@pytest.mark.parametrize(
    ("environment", "threads"),
    [
        ({"JAMRANK_THREADS": "3"}, 3),
        ({"OMP_NUM_THREADS": "2"}, 2),
        ({"JAMRANK_THREADS": "3", "OMP_NUM_THREADS": "2"}, 3),
    ],
)
def test_threads_are_taken_from_the_environment(monkeypatch, environment, threads):
    for name in ("JAMRANK_THREADS", "OMP_NUM_THREADS"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert default_threads() == threads


@pytest.mark.parametrize("nonsense", ["0", "-1", "many", ""])
def test_nonsense_in_the_environment_is_not_taken_for_threads(monkeypatch, nonsense):
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    monkeypatch.delenv("JAMRANK_THREADS", raising=False)
    untold = default_threads()
    monkeypatch.setenv("JAMRANK_THREADS", nonsense)
    assert default_threads() == untold >= 1


@needs_compiled
@settings(deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 60_000), st.integers(1, 4))
def test_checks_of_arrays_find_what_numpy_finds(seed, n, threads):
    rng = np.random.default_rng(seed)
    for kind in (np.int8, np.int32, np.float64):
        values = rng.integers(-100, 100, n).astype(kind)
        assert kernels.extremes(values, threads) == twin.extremes(values, threads)
    copy = np.empty(n, dtype=np.int8)
    values = rng.integers(rng.integers(-1, 1), 2, n).astype(np.int8)
    assert kernels.copy_bounded(values, copy, threads) == twin.extremes(values, threads)
    np.testing.assert_array_equal(copy, values)
    annotators = int(rng.integers(1, 9))
    matrix, found = values[: n // annotators * annotators], []
    for module in (kernels, twin) if len(matrix) else ():
        said, times = np.empty(n // annotators, np.uint8), np.empty(1 << annotators, np.int64)
        decided = module.pack_verdicts(matrix, annotators, said, times, threads)
        assert decided == (matrix >= 0).all()
        if decided:
            found.append((said.tolist(), times.tolist()))
            module.unpack_verdicts(said, annotators, copy[: len(matrix)], threads)
            np.testing.assert_array_equal(copy[: len(matrix)], matrix)
    assert found[:1] == found[1:]
    for kind in (np.int32, np.int64):
        one, other = (rng.integers(0, 4 * n, n).astype(kind) for _ in range(2))
        assert kernels.any_equal(one, other, threads) == twin.any_equal(one, other, threads)
    n_items = int(np.sqrt(2 * n)) + 2
    first, second = (side[:n].astype(np.int32) for side in np.triu_indices(n_items, 1))
    assert kernels.in_order(first, second, threads)
    place = rng.integers(0, len(first))
    for side in (first, second):
        changed = side.copy()
        changed[place] = rng.integers(0, n_items)
        pair = (changed, second) if side is first else (first, changed)
        assert kernels.in_order(*pair, threads) == twin.in_order(*pair, threads)


@needs_compiled
@settings(deadline=None)
@given(st.integers(0, 2**32 - 1), st.sampled_from([(1.0,), (0.0, 1.0, 3.0, 63.0), (1.0, 64.0), (0.5, 1.0), ()]))
def test_votes_are_packed_into_words_as_by_numpy(seed, weights):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 300))
    who, result = rng.integers(0, 500, n).astype(np.int32), rng.integers(0, 3, n).astype(np.int8)
    weight = rng.choice(weights, n) if weights else np.empty(0)
    words = [np.empty(n, dtype=(np.uint16, np.uint32)[seed % 2]) for _ in range(2)]
    found = [
        module.pack_kinds(who, result, weight, 10, own) for module, own in zip((kernels, twin), words, strict=True)
    ]
    assert found[0] == found[1]
    if found[0] >= 0:
        np.testing.assert_array_equal(*words)


@needs_compiled
@pytest.mark.parametrize("far", [0.0, 1.0, 299.0, 1000.0])
def test_priors_of_pairs_are_those_of_numpy(far):
    rng = np.random.default_rng(0)
    first, second = rows_of(rng, 500, 30)
    scores = far * np.linspace(-1, 1, 30)
    found = [np.empty(500) for _ in range(2)]
    for module, own in zip((kernels, twin), found, strict=True):
        module.prior_of_pairs(first, second, scores, own, 2)
    np.testing.assert_allclose(*found, rtol=1e-13, atol=1e-300)


@needs_compiled
@pytest.mark.parametrize(("n", "kept"), [(1, 1), (7, 3), (8, 10), (1003, 10), (5, 0)])
def test_directions_of_steps_are_those_of_numpy(n, kept):
    rng = np.random.default_rng(n)
    steps, drops, em_drops = ([rng.standard_normal(n) for _ in range(kept)] for _ in range(3))
    drops = [np.sign(step @ drop) * drop for step, drop in zip(steps, drops, strict=True)]
    gradient, em_step = rng.standard_normal((2, n))
    found = [em_step.copy() for _ in range(2)]
    for module, own in zip((kernels, twin), found, strict=True):
        module.lbfgs_direction(steps, drops, em_drops, gradient, own)
    np.testing.assert_allclose(*found, rtol=1e-9, atol=1e-9 * np.abs(found[1]).max())


@needs_compiled
@settings(deadline=None)
@given(problems(), st.booleans(), st.booleans())
def test_the_density_of_scores_and_flips_equals_its_twin(problem, weighted, oriented):
    rng, n_items, n_lists = np.random.default_rng(5), len(problem["scores"]), len(problem["if_second"])
    groups = int(rng.integers(1, 9))
    list_start = np.concatenate([[0], np.cumsum(rng.integers(0, 5, n_lists))])
    vote = rng.integers(0, 2 * groups, list_start[-1]).astype(np.int32)
    vote_weight = np.where(rng.random(len(vote)) < 0.3 * weighted, rng.uniform(0, 3, len(vote)), 1.0)
    errors, correct = rng.uniform(0, 3, (2, groups)) * rng.choice([0.0, 1.0, 1e3])
    never = rng.random(groups) < 0.3
    errors, correct = np.where(never, 0.0, errors), np.where(~never & (rng.random(groups) < 0.3), 0.0, correct)
    mode = np.clip(np.log(errors + 1e-300) - np.log(correct + 1e-300), -30.0, 30.0)
    prior = np.concatenate([errors, correct, mode])
    lists = list_start, vote, vote_weight, rng.uniform(0, 9, 2 * groups), prior, 30.0
    x = np.concatenate([problem["scores"], rng.normal(-1, 2, groups) * rng.choice([1.0, 1.0, 100.0])])
    rows, place, found = (
        (problem["pattern"], problem["weight"]),
        (rng.permutation(n_items), rng.permutation(groups)),
        [],
    )
    for module in (kernels, twin):
        slope = np.full(len(x), 7.0)
        value = module.flip_density(*layout(problem), *rows, *lists, *place, oriented, x, slope)
        found.append({"value": np.array(value), "slope": slope if np.isfinite(value) else np.empty(0)})
    assert_close(*found)


@needs_compiled
@pytest.mark.parametrize("longest", [3, 255, 256, 1000])
def test_lengths_of_runs_are_those_of_numpy(longest):
    lengths = np.random.default_rng(0).integers(0, 4, 300)
    lengths[7] = longest
    start = np.concatenate([[0], np.cumsum(lengths)])
    found = np.empty((2, 300), dtype=np.uint8)
    fits = [module.run_lengths(start, own) for module, own in zip((kernels, twin), found, strict=True)]
    assert fits == [longest <= 255] * 2
    np.testing.assert_array_equal(*found)
