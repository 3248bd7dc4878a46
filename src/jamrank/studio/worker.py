"""The worker process: it reads votes, fits, chooses pairs for each judge, and updates the overview."""

from __future__ import annotations

import json
import warnings
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from threading import Event
from time import monotonic, time
from typing import Any

from sqlalchemy import Connection, Engine, delete, insert, select

from jamrank.collect import Ledger
from jamrank.collect.database import reading, writing
from jamrank.errors import JamrankError, JamrankWarning
from jamrank.studio import people
from jamrank.studio.analysis import Analysis, analyse, failed, fit_votes
from jamrank.studio.ballots import Pair
from jamrank.studio.choosing import PairSource, known_pairs
from jamrank.studio.feed import Feed
from jamrank.studio.live import live_body
from jamrank.studio.snapshots import report_name, save_snapshot
from jamrank.studio.tables import QUEUE
from jamrank.studio.view import View, read_view

# Size of the shared queue.
_POOL = 30
_ACTIVE = 180.0
_RECENT = 30.0
# Pairs chosen in one pass, so that the next fit is not delayed.
_AT_ONCE = 100
# Seconds between two passes, and from one overview to the next fit; at least as long as the overview took.
_PAUSE = 0.3
_SHOW_EVERY = 3.0
_EXPIRE_EVERY = 15.0
# Judges with these verdicts get easy and gold pairs.
_CARELESS = ("random", "one-sided", "position-biased")


