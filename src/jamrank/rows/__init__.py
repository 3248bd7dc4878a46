"""Votes as the rows of a likelihood: one for each pair, or one for each vote."""

from jamrank.rows.rows import *  # noqa: F403
