"""evalica's CSV: the canonical format without annotators."""

from __future__ import annotations

from jamrank.io.formats.base import Format
from jamrank.io.formats.own import read
from jamrank.io.formats.table import Table

__all__ = ["FORMAT"]


def fits(table: Table) -> bool:
    """Distinguish it from jamrank's own format."""
    return "annotator" not in table


FORMAT = Format("evalica", "evalica", ("left", "right", "winner"), read, fits)
