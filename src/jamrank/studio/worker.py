"""The process beside the server: it reads votes, fits, chooses pairs for each judge, and says how things stand."""

from __future__ import annotations

import json
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from threading import Event
from time import monotonic, time
from typing import Any

from sqlalchemy import Connection, Engine, delete, func, insert, select

from jamrank.collect.database import reading, writing
from jamrank.errors import JamrankError, JamrankWarning
from jamrank.studio import people
from jamrank.studio.analysis import Analysis, analyse, failed, fit_votes
from jamrank.studio.feed import Feed
from jamrank.studio.live import live_body
from jamrank.studio.snapshots import save_snapshot
from jamrank.studio.standin import BalancedChooser
from jamrank.studio.study import Study
from jamrank.studio.tables import QUEUE
from jamrank.studio.view import View, read_view

__all__ = ["Worker"]

# Pairs that wait for each judge at work, and for whoever comes.
_DEPTH = 5
_POOL = 30
_ACTIVE = 180.0
# Seconds between two passes, two fits, two drawings of the overview; more if a fit takes long.
_PAUSE = 0.3
_FIT_EVERY = 1.0
_SHOW_EVERY = 3.0
_OFTEN_RANDOM = ("random", "one-sided", "position-biased")


@dataclass
class Worker:
    """Fits and chooses until told to stop.

    Parameters
    ----------
    engine : Engine
        Of the ledger.
    """

    engine: Engine
    feed: Feed = field(default_factory=Feed)
    _models: dict[str, Any] = field(default_factory=dict)
    _choosers: dict[str, Any] = field(default_factory=dict)
    _analyses: dict[str, Analysis] = field(default_factory=dict)
    _careless: set[str] = field(default_factory=set)
    _version: str | None = None
    _fitted: float = 0.0
    _shown: float = 0.0
    _took: float = 0.0
    _unfitted: bool = True
    _unshown: bool = True

    def run(self, stop: Event) -> None:
        """Go on until `stop` is set."""
        while not stop.is_set():
            self.step()
            stop.wait(_PAUSE)

    def step(self) -> None:
        """Read what is new; fit, choose and show as far as it is time to."""
        with reading(self.engine) as connection:
            view = read_view(connection)
            changed = self.feed.update(connection)
            queued = _queued(connection)
            names = {judge.id: judge.name for judge in people.judges(connection)}
        if view.version != self._version:
            self._version, self._unfitted = view.version, True
            self._choosers.clear()
        self._unfitted |= changed
        if self._unfitted and monotonic() - self._fitted >= max(_FIT_EVERY, 2 * self._took):
            self._fit(view)
        if view.status == "open":
            self._fill(view, queued)
        if self._unshown and monotonic() - self._shown >= max(_SHOW_EVERY, 3 * self._took):
            self._show(view, names)

    # -- fits ---------------------------------------------------------------------------------------------------

    def _fit(self, view: View) -> None:
        begin = monotonic()
        for criterion in view.study.asked():
            frame = self.feed.frame(criterion.name)
            try:
                model, votes = fit_votes(frame, _gold(view.study, criterion.name))
            except JamrankError as error:
                self._models.pop(criterion.name, None)
                self._analyses[criterion.name] = failed(criterion.name, error)
            else:
                self._models[criterion.name] = (model, votes, monotonic() - begin)
            self._choosers[criterion.name] = self._chooser(view, criterion.name)
        self._took = monotonic() - begin
        self._fitted, self._unfitted, self._unshown = monotonic(), False, True

    def _chooser(self, view: View, criterion: str) -> Any:
        usable = [id_ for id_, listed in view.items.items() if not listed.retired]
        return BalancedChooser(items=usable)

    # -- queues -------------------------------------------------------------------------------------------------

    def _fill(self, view: View, queued: dict[str, int]) -> None:
        """Choose pairs for judges at work whose queue is short, and some for those who may come."""
        usable = sum(not listed.retired for listed in view.items.values())
        if usable < 2 or not self._choosers:
            return
        now, rows = time(), []
        at_work = sorted((at, judge) for judge, at in self.feed.seen.items() if at > now - _ACTIVE)
        for _, judge in reversed(at_work):
            rows += self._pairs_for(view, judge, _DEPTH - queued.get(judge, 0))
        rows += self._pairs_for(view, "", _POOL - queued.get("", 0))
        gone = [judge for judge in queued if judge and self.feed.seen.get(judge, 0.0) <= now - _ACTIVE]
        if not rows and not gone:
            return
        with writing(self.engine) as connection:
            if gone:
                connection.execute(delete(QUEUE).where(QUEUE.c.judge.in_(gone)))
            if rows:
                connection.execute(insert(QUEUE), rows)

    def _pairs_for(self, view: View, judge: str, missing: int) -> list[dict[str, Any]]:
        names = [criterion.name for criterion in view.study.asked()]
        given = self.feed.given.get(judge, set())
        rows: list[dict[str, Any]] = []
        for number in range(max(missing, 0)):
            criterion = names[(len(given) + number) % len(names)]
            for _ in range(5):
                one = self._choosers[criterion].next(judge)
                if (min(one.left, one.right), max(one.left, one.right), criterion) not in given:
                    rows.append(_row(judge, one, criterion))
                    break
        return rows

    # -- what is shown ------------------------------------------------------------------------------------------

    def _show(self, view: View, names: dict[str, str]) -> None:
        begin = monotonic()
        for criterion, (model, votes, seconds) in self._models.items():
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", JamrankWarning)
                self._analyses[criterion] = analyse(model, votes, view.study, criterion, seconds)
        asked = [criterion.name for criterion in view.study.asked()]
        analyses = [self._analyses[name] for name in asked if name in self._analyses]
        statuses = {name: self._choosers[name].status() for name in asked if name in self._models}
        usable = sum(not listed.retired for listed in view.items.values())
        body = live_body(self.feed, view.study, usable, names, analyses, statuses)
        with writing(self.engine) as connection:
            save_snapshot(connection, "live", json.dumps(body, ensure_ascii=False))
            for name in ("ranking", "annotators", "report"):
                text = _joined([getattr(analysis, name) for analysis in analyses if analysis.model is not None], name)
                if text:
                    save_snapshot(connection, f"{name}.{'html' if name == 'report' else 'csv'}", text)
        self._took = max(self._took, monotonic() - begin)
        self._shown, self._unshown = monotonic(), False


def _gold(study: Study, criterion: str) -> list[tuple[str, str]]:
    first = study.asked()[0].name
    return [(pair.better, pair.worse) for pair in study.gold if (pair.criterion or first) == criterion]


def _joined(texts: Sequence[str], name: str) -> str:
    return "\n".join(texts) if name != "report" else "\n".join(texts[:1])


def _queued(connection: Connection) -> dict[str, int]:
    rows = connection.execute(select(QUEUE.c.judge, func.count()).group_by(QUEUE.c.judge))
    return {row[0]: row[1] for row in rows}


def _row(judge: str, one: Any, criterion: str) -> dict[str, Any]:
    return {
        "judge": judge,
        "left": one.left,
        "right": one.right,
        "criterion": criterion,
        "purpose": "vote",
        "strategy": one.strategy,
        "probability": one.probability,
        "made": time(),
    }
