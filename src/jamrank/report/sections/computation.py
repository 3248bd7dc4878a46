"""The computation: command, versions and convergence."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from jamrank.report import svg
from jamrank.report.markup import decimal, digits_for, finite, paragraph, plain, plural, tag
from jamrank.report.record import Report
from jamrank.report.section import Section

_POINTS = 400
# Smaller changes of the log-likelihood are not drawn.
_RISE = 0.01


def _render(report: Report) -> str:
    entries = (
        tag("div", tag("dt", escape(plain(name))), tag("dd", _value(name, plain(value))))
        for name, value in report.facts.items()
    )
    facts = tag("dl", *entries, class_="facts") if report.facts else ""
    return facts + _convergence(report.log_likelihoods)


def _value(name: str, value: str) -> str:
    return tag("code", escape(value)) if name == "Command" else escape(value)


def _convergence(log_likelihoods: Sequence[float]) -> str:
    values = [(i, v) for i, v in enumerate(map(finite, log_likelihoods), start=1) if v is not None]
    heading = tag("h3", "Convergence")
    if not values:
        return heading + paragraph("This model is computed directly; there are no iterations.")
    digits = min(digits_for(abs(values[-1][1])) + 1, 6)
    last = decimal(values[-1][1], digits)
    sentence = f"After {plural(values[-1][0], 'iteration')} the log-likelihood (including the prior) is {last}"
    if len(values) == 1:
        return heading + paragraph(sentence + ".")
    sentence += f"; the last iteration changed it by {_change(values[-1][1] - values[-2][1])}."
    if abs(values[-1][1] - values[0][1]) < _RISE:
        return heading + paragraph(sentence)
    stride = -(-len(values) // _POINTS)
    chart = svg.line_chart(
        [*values[:-1:stride], values[-1]],
        title="Convergence: log-likelihood by iteration",
        desc=f"{decimal(values[0][1], digits)} at the first iteration, {last} at the last.",
        x_label="iteration",
        y_label="log-likelihood",
    )
    return heading + paragraph(sentence) + tag("figure", chart)


def _change(value: float) -> str:
    if abs(value) < 1e-6:
        return "less than 0.000001"
    return decimal(value, min(digits_for(abs(value)), 7))


SECTION = Section("computation", "Computation", _render, link="Computation")
