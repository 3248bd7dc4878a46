"""Exports of a study."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from jamrank.studio.snapshots import read_snapshot, report_name
from jamrank.studio.study import Study, as_toml

if TYPE_CHECKING:
    from jamrank.studio.web import Studio


@dataclass(frozen=True)
class Export:
    """A file: its type, what it holds, and what makes its text (None where there is nothing yet)."""

    type: str
    about: str
    make: Callable[[Studio], str | None]


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


def exports_of(study: Study) -> dict[str, Export]:
    """Return the files of a study by name; each criterion has a report of its own."""
    votes = "every vote that counts, in jamrank's own format, with time, order and how the pair was chosen"
    files = {
        "votes.csv": Export("text/csv", votes, _votes),
        "ranking.csv": Export("text/csv", "the ranking as of the last fit", partial(_found, "ranking.csv")),
        "annotators.csv": Export("text/csv", "the judges, by pseudonym", partial(_found, "annotators.csv")),
    }
    for place, criterion in enumerate(study.asked()):
        name = report_name(place)
        about = "the whole report as one file" + (f": {criterion.name}" if criterion.name else "")
        files[name] = Export("text/html", about, partial(_found, name))
    return {**files, "study.toml": Export("application/toml", "the settings", _settings)}
