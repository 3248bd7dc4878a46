"""The default on real votes: its held-out loss beside Bradley-Terry's and that of an earlier default."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import jamrank as jr
from benchmarks import heldout, report
from jamrank.selection.cross_validation import Candidate, hold_out
from jamrank.selection.folds import split

FOLDS, WORSE = 5, 0.005
# Nats per held-out vote of the default at commit 13ef558, measured once with that commit: its Auto, on the same votes
# in the same folds (they agree to the last vote), ties left out of the loss.
BEFORE = {
    "light_fields": 0.5315,
    "llmfao, people": 0.4959,
    "llmfao, GPT-3": 0.5512,
    "llmfao, GPT-4": 0.4135,
    "arguments": 0.4504,
}


def _judge(folder: Path, name: str) -> jr.Comparisons:
    table = pl.read_csv(folder / "llmfao" / name)
    named = table.select("left", "right", "winner", annotator=pl.lit(name.split("-")[0]), question="prompt")
    return jr.Comparisons.from_frame(named)


SESSIONS = {
    "light_fields": lambda folder: heldout.light_fields(folder)[0],
    "llmfao, people": lambda folder: heldout.llmfao(folder)[0],
    "llmfao, GPT-3": lambda folder: _judge(folder, "gpt3-crowd-comparisons.csv"),
    "llmfao, GPT-4": lambda folder: _judge(folder, "gpt4-crowd-comparisons.csv"),
    "arguments": lambda folder: heldout.arguments(folder)[0],
}


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


def run(names: list[str]) -> list[dict[str, Any]]:
    """Measure the sessions that are there."""
    folder, found = heldout.data_folder(), []
    for name in names:
        if (folder / name.split(",")[0]).is_dir():
            report.say(f"{name}\n")
            found.append(measure(name, folder))
    return found


def lines(found: list[dict[str, Any]]) -> list[str]:
    """Return the part of the page."""
    if not found:
        return ["No data folder: real votes are left out (`JAMRANK_DATA`).", ""]
    rows = [
        [
            one["session"],
            f"{one['votes']:,.0f}",
            ", ".join(f"{name} {one['chosen'].count(name)}" for name in dict.fromkeys(one["chosen"])),
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
