"""How likely a vote is, under each model."""

from __future__ import annotations

import warnings

import numpy as np
import polars as pl
import pytest
from scipy.special import expit

import jamrank as jr
from jamrank.errors import ParameterError
from jamrank.inference.vote_query import probit_adjusted_sigmoid

MODELS = {
    "MajorityVote": (jr.MajorityVote, False),
    "IAM": (jr.IAM, True),
    "JAM": (jr.JAM, True),
    "JAM on objects": (jr.JAM, False),
    "VRJAM": (lambda: jr.VRJAM(n_clusters=3), True),
    "BradleyTerry": (jr.BradleyTerry, False),
    "CrowdBT": (jr.CrowdBT, False),
    "Auto": (jr.Auto, True),
    "CrowdBT two-coin": (lambda: jr.CrowdBT(noise="two-coin"), False),
    "JAM two-coin": (lambda: jr.JAM(noise="two-coin"), True),
    "JAM with ties": (lambda: jr.JAM(ties="davidson"), False),
    "AmElo": (jr.AmElo, False),
    "DawidSkene": (jr.DawidSkene, False),
    "JAM of linear+objects": (lambda: jr.JAM(scorer="linear+objects"), True),
    "KernelJAM": (jr.KernelJAM, True),
    "MixedBT": (jr.MixedBT, True),
    "Borda": (jr.Borda, False),
    "HodgeRank": (jr.HodgeRank, False),
}


def features_of(drawn, votes):
    return dict(zip(votes.items.tolist(), drawn.features, strict=True))


@pytest.fixture(scope="module")
def drawn():
    return jr.simulate(15, 6, 1500, n_features=3, random_state=0)


@pytest.fixture(scope="module")
def parts(drawn):
    chosen = np.random.default_rng(0).random(len(drawn.votes.vote_result)) < 0.7
    return drawn.votes.only(chosen), drawn.votes.only(~chosen)


@pytest.fixture(params=MODELS)
def name(request):
    return request.param


FITS: dict[str, jr.models.RankingModel] = {}


def fitted(name, votes, drawn):
    """Return the fit that all tests look at."""
    if name not in FITS:
        make, featured = MODELS[name]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            FITS[name] = make().fit(votes, features_of(drawn, drawn.votes) if featured else None)
    return FITS[name]


def test_one_probability_for_each_decided_vote(name, drawn, parts):
    train, test = parts
    proba = fitted(name, train, drawn).vote_proba(test)
    assert proba.shape == test.vote_result.shape
    assert ((proba > 0) & (proba < 1)).all()
    # Better than a coin: on votes that the model has not seen.
    won = test.vote_result == 1
    assert -np.log(np.where(won, proba, 1 - proba)).mean() < np.log(2)


def test_ties_are_not_asked_about(name, drawn, parts):
    train, _ = parts
    items = drawn.votes.items
    test = jr.Comparisons.from_arrays(items[[0, 1, 2]], items[[3, 4, 5]], ["ann0"] * 3, [1, 0.5, 0])
    assert fitted(name, train, drawn).vote_proba(test).shape == (2,)


def test_turning_the_ids_round_turns_the_probability(name, drawn, parts):
    """Items whose names sort the other way round are the same items."""
    train, test = parts
    model = fitted(name, train, drawn)
    turned = {item: f"z{99 - k:02d}" for k, item in enumerate(drawn.votes.items.tolist())}
    frame = test.to_frame().with_columns(pl.col("left", "right").replace_strict(turned, return_dtype=pl.String))
    other = jr.Comparisons.from_frame(frame)
    back = {new: old for old, new in turned.items()}
    named = np.array([back[item] for item in other.items.tolist()], dtype=object)
    asked = jr.Comparisons(**{**{f: getattr(other, f) for f in other.__dataclass_fields__}, "items": named})
    told, proba = model.vote_proba(asked), model.vote_proba(test)

    def keyed(votes, values):
        pair = votes.vote_pair
        a, b = votes.items[votes.pair_first[pair]], votes.items[votes.pair_second[pair]]
        shown_left = np.where(votes.vote_swapped, b, a)
        rows = zip(a, b, shown_left, votes.vote_annotator, values, strict=True)
        return {(min(x, y), max(x, y), left, k): p if x < y else 1 - p for x, y, left, k, p in rows}

    before, after = keyed(test, proba), keyed(asked, told)
    assert before.keys() == after.keys()
    np.testing.assert_allclose([before[k] for k in before], [after[k] for k in before], atol=1e-12)


