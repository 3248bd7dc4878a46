"""A fitted model in plain sentences."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from jamrank.comparisons import Comparisons
from jamrank.diagnostics import Health, check
from jamrank.io.parted import Votes
from jamrank.models import VRJAM, RankingModel
from jamrank.text import many, number

__all__ = ["findings", "health_of", "story"]

# A pair is open while neither side has three chances in four.
_OPEN = 0.25
_MOST_NAMED, _MOST_TO_ACT_UPON, _FIRST = 3, 12, 5
# A difference between flips on two kinds of pairs that is worth a sentence; errors so correlated are one judge's.
_SKILL_GAP, _AS_ONE = 0.1, 0.5


def story(
    model: RankingModel, votes: Votes, health: Health | None, unsettled: pl.DataFrame | None
) -> dict[str, list[str]]:
    """Return what to take away from a report, sentences by topic.

    Parameters
    ----------
    model : RankingModel
        Fitted.
    votes : Comparisons or StoredComparisons
        What it was fitted to.
    health : Health or None
        Of the votes, as :func:`health_of` has it.
    unsettled : polars.DataFrame or None
        The pairs to ask about next, as :class:`Report` has them.
    """
    return {
        "Ranking": [*_headline(model), *_order_sentences(model)],
        "Annotators": [*_keepers(model), *_annotators(model)],
        "Pairs": [*_first_place(model), *_unsettled_sentences(unsettled), *_pairs(model, votes)],
        "Features": _feature_sentence(model),
        "Data": _data(model, votes, health),
    }


def findings(model: RankingModel, votes: Votes) -> list[str]:
    """Return what a reader must know beside the ranking: whom to trust, and what the model could not tell.

    Parameters
    ----------
    model : RankingModel
        Fitted.
    votes : Comparisons or StoredComparisons
        What it was fitted to.

    Returns
    -------
    list of str
        Sentences.
    """
    return [
        *_grave(health_of(model, votes)),
        *_annotators(model),
        *_feature_sentence(model),
        *_rank_sentences(model),
        *_pairs(model, votes),
        *_left_over(model, votes),
    ]


def health_of(model: RankingModel, votes: Votes) -> Health | None:
    """Return the health of the votes; None where they stay on disk."""
    return check(votes, model) if isinstance(votes, Comparisons) else None


def _grave(health: Health | None) -> list[str]:
    if health is None:
        return []
    # Of sides the verdicts tell more: they know which items were shown there.
    grave = [finding for finding in health.findings if finding.level in ("problem", "warning")]
    return [finding.sentence for finding in grave if finding.about != "sides"]


def _data(model: RankingModel, votes: Votes, health: Health | None) -> list[str]:
    told = [*_grave(health), *_left_over(model, votes)]
    size = (
        f"{votes.n_votes:,} votes by {many(votes.n_annotators, 'annotator')} on {many(votes.n_pairs, 'pair')} of "
        f"{many(votes.n_items, 'item')}"
    )
    if told or not isinstance(votes, Comparisons):
        return [f"{size}.", *told]
    return [f"{size}; nothing in them stands in the way of a ranking."]


def _left_over(model: RankingModel, votes: Votes) -> list[str]:
    told = []
    if not isinstance(votes, Comparisons):
        told.append(f"Fitted {votes.place}: nothing is said here of single pairs, nor of the data's health.")
    if model.n_ties_ and not model._uses_ties:
        told.append(f"{many(model.n_ties_, 'tie vote')} left out.")
    if votes.n_missing:
        told.append(f"{many(votes.n_missing, 'listed vote')} without a winner: counted as not cast.")
    if not model.converged_:
        told.append(f"The fit stopped after {model.n_iter_} iterations, before it had converged.")
    return told


# -- the ranking ------------------------------------------------------------------------------------------------


def _headline(model: RankingModel) -> list[str]:
    """Say who is first, who else could be, and who is last."""
    ranking = pl.DataFrame(model.ranking_)
    first, last, n_items = ranking["item"][0], ranking["item"][-1], ranking.height
    shared = int((ranking["rank"] == 1).sum())
    if shared > 1:
        return [f"{shared:,} of {n_items:,} items share the first rank; {last} comes last."]
    could = ranking.filter((pl.col("rank_low") == 1) & (pl.col("rank") > 1))["item"].to_list()
    told = f"{first} ranks first of {many(n_items, 'item')}"
    if ranking["rank_low"].null_count() == ranking.height:
        return [f"{told}, {last} comes last."]
    if could:
        high = int(ranking["rank_high"][0])
        told += f", but that is not settled: its rank is between 1 and {high}, and so could be first {_listed(could)}"
    return [f"{told}; {last} comes last."]


def _order_sentences(model: RankingModel) -> list[str]:
    """Name the first items with their ranks, and say how far ranks are known."""
    unsure = model._uncertainty
    if not (unsure.rank_low > 0).all():
        return ["This model gives no uncertainty of the ranks."]
    ranking, n_items = pl.DataFrame(model.ranking_), len(model.scores_)
    first = ranking.head(_FIRST).select("item", "rank_low", "rank_high").iter_rows()
    named = ", ".join(f"{item} ({low if low == high else f'{low}–{high}'})" for item, low, high in first)
    upper, lower = int((unsure.rank_high <= n_items // 2).sum()), int((unsure.rank_low > (n_items + 1) // 2).sum())
    width = float(np.median(unsure.rank_high - unsure.rank_low + 1))
    return [
        f"The first, with the ranks that are possible (95 %): {named}.",
        f"A rank is known to within {width:g} of {n_items:,} places for half of the items; {upper:,} are surely in "
        f"the upper half, {lower:,} surely in the lower.",
    ]


def _listed(names: Sequence[object], most: int = _MOST_NAMED) -> str:
    shown = [str(name) for name in names[:most]]
    if len(names) > most:
        return f"{', '.join(shown)} and {len(names) - most:,} more"
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"


def _rank_sentences(model: RankingModel) -> list[str]:
    unsure = model._uncertainty
    if not (unsure.rank_low > 0).all():
        return ["This model gives no uncertainty of the ranks."]
    n_items = len(model.scores_)
    first = int((unsure.rank_low == 1).sum())
    width = float(np.median(unsure.rank_high - unsure.rank_low + 1))
    told = f"A rank is known to within {width:g} of {n_items:,} places for half of the items"
    if first == 1:
        return [told + "; the first place is settled."]
    return [told + f"; {first:,} items could be first."]


# -- the annotators ---------------------------------------------------------------------------------------------

# What a verdict means of several annotators, and what to do in a word; those to act upon first.
_MEANINGS = {
    "random": ("cannot be told from coin tossers", "Leave out or replace", _MOST_TO_ACT_UPON),
    "one-sided": ("pick the same side nearly always", "Leave out", _MOST_TO_ACT_UPON),
    "position-biased": ("pick one side more often than the items explain", "Do not rely on", _MOST_TO_ACT_UPON),
    "adversarial": ("vote against the truth more often than for it", "Ask about the scale", _MOST_TO_ACT_UPON),
    "tie-lazy": ("say tie far more often than others on comparable pairs", "Ask for decisions", _MOST_NAMED),
    "too few votes": ("cast too few votes to be judged", "Collect more votes", _MOST_NAMED),
}


def _keepers(model: RankingModel) -> list[str]:
    verdict = pl.DataFrame(model.annotators_)["verdict"]
    reliable, noisy = (int((verdict == name).sum()) for name in ("reliable", "noisy"))
    return [
        f"Keep {reliable + noisy:,} of {many(len(verdict), 'annotator')}: {reliable:,} reliable, {noisy:,} noisy "
        "(their votes count for less)."
    ]


def _annotators(model: RankingModel) -> list[str]:
    return [*_alone_sentences(model), *_verdict_sentences(model), *_skill_sentences(model), *_link_sentences(model)]


def _alone_sentences(model: RankingModel) -> list[str]:
    """Name those whose flips tell only how far their votes agree with each other."""
    frame = pl.DataFrame(model.annotators_)
    names = frame.filter(pl.col("evidence").str.starts_with("alone"))["annotator"].to_list()
    if not names:
        return []
    if frame.height == 1:
        return [
            "With one annotator flips tell only how far the votes agree with each other, not whether they are right."
        ]
    return [
        f"Nobody else voted on the items of {many(len(names), 'annotator')} ({_listed(names)}): their flips tell "
        "only how far their own votes agree with each other."
    ]


def _verdict_sentences(model: RankingModel) -> list[str]:
    frame = pl.DataFrame(model.annotators_).sort("flip", descending=True, maintain_order=True)
    told = []
    for verdict, (meaning, action, most) in _MEANINGS.items():
        names = frame.filter(pl.col("verdict") == verdict)["annotator"].to_list()
        if not names:
            continue
        verb = meaning if len(names) > 1 else _singular(meaning)
        told.append(f"{action}: {many(len(names), 'annotator')} ({_listed(names, most)}) {verb}.")
    return told


def _singular(meaning: str) -> str:
    verb, rest = meaning.split(" ", 1)
    return meaning if verb in ("cannot", "cast") else f"{verb}s {rest}"


def _skill_sentences(model: RankingModel) -> list[str]:
    """Say of annotators whose flips differ most between clusters of pairs where they are good and where not."""
    if not isinstance(model, VRJAM) or len(model.centroids_) < 2:
        return []
    clusters = pl.DataFrame(model.clusters_)["description"].to_list()
    names = pl.DataFrame(model.annotators_)["annotator"].to_list()
    best, worst = model.flip_.argmin(axis=1), model.flip_.argmax(axis=1)
    gap = model.flip_.max(axis=1) - model.flip_.min(axis=1)
    order = [k for k in np.argsort(-gap, kind="stable") if gap[k] >= _SKILL_GAP][:_MOST_NAMED]
    return [
        f"{names[k]} is best on {clusters[best[k]]} (flip {model.flip_[k, best[k]]:.2f}) and worst on "
        f"{clusters[worst[k]]} (flip {model.flip_[k, worst[k]]:.2f})."
        for k in order
    ]


def _link_sentences(model: RankingModel) -> list[str]:
    """Name judges who agree more than the truth explains, and how many independent ones all are worth."""
    links = pl.DataFrame(model.correlated_)
    if links.is_empty():
        return []
    told = []
    for row in links.head(_MOST_NAMED).iter_rows(named=True):
        advice = ": count them as one" if row["correlation"] >= _AS_ONE else ""
        told.append(
            f"Judges {row['first']} and {row['second']} agree more than the truth explains, on "
            f"{number(row['agreed'])} of {many(row['pairs'], 'common pair')} where {row['expected']:,.0f} would be "
            f"expected (their errors correlate at {row['correlation']:.2f}){advice}."
        )
    return [*told, f"Together the annotators are worth {model.effective_judges_:.1f} independent judges."]


# -- features and pairs -------------------------------------------------------------------------------------------


def _feature_sentence(model: RankingModel) -> list[str]:
    if model.features_ is None:
        return []
    frame = pl.DataFrame(model.features_).sort(pl.col("effect").abs(), descending=True, maintain_order=True)
    effects = zip(frame["feature"], frame["effect"], strict=True)
    strongest = ", ".join(f"{name} ({effect:+.2f})" for name, effect in list(effects)[:_MOST_NAMED])
    return [f"The score moves most with {strongest}: change for one standard deviation of the feature."]


def _first_place(model: RankingModel) -> list[str]:
    ranking = pl.DataFrame(model.ranking_)
    could = ranking.filter((pl.col("rank_low") == 1) & (pl.col("rank") > 1))["item"].to_list()
    if not could or int((ranking["rank"] == 1).sum()) > 1:
        return []
    return [f"To settle the first place, ask about {ranking['item'][0]} against {_listed(could)}."]


def _unsettled_sentences(unsettled: pl.DataFrame | None) -> list[str]:
    if unsettled is None:
        return []
    if unsettled.is_empty():
        return ["The order of all neighbours in the ranking is settled."]
    named = [f"{left} against {right}" for left, right in unsettled.select("left", "right").head(3).iter_rows()]
    return [f"Least settled, and so worth further votes: {'; '.join(named)}."]


def _pairs(model: RankingModel, votes: Votes) -> list[str]:
    if not isinstance(votes, Comparisons):
        return []
    unsettled = int((np.abs(model.posterior_ - 0.5) < 0.5 - _OPEN).sum())
    total = len(model.posterior_)
    if not unsettled:
        return ["No pair is open: on each, one side has more than three chances in four."]
    return [
        f"{unsettled:,} of {many(total, 'pair')} {'is' if unsettled == 1 else 'are'} open: neither side has three "
        "chances in four."
    ]
