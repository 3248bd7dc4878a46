from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit

import jamrank as jr
from jamrank.data.storage import FIRST
from jamrank.engines import GradedEngine, MemoryEngine, TiedEngine
from jamrank.errors import GradesIgnoredWarning
from jamrank.fitting.em import Problem
from jamrank.noise import Flip, Graded, Tied
from jamrank.rows import ROWS_BY, grade_steps
from jamrank.scorers import ObjectScorer

N_ITEMS, N_ANNOTATORS = 9, 3
SLOPES, THRESHOLDS = np.array([1.0, 0.6, 1.4]), np.array([[-0.5, 1.0], [0.0, 0.5], [0.5, 1.5]])


def draw(n_votes: int, seed: int, flip: float = 0.0, ties: float = 0.0) -> tuple[jr.Comparisons, np.ndarray]:
    """Draw votes by the formula: who won, then step by step how clearly."""
    rng = np.random.default_rng(seed)
    scores = rng.normal(0, 1.2, N_ITEMS)
    scores -= scores.mean()
    left = rng.integers(N_ITEMS, size=n_votes)
    right = (left + rng.integers(1, N_ITEMS, size=n_votes)) % N_ITEMS
    who = rng.integers(N_ANNOTATORS, size=n_votes)
    margin = scores[left] - scores[right]
    won = (rng.random(n_votes) < expit(margin)) ^ (rng.random(n_votes) < flip)
    on = rng.random((n_votes, 2)) < expit((SLOPES[who] * np.where(won, margin, -margin))[:, None] - THRESHOLDS[who])
    grade = 1 + on[:, 0] + (on[:, 0] & on[:, 1])
    odds = ties / np.cosh(margin / 2)
    outcome = np.where(rng.random(n_votes) < odds / (1 + odds), 0.5, won.astype(float))
    return jr.Comparisons.from_arrays(left, right, who, outcome, grade=grade), scores


VOTES, SCORES = draw(500, 0, flip=0.1, ties=0.4)


def problem() -> Problem:
    rows, ties, steps = ROWS_BY["vote"](VOTES, 1), ROWS_BY["tie"](VOTES, 1), grade_steps(VOTES)
    engine = TiedEngine(GradedEngine(MemoryEngine(rows, 1), steps), MemoryEngine(ties, 1))
    n = rows.n_confusion_groups
    graded = Graded(Flip(rows.vote_counts, 1.0, 2.0), n, steps.counts, N_ANNOTATORS, True)
    return Problem(engine, ObjectScorer(N_ITEMS, 2.0), Tied(graded, n + graded.n_further, ties.vote_counts, 1.0))


def draw_point(seed: int) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(N_ITEMS + N_ANNOTATORS * 5)


def test_the_likelihood_is_that_of_the_formula():
    at, n = draw_point(1), N_ITEMS
    scores, flip, slope = at[:n], expit(at[n : n + 3]), at[n + 3 : n + 6]
    threshold, nu = at[n + 6 : n + 12].reshape(2, 3), np.exp(at[n + 12 :])
    total = 0.0
    for pair, who, result, grade, weight in zip(
        VOTES.vote_pair, VOTES.vote_annotator, VOTES.vote_result, VOTES.vote_grade, VOTES.vote_weight, strict=True
    ):
        margin = scores[VOTES.pair_first[pair]] - scores[VOTES.pair_second[pair]]
        tied = nu[who] / (nu[who] + np.cosh(margin / 2))
        if result == 2:
            total += weight * np.log(tied)
            continue
        first = expit(margin) * (1 - flip[who]) + expit(-margin) * flip[who]
        likely = (1 - tied) * (first if result == FIRST else 1 - first)
        seen = margin if result == FIRST else -margin
        on = expit(slope[who] * seen - threshold[:, who])
        likely *= {1: 1 - on[0], 2: on[0] * (1 - on[1]), 3: on[0] * on[1]}[int(grade)]
        total += weight * np.log(likely)
    assert problem().evaluate(at[:n], at[n:]).expectation.value == pytest.approx(total, rel=1e-12)


