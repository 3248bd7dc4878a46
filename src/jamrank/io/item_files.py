"""What items look like: a folder of files by item, or a column of a table."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from pathlib import Path

from jamrank.errors import InputError
from jamrank.io.tables import read_table

_SUFFIXES = (".png", ".jpg", ".jpeg", ".gif", ".webp", ".svg", ".txt", ".md")
_LARGEST = 10_000_000


def read_item_files(where: str, items: Iterable[object]) -> dict[str, bytes]:
    """Return the content of the file of each item, or its text.

    where: A folder with files that are called like the items (``essay 7.txt``, ``cat.png``), or a table with the ids
        in a column ``item`` and texts in a column ``text``; ``FILE:COLUMN`` for another column.
    items: The ids.
    Returns: By item, as far as there are any.
    Raises InputError: If there is nothing for any item.
    """
    names = [str(item) for item in items]
    found = _of_folder(Path(where), names) if Path(where).is_dir() else _of_table(where, names)
    if not found:
        example = get_close_matches(names[0], names, 1)
        raise InputError("nothing to show for any item", f"items are called {example[0]!r} and so on", source=where)
    return found


def _of_folder(folder: Path, names: list[str]) -> dict[str, bytes]:
    wanted, found = set(names), {}
    for path in sorted(folder.iterdir()):
        name = path.stem if path.suffix.lower() in _SUFFIXES else path.name
        name = path.name if path.name in wanted else name
        if name in wanted and path.is_file():
            if path.stat().st_size > _LARGEST:
                raise InputError(f"a file of {path.stat().st_size:,} bytes", "too large to show", source=str(path))
            found[name] = path.read_bytes()
    return found


def _of_table(where: str, names: list[str]) -> dict[str, bytes]:
    path, colon, column = where.rpartition(":")
    if not colon or Path(where).exists():
        path, column = where, "text"
    table = read_table(path)
    for name in ("item", column):
        if name not in table.columns:
            raise InputError(f"no column {name!r}", f"the columns are {', '.join(table.columns)}", source=path)
    texts = dict(zip(map(str, table["item"].to_list()), table[column].to_list(), strict=True))
    return {name: str(texts[name]).encode() for name in names if texts.get(name) is not None}
