"""The whole of it in sentences, and how many there are of what."""

from __future__ import annotations

from html import escape

from jamrank.report.markup import count, finite, paragraph, plain, section, tag
from jamrank.report.record import Report

__all__ = ["summary"]


def summary(report: Report) -> str:
    """Write what to take away."""
    told = (
        tag("div", tag("h3", escape(topic)), *(paragraph(plain(sentence)) for sentence in sentences))
        for topic, sentences in report.summary.items()
        if sentences
    )
    figures = {
        "item": report.ranking.height,
        "annotator": report.annotators.height,
        "vote": finite(report.annotators["votes"].sum()),
        "pair": report.n_pairs,
    }
    tiles = (_tile(noun, number) for noun, number in figures.items())
    return section("summary", "In short", tag("dl", *tiles, class_="tiles"), tag("div", *told, class_="told"))


def _tile(noun: str, number: float | None) -> str:
    return tag("div", tag("dt", noun if number == 1 else noun + "s"), tag("dd", count(number)))
