"""Whether fits recover the parameters of a noise or scorer, and predict votes better than Bradley–Terry.

``make benchmark-recovery`` draws votes from every noise and scorer, twenty times with other seeds, fits the model
that has this part to three quarters of them, and writes ``recovery.md`` and ``recovery.json`` beside this file: how
many of the true parameters lie within their 95 % intervals, and the log-loss of the votes that were held out, a vote
given its annotator and the sides of its items, beside that of Bradley–Terry.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.special import expit, logit

import jamrank as jr
from benchmarks import report
from benchmarks.machine import about, commit
from jamrank.noise.kmeans import nearest_centroid
from jamrank.simulation import Simulation

Doubles = NDArray[np.float64]
# True values, and the lower and upper end of each interval.
Known = tuple[Doubles, Doubles, Doubles]

SEEDS, ITEMS, ANNOTATORS, VOTES, TRAINED = 20, 30, 10, 8000, 0.75
QUICK_SEEDS, QUICK_VOTES = 2, 1500
# Features matter where items are many.
FEATURED_ITEMS, FEATURES = 60, 3
FLIPS = np.linspace(0.05, 0.4, ANNOTATORS)
LEAST = 1e-12


@dataclass(frozen=True)
class Case:
    """A noise or a scorer, and the model that has it.

    Attributes
    ----------
    name : str
    draw : dict
        What :func:`jamrank.simulate` is told, beside the sizes.
    model : callable
        Makes the model.
    known : callable
        The true parameters and their intervals, from the fitted model and what was simulated, by name.
    items : int
    """

    name: str
    draw: dict[str, Any]
    model: Callable[[], Any]
    known: Callable[[Any, Simulation], dict[str, Known]]
    items: int = ITEMS


def _flips(model: Any, drawn: Simulation) -> dict[str, Known]:
    found = model.annotators_
    true = drawn.flips
    if drawn.bias is not None:
        true = (expit(logit(true) - drawn.bias) + expit(logit(true) + drawn.bias)) / 2
    return {"flip": (true, found["flip_low"].to_numpy(), found["flip_high"].to_numpy())}


def _clustered(model: Any, drawn: Simulation) -> dict[str, Known]:
    low, high = model.flip_interval_.reshape(-1, 2).T
    return {"flip by cluster": (drawn.flips.ravel(), low, high)}


def _two_coin(model: Any, drawn: Simulation) -> dict[str, Known]:
    assert drawn.bias is not None
    return {"bias": (drawn.bias, *model.result_.annotators.bias_interval.T), **_flips(model, drawn)}


def _discrimination(model: Any, drawn: Simulation) -> dict[str, Known]:
    assert drawn.discrimination is not None
    return {"discrimination": (drawn.discrimination, *model.discrimination_interval_.T)}


def _ties(model: Any, drawn: Simulation) -> dict[str, Known]:
    assert drawn.ties is not None
    return {"tie": (drawn.ties, *model.result_.annotators.tie_interval.T)}


def _ties_and_flips(model: Any, drawn: Simulation) -> dict[str, Known]:
    return _ties(model, drawn) | _flips(model, drawn)


def _scores(model: Any, drawn: Simulation) -> dict[str, Known]:
    """Return the scores, but for their common level, which means nothing."""
    found = pl.DataFrame(model.ranking_).sort("item")
    score = (found["score"] - found["score"].mean()).to_numpy()
    reach = 1.959963984540054 * found["score_se"].to_numpy()
    return {"score": (drawn.scores - drawn.scores.mean(), score - reach, score + reach)}


def _weights(model: Any, drawn: Simulation) -> dict[str, Known]:
    assert drawn.coef is not None
    return {"weight": (drawn.coef, *model.result_.coef_interval().T), **_scores(model, drawn)}


def _of_scorer(
    name: str, model: Callable[[], Any], known: Callable[[Any, Simulation], dict[str, Known]], **draw: Any
) -> Case:
    told = {"n_features": FEATURES, "scorer": name, **draw}
    if draw.get("noise") != "none":
        told["flips"] = FLIPS
    return Case(f"scorer {name}{', no noise' if 'noise' in draw else ''}", told, model, known, FEATURED_ITEMS)


THRESHOLDS = np.linspace(0.1, 1.0, ANNOTATORS)
CASES = [
    Case("flip, a truth for each vote", {"truth": "vote", "flips": FLIPS}, jr.CrowdBT, _flips),
    Case("flip, a truth for each pair", {"flips": FLIPS}, jr.JAM, _flips),
    *(
        Case(
            f"clustered flip, second cluster {name}",
            {"noise": "clustered flip", "n_features": 3, "flips": np.stack([FLIPS, other], axis=1)},
            lambda: jr.VRJAM(n_clusters=2),
            _clustered,
        )
        # However much or little clusters differ, intervals are to hold.
        for name, other in (
            ("reversed", FLIPS[::-1]),
            ("at 0.3 of the first", 0.3 * FLIPS),
            ("at 0.6 of the first", 0.6 * FLIPS),
            ("as the first", FLIPS),
        )
    ),
    Case(
        "two-coin, a truth for each vote",
        {"noise": "two-coin", "truth": "vote", "flips": FLIPS},
        lambda: jr.CrowdBT(noise="two-coin"),
        _two_coin,
    ),
    Case(
        "two-coin, a truth for each pair",
        {"noise": "two-coin", "flips": FLIPS},
        lambda: jr.JAM(noise="two-coin"),
        _two_coin,
    ),
    Case(
        "two-coin without scores",
        {"noise": "two-coin", "flips": FLIPS, "spread": 0.0},
        lambda: jr.DawidSkene(noise="two-coin"),
        _two_coin,
    ),
    Case("discrimination", {"noise": "discrimination", "spread": 1.5}, jr.AmElo, _discrimination),
    Case(
        "ties, no other noise",
        {"noise": "none", "truth": "vote", "ties": THRESHOLDS},
        lambda: jr.BradleyTerry(ties="davidson"),
        _ties,
    ),
    Case(
        "ties and flips",
        {"truth": "vote", "flips": FLIPS, "ties": THRESHOLDS},
        lambda: jr.CrowdBT(ties="davidson"),
        _ties_and_flips,
    ),
    Case("scorer objects", {"truth": "vote", "flips": FLIPS}, jr.CrowdBT, _scores),
    Case("scorer objects, no noise", {"noise": "none", "truth": "vote"}, jr.BradleyTerry, _scores),
    _of_scorer("linear", jr.JAM, _weights),
    _of_scorer("kernel", jr.KernelJAM, _scores),
    _of_scorer("linear+objects", lambda: jr.JAM(scorer="linear+objects"), _weights),
    _of_scorer("kernel+objects", lambda: jr.KernelJAM(scorer="kernel+objects"), _scores),
    _of_scorer("linear+objects", jr.MixedBT, _weights, noise="none", truth="vote"),
]


def split(drawn: Simulation, seed: int) -> tuple[jr.Comparisons, pl.DataFrame]:
    """Return votes to fit, and votes to foretell."""
    train = np.random.default_rng([seed, 1]).random(len(drawn.frame)) < TRAINED
    # Of every item and annotator there is something to learn from.
    for name in ("annotator", "left"):
        train[drawn.frame.select(pl.col(name).is_first_distinct()).to_series().to_numpy()] = True
    return jr.Comparisons.from_frame(drawn.frame.filter(train)), drawn.frame.filter(~train)


def chances(model: Any, votes: pl.DataFrame, features: Doubles | None) -> Doubles:
    """Return the probability of left, right and tie for each vote."""
    columns = (votes[name].to_numpy() for name in ("left", "right", "annotator"))
    if not isinstance(model, jr.VRJAM):
        return np.asarray(model.result_.predict_votes(*columns))
    assert features is not None
    left, right, who = columns
    at = [np.searchsorted(model.items_, side).astype(np.int32) for side in (left, right)]
    matrix = model.result_.scores.features.standardise(features)
    cluster = nearest_centroid(*at, matrix, model.centroids_)
    better = model.predict_proba(left, right)
    flip = model.flip_[np.searchsorted(model.result_.votes.annotators, who), cluster]
    says_left = better * (1 - flip) + (1 - better) * flip
    return np.stack([says_left, 1 - says_left, np.zeros(len(better))], axis=1)


def losses(probability: Doubles, votes: pl.DataFrame) -> Doubles:
    column = votes["winner"].replace_strict({"left": 0, "right": 1, "tie": 2}).to_numpy()
    return np.asarray(-np.log(np.maximum(probability[np.arange(len(column)), column], LEAST)))


def with_tie_rate(probability: Doubles, train: jr.Comparisons) -> Doubles:
    """Return what a model without ties says, if it knows how many votes are ties."""
    rate = train.n_ties / float(train.annotator_weight.sum())
    return np.concatenate([probability[:, :2] * (1 - rate), np.full((len(probability), 1), rate)], axis=1)


def trial(case: Case, seed: int, n_votes: int) -> dict[str, Any]:
    drawn = jr.simulate(case.items, ANNOTATORS, n_votes, random_state=seed, **case.draw)
    train, held_out = split(drawn, seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = case.model().fit(train, drawn.features)
        plain = jr.BradleyTerry().fit(train)
    inside = {
        name: [int(((low <= true) & (true <= high)).sum()), len(true)]
        for name, (true, low, high) in case.known(model, drawn).items()
    }
    ours = losses(chances(model, held_out, drawn.features), held_out)
    theirs = losses(with_tie_rate(chances(plain, held_out, None), train), held_out)
    decided = (held_out["winner"] != "tie").to_numpy()
    return {
        "seed": seed,
        "inside": inside,
        "converged": bool(model.converged_),
        "loss": float(ours.mean()),
        "bradley_terry": float(theirs.mean()),
        "decided": float(ours[decided].mean()),
        "bradley_terry_decided": float(theirs[decided].mean()),
    }


def summary(case: Case, trials: list[dict[str, Any]]) -> dict[str, Any]:
    covered = {
        name: sum(t["inside"][name][0] for t in trials) / sum(t["inside"][name][1] for t in trials)
        for name in trials[0]["inside"]
    }
    gains = np.array([t["bradley_terry"] - t["loss"] for t in trials])
    return {
        "name": case.name,
        "model": repr(case.model()),
        "covered": covered,
        "converged": sum(t["converged"] for t in trials),
        "loss": float(np.mean([t["loss"] for t in trials])),
        "bradley_terry": float(np.mean([t["bradley_terry"] for t in trials])),
        "wins": int((gains > 0).sum()),
        "trials": trials,
    }


def text(cases: list[dict[str, Any]], n_votes: int, made_with: dict[str, str]) -> str:
    n_seeds = len(cases[0]["trials"])
    rows = [
        (
            case["name"],
            f"`{case['model']}`",
            ", ".join(f"{name} {share:.1%}" for name, share in case["covered"].items()),
            f"{case['loss']:.4f}",
            f"{case['bradley_terry']:.4f}",
            f"{case['wins']} of {n_seeds}",
        )
        for case in cases
    ]
    header = ["votes drawn from", "model", "within 95 % interval", "log-loss", "Bradley–Terry's", "better in"]
    lines = [
        "# Recovered parameters of noises and scorers",
        "",
        f"Votes drawn from each noise and scorer with seeds 0 to {n_seeds - 1}: {ITEMS} items, or {FEATURED_ITEMS} "
        f"with {FEATURES} features if the scorer uses these, {ANNOTATORS} annotators, "
        f"{n_votes} votes, of which the models are fitted to {TRAINED:.0%}. The table has the share of true "
        "parameters within their intervals, and the mean log-loss of the held-out votes, given annotator and sides. "
        "Bradley–Terry is given the share of ties. Made by `make benchmark-recovery`.",
        "",
        *report.table(header, rows),
        *report.made_with(made_with),
    ]
    return "\n".join(lines)


def main() -> None:
    given = report.arguments(report.parser("recovery", __doc__ or ""))
    begun_at = commit()
    n_seeds, n_votes = (QUICK_SEEDS, QUICK_VOTES) if given.quick else (SEEDS, VOTES)
    cases = []
    for case in CASES:
        report.say(f"{case.name}\n")
        cases.append(summary(case, [trial(case, seed, n_votes) for seed in range(n_seeds)]))
    made_with = about(begun_at)
    numbers = {"made_with": made_with, "votes": n_votes, "cases": cases}
    report.write(given.out, "recovery", text(cases, n_votes, made_with), numbers)


if __name__ == "__main__":
    main()
