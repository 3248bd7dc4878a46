"""Model files of this version and of the first, as plain data."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from jamrank.errors import FormatError
from jamrank.io.archives import is_archive, unpack
from jamrank.io.documents import parse_document, read_bytes
from jamrank.io.model_schema import VERSION
from jamrank.io.model_version_1 import from_version_1

_BEGINNINGS = (b"PK\x03\x04", b'{\n"format": "jamrank-model"')


def is_model_file(path: str | os.PathLike[str]) -> bool:
    """Tell whether a file begins as saved models do; no file of votes does so."""
    try:
        if not Path(path).is_file():
            return False
        with Path(path).open("rb") as file:
            return file.read(32).startswith(_BEGINNINGS)
    except (OSError, ValueError):
        return False


def read_body(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Return the content of a model file in the layout of this version, unchecked.

    Raises FormatError: If it is not a model file, or damaged.
    """
    content, source = read_bytes(path), str(path)
    return unpack(content, "model", VERSION, source) if is_archive(content) else _from_json(content, source)


def _from_json(content: bytes, source: str) -> dict[str, Any]:
    body = parse_document(content, "model", 1, source)
    try:
        if body.get("class") == "Auto":
            return {
                "class": "Auto",
                "params": body["params"],
                "choice": {
                    "name": body["chosen"],
                    "reason": body["reason"],
                    "uses_features": body["uses_features"],
                    "comparison": body["comparison"],
                    "frames": body["frames"],
                },
                "model": from_version_1(body["model"]),
            }
        return from_version_1(body)
    except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
        raise FormatError(f"{source}: a model whose data are incomplete or damaged ({error})") from None