@dataclass
class Worker:
    """Fits and chooses until it is stopped.

    engine: Of the ledger.
    depth: Largest queue of a judge; shorter for slow judges.
    """

    engine: Engine
    depth: int = 6
    feed: Feed = field(default_factory=Feed)
    _models: dict[str, Any] = field(default_factory=dict)
    _sources: dict[str, PairSource] = field(default_factory=dict)
    _analyses: dict[str, Analysis] = field(default_factory=dict)
    _careless: set[str] = field(default_factory=set)
    _version: str | None = None
    _expired: float = 0.0
    _shown: float = 0.0
    _show_took: float = 0.0
    _unshown: bool = True

    def run(self, stop: Event) -> None:
        """Run until `stop` is set."""
        while not stop.is_set():
            self.step()
            stop.wait(_PAUSE)

    def step(self, now: bool = False) -> None:
        """Read new events; fit, choose and update what is due, or everything if `now`."""
        if now or monotonic() - self._expired >= _EXPIRE_EVERY:
            self._expire()
        with reading(self.engine) as connection:
            view = read_view(connection)
            news = self.feed.update(connection)
            queued = _queued(connection)
            names = {judge.id: judge.name for judge in people.judges(connection)}
        if view.version != self._version or news.undone:
            self._version, self._unshown = view.version, True
            self._start_choosing(view)
        else:
            for source in self._sources.values():
                source.tell(news.votes)
            for judge, left, right, criterion in news.expired:
                if criterion in self._sources:
                    self._sources[criterion].drop(judge, [(left, right)])
        self._unshown |= bool(news)
        if view.status == "open":
            self._fill(view, queued, names)
        if self._unshown and (now or monotonic() - self._shown >= max(_SHOW_EVERY, self._show_took)):
            begin = monotonic()
            self._fit(view)
            self._show(view, names)
            self._shown, self._unshown = monotonic(), False
            self._show_took = self._shown - begin

    def _expire(self) -> None:
        """End what nobody answered in time, so that others can be asked; an answer that comes later still counts."""
        ledger = Ledger(self.engine, time)
        models = {one.id for one in ledger.annotators() if one.kind == "model"}
        ledger.expire([lease for lease in ledger.leases(expired=True) if lease.annotator not in models])
        self._expired = monotonic()

    # -- fits ---------------------------------------------------------------------------------------------------

    def _fit(self, view: View) -> None:
        for criterion in view.study.asked():
            begin, name, frame = monotonic(), criterion.name, self.feed.frame(criterion.name)
            try:
                model, votes = fit_votes(frame, known_pairs(view.study, name))
            except JamrankError as error:
                self._models.pop(name, None)
                self._analyses[name] = failed(name, error)
            else:
                self._models[name] = (model, votes, monotonic() - begin)

    # -- queues -------------------------------------------------------------------------------------------------

    def _start_choosing(self, view: View) -> None:
        usable = [id_ for id_, listed in view.items.items() if not listed.retired]
        self._sources = {}
        if len(usable) < 2:
            return
        for criterion in view.study.asked():
            votes = self.feed.counted(criterion.name)
            self._sources[criterion.name] = PairSource(view.study, criterion.name, usable, votes)

    def _fill(self, view: View, queued: dict[str, list[tuple[str, str, str]]], people: Mapping[str, str]) -> None:
        """Choose pairs for people at work with short queues, and for the shared queue."""
        if not self._sources:
            return
        now, rows = time(), []
        recent = Counter(vote.judge for vote in self.feed.latest(now - _RECENT))
        at_work = {judge: at for judge, at in self.feed.seen.items() if at > now - _ACTIVE and judge in people}
        for judge in sorted(at_work, key=lambda judge: (len(queued.get(judge, ())), -at_work[judge])):
            depth = min(1 + recent[judge] // 5, self.depth)
            rows += self._pairs_for(view, judge, depth - len(queued.get(judge, ())), queued.get(judge, []))
            if len(rows) >= _AT_ONCE:
                break
        missing = (_POOL - len(queued.get("", ()))) // len(self._sources)
        if missing > _POOL // 2:
            rows += [_row("", pair) for source in self._sources.values() for pair in source.pool(missing)]
        gone = [judge for judge in queued if judge and judge not in at_work]
        for judge in gone:
            for left, right, criterion in queued[judge]:
                if criterion in self._sources:
                    self._sources[criterion].drop(judge, [(left, right)])
        if not rows and not gone:
            return
        with writing(self.engine) as connection:
            if gone:
                connection.execute(delete(QUEUE).where(QUEUE.c.judge.in_(gone)))
            if rows:
                connection.execute(insert(QUEUE), rows)

    def _pairs_for(
        self, view: View, judge: str, missing: int, waiting: Sequence[tuple[str, str, str]]
    ) -> list[dict[str, Any]]:
        if missing <= 0:
            return []
        given = self.feed.given.get(judge, set()) | {(min(a, b), max(a, b), c) for a, b, c in waiting}
        names = list(self._sources)
        first = len(given) % len(names)
        rows: list[dict[str, Any]] = []
        for number in range(missing):
            source = self._sources[names[(first + number) % len(names)]]
            choose = source.checks_for if judge in self._careless else source.pairs_for
            rows += [_row(judge, pair) for pair in choose(judge, 1, given)]
        return rows

    # -- what is shown ------------------------------------------------------------------------------------------

    def _show(self, view: View, names: dict[str, str]) -> None:
        for criterion, (model, votes, seconds) in self._models.items():
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", JamrankWarning)
                self._analyses[criterion] = analyse(model, votes, view.study, criterion, seconds)
        self._careless = {
            judge
            for analysis in self._analyses.values()
            for judge, (verdict, _) in analysis.verdicts.items()
            if verdict in _CARELESS
        }
        asked = [criterion.name for criterion in view.study.asked()]
        analyses = [self._analyses[name] for name in asked if name in self._analyses]
        statuses = {
            name: self._sources[name].status() for name in asked if name in self._models and name in self._sources
        }
        usable = sum(not listed.retired for listed in view.items.values())
        body = live_body(self.feed, view.study, usable, names, analyses, statuses)
        with writing(self.engine) as connection:
            save_snapshot(connection, "live", json.dumps(body, ensure_ascii=False))
            for name in ("ranking", "annotators"):
                text = _joined([getattr(analysis, name) for analysis in analyses if analysis.model is not None])
                if text:
                    save_snapshot(connection, f"{name}.csv", text)
            for analysis in analyses:
                if analysis.report:
                    save_snapshot(connection, report_name(asked.index(analysis.criterion)), analysis.report)


def _joined(texts: Sequence[str]) -> str:
    """Return the tables of all criteria as one; only some may have a column of groups."""
    import polars as pl

    if len(texts) < 2:
        return "".join(texts)
    tables = [pl.read_csv(text.encode(), infer_schema=False) for text in texts]
    return str(pl.concat(tables, how="diagonal").write_csv())


def _queued(connection: Connection) -> dict[str, list[tuple[str, str, str]]]:
    queued: dict[str, list[tuple[str, str, str]]] = {}
    for judge, *pair in connection.execute(select(QUEUE.c.judge, QUEUE.c.left, QUEUE.c.right, QUEUE.c.criterion)):
        queued.setdefault(judge, []).append((pair[0], pair[1], pair[2]))
    return queued


def _row(judge: str, pair: Pair) -> dict[str, Any]:
    return {
        "judge": judge,
        "left": pair.left,
        "right": pair.right,
        "criterion": pair.criterion,
        "purpose": pair.purpose,
        "strategy": pair.strategy,
        "probability": pair.probability,
        "made": time(),
    }
