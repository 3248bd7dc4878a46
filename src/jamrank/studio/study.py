"""The settings of a study: a frozen record, read from TOML or from the form of the admin page."""

from __future__ import annotations

import difflib
import json
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any

from jamrank.acquisition.strategies import STRATEGIES
from jamrank.diagnostics.target import TARGET_ERROR
from jamrank.errors import InputError

_GOALS = ("ranking", "top-k", "verdicts")
_LONGEST = 20_000


@dataclass(frozen=True)
class Criterion:
    """One thing that judges are asked about a pair; each criterion has a ranking of its own."""

    name: str
    question: str


@dataclass(frozen=True)
class KnownPair:
    """Two items of which one is known to be better: for practice, or to check attention."""

    better: str
    worse: str
    criterion: str = ""


@dataclass(frozen=True)
class Study:
    """The settings of a study.

    title: Shown above every page and in exports.
    question: What judges are asked, where there is a single criterion.
    criteria: Several questions on the same items, each with its own ranking.
    ties, skip: Whether a judge may answer that neither is better, or decline to answer.
    grades: Words for how much better, mildest first, such as ``("slightly better", "much better")``; none for a plain
        choice. A fit takes them as ordered outcomes, with thresholds for each judge.
    votes_per_judge: Number of votes per judge.
    practice: Asked first, with the right answer shown; never part of the ranking.
    gold, gold_share: Pairs of known order, and the share of a judge's pairs that they make up.
    repeat_share: Share of a judge's pairs that are an earlier pair of theirs with its sides swapped: they measure how
        consistent a judge is.
    easy_share: Share of pairs with a clear winner, against fatigue.
    consent, instructions: Markdown, shown before the first pair; with a consent text a judge must agree to it.
    ask: Questions to judges about themselves. The answers are stored apart from votes and can be deleted.
    strategy: How pairs are chosen: ``"information"``, or another strategy of the chooser, such as ``"random"``.
    goal, k, target: The goal of the study: ``"ranking"``, ``"top-k"`` for the first `k` places, or ``"verdicts"`` on
        the judges; and the expected error at which it is reached.
    budget: Budget, in the unit of `cost_per_vote`; 0 for no limit.
    cost_per_vote: Cost of a vote, for cost estimates; 0 for none.
    lease_minutes: After this time an unanswered pair may be given to another judge.
    language: Of the pages, for browsers and screen readers.
    texts: Replacements for any text of the judges' pages.
    """

    title: str = "Which is better?"
    question: str = "Which is better?"
    criteria: tuple[Criterion, ...] = ()
    ties: bool = True
    skip: bool = True
    grades: tuple[str, ...] = ()
    votes_per_judge: int = 50
    practice: tuple[KnownPair, ...] = ()
    gold: tuple[KnownPair, ...] = ()
    gold_share: float = 0.1
    repeat_share: float = 0.0
    easy_share: float = 0.0
    consent: str = ""
    instructions: str = ""
    ask: tuple[str, ...] = ()
    strategy: str = "information"
    goal: str = "ranking"
    k: int = 0
    target: float = TARGET_ERROR
    budget: float = 0.0
    cost_per_vote: float = 0.0
    lease_minutes: float = 10.0
    language: str = "en"
    texts: Mapping[str, str] = field(default_factory=dict)

    def asked(self) -> tuple[Criterion, ...]:
        """Return the criteria; the question alone where none are named."""
        return self.criteria or (Criterion("", self.question),)

    def question_of(self, criterion: str) -> str:
        """Return the text that is asked for a criterion."""
        return next((c.question for c in self.asked() if c.name == criterion), self.question)

    def as_json(self) -> str:
        """Write the settings for the database."""
        return json.dumps(asdict(self), ensure_ascii=False, sort_keys=True)


def read_study(text: str, source: str) -> tuple[Study, str | None]:
    """Read the settings of a study from TOML.

    Parameters
    ----------
    text : str
        The file's content.
    source : str
        Its name, for messages.

    Returns
    -------
    Study
    str or None
        The key ``items``: the file or folder of the items, where it is named.

    Raises
    ------
    InputError
        If it is not TOML, or a setting is unknown or invalid.
    """
    try:
        values = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"not TOML: {error}", "see the page on the studio for an example", source=source) from None
    items = values.pop("items", None)
    if items is not None and not isinstance(items, str):
        raise InputError("items is not a text", "expected the name of a file or folder", source=source)
    try:
        return study_from(values), items
    except InputError as error:
        raise error.within(source) from None


def study_from(values: Mapping[str, Any]) -> Study:
    """Return a study from plain values of TOML or JSON, checked."""
    known = {f.name: f for f in fields(Study)}
    for name in values:
        if name not in known:
            near = difflib.get_close_matches(name, known, n=1)
            hint = f"did you mean {near[0]!r}?" if near else f"known: {', '.join(known)}"
            raise InputError(f"unknown setting {name!r}", hint)
    study = Study(**{name: _parsed(name, value) for name, value in values.items()})
    _check(study)
    return study


