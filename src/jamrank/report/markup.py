"""Ids and numbers as text, and text as markup."""

from __future__ import annotations

import math
import unicodedata
from html import escape

MISSING = "–"
_TOO_LARGE = 1e100


def plain(value: object) -> str:
    """Return an id of any type as text, with control characters replaced."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return MISSING
    text = str(value) or "(empty)"
    return text if text.isprintable() else "".join(_visible(c) for c in text)


def _visible(character: str) -> str:
    return "\ufffd" if unicodedata.category(character) in {"Cc", "Cs"} else character


def tag(name: str, *children: str, **attributes: str | float | None) -> str:
    """Return an element; attribute values are escaped, children are markup already.

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
    """Return a number that can be drawn; None for null, NaN, infinite and absurdly large values."""
    if not isinstance(value, int | float) or not abs(value) < _TOO_LARGE:
        return None
    return float(value)


def decimal(value: float | None, digits: int) -> str:
    """Return a number with thousands separators and a minus sign; a dash for None."""
    if value is None:
        return MISSING
    text = f"{value:,.{digits}f}"
    negative = text.startswith("-") and any(c in "123456789" for c in text)
    return ("−" if negative else "") + text.lstrip("-")


def count(value: float | None) -> str:
    """Return a count as text; weights may make it fractional, by more than rounding."""
    return decimal(value, 0 if value is None or round(float(value), 9).is_integer() else 1)


def digits_for(span: float) -> int:
    """Return the number of decimals for values with a given span: three significant digits of it."""
    return 3 if span <= 0 else min(max(2 - math.floor(math.log10(span)), 0), 9)


def shorten(text: str, width: int) -> str:
    """Cut the middle out of a text wider than `width` characters; both ends of a name often distinguish it."""
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


def plural(number: int, noun: str) -> str:
    """Return a count with its noun."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def paragraph(text: str, kind: str | None = None) -> str:
    """Return a paragraph of plain text."""
    return tag("p", escape(text), class_=kind)
