from __future__ import annotations

import numpy as np
import pytest

import jamrank as jr
from jamrank.errors import ParameterError
from jamrank.linalg import laplacian
from tests.models.tournaments import bradley_terry, random_wins, votes_of


def by_lstsq(wins: np.ndarray, flow: str) -> tuple[np.ndarray, float]:
    """Fit the edge flows with the incidence matrix written out; of all solutions the shortest is centred."""
    rows, right, weight = [], [], []
    for i in range(len(wins)):
        for j in range(i):
            total = wins[i, j] + wins[j, i]
            if total > 0:
                edge = np.zeros(len(wins))
                edge[i], edge[j] = 1, -1
                rows.append(edge)
                weight.append(np.sqrt(total))
                odds = np.log((wins[i, j] + 0.5) / (wins[j, i] + 0.5))
                right.append(odds if flow == "log-odds" else (wins[i, j] - wins[j, i]) / total)
    weighted = np.array(weight)
    design, target = np.array(rows) * weighted[:, None], np.array(right) * weighted
    scores = np.linalg.lstsq(design, target, rcond=None)[0]
    return scores, float(((target - design @ scores) ** 2).sum() / (target**2).sum())


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("flow", ["log-odds", "share"])
@pytest.mark.parametrize("dense", [True, False])
def test_it_is_least_squares_on_the_incidence_matrix(seed, flow, dense, monkeypatch):
    if not dense:
        monkeypatch.setattr(laplacian, "_MOST_ITEMS_DENSE", 0)
    wins = random_wins(seed, 4 + 3 * seed, most=8)
    model = jr.HodgeRank(flow=flow).fit(votes_of(wins))
    scores, inconsistency = by_lstsq(wins, flow)
    np.testing.assert_allclose(model.scores_, scores, atol=1e-10)
    assert model.inconsistency_ == pytest.approx(inconsistency, abs=1e-10)


@pytest.mark.filterwarnings("ignore::jamrank.errors.DisconnectedWarning")
@pytest.mark.parametrize("dense", [True, False])
def test_groups_are_centred_apart(dense, monkeypatch):
    if not dense:
        monkeypatch.setattr(laplacian, "_MOST_ITEMS_DENSE", 0)
    one, two = random_wins(3, 8), random_wins(4, 5)
    both = np.zeros((13, 13))
    both[:8, :8], both[8:, 8:] = one, two
    scores = jr.HodgeRank().fit(votes_of(both)).scores_
    apart = [by_lstsq(wins, "log-odds")[0] for wins in (one, two)]
    np.testing.assert_allclose(scores, np.concatenate(apart), atol=1e-11)


def test_a_pure_cycle_is_wholly_inconsistent_and_a_tree_not_at_all():
    cycle = jr.HodgeRank().fit(votes_of(np.array([[0, 4.0, 0], [0, 0, 4], [4, 0, 0]])))
    assert cycle.inconsistency_ == pytest.approx(1.0)
    tree = jr.HodgeRank().fit(votes_of(np.array([[0, 4.0, 1], [1, 0, 0], [7, 0, 0]])))
    assert tree.inconsistency_ == pytest.approx(0.0, abs=1e-15)
    ties = jr.HodgeRank().fit(votes_of(np.array([[0, 1.0], [1.0, 0]])))
    assert ties.inconsistency_ == 0.0


def test_in_a_round_robin_the_score_is_the_mean_flow():
    wins = np.array([[0, 3.0, 4, 2], [1, 0, 3, 4], [0, 1, 0, 2], [2, 0, 2, 0]])
    flow = np.log((wins + 0.5) / (wins.T + 0.5))
    np.testing.assert_allclose(jr.HodgeRank().fit(votes_of(wins)).scores_, flow.sum(axis=1) / 4, atol=1e-13)


def test_it_recovers_the_scores_of_a_bradley_terry_model():
    scores, votes = bradley_terry(0, 25, 4000)
    found = jr.HodgeRank().fit(votes)
    np.testing.assert_allclose(found.scores_, scores, atol=0.08)
    assert found.slope_ == pytest.approx(1.0, abs=0.01)
    assert found.inconsistency_ < 0.01


@pytest.mark.parametrize("bad", [{"flow": "odds"}, {"smoothing": 0.0}])
def test_arguments_that_make_no_sense_are_refused(bad):
    with pytest.raises(ParameterError, match=next(iter(bad))):
        jr.HodgeRank(**bad).fit(votes_of(random_wins(1, 4)))
