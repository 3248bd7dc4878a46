"""Small inline SVG charts with text of constant size.

Horizontal positions are percentages and vertical ones pixels: a chart stretches with the page while its text,
dots and lines do not. Colours come from the page's style sheet: a chart follows light, dark and print.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from itertools import pairwise

from jamrank.report.markup import count, decimal, shorten, tag

LONG_LABEL, SHORT_LABEL = 24, 14
_ROW = 22
_HEAD = 26
_FOOT = 46
_PLOT_LEFT = 35.0
_TALL = 12
_PRINTABLE = 790


@dataclass(frozen=True)
class Scale:
    """A linear map from values to percentages of a chart's width."""

    low: float
    high: float
    left: float
    right: float

    def __call__(self, value: float) -> float:
        """Return the position of a value, limited to the plot."""
        share = (value - self.low) / (self.high - self.low)
        return self.left + min(max(share, 0.0), 1.0) * (self.right - self.left)


@dataclass(frozen=True)
class Axis:
    """The horizontal axis of a chart: range, ticks and labels above it.

    low, high: The range of values drawn.
    label: What the values are.
    ticks: Positions of the ticks.
    notes: Labels above the plot, each at a value.
    reference: A value to mark with a vertical line.
    """

    low: float
    high: float
    label: str
    ticks: Sequence[float]
    notes: Sequence[tuple[float, str]] = ()
    reference: float | None = None


@dataclass(frozen=True)
class Mark:
    """One row of an interval chart: a dot, its interval, and labels.

    label: The name of the row; shortened where it is too long.
    value, low, high: The dot and the ends of its interval; None draws nothing.
    lead, aside: Short texts at the far left and the far right.
    kind: A CSS class that gives the colour.
    tip: Shown when the pointer is on the row.
    """

    label: str
    value: float | None
    low: float | None = None
    high: float | None = None
    lead: str = ""
    aside: str = ""
    kind: str = ""
    tip: str = ""


@dataclass(frozen=True)
class Gap:
    """A row that says what was left out."""

    text: str


def ticks(low: float, high: float, at_most: int = 6) -> list[float]:
    """Return round values between `low` and `high`."""
    raw = (high - low) / at_most
    power = 10.0 ** math.floor(math.log10(raw))
    step = power * next(s for s in (1, 2, 5, 10) if s * power >= raw * (1 - 1e-9))
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [k * step for k in range(first, last + 1)]


def value_range(marks: Sequence[Mark]) -> tuple[float, float]:
    """Return the range that shows every dot and its interval.

    So that one very wide interval does not compress all dots, an interval counts only up to the spread of the dots on
    either side.
    """
    values = [m.value for m in marks if m.value is not None]
    if not values:
        return 0.0, 1.0
    low, high = min(values), max(values)
    ends = [end for m in marks for end in (m.low, m.high) if m.value is not None and end is not None]
    room = high - low
    if room <= 1e-9 * max(abs(low), abs(high)):
        room = max((abs(end - low) for end in ends), default=0.0) or 1.0
        return low - room, high + room
    low, high = max(min([low, *ends]), low - room), min(max([high, *ends]), high + room)
    return low - 0.02 * room, high + 0.02 * room


def interval_chart(rows: Sequence[Mark | Gap], axis: Axis, *, title: str, desc: str, heads: tuple[str, str]) -> str:
    """Draw a dot with its interval for every row, best first.

    rows: What to draw, from the top.
    axis: The range of values and how to label it.
    title, desc: Accessible name and description of the chart.
    heads: Headings of the names and of the texts at the right.
    """
    asides = any(isinstance(row, Mark) and row.aside for row in rows)
    scale = Scale(axis.low, axis.high, _PLOT_LEFT, 83.5 if asides else 98.0)
    bottom = _HEAD + _ROW * len(rows)
    # Names begin after the widest lead; a digit is about seven pixels wide.
    indent = max((7 * len(row.lead) + 8 for row in rows if isinstance(row, Mark) and row.lead), default=0)
    body = [_axis(axis, scale, bottom), _words(heads[0], indent, 14, "head")]
    body += [_words(heads[1], "100%", 14, "head end")] if asides else []
    for position, row in enumerate(rows):
        middle = _HEAD + _ROW * position + _ROW // 2
        body.append(_mark(row, scale, middle, indent) if isinstance(row, Mark) else _gap(row, middle))
    return _figure(body, bottom + _FOOT, title, desc)


