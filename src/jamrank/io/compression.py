"""Compressed files, told by their first bytes."""

from __future__ import annotations

import gzip
import zlib
from importlib import import_module

from jamrank.errors import InputError

__all__ = ["decompressed"]

_GZIP, _ZSTD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"


def decompressed(data: bytes, source: str) -> bytes:
    """Return the content of a gzip or zstd file, and any other as it is.

    Parameters
    ----------
    data : bytes
        What is in the file.
    source : str
        Its name, for errors.

    Returns
    -------
    bytes

    Raises
    ------
    InputError
        If the file is damaged, or nothing installed can read it.
    """
    if data.startswith(_GZIP):
        try:
            return gzip.decompress(data)
        except (OSError, EOFError, zlib.error):
            raise InputError("the gzip file is damaged or cut off", "compress it again", source=source) from None
    return _from_zstd(data, source) if data.startswith(_ZSTD) else data


def _from_zstd(data: bytes, source: str) -> bytes:
    for read in (_by_standard_library, _by_zstandard, _by_pyarrow):
        try:
            return read(data)
        except ImportError:
            continue
        except Exception:
            # Each library has an error of its own for this.
            raise InputError("the zstd file is damaged or cut off", "compress it again", source=source) from None
    remedy = "pip install 'jamrank[zstd]', or decompress it"
    raise InputError("nothing installed here reads zstd", remedy, source=source)


def _by_standard_library(data: bytes) -> bytes:
    content: bytes = import_module("compression.zstd").decompress(data)  # Python 3.14 and later
    return content


def _by_zstandard(data: bytes) -> bytes:
    zstandard = import_module("zstandard")
    content = bytearray()
    while data:
        # Its decompress() would take a frame that is cut off for a whole one, and stop after the first.
        frame = zstandard.ZstdDecompressor().decompressobj()
        content += frame.decompress(data)
        if not frame.eof:
            raise ValueError("the frame is cut off")
        data = frame.unused_data
    return bytes(content)


def _by_pyarrow(data: bytes) -> bytes:
    pyarrow = import_module("pyarrow")
    with pyarrow.CompressedInputStream(pyarrow.BufferReader(data), "zstd") as stream:
        content: bytes = stream.read()
    return content
