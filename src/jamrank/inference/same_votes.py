"""Annotators with the same votes on all common pairs: they hardly ever err, or are not independent."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array, csr_array

from jamrank.data.comparisons import Comparisons
from jamrank.data.storage import FIRST, TIE
from jamrank.inference.error_correlation import Couples
from jamrank.inference.response_bias import chunks
from jamrank.text import safe_text
from jamrank.typing import FloatArray, IntArray

# Fewest common pairs: independent annotators with flips of 5 % decide so many alike in less than 2 % of the cases.
LEAST_PAIRS = 40
# Weights of soft votes add up to equal ones but for this.
_ROUNDING = 1e-9
_MOST_NAMED = 30


@dataclass(frozen=True)
class SameVotes:
    """Annotators, any two of whom cast the same votes on as many common pairs.

    annotators: Indices into ``votes.annotators``.
    pairs: Pairs on which any two of them cast decided votes.
    """

    annotators: IntArray
    pairs: int

    def sentence(self, annotators: NDArray[Any]) -> str:
        """Say what this leaves open, and how to see whether it matters."""
        names = [safe_text(name) for name in annotators[self.annotators].tolist()]
        named = names[:_MOST_NAMED]
        more = f" and {len(names) - len(named):,} more" if len(names) > len(named) else ""
        who = f"{', '.join(named)}{more}" if more else f"{', '.join(named[:-1])} and {named[-1]}"
        each = "both" if len(names) == 2 else "all"
        left_out = ",".join(named[1:]) + (",…" if more else "")
        return (
            f"{who} cast the same votes on all {self.pairs:,} common pairs: either {each} hardly ever err, or they "
            f"are not independent; --without {left_out} shows the ranking with only one of them."
        )


def same_votes(votes: Comparisons, couples: Couples) -> list[SameVotes]:
    """Return the groups of annotators with the same votes on many common pairs, the first annotator's first.

    Whether they are independent cannot be told: those who never err vote alike, and so do copies. Several votes of an
    annotator on a pair must be the same in number.

    couples: The couples of annotators with common pairs, and how they agree.
    """
    alike = (couples.common >= LEAST_PAIRS) & (couples.agreement > 1 - _ROUNDING)
    if not alike.any():
        return []
    first, second = couples.first[alike], couples.second[alike]
    common, different = _differences(votes, first, second)
    kept = (common >= LEAST_PAIRS) & (different <= _ROUNDING * common)
    return _groups(first[kept], second[kept], common[kept])


def among(found: Sequence[SameVotes], n_annotators: int) -> NDArray[np.bool_]:
    """Return which annotators are in any group."""
    inside = np.zeros(n_annotators, dtype=np.bool_)
    for group in found:
        inside[group.annotators] = True
    return inside


def _differences(votes: Comparisons, first: IntArray, second: IntArray) -> tuple[FloatArray, FloatArray]:
    """Return how many pairs both of each couple decided, and by how much their votes differ there, squared."""
    who = np.unique(np.concatenate([first, second]))
    cast = _cast(votes, who)
    judged, size = csr_array(abs(cast) > 0, dtype=np.float64), csr_array(abs(cast) ** 2)
    a, b = np.searchsorted(who, first), np.searchsorted(who, second)

    def both(one: csr_array, other: csr_array) -> NDArray[Any]:
        return np.asarray(csr_array(one.T @ other)[a, b]).ravel()

    squares = both(size, judged) + both(judged, size) - 2 * both(csr_array(cast.conj()), cast).real
    return both(judged, judged), squares


def _cast(votes: Comparisons, who: IntArray) -> csr_array:
    """Return votes for the first item of each pair and, as imaginary parts, those for the second."""
    place = np.full(votes.n_annotators, -1, dtype=np.int64)
    place[who] = np.arange(len(who))
    rows, columns, data = [np.empty(0, np.int64)], [np.empty(0, np.int64)], [np.empty(0, np.complex128)]
    for chunk in chunks(votes):
        taken = (place[chunk.annotator] >= 0) & (chunk.result != TIE) & (chunk.weight > 0)
        rows.append(chunk.pair[taken])
        columns.append(place[chunk.annotator[taken]])
        data.append(chunk.weight[taken] * np.where(chunk.result[taken] == FIRST, 1.0, 1j))
    at = np.concatenate(rows), np.concatenate(columns)
    return csr_array(coo_array((np.concatenate(data), at), shape=(votes.n_pairs, len(who))))


def _groups(first: IntArray, second: IntArray, common: FloatArray) -> list[SameVotes]:
    """Return groups any two of whom are among the couples, with as many common pairs; nobody is in two."""
    pairs_of = {(a, b): n for a, b, n in zip(first.tolist(), second.tolist(), common.tolist(), strict=True)}
    left, found = sorted(set(first.tolist()) | set(second.tolist())), []
    while left:
        group, rest, pairs = [left[0]], [], 0.0
        for other in left[1:]:
            shared = {pairs_of.get((one, other), 0.0) for one in group}
            if len(shared) == 1 and (n := shared.pop()) and pairs in (0.0, n):
                group.append(other)
                pairs = n
            else:
                rest.append(other)
        left = rest
        if len(group) > 1:
            found.append(SameVotes(np.array(group), int(pairs)))
    return found
