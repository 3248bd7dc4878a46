"""Everyday jobs with a known truth: what people bring to `jamrank fit`, drawn at random."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from scipy.special import expit

import jamrank as jr

Rng = np.random.Generator


@dataclass(frozen=True)
class Drawn:
    """One drawn set of votes, and the truth behind it.

    ``frame`` is what a user has; ``scores`` and ``flips`` are by item and annotator name; ``groups`` are items that
    no vote joins, where there are several; ``oracle`` is the model that generated the votes, not fitted. ``sides``
    says that a side is preferred, or confounded with items; ``adaptive`` that pairs were chosen by earlier votes.
    """

    frame: pl.DataFrame
    scores: dict[str, float]
    oracle: Any
    flips: dict[str, float] = field(default_factory=dict)
    honest: frozenset[str] = frozenset()
    groups: tuple[frozenset[str], ...] = ()
    biased: frozenset[str] = frozenset()
    sides: bool = False
    adaptive: bool = False
    file: str = "votes.csv"

    def write(self, folder: Path) -> Path:
        """Write what a user has; return the file."""
        path = folder / self.file
        if path.suffix == ".csv":
            self.frame.write_csv(path)
        else:
            path.write_text(json.dumps(self.frame.to_dicts()))
        return path


@dataclass(frozen=True)
class Job:
    """A kind of data set, and how one of it is drawn from a seed."""

    name: str
    draw: Callable[[Rng], Drawn]
    slow: bool = False


def _names(kind: str, n: int, rng: Rng) -> list[str]:
    """Return names in random order: the order of names must say nothing of the truth."""
    width = len(str(n - 1))
    return [f"{kind}{k:0{width}}" for k in rng.permutation(n)]


def _frame(
    items: list[str], left: Any, right: Any, left_won: Any, who: Any = None, ties: Any = None, **more: Any
) -> pl.DataFrame:
    winner = np.where(left_won, "left", "right").astype(object)
    if ties is not None:
        winner[ties] = "tie"
    names = np.array(items, dtype=object)
    columns = {"left": names[left].tolist(), "right": names[right].tolist(), "winner": winner.tolist()}
    if who is not None:
        columns["annotator"] = list(who)
    return pl.DataFrame({**columns, **more})


def _pairs(n_items: int, n_votes: int, rng: Rng) -> tuple[Any, Any]:
    left = rng.integers(n_items, size=n_votes)
    return left, (left + rng.integers(1, n_items, size=n_votes)) % n_items


def _crowd(
    rng: Rng,
    n_items: int,
    n_votes: int,
    flips: Any,
    spread: float,
    oracle: Any,
    pairs: tuple[Any, Any] | None = None,
    bad: float = 0.45,
) -> Drawn:
    """Draw a truth for each vote, flipped by whoever votes; annotators in equal shares."""
    items, judges = _names("item", n_items, rng), _names("judge", len(flips), rng)
    scores = rng.normal(0, spread, n_items)
    left, right = _pairs(n_items, n_votes, rng) if pairs is None else pairs
    who = rng.integers(len(flips), size=len(left))
    won = rng.random(len(left)) < expit(scores[left] - scores[right])
    won ^= rng.random(len(left)) < np.asarray(flips)[who]
    frame = _frame(items, left, right, won, np.array(judges, dtype=object)[who])
    honest = frozenset(judge for judge, flip in zip(judges, flips, strict=True) if flip < min(bad, 0.25))
    return Drawn(
        frame,
        dict(zip(items, scores.tolist(), strict=True)),
        oracle,
        dict(zip(judges, map(float, flips), strict=True)) if len(flips) > 1 else {},
        honest,
    )


def _anonymous(rng: Rng, n_items: int, n_votes: int, spread: float) -> Drawn:
    drawn = _crowd(rng, n_items, n_votes, [0.0], spread, jr.BradleyTerry())
    return Drawn(drawn.frame.drop("annotator"), drawn.scores, drawn.oracle)


def two_models(rng: Rng) -> Drawn:
    return _anonymous(rng, 2, 800, 0.5)


def five_models(rng: Rng) -> Drawn:
    return _anonymous(rng, 5, 20_000, 0.7)


def small_league(rng: Rng) -> Drawn:
    return _anonymous(rng, 10, 60, 1.0)


def _star(rng: Rng, flips: list[float]) -> Drawn:
    """Draw five candidates against a baseline that is always on the left."""
    n_votes = 200 * len(flips)
    left, right = np.zeros(5 * n_votes, dtype=np.int64), np.repeat(np.arange(1, 6), n_votes)
    oracle = jr.BradleyTerry() if len(flips) == 1 else jr.CrowdBT()
    return replace(_crowd(rng, 6, len(left), flips, 0.7, oracle, (left, right)), sides=True)


def star_one_judge(rng: Rng) -> Drawn:
    return _star(rng, [0.0])


def star_three_judges(rng: Rng) -> Drawn:
    return _star(rng, [0.05, 0.1, 0.2])


def _alpaca_eval(rng: Rng, n_items: int, n: int) -> Drawn:
    """AlpacaEval's annotations: models against a reference on ``n`` instructions, all by both judges."""
    flips = np.array([0.05, 0.15])
    items, judges, scores = _names("model", n_items, rng), _names("judge", 2, rng), rng.normal(0, 0.7, n_items)
    asked = np.meshgrid(np.arange(1, n_items), np.arange(n), [0, 1], indexing="ij")
    model, instruction, who = (grid.ravel() for grid in asked)
    truth = rng.random((n_items, n)) < expit(scores[:, None] - scores[0])
    prefers = truth[model, instruction] ^ (rng.random(len(who)) < flips[who])
    names = np.array(items, dtype=object)
    frame = pl.DataFrame(
        {
            "instruction": [f"Instruction {k}" for k in instruction],
            "generator_1": [items[0]] * len(who),
            "generator_2": names[model].tolist(),
            "preference": np.where(prefers, 2.0, 1.0),
            "annotator": np.array(judges, dtype=object)[who].tolist(),
        }
    )
    truth_of = dict(zip(judges, flips.tolist(), strict=True))
    drawn = Drawn(frame, dict(zip(items, scores.tolist(), strict=True)), jr.JAM(), truth_of, frozenset(judges))
    return replace(drawn, sides=True, file="annotations.json")


