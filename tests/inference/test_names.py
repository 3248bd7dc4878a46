"""Names of items and annotators, and the order of the votes, change nothing that rests on draws."""

from __future__ import annotations

import numpy as np
import pytest

import jamrank as jr
from jamrank.errors import JamrankError

pytestmark = pytest.mark.filterwarnings("ignore")
MODELS = [
    lambda: jr.CrowdBT(),
    lambda: jr.CrowdBT(noise="two-coin"),
    lambda: jr.JAM(),
    lambda: jr.JAM(noise="two-coin", ties="davidson"),
]


def renaming_changes(seed: int) -> float:
    """Return by how much standard errors and bounds differ between a random study and the same under other names."""
    rng = np.random.default_rng(seed)
    n_items, n_annotators, n_votes = int(rng.integers(2, 9)), int(rng.integers(1, 6)), int(rng.integers(3, 90))
    left = rng.integers(0, n_items, n_votes)
    right = (left + rng.integers(1, n_items, n_votes)) % n_items
    who, outcome = rng.integers(0, n_annotators, n_votes), rng.choice([0, 1, 1, 0.5], n_votes)
    items, people, order = rng.permutation(n_items), rng.permutation(n_annotators), rng.permutation(n_votes)

    def study(item, person, at):
        names = [f"i{item[k]}" for k in left[at]], [f"i{item[k]}" for k in right[at]]
        return jr.Comparisons.from_arrays(*names, [f"a{person[k]}" for k in who[at]], outcome[at])

    try:
        plain = MODELS[seed % 4]().fit(study(np.arange(n_items), np.arange(n_annotators), np.arange(n_votes)))
        other = MODELS[seed % 4]().fit(study(items, people, order))
    except JamrankError:
        return 0.0
    at = [other.items_.tolist().index(f"i{items[int(item[1:])]}") for item in plain.items_]
    by = other.result_.votes.annotators.tolist()
    to = [by.index(f"a{people[int(name[1:])]}") for name in plain.result_.votes.annotators]
    a, b = plain.result_.uncertainty.estimate, other.result_.uncertainty.estimate
    gaps = [
        np.abs(getattr(a, x) - getattr(b, x)[at]).max() for x in ("score_se", "rank_low", "rank_high", "score_low")
    ]
    gaps.append(np.abs(plain.result_.annotators.flip_range - other.result_.annotators.flip_range[:, to]).max())
    return float(max(gaps))


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.long) for seed in (1, 2, 3))])
def test_names_do_not_matter(seed):
    assert renaming_changes(seed) < 1e-5


@pytest.mark.long
@pytest.mark.parametrize("begin", range(100, 620, 52))
def test_names_do_not_matter_in_many_studies(begin):
    found = {seed: renaming_changes(seed) for seed in range(begin, begin + 52)}
    assert {seed: gap for seed, gap in found.items() if gap >= 1e-5} == {}
