"""The paper's data sets and experiments; so far, machine annotators of handwritten digits."""

from jamrank.paper.digits import CLASSIFIERS, DigitVotes, digit_votes, machine_predictions

__all__ = ["CLASSIFIERS", "DigitVotes", "digit_votes", "machine_predictions"]
