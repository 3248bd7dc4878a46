"""Items that votes cannot place, found quickly, are those that a plain look over all votes finds."""

from __future__ import annotations

import warnings

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import jamrank as jr
from jamrank.engines import MemoryEngine
from jamrank.errors import DisconnectedWarning, SparseVotesWarning
from jamrank.fitting import separation
from jamrank.rows import Rows


def plainly(rows: Rows) -> tuple[int, set[int], set[int], set[int]]:
    """Return how many groups there are, the lowest item of each, and who never lost and who never won a vote."""
    group, (wins, total) = np.arange(rows.n_items), rows.vote_totals()
    for one, other in zip(rows.first, rows.second, strict=True):
        low, high = sorted((group[one], group[other]))
        group[group == high] = low
    won, lost = set(range(rows.n_items)), set(range(rows.n_items))
    pairs = zip(rows.first.tolist(), rows.second.tolist(), wins.tolist(), (total - wins).tolist(), strict=True)
    for one, other, for_one, for_other in pairs:
        won -= ({one} if for_other else set()) | ({other} if for_one else set())
        lost -= ({one} if for_one else set()) | ({other} if for_other else set())
    compared = set(rows.first.tolist()) | set(rows.second.tolist())
    return len(set(group.tolist())), set(group.tolist()), won & compared, lost & compared


def told(rows: Rows) -> dict[type, list[str]]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        separation.warn_of_loose_items(MemoryEngine(rows, 2), np.arange(rows.n_items))
    return {
        kind: [str(one.message) for one in caught if one.category is kind]
        for kind in (DisconnectedWarning, SparseVotesWarning)
    }


def named(items: set[int]) -> str:
    first = ", ".join(map(str, sorted(items)[:3]))
    return first if len(items) <= 3 else f"{first}, …"


@given(
    st.integers(2, 12),
    st.integers(1, 60),
    st.integers(1, 3),
    st.sampled_from(["pair", "vote"]),
    st.sampled_from([1, 8]),
    st.integers(0, 2**32 - 1),
)
def test_every_item_is_found_that_a_plain_look_finds(n_items, n_votes, n_islands, row, enough, seed):
    rng = np.random.default_rng(seed)
    island = rng.integers(0, n_islands, n_items)
    left = rng.integers(0, n_items, n_votes)
    right = (left + rng.integers(1, n_items, n_votes)) % n_items
    kept = island[left] == island[right]
    kept[0] = True
    said = np.where(rng.random(n_votes) < 0.8, left < right, rng.choice([0.0, 0.5, 1.0], n_votes)).astype(float)
    said[0] = 1.0
    votes = jr.Comparisons.from_arrays(left[kept], right[kept], rng.integers(0, 3, n_votes)[kept], said[kept])
    rows = Rows.per_pair(votes) if row == "pair" else Rows.per_vote(votes)
    before, separation._ENOUGH = separation._ENOUGH, enough
    try:
        found = told(rows)
    finally:
        separation._ENOUGH = before
    groups, lowest, won, lost = plainly(rows)
    expected = [f"fall into {groups} groups with no vote between them ({named(lowest)} are"] if groups > 1 else []
    assert all(part in said for part, said in zip(expected, found[DisconnectedWarning], strict=True))
    expected = [
        f"{len(which)} of {rows.n_items} items never {verb} a vote ({named(which)})"
        for verb, which in (("lost", won), ("won", lost))
        if which
    ]
    assert all(part in said for part, said in zip(expected, found[SparseVotesWarning], strict=True))
