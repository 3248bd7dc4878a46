"""Argilla 2: records with ranking questions, flattened or nested."""

from __future__ import annotations

from typing import Any

from jamrank.errors import InputError
from jamrank.io.documents import shown
from jamrank.io.formats.base import Ballots, Format
from jamrank.io.formats.rankings import Rankings, is_ranking, listed
from jamrank.io.formats.table import Table

_RESPONSES = ".responses"
_PROMPTS = ("prompt", "instruction", "question", "input")


def read(table: Table) -> Ballots:
    """Read ``<question>.responses`` and its ``.users`` and ``.status``, or ``responses`` by question."""
    return _read_nested(table) if _is_nested(table) else _read_flat(table)


def _read_flat(table: Table) -> Ballots:
    question = only_one([name for name in _flat_questions(table) if _has_rankings(table.values(name + _RESPONSES))])
    answers = table.values(question + _RESPONSES)
    users = table.values(f"{question}{_RESPONSES}.users")
    status_name = f"{question}{_RESPONSES}.status"
    statuses = table.values(status_name) if status_name in table else [None] * len(table)
    fields = _rows(table, [name for name in table.columns if _RESPONSES not in name and ".suggestion" not in name])
    rankings = Rankings()
    for row, (answer, user, status) in enumerate(zip(answers, users, statuses, strict=True)):
        if answer is None and user is None:
            rankings.set_aside["no answer"] += 1
            continue
        # Without the column of statuses everything counts.
        known = status if status_name in table else ["submitted"] * len(answer if isinstance(answer, list) else [])
        if not (isinstance(answer, list) and isinstance(user, list) and isinstance(known, list)):
            raise InputError(f"{question}{_RESPONSES} is {shown(answer)}", "expected a list", row=row + 1)
        if not len(answer) == len(user) == len(known):
            problem = f"{len(answer)} responses, {len(user)} users and {len(known)} statuses"
            raise InputError(problem, "expected as many of each", row=row + 1)
        asked = record_question(fields[row], row)
        for value, who, said in zip(answer, user, known, strict=True):
            rankings.add(row, who, said, value, fields[row], asked)
    return rankings.ballots()


def _read_nested(table: Table) -> Ballots:
    responses = table.values("responses")
    records = _rows(table, [name for name in ("id", "external_id") if name in table])
    shown_fields = record_fields(table)
    names = {name for value in responses if isinstance(value, dict) for name, said in value.items() if _ranked(said)}
    question = only_one(sorted(names))
    rankings = Rankings()
    for row, value in enumerate(responses):
        answers = value.get(question) if isinstance(value, dict) else value
        if answers in (None, [], {}):
            rankings.set_aside["no answer"] += 1
            continue
        fields = shown_fields[row]
        asked = record_question({**fields, **records[row]}, row)
        for answer in listed(answers, row):
            status = answer.get("status", "submitted")
            rankings.add(row, answer.get("user_id"), status, answer.get("value"), fields, asked)
    return rankings.ballots()


def record_fields(table: Table) -> list[dict[str, Any]]:
    """Return what each record showed, by field."""
    fields = table.values("fields") if "fields" in table else [None] * len(table)
    return [value if isinstance(value, dict) else {} for value in fields]


def record_question(record: dict[str, Any], row: int) -> str:
    """Return what names the question of a record: its id, its prompt, or its place in the file."""
    for name in ("id", "external_id", *_PROMPTS):
        value = record.get(name)
        if isinstance(value, str | int) and not isinstance(value, bool) and value != "":
            return str(value)
    return f"row {row + 1}"


def only_one(questions: list[str]) -> str:
    """Return the one ranking question."""
    if len(questions) == 1:
        return questions[0]
    if not questions:
        raise InputError("no ranking question with answers", "expected responses of the form [{rank, value}, …]")
    raise InputError(f"ranking questions {', '.join(map(shown, questions))}", "keep one of them in the file")


def _rows(table: Table, names: list[str]) -> list[dict[str, Any]]:
    columns = [table.values(name) for name in names]
    if not columns:
        return [{} for _ in range(len(table))]
    return [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]


def _flat_questions(table: Table) -> list[str]:
    ends = [name.removesuffix(_RESPONSES) for name in table.columns if name.endswith(_RESPONSES)]
    return [name for name in ends if f"{name}{_RESPONSES}.users" in table]


def _has_rankings(answers: list[Any]) -> bool:
    return any(is_ranking(value) for answer in answers if isinstance(answer, list) for value in answer)


def _ranked(said: Any) -> bool:
    if not isinstance(said, list):
        return False
    return any(isinstance(answer, dict) and is_ranking(answer.get("value")) for answer in said)


def _is_nested(table: Table) -> bool:
    return "responses" in table and any(isinstance(value, dict) for value in table.values("responses"))


def fits(table: Table) -> bool:
    """Recognise the format by its column names, or by responses stored by question."""
    if _flat_questions(table):
        return True
    return _is_nested(table) and any(
        isinstance(value, dict) and any(map(_ranked, value.values())) for value in table.values("responses")
    )


FORMAT = Format("argilla-2", "Argilla 2", (), read, fits)
