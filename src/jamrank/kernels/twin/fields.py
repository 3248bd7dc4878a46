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

    Of the lines that were scanned last, `n_lines` is their number, and `ascii` whether the text is all ASCII.
    """

    def __init__(self, delimiter: int, kinds: Sequence[int]) -> None:
        self._delimiter, self._kinds = delimiter, list(kinds)
        self._codes: list[dict[bytes, int]] = [{} for _ in range(max(kinds) + 1)]
        self._columns: list[list[int]] = []
        self.n_lines, self.ascii = 0, True

    def scan(self, text: NDArray[np.uint8], threads: int) -> int:
        """Code the fields of the whole lines at the beginning of a text, -1 for empty ones.

        Returns: How many bytes these lines have, or -1 where one is irregular, or a byte is zero.
        """
        self.n_lines, self.ascii = 0, bool((text < 128).all())
        if not text.all():
            return -1
        inside = np.logical_xor.accumulate(text == _QUOTE)
        ends = np.flatnonzero((text == _NEWLINE) & ~inside)
        size = int(ends[-1]) + 1 if len(ends) else 0
        text, inside, width = text[:size], inside[:size], len(self._kinds)
        n_lines = regular_lines(text, self._delimiter, width, threads) if size else 0
        if n_lines < 0:
            return -1
        ends = np.flatnonzero(((text == self._delimiter) | (text == _NEWLINE)) & ~inside)
        data = text.tobytes()
        fields = [data[begin:end] for begin, end in zip([0, *(ends[:-1] + 1)], ends, strict=False)]
        self._columns = [
            [self._code(self._codes[kind], field) for field in fields[column::width]] if kind >= 0 else []
            for column, kind in enumerate(self._kinds)
        ]
        self.n_lines = n_lines
        return size

    def column(self, column: int, codes: NDArray[Any], threads: int) -> tuple[int, int]:
        """Write the codes of one column of the lines that were scanned last; return the lowest and the highest."""
        codes[:] = self._columns[column]
        return int(codes.min(initial=0)), int(codes.max(initial=-1))

    def n_words(self, kind: int) -> int:
        """Return how many distinct words of a kind there are."""
        return len(self._codes[kind])

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
