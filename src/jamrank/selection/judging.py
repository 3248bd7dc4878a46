"""Annotators of a model that does not estimate flips: assessed by CrowdBT, fitted to the same votes."""

from __future__ import annotations

import warnings
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from jamrank.data.comparisons import Comparisons
from jamrank.errors import JamrankWarning
from jamrank.inference.bootstrap import Refit
from jamrank.inference.result import RankingResult
from jamrank.io.out_of_core.parted import Votes
from jamrank.models.base import RankingModel
from jamrank.models.files import restore
from jamrank.models.registry import find_model

_SHARED = ("ties", "n_jobs")


def assessed(model: RankingModel) -> RankingResult:
    """Return the result of a model that a user named, its annotators assessed as those of ``Auto`` are."""
    result = model.result_
    named = result.fit_judging is None and result.can.log_odds
    return with_judging(model) if named and isinstance(result.votes.source, Comparisons) else result


def with_judging(model: RankingModel, body: dict[str, Any] | None = None, source: str = "") -> RankingResult:
    """Return the result of a fitted model, its annotators assessed by a model that estimates flips.

    Shares of votes against the scores are not error rates: they grow with the number of close pairs. A single
    annotator cannot be assessed.

    model: Fitted.
    body: The other model as a file has it, see :func:`judging_body`; otherwise it is fitted on first access.
    source: Name of that file.
    """
    result = model.result_
    votes = result.votes.source
    if not result.annotators.counted or np.count_nonzero(result.votes.decided_votes) < 2:
        return result
    if body is not None:
        return replace(result, fit_judging=partial(_given, result, restore(body, source).result_))
    return result if votes is None else replace(result, fit_judging=partial(_fitted, model, votes))


def judging_body(result: RankingResult) -> dict[str, Any] | None:
    """Return the model that assessed the annotators as plain data; None where there is none, or it was not needed."""
    judging: RankingResult | None = vars(result).get("judging")
    if judging is None or judging is result or not isinstance(judging.refit, Refit):
        return None
    model = judging.refit.model(**judging.refit.params)
    model.result_ = judging
    body: dict[str, Any] = model._to_body()
    return body


def _fitted(model: RankingModel, votes: Votes) -> RankingResult:
    crowd = find_model("CrowdBT")()
    known = model.get_params()
    crowd.set_params(**{name: known[name] for name in _SHARED if name in known})
    with warnings.catch_warnings():  # warnings about the votes were shown by the first fit
        warnings.simplefilter("ignore", JamrankWarning)
        return _given(model.result_, crowd.fit(votes, start=model).result_)


def _given(result: RankingResult, judging: RankingResult) -> RankingResult:
    """Return the result that assesses the annotators, with what the ranking's own model says of them."""
    own, theirs = result.annotators, judging.annotators
    vars(theirs).update(amend=own.amend, why_withheld=own.why_withheld or theirs.why_withheld)
    return judging
