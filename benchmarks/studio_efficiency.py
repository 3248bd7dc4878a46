"""Whole studies by simulated judges, through the endpoints of the voting page: the order after so many votes."""

from __future__ import annotations

import asyncio
import random
import tempfile
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

N_ITEMS, N_JUDGES, CARELESS, N_VOTES = 40, 20, 6, 600
COUNTS = tuple(range(200, N_VOTES + 1, 20))
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


def votes_of_study(strategy: str, seed: int, n_votes: int = N_VOTES) -> tuple[pl.DataFrame, FloatArray]:
    """Let twenty judges, six of them careless, vote in turn; the worker acts after every round."""
    items = tuple(Item(f"item{k:02d}", (Part("text", str(k)),)) for k in range(N_ITEMS))
    study = Study(votes_per_judge=200, strategy=strategy, gold_share=0.0)
    scores = np.random.default_rng(seed).normal(0.0, 1.5, N_ITEMS)
    with tempfile.TemporaryDirectory() as folder:
        engine = open_study(str(Path(folder) / "study.sqlite"))
        start(engine, Material(study, "benchmark", items, Path(folder), "items"), _URL)
        # These judges are faster than people.
        no_limit = RateLimit(per_second=10**6, burst=10**6)
        studio = Studio(Database(engine), Path(folder), _URL, judge_limit=no_limit)
        asyncio.run(_vote(studio, scores, random.Random(seed), n_votes))
        with reading(engine) as connection:
            frame = votes_frame(connection, COUNTED, 0)
        studio.database.close()
    return frame.select("annotator", "left", "right", "winner"), scores


async def _vote(studio: Studio, scores: FloatArray, draw: random.Random, n_votes: int) -> None:
    app, worker = create_app(studio), Worker(studio.database.engine, depth=1)
    judges = [Visitor(app, studio.database.write(people.invite_judge)[1]) for _ in range(N_JUDGES)]
    states = [await judge.enter() for judge in judges]
    for place in range(n_votes):
        which = place % N_JUDGES
        if which == 0:
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
    """Return the share of pairs in the right order after each number of votes of COUNTS."""
    frame, scores = votes_of_study(strategy, seed)
    return [pairs_right(frame.head(count), scores) for count in COUNTS]


def votes_to_match(chosen: list[list[float]], at_random: list[list[float]]) -> float:
    """Return how many chosen votes reach the order of all random ones, by the mean of the studies."""
    goal, means = float(np.mean([one[-1] for one in at_random])), np.mean(chosen, axis=0)
    above = np.flatnonzero(means >= goal)
    if not len(above):
        return float("inf")
    k = int(above[0])
    if k == 0:
        return float(COUNTS[0])
    part = (goal - means[k - 1]) / (means[k] - means[k - 1])
    return float(COUNTS[k - 1] + part * (COUNTS[k] - COUNTS[k - 1]))
