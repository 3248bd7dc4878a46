"""The worker's view of the ledger: all events, read incrementally, as votes and facts about judges."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from statistics import median
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection, select

from jamrank.collect.schema import events
from jamrank.collect.source import with_grades
from jamrank.studio.study import Study

if TYPE_CHECKING:
    import polars as pl

_COLUMNS = [
    events.c[name]
    for name in (
        *("id", "time", "kind", "annotator", "left", "right", "criterion", "purpose"),
        *("refers", "outcome", "strength", "seconds", "cost"),
    )
]
_BATCH = 20_000


@dataclass(frozen=True, slots=True)
class Vote:
    """An answer that was not undone."""

    id: int
    time: float
    judge: str
    left: str
    right: str
    winner: str
    criterion: str
    purpose: str
    seconds: float | None
    cost: float
    strength: float | None = None

    @property
    def pair(self) -> tuple[str, str, str]:
        """The pair in canonical order."""
        return (min(self.left, self.right), max(self.left, self.right), self.criterion)

    @property
    def better(self) -> str:
        """The item that won; empty for a tie."""
        return {"left": self.left, "right": self.right}.get(self.winner, "")


@dataclass(frozen=True)
class JudgeFacts:
    """Statistics of a judge that need no model."""

    votes: int
    seconds: float | None
    gold_right: int
    gold_asked: int
    repeats_alike: int
    repeats_asked: int
    seen: float


@dataclass(frozen=True)
class News:
    """What came since the last look: votes and skips (``abstain``), whether a vote was undone, and what expired.

    expired: Judge, two items and criterion of each pair that nobody answered in time.
    """

    votes: list[Vote]
    undone: bool
    expired: list[tuple[str, str, str, str]] = field(default_factory=list)

    def __bool__(self) -> bool:
        return bool(self.votes) or self.undone


@dataclass
class Feed:
    """All valid answers and their judges."""

    votes: dict[int, Vote] = field(default_factory=dict)
    cursor: int = 0
    seen: dict[str, float] = field(default_factory=dict)
    given: dict[str, set[tuple[str, str, str]]] = field(default_factory=lambda: defaultdict(set))

    def update(self, connection: Connection) -> News:
        """Read what is new."""
        news = News([], False)
        while True:
            query = select(*_COLUMNS).where(events.c.id > self.cursor).order_by(events.c.id).limit(_BATCH)
            rows = connection.execute(query).all()
            for row in rows:
                news = self._add(row, news)
                self.cursor = row.id
            if len(rows) < _BATCH:
                return news

    def _add(self, row: Any, news: News) -> News:
        if row.kind == "expired":
            news.expired.append((row.annotator, row.left, row.right, row.criterion))
            return news
        self.seen[row.annotator] = max(row.time, self.seen.get(row.annotator, 0.0))
        if row.kind == "asked":
            pair = (min(row.left, row.right), max(row.left, row.right), row.criterion)
            self.given[row.annotator].add(pair)
        elif row.kind in ("answered", "skipped"):
            vote = Vote(
                *(row.id, row.time, row.annotator, row.left, row.right, row.outcome or "abstain"),
                *(row.criterion, row.purpose, row.seconds, row.cost or 0.0, row.strength),
            )
            if row.kind == "answered":
                self.votes[row.id] = vote
            if row.purpose != "practice":
                news.votes.append(vote)
        elif row.kind == "undone":
            return replace(news, undone=self.votes.pop(row.refers, None) is not None or news.undone)
        return news

    def counted(self, criterion: str) -> list[Vote]:
        """Return the votes that count for the ranking: all but practice."""
        return [v for v in self.votes.values() if v.criterion == criterion and v.purpose != "practice"]

    def latest(self, since: float) -> Iterator[Vote]:
        """Yield the votes since some time, newest first."""
        for vote in reversed(self.votes.values()):
            if vote.time < since:
                return
            yield vote

    def frame(self, criterion: str) -> pl.DataFrame:
        """Return these votes as the table that a fit takes."""
        import polars as pl

        columns = dict.fromkeys(("annotator", "left", "right", "winner"), pl.String) | {"strength": pl.Float64}
        rows = [(v.judge, v.left, v.right, v.winner, v.strength) for v in self.counted(criterion)]
        return with_grades(pl.DataFrame(rows, schema=columns, orient="row")).drop("strength")

    def judges(self, study: Study) -> dict[str, JudgeFacts]:
        """Return the statistics of each judge."""
        gold = {(p.better, p.worse, p.criterion or study.asked()[0].name) for p in study.gold}
        by_judge: dict[str, list[Vote]] = defaultdict(list)
        for vote in self.votes.values():
            if vote.purpose != "practice":
                by_judge[vote.judge].append(vote)
        return {judge: _facts(votes, gold, self.seen[judge]) for judge, votes in by_judge.items()}


def _facts(votes: list[Vote], gold: set[tuple[str, str, str]], seen: float) -> JudgeFacts:
    taken = [vote.seconds for vote in votes if vote.seconds is not None]
    checks = [vote for vote in votes if vote.purpose == "gold"]
    right = sum((v.better, v.right if v.better == v.left else v.left, v.criterion) in gold for v in checks)
    first = {vote.pair: vote.better for vote in votes if vote.purpose == "vote"}
    repeats = [vote for vote in votes if vote.purpose == "repeat" and vote.pair in first]
    alike = sum(vote.better == first[vote.pair] for vote in repeats)
    return JudgeFacts(len(votes), median(taken) if taken else None, right, len(checks), alike, len(repeats), seen)