def _parsed(name: str, value: Any) -> Any:
    if name == "criteria":
        return tuple(_criterion(one) for one in _listed(name, value))
    if name in ("practice", "gold"):
        return tuple(_known_pair(name, one) for one in _listed(name, value))
    if name in ("grades", "ask"):
        return tuple(_text(name, one) for one in _listed(name, value))
    if name == "texts":
        if not isinstance(value, Mapping):
            raise InputError("texts is not a table", 'expected [texts] with lines such as left = "Left is better"')
        return {str(key): _text(f"texts.{key}", one) for key, one in value.items()}
    default = getattr(Study, name)
    if isinstance(default, bool):
        return _typed(name, value, bool, "true or false")
    if isinstance(default, int):
        return _typed(name, value, int, "a whole number")
    if isinstance(default, float):
        return float(_typed(name, value, (int, float), "a number"))
    return _text(name, value)


def _typed(name: str, value: Any, kind: Any, expected: str) -> Any:
    wrong_bool = isinstance(value, bool) and kind is not bool
    if wrong_bool or not isinstance(value, kind):
        raise InputError(f"{name} is {value!r}", f"expected {expected}")
    return value


def _text(name: str, value: Any) -> str:
    text: str = _typed(name, value, str, "a text")
    if len(text) > _LONGEST:
        raise InputError(f"{name} has {len(text):,} characters", f"expected at most {_LONGEST:,}")
    return text


def _listed(name: str, value: Any) -> Sequence[Any]:
    if not isinstance(value, list | tuple):
        raise InputError(f"{name} is {value!r}", "expected a list")
    return value


def _criterion(value: Any) -> Criterion:
    if not isinstance(value, Mapping) or set(value) != {"name", "question"}:
        raise InputError(f"criteria has {value!r}", "expected [[criteria]] with name and question")
    name, question = _text("criteria.name", value["name"]), _text("criteria.question", value["question"])
    if not name.strip():
        raise InputError("a criterion has no name", "expected a short word, such as beauty")
    return Criterion(name, question)


def _known_pair(name: str, value: Any) -> KnownPair:
    if isinstance(value, Mapping):
        value = [value.get("better"), value.get("worse"), *([value["criterion"]] if value.get("criterion") else [])]
    if not isinstance(value, list | tuple) or len(value) not in (2, 3):
        raise InputError(
            f"{name} has {value!r}", 'expected ["better item", "worse item"], and optionally a criterion'
        )
    pair = KnownPair(*(_text(name, one) for one in value))
    if pair.better == pair.worse:
        raise InputError(f"{name} has a pair of {pair.better!r} and itself", "expected two different items")
    return pair


def _check(study: Study) -> None:
    names = [criterion.name for criterion in study.criteria]
    if len(set(names)) < len(names):
        raise InputError("two criteria have the same name", "give each its own")
    for pair in (*study.practice, *study.gold):
        if pair.criterion and pair.criterion not in names:
            raise InputError(f"a pair names the criterion {pair.criterion!r}", f"known: {', '.join(names) or 'none'}")
    if study.votes_per_judge < 1:
        raise InputError(f"votes_per_judge is {study.votes_per_judge}", "expected at least 1")
    for name in ("gold_share", "repeat_share", "easy_share"):
        if not 0 <= getattr(study, name) <= 0.5:
            raise InputError(f"{name} is {getattr(study, name):g}", "expected a share from 0 to 0.5")
    if study.goal not in _GOALS:
        raise InputError(f"goal is {study.goal!r}", f"expected {' or '.join(_GOALS)}")
    if study.strategy not in STRATEGIES:
        raise InputError(f"strategy is {study.strategy!r}", f"expected {' or '.join(STRATEGIES)}")
    if study.goal == "top-k" and study.k < 1:
        raise InputError("goal is 'top-k' without k", "expected k, the number of places that matter")
    if not 0 < study.target < 0.5:
        raise InputError(f"target is {study.target:g}", "expected an error between 0 and 0.5")
    if study.lease_minutes <= 0 or study.cost_per_vote < 0 or study.budget < 0:
        raise InputError("lease_minutes, cost_per_vote or budget is negative", "expected a positive number")
    if len(study.grades) > 4:
        raise InputError(f"grades has {len(study.grades)} words", "expected at most 4")


def with_settings(study: Study, **changes: Any) -> Study:
    """Return the study with some settings changed, and checked."""
    changed = replace(study, **{name: _parsed(name, value) for name, value in changes.items()})
    _check(changed)
    return changed


def as_toml(study: Study) -> str:
    """Write a study as the TOML file that :func:`read_study` takes."""
    lines = []
    for name, value in asdict(study).items():
        if name in ("criteria", "texts") or value == getattr(Study, name, None):
            continue
        if name in ("practice", "gold"):
            value = [[v for v in pair.values() if v] for pair in value]
        lines.append(f"{name} = {_toml(value)}")
    if study.texts:
        lines += ["", "[texts]", *(f"{json.dumps(k)} = {_toml(v)}" for k, v in study.texts.items())]
    for criterion in study.criteria:
        lines += ["", "[[criteria]]", f"name = {_toml(criterion.name)}", f"question = {_toml(criterion.question)}"]
    return "\n".join(lines) + "\n"


def _toml(value: Any) -> str:
    if isinstance(value, list | tuple):
        return f"[{', '.join(_toml(one) for one in value)}]"
    # JSON's strings, numbers and booleans are valid TOML, except DEL.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
