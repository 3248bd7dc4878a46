"""Compressed files, recognised by their first bytes, decompressed up to a limit."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from importlib import import_module

from jamrank.errors import InputError

_GZIP, _ZSTD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"
# Tables of votes shrink to a tenth. Files that expand by more than this are refused.
_SPARE, _RATIO = 64 << 20, 60
_CHUNK = 1 << 20
# A zstd block of 4 bytes may expand to 128 KiB: small slices limit what one call returns.
_SLICE = 2048


class _TooLargeError(ValueError):
    pass


def decompressed(data: bytes, source: str) -> bytes:
    """Return the decompressed content of a gzip or zstd file; other content unchanged.

    data: What is in the file.
    source: Its name, for errors.
    Raises InputError: If the file is damaged, expands to more than 60 times its size, or nothing installed can read
        it.
    """
    if data.startswith(_GZIP):
        return _joined("gzip", _gzip_chunks(data), data, source)
    return _from_zstd(data, source) if data.startswith(_ZSTD) else data


def _joined(kind: str, chunks: Iterator[bytes], data: bytes, source: str) -> bytes:
    limit = _SPARE + _RATIO * len(data)
    content = bytearray()
    try:
        for chunk in chunks:
            content += chunk
            if len(content) > limit:
                raise _TooLargeError
    except ImportError:
        raise
    except _TooLargeError:
        problem = f"the {kind} file expands to more than {_RATIO} times its size"
        raise InputError(problem, "decompress it first if it is genuine", source=source) from None
    except Exception:
        # Each library has its own error for this.
        raise InputError(f"the {kind} file is damaged or cut off", "compress it again", source=source) from None
    return bytes(content)


def _gzip_chunks(data: bytes) -> Iterator[bytes]:
    while data:
        member = zlib.decompressobj(zlib.MAX_WBITS | 16)
        yield member.decompress(data, _CHUNK)
        while not member.eof and member.unconsumed_tail:
            yield member.decompress(member.unconsumed_tail, _CHUNK)
        if not member.eof:
            raise EOFError
        # Some writers pad the end with zeros.
        data = member.unused_data.lstrip(b"\0")


def _from_zstd(data: bytes, source: str) -> bytes:
    for chunks in (_standard_library_chunks, _zstandard_chunks, _pyarrow_chunks):
        try:
            return _joined("zstd", chunks(data), data, source)
        except ImportError:
            continue
    remedy = "pip install 'jamrank[zstd]', or decompress it"
    raise InputError("nothing installed here reads zstd", remedy, source=source)


def _standard_library_chunks(data: bytes) -> Iterator[bytes]:
    zstd = import_module("compression.zstd")  # Python 3.14 and later
    while data:
        frame = zstd.ZstdDecompressor()
        yield frame.decompress(data, _CHUNK)
        while not frame.eof and not frame.needs_input:
            yield frame.decompress(b"", _CHUNK)
        if not frame.eof:
            raise EOFError
        data = frame.unused_data


def _zstandard_chunks(data: bytes) -> Iterator[bytes]:
    zstandard = import_module("zstandard")
    at = 0
    while at < len(data):
        # Its decompress() accepts truncated frames, and stops after the first one.
        frame = zstandard.ZstdDecompressor().decompressobj()
        while not frame.eof:
            if at >= len(data):
                raise EOFError
            yield frame.decompress(data[at : at + _SLICE])
            at += _SLICE
        at = min(at, len(data)) - len(frame.unused_data)


def _pyarrow_chunks(data: bytes) -> Iterator[bytes]:
    pyarrow = import_module("pyarrow")
    with pyarrow.CompressedInputStream(pyarrow.BufferReader(data), "zstd") as stream:
        while chunk := stream.read(_CHUNK):
            yield chunk
