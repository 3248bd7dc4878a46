"""Health checks of votes, and the pairs whose order is uncertain."""

from jamrank.diagnostics.examination import Examination
from jamrank.diagnostics.findings import CheckResult, Finding, Health
from jamrank.diagnostics.health_check import check
from jamrank.diagnostics.pairs import SETTLED, Contested, Unsettled, contested_pairs, unsettled_pairs
from jamrank.diagnostics.registry import CHECKS, HealthCheck

__all__ = [
    "CHECKS",
    "SETTLED",
    "CheckResult",
    "Contested",
    "Examination",
    "Finding",
    "Health",
    "HealthCheck",
    "Unsettled",
    "check",
    "contested_pairs",
    "unsettled_pairs",
]
