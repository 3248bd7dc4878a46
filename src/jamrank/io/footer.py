"""Whether a Parquet file is consistent, before polars reads it.

polars trusts the numbers in the metadata: a damaged one can make it allocate too much memory, which kills the
process. So the footer and the page headers are checked first: sizes must fit into the file, and counts must agree
with each other. Checksums of pages are verified if there are any (of gzip, or added by the writer), which polars
does not do. Other values are not checked.
"""

from __future__ import annotations

import mmap
import zlib
from dataclasses import dataclass
from typing import Any

_MAGIC = b"PAR1"
_DEEPEST = 64
_UNPACKED, _GZIP = 0, 2
_OPTIONAL = 1
# Encodings of values as indices into a dictionary, of older and of newer files.
_INDICES = (2, 8)
# Thrift's compact protocol, in which Parquet writes its metadata: kinds of fields.
_TRUE, _FALSE, _BYTE, _DOUBLE, _BINARY, _LIST, _SET, _STRUCT = 1, 2, 3, 7, 8, 9, 10, 12

Struct = dict[int, Any]
Buffer = bytes | mmap.mmap


@dataclass(frozen=True)
class Facts:
    """Number of missing values of a column, and its range; None for what is not stored."""

    missing: int | None
    low: bytes | None
    high: bytes | None

    def joined(self, other: Facts) -> Facts:
        """Return the facts of two parts of a column together."""
        return Facts(
            None if self.missing is None or other.missing is None else self.missing + other.missing,
            None if self.low is None or other.low is None else min(self.low, other.low),
            None if self.high is None or other.high is None else max(self.high, other.high),
        )


class _DamagedError(ValueError):
    pass


def examine(data: Buffer) -> dict[tuple[str, ...], Facts] | None:
    """Check the metadata of a Parquet file: sizes must fit into the file, and counts must agree.

    data: The file; of a memory map only the footer and the headers of the pages are read.
    Returns: Facts about each column, by its path; None if the file is inconsistent.
    """
    if len(data) < 12 or data[:4] != _MAGIC or data[-4:] != _MAGIC:
        return None
    size = int.from_bytes(data[-8:-4], "little")
    begin = len(data) - 8 - size
    if begin < 4:
        return None
    try:
        footer = _Reader(data, begin, len(data) - 8).struct()
        groups = footer.get(4, [])
        # Values of these may be missing, and pages begin with which are.
        optional: set[tuple[bytes, ...]] = {(field[4],) for field in footer[2] if field.get(3) == _OPTIONAL}
        for group in groups:
            _check_group(data, group, begin, optional)
        if footer.get(3) != sum(group[3] for group in groups):
            return None
        return _facts(groups)
    except (_DamagedError, KeyError, TypeError, IndexError, AttributeError, UnicodeDecodeError):
        return None


def _facts(groups: list[Struct]) -> dict[tuple[str, ...], Facts]:
    facts: dict[tuple[str, ...], Facts] = {}
    for group in groups:
        for chunk in group[1]:
            path = tuple(part.decode() for part in chunk[3][3])
            statistics = chunk[3].get(12, {})
            here = Facts(statistics.get(3), statistics.get(6), statistics.get(5))
            facts[path] = facts[path].joined(here) if path in facts else here
    return facts


def _check_group(data: Buffer, group: Struct, end: int, optional: set[tuple[bytes, ...]]) -> None:
    for chunk in group[1]:
        column = chunk[3]
        if not 0 <= group[3] <= column[5]:
            raise _DamagedError
        if column[5] == column[7] == 0:
            continue  # no values, in no place
        # A dictionary comes before the pages that use it.
        offsets = [offset for offset in (column.get(11), column[9]) if offset is not None and offset > 0]
        first = min(offsets, default=0)
        _check_pages(data, column, first, first + column[7], end, tuple(column[3]) in optional)


