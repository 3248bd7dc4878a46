"""A bootstrap over annotators or questions: how scores vary with the choice of either."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from jamrank.data.comparisons import Comparisons
from jamrank.data.frames import make_frame
from jamrank.errors import InputError, JamrankWarning, ParameterError
from jamrank.inference.uncertainty import Uncertainty
from jamrank.typing import FloatArray, IntArray

if TYPE_CHECKING:
    from jamrank.inference.result import RankingResult


@dataclass(frozen=True)
class Refit:
    """Fits the same model to other votes."""

    model: type[Any]
    params: dict[str, Any]

    def __call__(self, votes: Comparisons) -> FloatArray:
        """Return the scores."""
        quiet = {"verbose": False} if "verbose" in self.params else {}
        scores: FloatArray = self.model(**{**self.params, **quiet}).fit(votes).scores_
        return scores


def bootstrap(result: RankingResult, n_resamples: int, random_state: Any, by: str = "annotator") -> Uncertainty:
    """Refit to annotators or questions drawn with replacement; one drawn twice counts twice.

    A result does not keep features and gold, so results fitted with them are refused.
    """
    votes = result.votes.require()
    if not isinstance(votes, Comparisons) or result.scores.features is not None or result.votes.gold is not None:
        raise ParameterError("a bootstrap needs votes in memory and a model without features or gold")
    if result.refit is None:
        raise ParameterError(f"{result.model} cannot be fitted again from its result")
    unit, n_units = _units(votes, by)
    rng = np.random.default_rng(random_state)
    found = []
    for _ in range(n_resamples):
        drawn = rng.integers(n_units, size=n_units)
        counts = np.bincount(drawn, minlength=n_units)[unit]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", JamrankWarning)
            try:
                scores = result.refit(_counted(votes, counts))
            except InputError:
                continue  # no drawn annotator has a decided vote
        found.append(scores - scores.mean())
    if len(found) < 2:
        raise ParameterError("too few resamples with decided votes; raise n_resamples")
    scores = result.scores.scores
    return Uncertainty.of_draws(scores, scores.mean() + np.stack(found), "bootstrap")


def _units(votes: Comparisons, by: str) -> tuple[IntArray, int]:
    """Return whom or what each vote belongs to, and how many of these there are."""
    if by == "annotator":
        return votes.vote_annotator.astype(np.int64), votes.n_annotators
    if by != "question":
        raise ParameterError(f"by is {by!r}; expected 'annotator' or 'question'")
    if not votes.has_questions:
        raise ParameterError("a bootstrap over questions needs votes with several questions")
    return votes.pair_question[votes.vote_pair].astype(np.int64), len(votes.questions)


def _counted(votes: Comparisons, counts: IntArray) -> Comparisons:
    """Return the votes, each counted some number of times."""
    frame = votes.to_frame()
    columns = {name: frame[name].to_numpy() for name in frame.columns if name != "weight"}
    columns["weight"] = votes.vote_weight * counts
    return Comparisons.from_frame(make_frame(columns, votes.frames))
