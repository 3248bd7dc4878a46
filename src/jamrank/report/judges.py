"""The annotators in plain sentences: whom to leave out, whom to ask, whom to keep."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from jamrank.models import VRJAM, RankingModel
from jamrank.text import many, number

__all__ = ["ADVICE", "INDEPENDENT", "REASONS", "are_correlated", "independence", "judge_sentences", "listed", "worth"]

# What to do about whom: one list, those to act upon first.
ADVICE = {
    "Leave out": ("random", "one-sided", "position-biased"),
    "Ask, or turn round": ("adversarial",),
    "Keep": ("reliable", "noisy", "tie-lazy"),
    "Too few votes to judge": ("too few votes",),
}
# Why, of one and of several.
REASONS = {
    "random": ("cannot be told from a coin tosser", "cannot be told from coin tossers"),
    "one-sided": ("picks the same side nearly always", "pick the same side nearly always"),
    "position-biased": (
        "picks one side more often than the items explain",
        "pick one side more often than the items explain",
    ),
    "adversarial": (
        "votes against the truth more often than for it",
        "vote against the truth more often than for it",
    ),
    "reliable": ("", ""),
    "noisy": ("the votes count for less", "their votes count for less"),
    "tie-lazy": (
        "says tie far more often than others: ask for decisions",
        "say tie far more often than others: ask for decisions",
    ),
    "too few votes": ("collect more before judging", "collect more before judging"),
}
_MOST_TO_ACT_UPON, _MOST_NAMED = 30, 5
# A difference between flips on two kinds of pairs that is worth a sentence; errors so correlated are one judge's.
_SKILL_GAP, _AS_ONE = 0.1, 0.5
# Worth less than this share of their number, judges are not independent.
INDEPENDENT = 0.9


def judge_sentences(model: RankingModel) -> list[str]:
    """Return what to do about which annotators, and why.

    Parameters
    ----------
    model : RankingModel
        Fitted.
    """
    return [*_alone(model), *_advice(model), *independence(model), *_skill_sentences(model)]


def listed(names: Sequence[object], most: int) -> str:
    """Write names; of many the first, with the number of the others."""
    shown = [str(name) for name in names[: most if len(names) > most + 1 else len(names)]]
    if len(names) > len(shown):
        return f"{', '.join(shown)} and {len(names) - len(shown):,} more"
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"


def _is_alone() -> pl.Expr:
    return pl.col("evidence").str.starts_with("alone")


def _alone(model: RankingModel) -> list[str]:
    """Name those whose flips tell only how far their votes agree with each other."""
    frame = pl.DataFrame(model.annotators_)
    names = frame.filter(_is_alone())["annotator"].to_list()
    if not names:
        return []
    if frame.height == 1:
        return [
            "With one annotator flips tell only how far the votes agree with each other, not whether they are right."
        ]
    return [
        f"Nobody else voted on the items of {many(len(names), 'annotator')} ({listed(names, _MOST_NAMED)}): their "
        "flips tell only how far their own votes agree with each other."
    ]


def _advice(model: RankingModel) -> list[str]:
    frame = pl.DataFrame(model.annotators_).sort("flip", descending=True, maintain_order=True)
    frame = frame.filter(~_is_alone())
    if frame.is_empty():
        return []
    names = {verdict: frame.filter(pl.col("verdict") == verdict)["annotator"].to_list() for verdict in REASONS}
    total = many(frame.height, "annotator")
    drop, keep = ([v for v in ADVICE[advice] if names[v]] for advice in ("Leave out", "Keep"))
    n_drop, n_keep = (sum(len(names[v]) for v in verdicts) for verdicts in (drop, keep))
    told = []
    if drop:
        told.append(f"Leave out {n_drop:,} of {total}: {_reasons(names, drop)}.")
    elif keep:
        told.append("No annotator gives reason to be left out.")
    if names["adversarial"]:
        against = names["adversarial"]
        done = "this model does so" if model.result_.can.annotators else "models with flips do so"
        whose, who = ("their", "they vote") if len(against) > 1 else ("the", "this one votes")
        told.append(
            f"Ask {listed(against, _MOST_TO_ACT_UPON)}, or turn {whose} votes round ({done}): {who} against the "
            "truth more often than for it."
        )
    if keep:
        told.append(f"Keep {n_keep:,}: {_kept({v: names[v][::-1] for v in keep})}.")
    few = names["too few votes"]
    if few:
        told.append(f"{many(len(few), 'annotator')} cast too few votes to be judged: {listed(few, _MOST_NAMED)}.")
    return told


def _reasons(names: dict[str, list[object]], verdicts: Sequence[str]) -> str:
    return "; ".join(f"{listed(names[v], _MOST_TO_ACT_UPON)} {REASONS[v][len(names[v]) > 1]}" for v in verdicts)


def _kept(names: dict[str, list[object]]) -> str:
    parts = {
        "reliable": "reliable",
        "noisy": "noisy, with votes that count for less",
        "tie-lazy": "who often say tie, to be asked for decisions",
    }
    return "; ".join(f"{len(own):,} {parts[v]} ({listed(own, _MOST_NAMED)})" for v, own in names.items())


# -- who errs together ------------------------------------------------------------------------------------------


def worth(model: RankingModel) -> tuple[float, int] | None:
    """Return how many independent judges the annotators are worth, and how many there are; None if not known."""
    judges = model.result_.annotators.effective_judges
    if judges is None:
        return None
    return float(judges), int(np.count_nonzero(model.result_.votes.decided_votes > 0))


def are_correlated(model: RankingModel) -> bool:
    """Tell whether annotators err together so much that intervals are too narrow."""
    found = worth(model)
    return found is not None and found[0] < INDEPENDENT * found[1]


def independence(model: RankingModel) -> list[str]:
    """Name judges who agree more than the truth explains, and say whether the others are independent."""
    links = pl.DataFrame(model.result_.correlated())
    if links.is_empty():
        return []
    told = []
    for row in links.head(3).iter_rows(named=True):
        advice = ": count them as one" if row["correlation"] >= _AS_ONE else ""
        told.append(
            f"Judges {row['first']} and {row['second']} agree more than the truth explains, on "
            f"{number(row['agreed'])} of {many(row['pairs'], 'common pair')} where {row['expected']:,.0f} would be "
            f"expected (their errors correlate at {row['correlation']:.2f}){advice}."
        )
    return (
        told if are_correlated(model) else [*told, "Otherwise the errors of the annotators are nearly independent."]
    )


def _skill_sentences(model: RankingModel) -> list[str]:
    """Say of annotators whose flips differ most between clusters of pairs where they are good and where not."""
    if not isinstance(model, VRJAM) or len(model.centroids_) < 2:
        return []
    clusters = pl.DataFrame(model.clusters_)["description"].to_list()
    names = pl.DataFrame(model.annotators_)["annotator"].to_list()
    best, worst = model.flip_.argmin(axis=1), model.flip_.argmax(axis=1)
    gap = model.flip_.max(axis=1) - model.flip_.min(axis=1)
    order = [k for k in np.argsort(-gap, kind="stable") if gap[k] >= _SKILL_GAP][:3]
    return [
        f"{names[k]} is best on {clusters[best[k]]} (flip {model.flip_[k, best[k]]:.2f}) and worst on "
        f"{clusters[worst[k]]} (flip {model.flip_[k, worst[k]]:.2f})."
        for k in order
    ]
