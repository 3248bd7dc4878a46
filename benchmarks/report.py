"""What every benchmark's output has in common: where it goes, and how tables and numbers look."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
# Quick runs only show that everything works; their numbers are not to be kept.
QUICK = HERE.parent / "build" / "quick-benchmarks"


def parser(name: str, purpose: str) -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(prog=f"python -m benchmarks.{name}", description=purpose.split("\n")[0])
    made.add_argument("--quick", action="store_true", help="small sizes, to see that it works; numbers mean little")
    made.add_argument("--out", type=Path, help=f"folder for {name}.md and the like (default: benchmarks)")
    return made


def arguments(asked: argparse.ArgumentParser) -> argparse.Namespace:
    given = asked.parse_args()
    given.out = given.out or (QUICK if given.quick else HERE)
    given.out.mkdir(parents=True, exist_ok=True)
    return given


def write(folder: Path, name: str, text: str, numbers: dict[str, Any]) -> None:
    """Print the text, and write it and the numbers."""
    (folder / f"{name}.md").write_text(text)
    (folder / f"{name}.json").write_text(json.dumps(numbers, indent=1, ensure_ascii=False, allow_nan=False) + "\n")
    sys.stdout.write(text)


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """Return the lines of a table, and an empty one after it."""
    lines = [f"| {' | '.join(header)} |", "|---" * len(header) + "|"]
    escaped = ([cell.replace("|", "\\|").replace("\n", " ") for cell in row] for row in rows)
    return [*lines, *(f"| {' | '.join(row)} |" for row in escaped), ""]


def made_with(about: dict[str, str], heading: str = "##") -> list[str]:
    return [f"{heading} Made with", "", *(f"- {key}: {value}" for key, value in about.items()), ""]


def holds(yes: bool) -> str:
    """Say whether what is asked for was measured."""
    return "holds" if yes else "does not hold"


def seconds(value: float | None) -> str:
    if value is None:
        return ""
    digits = 0 if value >= 100 else 1 if value >= 10 else 2 if value >= 1 else 3 if value >= 0.1 else 4
    return f"{value:.{digits}f}"


def say(text: str) -> None:
    """Show progress."""
    sys.stderr.write(text)
    sys.stderr.flush()
