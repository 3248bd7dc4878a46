"""Swiss rounds: items with the fewest votes, against their neighbours in the order."""

from __future__ import annotations

import numpy as np

from jamrank.acquisition.view import Proposals, View


def swiss(view: View) -> Proposals:
    """Prefer pairs of the fewest votes on both items, then the smallest distance in rank, new pairs first."""
    mean = view.belief.scores.mean
    rank = np.empty(len(mean))
    rank[np.argsort(mean + 1e-9 * view.rng.random(len(mean)))] = np.arange(len(mean))
    votes = view.item_votes[view.first] + view.item_votes[view.second]
    apart = np.abs(rank[view.first] - rank[view.second]) + len(mean) * view.count_pairs()
    value = -(votes - votes.min()) - apart / (apart.max() + 1)
    every = np.broadcast_to(value, (len(view.annotators), len(value)))
    return Proposals(
        np.arange(len(value)), every, "few votes on both items, which are neighbours in the current order"
    )
