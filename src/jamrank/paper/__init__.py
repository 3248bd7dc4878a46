"""The paper's data sets and experiments."""

from jamrank.paper.data import Data
from jamrank.paper.theory import best_rule_accuracy, majority_accuracy

__all__ = [
    "Data",
    "best_rule_accuracy",
    "majority_accuracy",
]
