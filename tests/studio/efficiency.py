"""A whole study by simulated judges, through the endpoints of the voting page: how good is the order when?"""

from __future__ import annotations

import random

import numpy as np

from jamrank.studio.analysis import fit_votes
from jamrank.studio.worker import Worker

N_ITEMS, N_JUDGES, CARELESS = 40, 20, 6


def votes_of_study(running, seed: int, n_votes: int):
    """Let twenty judges, six of them careless, vote in turn; the worker has its say after every round."""
    draw, rng = random.Random(seed), np.random.default_rng(seed)
    scores = rng.normal(0.0, 1.5, N_ITEMS)
    judges = [(running.judge(), k < CARELESS) for k in range(N_JUDGES)]
    running.studio.judge_limit.__init__(per_second=10**6, burst=10**6)
    worker = Worker(running.studio.database.engine, depth=1)
    states = [judge.state() for judge, _ in judges]
    for place in range(n_votes):
        which = place % N_JUDGES
        if which == 0:
            worker.step(now=place // N_JUDGES % 5 == 0)
        judge, careless = judges[which]
        pair = states[which]["open"][0]
        left, right = (
            scores[int(pair[side].rpartition("</div>")[0].rpartition(">")[2])] for side in ("left", "right")
        )
        p_left = 0.5 if careless else 1 / (1 + np.exp(-(left - right)))
        states[which] = judge.vote(pair["key"], "left" if draw.random() < p_left else "right", ms=1000).json()
    return running.votes().select("annotator", "left", "right", "winner"), scores


def pairs_right(frame, scores) -> float:
    """Return the share of all pairs that a fit of some votes puts into the right order."""
    model, votes = fit_votes(frame, [])
    found = np.zeros(N_ITEMS)
    for item, score in zip(votes.items.tolist(), model.scores_.tolist(), strict=True):
        found[int(item.removeprefix("item"))] = score
    first, second = np.triu_indices(N_ITEMS, 1)
    return float(np.mean((found[first] - found[second]) * (scores[first] - scores[second]) > 0))
