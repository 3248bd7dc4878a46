"""The page of the everyday jobs: means with standard errors, lines that fail, sentences that were false."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np

from benchmarks import report
from benchmarks.everyday_sentences import TEMPLATES

LIMITS: dict[str, Any] = {
    "order": 0.01,
    "evalica": 0.005,
    "ranks": 0.93,
    "width": 1.3,
    "flips": (0.93, 0.98),
    "accused": 0.01,
    "flip_error": 0.07,
    "flip_correlation": 0.9,
}
# Sets are drawn until standard errors are this small, and at least so many.
PRECISE = {"order": 0.005, "ranks": 0.01, "flips": 0.01}
FEWEST = 10
# A figure that fewer sets have, as the flips where a model without annotators is chosen, may stay less precise.
RARE = 0.1
_OF_FLIPS = ("flip_error", "flip_correlation")
FIGURES = ("order", "oracle", "evalica", "ranks", "width", "oracle_width", "flips", "accused", "flip_error",
           "flip_correlation", "win_rates")  # fmt: skip


def enough(own: list[dict[str, Any]]) -> bool:
    """Tell whether the sets of a job are precise enough."""
    fine = [one for one in own if "refused" not in one]
    if len(own) < FEWEST or not fine:
        return False
    return all(
        _mean(fine, name)[1] <= precise for name, precise in PRECISE.items() if _n_with(fine, name) > RARE * len(fine)
    )


def _n_with(sets: list[dict[str, Any]], name: str) -> int:
    return sum(one.get(name) is not None for one in sets)


def _mean(sets: list[dict[str, Any]], name: str) -> tuple[float | None, float]:
    sets = [one for one in sets if one.get(name) is not None]
    values = np.array([one[name] for one in sets], dtype=float)
    if not len(values):
        return None, 0.0
    # A few sets that happen to agree are not certain, unless they have many items.
    least = 0.05 / np.sqrt(sum(max(one["items"] / 20, 1.0) for one in sets))
    return float(values.mean()), max(float(values.std() / np.sqrt(len(values))), least)


def _gap(sets: list[dict[str, Any]], name: str) -> tuple[float, float]:
    values = np.array([one["order"] - one[name] for one in sets if one[name] is not None])
    if not len(values):
        return 0.0, 0.0
    return float(values.mean()), float(values.std() / np.sqrt(len(values)))


def summary(job: str, sets: list[dict[str, Any]]) -> dict[str, Any]:
    """Return means, standard errors and the lines that fail, by more than two standard errors."""
    own = [one for one in sets if one["job"] == job]
    fine = [one for one in own if "refused" not in one]
    row: dict[str, Any] = {"job": job, "sets": len(own), "refused": len(own) - len(fine), "fails": []}
    if row["refused"]:
        row["fails"].append("refused")
    if not fine:
        return row
    for name in FIGURES:
        row[name], row[f"{name}_se"] = _mean(fine, name)
    row["models"] = dict(Counter(one["model"] for one in fine).most_common())
    for name, least in (("oracle", LIMITS["order"]), ("evalica", LIMITS["evalica"])):
        behind, se = _gap(fine, name)
        if behind + 2 * se < -least:
            row["fails"].append(f"order below {name}")
    row["fails"] += [line for line, failed in _failing(row).items() if failed]
    return row


def _failing(row: dict[str, Any]) -> dict[str, bool]:
    def beyond(name: str, low: float, high: float = np.inf) -> bool:
        value, reach = row[name], 2 * row[f"{name}_se"]
        return value is not None and not low - reach <= value <= high + reach

    wide = row["width"] is not None and row["width"] > (
        LIMITS["width"] * row["oracle_width"] + 0.5 + 2 * row["width_se"]
    )
    of_flips = row["job"].startswith("flips")
    return {
        "ranks covered": beyond("ranks", LIMITS["ranks"]),
        "rank intervals too wide": wide,
        "flips covered": beyond("flips", *LIMITS["flips"]),
        "honest accused": beyond("accused", 0.0, LIMITS["accused"]),
        "flips wrong": of_flips and beyond("flip_error", 0.0, LIMITS["flip_error"]),
        "flips uncorrelated": of_flips and beyond("flip_correlation", LIMITS["flip_correlation"]),
        "win rates not kept": beyond("win_rates", 0.99),
    }


def sentence_rows(sets: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return of each template how often it was printed, wrong, and might have been."""
    found: dict[str, list[list[float]]] = {name: [] for name, _, _ in TEMPLATES}
    examples: dict[str, list[str]] = {}
    for one in sets:
        for name, wrong, may_be in one.get("sentences", []):
            found.setdefault(name, []).append([wrong, may_be])
        for name, sentence in one.get("wrong", []):
            examples.setdefault(name, []).append(f"{one['job']}, seed {one['seed']}: {sentence}")
    rows = []
    for name, values in found.items():
        wrong, may_be = np.array(values).reshape(-1, 2).T
        reach = 2 * np.sqrt(float((may_be * (1 - may_be)).sum()))
        fails = bool(wrong.sum() > may_be.sum() + reach + 1e-9)
        row = {"template": name, "printed": len(values), "wrong": float(wrong.sum()), "may_be": float(may_be.sum())}
        rows.append({**row, "fails": fails, "examples": examples.get(name, [])[:5] if fails else []})
    return rows


