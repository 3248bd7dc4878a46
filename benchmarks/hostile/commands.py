"""Commands with hostile files, names and options: an exit code, printable lines, valid JSON, no traceback."""

# ruff: noqa: E501
from __future__ import annotations

import json
import os
import random
import shutil
from pathlib import Path
from typing import Any

from benchmarks.hostile.base import REFUSED, RIGHT, WRONG, Ending, hostile_text, where
from benchmarks.hostile.text import hostile_votes

__all__ = ["case"]

_NUMBERS = ["1e400", "-1", "0", "nan", "inf", "1e308", "x", "", "9" * 400, "0.5"]


def case(rng: random.Random, folder: Path) -> Ending:
    """Run a command in this process."""
    from click.testing import CliRunner

    from jamrank.cli import main

    place = folder / "commands"
    place.mkdir()
    before = Path.cwd()
    os.chdir(place)
    try:
        given = [_argument(text) for text in _given(rng, place)]
        result = CliRunner().invoke(main, given)
    finally:
        os.chdir(before)
        shutil.rmtree(place)
    told = f"{[argument[:60] for argument in given]}"
    error = result.exception
    if error is not None and not isinstance(error, SystemExit):
        return WRONG, f"{told}: {type(error).__name__}: {error}"[:500] + where(error)
    for text in (result.stdout, result.stderr):
        raw = next((line for line in text.split("\n") if not _printable(line)), None)
        if raw is not None:
            return WRONG, f"{told}: printed {raw[:200]!r}"
        if len(text) > 300_000:
            return WRONG, f"{told}: printed {len(text)} characters"
    if result.exit_code not in ((0, 1, 2) if given[0] != "next" else (0, 2, 10, 11, 12)):
        return WRONG, f"{told}: exit code {result.exit_code}"
    if result.exit_code == 2 and len(result.stderr.strip("\n").split("\n")[-1]) > 2100:
        return WRONG, f"{told}: a long line"
    if "--json" in given and "--help" not in given and result.exit_code == 0:
        try:
            json.loads(result.stdout, parse_constant=_refuse)
        except ValueError as wrong:
            return WRONG, f"{told}: {wrong}: {result.stdout[:200]!r}"
    return (REFUSED if result.exit_code == 2 else RIGHT), told


def _argument(text: str) -> str:
    """Return text as the system can pass it to a command: without NUL, its bytes as they are."""
    return os.fsdecode(text.replace("\0", "").encode(errors="surrogateescape" if _is_bytes(text) else "replace"))


def _is_bytes(text: str) -> bool:
    return not any(0xD800 <= ord(letter) < 0xDC80 or 0xDD00 <= ord(letter) < 0xE000 for letter in text)


def _printable(line: str) -> bool:
    return line.replace("\u200d", "").replace("\u200c", "").isprintable()


def _refuse(constant: str) -> Any:
    raise ValueError(f"{constant} is no JSON")


def _given(rng: random.Random, place: Path) -> list[str]:
    votes = "votes.json"
    records = hostile_votes(rng) if rng.random() < 0.7 else hostile_votes(random.Random(1))
    if rng.random() < 0.3:
        for record in records:
            record[rng.choice(["group", "weight", "question", hostile_text(rng)])] = rng.choice(
                [1, hostile_text(rng), 1e300]
            )
    (place / votes).write_text(json.dumps(records))
    if rng.random() < 0.1:
        votes = hostile_text(rng).replace("/", "_").replace("\0", "_") or "none"
    return rng.choice([_fit, _fit, _check, _next, _export, _plan, _odd])(rng, votes, place)


def _fit(rng: random.Random, votes: str, place: Path) -> list[str]:
    given = ["fit", votes, "--model", rng.choice(["WinRate", "Borda", "Copeland", "WinRate", hostile_text(rng)])]
    more: list[list[str]] = [
        ["--json"], ["--out", "out"], ["--out", hostile_text(rng).replace("/", "_")], ["--by", rng.choice(["annotator", "group", hostile_text(rng)])],
        ["--anchor", hostile_text(rng)], ["--max-iter", rng.choice(_NUMBERS)], ["--tol", rng.choice(_NUMBERS)], ["--memory", rng.choice(_NUMBERS) + "GB"],
        ["--features", votes], ["--gold", votes], ["--export", rng.choice(["json", "markdown", "preferences", hostile_text(rng)])], ["--spreadsheet-safe"],
        ["--map", f"left={hostile_text(rng)}"], ["--winner", hostile_text(rng)], ["--format", hostile_text(rng)], ["--engine", rng.choice(["disk", "memory", "x"])],
        ["--start", votes], ["--noise", hostile_text(rng)],
    ]  # fmt: skip
    return given + [argument for option in rng.sample(more, rng.randrange(3)) for argument in option]


def _check(rng: random.Random, votes: str, place: Path) -> list[str]:
    return ["check", votes, *rng.choice([[], ["--json"], ["--quiet"]])]


def _next(rng: random.Random, votes: str, place: Path) -> list[str]:
    more = [["--json"], ["--count", rng.choice(["1", "5", *_NUMBERS])], ["--budget", rng.choice(_NUMBERS)], ["--out", "next.csv"], ["--threshold", hostile_text(rng)],
            ["--goal", rng.choice(["top-k", "threshold", "x"])], ["--k", rng.choice(["1", *_NUMBERS])], ["--easy-share", rng.choice(_NUMBERS)]]  # fmt: skip
    return ["next", votes] + [argument for option in rng.sample(more, rng.randrange(3)) for argument in option]


def _export(rng: random.Random, votes: str, place: Path) -> list[str]:
    """Export a model of hostile names."""
    import warnings

    import jamrank as jr
    from jamrank.errors import JamrankError

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            jr.WinRate().fit(jr.read_comparisons(place / "votes.json")).save(place / "model.jamrank")
        except JamrankError:
            (place / "model.jamrank").write_bytes(b"PK")
    kind = rng.choice(["json", "markdown", "preferences", "parquet", "json,markdown", hostile_text(rng)])
    more = [
        ["--scale", "elo"],
        ["--anchor", hostile_text(rng)],
        ["--least", rng.choice(_NUMBERS)],
        ["--out", hostile_text(rng).replace("/", "_")],
    ]
    return ["export", "model.jamrank", "--to", kind, *rng.choice([[], *more])]


def _plan(rng: random.Random, votes: str, place: Path) -> list[str]:
    return ["plan", votes, "--runs", rng.choice(["0", "x"]), "--most", rng.choice(_NUMBERS)]


def _odd(rng: random.Random, votes: str, place: Path) -> list[str]:
    name = hostile_text(rng)
    return rng.choice([
        [name], ["fit"], ["fit", name], ["fit", votes, name], ["compare", name], ["export", name, "--to", "json"], ["simulate", "--out", name, "--items", rng.choice(_NUMBERS)],
        ["jury", name, "--dry-run"], ["jury", votes, "--judges", name, "--dry-run"], ["jury", "--audit", name], ["studio", name, "--study", name], ["next", name], ["plan", name],
        ["reproduce", name], ["check", votes, "--winner", f"{name}=left"], ["export", votes, "--to", "json"], ["simulate", "--flips", rng.choice(_NUMBERS), "--out", "s.csv", "--votes", "10", "--items", "3"],
        ["studio", "invite", name], ["studio", "backup", name, "copy"], ["diff", name, name], ["fit", votes, "--engine", "disk", "--scratch", name.replace("/", "_")],
    ])  # fmt: skip
