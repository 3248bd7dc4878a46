"""A fitted model in plain sentences, and as a report."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import polars as pl

from jamrank.comparisons import Comparisons
from jamrank.diagnostics import check
from jamrank.io.store import Votes
from jamrank.models import VRJAM, RankingModel
from jamrank.report.page import Report
from jamrank.text import many

__all__ = ["describe", "findings"]

# A pair is open while neither side has three chances in four.
_OPEN = 0.25
_MOST_NAMED = 3
# A difference between flips on two kinds of pairs that is worth a sentence; errors so correlated are one judge's.
_SKILL_GAP, _AS_ONE = 0.1, 0.5


def describe(model: RankingModel, votes: Votes, title: str, facts: Mapping[str, str]) -> Report:
    """Return the report of a fitted model."""
    ranking, annotators = pl.DataFrame(model.ranking_), pl.DataFrame(model.annotators_)
    pairs = pl.DataFrame(model.pairs_) if isinstance(votes, Comparisons) else None
    return Report(
        title=title,
        summary=[_headline(votes, ranking), *findings(model, votes)],
        ranking=ranking,
        annotators=annotators.sort("flip", maintain_order=True),
        pairs=pairs,
        n_pairs=votes.n_pairs,
        log_likelihoods=model.log_likelihoods_.tolist(),
        facts=facts,
    )


def _headline(votes: Votes, ranking: pl.DataFrame) -> str:
    first, last = ranking["item"][0], ranking["item"][-1]
    shared = int((ranking["rank"] == 1).sum())
    told = f"{first} ranks first" if shared == 1 else f"{shared:,} items share the first rank"
    return (
        f"{votes.n_votes:,} votes by {many(votes.n_annotators, 'annotator')} on {many(votes.n_pairs, 'pair')} of "
        f"{many(votes.n_items, 'item')}: {told}, {last} comes last."
    )


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
    told = []
    if isinstance(votes, Comparisons):
        # Of sides the verdicts tell more: they know which items were shown there.
        grave = [finding for finding in check(votes).findings if finding.level in ("problem", "warning")]
        told = [finding.sentence for finding in grave if finding.about != "sides"]
    told += [*_annotator_sentences(model), *_skill_sentences(model), *_link_sentences(model)]
    told += [*_feature_sentence(model), *_rank_sentences(model)]
    if isinstance(votes, Comparisons):
        told += _pair_sentences(model)
    else:
        told.append("Fitted from disk: nothing is said here of single pairs, nor of the data's health.")
    if model.n_ties_ and not model._uses_ties:
        told.append(f"{many(model.n_ties_, 'tie vote')} left out.")
    if votes.n_missing:
        told.append(f"{many(votes.n_missing, 'listed vote')} without a winner: counted as not cast.")
    if not model.converged_:
        told.append(f"The fit stopped after {model.n_iter_} iterations, before it had converged.")
    return told


def _annotator_sentences(model: RankingModel) -> list[str]:
    frame = pl.DataFrame(model.annotators_)
    meanings = {
        "adversarial": "vote against the truth more often than for it",
        "random": "cannot be told from coin tossers",
        "one-sided": "pick the same side nearly always",
        "position-biased": "pick one side more often than the items explain",
        "tie-lazy": "say tie far more often than others on comparable pairs",
        "too few votes": "cast too few votes to be judged",
    }
    told = []
    for verdict, meaning in meanings.items():
        names = [str(name) for name in frame.filter(pl.col("verdict") == verdict)["annotator"].to_list()]
        if names:
            shown = ", ".join(names[:_MOST_NAMED]) + (", …" if len(names) > _MOST_NAMED else "")
            verb = meaning if len(names) > 1 else _singular(meaning)
            told.append(f"{many(len(names), 'annotator')} ({shown}) {verb}.")
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
            f"Judges {row['first']} and {row['second']} agree more than the truth explains (their errors correlate "
            f"at {row['correlation']:.2f}){advice}."
        )
    return [*told, f"Together the annotators are worth {model.effective_judges_:.1f} independent judges."]


def _feature_sentence(model: RankingModel) -> list[str]:
    if model.features_ is None:
        return []
    frame = pl.DataFrame(model.features_).sort(pl.col("effect").abs(), descending=True, maintain_order=True)
    effects = zip(frame["feature"], frame["effect"], strict=True)
    strongest = ", ".join(f"{name} ({effect:+.2f})" for name, effect in list(effects)[:_MOST_NAMED])
    return [f"The score moves most with {strongest}: change for one standard deviation of the feature."]


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


def _pair_sentences(model: RankingModel) -> list[str]:
    unsettled = int((np.abs(model.posterior_ - 0.5) < 0.5 - _OPEN).sum())
    total = len(model.posterior_)
    if not unsettled:
        return ["No pair is open: on each, one side has more than three chances in four."]
    return [
        f"{unsettled:,} of {many(total, 'pair')} {'is' if unsettled == 1 else 'are'} open: neither side has three "
        "chances in four."
    ]