def text(rows: list[dict[str, Any]], sentences: list[dict[str, Any]], real: list[str], about: dict[str, str]) -> str:
    """Return the page."""

    def share(row: dict[str, Any], name: str) -> str:
        value = row.get(name)
        return "" if value is None else f"{100 * value:.1f} ± {100 * row[name + '_se']:.1f}"

    jobs = report.table(
        ["job", "sets", "chosen", "in order %", "oracle", "evalica", "ranks covered %", "width (oracle)", "flips %",
         "flip error, correlation", "honest accused %", "fails"],
        (
            [
                row["job"],
                str(row["sets"]),
                ", ".join(f"{model} {n}" for model, n in list(row.get("models", {}).items())[:3]),
                *(share(row, name) for name in ("order", "oracle", "evalica", "ranks")),
                "" if row.get("width") is None else f"{row['width']:.1f} ({row['oracle_width']:.1f})",
                share(row, "flips"),
                ", ".join(f"{row[name]:.3f}" for name in _OF_FLIPS if row.get(name) is not None),
                share(row, "accused"),
                ", ".join(row["fails"]) or "-",
            ]
            for row in rows
        ),
    )  # fmt: skip
    said = report.table(
        ["sentence", "printed", "wrong", "may be wrong", "fails"],
        (
            [row["template"], f"{row['printed']:,}", f"{row['wrong']:.1f}", f"{row['may_be']:.1f}",
             "**yes**" if row["fails"] else "-"]
            for row in sentences
        ),
    )  # fmt: skip
    false = [f"- {example}" for row in sentences for example in row["examples"]]
    failing = sum(bool(row["fails"]) for row in rows), sum(row["fails"] for row in sentences)
    return "\n".join(
        [
            "# The default on everyday jobs",
            "",
            "Made by `make benchmark-everyday`. Votes with a known truth, written to a file and read back;",
            "the default of `jamrank fit` beside the model that generated the votes (the oracle) and evalica's",
            "Bradley-Terry. In order: share of pairs of items in the right order, within groups that votes join.",
            "Asked: within 1 point of the oracle and .5 of evalica (where its scores are finite); 93 % or more of",
            "the 95 % rank intervals hold the true rank, and are at most 1.3 times as wide as the oracle's plus half",
            "a rank; flips covered in 93 to 98 %; at most 1 % of honest annotators to be reviewed or left out;",
            "the order of win rates kept in an AlpacaEval file; in the two jobs on flips a mean error of at most .07",
            "and a correlation of .9. A line fails by more than two standard errors. Sets are drawn until the",
            "standard errors are .5 points (order) and 1 point (coverage), at most 400; flips that fewer than a",
            "tenth of the sets have may stay less precise.",
            "",
            f"{failing[0]} of {len(rows)} jobs have a line that fails; {failing[1]} of {len(sentences)} sentences.",
            "",
            *jobs,
            "## Sentences",
            "",
            "Every sentence that `fit`, `check` and the report print has a predicate in `everyday_predicates.py`: it",
            "judges it by the truth. A sentence with a probability may be wrong that often; one fails by more than",
            "two standard errors.",
            "",
            *said,
            *([*false, ""] if false else []),
            "## Real votes",
            "",
            *real,
            *report.made_with(about),
        ]
    )
