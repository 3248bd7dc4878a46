"""Hostile input by kind: each kind is one function that draws a case, tries it and says how it ended."""

from __future__ import annotations

from benchmarks.hostile import bombs, commands, files, ids, model_files, numbers, parquet, renamed, scratch, text
from benchmarks.hostile.base import Case

__all__ = ["KINDS"]

# How many of a thousand cases are of a kind, and the function that tries one.
KINDS: dict[str, tuple[int, Case]] = {
    "files of every format": (170, files.case),
    "kinds of ids": (140, ids.case),
    "Parquet files": (50, parquet.case),
    "text and names": (486, text.case),
    "model files": (40, model_files.case),
    "numbers": (90, numbers.case),
    "renamed items and annotators": (10, renamed.case),
    "commands": (10, commands.case),
    "scratch files": (3, scratch.case),
    "bombs": (1, bombs.case),
}
