"""Votes as the rows of a likelihood: one for each pair, or one for each vote."""

from jamrank.rows.ballots import Codes, Patterns, RaggedVotes, with_gold
from jamrank.rows.grade_steps import grade_steps
from jamrank.rows.pair_counts import PairCounts, pair_wins
from jamrank.rows.rows import Rows
from jamrank.rows.units import ROWS_BY, by_one, by_side, with_halves

__all__ = [
    "ROWS_BY",
    "Codes",
    "PairCounts",
    "Patterns",
    "RaggedVotes",
    "Rows",
    "by_one",
    "by_side",
    "grade_steps",
    "pair_wins",
    "with_gold",
    "with_halves",
]
