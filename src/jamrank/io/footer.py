"""Whether a Parquet file is consistent, before polars reads it.

polars trusts the numbers in the metadata: a damaged one can make it allocate too much memory, which kills the
process. So the footer and the page headers are checked first: sizes must fit into the file, and counts must agree
with each other. What pages hold is checked in `pages`. Other values are not checked.
"""

from __future__ import annotations

from dataclasses import dataclass

from jamrank.io.pages import check_page
from jamrank.io.parquet_schema import FILE, PAGE
from jamrank.io.thrift import Buffer, DamagedError, Reader, Struct

_MAGIC = b"PAR1"
_OPTIONAL = 1


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


def examine(data: Buffer) -> dict[tuple[str, ...], Facts] | None:
    """Check the metadata of a Parquet file: sizes must fit into the file, and counts must agree.

    data: The file; of a large memory map only the footer and the headers of the pages are read.
    Returns: Facts about each column, by its path; None if the file is inconsistent.
    """
    if len(data) < 12 or data[:4] != _MAGIC or data[-4:] != _MAGIC:
        return None
    size = int.from_bytes(data[-8:-4], "little")
    begin = len(data) - 8 - size
    if begin < 4:
        return None
    try:
        footer = Reader(data, begin, len(data) - 8).struct()
        FILE.require(footer)
        groups = footer[4]
        # Values of these may be missing, and pages begin with which are.
        optional: set[tuple[bytes, ...]] = {(field[4],) for field in footer[2] if field.get(3) == _OPTIONAL}
        for group in groups:
            _check_group(data, group, begin, optional)
        if footer.get(3) != sum(group[3] for group in groups):
            return None
        return _facts(groups)
    except (DamagedError, KeyError, TypeError, IndexError, AttributeError, UnicodeDecodeError):
        return None


def _facts(groups: list[Struct]) -> dict[tuple[str, ...], Facts]:
    facts: dict[tuple[str, ...], Facts] = {}
    for group in groups:
        for chunk in group[1]:
            path = tuple(part.decode() for part in chunk[3][3])
            statistics = chunk[3].get(12, {})
            missing, low, high = (statistics.get(field) for field in (3, 6, 5))
            if not isinstance(missing, int | None) or not all(isinstance(end, bytes | None) for end in (low, high)):
                raise DamagedError
            here = Facts(missing, low, high)
            facts[path] = facts[path].joined(here) if path in facts else here
    return facts


def _check_group(data: Buffer, group: Struct, end: int, optional: set[tuple[bytes, ...]]) -> None:
    for chunk in group[1]:
        column = chunk[3]
        if not 0 <= group[3] <= column[5]:
            raise DamagedError
        if column[5] == column[7] == 0:
            continue  # no values, in no place
        # A dictionary comes before the pages that use it.
        offsets = [offset for offset in (column.get(11), column[9]) if offset is not None and offset > 0]
        first = min(offsets, default=0)
        _check_pages(data, column, first, first + column[7], end, tuple(column[3]) in optional)


def _check_pages(data: Buffer, column: Struct, at: int, stop: int, end: int, optional: bool) -> None:
    if not 4 <= at <= stop <= end:
        raise DamagedError
    values = 0
    while at < stop:
        reader = Reader(data, at, stop)
        header = reader.struct()
        PAGE.require(header)
        written, whole = header[3], header[2]
        begin, at = reader.at, reader.at + written
        if written < 0 or at > stop or not 0 <= whole <= column[6]:
            raise DamagedError
        check_page(data, column, header, begin, at, optional)
        if 7 in header:
            # Every value of a dictionary takes space, except booleans.
            if not 0 <= header[7][1] <= 8 * whole:
                raise DamagedError
            continue
        own = header[5 if 5 in header else 8][1]
        if own < 0:
            raise DamagedError
        values += own
    if values != column[5]:
        raise DamagedError
