"""Which comparison to ask for next, of whom, and when to stop."""

from jamrank.acquisition.chooser import Chooser
from jamrank.acquisition.records import Assignment, Status
from jamrank.acquisition.strategies import STRATEGIES
from jamrank.acquisition.view import Proposals, View

__all__ = ["STRATEGIES", "Assignment", "Chooser", "Proposals", "Status", "View"]
