"""A fitted model as plain data, and back."""

from __future__ import annotations

from dataclasses import asdict, fields
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from jamrank.errors import FormatError, JamrankError
from jamrank.fitting.prior import Prior
from jamrank.inference import Uncertainty
from jamrank.io.out_of_core.parted import PartedComparisons
from jamrank.scorers import Features

if TYPE_CHECKING:
    from jamrank.models.base import RankingModel

__all__ = ["from_document", "to_document"]

_STATE = (
    "scores_",
    "feature_scores_",
    "coef_",
    "flip_",
    "posterior_",
    "recommended_",
    "log_likelihoods_",
    "log_likelihood_",
    "score_variance_",
    "n_iter_",
    "n_passes_",
    "converged_",
    "n_ties_",
    "_frames",
    "_pair_first",
    "_pair_second",
    "_pair_question",
    "_pair_votes",
    "_annotator_votes",
    "_decided_votes",
    "_flip_information",
    "_flip_range",
    "_link",
    "_score_variances",
    "_vote_tables",
    "_habit_sums",
    "_link_rows",
    "effective_judges_",
)
_BY_PAIR = {"posterior_": np.float64, "_pair_votes": np.float64} | dict.fromkeys(
    ("_pair_first", "_pair_second", "_pair_question"), np.int32
)
_IDS = ("items_", "_annotators", "_questions")


def to_document(model: RankingModel) -> dict[str, Any]:
    """Return everything that the model knows, as JSON values and arrays."""
    features = model._features
    unsure = model._uncertainty
    return {
        "class": type(model).__name__,
        "params": {name: _plain_param(name, value) for name, value in model.get_params().items()},
        "ids": {name: _plain_ids(getattr(model, name)) for name in _IDS},
        "state": {name: _state_of(model, name) for name in (*_STATE, *model._extra_state)},
        "uncertainty": {each.name: getattr(unsure, each.name) for each in fields(unsure)},
        "features": features and {"names": list(features.names), "mean": features.mean, "scale": features.scale},
    }


def _state_of(model: RankingModel, name: str) -> Any:
    """Return a fitted attribute; what votes in parts have for each pair stays there."""
    if name in _BY_PAIR and isinstance(getattr(model, "_votes", None), PartedComparisons):
        return np.empty(0, dtype=_BY_PAIR[name])
    return getattr(model, name)


def from_document(cls: type[RankingModel], body: dict[str, Any], source: str) -> RankingModel:
    """Return the model that a document describes."""
    try:
        model = cls(**{name: _param(value) for name, value in body["params"].items()})
        for name in (*_STATE, *cls._extra_state):
            setattr(model, name, body["state"][name])
        for name in _IDS:
            setattr(model, name, _ids(body["ids"][name]))
        model._uncertainty = Uncertainty(**body["uncertainty"])
        model._features = None
        if body["features"] is not None:
            told = body["features"]
            model._features = Features(tuple(told["names"]), told["mean"], told["scale"])
    except (KeyError, TypeError, AttributeError, JamrankError) as error:
        raise FormatError(f"{source}: a {cls.__name__} whose data are incomplete or damaged ({error})") from None
    return model


def _plain_param(name: str, value: Any) -> Any:
    if isinstance(value, Prior):
        return {"prior": asdict(value)}
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    # A generator that was used once cannot be written down; the fitted results do not need it.
    return None


def _param(value: Any) -> Any:
    return Prior(**value["prior"]) if isinstance(value, dict) else value


def _plain_ids(labels: NDArray[Any]) -> Any:
    if labels.dtype.kind in "iufb":
        return labels
    for label in labels.tolist():
        if not isinstance(label, (str, int, float)):
            raise FormatError(f"id {label!r} cannot be written to a file; use strings or numbers as ids")
    return labels.tolist()


def _ids(value: Any) -> NDArray[Any]:
    if isinstance(value, np.ndarray):
        return value
    labels = np.empty(len(value), dtype=object)
    labels[:] = value
    return labels
