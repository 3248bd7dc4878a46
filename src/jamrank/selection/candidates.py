"""The candidate models of a comparison."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from jamrank.fitting.spec import FeatureUse
from jamrank.models.base import RankingModel
from jamrank.models.registry import find_model
from jamrank.noise import NOISES
from jamrank.selection.design import Design
from jamrank.selection.trials import Candidate

# Held-out losses need fewer digits than results.
_TOL = 1e-3
_MANY_ANNOTATORS = 300
# With more items, exact effects of the side take long.
_MANY_ITEMS = 200


def usual_candidates(
    features: bool,
    changes: Mapping[str, Any],
    design: Design,
    from_disk: bool = False,
    gold: bool = False,
    ties: bool = False,
    half: bool = True,
) -> list[Candidate]:
    """Return the models among which ``Auto`` chooses, from the simplest to the most complex.

    features: Whether there are features.
    changes: Parameters for the models that have them.
    design: What the votes can identify: models with other parameters are left out.
    from_disk: Only models that fit votes on disk.
    gold: Only models that can use pairs of known truth.
    ties: Only models that have a place for ties.
    half: Also a model that counts ties half.
    """
    found = []
    for model in _usual(design):
        if _suits(model, from_disk, gold) and _has_ties(model, ties, half):
            known = model.get_params()
            model.set_params(**{name: value for name, value in changes.items() if name in known})
            found += _ways(model, features)
    return found


def _suits(model: RankingModel, from_disk: bool, gold: bool) -> bool:
    can, noise = model._spec.capabilities, model.get_params().get("noise")
    in_memory = noise is not None and NOISES[noise].in_memory
    return can.out_of_core >= from_disk and can.gold >= gold and not (from_disk and in_memory)


def _has_ties(model: RankingModel, ties: bool, half: bool) -> bool:
    return half if model._spec.capabilities.covariates else not ties or "ties" in model.get_params()


def _usual(design: Design) -> list[RankingModel]:
    """Return the models whose parameters are identified, from the simplest to the most complex.

    A single annotator has no flips, which would need others, but may prefer a side. Repeated votes of one on a pair
    within a question, as of a judge who is shown both orders, may share a truth. A position bias needs sides that
    are not confounded with items. A truth per pair differs from a truth per vote only where pairs are repeated, and
    how hard a pair is shows only where it has several votes.
    """
    from jamrank.models import JAM, VRJAM, AmElo, BradleyTerry, CovariateBT, CrowdBT, KernelJAM, MixedBT

    if design.n_annotators < 2:
        by_side = CovariateBT(noise="none") if design.n_items <= _MANY_ITEMS else CrowdBT(noise="two-coin")
        found: list[RankingModel] = [BradleyTerry(), *([by_side] if design.sides else [])]
        if design.named and design.asked and design.repeats:
            found += [JAM(), *([JAM(noise="two-coin")] if design.sides else [])]
        return [*found, MixedBT()]
    models: list[RankingModel] = [BradleyTerry(), MixedBT(), CrowdBT(), AmElo()]
    if design.sides:
        models.append(CrowdBT(noise="two-coin"))
    if design.repeats:
        models.append(JAM())
        if design.sides:
            models.append(JAM(noise="two-coin"))
        if design.lists:
            models.append(JAM(noise="difficulty"))
    return [*models, CrowdBT(scorer="linear+objects"), JAM(scorer="linear+objects"), KernelJAM(), VRJAM()]


def as_candidates(
    models: Mapping[str, RankingModel] | Iterable[RankingModel | str] | None, features: bool, design: Design
) -> tuple[list[Candidate], dict[str, str]]:
    """Return the candidates for a user's argument, and which models were left out and why.

    models: Models by name, models, names of models; or None for every model that can be fitted, with and without
        features: first those among which ``Auto`` chooses, from the simplest to the most complex.
    features: Whether there are features.
    design: What the votes can identify. A model that fits each annotator alone is left out of large crowds, unless it
        is named.
    """
    from jamrank.models import IAM, TasteBT

    if isinstance(models, Mapping):
        return [_candidate(model, features and _may(model), name) for name, model in models.items()], {}
    named: list[RankingModel | str] = [] if models is None else list(models)
    left_out, usual = {}, {_name(model) for model in _usual(design)}
    for model in _all(design) if models is None else []:
        if model._spec.capabilities.families:
            left_out[_name(model)] = "it draws the families of the annotators; name it to wait for it"
        elif isinstance(model, TasteBT):
            left_out[_name(model)] = "it fits the taste of each annotator; name it to wait for it"
        elif model._spec.capabilities.covariates and _name(model) not in usual:
            left_out[_name(model)] = "its covariates have to be named"
        elif isinstance(model, IAM) and features and design.n_annotators > _MANY_ANNOTATORS:
            left_out[_name(model)] = (
                f"it fits a ranker to each of {design.n_annotators:,} annotators; name it to wait for it"
            )
        else:
            named.append(model)
    found: dict[str, Candidate] = {}
    for one in named:
        model = find_model(one)() if isinstance(one, str) else one
        for way in _ways(model, features):
            name = way.name if way.name not in found else repr(model)
            found[name] = replace(way, name=name)
        if not features and _takes(model) == "always":
            left_out[_name(model)] = "it needs features"
    return list(found.values()), left_out


def _all(design: Design) -> list[RankingModel]:
    """Return the models among which ``Auto`` chooses, then those without annotator parameters, then those with."""
    from jamrank.models import MODELS
    from jamrank.selection import Auto

    usual = _usual(design)
    known = {_name(model) for model in usual}
    others = [
        model
        for model in _usual(Design(0, np.inf, 2, sides=True, repeats=True, lists=True))
        if _name(model) not in known
    ]
    kinds = {Auto, *map(type, usual), *map(type, others)}
    others += [kind() for kind in MODELS.values() if kind not in kinds]
    return usual + sorted(others, key=lambda model: model._spec.capabilities.annotators)


def _may(model: RankingModel) -> bool:
    return _takes(model) in ("optional", "always")


def _takes(model: RankingModel) -> FeatureUse:
    """Return how features are treated, given the chosen scorer."""
    asked_for = model.get_params().get("scorer", "auto") not in ("auto", "objects")
    return "always" if asked_for else model._spec.capabilities.features


def _ways(model: RankingModel, features: bool) -> list[Candidate]:
    """Return the variants of a model: with features if it needs them, with and without if they are optional."""
    name, takes = _name(model), _takes(model)
    if takes == "always":
        return [_candidate(model, True, name)] if features else []
    if takes == "optional" and features:
        return [_candidate(model, True, name), _candidate(model, False, f"{name} without features")]
    return [_candidate(model, False, name)]


def _name(model: RankingModel) -> str:
    usual, own = type(model)().get_params(), model.get_params()
    changed = [own[part] for part in ("noise", "scorer") if own.get(part) not in (usual.get(part), "none")]
    return " ".join([type(model).__name__, *changed])


def _candidate(model: RankingModel, features: bool, name: str) -> Candidate:
    return Candidate(name, partial(_copy, model), features, model._spec.capabilities.annotators, model)


def _copy(model: RankingModel) -> RankingModel:
    """Return an unfitted copy that stops early enough for a comparison."""
    params: dict[str, Any] = model.get_params()
    if "tol" in params and isinstance(params["tol"], float):
        params["tol"] = max(params["tol"], _TOL)
    if "verbose" in params:
        params["verbose"] = False
    return type(model)(**params)
