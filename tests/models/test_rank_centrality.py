from __future__ import annotations

from fractions import Fraction

import choix
import numpy as np
import pytest

import jamrank as jr
from jamrank.errors import DisconnectedWarning, NotConvergedWarning, ParameterError
from jamrank.linalg import laplacian
from tests.models.tournaments import bradley_terry, random_wins, votes_of


def exact_log_stationary(wins: np.ndarray, smoothing: float) -> np.ndarray:
    """Eliminate one state after another (Grassmann, Taksar, Heyman), in exact fractions."""
    n = len(wins)
    move = [[Fraction(0)] * n for _ in range(n)]
    for i in range(n):
        for j in range(n):
            ours, theirs = Fraction(wins[i, j]), Fraction(wins[j, i])
            if ours + theirs > 0:
                move[i][j] = (theirs + Fraction(smoothing)) / (ours + theirs + 2 * Fraction(smoothing))
    for k in range(n - 1, 0, -1):
        leaving = sum(move[k][:k])
        for i in range(k):
            move[i][k] /= leaving
        for i in range(k):
            for j in range(k):
                if i != j:
                    move[i][j] += move[i][k] * move[k][j]
    weight = [Fraction(1)]
    for k in range(1, n):
        weight.append(sum(weight[i] * move[i][k] for i in range(k)))
    total = sum(weight)
    log = np.array([np.log(float(w / total)) for w in weight])
    return log - log.mean()


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("dense", [True, False])
def test_it_is_the_stationary_distribution_to_rounding(seed, dense, monkeypatch):
    if not dense:
        monkeypatch.setattr(laplacian, "_MOST_ITEMS_DENSE", 0)
    most = [2, 6, 1000, 10**7][seed % 4]
    wins = np.floor(random_wins(seed, 3 + seed % 7, most, share=[0.2, 0.9][seed % 2])) + 0.0
    wins[np.arange(len(wins)), (np.arange(len(wins)) + 1) % len(wins)] += 1
    model = jr.RankCentrality().fit(votes_of(wins))
    assert model.converged_
    np.testing.assert_allclose(model.scores_, exact_log_stationary(wins, 0.5), atol=1e-10)


def test_two_items_have_the_log_odds_of_their_smoothed_share():
    votes = votes_of(np.array([[0, 9.0], [4.0, 0]]))
    for smoothing in (0.25, 0.5, 2.0):
        gap = np.subtract(*jr.RankCentrality(smoothing=smoothing).fit(votes).scores_)
        assert gap == pytest.approx(np.log((9 + smoothing) / (4 + smoothing)), rel=1e-12)


def test_on_a_tree_the_log_odds_add_up():
    wins = np.zeros((5, 5))
    wins[0, 1], wins[1, 0], wins[1, 2], wins[1, 3], wins[4, 3] = 5, 2, 8, 0.5, 7
    step = {pair: np.log((wins[pair] + 0.5) / (wins[pair[::-1]] + 0.5)) for pair in [(0, 1), (1, 2), (1, 3), (3, 4)]}
    expected = np.array([0, -step[0, 1], -step[0, 1] - step[1, 2], -step[0, 1] - step[1, 3], 0])
    expected[4] = expected[3] - step[3, 4]
    np.testing.assert_allclose(
        jr.RankCentrality().fit(votes_of(wins)).scores_, expected - expected.mean(), atol=1e-12
    )


def test_it_recovers_the_scores_of_a_bradley_terry_model():
    scores, votes = bradley_terry(0, 25, 4000)
    found = jr.RankCentrality().fit(votes)
    np.testing.assert_allclose(found.scores_, scores, atol=0.08)
    assert found.slope_ == pytest.approx(1.0, abs=0.01)


def test_scores_stay_exact_where_probabilities_would_underflow():
    n, votes = 200, 1e6
    wins = np.zeros((n, n))
    wins[np.arange(n - 1), np.arange(1, n)] = votes
    scores = jr.RankCentrality().fit(votes_of(wins)).scores_
    np.testing.assert_allclose(-np.diff(scores), np.log((votes + 0.5) / 0.5), rtol=1e-12)


def test_a_single_vote_links_two_groups():
    wins = random_wins(3, 8)
    both = np.zeros((16, 16))
    both[:8, :8] = both[8:, 8:] = wins
    both[2, 11] = 1
    alone, linked = (jr.RankCentrality().fit(votes_of(w)).scores_ for w in (wins, both))
    gap = np.log(1.5 / 0.5)
    np.testing.assert_allclose(linked[:8] - linked[2], alone - alone[2], atol=1e-11)
    np.testing.assert_allclose(linked[8:] - linked[11], alone - alone[3], atol=1e-11)
    assert linked[2] - linked[11] == pytest.approx(gap, abs=1e-11)


@pytest.mark.parametrize("dense", [True, False])
def test_groups_are_walked_apart(dense, monkeypatch):
    if not dense:
        monkeypatch.setattr(laplacian, "_MOST_ITEMS_DENSE", 0)
    one, two = random_wins(3, 8), random_wins(4, 5)
    both = np.zeros((13, 13))
    both[:8, :8], both[8:, 8:] = one, two
    with pytest.warns(DisconnectedWarning, match=r"2 groups .*\(those of 0, 8\)"):
        scores = jr.RankCentrality().fit(votes_of(both)).scores_
    apart = [jr.RankCentrality().fit(votes_of(wins)).scores_ for wins in (one, two)]
    np.testing.assert_allclose(scores, np.concatenate(apart), atol=1e-11)


def test_a_walk_that_cannot_be_solved_is_said_to_be_so(monkeypatch):
    monkeypatch.setattr(laplacian, "_solve_directly", lambda matrix, right_side, component: np.zeros(len(right_side)))
    with pytest.warns(NotConvergedWarning, match="RankCentrality did not converge"):
        model = jr.RankCentrality().fit(votes_of(random_wins(1, 6)))
    assert not model.converged_


@pytest.mark.parametrize("smoothing", [0, -1, np.inf, np.nan, "much", None])
def test_a_smoothing_that_makes_no_sense_is_refused(smoothing):
    with pytest.raises(ParameterError, match="smoothing"):
        jr.RankCentrality(smoothing=smoothing).fit(votes_of(random_wins(1, 4)))


def test_without_smoothing_to_speak_of_it_is_that_of_choix():
    wins = np.floor(random_wins(5, 12, most=20)) + np.tri(12, 12, 1) + np.tri(12, 12, 1).T
    np.fill_diagonal(wins, 0)
    data = [(i, j) for i, j in np.argwhere(wins) for _ in range(int(wins[i, j]))]
    expected = choix.rank_centrality(12, data)
    scores = jr.RankCentrality(smoothing=1e-12).fit(votes_of(wins)).scores_
    np.testing.assert_allclose(scores, expected - expected.mean(), atol=1e-9)
