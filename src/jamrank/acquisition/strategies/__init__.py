"""Strategies, by name: functions from a view to proposals. A new one is a file and a line here."""

from __future__ import annotations

from collections.abc import Callable

from jamrank.acquisition.view import Proposals, View
from jamrank.registry import Registry

__all__ = ["STRATEGIES", "Strategy"]

Strategy = Callable[[View], Proposals]

STRATEGIES: Registry[Strategy] = Registry(
    "strategy",
    {
        "information": "jamrank.acquisition.strategies.information:information",
        "swiss": "jamrank.acquisition.strategies.swiss:swiss",
        "random": "jamrank.acquisition.strategies.random:random_pairs",
        "uncertainty": "jamrank.acquisition.strategies.uncertainty:uncertainty",
        "top-two": "jamrank.acquisition.strategies.top_two:top_two",
    },
)
