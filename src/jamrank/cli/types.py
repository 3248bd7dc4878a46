"""Types of options, and options that several commands have."""

from __future__ import annotations

import math
from typing import Any

import click


class Finite(click.FloatRange):
    """A finite number: neither nan nor inf, which Python also reads as numbers."""

    name = "float"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Return the number, within the bounds if there are some."""
        number = float(super().convert(value, param, ctx))
        if not math.isfinite(number):
            self.fail(f"{value!r} is not a finite number", param, ctx)
        return number

    def _describe_range(self) -> str:
        return super()._describe_range() if (self.min, self.max) != (None, None) else ""


FINITE, SEED = Finite(), click.IntRange(min=0)

SCALE = click.option(
    "--scale", type=click.Choice(["logit", "elo"]), default="logit", show_default=True, help="Scale of the scores."
)
ANCHOR = click.option(
    "--anchor", metavar="ITEM", help="The item with score 0 (logit) or 1000 (elo); by default the mean of all items."
)
SPREADSHEET_SAFE = click.option(
    "--spreadsheet-safe",
    is_flag=True,
    help="Make CSV files safe to open in a spreadsheet: no text becomes a formula.",
)
