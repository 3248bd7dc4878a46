from __future__ import annotations

from itertools import combinations, permutations

import numpy as np
import pytest

from jamrank.diagnostics import cycles
from jamrank.diagnostics.cycles import count_triads


def random_wins(rng, n: int, share: float) -> tuple[np.ndarray, np.ndarray]:
    pairs = np.array([pair for pair in combinations(range(n), 2) if rng.uniform() < share])
    turned = rng.uniform(size=len(pairs)) < 0.5
    return np.where(turned, pairs[:, 1], pairs[:, 0]), np.where(turned, pairs[:, 0], pairs[:, 1])


def by_hand(winner, loser, n: int) -> tuple[int, int]:
    beats = set(zip(winner.tolist(), loser.tolist(), strict=True))
    circular = ordered = 0
    for triad in combinations(range(n), 3):
        won = [(a, b) in beats for a, b in permutations(triad, 2)]
        if sum(won) == 3:
            wins = [sum((a, b) in beats for b in triad) for a in triad]
            circular += wins == [1, 1, 1]
            ordered += wins != [1, 1, 1]
    return circular, ordered


@pytest.mark.parametrize("share", [0.4, 1.0])
def test_triads_are_counted_as_by_hand(share):
    rng = np.random.default_rng(3)
    winner, loser = random_wins(rng, 12, share)
    found = count_triads(winner, loser, np.zeros(12, dtype=int), 1)
    assert (found.circular[0], found.ordered[0]) == by_hand(winner, loser, 12)
    assert found.exact


def test_triads_are_counted_by_group():
    rng = np.random.default_rng(4)
    wins = [random_wins(rng, 7, 0.7) for _ in range(2)]
    winner, loser = (np.concatenate([wins[0][end], wins[1][end] + 7]) for end in (0, 1))
    found = count_triads(winner, loser, np.repeat([0, 1], 7), 2)
    for k in range(2):
        assert (found.circular[k], found.ordered[k]) == by_hand(*wins[k], 7)


def test_many_triads_are_counted_densely_or_from_a_sample(monkeypatch):
    rng = np.random.default_rng(5)
    winner, loser = random_wins(rng, 60, 0.6)
    exact = count_triads(winner, loser, np.zeros(60, dtype=int), 1)
    monkeypatch.setattr(cycles, "_MOST_CHAINS", 0)
    dense = count_triads(winner, loser, np.zeros(60, dtype=int), 1)
    assert (dense.circular.tolist(), dense.ordered.tolist()) == (exact.circular.tolist(), exact.ordered.tolist())
    monkeypatch.setattr(cycles, "_MOST_ITEMS_DENSE", 0)
    monkeypatch.setattr(cycles, "_SAMPLE", 100_000)
    found = count_triads(winner, loser, np.zeros(60, dtype=int), 1)
    assert not found.exact
    assert found.circular[0] == pytest.approx(exact.circular[0], rel=0.05)
    assert found.ordered[0] == pytest.approx(exact.ordered[0], rel=0.05)
