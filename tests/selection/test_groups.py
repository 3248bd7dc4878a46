from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import jamrank as jr
from jamrank.errors import GroupWarning, InputError, SparseVotesWarning
from jamrank.selection.groups import group_ranking


@pytest.fixture
def file(tmp_path):
    frame = pl.DataFrame(
        {
            "annotator": ["x", "y"] * 6,
            "left": ["a", "b", "a"] * 4,
            "right": ["b", "c", "c"] * 4,
            "winner": ["left"] * 6 + ["right"] * 4 + ["tie"] * 2,
            "domain": ["code"] * 6 + ["prose"] * 4 + [None] * 2,
        }
    )
    frame.write_csv(tmp_path / "votes.csv")
    return tmp_path / "votes.csv"


def test_votes_are_read_whole_and_by_group(file):
    votes, groups = jr.read_groups(file, "domain")
    assert votes.n_votes == 12
    assert {name: group.n_votes for name, group in groups.items()} == {"(none)": 2, "code": 6, "prose": 4}
    _, by_annotator = jr.read_groups(file, "annotator")
    assert list(by_annotator) == ["x", "y"]
    with pytest.raises(InputError, match=r"votes\.csv: no column 'language' to group by; there are 'annotator'"):
        jr.read_groups(file, "language")


@pytest.mark.filterwarnings("ignore::jamrank.errors.TiesExcludedWarning")
def test_each_group_has_a_ranking_of_its_own_beside_that_of_all(file):
    votes, groups = jr.read_groups(file, "domain")
    model = jr.JAM().fit(votes)
    with pytest.warns(GroupWarning, match=r"group \(none\) left out: no decided vote"):
        fitted = jr.fit_groups(model, groups)
    table = jr.side_by_side(model.ranking_, {name: own.ranking_ for name, own in fitted.items()})
    shown = ["rank", "score", "rank_low", "rank_high", "score_low", "score_high"]
    of_groups = [f"{name} {group}" for group in ("code", "prose") for name in shown]
    assert table.columns == ["item", *shown, *of_groups]
    by_item = {row["item"]: row for row in table.to_dicts()}
    assert [by_item[item]["rank code"] for item in "abc"] == [1, 2, 3]
    assert [by_item[item]["rank prose"] for item in "abc"] == [3, 2, 1]
    assert table["rank"].is_sorted()


@pytest.mark.filterwarnings("ignore::jamrank.errors.TiesExcludedWarning")
def test_warnings_name_the_group_and_the_line_that_asked(file):
    _, groups = jr.read_groups(file, "domain")
    with pytest.warns(SparseVotesWarning) as told:
        jr.fit_groups(jr.BradleyTerry(), {name: groups[name] for name in ("code", "prose")})
    assert {str(one.message).partition(":")[0] for one in told} == {"group code", "group prose"}
    assert {one.filename for one in told} == {__file__}


def test_an_item_without_votes_in_a_group_has_no_rank_there():
    a, b = (
        jr.WinRate().fit(jr.Comparisons.from_arrays(left, right, ["x"] * len(left), [1] * len(left)))
        for left, right in ((["a", "b"], ["b", "c"]), (["a"], ["b"]))
    )
    table = jr.side_by_side(a.ranking_, {"small": b.ranking_})
    assert table["rank small"].to_list() == [1, 2, None]


def test_many_groups_have_intervals_by_a_normal_approximation():
    drawn = jr.simulate(5, 3, 120, random_state=2).votes
    fitted = jr.fit_groups(jr.BradleyTerry(), dict.fromkeys(range(21), drawn))
    own, alone = fitted[0].ranking_, jr.BradleyTerry().fit(drawn)
    expected = alone.uncertainty("information")
    np.testing.assert_allclose(own.sort("item")["score_low"].to_numpy(), expected.score_low)
    assert fitted[0].result_.uncertainty.estimate.kind == "information"
    assert alone.result_.uncertainty.estimate.kind == "posterior"


def test_the_probability_to_be_first_is_that_of_the_draws():
    model = jr.BradleyTerry().fit(jr.simulate(5, 3, 120, random_state=2).votes)
    table = group_ranking(model)
    draws = model.score_draws(len(model.result_.uncertainty.score_draws))
    share = dict(zip(model.items_, np.bincount(draws.argmax(axis=1), minlength=5) / len(draws), strict=True))
    for item, chance in table.select("item", "p_first").iter_rows():
        assert chance == pytest.approx(share[item], abs=0.02)
    assert table["p_first"].sum() == pytest.approx(1)
