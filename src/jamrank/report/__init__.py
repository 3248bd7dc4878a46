"""The one-file HTML report: a ranking, its annotators and its doubts, on a page that can be passed around."""

from jamrank.report.build import describe, versions, write_report
from jamrank.report.narrative import findings, score_meaning, warnings_first
from jamrank.report.page import render
from jamrank.report.record import Beats, Report, Skills

__all__ = [
    "Beats",
    "Report",
    "Skills",
    "describe",
    "findings",
    "render",
    "score_meaning",
    "versions",
    "warnings_first",
    "write_report",
]
