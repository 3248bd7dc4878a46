"""Files that are included several times: what is seen of it, and what counts once."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import jamrank as jr
from jamrank.data.duplicates import common_factor, divided, independent, times_written
from jamrank.errors import DuplicatesWarning, ParameterError
from jamrank.io import read_groups
from jamrank.selection import compare
from jamrank.selection.families import differ_in_taste


def rows(n_votes=250, seed=0, **changes):
    """Votes one by one, as a file has them."""
    drawn = jr.simulate(8, 5, n_votes, truth="vote", flips=[0.1, 0.15, 0.2, 0.25, 0.3], random_state=seed, **changes)
    frame = drawn.votes.to_frame()
    weight = frame["weight"].cast(pl.Int64)
    at = np.repeat(np.arange(frame.height), weight.to_numpy())
    return frame[at].drop("weight")


def votes_of(frame):
    return jr.Comparisons.from_frame(frame)


def same(one, other):
    for name in ("pair_first", "pair_second", "vote_annotator", "vote_result", "vote_swapped", "vote_weight"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
    assert (one.n_votes, one.n_missing) == (other.n_votes, other.n_missing)


@pytest.fixture(scope="module")
def once():
    return rows()


@pytest.mark.parametrize("times", [2, 3, 4])
def test_a_file_included_several_times_counts_once(once, times, tmp_path):
    again = pl.concat([once] * times)
    assert times_written(votes_of(again)) == times and times_written(votes_of(once)) == 1
    paths = [tmp_path / f"{k}.csv" for k in range(times)]
    for path in paths:
        once.write_csv(path)
    same(jr.read_comparisons(paths, once=True), votes_of(once))
    again.write_csv(tmp_path / "again.csv")
    same(jr.read_comparisons(tmp_path / "again.csv", once=True), votes_of(once))
    votes, groups = read_groups(tmp_path / "again.csv", "annotator", once=True)
    same(votes, votes_of(once))
    assert sum(part.n_votes for part in groups.values()) == once.height


def test_votes_that_do_not_all_occur_several_times_are_not_counted_once(once, tmp_path):
    once.write_csv(tmp_path / "once.csv")
    with pytest.raises(ParameterError, match="not every vote occurs several times"):
        jr.read_comparisons(tmp_path / "once.csv", once=True)
    pl.concat([once.with_columns(day=pl.lit(k)) for k in range(2)]).write_csv(tmp_path / "days.csv")
    with pytest.raises(ParameterError, match="differ in 'day'"):
        read_groups(tmp_path / "days.csv", "day", once=True)


def test_given_weights_are_no_copies_of_rows_but_no_independent_votes_either(once):
    weighted = votes_of(once.with_columns(weight=pl.lit(2.0)))
    assert common_factor(weighted) == 2 and times_written(weighted) == 1
    same(independent(votes_of(pl.concat([once, once]))), votes_of(once))
    np.testing.assert_array_equal(independent(weighted).vote_weight, votes_of(once).vote_weight)
    uneven = votes_of(once.with_columns(weight=pl.lit(0.7)))
    assert common_factor(uneven) == 1 and independent(uneven) is uneven
    few = votes_of(pl.concat([once.head(5)] * 2))
    assert common_factor(few) == 1 and times_written(few, fewest=1) == 2


def test_copies_of_rows_are_no_tastes():
    frame = next(frame for frame in map(tasteless, range(20)) if frame is not None)
    again = votes_of(pl.concat([frame] * 3))
    assert not differ_in_taste(votes_of(frame))
    assert differ_in_taste(again)  # a test of votes that were independent
    plain, chosen = jr.Auto().fit(votes_of(frame)), jr.Auto().fit(again)
    assert (chosen.chosen_, chosen.reason_) == (plain.chosen_, plain.reason_)
    found, known = compare(again, splits=["vote"]), compare(votes_of(frame), splits=["vote"])
    assert found.sentences[0].startswith("Every vote occurs 3 times or a multiple of it")
    assert found.sentences[1:] == known.sentences and found.choice == known.choice


def tasteless(seed):
    """Return rows of independent annotators whose copies look like tastes; None where they do not."""
    frame = rows(seed=seed)
    return frame if differ_in_taste(votes_of(pl.concat([frame] * 3))) else None


def test_check_names_copies_with_what_follows_and_counts_them_once(once):
    again, plain = jr.check(votes_of(pl.concat([once, once]))), jr.check(votes_of(once))
    (told,) = [one.sentence for one in again.findings if one.level == "warning" and "included twice" in one.sentence]
    assert "intervals are too narrow" in told and "--once (once=True in Python)" in told
    others = [one.sentence for one in again.findings if one.sentence != told]
    assert others == [one.sentence for one in plain.findings]
    assert again.measures["expected_accuracy"] == plain.measures["expected_accuracy"]
    assert (again.counts["votes"], again.counts["folded"]) == (2 * once.height, once.height + plain.counts["folded"])


def test_the_next_comparison_counts_them_once(once):
    with pytest.warns(DuplicatesWarning, match="an even number of times.*counted once"):
        again = jr.Chooser(votes_of(pl.concat([once, once])), random_state=0)
    assert again.status() == jr.Chooser(votes_of(once), random_state=0).status()


def test_a_fit_counts_rows_as_they_are_written(once):
    again = votes_of(pl.concat([once, once]))
    doubled = jr.CrowdBT().fit(again)
    assert doubled.result_.votes.n_votes == 2 * once.height
    plain = jr.CrowdBT().fit(votes_of(once))
    assert (doubled.ranking_["score_se"].to_numpy() < plain.ranking_["score_se"].to_numpy()).all()
    np.testing.assert_array_equal(jr.CrowdBT().fit(divided(again, 2)).scores_, plain.scores_)
