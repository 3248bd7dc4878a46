"""What LLM judges need to know of a study: its items, and the question that they are asked."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from pathlib import Path
from time import time

from sqlalchemy import inspect

from jamrank.collect import Item, Ledger
from jamrank.collect.database import locate, open_engine, reading
from jamrank.errors import InputError
from jamrank.studio.catalogue import load_study, read_setting
from jamrank.studio.study import Study
from jamrank.studio.tables import SETTINGS


@dataclass(frozen=True)
class Brief:
    """A study as LLM judges are asked about it.

    items: Those of the study, with the paths of their files.
    question: What is asked.
    criterion: The name under which votes are recorded; empty where there is a single question.
    """

    items: list[Item]
    question: str
    criterion: str


def read_brief(where: str | os.PathLike[str], criterion: str = "") -> Brief | None:
    """Return the items and the question of the study in a ledger; None if the ledger has no study.

    where: The ledger.
    criterion: The name of the criterion, where a study has several.
    Raises InputError: If the study has several criteria and none of that name.
    """
    engine = open_engine(locate(where), create=False)
    try:
        with reading(engine) as connection:
            if not inspect(connection).has_table(SETTINGS.name) or not read_setting(connection, "study"):
                return None
            study, media = load_study(connection), Path(read_setting(connection, "media", "."))
        items = [item for item in Ledger(engine, time).items() if "key" in item.details]
    finally:
        engine.dispose()
    placed = [item if item.path is None else replace(item, path=str(media / item.path)) for item in items]
    return Brief(placed, *_asked(study, criterion, str(where)))


def _asked(study: Study, criterion: str, source: str) -> tuple[str, str]:
    """Return the question and the name of a criterion; the words of a single one may be replaced."""
    if not study.criteria:
        return criterion or study.question, ""
    names = [one.name for one in study.criteria]
    if criterion not in names:
        found = f"the study has the criteria {', '.join(names)}"
        raise InputError(found, "name one of them with --criterion", source=source)
    return study.question_of(criterion), criterion