def test_the_slope_is_the_derivative():
    posed, at = problem(), draw_point(2)
    slope = posed.slope(posed.evaluate(at[:N_ITEMS], at[N_ITEMS:]))
    for k, step in enumerate(1e-5 * np.eye(len(at))):
        ends = [posed.evaluate((at + s * step)[:N_ITEMS], (at + s * step)[N_ITEMS:]).objective for s in (1, -1)]
        assert (ends[0] - ends[1]) / 2e-5 == pytest.approx(slope[k], abs=1e-5)


def test_the_observed_information_is_the_second_derivative():
    posed, at = problem(), draw_point(4)
    degree, links = posed.engine.observed(at[:N_ITEMS], posed.noise.log_emission(at[N_ITEMS:]), True)
    for item in range(N_ITEMS):
        step = 1e-4 * (np.arange(N_ITEMS) == item)
        ends = [posed.evaluate(at[:N_ITEMS] + s * step, at[N_ITEMS:]).expectation.gradient[item] for s in (1, -1)]
        assert -(ends[0] - ends[1]) / 2e-4 == pytest.approx(degree[item], abs=1e-5)
    both = (np.bincount(ends, links.curvature, N_ITEMS) for ends in (links.first, links.second))
    assert sum(both) == pytest.approx(degree)


def test_the_curvature_is_a_laplacian():
    posed, at = problem(), draw_point(3)
    point = posed.evaluate(at[:N_ITEMS], at[N_ITEMS:])
    links = posed.engine.links(point.expectation.curvature)
    matrix = np.zeros((N_ITEMS, N_ITEMS))
    matrix[links.first, links.second] = links.curvature
    laplacian = np.diag(point.expectation.degree) - matrix - matrix.T
    vector = np.random.default_rng(0).standard_normal(N_ITEMS)
    product = posed.engine.curvature_times(point.expectation.curvature, vector)
    np.testing.assert_allclose(product, laplacian @ vector, atol=1e-4)


@pytest.mark.parametrize("seed", range(4))
def test_the_update_never_leads_down(seed):
    posed, at = problem(), 2 * draw_point(seed)
    before = posed.evaluate(at[:N_ITEMS], at[N_ITEMS:])
    params = posed.noise.update(before.expectation.expected_counts, before.params)
    changed = np.concatenate([before.params[:3], params[3:12], before.params[12:]])
    assert posed.evaluate(at[:N_ITEMS], changed).objective >= before.objective


@pytest.mark.parametrize("model", [jr.BradleyTerry, jr.CrowdBT, jr.JAM], ids=lambda kind: kind.__name__)
def test_votes_without_steps_are_plain(model):
    frame = jr.simulate(8, 3, 300, ties=[0.5] * 3, random_state=3).frame
    plain = jr.Comparisons.from_frame(frame)
    graded = jr.Comparisons.from_frame(frame.with_columns(grade=1))
    one, other = (model().fit(votes) for votes in (plain, graded))
    np.testing.assert_allclose(one.scores_, other.scores_, atol=1e-9)
    assert one.log_likelihood_ == pytest.approx(other.log_likelihood_, abs=1e-8)
    assert "grade_slope" not in other.result_.annotators.traits


def test_swapping_every_pair_changes_nothing():
    frame = VOTES.to_frame()
    turned = frame.rename({"left": "right", "right": "left"}).with_columns(
        frame["winner"].replace({"left": "right", "right": "left"})
    )
    other = jr.CrowdBT().fit(jr.Comparisons.from_frame(turned))
    np.testing.assert_allclose(jr.CrowdBT().fit(VOTES).scores_, other.scores_, atol=1e-7)


@pytest.mark.parametrize(("model", "flip"), [(jr.BradleyTerry, 0.0), (jr.CrowdBT, 0.1)])
def test_slopes_thresholds_and_scores_are_found(model, flip):
    votes, scores = draw(6000, 5, flip=flip, ties=0.3)
    fitted = model().fit(votes)
    assert fitted.converged_
    traits = fitted.result_.annotators.traits
    # Scores and slopes share a scale where flips must be told from it.
    scale = float(scores @ fitted.scores_ / (scores @ scores))
    assert scale == pytest.approx(1.0, abs=0.25)
    np.testing.assert_allclose(scale * traits["grade_slope"], SLOPES, atol=0.2)
    np.testing.assert_allclose(traits["grade_threshold"], THRESHOLDS, atol=0.25)
    np.testing.assert_allclose(fitted.scores_ / scale, scores, atol=0.25)
    plain = model().fit(votes.ungraded())
    spread = fitted.scores_ - scores, plain.scores_ - scores
    assert np.square(spread[0]).mean() < 1.05 * np.square(spread[1]).mean()


