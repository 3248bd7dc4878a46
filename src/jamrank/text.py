"""Numbers in sentences."""

from __future__ import annotations

__all__ = ["many", "number"]


def number(value: float) -> str:
    """Return a count or a weight for people: whole numbers without decimals, thousands apart."""
    return f"{value:,.0f}" if value == round(value) else f"{value:,.2f}"


def many(count: float, noun: str) -> str:
    """Return a count with its noun, in the plural unless it is one."""
    return f"{number(count)} {noun}" + ("" if count == 1 else "s")
