"""What every model promises."""

from __future__ import annotations

import warnings
from copy import deepcopy
from functools import cache

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone

import jamrank as jr
from jamrank.errors import (
    FeatureError,
    FormatError,
    InputError,
    JamrankWarning,
    NotFittedError,
    ParameterError,
    TiesExcludedWarning,
    UnknownItemError,
)
from jamrank.io.archives import pack
from tests.models.invariance import Written, distance, draw

pytestmark = [
    pytest.mark.filterwarnings("ignore::jamrank.errors.TiesExcludedWarning"),
    pytest.mark.filterwarnings("ignore::jamrank.errors.SparseVotesWarning"),
]

# name: how to make it, and whether it gets features
MODELS = {
    "MajorityVote": (jr.MajorityVote, False),
    "IAM": (jr.IAM, True),
    "IAM normalised": (lambda: jr.IAM(normalise=True), True),
    "JAM": (jr.JAM, True),
    "JAM hinge": (lambda: jr.JAM(loss="hinge"), True),
    "JAM without prior": (lambda: jr.JAM(prior=None), True),
    "JAM on objects": (jr.JAM, False),
    "VRJAM": (jr.VRJAM, True),
    "VRJAM of 3": (lambda: jr.VRJAM(n_clusters=3), True),
    "JAM of linear+objects": (lambda: jr.JAM(scorer="linear+objects"), True),
    "KernelJAM": (jr.KernelJAM, True),
    "KernelJAM with objects": (lambda: jr.KernelJAM(scorer="kernel+objects"), True),
    "BradleyTerry": (jr.BradleyTerry, False),
    "CovariateBT": (jr.CovariateBT, False),
    "MixedBT": (jr.MixedBT, True),
    "CrowdBT": (jr.CrowdBT, False),
    # Two folds are enough to choose by, and half the fits.
    "Auto": (lambda: jr.Auto(folds=2), True),
    "Borda": (jr.Borda, False),
    "Copeland": (jr.Copeland, False),
    "HodgeRank": (jr.HodgeRank, False),
    "HodgeRank of shares": (lambda: jr.HodgeRank(flow="share"), False),
    "RankCentrality": (jr.RankCentrality, False),
    "WinRate": (jr.WinRate, False),
    "CrowdBT two-coin": (lambda: jr.CrowdBT(noise="two-coin"), False),
    "JAM two-coin": (lambda: jr.JAM(noise="two-coin"), True),
    "AmElo": (jr.AmElo, False),
    "DawidSkene": (jr.DawidSkene, False),
    # A few draws are enough to see that everything is there.
    "FamilyBT": (lambda: jr.FamilyBT(n_draws=64), False),
    "TasteBT": (jr.TasteBT, False),
    "DawidSkene two-coin": (lambda: jr.DawidSkene(noise="two-coin"), False),
    "BradleyTerry with ties": (lambda: jr.BradleyTerry(ties="davidson"), False),
    "JAM with ties": (lambda: jr.JAM(ties="davidson"), True),
    "JAM of linear+objects, two-coin with ties": (
        lambda: jr.JAM(scorer="linear+objects", noise="two-coin", ties="davidson"),
        True,
    ),
    "KernelJAM two-coin": (lambda: jr.KernelJAM(noise="two-coin"), True),
    "MixedBT with ties": (lambda: jr.MixedBT(ties="davidson"), True),
    "CrowdBT two-coin with ties": (lambda: jr.CrowdBT(noise="two-coin", ties="davidson"), False),
}
# Those that count votes: a tie is half a vote for each side.
COUNTING = ["MajorityVote", "Borda", "Copeland", "HodgeRank", "HodgeRank of shares", "RankCentrality", "WinRate"]
EM_MODELS = [
    name
    for name in MODELS
    if name not in ("IAM", "IAM normalised", "Auto", "CovariateBT", "FamilyBT", "TasteBT", *COUNTING)
]
# Combinations of parts that other names here have one by one, and slow ones: in the long suite.
COMBINED = {
    "JAM without prior",
    "JAM of linear+objects, two-coin with ties",
    "KernelJAM with objects",
    "KernelJAM two-coin",
    "MixedBT with ties",
    "CrowdBT two-coin with ties",
    "FamilyBT",
}


