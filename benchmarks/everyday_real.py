"""The default on real votes: its held-out loss beside Bradley-Terry's and that of an earlier default.

``python -m benchmarks.everyday_real`` measures the earlier default anew, for ``BEFORE``.
"""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import jamrank as jr
from benchmarks import heldout, report
from jamrank.paper.data import Data
from jamrank.selection.cross_validation import hold_out
from jamrank.selection.folds import split
from jamrank.selection.trials import Candidate

FOLDS, WORSE = 5, 0.005
# Of the sessions with several kinds of annotators: how much worse than before the default may be.
WORSE_THAN_BEFORE = 0.002
# Nats per held-out vote of the default at commit 13ef558: its Auto, on the same votes in the same folds, ties left
# out of the loss; what `python -m benchmarks.everyday_real` prints.
BEFORE = {
    "light_fields": 0.5320,
    "llmfao, people": 0.4941,
    "llmfao, GPT-3": 0.5520,
    "llmfao, GPT-4": 0.4194,
    "arguments": 0.4501,
    "llmfao, together": 0.5227,
    "speakers": 0.5194,
}


def _judge(folder: Path, name: str) -> jr.Comparisons:
    return jr.Comparisons.from_frame(_votes_of_judge(folder, name))


def _votes_of_judge(folder: Path, name: str) -> pl.DataFrame:
    table = pl.read_csv(folder / "llmfao" / name)
    return table.select("left", "right", "winner", annotator=pl.lit(name.split("-")[0]), question="prompt")


def _together(folder: Path) -> jr.Comparisons:
    """Return the votes of people and of both LLM judges."""
    people = pl.read_csv(folder / "llmfao" / "crowd-comparisons.csv")
    named = people.select("left", "right", "winner", annotator=pl.col("worker").cast(pl.String), question="prompt")
    judges = [_votes_of_judge(folder, f"gpt{n}-crowd-comparisons.csv") for n in (3, 4)]
    return jr.Comparisons.from_frame(pl.concat([named, *judges]))


