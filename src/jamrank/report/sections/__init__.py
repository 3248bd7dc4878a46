"""The sections of the page, each in a file of its own: a report in, markup out (nothing where there is nothing)."""

from jamrank.report.sections.annotators import annotators
from jamrank.report.sections.beats import beats
from jamrank.report.sections.by import by
from jamrank.report.sections.computed import computed
from jamrank.report.sections.features import features
from jamrank.report.sections.health import health
from jamrank.report.sections.jury import jury
from jamrank.report.sections.pairs import contested, unsettled
from jamrank.report.sections.ranking import ranking
from jamrank.report.sections.skills import skills
from jamrank.report.sections.summary import summary

__all__ = [
    "annotators",
    "beats",
    "by",
    "computed",
    "contested",
    "features",
    "health",
    "jury",
    "ranking",
    "skills",
    "summary",
    "unsettled",
]
