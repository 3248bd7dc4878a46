"""Two items side by side: how certain it is which is above the other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from jamrank.data.comparisons import Comparisons
from jamrank.data.storage import FIRST, TIE
from jamrank.diagnostics import SETTLED
from jamrank.diagnostics.checks.answers import ANSWERS_VARY, answers_vary
from jamrank.errors import ParameterError
from jamrank.inference.order_probability import find_items
from jamrank.inference.scale import points_of
from jamrank.report.analysis import Analysis
from jamrank.report.judges import too_narrow
from jamrank.text import many, number, percent, safe_text
from jamrank.typing import BoolArray


@dataclass(frozen=True)
class ItemDifference:
    """What votes and model say of two items.

    above, below: The item that is more probably above, and the other.
    probability: Of `above` being truly above `below`.
    difference, low, high: The difference of their scores and its 95 % interval.
    settled: Whether this interval leaves out 0: the probability is at least 97.5 %, and the orientation is known.
    connected: Whether votes connect the two items, directly or through others; otherwise nothing is settled.
    for_above, for_below, ties: Votes between the two, by outcome; of copies of an annotator only one counts.
    copies: Whether there are such copies.
    """

    above: Any
    below: Any
    probability: float
    difference: float
    low: float
    high: float
    settled: bool
    connected: bool
    for_above: float
    for_below: float
    ties: float
    copies: bool = False


def compare_items(analysis: Analysis, a: Any, b: Any) -> ItemDifference:
    """Compare two items of a fit.

    Raises UnknownItemError: If no vote is about one of them.
    Raises ParameterError: If they are the same, or the model has no uncertainty.
    """
    order, items = analysis.order, analysis.items
    upper, lower = (int(find_items(items, item)[0]) for item in (a, b))
    if upper == lower:
        raise ParameterError(f"{safe_text(a)} is given twice; give two different items")
    if not order.known:
        model = analysis.result.model
        raise ParameterError(f"{model} gives no uncertainty of its scores, and so no probability of an order")
    probability = float(order.above(np.array([upper]), np.array([lower]))[0])
    if (probability, analysis.scores[upper]) < (0.5, analysis.scores[lower]):
        upper, lower, probability = lower, upper, 1 - probability
    points = points_of(analysis.scale)
    gap, low, high = (points * value for value in order.difference(upper, lower))
    connected = order.group is None or bool(order.group[upper] == order.group[lower])
    copied = analysis.result.votes.copy_of >= 0
    won, lost, ties = _votes_between(analysis.votes, upper, lower, copied)
    settled = connected and probability >= SETTLED and not _direction_open(analysis)
    copies = bool(copied.any())
    return ItemDifference(
        items[upper], items[lower], probability, gap, low, high, settled, connected, won, lost, ties, copies
    )


def _direction_open(analysis: Analysis) -> bool:
    """Tell whether annotators balance each other, so that all orders may be the other way round."""
    return analysis.result.judging.annotators.orientation.open


def _votes_between(votes: Any, upper: int, lower: int, copied: BoolArray) -> tuple[float, float, float]:
    """Return the votes between two items for the one, for the other, and ties, without those of copies."""
    if not isinstance(votes, Comparisons):
        return np.nan, np.nan, np.nan
    first, second = min(upper, lower), max(upper, lower)
    pair = (votes.pair_first == first) & (votes.pair_second == second)
    own = pair[votes.vote_pair]
    if copied.any():
        own &= ~copied[votes.vote_annotator]
    result, weight = votes.vote_result[own], votes.vote_weight[own]
    for_first, ties = float(weight[result == FIRST].sum()), float(weight[result == TIE].sum())
    for_second = float(weight.sum()) - for_first - ties
    return (for_first, for_second, ties) if upper == first else (for_second, for_first, ties)


def difference_sentences(analysis: Analysis, found: ItemDifference) -> list[str]:
    """Return the comparison in sentences, the conclusion first."""
    above, below = safe_text(found.above), safe_text(found.below)
    if not found.connected:
        return [
            f"{above} and {below} cannot be compared: no decided votes connect them, directly or through others.",
            *_direct(found, above, below),
        ]
    if _direction_open(analysis) and found.difference != 0:
        certain = (
            f"{above} is above {below} with probability {percent(found.probability)}, or the other way round: "
            "annotators vote against each other with about equal weight, so the ranking may be upside down; add gold "
            "pairs (--gold)."
        )
    elif found.difference == 0:
        certain = f"{above} and {below} have the same score; their order is not settled."
    elif found.settled:
        certain = f"{above} is above {below} with probability {percent(found.probability)}: settled at 95 %."
    else:
        certain = (
            f"{above} is above {below} with probability {percent(found.probability)}; the difference is not settled "
            "at 95 %."
        )
    digits, unit = (0, "Elo points") if analysis.scale == "elo" else (2, "log-odds")
    unit = unit if analysis.result.can.log_odds else f"on the scale of {analysis.result.model}"
    values = (f"{value:.{digits}f}" for value in (found.difference, found.low, found.high))
    gap = "Difference of the scores: {} (95 % interval {} to {}), {}.".format(*values, unit)
    votes = analysis.votes
    vary = [ANSWERS_VARY] if isinstance(votes, Comparisons) and answers_vary(votes) else []
    return [certain, gap, *_direct(found, above, below), *too_narrow(analysis), *vary]


def _direct(found: ItemDifference, above: str, below: str) -> list[str]:
    if np.isnan(found.ties):
        return []
    if not found.for_above + found.for_below + found.ties:
        return [f"No vote compares {above} with {below} directly."]
    total = many(found.for_above + found.for_below + found.ties, "vote")
    tied = f", {many(found.ties, 'tie')}" if found.ties else ""
    split = f"{number(found.for_above)} for {above}, {number(found.for_below)} for {below}"
    once = "; copies of an annotator are counted once" if found.copies else ""
    return [f"Between them: {total} ({split}{tied}{once})."]
