"""Options that ``next`` and ``plan`` share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import click

from jamrank.cli.files import VotesRequest, report_readings, votes_options
from jamrank.cli.types import FINITE, SEED
from jamrank.diagnostics.target import TARGET_ERROR
from jamrank.errors import InputError, ParameterError

if TYPE_CHECKING:
    from jamrank.acquisition import Chooser
    from jamrank.data.comparisons import Comparisons
    from jamrank.models import RankingModel

Command = TypeVar("Command", bound=Callable[..., Any])

_GOALS = ("ranking", "top-k", "threshold", "verdicts")
NOTHING_LEFT = (
    "no pair is left to ask: every annotator was asked about all pairs or has no capacity left. Give more annotators "
    "(--annotators FILE), or ask the same again (--repeats)."
)
_GOAL = "What to determine: the order of all items, the top k, which items pass a threshold, or verdicts."
_STRATEGY = "How pairs are chosen: information, swiss, random, uncertainty or top-two."


@dataclass(frozen=True)
class CollectionRequest(VotesRequest):
    """The options of the command."""

    items: str | None = None
    annotators: str | None = None
    features: str | None = None
    gold: str | None = None
    goal: str = "ranking"
    k: int | None = None
    threshold: str | None = None
    strategy: str = "information"
    target: float = TARGET_ERROR
    budget: float | None = None
    easy_share: float = 0.0
    repeats: bool = False
    seed: int | None = None


def collection_options(command: Command) -> Command:
    """Add the votes, the items, the annotators and the goal to a command."""
    for option in (
        click.option("--seed", type=SEED, help="Random seed."),
        click.option(
            "--easy-share",
            type=FINITE,
            default=0.0,
            show_default=True,
            help="Share of pairs whose order is clear, as an attention check.",
        ),
        click.option(
            "--repeats",
            is_flag=True,
            help="Ask annotators the same comparison again. Without it, only where nothing else is left to ask and "
            "VOTES have repeated votes or name no annotators.",
        ),
        click.option("--budget", type=FINITE, help="Budget, in the unit of the costs."),
        click.option(
            "--target",
            type=FINITE,
            default=TARGET_ERROR,
            show_default=True,
            help="Expected error at which the goal is reached.",
        ),
        click.option("--strategy", metavar="NAME", default="information", show_default=True, help=_STRATEGY),
        click.option("--threshold", metavar="SCORE|ITEM", help="For --goal threshold: a score, or an item."),
        click.option("-k", "--k", type=int, help="For --goal top-k: number of items in the top; 5 by default."),
        click.option("--goal", type=click.Choice(_GOALS), default="ranking", show_default=True, help=_GOAL),
        click.option("--gold", metavar="FILE", help="Gold pairs, whose truth is known: columns left, right, winner."),
        click.option("--features", metavar="FILE", help="Features: a column item, then numbers."),
        click.option(
            "--annotators",
            metavar="FILE",
            help="Available annotators: columns annotator, optionally cost, capacity.",
        ),
        click.option(
            "--items", metavar="FILE", help="Items in addition to those in VOTES: columns item, optionally question."
        ),
    ):
        command = option(command)
    return votes_options(command, required=False)


def open_chooser(request: CollectionRequest, quiet: bool) -> Chooser:
    """Read all files and make the chooser."""
    from jamrank.acquisition import Chooser
    from jamrank.data.duplicates import count_once
    from jamrank.io import read_features, read_gold

    votes = None
    if request.votes:
        votes = request.read()
        report_readings(votes, quiet)
        votes = count_once(votes)
    elif request.items is None:
        raise ParameterError("no votes and no items; give VOTES, or --items and --annotators to start with none")
    items, questions = _read_items(request.items, [] if votes is None else votes.items.tolist())
    names, costs, capacity = _read_annotators(request.annotators, [] if votes is None else votes.annotators.tolist())
    features = None if request.features is None else read_features(request.features)
    if votes is not None and features is not None and set(items) <= set(votes.items.tolist()):
        features = features if _uses_features(votes, features) else None
    of_annotators = features is not None or request.goal == "verdicts"
    return Chooser(
        votes if votes is None or of_annotators else _with_model(votes, request.gold is None),
        request.goal,
        request.k,
        _threshold(request.threshold, [*items, *([] if votes is None else votes.items.tolist())]),
        costs,
        capacity,
        request.strategy,
        items,
        names,
        features,
        request.easy_share,
        request.seed,
        target=request.target,
        budget=request.budget,
        questions=questions,
        gold=None if request.gold is None else read_gold(request.gold),
        repeats=request.repeats or ("last" if votes is not None and _repeats_votes(votes) else False),
    )


def _uses_features(votes: Comparisons, features: Any) -> bool:
    """Tell whether ``jamrank fit`` uses the features."""
    import warnings

    from jamrank.errors import JamrankWarning
    from jamrank.selection import Auto

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", JamrankWarning)
        return Auto().choose(votes, features)[1].uses_features


def _with_model(votes: Comparisons, families: bool) -> Comparisons | RankingModel:
    """Return a model of the kind that ``jamrank fit`` chooses, or the votes where the chooser takes it anyway.

    FamilyBT where annotators share tastes, JAM where the votes on a pair share a truth, CovariateBT where a side is
    preferred, BradleyTerry where annotators count alike, otherwise CrowdBT.

    families: Whether to try FamilyBT, which uses no gold pairs.
    """
    import warnings

    from jamrank.errors import JamrankWarning
    from jamrank.models import JAM, BradleyTerry, CrowdBT
    from jamrank.selection import Auto
    from jamrank.selection.design import FEWEST_TO_COMPARE, examine_design
    from jamrank.selection.families import fit_families

    design = examine_design(votes)
    if design.one_pair:
        return votes
    with warnings.catch_warnings():  # the chooser fits the same votes and warns itself
        warnings.simplefilter("ignore", JamrankWarning)
        several = design.n_annotators > 1 and design.n_decided >= FEWEST_TO_COMPARE
        shared = fit_families(votes) if families and several else None
        if shared is not None:
            return shared
        chosen, _ = Auto().choose(votes, gold=not families)
        spec = chosen._spec
        if spec.capabilities.covariates:
            return chosen.fit(votes)
        kind = CrowdBT if spec.capabilities.annotators else BradleyTerry
        model = JAM if spec.unit == "pair" else kind
        return model(ties="davidson" if votes.n_ties else "leave out").fit(votes)


def _repeats_votes(votes: Comparisons) -> bool:
    """Say whether an annotator voted on a pair more than once, or none is named."""
    from jamrank.data.ids import UNNAMED
    from jamrank.diagnostics.consistency import self_consistency

    return UNNAMED in votes.annotators.tolist() or bool(self_consistency(votes).repeated.any())


def _threshold(given: str | None, items: list[Any]) -> Any:
    named = {str(item): item for item in items}
    return named.get(given, given) if given is not None else None


def _read_items(path: str | None, known: list[Any]) -> tuple[list[Any], dict[Any, Any] | None]:
    if path is None:
        return [], None
    table = _table(path, "item")
    ids = _like(table["item"].to_list(), known, path)
    if "question" not in table.columns:
        return ids, None
    return ids, dict(zip(ids, table["question"].to_list(), strict=True))


def _read_annotators(
    path: str | None, known: list[Any]
) -> tuple[list[Any], dict[Any, float] | None, dict[Any, float] | None]:
    if path is None:
        return [], None, None
    table = _table(path, "annotator")
    ids = _like(table["annotator"].to_list(), known, path)
    return ids, _numbers(table, "cost", ids, path), _numbers(table, "capacity", ids, path)


def _table(path: str, column: str) -> Any:
    from jamrank.io import read_table

    table = read_table(path)
    if column in table.columns:
        return table
    if table.width == 1:
        return table.rename({table.columns[0]: column})
    raise InputError(f"no column {column!r}", f"the columns are {', '.join(table.columns)}", source=path)


def _like(ids: list[Any], known: list[Any], path: str) -> list[Any]:
    """Return ids of the same kind as those of the votes: numbers there are numbers here."""
    empty = next((row for row, name in enumerate(ids, 1) if name is None), None)
    if empty is not None:
        raise InputError("an id is missing", "every row needs one", source=path, row=empty)
    named = {str(name): name for name in known}
    whole = bool(known) and all(isinstance(name, int) for name in known)
    return [named.get(str(name), int(name) if whole and str(name).isdigit() else name) for name in ids]


def _numbers(table: Any, column: str, ids: list[Any], path: str) -> dict[Any, float] | None:
    if column not in table.columns:
        return None
    numbers = {}
    for row, (name, value) in enumerate(zip(ids, table[column].to_list(), strict=True), 1):
        if value is None:
            continue
        try:
            numbers[name] = float(value)
        except ValueError:
            raise InputError(f"{column} is {value!r}", "expected a number", source=path, row=row) from None
    return numbers