def test_grades_make_scores_surer_and_intervals_hold():
    held, narrower = [], []
    for seed in range(8):
        votes, scores = draw(300, 100 + seed)
        fitted, plain = (
            jr.BradleyTerry(prior=jr.Prior(score_variance=1.44)).fit(v) for v in (votes, votes.ungraded())
        )
        covariance = fitted.result_.inference.observed
        assert covariance is not None
        error = np.sqrt(np.diag(np.linalg.inv(covariance.matrix))[:N_ITEMS])
        other = np.sqrt(np.diag(np.linalg.inv(plain.result_.inference.observed.matrix))[:N_ITEMS])
        held.append(np.abs(fitted.scores_ - scores) < 1.96 * error)
        narrower.append(float(np.mean(error / other)))
    assert 0.85 < np.mean(held) <= 1.0
    assert np.mean(narrower) < 0.95


def test_an_adversarys_grades_are_understood():
    votes, scores = draw(3000, 7)
    frame = votes.to_frame()
    liar = frame["annotator"] == 1
    turned = frame["winner"].replace({"left": "right", "right": "left"})
    frame = frame.with_columns(winner=turned.zip_with(liar, frame["winner"]))
    model = jr.CrowdBT().fit(jr.Comparisons.from_frame(frame))
    assert model.flip_[1] > 0.8 and model.result_.annotators.traits["grade_slope"][1] < 0
    assert np.corrcoef(model.scores_, scores)[0, 1] > 0.98


def test_outcome_probabilities_add_up_and_follow_the_margin():
    model = jr.BradleyTerry().fit(VOTES)
    best, worst = VOTES.items[np.argmax(model.scores_)], VOTES.items[np.argmin(model.scores_)]
    chances = model.result_.predict_grades([best, worst], [worst, best], [0, 0])
    assert chances.shape == (2, 7) and chances.sum(axis=1) == pytest.approx([1.0, 1.0])
    np.testing.assert_allclose(chances[0], chances[1][::-1])
    assert chances[0, 0] > chances[0, -1]
    plain = model.result_.predict_votes([best], [worst], [0])[0]
    assert [chances[0, :3].sum(), chances[0, 4:].sum(), chances[0, 3]] == pytest.approx(plain)


def test_a_saved_model_has_the_grades(tmp_path):
    model = jr.CrowdBT().fit(VOTES)
    model.save(tmp_path / "model.jamrank")
    loaded = jr.load(tmp_path / "model.jamrank")
    np.testing.assert_array_equal(
        loaded.result_.annotators.traits["grade_threshold"], model.result_.annotators.traits["grade_threshold"]
    )
    again, point = loaded.result_.fit.fitted.point, model.result_.fit.fitted.point
    assert again.objective == pytest.approx(point.objective, abs=1e-9)


def test_a_model_that_goes_by_the_winner_says_so():
    with pytest.warns(GradesIgnoredWarning, match="AmElo uses only the winners"):
        jr.AmElo().fit(VOTES)


@pytest.mark.parametrize("n", [2, 3])
def test_the_dull_case_of_two_items_and_one_judge(n):
    votes = jr.Comparisons.from_arrays(["a"] * n, ["b"] * n, ["j"] * n, [1] * n, grade=[2, 1, 2][:n])
    model = jr.BradleyTerry().fit(votes)
    assert np.isfinite(model.scores_).all() and model.scores_[0] > model.scores_[1]


def test_names_and_order_do_not_matter():
    frame = VOTES.to_frame()
    who = {0: "q", 1: "z", 2: "a"}
    renamed = frame.with_columns(frame["annotator"].replace_strict(who))[::-1]
    one, other = (jr.CrowdBT().fit(jr.Comparisons.from_frame(table)) for table in (frame, renamed))
    np.testing.assert_allclose(one.scores_, other.scores_, atol=1e-5)
    mine, theirs = (model.result_.annotators.traits["grade_slope"] for model in (one, other))
    np.testing.assert_allclose(mine, theirs[[1, 2, 0]], atol=1e-4)
    posteriors = [model.result_.inference.sampler.posterior for model in (one, other)]
    np.testing.assert_array_equal(*(posterior.params for posterior in posteriors))
