"""Items to compare, from a table or a folder: texts and images, with the questions that they answer."""

from __future__ import annotations

import base64
import hashlib
import mimetypes
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from jamrank.collect.records import Item, Question
from jamrank.errors import InputError
from jamrank.io.compression import decompressed
from jamrank.io.documents import load_text, read_bytes
from jamrank.io.records import looks_like_json, parse_records
from jamrank.io.tables import parse_table

_IDS = ("system", "item", "id", "model")
_TEXTS = ("text", "answer", "response", "output", "content")
_FILES = ("path", "image", "file")
_QUESTIONS = ("question", "prompt", "instruction")
_TEXT_SUFFIXES = {".txt", ".md", ".text"}
_LARGEST = 20_000_000
_LONG = 60


def read_items(path: str | os.PathLike[str]) -> tuple[list[Item], list[Question]]:
    """Read the items to compare.

    path: A CSV, JSON, JSON Lines or Parquet file with the columns ``item`` (or ``system``) and ``text`` (or ``path``,
        the image of each, relative to the file), and where systems answer several questions ``question``; a further
        ``question_id`` names them, and ``family`` is the model family of an answer. Or a folder of texts and images,
        called like the items; or with a folder for each system, in it one file for each question.
    Returns items, questions (empty where there are none).
    Raises InputError: If a column is missing, a row is empty, an item is listed twice, or there are fewer than two
        items.
    """
    source = str(path)
    items, questions = _from_folder(Path(path)) if Path(path).is_dir() else _from_table(source)
    seen: set[tuple[str, str]] = set()
    for row, item in enumerate(items, 1):
        if (item.id, item.question) in seen:
            what = f"{item.id!r}" + (f" for the question {item.question!r}" if item.question else "")
            raise InputError(f"{what} is listed twice", "keep one of them", source=source, row=row)
        seen.add((item.id, item.question))
    if len({item.id for item in items}) < 2:
        raise InputError("fewer than two items", "there is nothing to compare", source=source)
    return items, questions


def image_url(item: Item) -> str:
    """Return an image as a ``data:`` URL, the form in which images are sent to judges."""
    data = read_bytes(str(item.path))
    if len(data) > _LARGEST:
        raise InputError(
            f"the image has {len(data):,} bytes", f"at most {_LARGEST:,} can be sent", source=str(item.path)
        )
    return f"data:{item.media};base64,{base64.b64encode(data).decode('ascii')}"


def _from_table(source: str) -> tuple[list[Item], list[Question]]:
    data = decompressed(read_bytes(source), source)
    if looks_like_json(data):
        rows: Sequence[Mapping[str, Any]] = parse_records(data, source)
    else:
        rows = parse_table(data, source)[0].to_dicts()
    columns = list(dict.fromkeys(name for row in rows for name in row))
    name = _column(columns, _IDS)
    content = _column(columns, _TEXTS) or _column(columns, _FILES)
    if name is None or content is None:
        lacking = "item (or system)" if name is None else "text (or path)"
        there = ", ".join(map(repr, columns[:12]))
        raise InputError(
            f"no column {lacking} among {there}", "needed: item, text; optional: question", source=source
        )
    reader = _Rows(source, name, content, _column(columns, _QUESTIONS), content in _FILES)
    items = [reader.item(row, number) for number, row in enumerate(rows, 1)]
    return items, list(reader.questions.values())


def _column(columns: Sequence[str], names: Sequence[str]) -> str | None:
    return next((name for name in names if name in columns), None)


class _Rows:
    """Rows of a table as items; questions get ids in order of appearance."""

    def __init__(self, source: str, name: str, content: str, question: str | None, files: bool) -> None:
        self.source, self.name, self.content, self.question, self.files = source, name, content, question, files
        self.questions: dict[str, Question] = {}

    def item(self, row: Mapping[str, Any], number: int) -> Item:
        """Return the item of a row."""
        for column in (self.name, self.content, *([self.question] if self.question else [])):
            if row.get(column) is None or not str(row[column]).strip():
                raise InputError(f"{column} is empty", "every row needs one", source=self.source, row=number)
        question = self._question(row)
        details = {"family": str(row["family"])} if row.get("family") else {}
        if self.files:
            return _file_item(
                Path(self.source).parent / str(row[self.content]), str(row[self.name]), question, details
            )
        return Item(str(row[self.name]), question, str(row[self.content]), details=details)

    def _question(self, row: Mapping[str, Any]) -> str:
        if self.question is None:
            return ""
        text = str(row[self.question])
        name = str(row["question_id"]) if row.get("question_id") is not None else _short(text)
        known = self.questions.setdefault(name, Question(name, text))
        if known.text != text:
            raise InputError(
                f"question_id {name!r} has two texts", "use one text for each question_id", source=self.source
            )
        return name


def _short(text: str) -> str:
    """Return the text of a question as its id; of a long one, its beginning with a digest."""
    line = " ".join(text.split())
    if len(line) <= _LONG:
        return line
    return f"{line[: _LONG - 12]}… #{hashlib.sha256(text.encode()).hexdigest()[:8]}"


def _from_folder(folder: Path) -> tuple[list[Item], list[Question]]:
    inner = sorted(path for path in folder.iterdir() if path.is_dir() and not path.name.startswith("."))
    if not inner:
        files = _files(folder)
        stems = [path.stem for path in files]
        names = [path.stem if stems.count(path.stem) == 1 else path.name for path in files]
        return [_file_item(path, name, "", {}) for path, name in zip(files, names, strict=True)], []
    items = [_file_item(path, system.name, path.stem, {}) for system in inner for path in _files(system)]
    return items, [Question(name, name) for name in dict.fromkeys(item.question for item in items)]


def _files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.iterdir() if path.is_file() and not path.name.startswith("."))


def _file_item(path: Path, name: str, question: str, details: Mapping[str, Any]) -> Item:
    if path.suffix.lower() in _TEXT_SUFFIXES:
        text = load_text(path)
        if not text.strip():
            raise InputError("the file is empty", "every item needs a text", source=str(path))
        return Item(name, question, text, details=details)
    media = mimetypes.guess_type(path.name)[0] or "application/octet-stream"
    digest = hashlib.sha256(read_bytes(path)).hexdigest()[:32]
    return Item(name, question, None, str(path), media, {**details, "digest": digest})
