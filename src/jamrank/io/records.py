"""JSON and JSON Lines: a list of records, one a line, or a table column by column."""

from __future__ import annotations

import json
from typing import Any

from jamrank.errors import InputError
from jamrank.io.documents import shown
from jamrank.io.tables import first_repeated
from jamrank.text import without_lone_surrogates

_BOM = b"\xef\xbb\xbf"
_EXPECTED = "expected a list of records, one record per line, or a table as pandas writes it"

Record = dict[str, Any]


def looks_like_json(data: bytes) -> bool:
    """Return whether a text begins as JSON does; no CSV of votes does so."""
    return data[:4096].removeprefix(_BOM).lstrip()[:1] in (b"[", b"{")


def parse_records(data: bytes, source: str) -> list[Record]:
    """Return the records of a JSON or JSON Lines file.

    data: The text, in UTF-8.
    source: Its name, for errors.
    Returns: A record for each row; NaN has become None.
    Raises InputError: If it is not JSON, not records, or names a field twice.
    """
    text = _as_text(data.removeprefix(_BOM), source)
    begin = text[: len(text) - len(text.lstrip())].count("\n") + 1
    try:
        content = _parse(text)
    except json.JSONDecodeError as error:
        if error.msg != "Extra data" or not text.lstrip().startswith("{"):
            line = f"line {begin + error.lineno - 1}" if error.lineno > 1 else f"character {error.colno}"
            problem = f"not JSON at {line} ({error.msg})"
            raise InputError(problem, "write the file again", source=source) from None
        return _from_lines(text, source)
    except _JsonError as error:
        raise InputError(str(error), error.remedy, source=source) from None
    return _from_document(content, source)


class _JsonError(ValueError):
    """What the standard parser lets pass, or fails on without saying where."""

    def __init__(self, problem: str, remedy: str) -> None:
        super().__init__(problem)
        self.remedy = remedy


def _as_text(data: bytes, source: str) -> str:
    for magic in (b"\xff\xfe", b"\xfe\xff"):
        if data.startswith(magic):
            raise InputError("this is UTF-16", "save the file as UTF-8", source=source)
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        problem = f"byte 0x{data[error.start]:02X} in line {data[: error.start].count(10) + 1} is not UTF-8"
        raise InputError(problem, "save the file as UTF-8", source=source) from None
    return without_lone_surrogates(text)


def _parse(text: str) -> Any:
    try:
        return json.loads(text, object_pairs_hook=_as_record, parse_constant=_constant)
    except json.JSONDecodeError:
        raise
    except RecursionError:
        raise _JsonError("JSON that is nested too deeply", _EXPECTED) from None
    except ValueError as error:
        if isinstance(error, _JsonError):
            raise
        raise _JsonError("a number with thousands of digits", "write long ids in quotes") from None


def _as_record(pairs: list[tuple[str, Any]]) -> Record:
    record = dict(pairs)
    if len(record) < len(pairs):
        twice = first_repeated(name for name, _ in pairs)
        raise _JsonError(f"a record has the field {shown(twice)} twice", "rename or remove one")
    return record


def _constant(word: str) -> None:
    if word != "NaN":
        raise _JsonError(f"a number is {word}", "expected a finite number, or null")


def _from_lines(text: str, source: str) -> list[Record]:
    records: list[Record] = []
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        try:
            record = _parse(line)
        except json.JSONDecodeError as error:
            problem = f"line {number} is not JSON ({error.msg})"
            raise InputError(problem, "expected one record per line", source=source) from None
        except _JsonError as error:
            raise InputError(f"line {number}: {error}", error.remedy, source=source) from None
        if not isinstance(record, dict):
            raise InputError(f"line {number} is {shown(record)}", "expected a record, { … }", source=source)
        records.append(record)
    return records


def _from_document(content: Any, source: str) -> list[Record]:
    if isinstance(content, list):
        if not content:
            raise InputError("the list of records is empty", "expected at least one", source=source)
        wrong = next((row for row, record in enumerate(content) if not isinstance(record, dict)), None)
        if wrong is not None:
            raise InputError(f"a record is {shown(content[wrong])}", _EXPECTED, source=source, row=wrong + 1)
        return content
    if not isinstance(content, dict) or not content:
        raise InputError(f"the file holds {shown(content)}", _EXPECTED, source=source)
    return _from_columns(content) or [content]


def _from_columns(content: Record) -> list[Record] | None:
    """Return the rows of a table written column by column, by number or as lists; None for anything else."""
    columns = list(content.values())
    if len(columns) > 1 and all(isinstance(column, dict) and column for column in columns):
        keys = list(columns[0])
        if all(key.isdecimal() and key.isascii() for key in keys) and all(
            set(column) == set(keys) for column in columns
        ):
            return [{name: column[key] for name, column in content.items()} for key in keys]
    # Lists of records or of lists are the fields of one record: two conversations, say.
    plain = all(isinstance(column, list) and not any(map(_nested, column)) for column in columns)
    if len(columns) > 1 and plain and len({len(column) for column in columns}) == 1:
        return [dict(zip(content, row, strict=True)) for row in zip(*columns, strict=True)]
    return None


def _nested(value: Any) -> bool:
    return isinstance(value, dict | list)
