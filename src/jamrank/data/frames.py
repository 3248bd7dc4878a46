"""Data frames of any library in, pandas or polars frames out."""

from __future__ import annotations

from typing import Any

import narwhals as nw
import polars as pl

from jamrank.errors import InputError

__all__ = ["make_frame", "open_frame"]


def open_frame(frame: Any, error: type[InputError]) -> nw.DataFrame[Any]:
    """Return a user's data frame behind one interface, whichever library it is from."""
    try:
        return nw.from_native(frame, eager_only=True)
    except TypeError:
        raise error(
            f"a {type(frame).__name__} where a data frame should be",
            "give a pandas, polars or arrow frame (collect() a lazy one; files are for read_comparisons)",
        ) from None


def make_frame(columns: dict[str, Any], library: str) -> Any:
    """Return a pandas or polars frame of the columns."""
    plain = {name: values.tolist() if values.dtype.kind == "O" else values for name, values in columns.items()}
    if library == "pandas":
        import pandas as pd

        return pd.DataFrame(plain)
    return pl.DataFrame(plain, strict=False)
