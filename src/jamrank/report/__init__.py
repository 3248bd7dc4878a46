"""The one-file HTML report: a ranking, its annotators and its doubts, on a page that can be passed around."""

from jamrank.report.page import Report, render
from jamrank.report.telling import describe, findings

__all__ = ["Report", "describe", "findings", "render"]
