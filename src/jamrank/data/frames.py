"""Data frames of any library in, pandas or polars frames out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import polars as pl

from jamrank.errors import InputError

if TYPE_CHECKING:
    import narwhals as nw


def open_frame(frame: Any, error: type[InputError]) -> nw.DataFrame[Any]:
    """Return a user's data frame behind one interface, whichever library it is from."""
    import narwhals as nw

    try:
        return nw.from_native(frame, eager_only=True)
    except TypeError:
        raise error(
            f"a {type(frame).__name__} where a data frame should be",
            "give a pandas, polars or arrow frame (collect() a lazy one; files are for read_comparisons)",
        ) from None


def native_columns(frame: Any, error: type[InputError]) -> tuple[dict[str, Any], Literal["pandas", "polars"]]:
    """Return the columns of a user's data frame as its library has them, and which: pandas, or else polars."""
    if isinstance(frame, pl.DataFrame):
        return {column.name: column for column in frame.get_columns()}, "polars"
    table = open_frame(frame, error)
    columns = {name: table.get_column(name).to_native() for name in table.columns}
    return columns, "pandas" if table.implementation.is_pandas() else "polars"


def make_frame(columns: dict[str, Any], library: str) -> Any:
    """Return a pandas or polars frame of the columns."""
    plain = {name: values.tolist() if values.dtype.kind == "O" else values for name, values in columns.items()}
    if library == "pandas":
        import pandas as pd

        return pd.DataFrame(plain)
    return pl.DataFrame(plain, strict=False)
