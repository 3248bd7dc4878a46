"""Simulated and replayed crowds that answer one question at a time, for the benchmark of choosing."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from scipy.special import expit

import jamrank as jr
from benchmarks import report

N_ITEMS, N_ANNOTATORS, SPREAD = 30, 20, 1.5
# Flips of the cheap and of the dear annotators, who cost 1 and 10.
COST_FLIPS = ((0.3, 0.05), (0.4, 0.1), (0.2, 0.1))
DEAR = 10.0


@dataclass
class Crowd:
    """Annotators with a known truth.

    Attributes
    ----------
    scores : ndarray
        True scores of the items.
    flips : ndarray
        Of the annotators.
    own : ndarray, optional
        The scores by which each annotator judges, where they are not the true ones.
    cost : ndarray, optional
        Of a vote by each annotator.
    features : ndarray, optional
    """

    scores: np.ndarray
    flips: np.ndarray
    rng: np.random.Generator
    own: np.ndarray | None = None
    cost: np.ndarray | None = None
    features: np.ndarray | None = None

    def answer(self, who: int, left: int, right: int) -> tuple[int, bool] | None:
        """Return who votes, and whether for left."""
        scores = self.scores if self.own is None else self.own[who]
        better = expit(scores[left] - scores[right])
        return who, bool(self.rng.random() < self.flips[who] + (1 - 2 * self.flips[who]) * better)


@dataclass
class Replay:
    """Recorded votes: each is given once, when its pair is asked for.

    Few annotators judged a given pair, so an annotator who did not is replaced by one who did.
    """

    scores: np.ndarray
    flips: np.ndarray
    rng: np.random.Generator
    votes: dict[tuple[int, int], list[tuple[int, bool]]] = field(default_factory=lambda: defaultdict(list))
    cost: np.ndarray | None = None
    features: np.ndarray | None = None

    def answer(self, who: int, left: int, right: int) -> tuple[int, bool] | None:
        """Return who votes, and whether for left; None where no vote on this pair is left."""
        recorded = self.votes[min(left, right), max(left, right)]
        if not recorded:
            return None
        own = [at for at, (annotator, _) in enumerate(recorded) if annotator == who]
        annotator, first_won = recorded.pop(own[0] if own else int(self.rng.integers(len(recorded))))
        return annotator, first_won == (left < right)


def clean(rng: np.random.Generator) -> Crowd:
    """Return careful annotators: flips up to 0.1."""
    return Crowd(SPREAD * rng.standard_normal(N_ITEMS), rng.uniform(0.0, 0.1, N_ANNOTATORS), rng)


def bad(rng: np.random.Generator) -> Crowd:
    """Return 30 % coins, 10 % adversaries, and others with flips of 0.03 to 0.2."""
    flips = rng.uniform(0.03, 0.2, N_ANNOTATORS)
    flips[: int(0.3 * N_ANNOTATORS)] = 0.5
    flips[int(0.3 * N_ANNOTATORS) : int(0.4 * N_ANNOTATORS)] = 0.85
    rng.shuffle(flips)
    return Crowd(SPREAD * rng.standard_normal(N_ITEMS), flips, rng)


def families(rng: np.random.Generator) -> Crowd:
    """Return five families of four who share a wrong idea of the items: errors within a family are correlated."""
    scores = SPREAD * rng.standard_normal(N_ITEMS)
    ideas = scores + 0.7 * SPREAD * rng.standard_normal((5, N_ITEMS))
    return Crowd(scores, rng.uniform(0.03, 0.2, N_ANNOTATORS), rng, own=ideas[np.arange(N_ANNOTATORS) % 5])


def featured(rng: np.random.Generator) -> Crowd:
    """Return 150 items with 11 features, as wine has, that explain 60 % of the variance of the scores."""
    features = rng.standard_normal((150, 11))
    explained, own = features @ rng.standard_normal(11), rng.standard_normal(150)
    scores = np.sqrt(0.6) * explained / explained.std() + np.sqrt(0.4) * own / own.std()
    return Crowd(SPREAD * scores, rng.uniform(0.03, 0.2, 10), rng, features=features)


def priced(which: int, keep: str) -> Callable[[np.random.Generator], Crowd]:
    """Return five cheap and five dear annotators, or one of the two kinds alone."""

    def crowd(rng: np.random.Generator) -> Crowd:
        flips, cost = np.repeat(COST_FLIPS[which], 5), np.repeat([1.0, DEAR], 5)
        chosen = {"both": slice(None), "cheap": slice(0, 5), "dear": slice(5, 10)}[keep]
        return Crowd(SPREAD * rng.standard_normal(N_ITEMS), flips[chosen], rng, cost=cost[chosen])

    return crowd


def coins(rng: np.random.Generator) -> Crowd:
    """Return annotators who toss coins."""
    return Crowd(SPREAD * rng.standard_normal(N_ITEMS), np.full(N_ANNOTATORS, 0.5), rng)


def data_folder() -> Path:
    """Return where the recorded votes are."""
    return Path(os.environ.get("JAMRANK_DATA") or report.HERE.parents[1] / "shared" / "data")


def light_fields(rng: np.random.Generator) -> Replay:
    """Return the votes on one scene of the light fields: 29 observers, every pair of conditions."""
    frame = pl.read_csv(data_folder() / "light_fields" / "lf_quality_pwcmps.csv")
    scene = frame["scene"].unique().sort()[0]
    frame = frame.filter(pl.col("scene") == scene).with_columns(
        left=pl.concat_str("dist_type1", pl.col("dist_level1").cast(pl.String)),
        right=pl.concat_str("dist_type2", pl.col("dist_level2").cast(pl.String)),
        winner=pl.when(pl.col("selected") == 1).then(pl.lit("left")).otherwise(pl.lit("right")),
        annotator="observer",
    )
    return _replay(frame.filter(pl.col("left") != pl.col("right")), rng)


def llmfao(rng: np.random.Generator) -> Replay:
    """Return the decided votes of people on answers of language models."""
    frame = pl.read_csv(data_folder() / "llmfao" / "crowd-comparisons.csv")
    frame = frame.with_columns(annotator="worker").filter(pl.col("winner") != "tie")
    return _replay(frame.filter(pl.col("left") != pl.col("right")), rng)


def _replay(frame: pl.DataFrame, rng: np.random.Generator) -> Replay:
    """Return recorded votes; the truth is what CrowdBT makes of all of them."""
    votes = jr.Comparisons.from_frame(frame.select("annotator", "left", "right", "winner"))
    fitted = jr.CrowdBT().fit(votes)
    item = {name: code for code, name in enumerate(votes.items.tolist())}
    who = {name: code for code, name in enumerate(votes.annotators.tolist())}
    made = Replay(np.asarray(fitted.scores_), np.asarray(fitted.flip_), rng)
    for row in frame.sample(fraction=1.0, shuffle=True, seed=int(rng.integers(1 << 30))).iter_rows(named=True):
        left, right = item[row["left"]], item[row["right"]]
        first_won = (row["winner"] == "left") == (left < right)
        made.votes[min(left, right), max(left, right)].append((who[row["annotator"]], first_won))
    return made


CROWDS: dict[str, Callable[[np.random.Generator], Any]] = {
    "clean": clean,
    "bad": bad,
    "families": families,
    "features": featured,
    "coins": coins,
    "light_fields": light_fields,
    "llmfao": llmfao,
    **{f"costs-{k}-{keep}": priced(k, keep) for k in range(len(COST_FLIPS)) for keep in ("both", "cheap", "dear")},
}
