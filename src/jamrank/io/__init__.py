"""Files in and out: tables of votes and features, JSON documents, atomic writing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jamrank.registry import importing

if TYPE_CHECKING:
    from jamrank.io.canonical import read_families, read_features, read_gold
    from jamrank.io.documents import (
        check_folder,
        ensure_folder,
        write_atomically,
    )
    from jamrank.io.model_files import is_model_file
    from jamrank.io.out_of_core.store import StoredComparisons, store_comparisons
    from jamrank.io.publish import begins_with, publish_run, recover_run, write_together
    from jamrank.io.read_log import ReadLog
    from jamrank.io.reader import read_comparisons, read_groups
    from jamrank.io.tables import read_table

__all__ = [
    "ReadLog",
    "StoredComparisons",
    "begins_with",
    "check_folder",
    "ensure_folder",
    "is_model_file",
    "publish_run",
    "read_comparisons",
    "read_families",
    "read_features",
    "read_gold",
    "read_groups",
    "read_table",
    "recover_run",
    "store_comparisons",
    "write_atomically",
    "write_together",
]

if not TYPE_CHECKING:
    __getattr__ = importing(
        __name__,
        {
            "canonical": "read_families read_features read_gold",
            "documents": "check_folder ensure_folder write_atomically",
            "model_files": "is_model_file",
            "out_of_core.store": "StoredComparisons store_comparisons",
            "publish": "begins_with publish_run recover_run write_together",
            "read_log": "ReadLog",
            "reader": "read_comparisons read_groups",
            "tables": "read_table",
        },
    )
