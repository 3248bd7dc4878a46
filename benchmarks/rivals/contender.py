"""What every adapter provides."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.votes import Votes

Scores = NDArray[np.float64]


@dataclass(frozen=True)
class Contender:
    """One way to get item scores from votes, in two steps that are timed apart.

    Attributes
    ----------
    name, package : str
        As the table has it, and as pip has it (``numpy`` for the plain loops).
    module : str
        What is imported; it is missing where the package is not installed.
    annotators : str
        How it models annotators, or ``no``.
    prepare : callable
        Turns the votes into the contender's own input, imports included: nothing is imported before.
    fit : callable
        Turns that input into one score an item, NaN for items without votes.
    """

    name: str
    package: str
    module: str
    annotators: str
    prepare: Callable[[Votes], Any]
    fit: Callable[[Any], Scores]

    @property
    def installed(self) -> bool:
        return find_spec(self.module) is not None


def by_item(items: Any, scores: Any, n_items: int) -> Scores:
    """Return ``scores``, given in the order of ``items``, in the order of the items' numbers."""
    result = np.full(n_items, np.nan)
    result[np.asarray(items, dtype=np.int64)] = np.asarray(scores, dtype=np.float64)
    return result
