"""Strategies, by name: functions from a view to proposals. A new one is a file and a line here."""

from __future__ import annotations

from collections.abc import Callable

from jamrank.acquisition.strategies.information import information
from jamrank.acquisition.strategies.random import random_pairs
from jamrank.acquisition.strategies.swiss import swiss
from jamrank.acquisition.strategies.top_two import top_two
from jamrank.acquisition.strategies.uncertainty import uncertainty
from jamrank.acquisition.view import Proposals, View

__all__ = ["STRATEGIES", "Strategy"]

Strategy = Callable[[View], Proposals]

STRATEGIES: dict[str, Strategy] = {
    "information": information,
    "swiss": swiss,
    "random": random_pairs,
    "uncertainty": uncertainty,
    "top-two": top_two,
}