def bar_chart(marks: Sequence[Mark], axis: Axis, *, title: str, desc: str, head: str) -> str:
    """Draw a bar from 0 to the value of every mark, to either side.

    marks: What to draw, from the top; only their values.
    axis: The range of values, 0 within it.
    title, desc: Accessible name and description of the chart.
    head: Heading of the names.
    """
    scale = Scale(axis.low, axis.high, _PLOT_LEFT, 98.0)
    bottom = _HEAD + _ROW * len(marks)
    body = [_axis(axis, scale, bottom), _words(head, 0, 14, "head")]
    for position, mark in enumerate(marks):
        middle = _HEAD + _ROW * position + _ROW // 2
        hit = tag("rect", y=middle - _ROW // 2, width="100%", height=_ROW, class_="hit")
        words = _name(mark.label, 0, middle + 4)
        bar = "" if mark.value is None else _bar(mark.value, scale, middle)
        body.append(tag("g", tag("title", escape(mark.tip or mark.label)), hit, words, bar, class_="mark"))
    return _figure(body, bottom + _FOOT, title, desc)


def _bar(value: float, scale: Scale, middle: int) -> str:
    left, right = sorted((scale(0.0), scale(value)))
    kind = "raises" if value > 0 else "lowers"
    return tag(
        "rect", x=f"{left:.2f}%", y=middle - 6, width=f"{right - left:.2f}%", height=12, class_=f"effect {kind}"
    )


def line_chart(values: Sequence[tuple[int, float]], *, title: str, desc: str, x_label: str, y_label: str) -> str:
    """Draw a line through (step, value) points, with a dot at the last."""
    top, height = _HEAD, 200
    low, high = value_range([Mark("", value) for _, value in values])
    first, last = values[0][0], max(values[-1][0], values[0][0] + 1)
    across, upward = Scale(first, last, 20.0, 97.0), Scale(low, high, top + height, top)
    body = [_level(at, upward(at), text) for at, text in _labelled(ticks(low, high, 5))]
    steps = [at for at in ticks(first, last) if float(at).is_integer()]
    body += [_tick(across(at), count(at), top + height) for at in steps]
    body += [
        _words(y_label, 0, 14, "head"),
        _words(x_label, f"{across(last):g}%", top + height + 38, "head end"),
    ]
    body += [_path(values, across, upward, top, height), _dot(across(values[-1][0]), upward(values[-1][1]))]
    return _figure(body, top + height + _FOOT, title, desc)


def probability_bar(share: float) -> str:
    """Draw a probability as a small bar with a mark at one half."""
    return tag(
        "svg",
        tag("rect", width="100%", height=10, class_="trough"),
        tag("rect", width=f"{100 * share:.1f}%", height=10, class_="fill"),
        tag("line", x1="50%", x2="50%", y1=0, y2=10, class_="half"),
        class_="bar",
        aria_hidden="true",
    )


def _figure(body: Sequence[str], height: int, title: str, desc: str) -> str:
    described = (tag("title", escape(title)), tag("desc", escape(desc)))
    # In print the style sheet scales the chart by this factor, so that it fits on a page.
    fit = f"--fit:{_PRINTABLE / height:.2f}" if height > _PRINTABLE else None
    return tag(
        "svg", *described, *body, role="img", tabindex="0", class_="chart", width="100%", height=height, style=fit
    )


def _words(text: str, x: str | float, y: float, kind: str) -> str:
    return tag("text", escape(text), x=x, y=y, class_=kind) if text else ""


def _axis(axis: Axis, scale: Scale, bottom: int) -> str:
    lines = [_tick(scale(at), text, bottom) for at, text in _labelled(axis.ticks)]
    if axis.reference is not None:
        at = f"{scale(axis.reference):.2f}%"
        lines.append(tag("line", x1=at, x2=at, y1=_HEAD - 6, y2=bottom, class_="reference"))
    above = axis.notes or (_labelled(axis.ticks) if bottom > _HEAD + _TALL * _ROW else ())
    notes = [
        _words(text, f"{scale(at):.2f}%", 14, f"head {_anchor(at, axis)}{_crowded(at, axis)}") for at, text in above
    ]
    label = _words(axis.label, f"{(scale.left + scale.right) / 2:g}%", bottom + 38, "head mid")
    return "".join([*lines, *notes, label])


def _anchor(at: float, axis: Axis) -> str:
    return "start" if at <= axis.low else "end" if at >= axis.high else "mid"


def _crowded(at: float, axis: Axis) -> str:
    """Return the class of labels that narrow screens leave out, since they would overlap others."""
    return "" if axis.notes or at < axis.high - 0.2 * (axis.high - axis.low) else " long"


def _labelled(at: Sequence[float]) -> list[tuple[float, str]]:
    if not at:
        return []
    step = min((b - a for a, b in pairwise(at)), default=1.0)
    digits = next((d for d in range(10) if abs(step * 10**d - round(step * 10**d)) < 1e-6), 9)
    return [(value, decimal(value, digits)) for value in at]


def _tick(x: float, text: str, bottom: int) -> str:
    at = f"{x:.2f}%"
    line = tag("line", x1=at, x2=at, y1=_HEAD, y2=bottom, class_="grid")
    return line + _words(text, at, bottom + 17, "tick mid")


def _level(value: float, y: float, text: str) -> str:
    line = tag("line", x1="20%", x2="97%", y1=round(y, 1), y2=round(y, 1), class_="grid")
    return line + _words(text, "18.5%", round(y + 4, 1), "tick end")


def _gap(gap: Gap, middle: int) -> str:
    line = tag("line", x1="0", x2="100%", y1=middle, y2=middle, class_="gap-line")
    return line + _words(gap.text, "50%", middle + 4, "gap mid")


def _mark(mark: Mark, scale: Scale, middle: int, indent: int) -> str:
    hit = tag("rect", y=middle - _ROW // 2, width="100%", height=_ROW, class_="hit")
    guide = tag("line", x1=f"{scale.left:g}%", x2=f"{scale.right:g}%", y1=middle, y2=middle, class_="guide")
    words = _words(mark.lead, 0, middle + 4, "lead") + _name(mark.label, indent, middle + 4)
    aside = _words(mark.aside, "100%", middle + 4, "aside end")
    drawn = "" if mark.value is None else _interval(mark, scale, middle) + _dot(scale(mark.value), middle)
    return tag(
        "g",
        tag("title", escape(mark.tip or mark.label)),
        hit,
        guide,
        words,
        aside,
        drawn,
        class_=f"mark {mark.kind}".strip(),
    )


def _name(label: str, x: int, y: int) -> str:
    long, short = shorten(label, LONG_LABEL), shorten(label, SHORT_LABEL)
    if long == short:
        return _words(label, x, y, "name")
    return _words(long, x, y, "name long") + _words(short, x, y, "name short")


def _interval(mark: Mark, scale: Scale, middle: int) -> str:
    if mark.low is None or mark.high is None:
        return ""
    ends = {"x1": f"{scale(mark.low):.2f}%", "x2": f"{scale(mark.high):.2f}%"}
    return tag("line", y1=middle, y2=middle, class_="interval", **ends) + _cut_ends(mark, scale, middle)


def _cut_ends(mark: Mark, scale: Scale, middle: int) -> str:
    before = "‹" if mark.low is not None and mark.low < scale.low else ""
    after = "›" if mark.high is not None and mark.high > scale.high else ""
    left, right = f"{scale.left - 0.3:g}%", f"{scale.right + 0.3:g}%"
    return _words(before, left, middle + 4, "cut end") + _words(after, right, middle + 4, "cut")


def _dot(x: float, y: float) -> str:
    return tag("circle", cx=f"{x:.2f}%", cy=round(y, 1), r=4.5, class_="dot")


def _path(values: Sequence[tuple[int, float]], across: Scale, upward: Scale, top: int, height: int) -> str:
    # A polyline has no percentages: it is drawn in a nested svg that stretches, with strokes that do not.
    inside = Scale(across.low, across.high, 0.0, 1000.0)
    points = " ".join(f"{inside(step):.1f},{upward(value) - top:.1f}" for step, value in values)
    line = tag("polyline", points=points, class_="line", vector_effect="non-scaling-stroke")
    box = {"viewBox": f"0 0 1000 {height}", "preserveAspectRatio": "none", "overflow": "visible"}
    width = f"{across.right - across.left:g}%"
    return tag("svg", line, x=f"{across.left:g}%", y=top, width=width, height=height, **box)
