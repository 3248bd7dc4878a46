"""Tables whose columns have other common names: home and away, winner and loser; or p_left or scores as outcomes."""

from __future__ import annotations

from dataclasses import replace

from jamrank.io.formats.base import Ballots, Format
from jamrank.io.formats.mapped import read_mapped
from jamrank.io.formats.table import Table

_SIDES = (
    ("left", "right"), ("model_a", "model_b"), ("item_a", "item_b"), ("option_a", "option_b"), ("home", "away"),
    ("home_team", "away_team"), ("hometeam", "awayteam"),
    ("a", "b"), ("first", "second"), ("item1", "item2"), ("item_1", "item_2"), ("model1", "model2"),
    ("model_1", "model_2"), ("player1", "player2"), ("player_1", "player_2"), ("team1", "team2"),
)  # fmt: skip
WINNERS = (
    "winner", "preferred", "preference", "verdict", "result", "choice", "chosen", "better", "label", "vote",
    "outcome", "answer", "judgement", "judgment", "ftr",
)  # fmt: skip
_SCORES = ("score", "goals", "points", "rating")


def _score_columns(table: Table, sides: tuple[str, str]) -> list[tuple[str, str]]:
    """Return pairs of columns named like the scores of both sides: home_goals and away_goals, score_a and score_b."""
    ends = (sides[0][-1], sides[1][-1])
    named = {
        (shape.format(side=left, score=score), shape.format(side=right, score=score))
        for left, right in (sides, ends if ends in (("a", "b"), ("1", "2")) else sides)
        for score in _SCORES
        for shape in ("{side}_{score}", "{score}_{side}", "{score}{side}")
    }
    return [(left, right) for left, right in named if left in table and right in table]


def _roles(table: Table) -> dict[str, str] | None:
    """Return which column is what; None where that is not clear."""
    if "winner" in table and "loser" in table:
        return {"chosen": "winner", "rejected": "loser"}
    sides = [pair for pair in _SIDES if all(name in table for name in pair)]
    winners = [name for name in WINNERS if name in table]
    if len(sides) != 1 or len(winners) > 1:
        return None
    found = dict(zip(("left", "right"), sides[0], strict=True))
    if winners:
        return {**found, "winner": winners[0]}
    if "p_left" in table:
        return {**found, "p_left": "p_left"}
    scores = _score_columns(table, sides[0])
    return {**found, **dict(zip(("left_score", "right_score"), scores[0], strict=True))} if len(scores) == 1 else None


def read(table: Table) -> Ballots:
    """Read the table as if the user had named its columns."""
    roles = _roles(table)
    assert roles is not None
    ballots = read_mapped(table, roles, whole=False)
    named = ", ".join(f"{role} is {column!r}" for role, column in roles.items() if role != column)
    return replace(ballots, notes=(named, *ballots.notes) if named else ballots.notes)


FORMAT = Format("named-pairs", "pairs in named columns", (), read, fits=lambda table: _roles(table) is not None)
