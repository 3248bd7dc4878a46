"""Fits against answers that jamrank did not compute: closed forms, a published table, rivals, scipy."""

from __future__ import annotations

import itertools

import choix
import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit, log_expit, logit

import jamrank as jr
from jamrank.engines import MemoryEngine
from jamrank.fitting.em import Problem, StoppingRule, run
from jamrank.noise import Flip
from jamrank.rows import Rows
from jamrank.scorers import LinearScorer

# Games of seven teams in the American League of 1987 (Agresti, Categorical Data Analysis): row beat column.
TEAMS = ["Milwaukee", "Detroit", "Toronto", "New York", "Boston", "Cleveland", "Baltimore"]
WINS = np.array(
    [
        [0, 7, 9, 7, 7, 9, 11],
        [6, 0, 7, 5, 11, 9, 9],
        [4, 6, 0, 7, 7, 8, 12],
        [6, 8, 6, 0, 6, 7, 10],
        [6, 2, 6, 7, 0, 7, 12],
        [4, 4, 5, 6, 6, 0, 6],
        [2, 4, 1, 3, 1, 7, 0],
    ]
)
# Published estimates relative to Baltimore.
PUBLISHED = {
    "Boston": 1.1077,
    "Cleveland": 0.6839,
    "Detroit": 1.4364,
    "Milwaukee": 1.5814,
    "New York": 1.2476,
    "Toronto": 1.2945,
}


def baseball() -> jr.Comparisons:
    pairs = [(i, j) for i, j in itertools.permutations(range(7), 2)]
    left, right = ([TEAMS[p[k]] for p in pairs] for k in (0, 1))
    weight = [WINS[i, j] for i, j in pairs]
    return jr.Comparisons.from_arrays(left, right, ["season"] * 42, [1] * 42, weight=weight)


def test_bradley_terry_equals_the_published_table():
    model = jr.BradleyTerry(prior=None).fit(baseball())
    score = dict(zip(model.items_.tolist(), model.scores_.tolist(), strict=True))
    for team, published in PUBLISHED.items():
        assert score[team] - score["Baltimore"] == pytest.approx(published, abs=6e-5)


def test_bradley_terry_equals_choix():
    model = jr.BradleyTerry(prior=None).fit(baseball())
    data = [(i, j) for i, j in itertools.permutations(range(7), 2) for _ in range(WINS[i, j])]
    rival = choix.opt_pairwise(7, data, alpha=0.0, method="BFGS", tol=1e-10)
    ours = model.scores_[[model.items_.tolist().index(team) for team in TEAMS]]
    np.testing.assert_allclose(ours, rival - rival.mean(), atol=1e-6)


@pytest.mark.parametrize("seed", range(5))
def test_bradley_terry_equals_choix_on_random_votes(seed):
    rng = np.random.default_rng(seed)
    n, scores = 8, rng.standard_normal(8)
    i = rng.integers(0, n, 400)
    j = (i + rng.integers(1, n, 400)) % n
    won = rng.random(400) < expit(scores[i] - scores[j])
    model = jr.BradleyTerry(prior=None).fit(jr.Comparisons.from_arrays(i, j, np.zeros(400, int), won))
    data = [(a, b) if w else (b, a) for a, b, w in zip(i.tolist(), j.tolist(), won.tolist(), strict=True)]
    rival = choix.opt_pairwise(n, data, alpha=0.0, method="BFGS", tol=1e-10)
    np.testing.assert_allclose(model.scores_, rival - rival.mean(), atol=1e-6)


class Case:
    """A small set of votes whose optimum is inside, and its objective written out from the formula."""

    def __init__(self, seed: int, scorer: str, prior: str | None) -> None:
        rng = np.random.default_rng(seed)
        n, self.k = 10, 4
        self.x = rng.standard_normal((n, 2))
        scores = self.x @ [1.2, -0.8] if scorer == "linear" else rng.standard_normal(n)
        self.i, self.j = np.triu_indices(n, 1)
        truth = rng.random(len(self.i)) < expit(scores[self.i] - scores[self.j])
        flips = rng.random((len(self.i), self.k)) < [0.1, 0.15, 0.25, 0.3]
        self.z = (truth[:, None] ^ flips).astype(float)
        self.z[rng.random(self.z.shape) < 0.1] = np.nan
        votes = jr.Comparisons.from_matrix(self.i, self.j, self.z)
        features = self.x if scorer == "linear" else None
        self.model = jr.JAM(flips="joint", prior=prior, tol=1e-10, max_iter=5000).fit(votes, features)
        self.phi = self.standardised if scorer == "linear" else np.eye(n)
        self.variance = {"linear": 6.25, "objects": self.model.result_.scores.score_variance}[scorer]
        self.imagined = 0.0 if prior is None else 1.0  # wrong votes; twice as many right ones
        self.precision = 0.0 if prior is None else 1.0 / self.variance
        scale = self.x.std(axis=0)
        theta = self.model.coef_ * scale if scorer == "linear" else self.model.scores_
        self.found = np.concatenate([theta, logit(self.model.flip_)])

    @property
    def standardised(self) -> np.ndarray:
        return (self.x - self.x.mean(axis=0)) / self.x.std(axis=0)

    def loss(self, point: np.ndarray) -> float:
        theta, rho = point[: -self.k], point[-self.k :]
        scores = self.phi @ theta
        margin = scores[self.i] - scores[self.j]
        flip, keep = log_expit(rho), log_expit(-rho)
        vote_counts = ~np.isnan(self.z)
        first = log_expit(margin) + np.where(vote_counts, np.where(self.z == 1, keep, flip), 0).sum(axis=1)
        second = log_expit(-margin) + np.where(vote_counts, np.where(self.z == 1, flip, keep), 0).sum(axis=1)
        flips = (flip - np.log(1 / 3)) + 2 * (keep - np.log(2 / 3))
        prior = self.imagined * flips.sum() - 0.5 * self.precision * (theta**2).sum()
        return -float(np.logaddexp(first, second).sum() + prior)


