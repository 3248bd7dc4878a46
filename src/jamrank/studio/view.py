"""The study as requests see it: its settings, whether it is open, its items and texts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from sqlalchemy import Connection

from jamrank.studio.catalogue import Listed, catalogue, load_study, read_setting
from jamrank.studio.items import media_origins
from jamrank.studio.study import Study
from jamrank.studio.texts import texts_of


@dataclass(frozen=True)
class View:
    """The current state of the study."""

    study: Study
    status: str
    items: Mapping[str, Listed]
    by_key: Mapping[str, Listed]
    origins: tuple[str, ...]
    texts: Mapping[str, str]
    version: str

    @cached_property
    def usable(self) -> frozenset[str]:
        """The items that are still compared."""
        return frozenset(id_ for id_, listed in self.items.items() if not listed.retired)

    @cached_property
    def votes_per_judge(self) -> int:
        """How many pairs a judge gets: as many as the study says, or all that there are."""
        usable = len(self.usable)
        pairs = usable * (usable - 1) // 2 * len(self.study.asked()) - len(self.study.practice)
        wanted = self.study.votes_per_judge
        return wanted if self.study.repeat_share else min(wanted, max(pairs, 1))


def read_view(connection: Connection) -> View:
    """Read the study from the database."""
    study = load_study(connection)
    items = catalogue(connection)
    return View(
        study,
        read_setting(connection, "state", "open"),
        {item.id: item for item in items},
        {item.key: item for item in items},
        media_origins(item.item for item in items),
        texts_of(study.texts),
        read_setting(connection, "version"),
    )
