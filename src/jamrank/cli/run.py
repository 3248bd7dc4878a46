"""Run a fit that was requested on the command line."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from jamrank.cli.messages import note
from jamrank.errors import FeatureError, GoldError, GroupWarning, InputError, ParameterError, UnknownItemError, warn

if TYPE_CHECKING:
    import polars as pl
    from rich.console import Console

    from jamrank.cli.request import FitRequest
    from jamrank.io.out_of_core.parted import Votes
    from jamrank.models import RankingModel
    from jamrank.report import Analysis
    from jamrank.selection.auto import ModelChoice

# What a warm start takes over from the earlier model unless an option says otherwise.
_TAKEN_OVER = ("scorer", "noise", "ties")


@dataclass(frozen=True)
class FitOutcome:
    """A fit and everything that is written or printed of it."""

    model: RankingModel
    chosen: RankingModel
    """The model itself, or the one that ``Auto`` chose."""
    votes: Votes
    analysis: Analysis
    seconds: float
    reason: str | None = None
    """Why the model was chosen; None where it was named."""
    groups: dict[str, pl.DataFrame] = field(default_factory=dict)
    """The ranking of each group of ``--by``."""
    side_by_side: pl.DataFrame | None = None


def run_fit(request: FitRequest, console: Console) -> FitOutcome:
    """Read the files, choose a model if none was named, and fit it."""
    from time import perf_counter

    from jamrank.cli.display import stage
    from jamrank.cli.engines import open_votes
    from jamrank.cli.notes import features_note, gold_note, grouped_notes, start_note
    from jamrank.io import check_folder, read_features, read_gold
    from jamrank.models import spec_of
    from jamrank.report import Analysis
    from jamrank.selection import Auto
    from jamrank.selection.groups import fit_groups, group_ranking, side_by_side
    from jamrank.selection.judging import assessed

    earlier = _load(request.start)
    model = _make_model(request, earlier, verbose=console.is_terminal and not request.quiet)
    if request.out is not None:
        check_folder(request.out)
    gold = None if request.gold is None else read_gold(request.gold)
    with stage(console, f"reading {request.features}", request.quiet or request.features is None):
        features = None if request.features is None else read_features(request.features)
    votes, groups = open_votes(model, request, console)
    if earlier is not None:
        note(start_note(earlier, votes, str(request.start), request.model_name == "auto"), request.quiet)
    begin = perf_counter()
    try:
        _check_anchor(model, votes, request)
        chosen, choice = _choose_model(model, votes, features, gold is not None, console, request)
        features = None if choice is not None and not choice.uses_features else features
        _check_anchor(chosen, votes, request)
        chosen.fit(votes, features, gold=gold, start=earlier)
        if isinstance(model, Auto) and choice is not None:
            model.adopt(chosen, choice)
        with grouped_notes(len(groups), request.quiet):
            fitted = fit_groups(chosen, groups, features, gold)
    except InputError as error:
        source = {FeatureError: request.features, GoldError: request.gold}.get(type(error))
        raise error.within(source or request.source) from None
    seconds = perf_counter() - begin
    if features is not None and spec_of(chosen).capabilities.features == "ignored":
        note(f"{type(chosen).__name__} uses no features", request.quiet)
    elif features is not None:
        note(features_note(features, votes, str(request.features)), request.quiet)
    note(gold_note(model.result_), request.quiet)
    analysis = Analysis(assessed(model), votes, scale=request.scale, anchor=request.anchor)
    with grouped_notes(len(groups), request.quiet):
        rankings = {name: _group_ranking(name, own, request) for name, own in fitted.items()}
    table = None
    if request.by is not None:
        table = side_by_side(group_ranking(model, request.scale, request.anchor), rankings)
    reason = None if choice is None else choice.reason
    return FitOutcome(model, chosen, votes, analysis, seconds, reason, rankings, table)


def _load(path: str | None) -> RankingModel | None:
    from pathlib import Path

    from jamrank.io import recover_run
    from jamrank.models import load

    if path is None:
        return None
    recover_run(Path(path).parent)
    return load(path)


def _make_model(request: FitRequest, earlier: RankingModel | None, verbose: bool) -> RankingModel:
    """Return the model that was named, or that of an earlier fit, with the options that were given."""
    from jamrank.io import read_families
    from jamrank.models.registry import find_model

    options: dict[str, Any] = {}
    if earlier is not None and request.model_name == "auto":
        kind = find_model(earlier.result_.model)
        before = getattr(earlier, "model_", earlier).get_params()
        options = {name: value for name, value in before.items() if name in _TAKEN_OVER}
    elif request.families is not None and request.model_name == "auto":
        kind = find_model("FamilyBT")
    elif request.covariates is not None and request.model_name == "auto":
        kind = find_model("CovariateBT")
    else:
        kind = find_model(request.model_name)
    model = kind()
    known = model.get_params()
    options = {name: value for name, value in options.items() if name in known} | request.model_options
    if request.families is not None:
        options["families"] = read_families(request.families)
    if request.engine not in (None, "auto", "memory") and kind.__name__ != "Auto" and "engine" not in known:
        raise ParameterError(f"--engine {request.engine}: {kind.__name__} runs in memory only")
    for name in options:
        if name not in known:
            raise ParameterError(f"--{name.replace('_', '-')} does not apply to {kind.__name__}")
    if request.engine is not None and "engine" in known:
        options["engine"] = request.engine
    return model.set_params(**options, **({"verbose": verbose} if "verbose" in known else {}))


def _choose_model(
    model: RankingModel, votes: Votes, features: Any, gold: bool, console: Console, request: FitRequest
) -> tuple[RankingModel, ModelChoice | None]:
    """Return the model to fit, and why it was chosen where none was named."""
    from jamrank.cli.display import stage
    from jamrank.selection import Auto

    if not isinstance(model, Auto):
        return model, None
    with stage(console, "choosing a model by held-out votes", request.quiet):
        chosen, choice = model.choose(votes, features, gold)
    if request.engine is not None and "engine" in chosen.get_params():
        chosen.set_params(engine=request.engine)
    return chosen, choice


def _check_anchor(model: RankingModel, votes: Votes, request: FitRequest) -> None:
    """Refuse a scale that the model cannot have before the fit."""
    from jamrank.inference.result import place_anchor
    from jamrank.models import spec_of

    place_anchor(type(model).__name__, spec_of(model).capabilities, request.scale, request.anchor, votes.items)


def _group_ranking(name: str, model: RankingModel, request: FitRequest) -> pl.DataFrame:
    """Return the ranking of a group, relative to its mean where it has no vote on the anchor."""
    from jamrank.selection.groups import about_group, group_ranking

    try:
        with about_group(name):
            return group_ranking(model, request.scale, request.anchor)
    except UnknownItemError:
        warn(f"group {name} has no vote on {request.anchor}: its scores are relative to their mean", GroupWarning)
        return group_ranking(model, request.scale)
