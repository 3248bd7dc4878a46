"""The HTML report of a fitted model, its summary in sentences, and exports."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jamrank.registry import importing

if TYPE_CHECKING:
    from jamrank.report.analysis import Analysis
    from jamrank.report.build import describe, versions, write_report
    from jamrank.report.narrative import findings, warnings_first
    from jamrank.report.page import render, section_markup
    from jamrank.report.record import AgreementMatrix, Report, Skills, WinProbabilities
    from jamrank.report.registry import SECTIONS
    from jamrank.report.section import Section

__all__ = [
    "SECTIONS",
    "AgreementMatrix",
    "Analysis",
    "Report",
    "Section",
    "Skills",
    "WinProbabilities",
    "describe",
    "findings",
    "render",
    "section_markup",
    "versions",
    "warnings_first",
    "write_report",
]

if not TYPE_CHECKING:
    __getattr__ = importing(
        __name__,
        {
            "analysis": "Analysis",
            "build": "describe versions write_report",
            "narrative": "findings warnings_first",
            "page": "render section_markup",
            "record": "AgreementMatrix Report Skills WinProbabilities",
            "registry": "SECTIONS",
            "section": "Section",
        },
    )
