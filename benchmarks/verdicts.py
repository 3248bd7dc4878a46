"""Whether annotators get the verdict they deserve, judges are counted rightly, and flips are found well enough.

Crowds of annotators whose kind is known, juries with and without a copy, and a crowd with random and adversarial
workers: what the verdicts, `effective_judges_` and `CrowdBT` make of them. `python -m benchmarks.verdicts` writes
verdicts.md and .json.
"""

from __future__ import annotations

import warnings
from textwrap import wrap
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import expit
from scipy.stats import kendalltau, spearmanr

import jamrank as jr
from benchmarks.machine import about, commit
from benchmarks.report import arguments, made_with, parser, say, table, write

Doubles = NDArray[np.float64]

SEEDS, QUICK_SEEDS = 20, 2
N_ITEMS, SPREAD, VOTES, FEW = 100, 1.5, 60, 5
HONEST, EACH = 60, 10
KINDS = ("noisy", "random", "adversarial", "position-biased", "one-sided", "tie-lazy", "too few votes")
CROWDS = [("pair", "JAM"), ("pair", "CrowdBT"), ("vote", "JAM"), ("vote", "CrowdBT")]

CROWD = wrap(
    f"{N_ITEMS} items with scores N(0, {SPREAD}²); {HONEST} honest annotators with flips from 0.05 to 0.25, and "
    f"{EACH} of each kind, with {VOTES} votes each (too few: {FEW}). Noisy annotators have flips from 0.3 to 0.4, "
    "random ones 0.5, adversarial ones 0.85. Position-biased annotators choose the left with a probability from 0.8 "
    "to 0.9 whatever the items, one-sided annotators always; tie-lazy annotators are honest and vote tie on 60 % of "
    "the pairs. *Accused* is the share of honest annotators who are called anything but reliable or noisy. Required: "
    "85 % of each kind, at most 3 % accused.",
    118,
)
WORKERS = wrap(
    f"{N_ITEMS} items, 5,000 votes, 50 workers: 30 % random, 10 % right with probability 0.15, the others 0.92; "
    "one truth per vote. Required: mean Kendall τ at most 0.015 below that with the true flips, Spearman ρ at "
    "least 0.84.",
    118,
)


