"""The page of the studio's benchmark: benchmarks/studio.md."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks import studio_efficiency as efficiency
from benchmarks.report import holds, made_with, table

_LOAD = (
    "database",
    "judges",
    "seconds",
    "votes",
    "errors",
    "p50_ms",
    "p95_ms",
    "p99_ms",
    "lost",
    "twice",
    "behind_s",
)
_KILLS = ("database", "kills", "acknowledged", "lost", "twice", "votes_after")
# The number of random votes for which a share is asked, and that share.
_SHARE = 0.7


def text_of(numbers: dict[str, Any], made: dict[str, str]) -> str:
    """Return the page."""
    loads, killed, curves = numbers["load"], numbers["kills"], numbers["studies"]
    savings = efficiency.savings(curves["information"], curves["random"])
    lines = [
        "# The studio under load",
        "",
        "`make benchmark-studio` writes this page. Judges vote at a steady pace over the loopback address; server,",
        "worker, database and judges share this machine. Lost: acknowledged and not in the ledger. Behind: from the",
        "last vote to the overview with it.",
        "",
        *table([_heading(name) for name in _LOAD], [[_cell(one[name]) for name in _LOAD] for one in loads]),
        *table([_heading(name) for name in _KILLS], [[_cell(one[name]) for name in _KILLS] for one in killed]),
        "## Whole studies",
        "",
        f"{len(curves['random'])} studies of {efficiency.N_ITEMS} items by {efficiency.N_JUDGES} judges, of whom",
        f"{efficiency.CARELESS} vote at random, through the endpoints of the voting page; judges vote in turn.",
        "In the right order: the share of all pairs, by a fit of the votes so far.",
        "",
        *_studies(savings, curves["information"]),
        "## What is asked for",
        "",
        *table(["asked for", "measured", ""], _lines(loads, killed, savings)),
        *made_with(made),
    ]
    return "\n".join(lines)


def _heading(name: str) -> str:
    return {"votes_after": "votes after the last kill"}.get(name, name.replace("_", " "))


def _cell(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.0f}" if value >= 10 else f"{value:.1f}"
    return value if isinstance(value, str) else f"{value:,}"


def _studies(savings: list[efficiency.Saving], chosen: list[list[float]]) -> list[str]:
    return [
        *table(
            ["random votes", "a judge", "in the right order", "chosen votes for this, as a share", "90 % interval"],
            [
                [
                    f"{one.level:,}",
                    str(one.level // efficiency.N_JUDGES),
                    f"{one.goal:.1%}",
                    f"{one.share:.2f}",
                    f"{one.low:.2f} to {one.high:.2f}",
                ]
                for one in savings
            ],
        ),
        *table(
            ["chosen votes", *map(str, efficiency.COUNTS)],
            [["in the right order", *(f"{share:.1%}" for share in np.mean(chosen, axis=0))]],
        ),
    ]


def _lines(
    loads: list[dict[str, Any]], killed: list[dict[str, Any]], savings: list[efficiency.Saving]
) -> list[list[str]]:
    """Return what is asked for, what was measured, and whether it holds."""

    def each(name: str, form: str) -> str:
        return ", ".join(f"{one['database']} {one[name]:{form}}" for one in loads)

    clean = all(not one["errors"] and not one["lost"] and not one["twice"] for one in loads)
    safe = all(not one["lost"] and not one["twice"] and one["votes_after"] for one in killed)
    return [
        ["p95 of a vote at most 150 ms", each("p95_ms", ".0f"), holds(all(one["p95_ms"] <= 150 for one in loads))],
        ["no error, every acknowledged vote there exactly once", each("votes", ","), holds(clean)],
        [
            "the ranking at most 10 s behind",
            each("behind_s", ".1f"),
            holds(all(one["behind_s"] <= 10 for one in loads)),
        ],
        ["kills under load: nothing lost or doubled, the study goes on", f"{len(killed)} databases", holds(safe)],
        *(
            [
                f"the order of {saved.level:,} votes on random pairs with at most {_SHARE} of them",
                f"{saved.share:.2f} ({saved.low:.2f} to {saved.high:.2f})",
                holds(saved.share <= _SHARE),
            ]
            for saved in savings
        ),
    ]
