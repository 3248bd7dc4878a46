"""Same votes of annotators who cannot be named from copies."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.special import expit

import jamrank as jr
from jamrank.data.copies import log_chance_of_same_counts
from jamrank.inference.error_correlation import agreements
from jamrank.inference.same_votes import same_votes
from jamrank.report import Analysis, findings
from jamrank.report.build import write_report


def votes_of(who: list[str], truth: str) -> jr.Comparisons:
    """Return votes of annotators on the same 150 pairs, each drawn anew but for the last, who copies the first."""
    rng = np.random.default_rng(0)
    score = rng.normal(size=12)
    left = rng.integers(0, 12, 150)
    right = (left + rng.integers(1, 12, 150)) % 12
    p = expit(score[left] - score[right])
    rows = [rng.random(150) < p if truth == "vote" else p > 0.5 for _ in who[:-1]]
    won = np.array([*rows, rows[0]])
    n = len(who)
    return jr.Comparisons.from_arrays(
        np.tile(left, n), np.tile(right, n), np.repeat(who, 150), won.ravel().astype(float)
    )


@pytest.mark.parametrize("who", [["a", "b"], ["a", "b", "c"]])
def test_same_votes_are_said_to_be_copies_or_hardly_ever_wrong(who: list[str]) -> None:
    votes = votes_of(who, "vote")
    named = [
        line for line in findings(Analysis(jr.BradleyTerry().fit(votes).result_, votes)) if "cast the same" in line
    ]
    assert len(named) == 1
    assert named[0].startswith(f"a and {who[-1]} cast the same 150 votes, which BradleyTerry cannot explain")
    assert f"--without {who[-1]}" in named[0]


def test_it_is_said_that_annotators_with_the_same_votes_may_hardly_err() -> None:
    votes = votes_of(["a", "b"], "pair")
    (told,) = [line for line in findings(Analysis(jr.JAM().fit(votes).result_, votes)) if "cast the same" in line]
    pairs = len(np.unique(votes.vote_pair))
    assert told == (
        f"a and b cast the same votes on all {pairs} common pairs: either both hardly ever err, or they are not "
        "independent; --without b shows the ranking with only one of them."
    )


def test_nothing_is_said_where_votes_differ() -> None:
    three = votes_of(["a", "b", "c"], "vote")
    others = three.only(three.vote_annotator < 2)
    assert not [
        line for line in findings(Analysis(jr.BradleyTerry().fit(others).result_, others)) if "cast the same" in line
    ]


def jury(seed: int, n_pairs: int = 150, flips: tuple[float, ...] = (0.1, 0.2, 0.15, 0.25), copy: bool = True) -> Any:
    """Return votes of annotators on pairs of ten items, each under a prompt of its own; the last copies the first."""
    rng = np.random.default_rng(seed)
    left = rng.integers(0, 10, n_pairs)
    right = (left + rng.integers(1, 10, n_pairs)) % 10
    truth = rng.random(n_pairs) < expit((right - left) / 3)
    said = [truth ^ (rng.random(n_pairs) < flip) for flip in flips]
    said += [said[0]] if copy else []
    who = np.repeat([f"j{k}" for k in range(len(said))], n_pairs)
    columns = (np.tile(ends, len(said)) for ends in (left, right))
    prompt = np.tile(np.arange(n_pairs), len(said))
    return jr.Comparisons.from_arrays(*columns, who, np.array(said).ravel().astype(float), question=prompt)


@pytest.mark.filterwarnings("ignore::jamrank.errors.CopiesWarning")
@pytest.mark.parametrize("model", [jr.JAM(), jr.CrowdBT(), jr.JAM(noise="difficulty")])
def test_a_copy_is_named_or_no_reliability_is_claimed(model: Any, tmp_path: Path) -> None:
    cautioned = 0
    for seed in range(6):
        votes = jury(seed)
        checked = " ".join(finding.sentence for finding in jr.check(votes).findings)
        fitted = model.fit(votes)
        if (fitted.result_.votes.copy_of >= 0).any():
            assert "is a copy of j0: independent annotators would not cast the same votes on all 150 pairs" in checked
            continue
        if not fitted.result_.annotators.same_votes:  # their errors were found to be correlated
            assert len(fitted.correlated_)
            continue
        cautioned += 1
        frame = fitted.annotators_
        assert frame.filter(frame["annotator"].is_in(["j0", "j4"]))["verdict"].to_list() == ["same votes"] * 2
        assert frame["flip_low"].null_count() == 5
        told = "j0 and j4 cast the same votes on all 150 common pairs"
        analysis = Analysis(fitted.result_, votes)
        assert sum("j0 and j4 cast the same" in line for line in findings(analysis)) == 1
        write_report(fitted, votes, tmp_path / "report.html")
        page = (tmp_path / "report.html").read_text()
        assert told in page and told in checked
        assert "No correlated errors" not in page and "nearly independent" not in page
        fitted.save(tmp_path / "m.jamrank")
        assert jr.load(tmp_path / "m.jamrank").annotators_.equals(frame)
    assert cautioned >= 1


@pytest.mark.parametrize("n_pairs", [12, 40, 150])
def test_independent_annotators_are_seldom_cautioned(n_pairs: int) -> None:
    found = 0
    for seed in range(100):
        flips = tuple(np.random.default_rng(1000 + seed).uniform(0.05, 0.3, 5))
        votes = jury(seed, n_pairs, flips, copy=False)
        found += bool(same_votes(votes, agreements(votes)))
    assert found <= 2


def test_equal_majorities_of_several_votes_are_not_the_same_votes() -> None:
    rng = np.random.default_rng(0)
    n_pairs, each = 60, 9
    said = rng.random((2, n_pairs, each)) < 0.97
    ends = np.triu_indices(20, 1)
    left, right = (np.tile(np.repeat(end[:n_pairs], each), 2) for end in ends)
    votes = jr.Comparisons.from_arrays(left, right, np.repeat(["a", "b"], n_pairs * each), said.ravel().astype(float))
    assert agreements(votes).agreement.tolist() == [1.0]
    assert same_votes(votes, agreements(votes)) == []


@pytest.mark.parametrize("n_votes", [60, 600])
def test_equal_counts_of_many_votes_on_a_pair_are_an_accident(n_votes: int) -> None:
    who = np.repeat(["a", "b", "c", "d"], n_votes)
    won = np.tile(np.arange(n_votes) % 3 > 0, 4)
    votes = jr.Comparisons.from_arrays(np.full(len(won), "x"), np.full(len(won), "y"), who, won.astype(float))
    assert not [
        line for line in findings(Analysis(jr.BradleyTerry().fit(votes).result_, votes)) if "the same" in line
    ]


def test_the_chance_of_same_counts_is_that_of_drawn_ones() -> None:
    p, cast = np.array([0.7, 0.4]), np.array([1.0, 5.0])
    drawn = np.random.default_rng(0).binomial(cast.astype(int), p, (200_000, 3, 2))
    share = float((drawn == drawn[:, :1]).all(axis=(1, 2)).mean())
    assert abs(np.exp(log_chance_of_same_counts(p, cast, 3)) - share) < 4 * np.sqrt(share / 200_000)
