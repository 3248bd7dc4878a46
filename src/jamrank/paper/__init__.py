"""The paper's data sets and experiments."""

from jamrank.paper.data import Data
from jamrank.paper.digits import CLASSIFIERS, DigitVotes, digit_votes, machine_predictions
from jamrank.paper.theory import best_rule_accuracy, majority_accuracy

__all__ = [
    "CLASSIFIERS",
    "Data",
    "DigitVotes",
    "best_rule_accuracy",
    "digit_votes",
    "machine_predictions",
    "majority_accuracy",
]
