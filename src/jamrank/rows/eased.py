"""Lists of votes on pairs of unknown ease: each is a mixture over how easy the pair is."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy.sparse import csr_array

from jamrank.data.comparisons import Comparisons
from jamrank.rows.ballots import Patterns, RaggedVotes, as_codes, with_gold
from jamrank.rows.rows import Rows
from jamrank.typing import FloatArray

# Gauss and Hermite's nodes and weights for a standard normal: the logarithm of the ease, in standard deviations.
_N_NODES = 7
NODES, _WEIGHTS = np.polynomial.hermite_e.hermegauss(_N_NODES)
WEIGHTS = _WEIGHTS / _WEIGHTS.sum()
N_NODES = len(NODES)


@dataclass(frozen=True)
class EasedPatterns(Patterns):
    """Patterns whose votes share the ease of their pair, beside the truth.

    ``log_emission`` has tables for each node of the ease, one after the other: shape (nodes times groups, 2, 2).
    """

    @cached_property
    def _votes(self) -> csr_array:
        kinds = 2 * (self.n_confusion_groups + self.n_gold)
        return csr_array((self.weight, self.vote, self.start), shape=(len(self), kinds))

    def _joint(self, log_emission: FloatArray) -> FloatArray:
        """Return log-likelihood plus log prior of the ease, by pattern, node and truth."""
        tables = log_emission.reshape(N_NODES, self.n_confusion_groups, 2, 2)
        of_kind = np.stack([with_gold(table, self.n_gold).reshape(-1, 2) for table in tables], axis=1)
        found = (self._votes @ of_kind.reshape(len(of_kind), -1)).reshape(len(self), N_NODES, 2)
        return np.asarray(found + np.log(WEIGHTS)[:, None])

    def log_likelihoods(self, log_emission: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the log-likelihood of each pattern if the first, or the second, item is truly better."""
        joint = self._joint(log_emission)
        most = joint.max(axis=1)
        total = most + np.log(np.exp(joint - most[:, None]).sum(axis=1))
        return np.ascontiguousarray(total[:, 1]), np.ascontiguousarray(total[:, 0])

    def ease(self, log_emission: FloatArray) -> FloatArray:
        """Return the posterior of the ease given the truth, by pattern, node and truth."""
        joint = self._joint(log_emission)
        likely = np.exp(joint - joint.max(axis=1, keepdims=True))
        return np.asarray(likely / likely.sum(axis=1, keepdims=True))

    def expected_counts(self, by_pattern: FloatArray, total: FloatArray, log_emission: FloatArray) -> FloatArray:
        """Return expected votes by truth, node and group, one after the other, and by side.

        by_pattern: Expected number of rows of each pattern whose first item is truly better.
        total: Weight of the rows of each pattern.
        """
        truths = np.stack([total - by_pattern, by_pattern], axis=1)
        mass = (self.ease(log_emission) * truths[:, None]).reshape(len(self), -1)
        n = self.n_confusion_groups
        sums = (self._votes.T @ mass)[: 2 * n].reshape(n, 2, N_NODES, 2)
        return np.ascontiguousarray(sums.transpose(3, 2, 0, 1)).reshape(-1, 2)


def per_eased_pair(votes: Comparisons, threads: int | None = None) -> Rows:
    """Return one row for each pair, whose votes share its truth and its ease."""
    rows = Rows.per_pair(votes, threads)
    ballots = rows.ballots
    if isinstance(ballots, RaggedVotes):
        n_rows = len(ballots.start) - 1
        weight = ballots.weight if len(ballots.weight) else np.ones(len(ballots.vote))
        of_row = as_codes(np.arange(n_rows), n_rows)
        n_groups, n_gold = ballots.n_confusion_groups, ballots.n_gold
        ballots = Patterns(of_row, ballots.start, ballots.vote, weight, n_groups, n_gold)
    names = Patterns.__dataclass_fields__
    return replace(rows, ballots=EasedPatterns(**{name: getattr(ballots, name) for name in names}))
