"""The look that all figures share, and files from them. Needs matplotlib, imported when used."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from numpy.typing import ArrayLike

from jamrank.paper.trials import Estimate, Record, estimate

# Okabe and Ito's colours, distinguishable by the colour-blind; the markers distinguish them in grey.
COLOURS = {"MV": "#E69F00", "IAM": "#CC79A7", "JAM": "#0072B2", "VRJAM": "#009E73"}
MARKERS = {"MV": "s", "IAM": "^", "JAM": "o", "VRJAM": "D"}
_PAPER = {"linestyle": "none", "marker": "x", "color": "black", "markersize": 7, "markeredgewidth": 1.6, "zorder": 5}
_STYLE: Any = {
    "font.family": "DejaVu Sans",
    "font.size": 8.5,
    "axes.titlesize": 9.5,
    "legend.fontsize": 8,
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "legend.frameon": False,
    "lines.linewidth": 1.4,
    "lines.markersize": 4.5,
    # The same picture in the same bytes, and text that stays text.
    "svg.hashsalt": "jamrank",
    "svg.fonttype": "none",
}


def canvas(
    columns: int = 1, rows: int = 1, height: float = 3.2, width: float = 7.2, **shared: Any
) -> tuple[Any, Any]:
    """Return a figure as wide as a journal's page, and its axes as an array of rows and columns."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    return figure, figure.subplots(rows, columns, squeeze=False, **shared)


def figure_files(draw: Callable[[], dict[str, Any]]) -> dict[str, bytes]:
    """Return the figures that a function draws, each as PNG and as SVG, by file name."""
    import matplotlib as mpl

    files = {}
    with mpl.rc_context(_STYLE):
        for name, figure in draw().items():
            for kind, metadata in (("png", {"Software": None}), ("svg", {"Date": None, "Creator": None})):
                buffer = io.BytesIO()
                figure.savefig(buffer, format=kind, dpi=200, metadata=metadata)
                files[f"{name}.{kind}"] = buffer.getvalue()
    return files


def grouped(records: Iterable[Record], key: Callable[[Record], float]) -> list[tuple[float, Estimate]]:
    """Return the mean over seeds and its interval for each value of the key, in rising order."""
    groups: dict[float, list[Record]] = {}
    for record in records:
        groups.setdefault(key(record), []).append(record)
    return [(x, estimate(groups[x])) for x in sorted(groups)]


def draw_series(
    axis: Any, points: Sequence[tuple[float, Estimate]], model: str, label: str | None = None, **look: Any
) -> None:
    """Draw a model's means against x, with the interval over seeds as bars."""
    x = [at for at, _ in points]
    # VRJAM often lies on JAM: drawn open, larger and behind, it stays visible.
    shape = {"markerfacecolor": "white", "markersize": 7, "zorder": 2} if model == "VRJAM" else {"zorder": 3}
    axis.errorbar(
        x,
        [value.mean for _, value in points],
        yerr=[value.half for _, value in points],
        color=COLOURS[model],
        marker=MARKERS[model],
        capsize=2,
        label=label or model,
        **(shape | look),
    )


def draw_paper(axis: Any, x: ArrayLike, y: ArrayLike, label: str | None = "paper") -> None:
    """Mark the numbers that the paper prints."""
    axis.plot(x, y, label=label, **_PAPER)