def held(names, *in_long: str) -> list:
    """Return the names, with those that are held to this in the long suite marked."""
    long = COMBINED.union(in_long)
    return [pytest.param(name, marks=pytest.mark.long if name in long else ()) for name in names]


# Auto fits many of the others: what follows from the model that it chose is repeated in the long suite.
AUTO_IN_LONG = held(MODELS, "Auto")
SHARED_TRUTH = [
    "JAM",
    "JAM of linear+objects",
    "KernelJAM",
    "MixedBT",
    "JAM on objects",
    "VRJAM",
    "CrowdBT",
    "BradleyTerry",
    "IAM",
    *COUNTING,
]


def test_every_named_model_is_held_to_this():
    assert {type(make()).__name__ for make, _ in MODELS.values()} == set(jr.models.MODELS)


def fit(name: str, written: Written, votes: jr.Comparisons | None = None, **changes):
    make, featured = MODELS[name]
    model = make().set_params(**changes)
    return model.fit(written.votes if votes is None else votes, written.frame if featured else None)


@pytest.fixture(params=held(MODELS))
def name(request) -> str:
    return request.param


@cache
def fitted(name: str):
    """A fit of the first votes, shared by tests that only look at it."""
    return fit(name, draw(1))


@pytest.fixture
def model(name):
    return fitted(name)


def test_arrays_follow_items_annotators_and_pairs(model):
    votes = draw(1).votes
    assert model.scores_.shape == (votes.n_items,)
    assert model.posterior_.shape == (votes.n_pairs,)
    assert len(model.flip_) == votes.n_annotators
    for array in (model.scores_, model.flip_, model.posterior_):
        assert np.isfinite(array).all()
    assert ((model.posterior_ >= 0) & (model.posterior_ <= 1)).all()
    assert ((model.flip_ >= 0) & (model.flip_ <= 1)).all()


def test_frames_are_views_of_the_arrays(model):
    ranking, annotators, pairs = model.ranking_, model.annotators_, model.pairs_
    assert ranking.columns == [
        "item",
        "rank",
        "score",
        "score_se",
        "score_low",
        "score_high",
        "rank_low",
        "rank_high",
    ]
    assert annotators.columns[:6] == ["annotator", "votes", "flip", "flip_low", "flip_high", "verdict"]
    assert annotators.columns[6:8] == ["evidence", "action"]
    assert pairs.columns == ["left", "right", "votes", "p_left"]
    assert ranking["score"].to_list() == sorted(model.scores_.tolist(), reverse=True)
    assert ranking["rank"][0] == 1
    by_item = dict(zip(ranking["item"], ranking["score"], strict=True))
    assert [by_item[item] for item in model.items_.tolist()] == model.scores_.tolist()
    np.testing.assert_array_equal(pairs["p_left"].to_numpy(), model.posterior_)
    assert (annotators["flip_low"] <= annotators["flip"]).all()
    assert (annotators["flip"] <= annotators["flip_high"]).all()
    if ranking["rank_low"].null_count() == 0:
        assert (ranking["rank_low"] <= ranking["rank_high"]).all()


@pytest.mark.parametrize("name", ["MajorityVote", "IAM", "JAM", "VRJAM", "BradleyTerry", "AmElo", "DawidSkene"])
def test_frames_are_pandas_where_the_votes_were(name):
    written = draw(1)
    frame = pd.DataFrame(written.votes.to_frame().to_dict(as_series=False))
    votes = jr.Comparisons.from_frame(frame)
    model = fit(name, written, votes)
    for result in (model.ranking_, model.annotators_, model.pairs_):
        assert isinstance(result, pd.DataFrame)


@pytest.mark.parametrize("name", AUTO_IN_LONG)
def test_an_adversary_is_found(name):
    if name.startswith(("IAM", "BradleyTerry", "MixedBT")) or name in COUNTING:
        pytest.skip("believes every annotator")
    model = fit(name, draw(3, n_votes=3000))
    verdicts = model.annotators_["verdict"].to_list()
    assert verdicts[-1] == "adversarial"
    assert "adversarial" not in verdicts[:-1]


