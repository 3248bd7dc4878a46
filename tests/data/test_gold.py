from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from scipy.special import expit

import jamrank as jr
from jamrank.data.gold import known_truths
from jamrank.errors import GoldError, GoldWarning, ParameterError

TURNED = [0.15, 0.7, 0.8, 0.65, 0.85]


def drawn(truth: str = "pair", n_features: int = 0, n_votes: int = 1500, flips=TURNED) -> jr.simulation.Simulation:
    return jr.simulate(
        n_items=20,
        n_annotators=len(flips),
        n_votes=n_votes,
        flips=flips,
        truth=truth,
        n_features=n_features,
        random_state=1,
    )


def extremes(of, n: int) -> list[tuple[str, str]]:
    """Pairs of the best and the worst items."""
    order = of.votes.items[np.argsort(-of.scores)]
    return [(order[k], order[-1 - k]) for k in range(n)]


@pytest.mark.parametrize("name", ["JAM", "CrowdBT", "DawidSkene", "VRJAM", "two-coin", "linear"])
def test_a_few_known_pairs_turn_round_votes_that_point_the_wrong_way(name):
    featured = name in ("VRJAM", "linear")
    of = drawn("vote" if name == "CrowdBT" else "pair", n_features=2 if featured else 0)
    model = {
        "two-coin": jr.JAM(noise="two-coin"),
        "linear": jr.JAM(),
        "VRJAM": jr.VRJAM(n_clusters=2),
    }.get(name) or getattr(jr, name)()
    lost = model.fit(of.votes, of.features).score(of.scores, by="scores")
    found = model.fit(of.votes, of.features, gold=extremes(of, 3)).score(of.scores, by="scores")
    assert lost < 0.3
    assert found > 0.7
    flips = model.result_.annotators.overall
    assert len(flips) == len(TURNED)
    assert np.abs(flips - TURNED).max() < 0.2


@pytest.mark.parametrize("crowd", [False, True])
def test_the_truth_of_a_known_pair_is_certain_whatever_its_votes(crowd):
    """The posterior is exactly that of votes on all other pairs, with these truths as given."""
    n = 120 if crowd else 5
    rng = np.random.default_rng(0)
    left, right = rng.integers(0, 12, 400), rng.integers(0, 11, 400)
    right += right >= left
    votes = jr.Comparisons.from_arrays(left, right, rng.integers(0, n, 400), left < right)
    gold = [(right[0], left[0]) if left[0] < right[0] else (left[0], right[0]), (3, 11), (0, 1)]
    model = jr.JAM(prior=jr.Prior(score_variance=1.0), flips="joint").fit(votes, gold=gold)
    pairs = model.pairs_
    for better, worse in gold:
        row = pairs.filter(
            (pl.col("left") == min(better, worse)) & (pl.col("right") == max(better, worse))
        ).to_dicts()
        assert len(row) == 1
        assert row[0]["p_left"] == pytest.approx(1.0 if better < worse else 0.0, abs=1e-15)
    told = known_truths(gold, votes)
    assert told.n_pairs == 3
    # Brute force at the fitted parameters: the sum of the log-likelihood over pairs, the truth being known or not.
    table, flips = told.votes, model.flip_
    known = {(min(pair), max(pair)): pair[0] < pair[1] for pair in gold}
    total = 0.0
    for p in range(table.n_pairs):
        a, b = int(table.pair_first[p]), int(table.pair_second[p])
        at = slice(table.vote_start[p], table.vote_start[p + 1])
        right_if_first = np.where(table.vote_result[at] == 1, 1 - flips[table.vote_annotator[at]], 0)
        right_if_first += np.where(table.vote_result[at] == 0, flips[table.vote_annotator[at]], 0)
        weight = table.vote_weight[at]
        if_first, if_second = (right_if_first**weight).prod(), ((1 - right_if_first) ** weight).prod()
        first = expit(model.scores_[a] - model.scores_[b])
        truth = known.get((a, b))
        parts = {
            None: first * if_first + (1 - first) * if_second,
            True: first * if_first,
            False: (1 - first) * if_second,
        }
        total += np.log(parts[truth])
    assert model.log_likelihood_ == pytest.approx(total, abs=1e-8)


