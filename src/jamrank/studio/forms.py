"""The settings form of the admin page, as settings of a study."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from jamrank.errors import InputError
from jamrank.studio.study import Study, with_settings

_TEXTS = ("title", "question", "instructions", "consent")
_NUMBERS = ("gold_share", "repeat_share", "easy_share", "cost_per_vote")


def study_of_form(study: Study, fields: Mapping[str, str]) -> Study:
    """Return the study with what the form says; every value is checked as in a file."""
    changes: dict[str, Any] = {name: _text(fields, name) for name in _TEXTS}
    changes |= {name: fields.get(name) == "yes" for name in ("ties", "skip")}
    changes |= {name: _number(name, fields.get(name, "0")) for name in _NUMBERS}
    changes["votes_per_judge"] = int(_number("votes_per_judge", fields.get("votes_per_judge", "")))
    changes["grades"] = [word.strip() for word in fields.get("grades", "").split(",") if word.strip()]
    changes["ask"] = _lines(fields, "ask")
    changes["criteria"] = [_criterion(line) for line in _lines(fields, "criteria")]
    for name in ("practice", "gold"):
        changes[name] = [_pair(name, line) for line in _lines(fields, name)]
    return with_settings(study, **changes)


def _text(fields: Mapping[str, str], name: str) -> str:
    return fields.get(name, "").replace("\r\n", "\n").strip()


def _lines(fields: Mapping[str, str], name: str) -> list[str]:
    return [line.strip() for line in _text(fields, name).split("\n") if line.strip()]


def _number(name: str, text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = float("nan")
    if not abs(number) < 1e12:
        raise InputError(f"{name} is {text[:40]!r}", "expected a number")
    return number


def _criterion(line: str) -> dict[str, str]:
    name, colon, question = line.partition(":")
    if not colon:
        raise InputError(f"a criterion is {line[:60]!r}", "expected name: question")
    return {"name": name.strip(), "question": question.strip()}


def _pair(name: str, line: str) -> list[str]:
    parts = [part.strip() for part in line.split(" > ")]
    if len(parts) not in (2, 3):
        raise InputError(f"{name} has {line[:60]!r}", "expected better > worse")
    return parts
