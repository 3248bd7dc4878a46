"""How far scores move when other annotators are asked: a bootstrap over annotators."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from jamrank.data.comparisons import Comparisons, make_frame
from jamrank.errors import InputError, JamrankWarning, ParameterError
from jamrank.fitting.progress import Progress
from jamrank.inference import Uncertainty
from jamrank.typing import IntArray

if TYPE_CHECKING:
    from jamrank.models.base import RankingModel

__all__ = ["bootstrap"]


def bootstrap(model: RankingModel, n_resamples: int, random_state: Any) -> Uncertainty:
    """Refit to annotators drawn with replacement; one drawn twice counts twice.

    Features and gold are not kept by models, so those that were fitted with some are refused.
    """
    model._require_votes()
    votes = model._votes
    if not isinstance(votes, Comparisons) or model._features is not None or model._settled_by_gold:
        raise ParameterError("a bootstrap needs votes in memory and a model without features or gold")
    rng = np.random.default_rng(random_state)
    settings = {**model.get_params(), **({"verbose": False} if "verbose" in model.get_params() else {})}
    found = []
    with Progress("bootstrap", bool(getattr(model, "verbose", False)), 1.0) as progress:
        for done in range(n_resamples):
            progress.refit(done, n_resamples)
            drawn = rng.integers(votes.n_annotators, size=votes.n_annotators)
            counts = np.bincount(drawn, minlength=votes.n_annotators)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", JamrankWarning)
                try:
                    scores = type(model)(**settings).fit(_counted(votes, counts)).scores_
                except InputError:
                    continue  # nobody was drawn who ever decided
            found.append(scores - scores.mean())
    if len(found) < 2:
        raise ParameterError("too few resamples with decided votes; raise n_resamples")
    return Uncertainty.of_draws(model.scores_, model.scores_.mean() + np.stack(found), "bootstrap")


def _counted(votes: Comparisons, counts: IntArray) -> Comparisons:
    """Return the votes with those of each annotator counted some number of times."""
    frame = votes.to_frame()
    columns = {name: frame[name].to_numpy() for name in frame.columns if name != "weight"}
    columns["weight"] = votes.vote_weight * counts[votes.vote_annotator]
    return Comparisons.from_frame(make_frame(columns, votes.frames))