def test_strangers_get_a_probability_too(name, drawn, parts):
    train, _ = parts
    model = fitted(name, train, drawn)
    best, worst = model.ranking_["item"][0], model.ranking_["item"][-1]
    votes = jr.Comparisons.from_arrays(
        [best, best, "stranger"], [worst, "stranger", worst], ["nobody"] * 3, [1, 1, 1], question=["new"] * 3
    )
    proba = model.vote_proba(votes)
    assert np.isfinite(proba).all()
    assert ((proba > 0) & (proba < 1)).all()
    # Sorted: first come the pairs of real items.
    clear = proba[0] if best < worst else 1 - proba[0]
    assert clear >= 0.5
    if name != "MajorityVote":
        assert clear > 0.6


def test_saving_changes_nothing_on_pairs_that_were_fitted(name, drawn, parts, tmp_path):
    train, _ = parts
    model = fitted(name, train, drawn)
    model.save(tmp_path / "model.jamrank")
    again = jr.load(tmp_path / "model.jamrank")
    assert again.vote_proba(train).tobytes() == model.vote_proba(train).tobytes()


def test_votes_must_be_comparisons(name, drawn, parts):
    with pytest.raises(ParameterError, match="Comparisons"):
        fitted(name, parts[0], drawn).vote_proba("votes.csv")


def test_majority_vote_foretells_the_smoothed_share():
    votes = jr.Comparisons.from_arrays(["a"] * 4, ["b"] * 4, [1, 2, 3, 4], [1, 1, 1, 0])
    assert jr.MajorityVote().fit(votes).vote_proba(votes) == pytest.approx([4 / 6] * 4)


def test_bradley_terry_foretells_its_margin_less_what_is_unsure():
    votes = jr.simulate(8, 3, 400, random_state=1).votes
    model = jr.BradleyTerry().fit(votes)
    pair = votes.vote_pair
    plain = expit(model.scores_[votes.pair_first] - model.scores_[votes.pair_second])[pair]
    proba = model.vote_proba(votes)
    assert (np.abs(proba - 0.5) < np.abs(plain - 0.5)).all()
    np.testing.assert_allclose(proba, plain, atol=0.05)


def test_jam_sums_over_the_truth_of_the_pair():
    votes = jr.simulate(10, 5, 800, random_state=2).votes
    model = jr.JAM().fit(votes)
    proba = model.vote_proba(votes)
    truth, flip = model.posterior_[votes.vote_pair], model.flip_[votes.vote_annotator]
    np.testing.assert_allclose(proba, truth * (1 - flip) + (1 - truth) * flip, atol=0.06)
    unsure = (
        model.result_.predictor.score_variances[votes.pair_first]
        + model.result_.predictor.score_variances[votes.pair_second]
    )
    odds = np.log(model.posterior_) - np.log1p(-model.posterior_)
    truth = probit_adjusted_sigmoid(odds, unsure)[votes.vote_pair]
    np.testing.assert_allclose(proba, truth * (1 - flip) + (1 - truth) * flip, atol=1e-9)


def test_a_stranger_is_the_mean_annotator():
    votes = jr.simulate(10, 5, 800, random_state=2).votes
    model = jr.CrowdBT().fit(votes)
    asked = jr.Comparisons.from_arrays([votes.items[0]], [votes.items[1]], ["nobody"], [1])
    known = [
        model.vote_proba(jr.Comparisons.from_arrays([votes.items[0]], [votes.items[1]], [name], [1]))[0]
        for name in votes.annotators
    ]
    assert model.vote_proba(asked)[0] == pytest.approx(np.average(known, weights=votes.annotator_decided))


def test_an_unseen_item_is_scored_through_its_features(drawn, parts):
    train, _ = parts
    model = fitted("JAM", train, drawn)
    asked = jr.Comparisons.from_arrays([drawn.votes.items[0]] * 2, ["x-high", "x-low"], ["ann0"] * 2, [1, 1])
    direction = np.sign(model.coef_) * 3
    proba = model.vote_proba(asked, features={"x-high": direction, "x-low": -direction})
    middling = model.vote_proba(asked)
    assert middling[0] == pytest.approx(middling[1])
    assert model.flip_[0] < 0.5
    assert proba[0] < middling[0] < proba[1]