def test_probabilities_of_the_two_sides_add_up_to_one(model):
    items = model.items_.tolist()
    left, right = items[:6], items[6:12]
    there, back = model.predict_proba(left, right), model.predict_proba(right, left)
    np.testing.assert_allclose(there + back, 1.0, atol=1e-15)
    assert model.predict_proba(items[0], items[1]).shape == (1,)


def test_unseen_items_are_scored_through_their_features_or_refused(name, model):
    seen = model.items_.tolist()[0]
    new = pl.DataFrame({"item": ["new"], "x0": [0.5], "x1": [0.1], "x2": [-2.0]})
    if not MODELS[name][1] or model.result_.scores.features is None:
        with pytest.raises(UnknownItemError, match="new"):
            model.predict_proba("new", seen, new)
        return
    if model.coef_ is None:
        assert 0 < model.predict_proba("new", seen, new)[0] < 1
        with pytest.raises(UnknownItemError, match="features"):
            model.predict_proba("new", seen)
        return
    centre = model.result_.scores.features.mean
    score = float((np.array([0.5, 0.1, -2.0]) - centre) @ model.coef_)
    expected = 1 / (1 + np.exp(model.scores_[0] - score))
    assert model.predict_proba("new", seen, new)[0] == pytest.approx(expected, rel=1e-12)
    with pytest.raises(UnknownItemError, match="features"):
        model.predict_proba("new", seen)


def test_coefficients_are_in_the_units_of_the_user(name):
    written = draw(1)
    if not MODELS[name][1] or name.startswith("KernelJAM"):
        pytest.skip("has no coefficients")
    model = fitted(name)
    if name == "Auto" and not model.uses_features_:
        pytest.skip("chose a model without features")
    explained = written.features[model.items_] @ model.coef_
    np.testing.assert_allclose(model.feature_scores_, explained - explained.mean(), atol=1e-9)


def test_score_counts_pairs_on_the_true_side_and_ties_half(model):
    truth = np.arange(len(model.items_), dtype=float)
    pairs = model.pairs_
    gap = truth[pairs["left"].to_numpy()] - truth[pairs["right"].to_numpy()]
    p = pairs["p_left"].to_numpy()
    right = np.where(p == 0.5, 0.5, (p > 0.5) == (gap > 0))
    assert model.score(truth) == pytest.approx(right[gap != 0].mean())
    by_id = dict(zip(model.items_.tolist(), truth.tolist(), strict=True))
    assert model.score(by_id) == model.score(truth) == model.score(pd.Series(by_id))
    above = np.sign(model.scores_[:, None] - model.scores_[None])[np.tril_indices(len(truth), -1)]
    assert model.score(truth, by="scores") == pytest.approx(((above + 1) / 2).mean())


def test_saving_and_loading_changes_no_bit(name, tmp_path):
    # Of some nothing was computed before: the loaded model computes it from the votes in the file.
    model = fit(name, draw(1)) if name in ("JAM on objects", "AmElo", "VRJAM") else fitted(name)
    model.save(tmp_path / "model.jamrank")
    again = jr.load(tmp_path / "model.jamrank")
    assert type(again) is type(model)
    assert again.get_params() == model.get_params()
    items = model.items_.tolist()
    left, right = np.repeat(items, len(items)), np.tile(items, len(items))
    other = left != right
    before, after = (m.predict_proba(left[other], right[other]) for m in (model, again))
    assert before.tobytes() == after.tobytes()
    for array in ("scores_", "flip_", "posterior_", "log_likelihoods_"):
        assert getattr(again, array).tobytes() == getattr(model, array).tobytes()
    for frame in ("ranking_", "annotators_", "pairs_"):
        assert getattr(again, frame).equals(getattr(model, frame))
    assert again.correlated_.equals(model.correlated_)
    assert again.result_.annotators.effective_judges == model.result_.annotators.effective_judges
    # Both have now computed the same.
    model.save(tmp_path / "model.jamrank")
    jr.load(tmp_path / "model.jamrank").save(tmp_path / "twice.jamrank")
    assert (tmp_path / "twice.jamrank").read_bytes() == (tmp_path / "model.jamrank").read_bytes()


