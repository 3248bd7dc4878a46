"""Numpy twins of what turns the fields of a text file, and columns of text, into codes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from jamrank.kernels.twin.encoding import regular_lines
from jamrank.typing import Int32Array

_QUOTE, _NEWLINE = ord('"'), ord("\n")


class FieldCodes:
    """Codes of the fields of whole lines, which come part by part.

    delimiter: Between two fields.
    kinds: Which columns share their codes; one number for each column, from 0, or -1 for one that is passed
        over.
    """

    def __init__(self, delimiter: int, kinds: Sequence[int]) -> None:
        self._delimiter, self._kinds = delimiter, list(kinds)
        self._codes: list[dict[bytes, int]] = [{} for _ in range(max(kinds) + 1)]
        self._columns: list[list[int]] = []

    def scan(self, text: NDArray[np.uint8], threads: int) -> int:
        """Code the fields of a part of the text, -1 for empty ones.

        Returns: How many lines it has, or -1 where one is irregular.
        """
        n_lines = regular_lines(text, self._delimiter, len(self._kinds), threads) if len(text) else 0
        if n_lines <= 0:
            return n_lines
        inside = np.logical_xor.accumulate(text == _QUOTE)
        ends = np.flatnonzero(((text == self._delimiter) | (text == _NEWLINE)) & ~inside)
        data, width = text.tobytes(), len(self._kinds)
        fields = [data[begin:end] for begin, end in zip([0, *(ends[:-1] + 1)], ends, strict=True)]
        self._columns = [
            [self._code(self._codes[kind], field) for field in fields[column::width]] if kind >= 0 else []
            for column, kind in enumerate(self._kinds)
        ]
        return n_lines

    def column(self, column: int, codes: Int32Array, threads: int) -> None:
        """Write the codes of one column of the lines that were scanned last."""
        codes[:] = self._columns[column]

    def words(self, kind: int) -> list[str]:
        """Return the distinct words of a kind, by code."""
        return [word.decode() for word in self._codes[kind]]

    @staticmethod
    def _code(codes: dict[bytes, int], field: bytes) -> int:
        word = field.removesuffix(b"\r")
        if word.startswith(b'"'):
            word = word[1:-1].replace(b'""', b'"')
        return codes.setdefault(word, len(codes)) if word else -1


class TextCodes:
    """Codes of columns of text in arrow's memory, which come part by part."""

    def __init__(self) -> None:
        self._codes: dict[str, int] = {}

    def code(self, column: Any, codes: Int32Array, threads: int) -> None:
        """Write the code of each text, -1 for a missing one.

        column: Of polars, or whatever else gives its texts as arrow does.
        """
        texts = column.to_list()
        codes[:] = [-1 if text is None else self._codes.setdefault(text, len(self._codes)) for text in texts]

    def words(self) -> list[str]:
        """Return the distinct texts, by code."""
        return list(self._codes)
