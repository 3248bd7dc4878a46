"""Whether intervals hold where annotators think alike: FamilyBT with families found, beside the oracle and CrowdBT.

Every set is drawn from a seed. Sets that are done are kept in build/alike.jsonl and alike_sets.json; a run that was
stopped goes on from there, and ``--minutes 0`` writes the page of what there is. Delete both files to begin anew.
"""

from __future__ import annotations

import os

os.environ.setdefault("JAMRANK_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("POLARS_MAX_THREADS", "1")

import json
import warnings
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import jamrank as jr
from benchmarks import everyday_real, machine, report, stored
from benchmarks.alike_models import MODEL_LINES, ModelLine, measure_model
from jamrank.simulation import Simulation, Tastes

SEED, SETS, QUICK_SETS = 40_000, 200, 1
DONE = report.HERE.parent / "build" / "alike.jsonl"
SPREAD = 1.5
LIMITS = {"ranks": 0.93, "width": 1.3, "independent": 1.15, "judges": 0.3}


@dataclass(frozen=True)
class Line:
    """What is drawn: tastes, flips, and whether annotators are independent."""

    name: str
    tastes: Tastes
    flip: float = 0.0
    n_annotators: int = 8
    n_votes: int = 1000
    n_items: int = 20

    @property
    def independent(self) -> bool:
        """Whether nothing is shared."""
        return not (self.tastes.families or self.tastes.camps or self.tastes.copies or self.tastes.own_sd)

    def draw(self, seed: int) -> Simulation:
        """Draw one set."""
        return jr.simulate(
            self.n_items,
            self.n_annotators,
            self.n_votes,
            truth="vote",
            flips=[self.flip] * self.n_annotators,
            spread=SPREAD,
            tastes=self.tastes,
            random_state=np.random.default_rng([SEED + seed, sum(map(ord, self.name))]),
        )


LINES = [
    Line("independent", Tastes()),
    Line("independent, flips .15", Tastes(), 0.15),
    Line("5 of 8 share", Tastes(families=(5,))),
    Line("3 of 8 share", Tastes(families=(3,))),
    Line("two families of 4", Tastes(families=(4, 4))),
    Line("own tastes", Tastes(own_sd=0.5)),
    Line("two camps 5:3", Tastes(camps=(5, 3))),
    Line("4 of 8 copies", Tastes(copies=4), 0.15),
    Line("3 of 5 copies", Tastes(copies=3), 0.15, n_annotators=5, n_votes=625),
    Line("5 of 8 share, 4,000 votes", Tastes(families=(5,)), n_votes=4000),
    Line("12 and 8 of 40 share", Tastes(families=(12, 8)), 0.15, n_annotators=40, n_votes=50_000, n_items=25),
    Line(
        "12 and 8 of 40 share, own tastes",
        Tastes(families=(12, 8), own_sd=0.3),
        0.15,
        n_annotators=40,
        n_votes=50_000,
        n_items=25,
    ),
]
COPIES = [(2, 5), (3, 5), (3, 8), (4, 8), (5, 8)]


def measure(name: str, seed: int) -> dict[str, Any]:
    """Measure one set."""
    if name.startswith("copies"):
        return measure_copies(name, seed)
    of_models = any(line.name == name for line in MODEL_LINES)
    return measure_model(name, seed) if of_models else measure_line(name, seed)


def measure_line(name: str, seed: int) -> dict[str, Any]:
    """Draw one set and fit it: families found, families known, and CrowdBT."""
    line = next(line for line in LINES if line.name == name)
    drawn = line.draw(seed)
    votes, copies = drawn.votes, line.tastes.copies
    assert drawn.tastes is not None
    family = dict(zip(votes.annotators.tolist(), drawn.tastes.family.tolist(), strict=True))
    known = {name: g for name, g in family.items() if g >= 0}
    alone = votes.only(votes.vote_annotator <= line.n_annotators - copies) if copies else votes
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = jr.FamilyBT().fit(votes)
        # Where nothing is shared, CrowdBT is the oracle.
        oracle = None if line.independent or line.tastes.camps else jr.FamilyBT(families=known).fit(alone)
        crowd = None if line.tastes.camps else jr.CrowdBT().fit(votes)
    chains = found.result_.uncertainty.diagnostics
    done: dict[str, Any] = {} if chains is None else {"rhat": chains.rhat}
    done["judges"] = found.result_.annotators.effective_judges
    if line.flip:
        done["flips"] = flips(found, drawn)
    done |= camps(found, drawn) if line.tastes.camps else ranks(found.ranking_, drawn.scores)
    for key, model in (("oracle", oracle), ("crowd", crowd)):
        if model is not None:
            other = ranks(model.ranking_, drawn.scores)
            done |= {key: other["ranks"], f"{key}_width": other["width"]}
    return done


def ranks(frame: Any, true: Any) -> dict[str, float]:
    """Return how often intervals hold the true ranks and scores, and how wide they are."""
    frame = frame.sort("item")
    rank = 1 + (true[None, :] > true[:, None]).sum(axis=1)
    centred = true - true.mean()
    low, high, least, most = (frame[name].to_numpy() for name in ("rank_low", "rank_high", "score_low", "score_high"))
    return {
        "ranks": float(((low <= rank) & (rank <= high)).mean()),
        "width": float((high - low).mean()),
        "scores": float(((least <= centred) & (centred <= most)).mean()),
    }


def flips(model: jr.FamilyBT, drawn: Simulation) -> float:
    """Return how often intervals hold the true flips."""
    low, high = model.result_.annotators.flip_range
    return float(((np.round(low, 3) <= drawn.flips) & (drawn.flips <= high)).mean())


def camps(model: jr.FamilyBT, drawn: Simulation) -> dict[str, Any]:
    """Return how often the ranking of each annotator's group holds the ranks in that annotator's mind."""
    assert drawn.tastes is not None
    held = []
    frame = model.rankings_by_family_
    for name, true in zip(drawn.votes.annotators.tolist(), drawn.tastes.scores, strict=True):
        mine = next(own for _, own in frame.group_by("family") if name in own["annotators"][0].split(", "))
        held.append(ranks(mine, true))
    return {key: float(np.mean([one[key] for one in held])) for key in ("ranks", "width", "scores")}


def measure_copies(name: str, seed: int) -> dict[str, Any]:
    """Draw copies among independent annotators who all judge the same pairs; count the judges and the named."""
    _, c, _, n, _, pairs, _ = name.split()
    copies, n_annotators = int(c), int(n)
    tastes = Tastes(copies=copies, same_pairs=int(pairs))
    drawn = Line(name, tastes, 0.15, n_annotators, n_items=40).draw(seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = jr.CrowdBT().fit(drawn.votes)
    copied = [str(verdict).startswith("copy of") for verdict in model.annotators_["verdict"]]
    first = n_annotators - copies + 1
    judges = model.result_.annotators.effective_judges
    assert judges is not None
    off = abs(judges - first)
    return {"off": off, "named": float(all(copied[first:])), "accused": float(any(copied[:first]))}


def run(
    measure: Callable[[str, int], dict[str, Any]],
    cases: list[stored.Case],
    done: Path | None,
    jobs: int,
    minutes: float,
    known: Iterable[dict[str, Any]] = (),
) -> list[dict[str, Any]]:
    """Measure what is not done yet, for so long; return all that is known of the cases."""

    def following(sets: list[dict[str, Any]]) -> list[stored.Case]:
        seen = {(one["line"], one["seed"]) for one in sets}
        return [case for case in cases if case not in seen][: 4 * jobs]

    sets = stored.run(measure, following, "line", done, jobs, minutes, known)
    found = {(one["line"], one["seed"]): one for one in sets}
    return [found[case] for case in cases if case in found]


def summary(line: Line | ModelLine, sets: list[dict[str, Any]]) -> dict[str, Any]:
    """Return means, standard errors and what fails by more than two standard errors."""
    own = [one for one in sets if one["line"] == line.name]
    row: dict[str, Any] = {"line": line.name, "sets": len(own), "fails": []}
    names = ("ranks", "width", "scores", "flips", "oracle", "oracle_width", "crowd", "crowd_width", "judges")
    for name in names:
        values = np.array([one[name] for one in own if one.get(name) is not None], dtype=float)
        row[name] = float(values.mean()) if len(values) else None
        row[f"{name}_se"] = float(values.std() / np.sqrt(len(values))) if len(values) else None
    if not own:
        return row
    if row["ranks"] + 2 * row["ranks_se"] < LIMITS["ranks"]:
        row["fails"].append("ranks covered")
    for other, limit in (("oracle_width", LIMITS["width"]), ("crowd_width", LIMITS["independent"])):
        if row[other] is None or (other == "crowd_width" and not line.independent):
            continue
        ratio = np.array([one["width"] / one[other] for one in own])
        row["ratio"], row["ratio_se"] = float(ratio.mean()), float(ratio.std() / np.sqrt(len(ratio)))
        if ratio.mean() - 2 * ratio.std() / np.sqrt(len(ratio)) > limit:
            row["fails"].append("wider than the oracle" if other == "oracle_width" else "wider than without search")
    return row


def text(rows: list[dict[str, Any]], copies: list[dict[str, Any]], real: list[str], about: dict[str, str]) -> str:
    """Return the page; ``real`` are the lines on real votes."""

    def share(row: dict[str, Any], name: str) -> str:
        value = row.get(name)
        return "" if value is None else f"{100 * value:.1f} ± {100 * row[name + '_se']:.1f}"

    def width(row: dict[str, Any], name: str) -> str:
        return "" if row.get(name) is None else f"{row[name]:.2f} ± {row[name + '_se']:.2f}"

    lines = report.table(
        ["line", "sets", "ranks covered %", "scores %", "flips %", "width", "oracle %", "oracle width", "CrowdBT %",
         "CrowdBT width", "width, of the oracle's", "effective judges", "fails"],
        (
            [
                row["line"],
                str(row["sets"]),
                *(share(row, name) for name in ("ranks", "scores", "flips")),
                width(row, "width"),
                share(row, "oracle"),
                width(row, "oracle_width"),
                share(row, "crowd"),
                width(row, "crowd_width"),
                width(row, "ratio"),
                width(row, "judges"),
                ", ".join(row["fails"]) or "-",
            ]
            for row in rows
        ),
    )  # fmt: skip
    named = report.table(
        ["copies", "sets", "all named %", "others named %", "distance of effective judges from n − c + 1"],
        (
            [
                row["line"],
                str(row["sets"]),
                f"{100 * row['named']:.0f}",
                f"{100 * row['accused']:.1f}",
                f"{row['off']:.2f}",
            ]
            for row in copies
        ),
    )
    return "\n".join(
        [
            "# Annotators who think alike",
            "",
            "Made by `make benchmark-alike`. 20 items with scores of deviation 1.5, 8 annotators, 1,000 votes (of 40",
            "annotators 25 items and 50,000 votes, own tastes of deviation .3, by the normal approximation);",
            "families share an effect of deviation .8 on each item, own tastes have deviation .5, camps unrelated",
            "scores. FamilyBT with families found, beside FamilyBT that is given families and copies (the oracle)",
            "and CrowdBT. Of camps, the ranking of each annotator's own group is compared with what that annotator",
            "has in mind. Asked: 93 % or more of the 95 % rank intervals hold the true rank, at most 1.3 times as",
            "wide as the oracle's and, of independent annotators, 1.15 times as wide as CrowdBT's, which is their",
            "oracle. Means ± standard errors; a line fails by more than two of them.",
            "",
            "In the last lines annotators are independent, with flips from Beta(2, 8), and the model is that named:",
            "JAM with four features that explain scores of deviation 1.5 and leave a residual, scores with a t2",
            "distribution (CrowdBT; JAM where each pair has a truth), and flips whose logit is proportional to the",
            "margin (JAM with the noise difficulty). Their oracle knows flips and variances.",
            "",
            *lines,
            "",
            "Copies among independent annotators with flips of .15, everybody on the same pairs of 40 items:",
            "",
            *named,
            "",
            "## Real votes",
            "",
            *real,
            *report.made_with(about),
        ]
    )


def main() -> None:
    asked = report.parser("alike", __doc__ or "")
    asked.add_argument("--sets", type=int, help=f"sets of each line (default: {SETS})")
    asked.add_argument("--minutes", type=float, default=330.0, help="begin no more sets after so long")
    asked.add_argument("--jobs", type=int, default=machine.cores(), help="processes")
    asked.add_argument("--only", help="lines whose name contains this")
    asked.add_argument("--no-real", action="store_true", help="leave real votes out")
    given = report.arguments(asked)
    both: list[Line | ModelLine] = [*LINES, *MODEL_LINES]
    lines = [line for line in both if (given.only or "") in line.name and not (given.quick and line.n_votes > 1000)]
    names = [f"copies {c} of {n} on {pairs} pairs" for c, n in COPIES for pairs in (125, 600)]
    names = [name for name in names if (given.only or "") in name]
    sets = QUICK_SETS if given.quick else given.sets or SETS
    # All lines side by side: a run that is stopped has some sets of each.
    cases = [(name, seed) for seed in range(sets) for name in [*(line.name for line in lines), *names]]
    kept = given.out / "alike_sets.json"
    known = stored.unpacked(json.loads(kept.read_text()), "line") if kept.exists() and not given.quick else []
    found = run(measure, cases, None if given.quick else DONE, given.jobs, given.minutes, known)
    rows = [summary(line, found) for line in lines]
    copies = []
    for name in names:
        own = [one for one in found if one["line"] == name]
        if own:
            mean = {key: float(np.mean([one[key] for one in own])) for key in ("named", "accused", "off")}
            copies.append({"line": name, "sets": len(own), **mean})
    real = [] if given.no_real or given.quick else everyday_real.run(everyday_real.ALIKE)
    commits = Counter(one["commit"] for one in found)
    about = {"seed": str(SEED), **machine.about(machine.commit())}
    about["commit"] = ", ".join(f"{name} ({count} sets)" for name, count in commits.items())
    all_sets = list({(one["line"], one["seed"]): one for one in [*known, *found]}.values())
    kept.write_text(stored.text(stored.packed(all_sets, "line")))
    page = text(rows, copies, everyday_real.alike_lines(real), about)
    report.write(given.out, "alike", page, {"rows": rows, "copies": copies, "real": real, "about": about})


if __name__ == "__main__":
    main()
