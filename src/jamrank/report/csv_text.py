"""Tables as CSV text, if need be safe to open in a spreadsheet."""

from __future__ import annotations

import polars as pl

# A spreadsheet takes a cell that begins with one of these for a formula.
_FORMULA = r"^[=+\-@\t\r]"


def csv_text(frame: pl.DataFrame, spreadsheet_safe: bool = False) -> str:
    """Return a table as CSV.

    frame: The table.
    spreadsheet_safe: Whether to put an apostrophe before text that a spreadsheet would run as a formula. Such ids are
        changed then, so that they no longer match those in other files.
    """
    if not spreadsheet_safe:
        return frame.write_csv()
    text = pl.col(pl.String)
    safe = frame.with_columns(pl.when(text.str.contains(_FORMULA)).then("'" + text).otherwise(text).name.keep())
    heads = {name: f"'{name}" for name in frame.columns if name[:1] in "=+-@\t\r" and name}
    return safe.rename(heads).write_csv()
