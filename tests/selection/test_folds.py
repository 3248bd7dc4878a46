"""Folds of votes, by what the votes are."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import jamrank as jr
from jamrank.data.color_refinement import decided
from jamrank.io.out_of_core import sampling
from jamrank.io.out_of_core.sampling import sample_pairs, sample_parts
from jamrank.selection.cross_validation import hold_out
from jamrank.selection.folds import SPLITS, assign_folds, split
from jamrank.selection.trials import Candidate


def written(seed: int = 0, n_votes: int = 400, ties: float = 0.1) -> pl.DataFrame:
    drawn = jr.simulate(12, 6, n_votes, tie_rate=ties, random_state=seed).frame
    question = np.random.default_rng(seed).integers(0, 3, n_votes)
    return drawn.with_columns(question=pl.Series(question).cast(pl.String))


def by_row(frame: pl.DataFrame, votes: jr.Comparisons, fold: np.ndarray, sides: bool = False) -> dict[tuple, int]:
    """Return the fold of each vote by what it says."""
    told = votes.to_frame().drop("weight").with_columns(fold=pl.Series(fold))
    return {tuple(row[:-1]): row[-1] for row in told.iter_rows()}


@pytest.mark.parametrize("by", SPLITS)
def test_folds_do_not_hang_on_the_order_of_rows(by):
    frame = written()
    a, b = (jr.Comparisons.from_frame(f) for f in (frame, frame.sample(fraction=1, shuffle=True, seed=1)))
    assert by_row(frame, a, split(a, 5, by)) == by_row(frame, b, split(b, 5, by))


@pytest.mark.parametrize("by", SPLITS)
def test_folds_do_not_hang_on_names(by):
    frame = written(3)
    rng = np.random.default_rng(0)
    names = {}
    for column, kind in (("annotator", "annotator"), ("left", "item"), ("right", "item"), ("question", "question")):
        known = sorted(set(frame[column]) | (set(frame["right"]) if kind == "item" else set()))
        names.setdefault(kind, dict(zip(known, rng.permutation([f"new{k}" for k in range(len(known))]), strict=True)))
    kinds = {"annotator": "annotator", "left": "item", "right": "item", "question": "question"}
    renamed = frame.with_columns(pl.col(c).replace_strict(names[k], return_dtype=pl.String) for c, k in kinds.items())
    turn = pl.Series(rng.random(len(frame)) < 0.5)
    other = {"left": "right", "right": "left", "tie": "tie"}
    renamed = renamed.with_columns(
        left=pl.when(turn).then("right").otherwise("left"),
        right=pl.when(turn).then("left").otherwise("right"),
        winner=pl.when(turn).then(pl.col("winner").replace_strict(other)).otherwise("winner"),
    )
    before, after = jr.Comparisons.from_frame(frame), jr.Comparisons.from_frame(renamed)

    def keyed(votes, fold, names):
        pair = votes.vote_pair
        items = votes.items[votes.pair_first[pair]], votes.items[votes.pair_second[pair]]
        who, asked = votes.annotators[votes.vote_annotator], votes.questions[votes.pair_question[pair]]
        rename = {kind: names[kind].get if names else lambda name: name for kind in ("item", "annotator", "question")}
        return {
            (
                frozenset({rename["item"](a), rename["item"](b)}),
                rename["annotator"](k),
                rename["question"](q),
            ): number
            for a, b, k, q, number, counts in zip(*items, who, asked, fold, decided(votes), strict=True)
            if counts
        }

    assert keyed(before, split(before, 5, by), names) == keyed(after, split(after, 5, by), None)


@pytest.mark.parametrize("by", SPLITS)
def test_ties_do_not_move_decided_votes(by):
    frame = written(2)
    everything, without = (jr.Comparisons.from_frame(f) for f in (frame, frame.filter(pl.col("winner") != "tie")))
    told = by_row(frame, everything, split(everything, 4, by))
    assert {key: told[key] for key in told if key[3] != "tie"} == by_row(frame, without, split(without, 4, by))


def test_what_belongs_together_stays_together():
    votes = jr.Comparisons.from_frame(written(1, 2000))
    pair = split(votes, 5, "pair")
    for p in range(votes.n_pairs):
        assert len(set(pair[votes.vote_start[p] : votes.vote_start[p + 1]])) <= 1
    vote = split(votes, 5, "vote")
    unit = votes.vote_pair * votes.n_annotators + votes.vote_annotator
    assert all(len(set(vote[unit == u])) == 1 for u in np.unique(unit))
    assert len(set(vote[votes.vote_start[0] : votes.vote_start[1]])) >= 1
    for fold in (pair, vote):
        assert np.bincount(fold).min() > 0.15 * len(fold)


def coin_tosses(seed: int, n_annotators: int = 5) -> jr.Comparisons:
    """Return votes of which nothing can be predicted, many of them by the same annotator on the same pair."""
    rng = np.random.default_rng(seed)
    left = rng.integers(10, size=400)
    right = (left + 1 + rng.integers(9, size=400)) % 10
    return jr.Comparisons.from_arrays(left, right, rng.integers(n_annotators, size=400), rng.integers(2, size=400))


@pytest.mark.parametrize("n_annotators", [1, 5])
def test_no_model_predicts_coin_tosses(n_annotators):
    candidates = [Candidate("JAM", jr.JAM), Candidate("CrowdBT", lambda: jr.CrowdBT(flips="joint"))]
    losses: dict[str, list[float]] = {one.name: [] for one in candidates}
    for seed in range(12):
        votes, fold = assign_folds(coin_tosses(seed, n_annotators), 5, "vote")
        held_out = hold_out(votes, fold, candidates)
        for name, known in losses.items():
            known.append(held_out.log_loss(name).value)
    for known in losses.values():
        assert np.mean(known) > np.log(2)


def test_repeated_votes_are_held_out_together():
    votes = coin_tosses(1)
    dealt, fold = assign_folds(votes, 5, "vote")
    assert dealt is votes
    unit = votes.vote_pair.astype(np.int64) * votes.n_annotators + votes.vote_annotator
    assert all(len(set(fold[unit == one])) == 1 for one in np.unique(unit))


def test_without_annotators_repeated_votes_are_distributed_whatever_they_say():
    rng = np.random.default_rng(0)
    left, right = np.triu_indices(40, 1)
    votes = jr.Comparisons.from_arrays(
        np.repeat(left, 2), np.repeat(right, 2), ["all"] * (2 * len(left)), rng.integers(0, 2, 2 * len(left))
    )
    dealt, fold = assign_folds(votes, 5, "vote")
    assert dealt.n_votes == votes.n_votes
    for pair in range(dealt.n_pairs):
        assert np.bincount(fold[dealt.vote_pair == pair], dealt.vote_weight[dealt.vote_pair == pair]).max() == 1
    # Of two votes in different folds, half say the same.
    same = [len(set(dealt.vote_result[dealt.vote_pair == pair])) == 1 for pair in range(dealt.n_pairs)]
    assert 0.4 < np.mean(same) < 0.6


def test_single_votes_of_many_annotators_are_in_random_folds():
    # 600 people with one vote each on the same two items: their votes are of two kinds.
    result = np.arange(600) % 3 > 0
    votes = jr.Comparisons.from_arrays(["a"] * 600, ["b"] * 600, np.arange(600), result)
    dealt, fold = assign_folds(votes, 5, "vote")
    count = np.bincount(fold, dealt.vote_result == dealt.vote_result[0], 5)
    assert count.std() > 1


@pytest.mark.parametrize("by", SPLITS)
def test_training_keeps_every_item_and_annotator(by):
    rng = np.random.default_rng(0)
    # Most items have two votes only, most annotators too.
    left, right = np.repeat(np.arange(100), 2), np.concatenate([100 + np.arange(100), 100 + rng.permutation(100)])
    votes = jr.Comparisons.from_arrays(left, right, np.tile(np.arange(100), 2), rng.integers(0, 2, 200))
    fold = split(votes, 3, by)
    for number in range(3):
        train = votes.only(fold != number)
        assert set(np.concatenate([train.pair_first, train.pair_second])) == set(range(votes.n_items))
        assert (train.annotator_weight > 0).mean() > 0.95


def test_a_sample_keeps_pairs_whole_and_about_the_size():
    votes = jr.simulate(40, 5, 6000, random_state=0).votes
    sample = sample_pairs(votes, 1000)
    assert 900 <= len(sample.vote_result) <= 1000
    count = {(a, b): n for a, b, n in zip(votes.pair_first, votes.pair_second, votes.pair_weight, strict=True)}
    for a, b, n in zip(sample.pair_first, sample.pair_second, sample.pair_weight, strict=True):
        assert count[a, b] == n
    assert sample_pairs(votes, 10_000) is votes


def test_a_sample_of_very_many_votes_is_drawn_cheaply_and_a_jury_stays_one(monkeypatch):
    monkeypatch.setattr(sampling, "_MOST_HASHED", 100)
    left, right = np.triu_indices(40, 1)
    outcomes = np.random.default_rng(0).integers(-1, 2, (len(left), 5))
    for votes in (jr.Comparisons.from_matrix(left, right, outcomes), jr.simulate(40, 5, 3000, random_state=0).votes):
        sample = sample_pairs(votes, 1000)
        assert type(sample.storage) is type(votes.storage)
        assert 600 < sample.n_folded == len(sample.vote_result) < 1400
        kept = dict(zip(zip(votes.pair_first, votes.pair_second, strict=True), votes.pair_weight, strict=True))
        for pair, weight in zip(
            zip(sample.pair_first, sample.pair_second, strict=True), sample.pair_weight, strict=True
        ):
            assert kept[pair] == weight


def test_votes_on_disk_are_sampled_or_taken_whole(tmp_path):
    drawn = jr.simulate(40, 5, 6000, tie_rate=0.1, random_state=0)
    drawn.frame.write_parquet(tmp_path / "votes.parquet")
    stored = jr.store_comparisons(tmp_path / "votes.parquet", scratch=tmp_path / "scratch", memory="1GB")
    whole = sample_parts(stored, 10_000)
    assert whole.to_frame().equals(drawn.votes.to_frame())
    assert (split(whole, 3, "vote") == split(drawn.votes, 3, "vote")).all()
    some = sample_parts(stored, 1000)
    assert 500 < len(some.vote_result) < 1500
