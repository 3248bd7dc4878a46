"""The scorers in models: special cases, recovery, loose items, votes on disk."""

from __future__ import annotations

import warnings

import numpy as np
import polars as pl
import pytest
from scipy.special import expit

import jamrank as jr
from jamrank.errors import DisconnectedWarning, JamrankWarning, SparseVotesWarning

FLIPS = np.array([0.05, 0.1, 0.2, 0.3])
WEIGHTS = np.array([1.0, -0.5, 0.0])


def drawn(seed: int, explained, variance: float, n_items: int = 120, n_pairs: int = 1500, flips=FLIPS):
    """Draw scores that features explain in part, and votes; return votes, features and scores."""
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((n_items, 3))
    scores = explained(x) + np.sqrt(variance) * rng.standard_normal(n_items)
    left, right = np.triu_indices(n_items, 1)
    chosen = np.sort(rng.choice(len(left), n_pairs, replace=False))
    left, right = left[chosen], right[chosen]
    better = rng.random(n_pairs) < expit(scores[left] - scores[right])
    said = (better[:, None] ^ (rng.random((n_pairs, len(flips))) < flips)).astype(np.int8)
    votes = jr.Comparisons.from_matrix(left, right, said)
    assert votes.n_items == n_items
    return votes, x, scores


def linear(x):
    return x @ WEIGHTS


def wavy(x):
    return 2.5 * np.sin(2 * x[:, 0]) + np.abs(x[:, 1])


@pytest.mark.parametrize("scorer", ["linear", "linear+objects"])
def test_a_linear_kernel_is_linear(scorer):
    votes, x, _ = drawn(0, linear, 0.5)
    a = jr.JAM(scorer=scorer).fit(votes, x)
    b = jr.KernelJAM(scorer=scorer.replace("linear", "kernel"), kernel="linear").fit(votes, x)
    for name in ("scores_", "feature_scores_", "flip_", "posterior_"):
        np.testing.assert_allclose(getattr(a, name), getattr(b, name), atol=1e-6)
    new = {"new": [0.3, -1.0, 2.0]}
    known = votes.items[:1]
    np.testing.assert_allclose(a.predict_proba("new", known, new), b.predict_proba("new", known, new), atol=1e-6)


def test_the_scorer_that_jam_takes_by_itself_is_told():
    votes, x, _ = drawn(0, linear, 0.5)
    assert jr.JAM().fit(votes).result_.scores.scorer == "objects"
    assert jr.JAM().fit(votes, x).result_.scores.scorer == "linear"
    objects = jr.JAM(scorer="objects").fit(votes, x)
    assert objects.coef_ is None
    assert objects.scores_.tobytes() == jr.JAM().fit(votes).scores_.tobytes()


def test_votes_drawn_from_a_sum_give_back_what_they_were_drawn_from():
    found = []
    for seed in range(4):
        votes, x, scores = drawn(seed, linear, 1.0)
        model = jr.JAM(scorer="linear+objects").fit(votes, x)
        np.testing.assert_allclose(model.flip_, FLIPS, atol=0.035)
        np.testing.assert_allclose(model.coef_, WEIGHTS, atol=0.35)
        assert np.corrcoef(model.scores_, scores)[0, 1] > 0.9
        found.append(model.result_.scores.score_variance)
    assert 0.6 < np.exp(np.mean(np.log(found))) < 2.0


def test_mixed_bradley_terry_gives_back_what_votes_were_drawn_from():
    votes, x, scores = drawn(1, linear, 1.0, n_pairs=4000, flips=np.zeros(1))
    model = jr.MixedBT().fit(votes, x)
    np.testing.assert_allclose(model.coef_, WEIGHTS, atol=0.25)
    assert 0.5 < model.result_.scores.score_variance < 2.5
    assert np.corrcoef(model.scores_, scores)[0, 1] > 0.95
    alone = jr.BradleyTerry().fit(votes)
    assert np.corrcoef(model.scores_, scores)[0, 1] >= np.corrcoef(alone.scores_, scores)[0, 1]


