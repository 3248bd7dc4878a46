"""Whole studies by simulated judges, through the endpoints of the voting page: the order after so many votes."""

from __future__ import annotations

import asyncio
import random
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import polars as pl

from jamrank.collect.database import reading
from jamrank.collect.votes import COUNTED, votes_frame
from jamrank.studio import people
from jamrank.studio.access import RateLimit
from jamrank.studio.analysis import fit_votes
from jamrank.studio.app import create_app
from jamrank.studio.database import Database
from jamrank.studio.items import Item, Part
from jamrank.studio.setup import Material, open_study, start
from jamrank.studio.study import Study
from jamrank.studio.web import Studio
from jamrank.studio.worker import Worker
from jamrank.typing import FloatArray

N_ITEMS, N_JUDGES, CARELESS = 40, 20, 6
# Random votes whose order is the goal: 20, 30, 60 and 120 of each judge.
LEVELS = (400, 600, 1200, 2400)
# Chosen votes after which the order is measured.
COUNTS = (200, 280, 360, 440, 520, 600, 720, 840, 960, 1080, 1200, 1440, 1680, 1920)
_RESAMPLED = 400
_URL = "http://127.0.0.1"


class Visitor:
    """A judge with a cookie, who sends what the page's script sends."""

    def __init__(self, app: Any, token: str) -> None:
        self._client = httpx.AsyncClient(transport=httpx.ASGITransport(app=app), base_url=_URL)
        self._token, self._headers = token, {"Accept": "application/json"}

    async def enter(self) -> dict[str, Any]:
        """Use the invitation; return the first state of the page."""
        await self._client.post("/join", data={"token": self._token})
        page = (await self._client.get("/vote")).raise_for_status().text
        self._headers["X-CSRF-Token"] = page.partition('data-csrf="')[2].partition('"')[0]
        return await self.send("/next")

    async def send(self, path: str, **values: Any) -> dict[str, Any]:
        answer = await self._client.post(path, json=values, headers=self._headers)
        state: dict[str, Any] = answer.raise_for_status().json()
        return state


def votes_of_study(strategy: str, seed: int, n_votes: int) -> tuple[pl.DataFrame, FloatArray]:
    """Let twenty judges, six of them careless, vote in turn.

    The worker acts after every round. Random pairs need no worker: the server draws them for an empty queue.
    """
    items = tuple(Item(f"item{k:02d}", (Part("text", str(k)),)) for k in range(N_ITEMS))
    study = Study(votes_per_judge=200, strategy=strategy, gold_share=0.0)
    scores = np.random.default_rng(seed).normal(0.0, 1.5, N_ITEMS)
    with tempfile.TemporaryDirectory() as folder:
        engine = open_study(str(Path(folder) / "study.sqlite"))
        start(engine, Material(study, "benchmark", items, Path(folder), "items"), _URL)
        # These judges are faster than people.
        no_limit = RateLimit(per_second=10**6, burst=10**6)
        studio = Studio(Database(engine), Path(folder), _URL, judge_limit=no_limit)
        worker = None if strategy == "random" else Worker(engine, depth=1)
        asyncio.run(_vote(studio, worker, scores, random.Random(seed), n_votes))
        with reading(engine) as connection:
            frame = votes_frame(connection, COUNTED, 0)
        studio.database.close()
    return frame.select("annotator", "left", "right", "winner"), scores


async def _vote(studio: Studio, worker: Worker | None, scores: FloatArray, draw: random.Random, n_votes: int) -> None:
    app = create_app(studio)
    judges = [Visitor(app, studio.database.write(people.invite_judge)[1]) for _ in range(N_JUDGES)]
    states = [await judge.enter() for judge in judges]
    for place in range(n_votes):
        which = place % N_JUDGES
        if which == 0 and worker is not None:
            worker.step(now=place // N_JUDGES % 5 == 0)
        pair = states[which]["open"][0]
        gap = scores[_number(pair["left"])] - scores[_number(pair["right"])]
        p_left = 0.5 if which < CARELESS else 1 / (1 + np.exp(-gap))
        said = "left" if draw.random() < p_left else "right"
        states[which] = await judges[which].send("/vote", key=pair["key"], answer=said, ms=1000)


def _number(markup: str) -> int:
    return int(markup.rpartition("</div>")[0].rpartition(">")[2])


def pairs_right(frame: pl.DataFrame, scores: FloatArray) -> float:
    """Return the share of all pairs that a fit of some votes puts into the right order."""
    model, votes = fit_votes(frame, [])
    found = np.zeros(N_ITEMS)
    for item, score in zip(votes.items.tolist(), model.scores_.tolist(), strict=True):
        found[int(item.removeprefix("item"))] = score
    first, second = np.triu_indices(N_ITEMS, 1)
    return float(np.mean((found[first] - found[second]) * (scores[first] - scores[second]) > 0))


def curve(strategy: str, seed: int) -> list[float]:
    """Return the share of pairs in the right order after each of LEVELS random or COUNTS chosen votes."""
    counts = LEVELS if strategy == "random" else COUNTS
    frame, scores = votes_of_study(strategy, seed, counts[-1])
    return [pairs_right(frame.head(count), scores) for count in counts]


@dataclass(frozen=True)
class Saving:
    """Chosen votes that reach the order of random ones.

    level: Random votes.
    goal: The share of pairs that they put into the right order.
    share: Chosen votes per random vote; infinite where COUNTS end before.
    low, high: 90 % interval of the share, from studies drawn again.
    """

    level: int
    goal: float
    share: float
    low: float
    high: float


def savings(chosen: list[list[float]], at_random: list[list[float]]) -> list[Saving]:
    """Compare studies of the same seeds at each level, by the mean curve of chosen pairs."""
    curves, goals = np.array(chosen), np.array(at_random)
    again = np.random.default_rng(0).integers(0, len(curves), (_RESAMPLED, len(curves)))
    found = []
    for place, level in enumerate(LEVELS):
        goal = float(goals[:, place].mean())
        drawn = [_votes_to_match(curves[some].mean(axis=0), goals[some, place].mean()) for some in again]
        low, high = np.quantile(drawn, [0.05, 0.95], method="nearest") / level
        share = _votes_to_match(curves.mean(axis=0), goal) / level
        found.append(Saving(level, goal, share, float(low), float(high)))
    return found


def _votes_to_match(means: FloatArray, goal: float) -> float:
    """Return where the curve reaches a goal, smoothed by a cubic in the logarithm of the votes."""
    votes = np.arange(COUNTS[0], COUNTS[-1] + 1)
    smooth = np.polyval(np.polyfit(np.log(COUNTS), means, 3), np.log(votes))
    above = np.flatnonzero(smooth >= goal)
    return float(votes[above[0]]) if len(above) else float("inf")
