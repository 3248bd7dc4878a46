"""Choice of the next comparison and its annotator, and when to stop."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jamrank.registry import importing

if TYPE_CHECKING:
    from jamrank.acquisition.chooser import Chooser
    from jamrank.acquisition.picture import plan_picture
    from jamrank.acquisition.planning import Plan
    from jamrank.acquisition.records import Assignment, Status
    from jamrank.acquisition.strategies import STRATEGIES
    from jamrank.acquisition.suggestions import Suggestions, suggest_pairs, votes_to_settle
    from jamrank.acquisition.view import Proposals, View

__all__ = [
    "STRATEGIES",
    "Assignment",
    "Chooser",
    "Plan",
    "Proposals",
    "Status",
    "Suggestions",
    "View",
    "plan_picture",
    "suggest_pairs",
    "votes_to_settle",
]

if not TYPE_CHECKING:
    __getattr__ = importing(
        __name__,
        {
            "chooser": "Chooser",
            "picture": "plan_picture",
            "planning": "Plan",
            "records": "Assignment Status",
            "strategies": "STRATEGIES",
            "suggestions": "Suggestions suggest_pairs votes_to_settle",
            "view": "Proposals View",
        },
    )
