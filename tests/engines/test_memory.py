from __future__ import annotations

import gc
import weakref
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.special import expit

import jamrank.rows.rows as rows_module
from jamrank.data.comparisons import Comparisons
from jamrank.engines import MemoryEngine, passes
from jamrank.noise import Flip
from jamrank.rows import RaggedVotes, Rows


def full_pass(engine: MemoryEngine, scores, log_emission) -> SimpleNamespace:
    """Run a pass; find the posterior of each row and the curvature of each link too."""
    at = engine.expectation(scores, log_emission)
    found = vars(at) | {"curvature": engine.bends(at.curvature).copy()}
    return SimpleNamespace(**found, posterior=engine.posterior(scores, log_emission))


@pytest.fixture(scope="module")
def votes() -> Comparisons:
    rng = np.random.default_rng(0)
    left = rng.integers(0, 30, 3000)
    right = (left + rng.integers(1, 30, 3000)) % 30
    return Comparisons.from_arrays(
        left, right, rng.integers(0, 8, 3000), rng.integers(0, 2, 3000), rng.choice([0.5, 1.0, 2.0], 3000)
    )


def as_lists(votes: Comparisons) -> Rows:
    """Make rows as a crowd has them: a list of votes for each."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rows_module, "few_patterns", lambda votes: False)
        return Rows._find_per_pair(votes, 1)


@pytest.fixture(scope="module", params=["patterns", "lists", "vote"])
def rows(request, votes) -> Rows:
    return {"patterns": Rows.per_pair, "lists": as_lists, "vote": Rows.per_vote}[request.param](votes)


def test_lists_and_patterns_say_the_same(votes):
    one, other = Rows.per_pair(votes), as_lists(votes)
    assert isinstance(other.ballots, RaggedVotes)
    np.testing.assert_array_equal(one.share, other.share)
    np.testing.assert_allclose(one.vote_counts, other.vote_counts, rtol=1e-13)
    here, there = (full_pass(MemoryEngine(r), SCORES, log_emission(r)) for r in (one, other))
    for name in ("value", "posterior", "curvature", "gradient", "degree", "expected_counts"):
        np.testing.assert_allclose(getattr(here, name), getattr(there, name), rtol=1e-12, atol=1e-12, err_msg=name)


def log_emission(rows: Rows) -> np.ndarray:
    return Flip(rows.vote_counts).log_emission(np.linspace(-2, 1, rows.n_confusion_groups))


SCORES = np.random.default_rng(1).standard_normal(30)


def test_the_gradient_is_that_of_the_log_likelihood(rows):
    engine = MemoryEngine(rows)
    gradient = engine.expectation(SCORES, log_emission(rows)).gradient
    for item in range(0, 30, 7):
        step = 1e-5 * np.eye(30)[item]
        up, down = (engine.expectation(SCORES + s, log_emission(rows)).value for s in (step, -step))
        assert (up - down) / 2e-5 == pytest.approx(gradient[item], rel=1e-5, abs=1e-5)


def test_expectation_and_maximisation_agree_on_the_gradient(rows):
    engine = MemoryEngine(rows)
    at = full_pass(engine, SCORES, log_emission(rows))
    there = engine.maximisation(SCORES, at.posterior)
    np.testing.assert_allclose(there.gradient, at.gradient, atol=1e-10)


def test_only_differences_of_scores_matter(rows):
    engine = MemoryEngine(rows)
    here, shifted = (full_pass(engine, SCORES + shift, log_emission(rows)) for shift in (0.0, 5.0))
    assert shifted.value == pytest.approx(here.value, rel=1e-12)
    np.testing.assert_allclose(shifted.posterior, here.posterior, rtol=1e-10)
    assert here.gradient.sum() == pytest.approx(0, abs=1e-10)


def test_sums_over_votes_are_those_of_the_posterior(rows):
    at = full_pass(MemoryEngine(rows), SCORES, log_emission(rows))
    np.testing.assert_allclose(at.expected_counts, rows.over_votes(at.posterior), rtol=1e-12)


def test_more_patterns_than_a_pass_adds_up_give_the_same_sums(votes, monkeypatch):
    rows = Rows.per_pair(votes)
    inside = MemoryEngine(rows).expectation(SCORES, log_emission(rows))
    monkeypatch.setattr(passes, "_MOST_PATTERNS_IN_PASS", 3)
    outside = MemoryEngine(rows).expectation(SCORES, log_emission(rows))
    np.testing.assert_allclose(outside.expected_counts, inside.expected_counts, rtol=1e-12)
    assert outside.value == inside.value


def test_very_unlikely_votes_neither_overflow_nor_vanish(rows):
    table = log_emission(rows)
    engine = MemoryEngine(rows)
    here = full_pass(engine, SCORES, table)
    shifted = full_pass(engine, SCORES, table - 5000)
    np.testing.assert_allclose(shifted.posterior, here.posterior, rtol=1e-8)
    assert shifted.value == pytest.approx(here.value - 5000 * rows.vote_counts.sum())
    far = full_pass(engine, 1e6 * SCORES, table)
    assert np.isfinite([far.value, *far.gradient, *far.posterior]).all()


def test_curvature_that_is_no_longer_there_is_worked_out_again(rows):
    engine = MemoryEngine(rows)
    first = engine.expectation(SCORES, log_emission(rows)).curvature
    fresh = engine.bends(first).copy()
    start = engine.maximisation(np.zeros(30), np.full(len(rows), 0.7)).curvature
    at_start = engine.bends(start).copy()
    assert engine.passes == 2
    np.testing.assert_array_equal(engine.bends(first), fresh)
    np.testing.assert_array_equal(engine.bends(start), at_start)
    assert engine.passes == 4


def test_curvature_is_never_negative_and_its_sums_are_the_degrees(rows):
    engine = MemoryEngine(rows)
    posterior = np.random.default_rng(2).uniform(0, 1, len(rows))
    passes = [engine.expectation(SCORES, log_emission(rows))]
    passes += [engine.maximisation(SCORES, posterior, loss) for loss in ("logistic", "hinge")]
    for at in passes:
        bends = engine.bends(at.curvature)
        assert (bends >= 0).all()
        links = engine.links(at.curvature)
        degree = np.bincount(links.first, links.curvature, 30) + np.bincount(links.second, links.curvature, 30)
        np.testing.assert_allclose(at.degree, degree, rtol=1e-5)


def test_the_curvature_product_is_that_of_a_graph_laplacian(rows):
    rng, engine = np.random.default_rng(3), MemoryEngine(rows)
    curvature = engine.expectation(SCORES, log_emission(rows)).curvature
    links = engine.links(curvature)
    matrix = np.zeros((30, 30))
    for i, j, c in zip(links.first, links.second, links.curvature, strict=True):
        matrix[[i, j], [i, j]] += c
        matrix[[i, j], [j, i]] -= c
    vector = rng.standard_normal(30)
    np.testing.assert_allclose(engine.curvature_times(curvature, vector), matrix @ vector, rtol=1e-9)
    strided = np.repeat(vector, 2)[::2]
    np.testing.assert_allclose(engine.curvature_times(curvature, strided), matrix @ vector, rtol=1e-9)


def test_the_hinge_loss_is_rennies_smooth_hinge():
    votes = Comparisons.from_arrays(["a", "b", "c"], ["b", "c", "d"], ["x"] * 3, [1, 1, 1])
    scores, posterior = np.array([0.0, -0.5, 1.5, 0.0]), np.array([1.0, 0.25, 0.0])

    def hinge(z):
        return 0.0 if z >= 1 else (1 - z) ** 2 / 2 if z > 0 else 0.5 - z

    margins = [0.5, -2.0, 1.5]
    value = -sum(q * hinge(m) + (1 - q) * hinge(-m) for q, m in zip(posterior, margins, strict=True))
    engine = MemoryEngine(Rows.per_pair(votes))
    assert engine.maximisation(scores, posterior, "hinge").value == pytest.approx(value)


def test_the_logistic_loss_is_the_expected_log_likelihood(rows):
    posterior = np.random.default_rng(4).uniform(0, 1, len(rows))
    weight = rows.weight if len(rows.weight) else np.ones(len(rows))
    p = expit(SCORES[rows.first] - SCORES[rows.second])
    expected = weight @ (posterior * np.log(p) + (1 - posterior) * np.log(1 - p))
    assert MemoryEngine(rows).maximisation(SCORES, posterior).value == pytest.approx(expected, rel=1e-12)


def test_every_pass_is_counted(rows):
    engine = MemoryEngine(rows)
    engine.expectation(SCORES, log_emission(rows))
    engine.maximisation(SCORES, rows.share)
    assert engine.passes == 2


@pytest.mark.parametrize("threads", [1, 3])
def test_threads_change_no_bit(rows, threads):
    one, more = (full_pass(MemoryEngine(rows, n), SCORES, log_emission(rows)) for n in (None, threads))
    for name in ("posterior", "curvature", "gradient", "degree", "expected_counts"):
        assert getattr(one, name).tobytes() == getattr(more, name).tobytes(), name
    assert one.value == more.value


def test_more_items_than_two_bytes_can_number():
    n_items = (1 << 16) + 10
    left = np.arange(n_items - 1)
    votes = Comparisons.from_arrays(left, left + 1, left % 3, (left % 5 > 0).astype(float))
    rows = Rows.per_pair(votes)
    assert rows.layout[1].dtype == np.int32
    scores = np.random.default_rng(0).standard_normal(n_items)
    engine = MemoryEngine(rows)
    at = full_pass(engine, scores, log_emission(rows))
    np.testing.assert_allclose(at.expected_counts, rows.over_votes(at.posterior), rtol=1e-9)
    assert engine.maximisation(scores, at.posterior).gradient == pytest.approx(at.gradient, abs=1e-9)
    product = engine.curvature_times(engine.expectation(scores, log_emission(rows)).curvature, scores)
    flow = at.curvature.astype(float) * (scores[:-1] - scores[1:])
    np.testing.assert_allclose(product, np.append(flow, 0) - np.append(0, flow), atol=1e-9)


def test_an_engine_goes_when_nobody_holds_it(rows):
    engine = MemoryEngine(rows)
    at = engine.expectation(SCORES, log_emission(rows))
    engine.maximisation(SCORES, rows.share)
    gone = weakref.ref(engine)
    gc.disable()
    try:
        del engine
        assert gone() is None
    finally:
        gc.enable()
    assert at.value < 0