def test_a_kernel_finds_what_is_not_linear_and_scores_unseen_items_by_it():
    votes, x, scores = drawn(2, wavy, 0.0, n_pairs=3000)
    model = jr.KernelJAM(n_landmarks=60).fit(votes, x)
    np.testing.assert_allclose(model.flip_, FLIPS, atol=0.03)
    straight = jr.JAM().fit(votes, x)
    assert np.corrcoef(model.feature_scores_, scores)[0, 1] > 0.95
    assert np.corrcoef(straight.feature_scores_, scores)[0, 1] < 0.6
    new = np.random.default_rng(9).standard_normal((50, 3))
    names = [f"new{k}" for k in range(50)]
    p = model.predict_proba(names, [votes.items[0]] * 50, dict(zip(names, new.tolist(), strict=True)))
    assert np.corrcoef(np.log(p / (1 - p)), wavy(new))[0, 1] > 0.8
    same = model.predict_proba("same", votes.items[0], {"same": x[5]})
    assert np.log(same / (1 - same)) == pytest.approx(model.feature_scores_[5] - model.scores_[0], abs=1e-9)


def test_items_that_votes_cannot_place_are_named_and_stay_finite():
    left, right = ["a", "a", "b", "x"], ["b", "c", "c", "y"]
    votes = jr.Comparisons.from_arrays(left, right, ["k"] * 4, [1, 1, 1, 1])
    features = {name: [float(n), float(n % 2)] for n, name in enumerate("abcxy")}
    featured = (jr.MixedBT(), jr.JAM(scorer="linear+objects"), jr.KernelJAM(), jr.KernelJAM(scorer="kernel+objects"))
    for model in (*featured, jr.BradleyTerry(), jr.CrowdBT(), jr.JAM(), jr.AmElo()):
        with pytest.warns(JamrankWarning) as told:
            model.fit(votes, features if model in featured else None)
        assert {warning.category for warning in told} >= {DisconnectedWarning, SparseVotesWarning}
        said = " ".join(str(warning.message) for warning in told)
        assert "2 groups" in said and "a, x" in said
        assert "2 of 5 items never lost a vote (a, x)" in said
        assert "2 of 5 items never won a vote (c, y)" in said
        assert np.isfinite(model.scores_).all() and np.abs(model.scores_).max() < 10
        assert model.scores_[0] > model.scores_[2]


def test_weights_have_intervals_in_the_units_of_the_user():
    for scorer, variance in (("linear", 0.0), ("linear+objects", 0.5)):
        votes, x, _ = drawn(0, linear, variance)
        model = jr.JAM(scorer=scorer).fit(votes, x)
        low, high = model.result_.coef_interval().T
        np.testing.assert_allclose((low + high) / 2, model.coef_)
        assert ((low < WEIGHTS) & (high > WEIGHTS)).all()
        scaled = jr.JAM(scorer=scorer).fit(votes, 10 * x)
        np.testing.assert_allclose(scaled.result_.coef_interval(), model.result_.coef_interval() / 10, rtol=1e-3)
    assert jr.JAM().fit(votes).result_.coef_interval() is None
    assert jr.KernelJAM().fit(votes, x).result_.coef_interval() is None


def test_scores_are_the_less_known_the_less_is_known_of_the_weights():
    votes, x, _ = drawn(0, linear, 0.0)
    free = jr.JAM(prior=jr.Prior(score_variance=1e-3)).fit(votes, x)
    held = jr.JAM(prior=jr.Prior(score_variance=1e-3, weight_variance=1e-6)).fit(votes, x)
    se = free.ranking_.sort("item")["score_se"].to_numpy()
    assert (se > held.ranking_.sort("item")["score_se"].to_numpy()).all()
    # What is not known of a weight moves an item the further, the further its features are from the mean.
    assert np.corrcoef(se, ((x - x.mean(axis=0)) ** 2).sum(axis=1))[0, 1] > 0.7


def test_one_vote_a_pair_does_not_send_the_variance_to_its_end():
    votes = jr.simulate(150, 8, 2500, n_features=3, random_state=0)
    model = jr.JAM(scorer="linear+objects").fit(votes.votes, votes.features)
    assert model.result_.scores.score_variance < 4
    assert np.corrcoef(model.scores_, votes.scores)[0, 1] > 0.8


