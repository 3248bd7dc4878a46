"""The one-file HTML report: a ranking, its annotators and its doubts, on a page that can be passed around."""

from jamrank.report.page import Report, render

__all__ = ["Report", "render"]
