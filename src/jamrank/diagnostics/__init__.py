"""Health of the votes: what is wrong or risky in them, and which pairs are in doubt."""

from jamrank.diagnostics.health_check import Finding, Health, check
from jamrank.diagnostics.pairs import SETTLED, Contested, Unsettled, contested_pairs, unsettled_pairs

__all__ = [
    "SETTLED",
    "Contested",
    "Finding",
    "Health",
    "Unsettled",
    "check",
    "contested_pairs",
    "unsettled_pairs",
]
