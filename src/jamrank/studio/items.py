"""The items of a study: text, Markdown, images, audio and video, from a table or from a folder."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args
from urllib.parse import urlsplit

from jamrank.errors import InputError
from jamrank.io.tables import load_table
from jamrank.studio.media import FILE_KINDS, check_file, kind_of_name, read_text_file

Kind = Literal["text", "markdown", "image", "audio", "video"]
KINDS: tuple[Kind, ...] = get_args(Kind)
_ID_COLUMNS = ("item", "id", "name")
_LONGEST_ID = 200
_LONGEST_TEXT = 100_000


@dataclass(frozen=True)
class Part:
    """A piece of an item: its text, a file below the media folder, or a URL."""

    kind: Kind
    content: str

    @property
    def is_url(self) -> bool:
        """Whether the content is an external URL."""
        return self.kind in FILE_KINDS and urlsplit(self.content).scheme in ("http", "https")

    @property
    def is_file(self) -> bool:
        """Whether the content is a file of the media folder."""
        return self.kind in FILE_KINDS and not self.is_url


@dataclass(frozen=True)
class Item:
    """An item to compare.

    Parameters
    ----------
    id : str
        Its name in votes and rankings; judges do not see it.
    parts : tuple of Part
        What judges see.
    alt : str
        A description of an image for people who cannot see it. It must not reveal the answer.
    """

    id: str
    parts: tuple[Part, ...]
    alt: str = ""


def read_items(path: Path) -> tuple[list[Item], Path]:
    """Read items from a table (CSV, TSV, JSON, JSON Lines, Parquet) or from a folder of files.

    Parameters
    ----------
    path : Path
        A table with a column ``item`` and any of ``text``, ``markdown``, ``image``, ``audio``, ``video``, ``file``
        and ``alt``; or a folder whose files are the items.

    Returns
    -------
    list of Item
    Path
        The media folder: files are named relative to it, and none outside it is ever served.

    Raises
    ------
    InputError
        If there are fewer than two items, an id is listed twice, or a file is missing, outside the folder or not
        what its name says.
    """
    if not path.exists():
        raise InputError("there is no such file or folder", "expected a table of items or a folder", source=str(path))
    if path.is_dir():
        root, items = path, _from_folder(path)
    else:
        root, items = path.parent, _from_table(path, path.parent)
    check_items(items, str(path))
    if len(items) < 2:
        raise InputError(f"{len(items)} items", "a study needs at least two", source=str(path))
    return items, root.resolve()


def check_items(items: Sequence[Item], source: str) -> None:
    """Raise for ids that are missing, too long or duplicate."""
    seen: set[str] = set()
    for row, item in enumerate(items, start=1):
        if not item.id.strip() or len(item.id) > _LONGEST_ID:
            raise InputError(
                f"the id has {len(item.id)} characters", f"expected 1 to {_LONGEST_ID}", source=source, row=row
            )
        if item.id in seen:
            raise InputError(f"the item {item.id!r} is listed twice", "keep one of its rows", source=source, row=row)
        seen.add(item.id)


def _from_folder(folder: Path) -> list[Item]:
    names = sorted(p.name for p in folder.iterdir() if p.is_file() and not p.name.startswith("."))
    known = [name for name in names if kind_of_name(name) is not None]
    stems = [Path(name).stem for name in known]
    # Files that differ only in their extension keep it in their id.
    ids = stems if len(set(stems)) == len(stems) else known
    return [Item(id_, (_file_part(folder, name),)) for id_, name in zip(ids, known, strict=True)]


def _file_part(root: Path, name: str) -> Part:
    kind = kind_of_name(name)
    if kind is None:
        endings = "png, jpg, gif, webp, avif, svg, mp3, ogg, wav, flac, m4a, mp4, webm, txt or md"
        raise InputError(
            f"the kind of {name!r} is unknown", f"expected a name that ends in {endings}", source=str(root)
        )
    check_file(root, name, kind)
    if kind in ("text", "markdown"):
        return Part(kind, _bounded(read_text_file(root, name), str(root / name)))
    return Part(kind, name)


def _from_table(path: Path, root: Path) -> list[Item]:
    rows = _json_rows(path) if path.suffix in (".json", ".jsonl", ".ndjson") else _table_rows(path)
    names = list(dict.fromkeys(name for values in rows for name in values))
    id_column = next((name for name in _ID_COLUMNS if name in names), names[0] if names else "item")
    columns = [name for name in names if name in (*KINDS, "file")]
    items = []
    for row, given_values in enumerate(rows, start=1):
        values = {**dict.fromkeys((id_column, *columns)), **given_values}
        id_ = "" if values[id_column] is None else str(values[id_column])
        given = [(name, str(values[name])) for name in columns if values[name] not in (None, "")]
        try:
            parts = tuple(_part(root, name, content) for name, content in given) or (_bare(root, id_),)
        except InputError as error:
            raise InputError(error.problem, error.remedy, source=str(path), row=row) from None
        items.append(Item(id_, parts, str(values.get("alt") or "")))
    return items


def _table_rows(path: Path) -> list[dict[str, Any]]:
    return list(load_table(path)[0].iter_rows(named=True))


def _json_rows(path: Path) -> list[dict[str, Any]]:
    """Read a list of objects, or one object per line."""
    with path.open(encoding="utf-8-sig") as file:
        text = file.read()
    try:
        whole = path.suffix == ".json"
        values = json.loads(text) if whole else [json.loads(line) for line in text.splitlines() if line.strip()]
    except (ValueError, RecursionError):
        raise InputError("not JSON", "expected a list of objects, or one object per line", source=str(path)) from None
    if not isinstance(values, list) or not all(isinstance(value, dict) for value in values):
        raise InputError("no list of objects", 'expected [{"item": …, "text": …}, …]', source=str(path))
    return values


def _part(root: Path, column: str, content: str) -> Part:
    if column == "file":
        return _file_part(root, content)
    kind: Kind = column  # type: ignore[assignment]
    part = Part(kind, _bounded(content, "the item"))
    if part.is_file:
        check_file(root, content, kind)
    elif part.is_url:
        _check_url(content)
    return part


def _bare(root: Path, id_: str) -> Part:
    """Return an item that has only an id: the file of that name if there is one, otherwise a text."""
    if kind_of_name(id_) is not None and "/" not in id_ and (root / id_).is_file():
        return _file_part(root, id_)
    return Part("text", id_)


def _bounded(text: str, source: str) -> str:
    if len(text) > _LONGEST_TEXT:
        raise InputError(f"{len(text):,} characters", f"expected at most {_LONGEST_TEXT:,}", source=source)
    return text


def _check_url(url: str) -> None:
    parts = urlsplit(url)
    host = parts.hostname or ""
    if not host or any(c in url for c in "\"'<>;, \t\r\n\\") or "@" in parts.netloc:
        raise InputError(f"{url[:80]!r} is not a plain URL", "expected https://host/path without spaces or quotes")


def media_origins(items: Iterable[Item]) -> tuple[str, ...]:
    """Return the external origins of items, for the content-security policy of the page."""
    urls = (urlsplit(part.content) for item in items for part in item.parts if part.is_url)
    return tuple(sorted({f"{url.scheme}://{url.netloc}" for url in urls}))


def item_details(item: Item) -> dict[str, Any]:
    """Return the content of an item as JSON values."""
    return {"parts": [[p.kind, p.content] for p in item.parts], "alt": item.alt}


def item_from(id_: str, details: Mapping[str, Any]) -> Item:
    """Read an item back."""
    return Item(id_, tuple(Part(kind, content) for kind, content in details["parts"]), details.get("alt", ""))