def _speakers(folder: Path) -> jr.Comparisons:
    """Return ratings of how expressive speakers sound as votes, on the paper's scale of five steps."""
    speakers = Data(folder).speakers()
    return jr.Comparisons.from_ratings(
        speakers.item, speakers.rater, np.minimum(speakers.ratings["emotional"] // 20, 4)
    )


SESSIONS = {
    "light_fields": lambda folder: heldout.light_fields(folder)[0],
    "llmfao, people": lambda folder: heldout.llmfao(folder)[0],
    "llmfao, GPT-3": lambda folder: _judge(folder, "gpt3-crowd-comparisons.csv"),
    "llmfao, GPT-4": lambda folder: _judge(folder, "gpt4-crowd-comparisons.csv"),
    "arguments": lambda folder: heldout.arguments(folder)[0],
    "llmfao, together": _together,
    "speakers": _speakers,
}


# On the page of everyday jobs; on that of annotators who think alike.
EVERYDAY = ["light_fields", "llmfao, people", "llmfao, GPT-3", "llmfao, GPT-4", "arguments"]
ALIKE = ["llmfao, together", "light_fields", "arguments", "speakers"]


def measure(name: str, folder: Path) -> dict[str, Any]:
    """Hold votes out in folds, from the default and from Bradley-Terry."""
    votes = SESSIONS[name](folder)
    heldout.Watched.chosen = []
    candidates = [Candidate("BradleyTerry", jr.BradleyTerry), Candidate("default", heldout.Watched)]
    found = hold_out(votes, split(votes, FOLDS, "vote"), candidates)
    behind = found.difference("default", "BradleyTerry")
    return {
        "session": name,
        "votes": float(found.weight.sum()),
        "chosen": list(heldout.Watched.chosen),
        "default": found.log_loss("default").value,
        "bradley_terry": found.log_loss("BradleyTerry").value,
        "behind": behind.value,
        "before": BEFORE.get(name),
        "fails": behind.value > WORSE,
    }


_EARLIER = """
import sys, warnings
import numpy as np, polars as pl
import jamrank as jr
warnings.simplefilter("ignore")
train, test = (jr.Comparisons.from_frame(pl.read_parquet(path)) for path in sys.argv[1:])
proba = jr.Auto().fit(train).vote_proba(test)
decided = (test.vote_result != 2) & (test.vote_weight > 0)
first = test.vote_result[decided] == 1
weight = test.vote_weight[decided]
print(-(weight * np.log(np.clip(np.where(first, proba, 1 - proba), 1e-12, 1))).sum(), weight.sum())
"""


def measure_earlier(name: str, folder: Path) -> float:
    """Return the loss of the default of the earlier commit in the same folds."""
    from benchmarks import baseline

    python = baseline.build(baseline.COMMIT)
    votes = SESSIONS[name](folder)
    fold, sums = split(votes, FOLDS, "vote"), np.zeros(2)
    for number in range(FOLDS):
        with tempfile.TemporaryDirectory() as scratch:
            paths = [Path(scratch) / "train.parquet", Path(scratch) / "test.parquet"]
            for path, there in zip(paths, (fold != number, fold == number), strict=True):
                votes.only(there).to_frame().write_parquet(path)
            out = subprocess.run(
                [python, "-c", _EARLIER, *paths], check=True, capture_output=True, text=True, timeout=3600
            ).stdout
        sums += [float(one) for one in out.split()]
    return float(sums[0] / sums[1])


def run(names: list[str]) -> list[dict[str, Any]]:
    """Measure the sessions that are there."""
    folder, found = heldout.data_folder(), []
    for name in names:
        if (folder / name.split(",")[0]).is_dir():
            report.say(f"{name}\n")
            found.append(measure(name, folder))
    return found


NO_DATA = ["No data folder: real votes are left out (`JAMRANK_DATA`).", ""]


def alike_lines(found: list[dict[str, Any]]) -> list[str]:
    """Return the part of the page of annotators who think alike."""
    if not found:
        return NO_DATA
    rows = [
        [
            one["session"],
            f"{one['votes']:,.0f}",
            _chosen(one),
            f"{one['default']:.4f}",
            f"{one['before']:.4f}",
            "worse" if one["default"] > one["before"] + WORSE_THAN_BEFORE else "-",
        ]
        for one in found
    ]
    better = sum(one["default"] < one["before"] for one in found)
    return [
        f"Nats per held-out vote in {FOLDS} folds; asked: never more than {WORSE_THAN_BEFORE} worse than the default "
        "of commit 13ef558, and better on at least two.",
        "",
        *report.table(["votes", "decided", "chosen", "default", "before", "fails"], rows),
        f"Better on {better}." + ("" if better >= 2 else " **Fewer than two.**"),
        "Votes on speakers come from ratings: all votes of a listener on a speaker come from one, so TasteBT",
        "predicts those that are held out nearly perfectly, by the listener's other votes on the same speakers.",
        "",
    ]


def _chosen(one: dict[str, Any]) -> str:
    return ", ".join(f"{name} {one['chosen'].count(name)}" for name in dict.fromkeys(one["chosen"]))


def lines(found: list[dict[str, Any]]) -> list[str]:
    """Return the part of the page of everyday jobs."""
    if not found:
        return NO_DATA
    rows = [
        [
            one["session"],
            f"{one['votes']:,.0f}",
            _chosen(one),
            f"{one['default']:.4f}",
            f"{one['bradley_terry']:.4f}",
            "" if one["before"] is None else f"{one['before']:.4f}",
            f"above Bradley-Terry by {one['behind']:.4f}" if one["fails"] else "-",
        ]
        for one in found
    ]
    known = [one for one in found if one["before"] is not None]
    mean, before = (
        float(np.mean([one[name] for one in known])) if known else np.nan for name in ("default", "before")
    )
    sentence = f"Mean of the default {mean:.4f}, of the earlier one {before:.4f}."
    return [
        f"Nats per held-out vote in {FOLDS} folds; asked: never above Bradley-Terry by more than {WORSE}, and in the "
        "mean below the default of commit 13ef558.",
        "",
        *report.table(["votes", "decided", "chosen", "default", "Bradley-Terry", "before", "fails"], rows),
        sentence + ("" if not known or mean < before else " **Not below.**"),
        "",
    ]


if __name__ == "__main__":
    for session in SESSIONS:
        print(f'    "{session}": {measure_earlier(session, heldout.data_folder()):.4f},', flush=True)
