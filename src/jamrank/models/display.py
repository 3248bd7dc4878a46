"""How a fitted model shows itself: as a table in a notebook, and as plots.

Drawing is the business of `report`, which knows models and stands after them; it is looked up when a model is shown.
"""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from jamrank.models.base import RankingModel

__all__ = ["Shown"]


class Shown:
    """What every model can show of itself; the plots need matplotlib (``pip install 'jamrank[figures]'``)."""

    def _repr_html_(self) -> str:
        """Return what a notebook shows: the ranking and the annotators, or before a fit the arguments."""
        if "scores_" not in vars(self):
            return f"<pre>{escape(repr(self))}</pre>"
        from jamrank.report.notebook import as_table

        return as_table(_model(self))

    def plot_ranking(self, ax: Axes | None = None, most: int = 40) -> Axes:
        """Plot the scores with their 95 % intervals, best first.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; a new figure unless given.
        most : int
            Draw at most so many items: of more, the best.

        Returns
        -------
        matplotlib Axes
        """
        from jamrank.report import plots

        return plots.plot_ranking(_model(self), ax, most)

    def plot_annotators(self, ax: Axes | None = None, most: int = 60) -> Axes:
        """Plot the flips with their 95 % intervals, lowest first, in the colours of the verdicts.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; a new figure unless given.
        most : int
            Draw at most so many annotators: of more, the best and the worst, half of them each.

        Returns
        -------
        matplotlib Axes
        """
        from jamrank.report import plots

        return plots.plot_annotators(_model(self), ax, most)

    def plot_reliability_map(self, ax: Axes | None = None, most: int = 60) -> Axes:
        """Plot who is good at what.

        For :class:`VRJAM`, the flip of each annotator on each kind of pairs as a coloured matrix. Other models have
        one flip an annotator: it is drawn over the number of votes, in the colours of the verdicts.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; a new figure unless given.
        most : int
            Of a matrix, draw at most so many annotators: of more, those whose flips differ most.

        Returns
        -------
        matplotlib Axes
        """
        from jamrank.report import plots

        return plots.plot_reliability_map(_model(self), ax, most)


def _model(shown: Shown) -> RankingModel:
    """Return the model itself, fitted, as what draws it wants to have it."""
    model: RankingModel = shown  # type: ignore[assignment]
    model._require_fit()
    return model
