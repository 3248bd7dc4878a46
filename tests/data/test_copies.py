from __future__ import annotations

import warnings

import numpy as np
import polars as pl
import pytest

import jamrank as jr
from jamrank.data import copies as copies_module
from jamrank.data.copies import _cycles, find_copies
from jamrank.errors import CopiesWarning
from jamrank.simulation import Tastes


def drawn(n_annotators=8, pairs=125, copies=0, flip=0.15, seed=0, n_items=40, spread=2.0):
    return jr.simulate(
        n_items,
        n_annotators,
        1,
        truth="vote",
        flips=[flip] * n_annotators,
        spread=spread,
        tastes=Tastes(same_pairs=pairs, copies=copies),
        random_state=seed,
    ).votes


@pytest.mark.parametrize(("copies", "n_annotators"), [(2, 5), (3, 5), (3, 8), (4, 8), (5, 8)])
@pytest.mark.parametrize("pairs", [125, 600])
def test_every_copy_is_named_and_nobody_else(copies, n_annotators, pairs):
    first, named = n_annotators - copies, 0
    for seed in range(10):
        found = find_copies(drawn(n_annotators, pairs, copies, seed=seed))
        all_of_them = [-1] * (first + 1) + [first] * (copies - 1)
        assert found.tolist() in (all_of_them, [-1] * n_annotators)
        named += found.tolist() == all_of_them
    # With 125 pairs it may be possible that the copies never err, above all with only two others to tell.
    assert named >= (10 if pairs == 600 else 4 if n_annotators - copies == 2 else 7)


def test_cycles_of_three_share_no_vote():
    rng = np.random.default_rng(0)
    first, second = np.triu_indices(12, 1)
    won = rng.random(len(first)) < 0.5
    winner, loser = np.where(won, first, second).tolist(), np.where(won, second, first).tolist()
    found = _cycles(winner, loser)
    assert len(found) == len(set(found)) > 0
    for one, other, last in zip(*[iter(found)] * 3, strict=True):
        assert [loser[one], loser[other], loser[last]] == [winner[other], winner[last], winner[one]]
    # Of votes in an order there are none.
    assert _cycles(first.tolist(), second.tolist()) == []


def test_copies_who_contradict_themselves_are_named_where_others_are_too_few_to_know_their_skill():
    # The only two others vote nearly at random, so agreement with them says little.
    named = 0
    for seed in range(6):
        flips = [0.1, 0.1, 0.3, 0.3, 0.3]
        tastes = Tastes(same_pairs=300)
        votes = jr.simulate(25, 5, 1, truth="vote", flips=flips, spread=1.0, tastes=tastes, random_state=seed).frame
        copied = votes.filter(pl.col("annotator") != votes["annotator"].unique().sort()[1])
        first = votes["annotator"].unique().sort()[0]
        own = copied.filter(pl.col("annotator") == first).with_columns(annotator=pl.lit("zz-copy"))
        found = find_copies(jr.Comparisons.from_frame(pl.concat([copied, own])))
        named += found.tolist() == [-1, -1, -1, -1, 0]
        assert (found[:-1] == -1).all()
    assert named >= 3


def test_independent_annotators_are_no_copies():
    for seed in range(20):
        assert (find_copies(drawn(seed=seed, pairs=30)) == -1).all()


def perfect(n_perfect: int, n_noisy: int, n_pairs: int, flip: float, seed: int) -> jr.Comparisons:
    """Annotators without any error on one truth for each pair, and others: the former's votes are all the same."""
    rng = np.random.default_rng(seed)
    first, second = np.triu_indices(40, 1)
    chosen = rng.permutation(len(first))[:n_pairs]
    wrong = rng.random((n_pairs, n_noisy)) < flip
    truth = rng.random(n_pairs) < 0.5
    said = np.concatenate([np.tile(truth[:, None], n_perfect), truth[:, None] ^ wrong], axis=1)
    return jr.Comparisons.from_matrix(first[chosen], second[chosen], said.astype(float))


@pytest.mark.parametrize("flip", [0.05, 0.2])
def test_annotators_who_never_err_are_no_copies(flip):
    for seed in range(10):
        assert (find_copies(perfect(2, 6, 400, flip, seed)) == -1).all()


def test_annotators_who_never_err_are_no_copies_however_often_others_do():
    # A skill is estimated too low, or others agree less with votes in cycles, in several of a hundred sets.
    for seed in range(60):
        assert (find_copies(perfect(2, 4, 700, 0.3, seed)) == -1).all()


