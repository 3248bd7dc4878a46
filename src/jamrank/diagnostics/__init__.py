"""Health of the data, verdicts on annotators, and models compared by held-out votes."""

from jamrank.diagnostics.comparison import Comparison, compare
from jamrank.diagnostics.health import Finding, Health, check
from jamrank.diagnostics.verdicts import flip_intervals, verdicts

__all__ = ["Comparison", "Finding", "Health", "check", "compare", "flip_intervals", "verdicts"]
