"""Thrift's compact protocol, in which Parquet writes its metadata."""

from __future__ import annotations

import mmap
from typing import Any

_DEEPEST = 64
# Kinds of fields.
_TRUE, _FALSE, _BYTE, _DOUBLE, _BINARY, _LIST, _SET, _STRUCT = 1, 2, 3, 7, 8, 9, 10, 12

Struct = dict[int, Any]
Buffer = bytes | mmap.mmap


class DamagedError(ValueError):
    """Something in a file cannot be as it is."""


class Reader:
    """Values from a place in a file to another."""

    def __init__(self, data: Buffer, at: int, stop: int) -> None:
        self.data, self.at, self.stop = data, at, stop

    def struct(self, depth: int = 0) -> Struct:
        """Return the fields of a struct, by number."""
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
            raise DamagedError
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
        raise DamagedError  # Parquet has no maps

    def _items(self, size: int, kind: int, depth: int) -> list[Any]:
        if size > self.stop - self.at:
            raise DamagedError
        return [self._value(kind, depth + 1) for _ in range(size)]

    def byte(self) -> int:
        """Return the next byte."""
        if self.at >= self.stop:
            raise DamagedError
        self.at += 1
        return self.data[self.at - 1]

    def varint(self) -> int:
        """Return the next whole number, of which every byte holds seven bits."""
        value = shift = 0
        while True:
            byte = self.byte()
            value |= (byte & 127) << shift
            if byte < 128:
                return value
            shift += 7
            if shift > 63:
                raise DamagedError

    def _integer(self) -> int:
        value = self.varint()
        return (value >> 1) ^ -(value & 1)

    def _bytes(self, size: int) -> bytes:
        if size > self.stop - self.at:
            raise DamagedError
        self.at += size
        return self.data[self.at - size : self.at]
