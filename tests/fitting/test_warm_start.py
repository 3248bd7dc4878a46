from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import jamrank as jr
from jamrank.errors import NotFittedError, ParameterError


@pytest.fixture(scope="module")
def study() -> jr.simulation.Simulation:
    return jr.simulate(n_items=40, n_annotators=12, n_votes=4000, n_features=3, random_state=5)


def halves(study) -> tuple[jr.Comparisons, jr.Comparisons]:
    """Earlier votes, without one item and one annotator, and all of them."""
    early = study.frame.head(3000).filter(
        (pl.col("annotator") != "ann03") & (pl.col("left") != "item07") & (pl.col("right") != "item07")
    )
    return jr.Comparisons.from_frame(early), study.votes


@pytest.mark.parametrize("name", ["JAM", "CrowdBT", "BradleyTerry", "linear", "two-coin"])
def test_a_fit_that_starts_from_an_earlier_one_ends_where_any_other_does_in_fewer_passes(study, name, tmp_path):
    early, late = halves(study)
    features = dict(zip(study.votes.items.tolist(), study.features, strict=True)) if name == "linear" else None

    def model():
        settings = {"tol": 1e-7, "prior": jr.Prior(score_variance=1.5)}
        if name != "BradleyTerry":
            settings["flips"] = "joint"
        if name in ("linear", "two-coin"):
            return jr.JAM(noise="flip" if name == "linear" else name, **settings)
        return getattr(jr, name)(**settings)

    model().fit(early, features).save(tmp_path / "early.json")
    cold = model().fit(late, features)
    warm = model().fit(late, features, start=jr.load(tmp_path / "early.json"))
    np.testing.assert_allclose(warm.scores_, cold.scores_, atol=2e-4 if name == "linear" else 1e-5)
    np.testing.assert_allclose(warm.flip_, cold.flip_, atol=1e-5)
    assert warm.n_iter_ <= cold.n_iter_
    again = model().fit(late, features, start=cold)
    assert again.n_iter_ < cold.n_iter_


def test_with_an_estimated_variance_the_end_is_the_same_to_its_precision(study):
    early, late = halves(study)
    cold = jr.JAM(flips="joint").fit(late)
    warm = jr.JAM(flips="joint").fit(late, start=jr.JAM().fit(early))
    assert warm.result_.scores.score_variance == pytest.approx(cold.result_.scores.score_variance, rel=0.05)
    np.testing.assert_allclose(warm.scores_, cold.scores_, atol=0.05)
    assert warm.result_.convergence.n_passes < cold.result_.convergence.n_passes


def test_with_few_votes_and_scores_integrated_out_the_start_does_not_matter(study):
    early, late = halves(study)
    cold, warm = jr.CrowdBT().fit(late), jr.CrowdBT().fit(late, start=jr.CrowdBT().fit(early))
    np.testing.assert_array_equal(warm.flip_, cold.flip_)


def test_other_models_cannot_start_and_say_so(study):
    with pytest.raises(ParameterError, match="MajorityVote"):
        jr.JAM().fit(study.votes, start=jr.MajorityVote().fit(study.votes))
    with pytest.raises(ParameterError, match="Borda"):
        jr.Borda().fit(study.votes, start=jr.JAM())
    with pytest.raises(NotFittedError):
        jr.JAM().fit(study.votes, start=jr.JAM())
