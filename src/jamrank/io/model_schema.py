"""The layout of a model file: required entries, types and shapes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from jamrank.errors import FormatError

VERSION = 2

# Lengths by name, fixed, or any; "more" stands for any number of further dimensions.
Dims = tuple[int | str | None, ...]


@dataclass(frozen=True)
class Array:
    """An array: its kind (``f``, ``i``, ``b``), its shape in sizes by name, and what must hold for its values."""

    kind: str
    dims: Dims
    holds: Callable[[NDArray[Any], Mapping[str, int]], bool] = lambda array, sizes: True


def _finite(array: NDArray[Any], sizes: Mapping[str, int]) -> bool:
    return bool(np.isfinite(array).all())


def _share(array: NDArray[Any], sizes: Mapping[str, int]) -> bool:
    return bool(((array >= 0) & (array <= 1)).all())


def _weight(array: NDArray[Any], sizes: Mapping[str, int]) -> bool:
    return bool((np.isfinite(array) & (array >= 0)).all())


def _sums(array: NDArray[Any], sizes: Mapping[str, int]) -> bool:
    return not len(array) or (len(array) == sizes["annotators"] and array.shape[1] in (8, 9, 10))


def _tables(array: NDArray[Any], sizes: Mapping[str, int]) -> bool:
    return _share(array, sizes) and len(array) % sizes["annotators"] == 0


def _couples(array: NDArray[Any], sizes: Mapping[str, int]) -> bool:
    who = array[:, :2]
    return bool(((who >= 0) & (who < sizes["annotators"])).all())


def _same(array: NDArray[Any], sizes: Mapping[str, int]) -> bool:
    return bool((array >= 0).all() and (array[:, 1] < sizes["annotators"]).all())


def _annotator_or_none(array: NDArray[Any], sizes: Mapping[str, int]) -> bool:
    return bool(((array >= -1) & (array < sizes["annotators"])).all())


def _below(name: str) -> Callable[[NDArray[Any], Mapping[str, int]], bool]:
    return lambda array, sizes: bool(((array >= 0) & (array < sizes[name])).all())


_PAIRS = {
    "first": Array("i", ("pairs",), _below("items")),
    "second": Array("i", ("pairs",), _below("items")),
    "question": Array("i", ("pairs",), _below("questions")),
    "votes": Array("f", ("pairs",), _weight),
}
_TABLE = {
    "start": Array("i", (None,)),
    "annotator": Array("i", (None,), lambda array, sizes: bool((array >= 0).all())),
    "result": Array("i", (None,), lambda array, sizes: bool(((array >= 0) & (array <= 2)).all())),
    "swapped": Array("b", (None,)),
    "weight": Array("f", (None,), _weight),
    "grade": (Array("i", (None,), lambda array, sizes: bool(((array >= -1) & (array <= 9)).all())), None),
    "covariate": (Array("f", (None, None), _finite), None),
}
_DENSE = {
    "results": Array("i", ("pairs", "annotators"), lambda array, sizes: bool(((array >= 0) & (array <= 3)).all())),
    "swapped": Array("b", (None,)),
    "decided": bool,
}
_SOLUTION = {
    "theta": Array("f", (None,), _finite),
    "params": Array("f", (None,), _finite),
    "scorer": {
        "name": str,
        "weight_variance": (float, None),
        "score_variance": (float, None),
        "matrix": (Array("f", ("items", None), _finite), None),
        "centre": (Array("f", ("items",), _finite), None),
    },
    "noise": {
        "name": str,
        "ties": str,
        "tie_variance": (float, None),
        "scale": (float, None),
        "overall": (Array("f", ("annotators",), _share), None),
        "strength": float,
    },
}
_SCHEMA: dict[str, Any] = {
    "class": str,
    "params": dict,
    "votes": {
        "frames": str,
        "n_votes": int,
        "n_missing": int,
        "n_ties": float,
        "annotator_votes": Array("f", ("annotators",), _weight),
        "decided_votes": Array("f", ("annotators",), _weight),
        "pairs": (_PAIRS, None),
        "table": (_TABLE, None),
        "dense": (_DENSE, None),
        "gold": (_TABLE, None),
        "n_gold": int,
        "copy_of": (Array("i", ("annotators",), _annotator_or_none), None),
        "covariates": (list, None),
    },
    "scores": {
        "scores": Array("f", ("items",), _finite),
        "slope": float,
        "feature_scores": (Array("f", ("items",), _finite), None),
        "coef": (Array("f", ("features",), _finite), None),
        "score_variance": (float, None),
        "weight_variance": (float, None),
        "scorer": (str, None),
        "features": (
            {
                "names": list,
                "mean": Array("f", ("features",), _finite),
                "scale": Array("f", ("features",), _weight),
            },
            None,
        ),
        "kernel": (
            {
                "kind": str,
                "bandwidth": float,
                "landmarks": Array("f", ("landmarks", "features"), _finite),
                "root": Array("f", ("landmarks", "landmarks"), _finite),
                "centre": Array("f", ("landmarks",), _finite),
            },
            None,
        ),
        "kernel_weights": (Array("f", ("landmarks",), _finite), None),
    },
    "flip": Array("f", ("annotators", "more"), _share),
    "traits": dict,
    "convergence": {
        "n_iter": int,
        "n_passes": int,
        "converged": bool,
        "log_likelihoods": Array("f", (None,)),
        "log_likelihood": (float, None),
        "engine": str,
        "engine_reason": str,
    },
    "score_se": (Array("f", ("items",)), None),
    "fit": (
        {
            "unit": str,
            "noise": str,
            "rows": str,
            "ties": str,
            "graded": (bool, None),
            "loss": str,
            "fitted": _SOLUTION,
            "refined": (_SOLUTION, None),
            "overall": (_SOLUTION, None),
            "flip_information": (Array("f", (None,)), None),
            "score_information": (Array("f", ("items",)), None),
            "flip_votes": (Array("f", (2,)), None),
            "bias_variance": (float, None),
            "discrimination_variance": (float, None),
        },
        None,
    ),
    "extras": dict,
    "computed": dict,
}
# Results that may have been computed before saving, by part.
COMPUTED: dict[str, dict[str, Any]] = {
    "predictor": {
        "posterior": Array("f", ("pairs",), _share),
        "link": float,
        "score_variances": Array("f", ("items",), _weight),
        "vote_tables": Array("f", (None, 2, 2), _tables),
    },
    "annotators": {
        "flip_information": Array("f", ("annotators",)),
        "flip_range": Array("f", (2, "annotators"), _share),
        "response_sums": Array("f", (None, None), _sums),
        "link_rows": Array("f", (None, 6), _couples),
        "effective_judges": (float, None),
        "same_rows": Array("f", (None, 3), _same),
        "bias_interval": (Array("f", ("annotators", 2)), None),
        "tie_interval": (Array("f", ("annotators", 2)), None),
        "discrimination_interval": (Array("f", ("annotators", 2)), None),
        "cluster_interval": (Array("f", ("annotators", None, 2)), None),
    },
    "uncertainty": {
        "exchangeable": Array("i", ("items",), _below("items")),
        "score_draws": Array("f", (None, "items"), _finite),
        "estimate": {
            "score_se": Array("f", ("items",)),
            "rank_low": Array("i", ("items",)),
            "rank_high": Array("i", ("items",)),
            "score_low": Array("f", ("items",)),
            "score_high": Array("f", ("items",)),
            "kind": str,
            "raised": float,
        },
    },
}
# What only one model has; models from outside may have more.
_EXTRAS: dict[str, Any] = {
    "annotator_scores": Array("f", ("annotators", "items"), _finite),
    "inconsistency": float,
    "centroids": Array("f", ("clusters", "features"), _finite),
    "cluster": Array("i", ("pairs",), _below("clusters")),
    "strength": float,
    "cluster_votes": Array("f", ("annotators", "clusters"), _weight),
    "matrix": Array("f", ("items", "features"), _finite),
    "item_pairs": Array("i", ("items",)),
    "coef_interval": Array("f", ("features", 2)),
    **{
        f"{kind}{end}": Array("f", dims)
        for kind, dims in (("effect", ("annotators", "covariates")), ("mean_effect", ("covariates",)))
        for end in ("", "_se", "_low", "_high")
    },
    "covariate_size": Array("f", ("covariates",), _weight),
    "identified": Array("b", ("covariates",)),
    "information": Array("f", ("items", "items"), _finite),
    "information_with_effects": Array("f", ("items", "items"), _finite),
    "scores_with_effects": Array("f", ("items",), _finite),
    "score_draws": Array("f", (None, "items"), _finite),
    "mind_cell": Array("i", ("cells",)),
    "mind": Array("f", ("cells",), _finite),
    "mind_variance": Array("f", ("cells",), _weight),
    "discrimination": Array("f", ("annotators",), _finite),
    "taste_sds": Array("f", (2,), _weight),
    "tie_threshold": Array("f", ("annotators",), _finite),
}
_SIMPLE = {str: (str,), int: (int,), float: (float, int), bool: (bool,), dict: (dict,), list: (list,)}


def checked(body: dict[str, Any], source: str) -> dict[str, Any]:
    """Return the body of a model file after checking it against the schema.

    Raises FormatError: If something is missing, or has the wrong type or shape.
    """

    def damaged(where: str, what: str) -> FormatError:
        return FormatError(f"{source}: {where}: {what}; the model file is damaged or was changed")

    ids = body.get("ids")
    if not isinstance(ids, dict):
        raise damaged("ids", "missing")
    sizes: dict[str, int] = {}
    for name in ("items", "annotators", "questions"):
        labels = ids.get(name)
        plain = isinstance(labels, list) and all(isinstance(label, (str, int, float)) for label in labels)
        if not plain and not (isinstance(labels, np.ndarray) and labels.ndim == 1):
            raise damaged(f"ids.{name}", "not a list of ids")
        assert labels is not None
        sizes[name] = len(labels)
        distinct = len(np.unique(labels)) if isinstance(labels, np.ndarray) else len(set(labels))
        if distinct < len(labels) or not len(labels):
            raise damaged(f"ids.{name}", "empty, or an id occurs twice")

    def finite(value: float, where: str) -> float:
        if not abs(value) < 1e300:
            raise damaged(where, "not a finite number")
        return float(value)

    def check(value: Any, wanted: Any, where: str) -> None:
        if isinstance(wanted, tuple):
            if value is not None:
                check(value, wanted[0], where)
        elif isinstance(wanted, Array):
            _check_array(value, wanted, sizes, lambda what: damaged(where, what))
        elif isinstance(wanted, dict):
            if not isinstance(value, dict):
                raise damaged(where, "missing")
            for key, inner in wanted.items():
                if key not in value and not isinstance(inner, tuple):
                    raise damaged(f"{where}.{key}".strip("."), "missing")
                check(value.get(key), inner, f"{where}.{key}".strip("."))
                if value.get(key) is not None and float in (inner, inner[0] if isinstance(inner, tuple) else None):
                    value[key] = finite(value[key], f"{where}.{key}".strip("."))
        elif not isinstance(value, _SIMPLE[wanted]) or (isinstance(value, bool) and wanted is not bool):
            raise damaged(where, f"a {type(value).__name__}, expected a {wanted.__name__}")

    for part in ("n_votes", "n_missing"):
        if isinstance(body.get("votes"), dict) and not 0 <= (body["votes"].get(part) or 0) < 2**62:
            raise damaged(f"votes.{part}", "out of range")
    check(body, _SCHEMA, "")
    for part, values in body["computed"].items():
        if part not in COMPUTED or not isinstance(values, dict) or not values.keys() <= COMPUTED[part].keys():
            raise damaged(f"computed.{part}", "unknown")
        check(values, {name: wanted for name, wanted in COMPUTED[part].items() if name in values}, f"computed.{part}")
    names = body["scores"].get("features") and body["scores"]["features"]["names"]
    if names is not None and (len(names) != sizes.get("features") or not all(isinstance(n, str) for n in names)):
        raise damaged("scores.features.names", "not one name for each feature")
    check(body["extras"], {name: wanted for name, wanted in _EXTRAS.items() if name in body["extras"]}, "extras")
    by_cluster = body["extras"].get("cluster_votes")
    if body["flip"].ndim > 1 and (by_cluster is None or body["flip"].shape != by_cluster.shape):
        raise damaged("flip", f"an array of shape {body['flip'].shape}")
    for name, value in body["traits"].items():
        check(value, Array("f", ("annotators", "more"), _finite), f"traits.{name}")
    _check_tables(body["votes"], sizes, damaged)
    return {**body, "traits": _SavedTraits(body["traits"])}


class _SavedTraits(dict[str, Any]):
    """Traits of annotators; asking for one that is not in the file is an error of the file."""

    def __missing__(self, name: str) -> Any:
        raise FormatError(f"the saved model has no {name!r} of its annotators; fit again")


def _check_array(value: Any, wanted: Array, sizes: dict[str, int], damaged: Callable[[str], FormatError]) -> None:
    if not isinstance(value, np.ndarray):
        raise damaged("not an array")
    kinds = {"f": "f", "i": "iu", "b": "b"}[wanted.kind]
    if value.dtype.kind not in kinds:
        raise damaged(f"an array of {value.dtype}")
    dims = wanted.dims
    if dims[-1] == "more":
        dims = (*dims[:-1], *[None] * max(value.ndim - len(dims) + 1, 0))
    if value.ndim != len(dims):
        raise damaged(f"an array of {value.ndim} dimensions")
    for length, dim in zip(value.shape, dims, strict=True):
        known = sizes.setdefault(dim, length) if isinstance(dim, str) else dim
        if known is not None and length != known:
            raise damaged(f"an array of shape {value.shape}")
    if not wanted.holds(value, sizes):
        raise damaged("values out of range")


def _check_tables(votes: dict[str, Any], sizes: dict[str, int], damaged: Callable[[str, str], FormatError]) -> None:
    """Check that votes match their pairs, and that their annotators exist."""
    for name, n_annotators in (("table", sizes["annotators"]), ("gold", sizes["annotators"] + 1)):
        table = votes.get(name)
        if table is None:
            continue
        if votes.get("pairs") is None:
            raise damaged(f"votes.{name}", "votes without pairs")
        n, start = len(table["result"]), table["start"]
        covariate = table.get("covariate")
        lengths = {len(table.get(part, ())) for part in ("swapped", "weight", "grade")} <= {0, n}
        lengths &= covariate is None or covariate.shape in ((0, 0), (n, len(votes.get("covariates") or ())))
        if len(table["annotator"]) != n or not lengths or len(start) != sizes["pairs"] + 1:
            raise damaged(f"votes.{name}", "columns of different lengths")
        if not (start[0] == 0 and start[-1] == n and (np.diff(start) >= 0).all()):
            raise damaged(f"votes.{name}.start", "values out of range")
        if n and int(table["annotator"].max()) >= n_annotators:
            raise damaged(f"votes.{name}.annotator", "values out of range")
    pairs, dense = votes.get("pairs"), votes.get("dense")
    if dense is not None:
        if pairs is None or votes.get("table") is not None or votes.get("gold") is not None:
            raise damaged("votes.dense", "votes without pairs, or twice")
        if len(dense["swapped"]) not in (0, len(dense["results"])):
            raise damaged("votes.dense", "columns of different lengths")
        if dense["decided"] and (dense["results"] > 1).any():
            raise damaged("votes.dense.results", "values out of range")
    if pairs is not None and not (pairs["first"] < pairs["second"]).all():
        raise damaged("votes.pairs", "a pair of one item, or out of order")
