"""Model selection: folds, held-out losses, comparison, automatic choice, fits by group."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jamrank.registry import importing

if TYPE_CHECKING:
    from jamrank.selection.auto import Auto
    from jamrank.selection.comparison import Comparison, compare
    from jamrank.selection.groups import fit_groups, side_by_side
    from jamrank.selection.one_line import fit

__all__ = ["Auto", "Comparison", "compare", "fit", "fit_groups", "side_by_side"]

if not TYPE_CHECKING:
    __getattr__ = importing(
        __name__,
        {
            "auto": "Auto",
            "comparison": "Comparison compare",
            "groups": "fit_groups side_by_side",
            "one_line": "fit",
        },
    )
