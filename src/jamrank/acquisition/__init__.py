"""Choice of the next comparison and its annotator, and when to stop."""

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
