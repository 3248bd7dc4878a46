"""How many threads BLAS uses: one where matrices are small, whose threads would only wait for each other."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

# Rows of a matrix from which on further threads save time.
_LARGE = 1500


@contextmanager
def blas_threads(n_rows: int) -> Iterator[None]:
    """Give BLAS one thread while matrices have at most some 1,500 rows, and leave it alone otherwise."""
    if n_rows > _LARGE:
        yield
        return
    with _controller().limit(limits=1, user_api="blas"):
        yield


@cache
def _controller() -> Any:
    import numpy.linalg  # noqa: F401
    import scipy.linalg  # noqa: F401
    from threadpoolctl import ThreadpoolController

    # Sees the libraries that are loaded now: those of numpy and of scipy.
    return ThreadpoolController()
