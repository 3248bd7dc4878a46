"""Items that votes alone cannot place: they are named, and the prior places them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from jamrank.engines import Engine, MemoryEngine, TiedEngine
from jamrank.errors import DisconnectedWarning, SparseVotesWarning, warn

__all__ = ["warn_of_loose_items"]

_NAMED = 3


def warn_of_loose_items(engine: Engine, items: NDArray[Any]) -> None:
    """Warn where items fall into groups without a vote between them, or win or lose all of their pairs.

    Their scores are finite, since there is a prior, but hang on it. Votes on disk are not looked over.
    """
    if isinstance(engine, TiedEngine):
        engine = engine.decided
    if not isinstance(engine, MemoryEngine):
        return
    first, second = engine.pairs
    graph = coo_array((np.ones(len(first), bool), (first, second)), shape=(len(items), len(items)))
    groups, group = connected_components(graph, directed=False)
    if groups > 1:
        one_of_each = np.sort(np.unique(group, return_index=True)[1])
        warn(
            f"the items fall into {groups:,} groups with no vote between them ({_named(items[one_of_each])} are in "
            "different ones): only the prior, and features where they are used, compare across groups",
            DisconnectedWarning,
        )
    rows, n_items = engine.rows, len(items)
    lean = rows.share - 0.5
    won = np.bincount(rows.first, lean > 0, n_items) + np.bincount(rows.second, lean < 0, n_items)
    lost = np.bincount(rows.first, lean < 0, n_items) + np.bincount(rows.second, lean > 0, n_items)
    compared = np.bincount(rows.first, minlength=n_items) + np.bincount(rows.second, minlength=n_items)
    for verb, count in (("win", won), ("lose", lost)):
        always = (compared > 0) & (count == compared)
        if always.any():
            one = always.sum() == 1
            told, kept = (
                (f"{verb}s every one of its", "its score") if one else (f"{verb} every one of their", "their scores")
            )
            which = f"{int(always.sum()):,} of {n_items:,} items {told} pairs"
            warn(
                f"{which} ({_named(items[always])}): the prior alone keeps {kept} finite",
                SparseVotesWarning,
            )


def _named(items: NDArray[Any]) -> str:
    told = ", ".join(str(item) for item in items[:_NAMED])
    return told if len(items) <= _NAMED else f"{told}, …"
