"""Ids and numbers as text, and text as markup."""

from __future__ import annotations

import math
import unicodedata
from html import escape

__all__ = [
    "MISSING",
    "count",
    "decimal",
    "digits_for",
    "finite",
    "paragraph",
    "percent",
    "plain",
    "plural",
    "section",
    "shorten",
    "tag",
]

MISSING = "–"
_ABSURD = 1e100


def plain(value: object) -> str:
    """Write an id of any kind as text, with control characters made visible."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return MISSING
    text = str(value) or "(empty)"
    return text if text.isprintable() else "".join(_visible(c) for c in text)


def _visible(character: str) -> str:
    return "\ufffd" if unicodedata.category(character) in {"Cc", "Cs"} else character


def tag(name: str, *children: str, **attributes: str | float | None) -> str:
    """Write an element; attribute values are escaped, children are markup already.

    A trailing underscore of an attribute's name is dropped (``class_``), others become hyphens, and None
    leaves the attribute out.
    """
    written = (f' {_attribute(k)}="{_attribute_value(v)}"' for k, v in attributes.items() if v is not None)
    return f"<{name}{''.join(written)}>{''.join(children)}</{name}>"


def _attribute(name: str) -> str:
    return name.rstrip("_").replace("_", "-")


def _attribute_value(value: str | float) -> str:
    return f"{value:g}" if isinstance(value, float) else escape(str(value))


def finite(value: object) -> float | None:
    """Give a number that can be drawn, or None for null, nan, infinite and absurd values."""
    if not isinstance(value, int | float) or not abs(value) < _ABSURD:
        return None
    return float(value)


def decimal(value: float | None, digits: int) -> str:
    """Write a number with thousands separators and a true minus sign; a dash where there is none."""
    if value is None:
        return MISSING
    text = f"{value:,.{digits}f}"
    negative = text.startswith("-") and any(c in "123456789" for c in text)
    return ("−" if negative else "") + text.lstrip("-")


def count(value: float | None) -> str:
    """Write a number of things; weights may make it fractional."""
    return decimal(value, 0 if value is None or float(value).is_integer() else 1)


def digits_for(span: float) -> int:
    """Give the decimals that tell apart values spread over a span: three figures of it."""
    return 3 if span <= 0 else min(max(2 - math.floor(math.log10(span)), 0), 9)


def shorten(text: str, width: int) -> str:
    """Cut the middle out of a text wider than `width` letters; both ends of a name often tell it apart."""
    if sum(map(_width, text)) <= width:
        return text
    tail = _fit(text[::-1], (width - 1) // 3)[::-1]
    return _fit(text, width - 1 - sum(map(_width, tail))) + "…" + tail


def _fit(text: str, width: int) -> str:
    used = 0
    for position, character in enumerate(text):
        used += _width(character)
        if used > width:
            return text[:position]
    return text


def _width(character: str) -> int:
    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def percent(share: float) -> str:
    """Write a probability in percent, as text; none is ever so certain as to be written 0 % or 100 %."""
    if share < 0.005:
        return "<1 %"
    return ">99 %" if share > 0.995 else f"{round(100 * share)} %"


def plural(number: int, noun: str) -> str:
    """Write a number of things with their name."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def paragraph(text: str, kind: str | None = None) -> str:
    """Write a paragraph of plain text."""
    return tag("p", escape(text), class_=kind)


def section(name: str, heading: str, *parts: str) -> str:
    """Write a section that a link to ``#name`` leads to."""
    return "\n" + tag("section", tag("h2", heading), *parts, id=name)
