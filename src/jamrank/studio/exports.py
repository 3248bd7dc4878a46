"""Exports of a study."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from jamrank.studio.snapshots import read_snapshot
from jamrank.studio.study import as_toml

if TYPE_CHECKING:
    from jamrank.studio.web import Studio

__all__ = ["EXPORTS"]

Export = Callable[["Studio"], str | None]


def _votes(studio: Studio) -> str:
    """Write every valid vote of any purpose, from the ledger."""
    from jamrank.collect.votes import votes_frame

    with studio.database.read() as connection:
        frame = votes_frame(connection, ("vote", "gold", "repeat"), 0)
    empty = [name for name in ("question", "criterion") if (frame[name] == "").all()]
    text: str = frame.drop(empty).write_csv()
    return text


def _found(name: str, studio: Studio) -> str | None:
    with studio.database.read() as connection:
        return read_snapshot(connection, name)


def _settings(studio: Studio) -> str:
    return as_toml(studio.view().study)


# By file name: its type, and the function that creates it (None if there is nothing yet).
EXPORTS: dict[str, tuple[str, Export]] = {
    "votes.csv": ("text/csv", _votes),
    "ranking.csv": ("text/csv", partial(_found, "ranking.csv")),
    "annotators.csv": ("text/csv", partial(_found, "annotators.csv")),
    "report.html": ("text/html", partial(_found, "report.html")),
    "study.toml": ("application/toml", _settings),
}