def test_a_known_truth_holds_for_every_question_unless_it_names_one():
    votes = jr.Comparisons.from_arrays(
        ["a", "a", "b", "c"], ["b", "b", "c", "a"], ["x"] * 4, [0, 0, 1, 1], question=["p", "q", "p", "q"]
    )
    everywhere = jr.JAM().fit(votes, gold=[("a", "b")]).pairs_.filter(pl.col("right") == "b")
    assert everywhere["p_left"].to_list() == [1.0, 1.0]
    gold = pl.DataFrame({"left": ["b"], "right": ["a"], "winner": ["right"], "question": ["q"]})
    once = jr.JAM().fit(votes, gold=gold).pairs_.filter(pl.col("right") == "b").sort("question")["p_left"].to_list()
    assert once[0] < 1.0
    assert once[1] == 1.0


def test_votes_and_known_pairs_may_be_written_the_other_way_round():
    of = drawn()
    gold = extremes(of, 3)
    frame = pl.DataFrame(
        {
            "left": [worse for _, worse in gold] + [gold[0][0]],
            "right": [better for better, _ in gold] + [gold[0][1]],
            "winner": ["right"] * 3 + ["left"],
        }
    )
    a, b = jr.JAM().fit(of.votes, gold=gold), jr.JAM().fit(of.votes, gold=frame.to_pandas())
    np.testing.assert_allclose(a.scores_, b.scores_, atol=1e-10)


def test_numbers_written_as_text_are_the_same_items():
    votes = jr.Comparisons.from_arrays([1, 2, 3], [2, 3, 1], ["x"] * 3, [1, 1, 1])
    model = jr.JAM().fit(votes, gold=pl.DataFrame({"left": ["1"], "right": ["3"], "winner": ["left"]}))
    assert model.pairs_.filter(pl.col("right") == 3)["p_left"].to_list()[0] == 1.0


@pytest.mark.parametrize(
    ("gold", "told"),
    [
        (pl.DataFrame({"left": ["a"], "right": ["b"], "winner": ["tie"]}), "row 1: winner is tie"),
        (
            pl.DataFrame({"left": ["a", "b"], "right": ["b", "c"], "winner": ["left", None]}),
            "row 2: winner is missing",
        ),
        (pl.DataFrame({"left": ["a"], "right": ["b"]}), "no column 'winner'"),
        ([("a", "b"), ("b", "a")], "the opposite"),
        ([("a", "a")], "compared with itself"),
        ([("x", "y")], "no gold pair"),
        ([], "no pairs"),
        (["ab"], "no pairs"),
        ("gold.csv", "not a list of pairs"),
        (7, "not a list of pairs"),
    ],
)
@pytest.mark.filterwarnings("ignore::jamrank.errors.GoldWarning")
def test_known_pairs_that_cannot_be_used_are_refused(gold, told):
    votes = jr.Comparisons.from_arrays(["a", "b"], ["b", "c"], ["x", "x"], [1, 1])
    with pytest.raises(GoldError, match=told):
        jr.JAM().fit(votes, gold=gold)


def test_pairs_of_other_items_are_left_out_with_a_warning():
    votes = jr.Comparisons.from_arrays(["a", "b"], ["b", "c"], ["x", "x"], [1, 1])
    with pytest.warns(GoldWarning, match="1 gold pair left out"):
        jr.JAM().fit(votes, gold=[("a", "b"), ("a", "zebra")])


def test_models_without_a_use_for_known_pairs_say_so():
    votes = jr.Comparisons.from_arrays(["a", "b"], ["b", "c"], ["x", "x"], [1, 1])
    with pytest.raises(ParameterError, match="does not use gold"):
        jr.BradleyTerry().fit(votes, gold=[("a", "b")])


@pytest.mark.filterwarnings("ignore::jamrank.errors.GoldWarning")
def test_ties_as_outcomes_and_known_pairs_go_together():
    of = drawn(n_votes=600)
    frame = of.frame.with_columns(
        winner=pl.when(pl.int_range(pl.len()) % 9 == 0).then(pl.lit("tie")).otherwise("winner")
    )
    model = jr.JAM(ties="davidson").fit(jr.Comparisons.from_frame(frame), gold=extremes(of, 3))
    assert model.score(of.scores, by="scores") > 0.7