def _check_pages(data: Buffer, column: Struct, at: int, stop: int, end: int, optional: bool) -> None:
    if not 4 <= at <= stop <= end:
        raise _DamagedError
    values = 0
    while at < stop:
        reader = _Reader(data, at, stop)
        header = reader.struct()
        written, whole = header[3], header[2]
        begin, at = reader.at, reader.at + written
        if written < 0 or at > stop or not 0 <= whole <= column[6]:
            raise _DamagedError
        _check_content(data, column, header, begin, at)
        if 7 in header:
            # Every value of a dictionary takes space, except booleans.
            if not 0 <= header[7][1] <= 8 * whole:
                raise _DamagedError
            continue
        page = header[5] if 5 in header else header[8]
        if page[1] < 0:
            raise _DamagedError
        if (
            page[1]
            and column.get(4) == _UNPACKED
            and len(column[3]) == 1
            and page[4 if 8 in header else 2] in _INDICES
        ):
            _check_indices(data, header, begin, at, optional)
        values += page[1]
    if values != column[5]:
        raise _DamagedError


def _check_content(data: Buffer, column: Struct, header: Struct, begin: int, end: int) -> None:
    """Compare a page with its checksum and, packed by gzip, with that of gzip."""
    if 4 in header and zlib.crc32(data[begin:end]) != header[4] & 0xFFFFFFFF:
        raise _DamagedError
    whole, newer = header[2], header.get(8, {})
    if column.get(4) != _GZIP or not newer.get(7, True) or not whole:
        return
    # Newer pages begin with levels, which are not packed.
    levels = newer.get(5, 0) + newer.get(6, 0)
    if not 0 <= levels <= min(whole, end - begin):
        raise _DamagedError
    if whole == levels:
        return
    unpack = zlib.decompressobj(wbits=31)
    try:
        content = unpack.decompress(data[begin + levels : end], whole - levels + 1)
    except zlib.error:
        raise _DamagedError from None
    if not unpack.eof or len(content) != whole - levels:
        raise _DamagedError


def _check_indices(data: Buffer, header: Struct, begin: int, end: int, optional: bool) -> None:
    """Refuse indices into a dictionary that take no bits and have no count, which polars takes for zeros."""
    if 8 in header:
        begin += header[8].get(5, 0) + header[8].get(6, 0)
    elif optional:
        begin += 4 + int.from_bytes(data[begin : begin + 4], "little")
    # Where all values are missing nothing follows, or only the number of bits.
    if begin + 1 >= end:
        return
    reader = _Reader(data, begin, end)
    if reader.byte() == 0 and reader.varint() < 2:
        raise _DamagedError


class _Reader:
    """Thrift's compact protocol, from a place in a file to another."""

    def __init__(self, data: Buffer, at: int, stop: int) -> None:
        self.data, self.at, self.stop = data, at, stop

    def struct(self, depth: int = 0) -> Struct:
        fields: Struct = {}
        number = 0
        while True:
            head = self.byte()
            if head == 0:
                return fields
            kind, step = head & 15, head >> 4
            number = number + step if step else self._integer()
            fields[number] = kind == _TRUE if kind in (_TRUE, _FALSE) else self._value(kind, depth + 1)

    def _value(self, kind: int, depth: int) -> Any:
        if depth > _DEEPEST:
            raise _DamagedError
        if kind in (_TRUE, _FALSE, _BYTE):
            return self.byte()
        if kind < _DOUBLE:
            return self._integer()
        if kind == _DOUBLE:
            return self._bytes(8)
        if kind == _BINARY:
            return self._bytes(self.varint())
        if kind in (_LIST, _SET):
            head = self.byte()
            size = head >> 4 if head >> 4 != 15 else self.varint()
            return self._items(size, head & 15, depth)
        if kind == _STRUCT:
            return self.struct(depth)
        raise _DamagedError  # Parquet has no maps

    def _items(self, size: int, kind: int, depth: int) -> list[Any]:
        if size > self.stop - self.at:
            raise _DamagedError
        return [self._value(kind, depth + 1) for _ in range(size)]

    def byte(self) -> int:
        if self.at >= self.stop:
            raise _DamagedError
        self.at += 1
        return self.data[self.at - 1]

    def varint(self) -> int:
        value = shift = 0
        while True:
            byte = self.byte()
            value |= (byte & 127) << shift
            if byte < 128:
                return value
            shift += 7
            if shift > 63:
                raise _DamagedError

    def _integer(self) -> int:
        value = self.varint()
        return (value >> 1) ^ -(value & 1)

    def _bytes(self, size: int) -> bytes:
        if size > self.stop - self.at:
            raise _DamagedError
        self.at += size
        return self.data[self.at - size : self.at]