def alpaca_eval(rng: Rng) -> Drawn:
    return _alpaca_eval(rng, 6, 300)


def small_alpaca_eval(rng: Rng) -> Drawn:
    return _alpaca_eval(rng, 5, 80)


def four_models_three_judges(rng: Rng) -> Drawn:
    return _crowd(rng, 4, 12_000, [0.05, 0.1, 0.2], 0.5, jr.CrowdBT())


def twelve_models_on_prompts(rng: Rng) -> Drawn:
    """One truth for each pair and prompt, five judges who all see it."""
    n_models, n_prompts, flips = 12, 300, np.array([0.05, 0.1, 0.15, 0.2, 0.3])
    items, judges = _names("model", n_models, rng), _names("judge", 5, rng)
    scores = rng.normal(0, 0.8, n_models)
    left, right = _pairs(n_models, 2 * n_prompts, rng)
    prompt = np.repeat(np.arange(n_prompts), 2)
    truth = rng.random(len(left)) < expit(scores[left] - scores[right])
    who = np.tile(np.arange(5), len(left))
    left, right, prompt, truth = (np.repeat(column, 5) for column in (left, right, prompt, truth))
    won = truth ^ (rng.random(len(left)) < flips[who])
    frame = _frame(items, left, right, won, np.array(judges, dtype=object)[who], question=prompt.astype(str).tolist())
    truth_of = dict(zip(judges, flips.tolist(), strict=True))
    honest = frozenset(judge for judge, flip in truth_of.items() if flip < 0.25)
    return Drawn(frame, dict(zip(items, scores.tolist(), strict=True)), jr.JAM(), truth_of, honest)


