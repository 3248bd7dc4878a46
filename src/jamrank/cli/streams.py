"""Standard output and error of the command: unusual encodings and closed pipes."""

from __future__ import annotations

import io
import sys
from typing import TextIO


class _Pipe(io.FileIO):
    """A file descriptor whose reader may go away: what is written after that is dropped.

    The command continues and returns its own exit code: ``jamrank fit … --out results | head`` writes its results.
    """

    def write(self, data: object, /) -> int:
        try:
            return super().write(data)  # type: ignore[arg-type]
        except BrokenPipeError:
            return len(memoryview(data))  # type: ignore[arg-type]


def prepare_streams() -> None:
    """Replace standard output and error, unless already replaced."""
    sys.stdout, sys.stderr = _prepared(sys.stdout, 1), _prepared(sys.stderr, 2)


def _prepared(stream: TextIO, descriptor: int) -> TextIO:
    if not isinstance(stream, io.TextIOWrapper):
        return stream
    # Characters that the terminal does not have become question marks.
    stream.reconfigure(errors="replace")
    try:
        if stream.fileno() != descriptor:
            return stream
        stream.flush()
    except (OSError, ValueError):
        return stream
    pipe = io.BufferedWriter(_Pipe(descriptor, "w", closefd=False))
    buffered = not stream.line_buffering
    return io.TextIOWrapper(pipe, stream.encoding, "replace", line_buffering=not buffered)
