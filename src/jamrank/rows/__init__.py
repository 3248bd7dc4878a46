"""Votes as the rows of a likelihood: one for each pair, or one for each vote."""

from jamrank.rows.ballots import Codes, Patterns, RaggedVotes, single_patterns, with_gold
from jamrank.rows.eased import EasedPatterns
from jamrank.rows.find_ballots import few_patterns, few_repeats
from jamrank.rows.grade_steps import grade_steps
from jamrank.rows.pair_counts import PairCounts, pair_wins, rows_by_pattern, shares, vote_shares
from jamrank.rows.rows import RUN_PAYS, Rows
from jamrank.rows.units import ROWS_BY, by_one, by_side, with_halves

__all__ = [
    "ROWS_BY",
    "RUN_PAYS",
    "Codes",
    "EasedPatterns",
    "PairCounts",
    "Patterns",
    "RaggedVotes",
    "Rows",
    "by_one",
    "by_side",
    "few_patterns",
    "few_repeats",
    "grade_steps",
    "pair_wins",
    "rows_by_pattern",
    "shares",
    "single_patterns",
    "vote_shares",
    "with_gold",
    "with_halves",
]