# Without a prior, only cases whose optimum is inside: no flip at 0, no scores that run away.
CASES = [
    *[(seed, scorer, "auto") for seed in range(8) for scorer in ("linear", "objects")],
    *[(seed, "linear", None) for seed in (0, 1, 2, 5)],
]
SHORT = [*CASES[:4], CASES[-1]]


@pytest.mark.parametrize(
    ("seed", "scorer", "prior"),
    [case if case in SHORT else pytest.param(*case, marks=pytest.mark.long) for case in CASES],
)
def test_the_fit_is_a_summit_that_scipy_cannot_better(seed, scorer, prior):
    case = Case(seed, scorer, prior)
    assert case.model.converged_
    assert -case.loss(case.found) == pytest.approx(case.model.log_likelihoods_[-1], abs=1e-9)
    steps = 1e-5 * np.eye(len(case.found))
    slope = [(case.loss(case.found + h) - case.loss(case.found - h)) / 2e-5 for h in steps]
    np.testing.assert_allclose(slope, 0.0, atol=2e-6)
    rng = np.random.default_rng(seed)
    starts = [case.found, *rng.standard_normal((10, len(case.found)))]
    best = min(minimize(case.loss, start, method="BFGS").fun for start in starts)
    assert case.loss(case.found) <= best + 1e-7


def test_posterior_equals_bayes_rule_by_hand():
    votes = jr.Comparisons.from_matrix(["a", "a", "b"], ["b", "c", "c"], [[1, 1, 0], [1, 0, 0], [1, -1, 1]])
    model = jr.JAM(flips="joint").fit(votes)
    said = [[1, 1, 0], [1, 0, 0], [1, None, 1]]
    margin = [model.scores_[0] - model.scores_[1], model.scores_[0] - model.scores_[2]]
    margin.append(model.scores_[1] - model.scores_[2])
    for pair in range(3):
        first, second = expit(margin[pair]), expit(-margin[pair])
        for who, vote in enumerate(said[pair]):
            if vote is not None:
                first *= 1 - model.flip_[who] if vote else model.flip_[who]
                second *= model.flip_[who] if vote else 1 - model.flip_[who]
        assert model.posterior_[pair] == pytest.approx(first / (first + second), abs=1e-12)


@pytest.mark.parametrize("loss", ["logistic", "hinge"])
def test_recovers_what_was_simulated(loss):
    drawn = jr.simulate(60, 6, 30_000, flips=[0.05, 0.1, 0.2, 0.3, 0.45, 0.8], n_features=4, random_state=1)
    model = jr.JAM(loss=loss).fit(drawn.votes, drawn.features)
    np.testing.assert_allclose(model.flip_, drawn.flips, atol=0.02)
    assert np.corrcoef(model.scores_, drawn.scores)[0, 1] > 0.97


def test_crowd_bt_recovers_scores_and_flips():
    flips = [0.02, 0.1, 0.1, 0.2, 0.3, 0.5, 0.85]
    drawn = jr.simulate(40, 7, 60_000, flips=flips, spread=1.0, truth="vote", random_state=2)
    model = jr.CrowdBT(flips="joint").fit(drawn.votes)
    np.testing.assert_allclose(model.flip_, flips, atol=0.03)
    centred = drawn.scores - drawn.scores.mean()
    np.testing.assert_allclose(model.scores_, centred, atol=0.25)


def test_the_loop_can_be_driven_without_a_model():
    drawn = jr.simulate(20, 4, 3000, n_features=3, random_state=0)
    rows = Rows.per_pair(drawn.votes)
    problem = Problem(MemoryEngine(rows, 1), LinearScorer(drawn.features, None), Flip(rows.vote_counts, 0.0, 0.0))
    fit = run(problem, problem.evaluate(*problem.start_from(rows.share)), max_iter=100, tol=1e-8)
    assert fit.converged
    assert fit.n_iter == len(fit.objectives) - 1
    assert (np.diff(fit.objectives) >= -1e-9).all()


def test_the_stopping_rule_knows_how_far_a_geometric_series_still_goes():
    rule = StoppingRule(tol=0.5)
    assert not rule.reached(2.0, 1.0, 1.0)
    assert rule.remaining == pytest.approx(1.0)
    assert rule.reached(1.0, 0.5, 1.0)
    assert not rule.reached(0.5, 0.5, 1.0)
    assert rule.reached(0.5, 0.0, 1.0)