def one_judge_on_prompts(rng: Rng) -> Drawn:
    drawn = _crowd(rng, 8, 800, [0.0], 0.8, jr.BradleyTerry())
    question = [str(k // 4) for k in range(drawn.frame.height)]
    return Drawn(drawn.frame.with_columns(question=pl.Series(question)), drawn.scores, drawn.oracle)


def arena_of_users(rng: Rng) -> Drawn:
    """Thousands of users with one to three votes each."""
    users = np.repeat(np.arange(10_000), rng.integers(1, 4, size=10_000))
    drawn = _anonymous(rng, 20, len(users), 0.6)
    return Drawn(
        drawn.frame.with_columns(annotator=pl.Series([f"user{k}" for k in users])), drawn.scores, drawn.oracle
    )


def home_advantage(rng: Rng) -> Drawn:
    """Every team twice at home against every other; the home team, on the left, has an advantage."""
    n = 18
    items, scores = _names("team", n, rng), rng.normal(0, 0.7, n)
    left, right = (np.tile(side.ravel()[~np.eye(n, dtype=bool).ravel()], 2) for side in np.indices((n, n)))
    won = rng.random(len(left)) < expit(scores[left] - scores[right] + 0.4)
    drawn = Drawn(_frame(items, left, right, won), dict(zip(items, scores.tolist(), strict=True)), jr.BradleyTerry())
    return replace(drawn, sides=True)


def forty_percent_ties(rng: Rng) -> Drawn:
    """Davidson's model: a tie is likelier the closer two items are."""
    n, n_votes = 8, 1500
    items, judges, scores = _names("model", n, rng), _names("judge", 3, rng), rng.normal(0, 0.8, 8)
    left, right = _pairs(n, n_votes, rng)
    margin = scores[left] - scores[right]
    tie_odds = 0.85 / np.cosh(margin / 2)
    ties = rng.random(n_votes) < tie_odds / (1 + tie_odds)
    won = rng.random(n_votes) < expit(margin)
    who = np.array(judges, dtype=object)[rng.integers(3, size=n_votes)]
    frame = _frame(items, left, right, won, who, ties)
    oracle = jr.BradleyTerry(ties="davidson")
    return Drawn(frame, dict(zip(items, scores.tolist(), strict=True)), oracle, {}, frozenset(judges))


def crowd(rng: Rng) -> Drawn:
    return _crowd(rng, 50, 3000, rng.beta(2, 8, 20), 1.5, jr.CrowdBT())


def bad_crowd(rng: Rng) -> Drawn:
    flips = np.concatenate([np.full(12, 0.1), np.full(6, 0.5), np.full(2, 0.9)])
    return _crowd(rng, 30, 2000, flips, 1.5, jr.CrowdBT())


def adversaries(rng: Rng) -> Drawn:
    return _crowd(rng, 40, 4000, np.concatenate([np.full(16, 0.1), np.full(4, 0.85)]), 1.5, jr.CrowdBT())


def two_judges(rng: Rng) -> Drawn:
    return _crowd(rng, 15, 600, [0.05, 0.15], 1.0, jr.CrowdBT())


def sparse_1500(rng: Rng) -> Drawn:
    return _crowd(rng, 1500, 11_250, rng.uniform(0.05, 0.35, 30), 1.5, jr.CrowdBT())


def sparse_5000(rng: Rng) -> Drawn:
    return _crowd(rng, 5000, 50_000, rng.uniform(0.05, 0.35, 50), 1.5, jr.CrowdBT())


def _flips(rng: Rng, n_items: int) -> Drawn:
    """50 annotators, most with flips of .05 to .45, two who toss coins and one adversary."""
    flips = np.concatenate([rng.uniform(0.05, 0.45, 47), [0.5, 0.5, 0.8]])
    return _crowd(rng, n_items, 20_000, flips, 1.0, jr.CrowdBT())


def flips_1000(rng: Rng) -> Drawn:
    return _flips(rng, 1000)


def flips_2000(rng: Rng) -> Drawn:
    return _flips(rng, 2000)


def comparative_judgement(rng: Rng) -> Drawn:
    drawn = _crowd(rng, 60, 900, np.zeros(10), 2.0, jr.BradleyTerry())
    return Drawn(drawn.frame, drawn.scores, drawn.oracle, {}, frozenset(drawn.flips))


def adaptive_judgement(rng: Rng) -> Drawn:
    """Swiss rounds: items with as many wins meet."""
    n, rounds = 60, 15
    items, judges = _names("essay", n, rng), _names("judge", 10, rng)
    scores, wins = rng.normal(0, 2.0, n), np.zeros(n)
    left, right, won = [], [], []
    for _ in range(rounds):
        order = np.lexsort((rng.random(n), wins))
        a, b = order[::2], order[1::2]
        swap = rng.random(n // 2) < 0.5
        a, b = np.where(swap, b, a), np.where(swap, a, b)
        first = rng.random(n // 2) < expit(scores[a] - scores[b])
        wins[a] += first
        wins[b] += ~first
        left, right, won = [*left, *a], [*right, *b], [*won, *first]
    who = np.array(judges, dtype=object)[rng.integers(10, size=len(left))]
    frame = _frame(items, np.array(left), np.array(right), np.array(won), who).with_row_index("order")
    truth = dict(zip(items, scores.tolist(), strict=True))
    return Drawn(frame, truth, jr.BradleyTerry(), {}, frozenset(judges), adaptive=True)


def unconnected(rng: Rng) -> Drawn:
    """Two leagues that never met."""
    one, two = _crowd(rng, 10, 600, np.full(5, 0.1), 1.0, None), _crowd(rng, 10, 600, np.full(5, 0.1), 1.0, None)
    frames, scores, groups = [], {}, []
    for mark, drawn in (("a", one), ("b", two)):
        frames.append(drawn.frame.with_columns((pl.lit(mark) + pl.col("left", "right")).name.keep()))
        scores |= {mark + item: score for item, score in drawn.scores.items()}
        groups.append(frozenset(mark + item for item in drawn.scores))
    return Drawn(pl.concat(frames), scores, jr.CrowdBT(), {}, one.honest, tuple(groups))


def soft_votes(rng: Rng) -> Drawn:
    """Draw probabilities for the left item, by one classifier."""
    n, n_votes = 10, 600
    items, scores = _names("model", n, rng), rng.normal(0, 1.0, n)
    left, right = _pairs(n, n_votes, rng)
    p = np.round(expit(scores[left] - scores[right] + rng.normal(0, 1.0, n_votes)), 3)
    names = np.array(items, dtype=object)
    frame = pl.DataFrame(
        {"item_a": names[left].tolist(), "item_b": names[right].tolist(), "p_a": p, "judge": "model"}
    )
    return Drawn(frame, dict(zip(items, scores.tolist(), strict=True)), jr.BradleyTerry())


def graded_votes(rng: Rng) -> Drawn:
    """Arena-hard's five verdicts: cumulative logit in the margin."""
    n, n_votes = 10, 800
    items, judges, scores = _names("model", n, rng), _names("judge", 2, rng), rng.normal(0, 1.0, n)
    left, right = _pairs(n, n_votes, rng)
    latent = scores[left] - scores[right] + rng.logistic(size=n_votes)
    grade = np.searchsorted([-2.0, -0.5, 0.5, 2.0], latent)
    words = np.array(["B>>A", "B>A", "A=B", "A>B", "A>>B"], dtype=object)[grade]
    names = np.array(items, dtype=object)
    frame = pl.DataFrame(
        {
            "model_a": names[left].tolist(),
            "model_b": names[right].tolist(),
            "winner": words.tolist(),
            "judge": np.array(judges, dtype=object)[rng.integers(2, size=n_votes)].tolist(),
        }
    )
    return Drawn(frame, dict(zip(items, scores.tolist(), strict=True)), jr.BradleyTerry(), {}, frozenset(judges))


JOBS = [
    Job("A/B of two models, 800 votes", two_models),
    Job("5 models, 20,000 votes, no annotators", five_models),
    Job("10 items, 60 votes, no annotators", small_league),
    Job("star, baseline always left, one judge", star_one_judge),
    Job("star, baseline always left, three judges", star_three_judges),
    Job("AlpacaEval file, two judges", alpaca_eval),
    Job("AlpacaEval file of 4 models, 80 instructions", small_alpaca_eval),
    Job("4 models, 3 judges, 12,000 votes", four_models_three_judges),
    Job("12 models on 300 prompts, 5 judges", twelve_models_on_prompts),
    Job("8 models on prompts, one judge", one_judge_on_prompts),
    Job("arena of users with 1-3 votes", arena_of_users),
    Job("18 teams with home advantage", home_advantage),
    Job("soft votes", soft_votes),
    Job("40 % ties", forty_percent_ties),
    Job("graded votes", graded_votes),
    Job("crowd of 20", crowd),
    Job("30 % coins, 10 % adversaries", bad_crowd),
    Job("20 % adversaries", adversaries),
    Job("two judges", two_judges),
    Job("1,500 items, 15 votes each", sparse_1500, slow=True),
    Job("5,000 items, 20 votes each", sparse_5000, slow=True),
    Job("flips: 1,000 items, 40 votes each", flips_1000, slow=True),
    Job("flips: 2,000 items, 20 votes each", flips_2000, slow=True),
    Job("comparative judgement, random", comparative_judgement),
    Job("comparative judgement, adaptive", adaptive_judgement),
    Job("two unconnected leagues", unconnected),
]
