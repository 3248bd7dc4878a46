"""The summary: sentences by topic, and the size of the data."""

from __future__ import annotations

from html import escape

from jamrank.report.markup import count, finite, paragraph, plain, tag
from jamrank.report.record import Report
from jamrank.report.section import Section


def _render(report: Report) -> str:
    topics = (
        tag("div", tag("h3", escape(topic)), *(paragraph(plain(sentence)) for sentence in sentences))
        for topic, sentences in report.summary.items()
        if sentences
    )
    figures = {
        "item": report.ranking.height,
        "annotator": report.annotators.height,
        "vote": finite(report.annotators["votes"].sum()),
        "pair": report.n_pairs,
        **({"question": report.n_questions} if report.n_questions > 1 else {}),
    }
    tiles = (_tile(noun, number) for noun, number in figures.items())
    return tag("dl", *tiles, class_="tiles") + tag("div", *topics, class_="topics")


def _tile(noun: str, number: float | None) -> str:
    return tag("div", tag("dt", noun if number == 1 else noun + "s"), tag("dd", count(number)))


SECTION = Section("summary", "Summary", _render)
