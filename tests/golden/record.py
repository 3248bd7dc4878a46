"""What the golden file keeps of a fit, taken from public attributes alone."""

from __future__ import annotations

import gzip
import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np

import jamrank as jr
from tests.golden.cases import PARAMETERS, Case
from tests.golden.data import DATA, Data

__all__ = ["FILE", "fit", "read", "record"]

FILE = Path(__file__).parent / "golden.json.gz"

# By item, annotator or pair, or a number; those that a model does not have are left out.
ATTRIBUTES = {
    "items": "items_",
    "scores": "scores_",
    "flip": "flip_",
    "posterior": "posterior_",
    "log_likelihood": "log_likelihood_",
    "converged": "converged_",
    "n_iter": "n_iter_",
    "feature_scores": "feature_scores_",
    "coef": "coef_",
    "score_variance": "result_.scores.score_variance",
    "weight_variance": "result_.scores.weight_variance",
    "bias": "result_.annotators.traits.bias",
    "side_flip": "result_.annotators.traits.side_flip",
    "tie": "result_.annotators.traits.tie",
    "discrimination": "discrimination_",
    "annotator_scores": "annotator_scores_",
    "slope": "slope_",
    "centroids": "centroids_",
    "cluster": "cluster_",
    "strength": "strength_",
    "n_ties": "result_.votes.n_ties",
    "effective_judges": "result_.annotators.effective_judges",
    "coef_interval": "result_.coef_interval",
    "bias_interval": "result_.annotators.bias_interval",
    "tie_interval": "result_.annotators.tie_interval",
    "discrimination_interval": "discrimination_interval_",
    "cluster_flip_interval": "flip_interval_",
}
OF_ITEMS = {"rank": "rank", "score_se": "score_se", "rank_low": "rank_low", "rank_high": "rank_high"}
OF_INTERVALS = {"score_low": "score_low", "score_high": "score_high"}
OF_ANNOTATORS = {
    "annotators": "annotator",
    "votes_by_annotator": "votes",
    "overall_flip": "flip",
    "flip_low": "flip_low",
    "flip_high": "flip_high",
    "verdict": "verdict",
}
OF_PAIRS = {"pair_left": "left", "pair_right": "right", "votes_on_pair": "votes", "pair_question": "question"}


def fit(case: Case) -> Any:
    """Fit the model of a case; what it warns of is another test's business."""
    data = DATA[case.data]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = getattr(jr, case.model)(**case.parameters)
        more: dict[str, Any] = {}
        if case.features:
            more["features"] = data.features
        if case.gold:
            more["gold"] = data.gold
        if case.start is not None:
            more["start"] = getattr(jr, case.start)(**PARAMETERS[case.start]).fit(data.votes)
        return model.fit(data.votes, **more)


def record(case: Case) -> dict[str, Any]:
    """Return the columns of a case, as JSON has them."""
    model = fit(case)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        columns = {name: look_up(model, path) for name, path in ATTRIBUTES.items()}
        columns |= named(model.pairs_, OF_PAIRS)
        if case.draws:
            columns |= by_item(model.ranking_, OF_ITEMS, model.items_)
            columns |= by_item(model.score_intervals(), OF_INTERVALS, model.items_)
            columns |= named(model.annotators_, OF_ANNOTATORS)
        columns["predicted"] = predicted(model)
        columns["vote_probability"] = vote_probability(model, DATA[case.data])
    return {name: plain(column) for name, column in columns.items() if column is not None}


def look_up(model: Any, path: str) -> Any:
    """Return an attribute, a part of the result or an entry of a dict; None where there is none."""
    value = model
    for name in path.split("."):
        value = value.get(name) if isinstance(value, dict) else getattr(value, name, None)
    return value() if callable(value) else value


def named(frame: Any, names: dict[str, str]) -> dict[str, Any]:
    return {name: frame[column].to_list() for name, column in names.items() if column in frame.columns}


def by_item(frame: Any, names: dict[str, str], items: Any) -> dict[str, Any]:
    """Return columns of a frame of items, which has the best first, in the order of the items."""
    at = {item: place for place, item in enumerate(frame["item"].to_list())}
    places = [at[item] for item in items.tolist()]
    return {name: [column[place] for place in places] for name, column in named(frame, names).items()}


def predicted(model: Any) -> Any:
    """Return predictions for each item against the next."""
    items = model.items_.tolist()
    return model.predict_proba(items[:-1], items[1:])


def vote_probability(model: Any, data: Data) -> Any:
    """Return how likely each vote of the first 40 is, given the model."""
    return model.vote_proba(data.votes)[:40]


def plain(column: Any) -> Any:
    values = column.tolist() if isinstance(column, (np.ndarray, np.generic)) else column
    return [plain(value) for value in values] if isinstance(values, list) else without_nan(values)


def without_nan(value: Any) -> Any:
    value = value.item() if isinstance(value, np.generic) else value
    return None if isinstance(value, float) and not np.isfinite(value) else value


def read() -> dict[str, Any]:
    """Return what the golden file holds."""
    with gzip.open(FILE, "rt", encoding="utf-8") as file:
        held: dict[str, Any] = json.load(file)
    return held