def test_votes_are_foretold_through_the_margin_that_went_into_the_posterior():
    votes, x, _ = drawn(0, linear, 1.0)
    for model in (jr.JAM(scorer="linear+objects"), jr.KernelJAM(scorer="kernel+objects")):
        p = model.fit(votes, x).vote_proba(votes)
        truth = model.posterior_[votes.vote_pair]
        flip = model.flip_[votes.vote_annotator]
        told = truth * (1 - flip) + (1 - truth) * flip
        assert np.abs(p - told).max() < 0.25 and np.corrcoef(p, told)[0, 1] > 0.98


@pytest.mark.parametrize("model", [jr.JAM(scorer="linear+objects"), jr.KernelJAM(), jr.MixedBT()], ids=repr)
@pytest.mark.parametrize("old", [jr.JAM(), jr.JAM(scorer="linear+objects"), jr.KernelJAM()], ids=repr)
def test_a_fit_may_start_from_one_with_another_scorer(model, old):
    votes, x, _ = drawn(0, linear, 1.0, n_items=60, n_pairs=500)
    cold = model.set_params(tol=1e-8).fit(votes, x)
    known = cold.scores_.copy()
    warm = model.fit(votes, x, start=old.fit(votes, x))
    # Variances are known to two digits.
    assert np.corrcoef(warm.scores_, known)[0, 1] > 0.999


def test_a_kernel_foretells_votes_on_unseen_items():
    votes, x, _ = drawn(2, wavy, 0.0, n_pairs=3000)
    model = jr.KernelJAM(n_landmarks=60).fit(votes, x)
    best, worst = x[model.feature_scores_.argmax()], x[model.feature_scores_.argmin()]
    new = jr.Comparisons.from_arrays(["new1"], ["new2"], [votes.annotators[0]], [1])
    assert model.vote_proba(new, {"new1": best, "new2": worst})[0] > 0.8


def test_votes_that_leave_nothing_open_warn_of_nothing():
    votes, x, _ = drawn(0, lambda x: 0.2 * linear(x), 0.1)
    with warnings.catch_warnings():
        warnings.simplefilter("error", JamrankWarning)
        jr.JAM(scorer="linear+objects").fit(votes, x)


@pytest.mark.parametrize(
    "model", [jr.JAM(scorer="linear+objects"), jr.MixedBT(), jr.KernelJAM(kernel="linear")], ids=repr
)
def test_votes_on_disk_give_the_same_where_variances_are_given(model, tmp_path):
    votes, x, _ = drawn(0, linear, 0.5, n_items=60, n_pairs=400)
    votes.to_frame().write_parquet(tmp_path / "votes.parquet")
    stored = jr.store_comparisons(tmp_path / "votes.parquet", tmp_path / "stored")
    model.set_params(prior=jr.Prior(weight_variance=1.0, score_variance=0.5), tol=1e-9)
    near, far = (model.fit(source, x).scores_ for source in (votes, stored))
    np.testing.assert_allclose(near, far, atol=1e-6)
    assert np.isfinite(model.set_params(prior="auto").fit(stored, x).scores_).all()
    assert model.result_.recommended() == "posterior"


def test_a_kernel_fits_votes_on_disk(tmp_path):
    votes, x, scores = drawn(2, wavy, 0.0, n_items=60, n_pairs=600)
    votes.to_frame().write_parquet(tmp_path / "votes.parquet")
    stored = jr.store_comparisons(tmp_path / "votes.parquet", tmp_path / "stored")
    assert np.corrcoef(jr.KernelJAM(n_landmarks=20).fit(stored, x).scores_, scores)[0, 1] > 0.9


def test_decisions_are_judged_by_what_is_recommended(monkeypatch):
    votes, x, scores = drawn(3, linear, 1.0)
    model = jr.JAM(scorer="linear+objects").fit(votes, x)
    assert model.score(scores, by="recommended") == model.score(scores)
    monkeypatch.setattr(type(model.result_), "recommended", lambda self: "scores")
    pairs = model.pairs_.with_columns(pl.Series("gap", scores[votes.pair_first] - scores[votes.pair_second]))
    lean = model.scores_[votes.pair_first] > model.scores_[votes.pair_second]
    assert model.score(scores, by="recommended") == pytest.approx(((pairs["gap"].to_numpy() > 0) == lean).mean())
