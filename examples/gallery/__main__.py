"""Run the worked examples; what they print and draw is shown in the documentation.

``make gallery`` runs all of them and writes docs/gallery. Data sets are read from the folder that JAMRANK_DATA names.
"""

from __future__ import annotations

import contextlib
import importlib
import io
import os
import sys
import warnings
from pathlib import Path

import polars as pl

EXAMPLES = ("llm_jury", "crowd", "wine", "speech")
HERE = Path(__file__).parents[2] / "docs" / "gallery"


def run(name: str, data: Path, out: Path) -> str:
    """Run one example; write its picture and return what it printed."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), warnings.catch_warnings(record=True) as told, pl.Config() as config:
        warnings.simplefilter("always")
        config.set_tbl_hide_column_data_types(True)
        config.set_tbl_hide_dataframe_shape(True)
        config.set_tbl_width_chars(110)
        config.set_tbl_cols(-1)
        importlib.import_module(f"examples.gallery.{name}").main(data, out / f"{name}.png")
    notes = [f"warning: {warning.message}" for warning in told if "jamrank" in warning.category.__module__]
    return "\n".join([*dict.fromkeys(notes), printed.getvalue()]).strip() + "\n"


def main() -> None:
    folder = os.environ.get("JAMRANK_DATA")
    if not folder:
        sys.exit("JAMRANK_DATA should name the folder with the data sets")
    for name in sys.argv[1:] or EXAMPLES:
        text = run(name, Path(folder), HERE)
        (HERE / f"{name}.txt").write_text(text)
        sys.stdout.write(f"{name}\n{text}\n")


if __name__ == "__main__":
    main()
