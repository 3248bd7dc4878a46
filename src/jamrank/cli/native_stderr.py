"""Standard error of native libraries, held back while files are read.

polars reports a panic over a damaged Parquet file on standard error by itself, before it raises. The command line
owns its process and may hold that text back, so that a user sees one line; the library never touches the descriptor.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager

from jamrank.errors import JamrankError


@contextmanager
def held_back() -> Iterator[None]:
    """Collect what is written to standard error; drop it if the block ends in an error that says it in one line."""
    try:
        original = os.dup(2)
    except OSError:  # there is no standard error
        yield
        return
    with tempfile.TemporaryFile() as held:
        os.dup2(held.fileno(), 2)
        dropped = False
        try:
            yield
        except JamrankError:
            dropped = True
            raise
        finally:
            os.dup2(original, 2)
            os.close(original)
            held.seek(0)
            text = held.read()
            if text and not dropped:
                os.write(2, text)
