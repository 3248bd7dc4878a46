"""Pictures and texts of items, made safe to embed in the report."""

from __future__ import annotations

import struct
import zlib
from base64 import b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html import escape

import numpy as np
from numpy.typing import NDArray

from jamrank.errors import InputError
from jamrank.report.markup import plain, shorten, tag

# The largest picture that is embedded, and the most of a text.
LARGEST, _LONGEST = 200_000, 400
_KINDS = {b"\x89PNG\r\n\x1a\n": "png", b"\xff\xd8\xff": "jpeg", b"GIF8": "gif", b"RIFF": "webp"}


@dataclass(frozen=True)
class ItemView:
    """What an item looks like: a picture of a known kind, or a text."""

    text: str = ""
    picture: bytes = b""

    def markup(self, name: str) -> str:
        """Return the picture as a data URI, or the escaped text."""
        if not self.picture:
            return tag("span", escape(shorten(plain(self.text), _LONGEST)), class_="text")
        uri = f"data:image/{_kind(self.picture)};base64,{b64encode(self.picture).decode()}"
        return tag("img", src=uri, alt=plain(name), loading="lazy").removesuffix("</img>")


@dataclass(frozen=True)
class ItemViews:
    """How items look, by their ids as text, and further orders of them that the report shows beside its own."""

    views: Mapping[str, ItemView]
    orders: Mapping[str, Sequence[object]] = field(default_factory=dict)


def view_of(content: bytes, name: str) -> ItemView:
    """Return the picture or the text in a file, recognised by its first bytes.

    Raises InputError: If a picture is too large, or it is neither a picture of a known kind nor text; SVG can hold
        scripts.
    """
    if _kind(content):
        if len(content) > LARGEST:
            size = f"a picture of {len(content):,} bytes"
            raise InputError(size, f"expected at most {LARGEST:,}; scale it down", source=name)
        return ItemView(picture=content)
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError:
        raise InputError(
            "neither a picture nor text", "expected PNG, JPEG, GIF, WebP or UTF-8", source=name
        ) from None
    if "<svg" in text[:2000].lower():
        raise InputError("an SVG, which can hold scripts", "save it as PNG", source=name)
    return ItemView(text=text)


def _kind(content: bytes) -> str:
    return next((kind for begin, kind in _KINDS.items() if content.startswith(begin)), "")


def png_bytes(grey: NDArray[np.uint8]) -> bytes:
    """Return a grey picture as a PNG file."""
    height, width = grey.shape
    rows = b"".join(b"\0" + bytes(row) for row in grey.astype(np.uint8))
    header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    chunks = ((b"IHDR", header), (b"IDAT", zlib.compress(rows, 9)), (b"IEND", b""))
    return next(iter(_KINDS)) + b"".join(map(_chunk, *zip(*chunks, strict=True)))


def _chunk(kind: bytes, body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
