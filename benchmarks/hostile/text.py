"""Hostile names and text: made safe where they are shown, kept as they are where they are data."""

from __future__ import annotations

import csv
import io
import json
import random
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import polars as pl

from benchmarks.hostile.base import REFUSED, RIGHT, WRONG, Ending, attempt, hostile_text

__all__ = ["case", "hostile_votes"]

_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def case(rng: random.Random, folder: Path) -> Ending:
    """Try one of the places that text goes through."""
    return rng.choice([_shown, _shown, _shown, _message, _votes, _tables])(rng, folder)


def _shown(rng: random.Random, folder: Path) -> Ending:
    from jamrank.text import plot_text, safe_line, safe_text

    text, longest = hostile_text(rng) * rng.choice([1, 1, 1, 50]), rng.choice([8, 60, 2000])
    for shown in (safe_text(text, longest), safe_line(text), plot_text(text, longest)):
        allowed = shown.replace("\u200d", "").replace("\u200c", "")
        if not allowed.isprintable():
            return WRONG, f"{text[:80]!r} is shown as {shown[:80]!r}"
        shown.encode()
    if len(safe_text(text, longest)) > longest or len(safe_line(text)) > 2000:
        return WRONG, f"{text[:80]!r} is shown at length"
    return RIGHT, "shown"


def _message(rng: random.Random, folder: Path) -> Ending:
    """Ask for things by hostile names."""
    import jamrank as jr
    from jamrank.cli.files import parse_map, parse_words
    from jamrank.cli.request import export_kinds
    from jamrank.io.out_of_core.storage_plan import parse_size

    name = hostile_text(rng)
    calls: list[Any] = [
        lambda: parse_size(name),
        lambda: parse_map((f"left={name}",)),
        lambda: parse_words((f"{name}=left",)),
        lambda: export_kinds(name),
        lambda: (
            jr.read_comparisons(folder / name.replace("/", "_")) if name.strip(". /") and "\0" not in name else None
        ),
        lambda: jr.read_comparisons(folder, format=name),
        lambda: jr.JAM(noise=name).fit(_few()),
        lambda: jr.WinRate().fit(_few()).predict_proba(name, "a"),
    ]
    _, ended = attempt(rng.choice(calls))
    return ended or (RIGHT, "taken")


def _few() -> Any:
    import jamrank as jr

    return jr.Comparisons.from_arrays(["a", "b"], ["b", "c"], ["k", "k"], [1, 0])


def hostile_votes(rng: random.Random, rows: int = 12) -> list[dict[str, Any]]:
    """Return votes on items with hostile names, by annotators with such names."""
    items = list(dict.fromkeys(hostile_text(rng) or rng.choice(["", "a", "b", "c"]) for _ in range(5)))
    items = items if len(items) > 1 else ["a", "b"]
    people = [hostile_text(rng) or "k" for _ in range(2)]
    votes = []
    for _ in range(rows):
        left, right = rng.sample(items, 2)
        winner = rng.choice(["left", "right", "tie"])
        votes.append({"annotator": rng.choice(people), "left": left, "right": right, "winner": winner})
    return votes


def _votes(rng: random.Random, folder: Path) -> Ending:
    """Read hostile names from a file: ids come back as they are, or are refused."""
    import jamrank as jr

    records = hostile_votes(rng, 4)
    kind = rng.choice(["json", "jsonl", "csv"])
    path = folder / f"votes.{kind}"
    if kind == "csv":
        text = io.StringIO(newline="")
        writer = csv.DictWriter(text, list(records[0]), lineterminator="\n", quoting=csv.QUOTE_ALL)
        writer.writeheader()
        writer.writerows(records)
        path.write_bytes(text.getvalue().encode(errors="surrogatepass"))
    else:
        written = json.dumps(records) if kind == "json" else "".join(json.dumps(r) + "\n" for r in records)
        path.write_text(written)
    votes, ended = attempt(lambda: jr.read_comparisons(path))
    if ended is not None:
        return ended
    known = {_escaped(record[side]) for record in records for side in ("left", "right")}
    found = set(map(str, votes.items.tolist()))
    if kind != "csv" and found != known:
        return WRONG, f"{kind}: {sorted(found)[:9]} and not {sorted(map(repr, known))[:9]}"
    if kind == "csv" and len(found) != len(known) and not all(map(_is_number, known)):
        return WRONG, f"{kind}: {sorted(found)[:9]} and not {sorted(map(repr, known))[:9]}"
    return RIGHT, kind


def _escaped(text: str) -> str:
    """Return an id as it is read: two halves of a character are one, half of one is its escape."""
    return str(json.loads(json.dumps(text))).encode(errors="backslashreplace").decode()


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


class _Scripts(HTMLParser):
    """Elements that could run something."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        if tag in ("script", "iframe", "object") or any(name.startswith("on") for name, _ in attributes):
            self.found.append(tag)


def _tables(rng: random.Random, folder: Path) -> Ending:
    """Write hostile names as CSV for spreadsheets, Markdown and HTML."""
    from jamrank.report.csv_text import csv_text
    from jamrank.report.exports import leaderboard
    from jamrank.report.markup import paragraph, plain, tag

    names = [name for name in (hostile_text(rng) for _ in range(3)) if _is_text(name)] or ["a"]
    frame = pl.DataFrame({"item": names, "rank": range(len(names)), "score": 0.0, "score_se": None})
    text, ended = attempt(lambda: csv_text(frame, True))
    if ended is not None:
        return ended
    cells = [row["item"] for row in csv.DictReader(io.StringIO(text, newline=""))]
    if any(cell.startswith(_FORMULA) for cell in cells):
        return WRONG, f"a formula: {cells}"
    _, ended = attempt(lambda: leaderboard(frame))
    if ended is not None and ended[0] != REFUSED:
        return ended
    markup = _Scripts()
    markup.feed("".join(tag("td", paragraph(plain(name), kind=name), title=name) for name in names))
    return (WRONG, f"markup {markup.found}: {names}") if markup.found else (RIGHT, "tables")


def _is_text(name: str) -> bool:
    return not any(0xD800 <= ord(character) < 0xE000 for character in name)