def repeated(n_pairs: int, n_votes: int, seed: int, twins: str) -> jr.Comparisons:
    """Six annotators with several votes on each pair; the first two are ``twins`` of the kind named."""
    rng = np.random.default_rng(seed)
    first, second = np.triu_indices(40, 1)
    chosen = rng.permutation(len(first))[:n_pairs]
    win = 1 / (1 + np.exp(-0.15 * (second - first)[chosen]))[:, None, None]
    said = (rng.random((n_pairs, n_votes, 6)) < win) ^ (rng.random((n_pairs, n_votes, 6)) < 0.08)
    if twins == "copies":
        said[:, :, 1] = said[:, :, 0]
    elif twins == "never wrong":  # each vote is about a question of its own, which is not named
        truth = rng.random((n_pairs, n_votes, 1)) < win
        said = truth ^ (rng.random(said.shape) < [0, 0, 0.2, 0.2, 0.2, 0.2])
    elif twins == "same side":  # both orders were shown
        said[:, :, :2] = (np.arange(n_votes) % 2 == 0)[:, None]
    rows = [np.repeat(ends[chosen], n_votes * 6) for ends in (first, second)]
    return jr.Comparisons.from_arrays(*rows, np.tile(np.arange(6), n_pairs * n_votes), said.ravel().astype(float))


@pytest.mark.parametrize("n_votes", [2, 3])
def test_copies_with_several_votes_on_a_pair_are_named(n_votes):
    for n_pairs, least in ((45, 3), (200, 10)):
        found = [find_copies(repeated(n_pairs, n_votes, seed, "copies")).tolist() for seed in range(10)]
        assert all(one in ([-1, 0, -1, -1, -1, -1], [-1] * 6) for one in found)
        assert sum(max(one) == 0 for one in found) >= least


@pytest.mark.parametrize("twins", ["independent", "never wrong", "same side"])
@pytest.mark.parametrize("n_votes", [2, 3, 10])
def test_several_votes_on_a_pair_make_no_copies_of_independent_annotators(twins, n_votes):
    for seed in range(8):
        assert (find_copies(repeated(200, n_votes, seed, twins)) == -1).all()


def test_without_others_to_compare_with_nobody_is_a_copy():
    assert (find_copies(drawn(2, copies=2)) == -1).all()
    assert (find_copies(drawn(3, copies=2)) == -1).all()


def test_few_pairs_prove_nothing():
    assert (find_copies(drawn(pairs=15, copies=3)) == -1).all()


def test_copies_are_counted_once_and_stay_among_the_annotators(tmp_path):
    votes = drawn(copies=3)
    told = "ann6 cast the same votes as ann5, and 1 more annotator is a copy: copies are counted once"
    with pytest.warns(CopiesWarning, match=told):
        model = jr.CrowdBT().fit(votes)
    once = jr.CrowdBT().fit(votes.only(votes.vote_annotator < 6))
    np.testing.assert_array_equal(model.scores_, once.scores_)
    frame = model.annotators_
    assert frame["annotator"].to_list() == votes.annotators.tolist()
    assert frame["votes"].to_list() == [125] * 8
    assert frame["verdict"].to_list()[6:] == ["copy of ann5"] * 2
    for name in ("flip", "flip_low", "flip_high"):
        assert len(set(frame[name].to_list()[5:])) == 1
    assert model.flip_[7] == model.flip_[5]
    assert model.result_.annotators.effective_judges == pytest.approx(6, abs=0.3)
    linked = model.correlated_.filter(model.correlated_["correlation"] == 1)
    assert linked.height == 3  # each two of the three
    assert linked["pairs"].to_list() == linked["agreed"].to_list() == [125] * 3
    assert (linked["expected"] > 60).all()
    of_copy, of_first = (model.vote_proba(votes.only(votes.vote_annotator == k)) for k in (7, 5))
    np.testing.assert_array_equal(of_copy, of_first)
    model.save(tmp_path / "m.jamrank")
    assert jr.load(tmp_path / "m.jamrank").annotators_.equals(frame)


@pytest.mark.parametrize("make", [jr.Auto, jr.BradleyTerry, jr.JAM, jr.MajorityVote, jr.DawidSkene, jr.AmElo])
def test_every_model_names_copies(make):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        frame = make().fit(drawn(copies=4)).annotators_
    assert frame["verdict"].to_list()[5:] == ["copy of ann4"] * 3
    assert "copy" not in " ".join(frame["verdict"].to_list()[:5])


def test_votes_one_by_one_and_as_a_matrix_are_judged_alike():
    votes = drawn(copies=3)
    again = jr.Comparisons.from_frame(votes.to_frame())
    np.testing.assert_array_equal(find_copies(votes), find_copies(again))


@pytest.mark.parametrize("looked_at", [1, 30, 10_000])
def test_however_many_pairs_are_looked_at_first_the_same_annotators_are_identical(looked_at, monkeypatch):
    monkeypatch.setattr(copies_module, "_FIRST_PAIRS", looked_at)
    rng = np.random.default_rng(3)
    first, second = np.triu_indices(20, 1)
    said = np.repeat((rng.random(len(first)) < 0.7).astype(float)[:, None], 4, axis=1)
    said[-1, 2] = 1 - said[-1, 2]  # differs from the others in the last pair alone
    said[0, 3] = 1 - said[0, 3]
    who = np.tile(np.arange(4), len(first))
    votes = jr.Comparisons.from_arrays(np.repeat(first, 4), np.repeat(second, 4), who, said.ravel())
    assert [group.tolist() for group in copies_module.identical(votes)] == [[0, 1]]
