"""The paper's experiments, in its order; a new one is a file here and a line below."""

from jamrank.paper.experiments.accuracy import Accuracy
from jamrank.paper.experiments.annotators import Annotators
from jamrank.paper.experiments.digits import Digits
from jamrank.paper.experiments.flips import Flips
from jamrank.paper.experiments.loss import Loss
from jamrank.paper.experiments.noise import Noise
from jamrank.paper.experiments.ratings import Ratings
from jamrank.paper.trials import Experiment

__all__ = ["EXPERIMENTS"]

_ALL: tuple[Experiment, ...] = (Flips(), Accuracy(), Noise(), Annotators(), Digits(), Ratings(), Loss())
EXPERIMENTS = {experiment.name: experiment for experiment in _ALL}
