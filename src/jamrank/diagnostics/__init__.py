"""Health of the data, verdicts on annotators, judges who err together, pairs in doubt, models compared."""

from jamrank.diagnostics.clusters import describe_cluster
from jamrank.diagnostics.comparison import Comparison, compare
from jamrank.diagnostics.correlation import Links, correlated
from jamrank.diagnostics.habits import Habits, habits
from jamrank.diagnostics.health import Finding, Health, check
from jamrank.diagnostics.pairs import SETTLED, Contested, Unsettled, contested_pairs, unsettled_pairs
from jamrank.diagnostics.verdicts import ACTIONS, VERDICTS, best_first, evidence, flip_intervals, verdicts

__all__ = [
    "ACTIONS",
    "SETTLED",
    "VERDICTS",
    "Comparison",
    "Contested",
    "Finding",
    "Habits",
    "Health",
    "Links",
    "Unsettled",
    "best_first",
    "check",
    "compare",
    "contested_pairs",
    "correlated",
    "describe_cluster",
    "evidence",
    "flip_intervals",
    "habits",
    "unsettled_pairs",
    "verdicts",
]
