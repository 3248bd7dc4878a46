"""Ids that differ only by spaces, case or Unicode normalisation."""

from __future__ import annotations

import unicodedata
from typing import Any

from numpy.typing import NDArray

_LONGEST = 60


def similar_ids(labels: NDArray[Any]) -> list[list[str]]:
    """Return groups of ids that differ only by spaces, case or Unicode normalisation.

    labels: Distinct ids; only text is compared.
    Returns: Each group and the list in the order of the ids.
    """
    groups: dict[str, list[str]] = {}
    for label in labels.tolist() if labels.dtype.kind == "O" else ():
        if isinstance(label, str):
            groups.setdefault(_folded(label), []).append(label)
    return [group for group in groups.values() if len(group) > 1]


def told_apart(group: list[str]) -> str:
    """Return the first two ids of a group for a message, with escapes where they would look the same."""
    one, other = group[:2]
    same = unicodedata.normalize("NFKC", one) == unicodedata.normalize("NFKC", other)
    shown = [ascii(name) if same else repr(name) for name in (one, other)]
    return " and ".join(text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…" for text in shown)


def _folded(text: str) -> str:
    """Return a text without spaces, case and normalisation form."""
    if text.isascii():
        return "".join(text.lower().split())
    # Case folding may change the normal form, as of U+0390.
    text = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
    return "".join(mark for mark in text if not mark.isspace() and unicodedata.category(mark) not in ("Cc", "Cf"))
