from __future__ import annotations

from itertools import islice

import numpy as np
import pytest

import jamrank as jr
from jamrank.fitting import starts

pytestmark = pytest.mark.filterwarnings("ignore::jamrank.errors.JamrankWarning")


def few_votes(seed):
    return jr.simulate(8, 4, 50, truth="pair", flips=[0.1, 0.3, 0.4, 0.7], random_state=seed).votes


def objective(model, votes):
    return model.fit(votes).result_.convergence.log_likelihoods[-1]


@pytest.mark.parametrize(("flips", "seed"), [("joint", 26), ("joint", 40), ("auto", 40)])
def test_a_maximum_is_found_that_the_first_starts_miss(flips, seed, monkeypatch):
    votes, every = few_votes(seed), starts.further_starts
    found = objective(jr.JAM(flips=flips), votes)
    brute = objective(jr.JAM(flips=flips, init="random", n_init=20, random_state=0), votes)
    assert found > brute - 0.05
    monkeypatch.setattr(starts, "further_starts", lambda *given: islice(every(*given), 1))
    assert found > objective(jr.JAM(flips=flips), votes) + 0.1


@pytest.mark.parametrize("flips", ["joint", "auto"])
def test_the_maximum_does_not_depend_on_names_or_order(flips):
    votes = few_votes(40)
    rows = [(a, left, right, said) for a, left, right, said in written(votes)]
    turned = [(f"z{99 - int(a[1:])}", "k" + right[::-1], "k" + left[::-1], 1 - said) for a, left, right, said in rows]
    one, other = (
        jr.JAM(flips=flips).fit(jr.Comparisons.from_arrays(left, right, a, said))
        for a, left, right, said in (zip(*rows, strict=True), zip(*turned[::-1], strict=True))
    )
    at = [other.items_.tolist().index("k" + str(item)[::-1]) for item in one.items_]
    np.testing.assert_allclose(one.scores_, other.scores_[at], atol=1e-9)


def written(votes):
    items, annotators = votes.items.astype(str), votes.annotators.astype(str)
    names = {name: f"a{10 + k}" for k, name in enumerate(annotators)}
    pair = votes.vote_pair
    left, right = items[votes.pair_first[pair]], items[votes.pair_second[pair]]
    who = [names[name] for name in annotators[votes.vote_annotator]]
    return zip(who, left.tolist(), right.tolist(), votes.vote_result.tolist(), strict=True)


def further(votes, model="JAM"):
    fitted = getattr(jr, model)(flips="joint").fit(votes).result_.fit.fitted
    return list(starts.further_starts(fitted.problem, fitted.point, votes.annotator_decided))


def test_many_votes_have_no_further_starts_but_larger_scores():
    assert len(further(few_votes(0))) == 6
    assert len(further(jr.simulate(20, 4, 600, random_state=0).votes)) == 1


def test_of_many_annotators_those_with_most_votes_are_inverted():
    votes = jr.simulate(8, 12, 90, random_state=1).votes
    found = [np.flatnonzero(params > 0) for _, params in further(votes)[2:]]
    most = np.sort(votes.annotator_decided)[::-1][:4]
    assert sorted(votes.annotator_decided[np.concatenate(found)])[::-1] == most.tolist()
