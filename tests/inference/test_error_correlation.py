from __future__ import annotations

import numpy as np
import pytest

import jamrank as jr
from jamrank.inference import correlated
from jamrank.report import Analysis, findings


def jury(
    seed: int, n_judges: int = 5, n_pairs: int = 500, flip: float | np.ndarray = 0.2
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    a, b = np.triu_indices(40, 1)
    chosen = rng.choice(len(a), n_pairs, replace=False)
    truth = rng.random(n_pairs) < 1 / (1 + np.exp(0.1 * (a - b)[chosen]))
    said = truth[:, None] ^ (rng.random((n_pairs, n_judges)) < flip)
    return a[chosen], b[chosen], said.astype(float)


def test_independent_judges_are_worth_their_number():
    for seed in range(5):
        left, right, said = jury(seed)
        assert correlated(jr.Comparisons.from_matrix(left, right, said)).effective_judges == 5.0


@pytest.mark.parametrize("n_judges", [4, 5, 40])
def test_a_copy_is_worth_nothing(n_judges):
    left, right, said = jury(1, n_judges)
    said[:, 1] = said[:, 0]
    found = correlated(jr.Comparisons.from_matrix(left, right, said))
    assert (found.first[0], found.second[0]) == (0, 1)
    assert found.correlation[0] > 0.99
    assert found.effective_judges == pytest.approx(n_judges - 1, abs=0.05)


@pytest.mark.parametrize("flips", [[0.05, 0.15, 0.2, 0.5], [0.1, 0.1, 0.1, 0.5, 0.5], [0.05, 0.15, 0.2, 0.25]])
def test_judges_beside_those_who_guess_are_independent(flips):
    """Where others guess, they tell only products of the skills of the good judges, not how good each is."""
    for seed in range(10):
        left, right, said = jury(seed, len(flips), 400, np.array(flips))
        assert correlated(jr.Comparisons.from_matrix(left, right, said)).effective_judges == len(flips)


def test_three_who_copy_one_another_are_one():
    left, right, said = jury(2, 8)
    said[:, 1] = said[:, 2] = said[:, 0]
    assert correlated(jr.Comparisons.from_matrix(left, right, said)).effective_judges == pytest.approx(6, abs=0.1)


def test_half_a_copy_is_half_a_judge_or_so():
    left, right, said = jury(3, 5, 700)
    half = np.random.default_rng(0).random(len(left)) < 0.5
    said[half, 1] = said[half, 0]
    found = correlated(jr.Comparisons.from_matrix(left, right, said))
    assert 4.1 < found.effective_judges < 4.8
    assert len(found.first) == 1


def test_the_sides_and_names_do_not_matter():
    left, right, said = jury(4)
    said[:, 3] = said[:, 1]
    plain = correlated(jr.Comparisons.from_matrix(left, right, said))
    turn = np.random.default_rng(0).random(len(left)) < 0.5
    turned = np.where(turn[:, None], 1 - said, said)
    other = correlated(
        jr.Comparisons.from_matrix(
            39 - np.where(turn, right, left), 39 - np.where(turn, left, right), turned[:, ::-1], list("abcde")
        )
    )
    assert other.effective_judges == pytest.approx(plain.effective_judges, abs=1e-10)
    assert (4 - other.second[0], 4 - other.first[0]) == (plain.first[0], plain.second[0])


@pytest.mark.parametrize("n_judges", [1, 2, 3])
def test_few_judges_tell_nothing_of_each_other(n_judges):
    left, right, said = jury(5, n_judges)
    said[:, -1] = said[:, 0]
    assert correlated(jr.Comparisons.from_matrix(left, right, said)).effective_judges == n_judges


def test_models_tell_of_a_copy(tmp_path):
    left, right, said = jury(6)
    said[:, 1] = said[:, 0]
    votes = jr.Comparisons.from_matrix(left, right, said, list("ABCDE"))
    model = jr.JAM().fit(votes)
    assert model.result_.annotators.effective_judges == pytest.approx(4, abs=0.05)
    assert model.correlated_.rows()[0][:3] == ("A", "B", len(left))
    told = " ".join(findings(Analysis(model.result_, votes)))
    assert "Errors of A and B are correlated (" in told
    assert f"on {len(left)} of {len(left)} common pairs, expected" in told
    assert "treat them as one judge" in told
    # The copy is counted once, so that intervals are not too narrow.
    assert "too narrow" not in told


def good_and_turned(seed: int) -> jr.Comparisons:
    """Eight good judges, and a ninth who is right on the pairs of one of them and mostly wrong on all others."""
    rng = np.random.default_rng(seed)
    a, b = np.triu_indices(60, 1)
    chosen = rng.choice(len(a), 800, replace=False)
    truth = rng.random(800) < 0.5
    said = (truth[:, None] ^ (rng.random((800, 9)) < 0.1)).astype(float)
    common = np.arange(800) < 60
    wrong = np.where(common, rng.random(800) < 0.4, rng.random(800) < 0.75)
    said[:, 8] = truth ^ wrong
    said[~common, 0] = np.where(rng.random((~common).sum()) < 0.5, np.nan, said[~common, 0])
    said[common, 1:8] = np.nan
    said[(~common) & ~np.isnan(said[:, 0]), 8] = np.nan
    return jr.Comparisons.from_matrix(a[chosen], b[chosen], said)


def test_a_good_judge_and_a_bad_one_who_agree_on_half_their_pairs_have_no_errors_in_common():
    # Of 60 common pairs they agree on 35 or so; by their skills elsewhere 18 would be expected.
    for seed in range(5):
        found = correlated(good_and_turned(seed))
        assert not len(found.first), (found.agreed, found.expected, found.correlation)


def test_a_couple_comes_with_its_evidence():
    left, right, said = jury(7)
    said[:, 1] = said[:, 0]
    said[:20, 1] = 1 - said[:20, 0]
    found = correlated(jr.Comparisons.from_matrix(left, right, said))
    assert found.agreed[0] == found.common[0] - 20
    assert found.expected[0] == pytest.approx(len(left) * (1 + 0.6**2) / 2, rel=0.05)
