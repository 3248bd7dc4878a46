"""Audit of judges: position bias, verbosity, self-preference, agreement with people, cost per bit."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from jamrank.collect import Annotator, Item, Ledger
from jamrank.data.comparisons import Comparisons
from jamrank.errors import JamrankWarning, LedgerError
from jamrank.inference.effects import logistic_effects, wilson
from jamrank.typing import FloatArray

# With fewer decided votes, biases are not estimated.
_FEWEST = 20

COLUMNS = (
    "judge",
    "votes",
    "ties",
    "refused",
    "unparsable",
    "failed",
    "left_share",
    "left_low",
    "left_high",
    "both_orders",
    "order_changed",
    "longer",
    "longer_low",
    "longer_high",
    "own_family",
    "own_family_low",
    "own_family_high",
    "people",
    "agreement",
    "agreement_low",
    "agreement_high",
    "flip",
    "bits_per_vote",
    "cost",
    "cost_per_bit",
)


def audit_ledger(ledger: Ledger) -> pl.DataFrame:
    """Return the audit of the judges of a ledger; see :func:`audit`."""
    failed: dict[str, dict[str, int]] = {}
    for event in ledger.events(kinds=("refused", "unparsable", "failed"), raw=False):
        counts = failed.setdefault(event.annotator, {})
        counts[event.kind] = counts.get(event.kind, 0) + 1
    costs = {one.annotator: one.spent for one in ledger.spending()}
    return audit(ledger.votes(), ledger.items(), ledger.annotators(), costs, failed)


def audit(
    votes: pl.DataFrame,
    items: Sequence[Item],
    annotators: Sequence[Annotator],
    costs: Mapping[str, float] | None = None,
    without_vote: Mapping[str, Mapping[str, int]] | None = None,
) -> pl.DataFrame:
    """Measure the biases, agreement and cost of each judge.

    Parameters
    ----------
    votes : polars.DataFrame
        As :meth:`jamrank.collect.Ledger.votes` returns them, of judges and of people.
    items : sequence of Item
        Their lengths, and their families where ``details`` has one.
    annotators : sequence of Annotator
        Which of them are models, and of which family.
    costs : mapping, optional
        What each has cost.
    without_vote : mapping, optional
        How many replies of each were refused, unparsable or failed.

    Returns
    -------
    polars.DataFrame
        A row for each judge. ``left_share`` is the share of its decided votes for the left, sides being balanced: 0.5
        without a position bias. ``order_changed`` is the share of the ``both_orders`` comparisons asked both ways
        whose verdict changed with the order. ``longer`` and ``own_family`` are log-odds: the gain of an answer of
        twice the length, or of the judge's own family, at equal quality; quality is estimated from the other
        annotators (for a single judge, from its own votes). ``agreement`` is with people's votes on the same
        ``people`` comparisons. ``flip`` is the probability of a vote against the truth; ``bits_per_vote`` is the
        information of a vote with that flip, and ``cost_per_bit`` its price. Columns that end in ``_low`` and
        ``_high`` are 95 % intervals.

    Raises
    ------
    LedgerError
        If no judge has voted.
    """
    with warnings.catch_warnings():
        # Warnings of these auxiliary fits are not shown; the ranking shows its own.
        warnings.simplefilter("ignore", JamrankWarning)
        return _audit(votes, items, annotators, costs or {}, without_vote or {})


def _audit(
    votes: pl.DataFrame,
    items: Sequence[Item],
    annotators: Sequence[Annotator],
    costs: Mapping[str, float],
    without_vote: Mapping[str, Mapping[str, int]],
) -> pl.DataFrame:
    models = {one.id: one for one in annotators if one.kind == "model"}
    judges = [name for name in models if name in set(votes["annotator"].unique())]
    if not judges:
        raise LedgerError("no judge has voted yet; ask some with jamrank jury ITEMS --judge NAME")
    flips = _flips(votes)
    contents = {(item.id, item.question): item for item in items}
    people = votes.filter(~pl.col("annotator").is_in(list(models)))
    rows = []
    for name in judges:
        own = votes.filter(pl.col("annotator") == name)
        decided = own.filter(pl.col("winner").is_in(["left", "right"]))
        scores = _scores(votes, name, len(judges) > 1 or people.height > 0)
        row = {"judge": name, "votes": own.height, "ties": own.height - decided.height}
        row |= {kind: without_vote.get(name, {}).get(kind, 0) for kind in ("refused", "unparsable", "failed")}
        row |= _position(decided) | _order(decided)
        row |= _effects(decided, contents, scores, models[name].details.get("family"))
        row |= _agreement(decided, people)
        row |= _price(flips.get(name), own.height, costs.get(name))
        rows.append(row)
    return pl.DataFrame(rows, schema=dict.fromkeys(COLUMNS, pl.Float64) | _KINDS)


_KINDS: dict[str, Any] = {"judge": pl.String} | dict.fromkeys(
    ("votes", "ties", "refused", "unparsable", "failed", "both_orders", "people"), pl.Int64
)


def _flips(votes: pl.DataFrame) -> dict[str, float]:
    from jamrank.models import JAM

    model = JAM().fit(table := Comparisons.from_frame(votes))
    return dict(zip(table.annotators.tolist(), np.asarray(model.flip_).tolist(), strict=True))


def _scores(votes: pl.DataFrame, judge: str, others: bool) -> dict[str, float]:
    """Return the scores of the items by the votes of the others; by all if there are no others."""
    from jamrank.models import JAM

    seen = votes.filter(pl.col("annotator") != judge) if others else votes
    seen = seen.filter(pl.col("winner").is_in(["left", "right"]))
    if not seen.height:
        return {}
    model = JAM().fit(table := Comparisons.from_frame(seen))
    return dict(zip(table.items.tolist(), np.asarray(model.scores_).tolist(), strict=True))


def _position(decided: pl.DataFrame) -> dict[str, float | None]:
    left = int((decided["winner"] == "left").sum())
    low, high = wilson(left, decided.height)
    share = left / decided.height if decided.height else None
    return {"left_share": share, "left_low": low, "left_high": high}


def _order(decided: pl.DataFrame) -> dict[str, float | int | None]:
    """Return how often a verdict changed with the order, among comparisons asked in both orders."""
    first = pl.col("left") < pl.col("right")
    cells = decided.select(
        "question",
        pl.when(first).then("left").otherwise("right").alias("a"),
        pl.when(first).then("right").otherwise("left").alias("b"),
        first.alias("order"),
        (first == (pl.col("winner") == "left")).alias("a_won"),
    )
    means = cells.group_by("question", "a", "b", "order").agg(pl.col("a_won").cast(pl.Float64).mean())
    ways = means.group_by("question", "a", "b").agg(
        pl.len().alias("orders"), (pl.col("a_won").max() - pl.col("a_won").min()).alias("change")
    )
    both = ways.filter(pl.col("orders") == 2)
    changed = both["change"].mean() if both.height else None
    return {"both_orders": both.height, "order_changed": changed}  # type: ignore[dict-item]


def _effects(
    decided: pl.DataFrame, contents: Mapping[tuple[str, str], Item], scores: Mapping[str, float], family: object
) -> dict[str, float | None]:
    """Regress the votes for the left on quality, side, length and family."""
    names = ("longer", "own_family")
    nothing: dict[str, float | None] = {f"{name}{end}": None for name in names for end in ("", "_low", "_high")}
    if decided.height < _FEWEST or not scores:
        return nothing
    rows = decided.select("left", "right", "question").rows()
    quality = np.array([scores.get(a, 0.0) - scores.get(b, 0.0) for a, b, _ in rows])
    length = np.array([_longer(contents.get((a, q)), contents.get((b, q))) for a, b, q in rows])
    own = np.array([_own(contents.get((a, q)), family) - _own(contents.get((b, q)), family) for a, b, q in rows])
    columns: dict[str, FloatArray] = {
        "side": np.ones(len(rows)),
        "quality": quality,
        "longer": length,
        "own_family": own,
    }
    kept = {name: column for name, column in columns.items() if name == "side" or np.ptp(column) > 0}
    said = (decided["winner"] == "left").to_numpy().astype(np.float64)
    cluster = np.unique([f"{min(a, b)}\0{max(a, b)}\0{q}" for a, b, q in rows], return_inverse=True)[1]
    effect, error = logistic_effects(np.column_stack(list(kept.values())), said, cluster)
    for name, value, se in zip(kept, effect, error, strict=True):
        if name in names and math.isfinite(se):
            nothing |= {name: value, f"{name}_low": value - 1.96 * se, f"{name}_high": value + 1.96 * se}
    return nothing


def _longer(one: Item | None, other: Item | None) -> float:
    if one is None or other is None or not one.text or not other.text:
        return 0.0
    return math.log2(len(one.text) / len(other.text))


def _own(item: Item | None, family: object) -> float:
    return float(item is not None and family is not None and item.details.get("family") == family)


def _agreement(decided: pl.DataFrame, people: pl.DataFrame) -> dict[str, float | int | None]:
    """Return the share of people's votes with which a judge agrees, on the comparisons that both have judged."""

    def cells(frame: pl.DataFrame) -> pl.DataFrame:
        first = pl.col("left") < pl.col("right")
        won = pl.when(pl.col("winner") == "left").then("left").otherwise("right")
        a = pl.when(first).then("left").otherwise("right")
        b = pl.when(first).then("right").otherwise("left")
        sure = frame.filter(pl.col("winner").is_in(["left", "right"]))
        return sure.group_by("question", a.alias("a"), b.alias("b")).agg(
            (won == a).cast(pl.Float64).mean().alias("p")
        )

    both = cells(decided).join(cells(people), on=["question", "a", "b"], nulls_equal=True)
    if not both.height:
        return {"people": 0, "agreement": None, "agreement_low": None, "agreement_high": None}
    p, q = both["p"].to_numpy(), both["p_right"].to_numpy()
    share = float(np.mean(p * q + (1 - p) * (1 - q)))
    low, high = wilson(share * both.height, both.height)
    return {"people": both.height, "agreement": share, "agreement_low": low, "agreement_high": high}


def _price(flip: float | None, n_votes: int, cost: float | None) -> dict[str, float | None]:
    """Return the information of a vote, as the capacity of a binary symmetric channel, and its cost per bit."""
    bits = None if flip is None else 0.0 if flip >= 0.5 else 1 - _entropy(flip)
    known = bits and cost is not None
    price = cost / (bits * n_votes) if known and bits and cost is not None else None
    return {"flip": flip, "bits_per_vote": bits, "cost": cost, "cost_per_bit": price}


def _entropy(p: float) -> float:
    return 0.0 if p <= 0 or p >= 1 else -(p * math.log2(p) + (1 - p) * math.log2(1 - p))