def left_better(scores: Doubles, left: Any, right: Any, truth: str, rng: np.random.Generator) -> NDArray[np.bool_]:
    """Draw whether left is truly better: once for each pair, or once for each vote."""
    if truth == "vote":
        return np.asarray(rng.random(len(left)) < expit(scores[left] - scores[right]))
    first, second = np.minimum(left, right), np.maximum(left, right)
    pairs, of_vote = np.unique(first * len(scores) + second, return_inverse=True)
    drawn = rng.random(len(pairs)) < expit(scores[pairs // len(scores)] - scores[pairs % len(scores)])
    return np.asarray(drawn[of_vote] ^ (left > right))


def draw_crowd(seed: int, truth: str = "pair") -> tuple[jr.Comparisons, list[str]]:
    """Draw the votes of 60 honest annotators and ten of each other kind; return also the kind of each."""
    rng = np.random.default_rng(seed)
    kinds = ["honest"] * HONEST + [kind for kind in KINDS for _ in range(EACH)]
    who = np.repeat(np.arange(len(kinds)), [FEW if kind == "too few votes" else VOTES for kind in kinds])
    scores = SPREAD * rng.standard_normal(N_ITEMS)
    left = rng.integers(0, N_ITEMS, len(who))
    right = (left + rng.integers(1, N_ITEMS, len(who))) % N_ITEMS
    kind = np.array(kinds)[who]
    flip = rng.uniform(0.05, 0.25, len(kinds))
    others = {"noisy": rng.uniform(0.3, 0.4, len(kinds)), "random": np.full(len(kinds), 0.5)}
    for name, flips in {**others, "adversarial": np.full(len(kinds), 0.85)}.items():
        flip = np.where(np.array(kinds) == name, flips, flip)
    said = left_better(scores, left, right, truth, rng) ^ (rng.random(len(who)) < flip[who])
    loglik_jacobian = rng.random(len(who)) < rng.uniform(0.8, 0.9, len(kinds))[who]
    said = np.select([kind == "position-biased", kind == "one-sided"], [loglik_jacobian, True], said)
    outcome = np.where((kind == "tie-lazy") & (rng.random(len(who)) < 0.6), 0.5, said)
    return jr.Comparisons.from_arrays(left, right, who, outcome), kinds


def verdicts_of(seed: int, truth: str, model: str) -> list[tuple[str, str]]:
    """Return kind and verdict of every annotator of a crowd."""
    votes, kinds = draw_crowd(seed, truth)
    told = getattr(jr, model)().fit(votes).annotators_["verdict"].to_list()
    return list(zip(kinds, told, strict=True))


def shares(found: list[tuple[str, str]]) -> dict[str, float]:
    """Return the share of each kind that got its verdict, that of all kinds, and of the honest who were accused."""
    by_kind = {kind: np.mean([kind == told for of, told in found if of == kind]) for kind in KINDS}
    accused = [told not in ("reliable", "noisy") for of, told in found if of == "honest"]
    every = np.mean([kind == told for kind, told in found if kind != "honest"])
    return {
        **{k: float(v) for k, v in by_kind.items()},
        "all kinds": float(every),
        "accused": float(np.mean(accused)),
    }


def draw_jury(seed: int, copy: bool, n_pairs: int = 600, truth: str = "pair") -> jr.Comparisons:
    """Draw the votes of five judges on the same pairs; with ``copy`` the second says what the first says."""
    rng = np.random.default_rng(seed)
    scores = SPREAD * rng.standard_normal(N_ITEMS)
    left = rng.integers(0, N_ITEMS, n_pairs)
    right = (left + rng.integers(1, N_ITEMS, n_pairs)) % N_ITEMS
    flips = rng.uniform(0.05, 0.3, 5)
    said = np.stack(
        [
            left_better(scores, left, right, "pair", np.random.default_rng([seed, k * (truth == "vote")]))
            for k in range(5)
        ]
    ).T
    said ^= rng.random(said.shape) < flips
    if copy:
        said[:, 1] = said[:, 0]
    who = np.tile(np.arange(5), n_pairs)
    return jr.Comparisons.from_arrays(np.repeat(left, 5), np.repeat(right, 5), who, said.ravel().astype(float))


def scores_by_known_flips(votes: jr.Comparisons, flips: Doubles, variance: float) -> Doubles:
    """Return the scores of highest posterior density, the flips and the variance of the scores being known."""
    first, second = votes.pair_first[votes.vote_pair], votes.pair_second[votes.vote_pair]
    flip, sign = flips[votes.vote_annotator], np.where(votes.vote_result == 1, 1.0, -1.0)

    def loss(scores: Doubles) -> tuple[float, Doubles]:
        p = expit(sign * (scores[first] - scores[second]))
        likely = flip + (1 - 2 * flip) * p
        pull = votes.vote_weight * sign * (1 - 2 * flip) * p * (1 - p) / likely
        slope = scores / variance - np.bincount(first, pull, len(scores)) + np.bincount(second, pull, len(scores))
        return float((scores**2).sum() / (2 * variance) - (votes.vote_weight * np.log(likely)).sum()), slope

    return np.asarray(minimize(loss, np.zeros(votes.n_items), jac=True, method="L-BFGS-B").x)


def crowd_bt(seed: int) -> tuple[float, float, float]:
    """Return Kendall's τ with flips found and with flips known, and Spearman's ρ of the reliabilities."""
    rng = np.random.default_rng(seed)
    n_workers, n_votes = 50, 5000
    scores = SPREAD * rng.standard_normal(N_ITEMS)
    flips = rng.permutation(np.repeat([0.5, 0.85, 0.08], [15, 5, 30]))
    left = rng.integers(0, N_ITEMS, n_votes)
    right = (left + rng.integers(1, N_ITEMS, n_votes)) % N_ITEMS
    who = rng.integers(0, n_workers, n_votes)
    said = left_better(scores, left, right, "vote", rng) ^ (rng.random(n_votes) < flips[who])
    votes = jr.Comparisons.from_arrays(left, right, who, said.astype(float))
    found = jr.CrowdBT().fit(votes)
    known = scores_by_known_flips(votes, flips[votes.annotators], found.result_.scores.score_variance)
    truth = scores[votes.items]
    taus = [float(kendalltau(estimate, truth)[0]) for estimate in (found.scores_, known)]
    return taus[0], taus[1], float(spearmanr(-found.flip_, -flips[votes.annotators])[0])


def measure(seeds: int) -> dict[str, Any]:
    """Run everything over so many seeds."""
    numbers: dict[str, Any] = {"seeds": seeds, "verdicts": {}, "judges": {}}
    for truth, model in CROWDS:
        say(f"verdicts: {model}, a truth for each {truth}\n")
        found = [pair for seed in range(seeds) for pair in verdicts_of(seed, truth, model)]
        numbers["verdicts"][f"{model}, a truth for each {truth}"] = shares(found)
    for truth in ("pair", "vote"):
        for copy in (False, True):
            say(f"judges: {'a copy' if copy else 'independent'}, a truth for each {truth}\n")
            counts = [
                jr.JAM().fit(draw_jury(seed, copy, truth=truth)).result_.annotators.effective_judges
                for seed in range(seeds)
            ]
            name = f"five, {'one a copy' if copy else 'independent'}, a truth for each {truth}"
            numbers["judges"][name] = {
                "mean": float(np.mean(counts)),
                "least": float(min(counts)),
                "most": float(max(counts)),
            }
    say("CrowdBT\n")
    found_tau, known_tau, rho = (float(np.mean(column)) for column in zip(*map(crowd_bt, range(seeds)), strict=True))
    numbers["CrowdBT"] = {"τ, flips found": found_tau, "τ, flips known": known_tau, "ρ of reliabilities": rho}
    return numbers


def text_of(numbers: dict[str, Any], made: dict[str, str]) -> str:
    """Write the numbers for people."""
    names = [*KINDS, "all kinds", "accused"]
    rows = [[name, *(f"{found[kind]:.1%}" for kind in names)] for name, found in numbers["verdicts"].items()]
    judges = [
        [name, *(f"{found[k]:.2f}" for k in ("mean", "least", "most"))] for name, found in numbers["judges"].items()
    ]
    crowd = numbers["CrowdBT"]
    lines = [
        "# Verdicts",
        "",
        f"`make benchmark-verdicts`: seeds 0 to {numbers['seeds'] - 1}. What verdicts mean is in docs/verdicts.md.",
        "",
        "## Share of annotators who get the verdict of their kind",
        "",
        *CROWD,
        "",
        *table(["model and truth", *names], rows),
        "## Effective number of judges",
        "",
        "Five judges with flips from 0.05 to 0.3 on 600 pairs (JAM). Required: 4.7 to 5.1, with a copy 3.5 to 4.2.",
        "",
        *table(["judges", "mean", "least", "most"], judges),
        "## CrowdBT against CrowdBT with the true flips",
        "",
        *WORKERS,
        "",
        *table(
            ["τ, flips found", "τ, flips known", "difference", "ρ of reliabilities"],
            [
                [
                    f"{crowd['τ, flips found']:.4f}",
                    f"{crowd['τ, flips known']:.4f}",
                    f"{crowd['τ, flips known'] - crowd['τ, flips found']:.4f}",
                    f"{crowd['ρ of reliabilities']:.3f}",
                ]
            ],
        ),
        *made_with(made),
    ]
    return "\n".join(lines)


def main() -> None:
    given, begun_at = arguments(parser("verdicts", __doc__ or "")), commit()
    warnings.simplefilter("ignore", jr.errors.TiesExcludedWarning)
    numbers = measure(QUICK_SEEDS if given.quick else SEEDS)
    made = about(begun_at)
    write(given.out, "verdicts", text_of(numbers, made), {**numbers, "made with": made})


if __name__ == "__main__":
    main()
