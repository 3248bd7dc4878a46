"""Health of the data, verdicts on annotators, judges who err together."""

from jamrank.diagnostics.clusters import describe_cluster
from jamrank.diagnostics.correlation import Links, correlated
from jamrank.diagnostics.habits import Habits, habits
from jamrank.diagnostics.health import Finding, Health, check
from jamrank.diagnostics.verdicts import ACTIONS, VERDICTS, evidence, flip_intervals, verdicts

__all__ = [
    "ACTIONS",
    "VERDICTS",
    "Finding",
    "Habits",
    "Health",
    "Links",
    "check",
    "correlated",
    "describe_cluster",
    "evidence",
    "flip_intervals",
    "habits",
    "verdicts",
]
