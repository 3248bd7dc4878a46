"""Health of the data and verdicts on annotators."""

from jamrank.diagnostics.health import Finding, Health, check
from jamrank.diagnostics.verdicts import flip_intervals, verdicts

__all__ = ["Finding", "Health", "check", "flip_intervals", "verdicts"]