def test_a_file_of_another_kind_version_or_class_is_refused(tmp_path):
    model = fitted("JAM")
    body = model._to_body()
    changed = tmp_path / "changed.jamrank"
    model.save(changed)
    whole = changed.read_bytes()
    for content in (
        pack("model", 2, body | {"class": "os.system"}),
        pack("model", 99, body),
        pack("other", 2, body),
        pack("model", 2, {name: value for name, value in body.items() if name != "scores"}),
        whole[: len(whole) // 2],
        b"",
        b"{}",
    ):
        changed.write_bytes(content)
        with pytest.raises(FormatError):
            jr.load(changed)


def test_parameters_follow_scikit_learn(name):
    model = MODELS[name][0]()
    assert clone(model).get_params() == model.get_params()
    assert repr(model).startswith(type(model).__name__ + "(")
    with pytest.raises(ParameterError, match="no argument 'nonsense'"):
        model.set_params(nonsense=1)


def test_results_before_fit_are_refused(name):
    model = MODELS[name][0]()
    for result in ("scores_", "ranking_", "posterior_"):
        with pytest.raises(NotFittedError, match="fit"):
            getattr(model, result)
    with pytest.raises(NotFittedError):
        model.predict_proba(["a"], ["b"])


def test_a_failed_fit_leaves_no_half_results(name):
    model = deepcopy(fitted(name))
    with pytest.raises(InputError, match="does not exist"):
        model.fit(["votes.csv"], draw(1).frame if MODELS[name][1] else None)
    only_ties = jr.Comparisons.from_arrays(["a", "b"], ["b", "c"], ["x", "y"], [0.5, 0.5])
    if name not in COUNTING:
        features = {"a": [0.0, 1.0], "b": [1.0, 0.0], "c": [2.0, 5.0]}
        with pytest.raises(InputError, match="no decided vote"):
            model.fit(only_ties, features if MODELS[name][1] else None)
        assert not hasattr(model, "scores_")


def test_models_that_need_features_say_so():
    for model in (jr.IAM(), jr.VRJAM(), jr.KernelJAM(), jr.MixedBT()):
        with pytest.raises(FeatureError, match="needs features"):
            model.fit(draw(1).votes)


def test_clusters_may_be_counted_by_numpy():
    assert fit("VRJAM", draw(1), n_clusters=np.int64(2)).flip_.shape[1] == 2
    with pytest.raises(ParameterError, match="n_clusters"):
        fit("VRJAM", draw(1), n_clusters="many")


@pytest.mark.parametrize(
    "bad",
    [
        {"random_state": "x"},
        {"max_iter": 2.5},
        {"n_jobs": 1.5},
        {"loss": "square"},
        {"scorer": "quadratic"},
        {"scorer": "linear+objects"},
        {"noise": "coin"},
        {"ties": "often"},
        {"ties": "davidson", "loss": "hinge"},
        {"prior": "strong"},
        {"tol": 0},
        {"max_iter": 0},
        {"n_init": 0},
    ],
)
def test_arguments_that_make_no_sense_are_refused(bad):
    with pytest.raises(ParameterError):
        jr.JAM(**bad).fit(draw(1).votes)


@pytest.mark.parametrize("model", [jr.MajorityVote(), jr.BradleyTerry()])
def test_an_annotator_whom_nobody_can_contradict_is_alone(model):
    left, right = np.tril_indices(30, -1)
    votes = jr.Comparisons.from_arrays(left, right, np.full(len(left), "k"), np.ones(len(left)))
    (row,) = model.fit(votes).annotators_.to_dicts()
    assert row["flip"] is row["flip_low"] is row["flip_high"] is None
    assert row["verdict"] == "alone"


@pytest.mark.filterwarnings("ignore::jamrank.errors.JamrankWarning")
def test_votes_that_are_all_ties_get_a_verdict_where_a_model_takes_them():
    votes = jr.Comparisons.from_arrays(["a", "b"], ["b", "c"], ["k", "l"], [0.5, 0.5])
    model = jr.MajorityVote().fit(votes)
    assert not model.result_.annotators.orientation.settled
    assert model.annotators_["verdict"].to_list() == ["too few votes"] * 2


@pytest.mark.parametrize("name", AUTO_IN_LONG)
def test_ties_are_used_or_left_out_with_a_count(name):
    written = draw(1)
    ties = int((written.outcome == 0.5).sum())
    assert ties > 0
    has_place = "ties" in MODELS[name][0]().get_params()
    halved = name in [*COUNTING, "CovariateBT"]
    if halved or (has_place and name != "JAM hinge"):
        with warnings.catch_warnings():
            warnings.simplefilter("error", TiesExcludedWarning)
            assert fit(name, written).result_.votes.n_ties == ties
        if halved:
            return
    with pytest.warns(TiesExcludedWarning, match=f"^{ties} tie vote"):
        model = fit(name, written, **({"ties": "leave out"} if has_place else {}))
    assert model.result_.votes.n_ties == ties
    decided = written.outcome != 0.5
    kept = jr.Comparisons.from_arrays(
        written.left[decided], written.right[decided], written.annotator[decided], written.outcome[decided]
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error", JamrankWarning)
        without = fit(name, written, kept, **({"ties": "leave out"} if has_place else {}))
    np.testing.assert_allclose(model.scores_, without.scores_, atol=1e-12)
    np.testing.assert_allclose(model.flip_, without.flip_, atol=1e-12)


@pytest.mark.parametrize("seed", [1, *(pytest.param(seed, marks=pytest.mark.long) for seed in (0, 2, 3, 4, 5))])
@pytest.mark.parametrize("name", AUTO_IN_LONG)
def test_writing_the_votes_in_another_way_changes_nothing(name, seed):
    if name == "JAM hinge":
        pytest.skip("an approximation, fitted to about 1e-6")
    if name == "Auto" and seed > 1:
        pytest.skip("two are enough for a choice among models that are tested here")
    rng = np.random.default_rng(seed)
    written = draw(seed, n_items=12 + seed, n_annotators=4 + seed, n_votes=150 + 200 * seed, whole=seed % 2 == 1)
    items, who = rng.permutation(len(written.features)), rng.permutation(4 + seed)
    model = fit(name, written)
    same, same_who = np.arange(len(items)), np.arange(len(who))
    assert distance(model, fit(name, written.permuted(rng)), same, same_who) <= 1e-10
    if "two-coin" not in name and name != "CovariateBT":  # for these sides count
        assert distance(model, fit(name, written.swapped(rng)), same, same_who) <= 1e-10
    assert distance(model, fit(name, written.renamed(items, who).permuted(rng)), items, who) <= 1e-10


def test_threads_change_no_bit(name):
    if name in [*COUNTING, "CovariateBT", "FamilyBT", "TasteBT"]:
        pytest.skip("has no threads")
    if name == "Auto":
        pytest.skip("fits the others, of which each is tested here")
    written = draw(2, n_items=300, n_annotators=9, n_votes=40_000)
    one, five = (fit(name, written, n_jobs=threads) for threads in (1, 5))
    for array in ("scores_", "flip_", "posterior_", "log_likelihoods_"):
        assert getattr(one, array).tobytes() == getattr(five, array).tobytes()


@pytest.mark.parametrize("name", SHARED_TRUTH)
def test_weight_two_is_the_vote_written_twice(name):
    written = draw(4)
    columns = written.left, written.right, written.annotator, written.outcome
    twice = np.random.default_rng(0).random(len(written.left)) < 0.4
    weighted = jr.Comparisons.from_arrays(*columns, weight=np.where(twice, 2.0, 1.0))
    repeated = jr.Comparisons.from_arrays(*(np.concatenate([c, c[twice]]) for c in columns))
    a, b = fit(name, written, weighted), fit(name, written, repeated)
    for array in ("scores_", "flip_", "posterior_"):
        np.testing.assert_allclose(getattr(a, array), getattr(b, array), atol=1e-12)
    assert a.annotators_.equals(b.annotators_)


@pytest.mark.parametrize("name", held(n for n in EM_MODELS if "hinge" not in n))
@pytest.mark.parametrize(
    ("prior", "seed"),
    [
        pytest.param(prior, seed, marks=() if (prior, seed) in (("auto", 3), (None, 0)) else pytest.mark.long)
        for prior in ("auto", None)
        for seed in range(4)
    ],
)
def test_the_objective_never_falls(name, prior, seed):
    written = draw(seed, n_votes=120 + 300 * seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = fit(name, written, prior=prior, max_iter=200)
    assert len(model.log_likelihoods_) == model.n_iter_ or model.n_iter_ == 0
    slack = 1e-12 * abs(model.log_likelihoods_[-1])
    assert (np.diff(model.log_likelihoods_) >= -slack).all()


def test_random_starts_reach_the_same_optimum_and_repeat():
    written = draw(5, n_votes=2000)
    usual = fit("JAM", written)
    for seed in range(3):
        random = fit("JAM", written, init="random", n_init=3, random_state=seed)
        np.testing.assert_allclose(random.flip_, usual.flip_, atol=1e-3)
    again = [fit("JAM", written, init="random", random_state=7).scores_ for _ in range(2)]
    assert again[0].tobytes() == again[1].tobytes()


def test_one_cluster_is_jam():
    written = draw(6, n_votes=1000)
    jam, vrjam = fit("JAM", written, flips="joint", ties="leave out"), fit("VRJAM", written, n_clusters=1)
    for array in ("scores_", "posterior_", "coef_", "log_likelihoods_"):
        assert getattr(jam, array).tobytes() == getattr(vrjam, array).tobytes()
    assert vrjam.flip_[:, 0].tobytes() == jam.flip_.tobytes()


def test_majority_vote_breaks_ties_at_random_only_in_its_decisions():
    votes = jr.Comparisons.from_arrays(["a", "a", "a", "b"], ["b", "b", "c", "c"], [1, 2, 1, 1], [1, 0, 1, 0.5])
    model = jr.MajorityVote().fit(votes)
    assert model.posterior_.tolist() == [0.5, 1.0, 0.5]
    decisions = np.array([model.decide(seed) for seed in range(200)])
    assert decisions[:, 1].all()
    assert 60 < decisions[:, 0].sum() < 140
    assert model.decide(3).tolist() == model.decide(3).tolist()
    assert model.score({"a": 3, "b": 2, "c": 1}) == pytest.approx(2 / 3)


def test_normalising_keeps_one_scale_from_dominating():
    written = draw(7, n_votes=2000)
    plain, even = fit("IAM", written), fit("IAM normalised", written)
    spread = plain.annotator_scores_.std(axis=1)
    np.testing.assert_allclose(plain.scores_, plain.annotator_scores_.sum(axis=0), atol=1e-12)
    np.testing.assert_allclose(even.scores_, (plain.annotator_scores_ / spread[:, None]).sum(axis=0), atol=1e-9)


def test_a_truth_is_shared_only_within_a_question():
    left, right = ["a"] * 6, ["b"] * 6
    who, outcome, question = [1, 2, 3] * 2, [1, 1, 1, 0, 0, 0], ["p"] * 3 + ["q"] * 3
    model = jr.JAM().fit(jr.Comparisons.from_arrays(left, right, who, outcome, question=question))
    assert model.pairs_["question"].to_list() == ["p", "q"]
    assert model.posterior_[0] > 0.6 > 0.4 > model.posterior_[1]
    assert model.scores_[0] == pytest.approx(model.scores_[1], abs=1e-6)


def test_a_pair_without_votes_gets_what_the_scores_say():
    left, right, who = ["a", "b", "a"], ["b", "c", "c"], ["x", "x", "x"]
    model = jr.JAM().fit(jr.Comparisons.from_arrays(left, right, who, [1.0, 1.0, np.nan]))
    assert model.pairs_["votes"].to_list() == [1, 0, 1]
    assert model.posterior_[1] == pytest.approx(model.predict_proba("a", "c")[0])


def test_separated_and_disconnected_items_get_finite_scores():
    left, right = ["a", "b", "c", "x", "y"] * 5, ["b", "c", "d", "y", "z"] * 5
    votes = jr.Comparisons.from_arrays(left, right, ["k"] * 25, [1.0] * 25)
    for model in (jr.JAM(), jr.BradleyTerry(), jr.CrowdBT()):
        scores = dict(zip(votes.items.tolist(), model.fit(votes).scores_.tolist(), strict=True))
        assert np.isfinite(list(scores.values())).all()
        assert scores["a"] > scores["b"] > scores["c"] > scores["d"]
        assert scores["x"] > scores["y"] > scores["z"]
