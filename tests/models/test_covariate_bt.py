"""What sways annotators: planted effects, files, errors, and what cannot be separated from the scores."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest

import jamrank as jr
from jamrank.errors import InputError, ParameterError, UncertaintyWarning
from jamrank.selection.judging import assessed
from jamrank.simulation import Effect, Tastes


def drawn(n_votes: int = 2000, seed: int = 0, flips: tuple[float, ...] = (0.0,) * 5, **effects: Effect):
    known = effects or {"longer": Effect(common=0.5, sd=0.3)}
    tastes = Tastes(effects=known)
    return jr.simulate(
        10, 5, n_votes, truth="vote", noise="flip", flips=flips, spread=1.0, tastes=tastes, random_state=seed
    )


def test_planted_effects_are_found_and_taken_out():
    found = drawn(4000)
    model = jr.CovariateBT(covariates=["longer"]).fit(found.frame)
    effects = model.effects_
    assert effects.columns == ["covariate", "annotator", "coef", "coef_se", "coef_low", "coef_high", "sentence"]
    assert effects["annotator"].to_list() == ["all", *found.votes.annotators.tolist()]
    true = np.append(found.tastes.effects.mean(), found.tastes.effects)
    assert (np.abs(effects["coef"] - true) < 4 * effects["coef_se"]).all()
    apart = model.scores_ - (found.scores - found.scores.mean())
    assert np.abs(apart).max() < 0.4
    assert effects["sentence"][0].startswith("mean of 5 annotators, prefers higher longer: +")


def test_without_effects_it_is_bradley_terry():
    found = drawn(seed=1)
    model = jr.CovariateBT(covariates=["longer"], noise="none").fit(found.frame)
    left_in = model.ranking_with_effects_.sort("item")
    plain = jr.BradleyTerry().fit(found.votes)
    np.testing.assert_allclose(left_in["score"], plain.scores_, atol=0.02)
    np.testing.assert_allclose(left_in["score_se"], plain.uncertainty("information").score_se, rtol=0.02)
    assert left_in.columns == plain.ranking_.columns


def test_annotators_who_err_are_swayed_as_much_as_they_are():
    found = drawn(4000, 5, (0.05, 0.3, 0.15, 0.1, 0.2), longer=Effect(common=0.8, own=(0.4,)))
    true = found.tastes.effects.mean()
    model = jr.CovariateBT(covariates=["longer"]).fit(found.frame)
    without = jr.CovariateBT(covariates=["longer"], noise="none").fit(found.frame)
    mean, too_small = (one.effects_.row(0, named=True) for one in (model, without))
    assert mean["coef_low"] < true < mean["coef_high"]
    assert too_small["coef_high"] < true  # errors look like votes on close items
    flips = model.result_.extras["noise_flip"]
    assert flips[1] == flips.max() and flips[1] == pytest.approx(0.3, abs=0.1)
    votes = jr.read_comparisons(found.frame, covariates=["longer"])
    gain = [np.log(np.maximum(one.vote_proba(votes), 1e-9)).mean() for one in (model, without)]
    assert np.isfinite(gain).all()


def test_swayed_annotators_are_called_so():
    effects = {"longer": Effect(sd=1.0)}
    found = drawn(seed=2, **effects)
    model = jr.CovariateBT(covariates=["longer"]).fit(found.frame)
    strongest = int(np.abs(found.tastes.effects).argmax())
    for frame in (model.annotators_, assessed(model).annotators_frame()):
        assert frame["verdict"][strongest] == "swayed by longer"
        assert "log-odds" in frame["evidence"][strongest]
        assert "taken out" in frame["action"][strongest]


def test_a_preference_for_a_side_needs_no_column():
    rng = np.random.default_rng(3)
    left, right = rng.integers(0, 6, 1500), rng.integers(1, 6, 1500)
    right = (left + right) % 6
    odds = 0.4 * (left - right) + 0.8
    outcome = (rng.random(1500) < 1 / (1 + np.exp(-odds))).astype(float)
    votes = jr.Comparisons.from_arrays(left, right, rng.integers(0, 3, 1500), outcome)
    model = jr.CovariateBT().fit(votes)
    (all_judges,) = model.effects_.filter(pl.col("annotator") == "all").to_dicts()
    assert abs(all_judges["coef"] - 0.8) < 3 * all_judges["coef_se"]
    shown_left, _, _ = model.result_.predict_votes([0], [1], [0])[0]
    assert shown_left > model.predict_proba(0, 1)[0]


def test_a_difference_of_constants_of_items_needs_a_reference():
    found = drawn(3000, 4, style=Effect(common=0.6, sd=0.5, of_items=True))
    with pytest.warns(UncertaintyWarning, match="style is a difference of constants of the items"):
        model = jr.CovariateBT(covariates=["style"]).fit(found.frame)
    effects = model.effects_
    assert "all" not in effects["annotator"].to_list()
    assert effects["coef"].sum() == pytest.approx(0.0, abs=1e-9)
    assert "cannot be separated from the scores" in model.confounded_[0]
    true = found.tastes.effects[:, 0]
    assert (np.abs(effects["coef"] - (true - true.mean())) < 4 * effects["coef_se"]).all()
    referred = jr.CovariateBT(covariates=["style"], reference="ann0").fit(found.frame)
    assert not referred.confounded_
    # The scores are those of the reference, relative to whom the others are swayed.
    relative = referred.effects_.filter(pl.col("annotator") != "all")
    assert relative["annotator"].to_list() == ["ann1", "ann2", "ann3", "ann4"]
    assert (np.abs(relative["coef"] - (true[1:] - true[0])) < 4 * relative["coef_se"]).all()


def test_files_frames_and_functions_give_the_same(tmp_path):
    frame = drawn(600).frame
    model = jr.CovariateBT(covariates=["longer"])
    expected = model.fit(frame).effects_
    frame.write_csv(tmp_path / "votes.csv")
    frame.write_ndjson(tmp_path / "votes.jsonl")
    assert model.fit(tmp_path / "votes.csv").effects_.equals(expected)
    assert model.fit(tmp_path / "votes.jsonl").effects_.equals(expected)
    assert isinstance(model.fit(frame.to_pandas()).effects_, pd.DataFrame)
    twice = frame.with_columns(left_length=pl.col("longer") + 1.0, right_length=pl.lit(1.0)).drop("longer")
    computed = {"longer": lambda table: table["left_length"] - table["right_length"]}
    votes = jr.read_comparisons(twice, covariates=computed)
    np.testing.assert_allclose(model.fit(votes).effects_["coef"], expected["coef"], atol=1e-9)
    halves = [tmp_path / "a.csv", tmp_path / "b.csv"]
    frame.head(300).write_csv(halves[0])
    frame.tail(300).write_csv(halves[1])
    np.testing.assert_allclose(model.fit(halves).effects_["coef"], expected["coef"], atol=1e-9)


def test_columns_of_a_foreign_format_are_covariates_too(tmp_path):
    frame = drawn(600).frame
    arena = frame.select(
        model_a="left",
        model_b="right",
        winner=pl.when(pl.col("winner") == "left").then(pl.lit("model_a")).otherwise(pl.lit("model_b")),
        judge="annotator",
        longer="longer",
    )
    arena.write_csv(tmp_path / "battles.csv")
    model = jr.CovariateBT(covariates="longer")
    found = model.fit(tmp_path / "battles.csv").effects_
    np.testing.assert_allclose(found["coef"], model.fit(frame).effects_["coef"], atol=1e-9)


def test_in_one_line():
    frame = drawn(600).frame
    model = jr.fit(frame, "CovariateBT", covariates=["longer"], without="ann0")
    assert model.effects_["annotator"].to_list() == ["all", "ann1", "ann2", "ann3", "ann4"]
    assert model.result_.judged_by.endswith("CovariateBT allows for flips, but does not estimate their level.")
    plain = jr.fit(frame, "CovariateBT", covariates=["longer"], noise="none")
    assert plain.result_.judged_by.endswith("CovariateBT does not estimate flips.")


def test_saving_pickling_and_predicting(tmp_path):
    frame = drawn(600).frame
    votes = jr.read_comparisons(frame, covariates=["longer"])
    model = jr.CovariateBT(covariates=("longer", "side")).fit(votes)
    model.save(tmp_path / "model.jamrank")
    for again in (jr.load(tmp_path / "model.jamrank"), pickle.loads(pickle.dumps(model))):
        assert again.effects_.equals(model.effects_)
        assert again.ranking_.equals(model.ranking_)
        assert again.ranking_with_effects_.equals(model.ranking_with_effects_)
        np.testing.assert_array_equal(again.vote_proba(votes), model.vote_proba(votes))
        assert again.get_params() == model.get_params()
    likely = model.vote_proba(votes)
    loss = -np.log(np.where(votes.vote_result == 1, likely, 1 - likely)).mean()
    plain = jr.BradleyTerry().fit(votes).vote_proba(votes)
    assert loss < -np.log(np.where(votes.vote_result == 1, plain, 1 - plain)).mean() - 0.02
    with pytest.raises(ParameterError, match="no covariate 'longer'"):
        model.vote_proba(jr.read_comparisons(frame))


def test_soft_votes_weigh():
    frame = drawn(400).frame.with_columns(p_left=pl.lit(0.75))
    soft = jr.CovariateBT(covariates=["longer"]).fit(frame)
    parts = [frame.drop("p_left").with_columns(winner=pl.lit(w), weight=pl.lit(p)) for w, p in WEIGHTS]
    hard = jr.CovariateBT(covariates=["longer"]).fit(pl.concat(parts))
    np.testing.assert_allclose(soft.scores_, hard.scores_, atol=1e-9)


WEIGHTS = (("left", 0.75), ("right", 0.25))


@pytest.mark.parametrize(
    ("column", "said"),
    [
        (pl.lit("long"), "x is 'long'"),
        (pl.lit(None, pl.Float64), "x is missing"),
        (pl.lit(float("inf")), "x is 'inf'"),
        (pl.lit(0.0), "x is 0 in every vote"),
        (pl.lit(2.5), "x is 2.5 in every vote; use 'side'"),
        (
            pl.int_range(pl.len()) * 1e-300,
            "x is at most .*e-298; expected values whose largest is between 1e-100 and",
        ),
        (pl.int_range(pl.len()) * 1e300, "x is at most .*e\\+302; expected values"),
        (2 * pl.col("longer"), "x follows from the other covariates"),
    ],
)
def test_columns_that_cannot_be_covariates(column, said):
    frame = drawn(200).frame.with_columns(x=column)
    with pytest.raises(InputError, match=said):
        jr.CovariateBT(covariates=["longer", "x"]).fit(frame)


def test_names_that_make_no_sense():
    frame = drawn(200).frame
    with pytest.raises(InputError, match="no column 'length' for a covariate; there are 'longer'"):
        jr.CovariateBT(covariates=["length"]).fit(frame)
    for bad in ([], ["winner"], [3], 3):
        with pytest.raises(ParameterError, match="covariates"):
            jr.CovariateBT(covariates=bad).fit(frame)
    with pytest.raises(ParameterError, match="reference is bob, who cast no vote"):
        jr.CovariateBT(covariates=["longer"], reference="bob").fit(frame)
    with pytest.raises(ParameterError, match="function"):
        jr.read_comparisons(frame, covariates={"x": 3})
    with pytest.raises(ParameterError, match="otherwise"):
        jr.read_comparisons(frame, covariates={"side": lambda table: table["longer"]})


def test_a_row_without_a_vote_needs_no_covariate():
    frame = drawn(200).frame
    gap = frame.head(1).with_columns(winner=pl.lit("abstain"), longer=pl.lit(None, pl.Float64))
    model = jr.CovariateBT(covariates=["longer"])
    np.testing.assert_allclose(model.fit(pl.concat([frame, gap])).scores_, model.fit(frame).scores_, atol=1e-12)


def test_rows_with_a_bad_covariate_can_be_set_aside(tmp_path):
    frame = drawn(200).frame.with_columns(pl.col("longer").cast(pl.String))
    bad = frame.head(2).with_columns(longer=pl.lit("?"))
    pl.concat([bad, frame]).write_csv(tmp_path / "votes.csv")
    votes = jr.read_comparisons(tmp_path / "votes.csv", covariates=["longer"], skip_bad_rows=True)
    assert votes.n_votes == 200
    with pytest.raises(InputError, match="row 1: longer is '\\?'"):
        jr.read_comparisons(tmp_path / "votes.csv", covariates=["longer"])


@pytest.mark.parametrize(
    "votes",
    [
        [("a", "b", "left")],
        [("a", "b", "left")] * 5,
        [("a", "b", "left"), ("b", "a", "left")],
        [("a", x, w) for x in "bcd" for w in ("left", "right", "left")],
    ],
)
@pytest.mark.filterwarnings("ignore::jamrank.errors.UncertaintyWarning")
def test_dull_votes(votes):
    model = jr.CovariateBT().fit(votes)
    assert np.isfinite(model.scores_).all()
    assert model.ranking_["rank_low"].min() == 1
    assert np.isfinite(model.effects_["coef_high"].to_numpy()).all()


def test_too_many_items_are_refused():
    rng = np.random.default_rng(0)
    left = np.arange(2500)
    votes = jr.Comparisons.from_arrays(left, (left + 1) % 2500, rng.integers(0, 2, 2500), rng.integers(0, 2, 2500))
    with pytest.raises(ParameterError, match="too many for CovariateBT"):
        jr.CovariateBT().fit(votes)
