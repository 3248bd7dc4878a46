"""Model selection: folds, held-out losses, comparison, automatic choice, fits by group."""

from jamrank.selection.auto import Auto
from jamrank.selection.comparison import Comparison, compare
from jamrank.selection.groups import fit_groups, side_by_side
from jamrank.selection.one_line import fit

__all__ = ["Auto", "Comparison", "compare", "fit", "fit_groups", "side_by_side"]
