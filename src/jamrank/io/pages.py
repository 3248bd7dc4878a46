"""Whether the values of a Parquet page are what its header says: checksums, and the number of indices.

polars looks at neither: it reads on, and takes indices that are not there for zeros.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from importlib import import_module
from typing import NamedTuple

from jamrank.io.thrift import Buffer, DamagedError, Reader, Struct

_UNPACKED, _GZIP = 0, 2
# What pyarrow calls the other codecs that it knows.
_CODECS = {1: "snappy", 4: "brotli", 6: "zstd", 7: "lz4_raw"}
# Encodings of values as indices into a dictionary, of older and of newer files.
_INDICES = (2, 8)
# Larger pages, and pages of larger files, are not unpacked for a check, which would take time.
_LARGEST_PAGE, _LARGEST_FILE = 1 << 22, 1 << 24


def check_page(data: Buffer, column: Struct, header: Struct, begin: int, end: int, optional: bool) -> None:
    """Check a page that begins and ends at places in a file.

    column: Metadata of its column.
    optional: Whether values may be missing.
    Raises DamagedError: If a checksum or the number of indices is wrong.
    """
    if 4 in header and zlib.crc32(data[begin:end]) != header[4] & 0xFFFFFFFF:
        raise DamagedError
    indices = len(column[3]) == 1 and _has_indices(header)
    # Unpacking gzip checks its own checksum.
    if column[4] == _GZIP or (indices and len(data) <= _LARGEST_FILE):
        content = _unpacked(data, column[4], header, begin, end)
        if indices and content is not None:
            _check_indices(content, header, optional)


def _has_indices(header: Struct) -> bool:
    page, encoding = (header[8], 4) if 8 in header else (header.get(5, {}), 2)
    return page.get(1, 0) > 0 and page[encoding] in _INDICES


def _unpacked(data: Buffer, codec: int, header: Struct, begin: int, end: int) -> bytes | None:
    """Return the content of a page; None if it is large, or if nothing that is installed unpacks it."""
    whole, newer = header[2], header.get(8, {})
    if codec == _UNPACKED or not newer.get(7, True) or not whole:
        return data[begin:end]
    # Newer pages begin with levels, which are not packed.
    levels = newer.get(5, 0) + newer.get(6, 0)
    if not 0 <= levels <= min(whole, end - begin):
        raise DamagedError
    if whole == levels:
        return data[begin : begin + levels]
    packed, size = data[begin + levels : end], whole - levels
    content = _gunzip(packed, size) if codec == _GZIP else _by_pyarrow(codec, packed, size)
    return None if content is None else data[begin : begin + levels] + content


def _gunzip(packed: bytes, size: int) -> bytes:
    stream = zlib.decompressobj(wbits=31)
    try:
        content = stream.decompress(packed, size + 1)
    except zlib.error:
        raise DamagedError from None
    if not stream.eof or len(content) != size:
        raise DamagedError
    return content


def _by_pyarrow(codec: int, packed: bytes, size: int) -> bytes | None:
    if codec not in _CODECS or size > _LARGEST_PAGE:
        return None
    try:
        pyarrow = import_module("pyarrow")
        unpack = pyarrow.Codec(_CODECS[codec])
    except (ImportError, ValueError):
        return None
    try:
        content: bytes = unpack.decompress(packed, size, asbytes=True)
    except (OSError, ValueError):
        raise DamagedError from None
    return content


def _check_indices(data: bytes, header: Struct, optional: bool) -> None:
    """Refuse indices into a dictionary that are not as many as the page has values: polars fills up with zeros."""
    begin = 0
    if 8 in header:
        values = header[8][1] - header[8].get(2, 0)
        begin = header[8].get(5, 0) + header[8].get(6, 0)
    else:
        values = header[5][1]
        if optional:
            begin = 4 + int.from_bytes(data[:4], "little")
            values = _present(data, 4, begin, values)
    if values <= 0:
        return
    reader = Reader(data, begin, len(data))
    bits = reader.byte()
    if bits > 32:
        raise DamagedError
    left = values
    for run in _runs(reader, bits):
        # Packed values come by eights, of which some writers cut the last ones short.
        short = run.packed and (run.end - run.begin) * 8 < min(run.values, left) * bits
        if short or not 0 < run.values < left + 8:
            raise DamagedError
        left -= run.values
        if left <= 0:
            return
    raise DamagedError


def _present(data: bytes, begin: int, end: int, values: int) -> int:
    """Return how many values of a page are not missing: there is a bit for each value."""
    if end > len(data):
        raise DamagedError
    found, left = 0, values
    for run in _runs(Reader(data, begin, end), 1):
        taken, bits = min(run.values, left), int.from_bytes(data[run.begin : run.end], "little")
        found += (bits & ((1 << taken) - 1)).bit_count() if run.packed else taken * (bits & 1)
        left -= taken
    if left:
        raise DamagedError
    return found


class _Run(NamedTuple):
    """A part of what Parquet's hybrid encoding writes: values packed into bits, or one that is repeated."""

    values: int
    packed: bool
    begin: int
    end: int


def _runs(reader: Reader, bits: int) -> Iterator[_Run]:
    while reader.at < reader.stop:
        head = reader.varint()
        packed, begin = bool(head & 1), reader.at
        size = (head >> 1) * bits if packed else (bits + 7) // 8
        reader.at = min(begin + size, reader.stop)
        count = (head >> 1) * (8 if packed else 1)
        yield _Run(count, packed, begin, reader.at)
