"""Argilla 1: feedback records, as a dataset with one column per question, or as its server stores them."""

from __future__ import annotations

from typing import Any

from jamrank.errors import InputError
from jamrank.io.documents import shown
from jamrank.io.formats.argilla_2 import only_one, record_fields, record_question
from jamrank.io.formats.base import Ballots, Format
from jamrank.io.formats.rankings import Rankings, is_ranking, listed
from jamrank.io.formats.table import Table

_ANSWER = {"user_id", "value", "status"}


def read(table: Table) -> Ballots:
    """Read a column of ``{user_id, value, status}``, or ``responses`` of ``{user_id, status, values}``."""
    rankings = Rankings()
    names = [name for name in table.columns if name not in ("responses", "fields")]
    records = [dict(zip(names, row, strict=True)) for row in zip(*map(table.values, names), strict=True)]
    records = records or [{} for _ in range(len(table))]
    if _is_raw(table):
        question = only_one(sorted({name for value in table.values("responses") for name in _raw_questions(value)}))
        fields = record_fields(table)
        for row, answers in enumerate(table.values("responses")):
            record = {**fields[row], **records[row]}
            _add(rankings, row, _from_raw(answers, question, row), fields[row], record)
    else:
        question = only_one([name for name in table.columns if _is_question(table.values(name))])
        for row, answers in enumerate(table.values(question)):
            _add(rankings, row, answers, records[row], records[row])
    return rankings.ballots()


def _add(rankings: Rankings, row: int, answers: Any, fields: dict[str, Any], record: dict[str, Any]) -> None:
    if answers in (None, [], {}):
        rankings.set_aside["no answer"] += 1
        return
    asked = record_question(record, row)
    for answer in listed(answers, row):
        rankings.add(row, answer.get("user_id"), answer.get("status"), answer.get("value"), fields, asked)


def _from_raw(answers: Any, question: str, row: int) -> list[dict[str, Any]]:
    if not isinstance(answers, list) or not all(isinstance(answer, dict) for answer in answers):
        if answers is None:
            return []
        raise InputError(f"responses is {shown(answers)}", "expected a list of responses", row=row + 1)
    found = []
    for answer in answers:
        values = answer.get("values")
        said = values.get(question) if isinstance(values, dict) else None
        value = said.get("value") if isinstance(said, dict) else said
        found.append({"user_id": answer.get("user_id"), "status": answer.get("status"), "value": value})
    return found


def _raw_questions(answers: Any) -> list[str]:
    found = []
    for answer in answers if isinstance(answers, list) else []:
        values = answer.get("values") if isinstance(answer, dict) else None
        for name, said in (values if isinstance(values, dict) else {}).items():
            if is_ranking(said.get("value") if isinstance(said, dict) else said):
                found.append(name)
    return found


def _is_raw(table: Table) -> bool:
    return "responses" in table and any(map(_raw_questions, table.values("responses")))


def _is_question(values: list[Any]) -> bool:
    """Return whether a column holds answers to a ranking question."""
    for value in values:
        try:
            answers = listed(value, 0) if isinstance(value, list | dict) else []
        except InputError:
            continue
        if any(answer.keys() >= _ANSWER and is_ranking(answer["value"]) for answer in answers):
            return True
    return False


def fits(table: Table) -> bool:
    """Recognise the format by the values of its columns."""
    return _is_raw(table) or any(
        _is_question(table.values(name)) for name in table.columns if not table.is_flat(name)
    )


FORMAT = Format("argilla-1", "Argilla 1", (), read, fits)
