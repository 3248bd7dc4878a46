"""Which models a comparison tries."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from jamrank.diagnostics.heldout import Candidate
from jamrank.errors import ParameterError
from jamrank.models.base import RankingModel

__all__ = ["as_candidates", "find_model", "usual_candidates"]

_ALIASES = {"mv": "MajorityVote", "bt": "BradleyTerry"}
# Held-out losses need fewer digits than results.
_TOL = 1e-3
_MANY_ANNOTATORS = 300
_ORDER = ("BradleyTerry", "CrowdBT", "JAM", "VRJAM")


def find_model(name: str) -> type[RankingModel]:
    """Return the class of a model by its name, in whatever case."""
    from jamrank.models import MODELS

    by_name = {known.lower(): model for known, model in MODELS.items()}
    wanted = _ALIASES.get(name.lower(), name).lower()
    if wanted not in by_name:
        raise ParameterError(f"{name}: no such model; known are {', '.join(MODELS)}")
    return by_name[wanted]


def usual_candidates(features: bool, changes: Mapping[str, Any], from_disk: bool = False) -> list[Candidate]:
    """Return the few models among which ``Auto`` chooses, from the simplest to the richest.

    Parameters
    ----------
    features : bool
        Whether there are features.
    changes : mapping
        Arguments for those models that have them.
    from_disk : bool
        Only models that fit votes on disk.
    """
    from jamrank.models import JAM, VRJAM, BradleyTerry, CrowdBT

    found = []
    for kind in (BradleyTerry, CrowdBT, JAM, VRJAM):
        if kind._from_disk or not from_disk:
            model = kind()
            known = model.get_params()
            model.set_params(**{name: value for name, value in changes.items() if name in known})
            found += _ways(model, features)
    return found


def as_candidates(
    models: Mapping[str, RankingModel] | Iterable[RankingModel | str] | None, features: bool, n_annotators: int
) -> tuple[list[Candidate], dict[str, str]]:
    """Return candidates of whatever a user names, and which models were left out and why.

    Parameters
    ----------
    models : mapping, iterable or None
        Models by name, models, names of models; or None for every model that can be fitted, from the simplest to
        the richest, with and without features.
    features : bool
        Whether there are features.
    n_annotators : int
        A model that fits each annotator alone is left out of large crowds, unless it is named.
    """
    from jamrank.models import IAM, MODELS

    if isinstance(models, Mapping):
        return [_candidate(model, features and _may(model), name) for name, model in models.items()], {}
    named = [kind for kind in MODELS if kind != "Auto"] if models is None else list(models)
    left_out = {}
    if models is None and features and n_annotators > _MANY_ANNOTATORS:
        named.remove(IAM.__name__)
        left_out[IAM.__name__] = f"it fits a ranker to each of {n_annotators:,} annotators; name it to wait for it"
    found: dict[str, Candidate] = {}
    for one in named:
        model = find_model(one)() if isinstance(one, str) else one
        for way in _ways(model, features):
            name = way.name if way.name not in found else repr(model)
            found[name] = replace(way, name=name)
        if not features and model._takes_features == "always":
            left_out[type(model).__name__] = "it needs features"
    if models is None:
        return sorted(found.values(), key=_simplicity), left_out
    return list(found.values()), left_out


def _simplicity(candidate: Candidate) -> tuple[bool, int]:
    """Order models by whether they tell annotators apart, and then by their place among the usual ones."""
    kind = candidate.name.partition(" ")[0]
    return candidate.annotators, _ORDER.index(kind) if kind in _ORDER else len(_ORDER)


def _may(model: RankingModel) -> bool:
    return model._takes_features != "never"


def _ways(model: RankingModel, features: bool) -> list[Candidate]:
    """Return the model as it can be fitted: with features where it needs them, both ways where it may use them."""
    name, takes = type(model).__name__, model._takes_features
    if takes == "always":
        return [_candidate(model, True, name)] if features else []
    if takes == "optional" and features:
        return [_candidate(model, True, name), _candidate(model, False, f"{name} without features")]
    return [_candidate(model, False, name)]


def _candidate(model: RankingModel, features: bool, name: str) -> Candidate:
    return Candidate(name, partial(_copy, model), features, model._knows_annotators)


def _copy(model: RankingModel) -> RankingModel:
    """Return an unfitted copy that stops early enough for a comparison."""
    params: dict[str, Any] = model.get_params()
    if "tol" in params and isinstance(params["tol"], float):
        params["tol"] = max(params["tol"], _TOL)
    if "verbose" in params:
        params["verbose"] = False
    return type(model)(**params)
