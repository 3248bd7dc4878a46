"""The overview of the admin page, put together by the worker."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from time import time
from typing import Any

from jamrank.report.markup import count, decimal, plural, tag
from jamrank.studio.analysis import Analysis
from jamrank.studio.feed import Feed, JudgeFacts
from jamrank.studio.study import Study
from jamrank.text import about

_HEADINGS = {
    "go": "Continue",
    "reached": "Stop: the goal is reached",
    "futile": "Stop: more votes of this kind will not help",
    "budget spent": "Stop: the budget is spent",
}
_LAMPS = {"go": "go", "reached": "reached", "futile": "futile", "budget spent": "spent"}
_ACTIVE = 300.0
_BARS = 60
_SHOWN_JUDGES = 200


@dataclass(frozen=True)
class Light:
    """Whether to continue, with the reason."""

    lamp: str
    heading: str
    reason: str
    left: str
    criterion: str


def light_of(status: Any, study: Study, criterion: str, per_minute: float) -> Light:
    """Return the stop light of a criterion.

    status: Of the chooser.
    per_minute: Current votes per minute, for the time left.
    """
    left = []
    needed = getattr(status, "votes_needed", None)
    if needed is not None and status.state == "go":
        left.append(f"{about(needed, 'vote')} to go")
        if study.cost_per_vote:
            left.append(f"at a cost of about {needed * study.cost_per_vote:,.2f}")
        if per_minute > 0:
            left.append(f"at the current pace {_duration(60 * needed / per_minute)}")
    text = ", ".join(left)
    heading = _HEADINGS.get(status.state, status.state)
    return Light(_LAMPS.get(status.state, "go"), heading, status.reason, text[:1].upper() + text[1:], criterion)


def _duration(seconds: float) -> str:
    if seconds < 90:
        return plural(round(seconds), "second")
    if seconds < 5400:
        return plural(round(seconds / 60), "minute")
    return plural(round(seconds / 3600), "hour") if seconds < 172800 else plural(round(seconds / 86400), "day")


def live_body(
    feed: Feed,
    study: Study,
    n_items: int,
    names: Mapping[str, str],
    analyses: Sequence[Analysis],
    statuses: Mapping[str, Any],
) -> dict[str, Any]:
    """Return everything that the overview shows."""
    now = time()
    facts = feed.judges(study)
    times = [vote.time for vote in feed.votes.values() if vote.purpose != "practice"]
    recent = sum(at > now - 60 for at in times)
    lights = [light_of(status, study, name, recent) for name, status in statuses.items()]
    reasons = [
        Light("go", "Waiting for votes", analysis.why, "", analysis.criterion)
        for analysis in analyses
        if analysis.why
    ]
    return {
        "lights": [asdict(light) for light in (lights + reasons or [_WAITING])],
        "tiles": _tiles(feed, study, n_items, facts, recent, now),
        "chart": votes_chart(times, now),
        "judges": _judges(facts, names, analyses, now),
        "sections": [section for analysis in analyses for section in _headed(analysis, len(analyses))],
    }


_WAITING = Light("go", "Waiting for votes", "Invite judges; the ranking appears with the first votes.", "", "")


def _headed(analysis: Analysis, n_analyses: int) -> list[str]:
    if n_analyses == 1 or not analysis.sections:
        return list(analysis.sections)
    # Each criterion has sections of the same names.
    number = sum(map(ord, analysis.criterion))
    own = [
        section.replace(' id="', f' id="c{number}-').replace(' aria-labelledby="', f' aria-labelledby="c{number}-')
        for section in analysis.sections
    ]
    return [tag("h2", f"Criterion: {_escaped(analysis.criterion)}"), *own]


def _escaped(text: str) -> str:
    from html import escape

    return escape(text)


def _tiles(
    feed: Feed, study: Study, n_items: int, facts: Mapping[str, JudgeFacts], recent: int, now: float
) -> list[tuple[str, str]]:
    active = sum(at > now - _ACTIVE for at in feed.seen.values())
    n_votes = sum(one.votes for one in facts.values())
    tiles = [
        ("votes", count(n_votes)),
        ("votes in the last minute", count(recent)),
        ("active judges", count(active)),
        ("judges who voted", count(len(facts))),
        ("active items", count(n_items)),
    ]
    if study.cost_per_vote:
        tiles.append(("cost so far", f"{sum(vote.cost for vote in feed.votes.values()):,.2f}"))
    return tiles


def _judges(
    facts: Mapping[str, JudgeFacts], names: Mapping[str, str], analyses: Sequence[Analysis], now: float
) -> list[dict[str, str]]:
    latest = sorted(facts, key=lambda judge: -facts[judge].seen)[:_SHOWN_JUDGES]
    rows = []
    for judge in latest:
        one = facts[judge]
        verdicts = [analysis.verdicts[judge] for analysis in analyses if judge in analysis.verdicts]
        rows.append(
            {
                "name": names.get(judge) or judge,
                "votes": count(one.votes),
                "seconds": decimal(one.seconds, 1),
                "gold": f"{one.gold_right} of {one.gold_asked}" if one.gold_asked else "–",
                "repeats": f"{one.repeats_alike} of {one.repeats_asked}" if one.repeats_asked else "–",
                "verdict": "; ".join(dict.fromkeys(verdict for verdict, _ in verdicts)),
                "evidence": "; ".join(dict.fromkeys(str(evidence or "") for _, evidence in verdicts)),
                "seen": _ago(now - one.seen),
            }
        )
    return rows


def _ago(seconds: float) -> str:
    return "now" if seconds < 60 else f"{_duration(seconds)} ago"


def votes_chart(times: Sequence[float], now: float) -> str:
    """Draw the number of votes over time."""
    if not times:
        return tag("p", "No votes yet.")
    begin = min(times)
    span = max(now - begin, 60.0)
    bars = [0] * _BARS
    for at in times:
        bars[min(int((at - begin) / span * _BARS), _BARS - 1)] += 1
    most, width = max(bars), 100 / _BARS
    drawn = [
        tag(
            "rect",
            x=f"{k * width:.2f}%",
            y=f"{100 - 90 * n / most:.1f}",
            width=f"{width * 0.8:.2f}%",
            height=f"{90 * n / most:.1f}",
        )
        for k, n in enumerate(bars)
        if n
    ]
    what = f"{plural(len(times), 'vote')} in {_duration(span)}; at most {most:,} within {_duration(span / _BARS)}"
    title = tag("title", "Votes over time") + tag("desc", what)
    chart = tag(
        "svg",
        title,
        *drawn,
        class_="bars",
        role="img",
        width="100%",
        height="100",
        aria_label=f"Votes over time: {what}",
    )
    return chart + tag("p", what + ".", class_="soft")
