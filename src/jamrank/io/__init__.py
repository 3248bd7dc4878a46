"""Files in and out: tables of votes and features, JSON documents, writing that leaves nothing half done."""

from __future__ import annotations

from jamrank.io.canonical import read_features
from jamrank.io.documents import (
    check_folder,
    ensure_folder,
    read_document,
    write_atomically,
    write_document,
    write_together,
)
from jamrank.io.reader import read_comparisons
from jamrank.io.reading import Reading
from jamrank.io.store import StoredComparisons, store_comparisons
from jamrank.io.tables import read_table

__all__ = [
    "Reading",
    "StoredComparisons",
    "check_folder",
    "ensure_folder",
    "read_comparisons",
    "read_document",
    "read_features",
    "read_table",
    "store_comparisons",
    "write_atomically",
    "write_document",
    "write_together",
]
