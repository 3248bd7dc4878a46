"""The sections of the report: one line each, in the order in which they are shown."""

from __future__ import annotations

from jamrank.registry import Registry
from jamrank.report.section import Section

SECTIONS: Registry[Section] = Registry(
    "report section",
    {
        "summary": "jamrank.report.sections.summary:SECTION",
        "ranking": "jamrank.report.sections.ranking:SECTION",
        "pictures": "jamrank.report.sections.pictures:SECTION",
        "annotators": "jamrank.report.sections.annotators:SECTION",
        "effects": "jamrank.report.sections.effects:SECTION",
        "agreement": "jamrank.report.sections.agreement:SECTION",
        "jury": "jamrank.report.sections.jury:SECTION",
        "reliability": "jamrank.report.sections.reliability:SECTION",
        "uncertain": "jamrank.report.sections.uncertain_pairs:UNCERTAIN",
        "next": "jamrank.report.sections.ask_next:SECTION",
        "contested": "jamrank.report.sections.uncertain_pairs:CONTESTED",
        "groups": "jamrank.report.sections.groups:SECTION",
        "wins": "jamrank.report.sections.win_probabilities:SECTION",
        "features": "jamrank.report.sections.features:SECTION",
        "checks": "jamrank.report.sections.data_checks:SECTION",
        "computation": "jamrank.report.sections.computation:SECTION",
    },
)
