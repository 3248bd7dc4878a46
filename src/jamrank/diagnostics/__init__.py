"""Health checks of votes, and the pairs whose order is uncertain."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jamrank.registry import importing

if TYPE_CHECKING:
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

if not TYPE_CHECKING:
    __getattr__ = importing(
        __name__,
        {
            "examination": "Examination",
            "findings": "CheckResult Finding Health",
            "health_check": "check",
            "pairs": "SETTLED Contested Unsettled contested_pairs unsettled_pairs",
            "registry": "CHECKS HealthCheck",
        },
    )
