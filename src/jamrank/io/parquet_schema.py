"""Fields that the metadata of a Parquet file must have, by their numbers in the format's definition.

polars reads metadata without them, and panics at kinds that the format does not have. Other readers refuse such a
file: a number in it was damaged.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from jamrank.io.thrift import DamagedError, Struct


@dataclass(frozen=True)
class Fields:
    """Fields of a struct and what they hold: a type, a range of numbers, other fields, or a list of one of these."""

    required: dict[int, Any]
    optional: dict[int, Any] = field(default_factory=dict)

    def require(self, struct: Struct) -> None:
        """Raise DamagedError where a required field is missing, here or in a struct within."""
        for number, kind in self.required.items():
            if number not in struct:
                raise DamagedError
            _require(struct[number], kind)
        for number, kind in self.optional.items():
            if number in struct:
                _require(struct[number], kind)


def _require(value: Any, kind: Any) -> None:
    if isinstance(kind, Fields):
        if not isinstance(value, dict):
            raise DamagedError
        kind.require(value)
    elif isinstance(kind, list):
        if not isinstance(value, list):
            raise DamagedError
        for one in value:
            _require(one, kind[0])
    elif isinstance(kind, range):
        if type(value) is not int or value not in kind:
            raise DamagedError
    elif type(value) is not kind:
        raise DamagedError


_TYPE, _REPETITION, _ENCODING, _CODEC, _PAGE_KIND = range(8), range(3), range(10), range(8), range(4)
_SCHEMA_ELEMENT = Fields({4: bytes}, {1: _TYPE, 2: int, 3: _REPETITION, 5: int, 6: int, 7: int, 8: int, 9: int})
_KEY_VALUE = Fields({1: bytes}, {2: bytes})
_SORTING_COLUMN = Fields({1: int, 2: bool, 3: bool})
_ENCODING_STATISTICS = Fields({1: _PAGE_KIND, 2: _ENCODING, 3: int})
_COLUMN = Fields(
    {1: _TYPE, 2: [_ENCODING], 3: [bytes], 4: _CODEC, 5: int, 6: int, 7: int, 9: int},
    {8: [_KEY_VALUE], 10: int, 11: int, 12: Fields({}), 13: [_ENCODING_STATISTICS], 14: int, 15: int},
)
_CHUNK = Fields({2: int}, {1: bytes, 3: _COLUMN, 4: int, 5: int, 6: int, 7: int})
_ROW_GROUP = Fields({1: [_CHUNK], 2: int, 3: int}, {4: [_SORTING_COLUMN], 5: int, 6: int, 7: int})
FILE = Fields({1: int, 2: [_SCHEMA_ELEMENT], 3: int, 4: [_ROW_GROUP]}, {5: [_KEY_VALUE], 6: bytes})
PAGE = Fields(
    {1: _PAGE_KIND, 2: int, 3: int},
    {
        4: int,
        5: Fields({1: int, 2: _ENCODING, 3: _ENCODING, 4: _ENCODING}, {5: Fields({})}),
        7: Fields({1: int, 2: _ENCODING}, {3: bool}),
        8: Fields({1: int, 2: int, 3: int, 4: _ENCODING, 5: int, 6: int}, {7: bool, 8: Fields({})}),
    },
)
