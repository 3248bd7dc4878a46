"""A fitted model in plain sentences."""

from __future__ import annotations

import numpy as np
import polars as pl

from jamrank.data.comparisons import Comparisons
from jamrank.diagnostics import SETTLED, Health, Unsettled, check, unsettled_pairs
from jamrank.io.out_of_core.parted import Votes
from jamrank.models import RankingModel
from jamrank.report.judges import are_correlated, judge_sentences, listed, worth
from jamrank.report.markup import percent
from jamrank.report.order_probability import Sureness
from jamrank.text import many

__all__ = ["find_unsettled", "findings", "health_of", "planning", "score_meaning", "story", "warnings_first"]

_MOST_NAMED, _FIRST = 3, 5


def story(model: RankingModel, votes: Votes, health: Health | None, sure: Sureness) -> dict[str, list[str]]:
    """Return what to take away from a report, sentences by topic.

    Parameters
    ----------
    model : RankingModel
        Fitted.
    votes : Comparisons or StoredComparisons
        What it was fitted to.
    health : Health or None
        Of the votes, as :func:`health_of` has it.
    sure : Sureness
        How sure the order of items is.
    """
    return {
        "Ranking": [
            *_groups_apart(sure),
            *_headline(model, sure),
            *_too_narrow(model),
            *_order_sentences(model, sure),
        ],
        "Annotators": judge_sentences(model),
        "Pairs": [*_pair_sentences(model, votes, sure), *_first_place(model, sure)],
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
    sure = Sureness(model, votes)
    return [
        *_groups_apart(sure),
        *_headline(model, sure),
        *_too_narrow(model),
        *_grave(health_of(model, votes)),
        *judge_sentences(model),
        *_feature_sentence(model),
        *_spread_of_ranks(model, sure),
        *_pair_sentences(model, votes, sure),
        *_left_over(model, votes),
    ]


def warnings_first(model: RankingModel, votes: Votes) -> list[str]:
    """Return what one must know before one looks at a ranking; mostly nothing."""
    return _groups_apart(Sureness(model, votes))


def health_of(model: RankingModel, votes: Votes) -> Health | None:
    """Return the health of the votes; None where they stay on disk."""
    return check(votes, model) if isinstance(votes, Comparisons) else None


def planning(model: RankingModel, sentence: str) -> str:
    """Return what is foretold of the order, with the condition under which it holds where that is not met."""
    if not are_correlated(model):
        return sentence
    return f"{sentence} That would hold for annotators who err independently; these do not, and fewer are right."


def score_meaning(model: RankingModel, scale: str = "logit", anchor: object = None) -> str:
    """Return what the scores of a ranking mean, and what their errors are relative to."""
    at = "the mean of all items" if anchor is None else str(anchor)
    note = "" if anchor is None else "; errors and intervals are those of the distance to the mean of all items"
    if scale == "elo":
        return f"Elo points (400 for odds of ten to one), {at} = 1000{note}"
    unit = "log-odds" if model._log_odds else "points of its own scale"
    return f"{unit}, {at} = 0{note}" if anchor is not None or model._log_odds else unit


def _grave(health: Health | None) -> list[str]:
    if health is None:
        return []
    # Of sides the verdicts tell more: they know which items were shown there. Groups are told of before the ranking.
    grave = [finding for finding in health.findings if finding.level in ("problem", "warning")]
    return [finding.sentence for finding in grave if finding.about != "sides"]


def _data(model: RankingModel, votes: Votes, health: Health | None) -> list[str]:
    told = [*_grave(health), *_left_over(model, votes)]
    size = (
        f"{many(votes.n_votes, 'vote')} by {many(votes.n_annotators, 'annotator')} on {many(votes.n_pairs, 'pair')} "
        f"of {many(votes.n_items, 'item')}"
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
        told.append(f"The fit stopped after {many(model.n_iter_, 'iteration')}, before it had converged.")
    return told


# -- the ranking ------------------------------------------------------------------------------------------------


def _groups_apart(sure: Sureness) -> list[str]:
    """Say that some items cannot be compared with others."""
    if sure.group is None:
        return []
    return [
        f"The items fall into {int(sure.group.max()) + 1:,} groups that were never compared with each other: ranks "
        "and scores across groups mean nothing, only those within a group do."
    ]


def _headline(model: RankingModel, sure: Sureness) -> list[str]:
    """Say who is first and how sure that is, who else could be, and who is last."""
    if sure.group is not None:
        return _firsts_of_groups(model, sure)
    ranking = pl.DataFrame(model.ranking_)
    first, last, n_items = ranking["item"][0], ranking["item"][-1], ranking.height
    if n_items == 1:
        return [f"{first} is the only item."]
    shared = int((ranking["rank"] == 1).sum())
    if shared == n_items:
        return [f"All {n_items:,} items share the first rank."]
    if shared > 1:
        return [f"{shared:,} of {n_items:,} items share the first rank; {last} comes last."]
    told = f"{first} ranks first of {many(n_items, 'item')}"
    chance = sure.first(np.arange(n_items))
    if not np.isfinite(chance).all():
        return [f"{told}, {last} comes last."]
    own = float(chance[np.argmax(model.scores_)])
    if own >= SETTLED:
        return [f"{told}, which is settled ({percent(own)} sure); {last} comes last."]
    others = listed([f"{item} with {percent(p)}" for item, p in _rivals(model, chance)], _MOST_NAMED)
    if n_items == 2:
        return [f"{told}, but that is only {percent(own)} sure."]
    return [f"{told}, but that is only {percent(own)} sure. Others could be first: {others}. Last comes {last}."]


def _rivals(model: RankingModel, chance: np.ndarray) -> list[tuple[object, float]]:
    """Return who else could be first, the likeliest first: each with the chance that leaves the first in doubt."""
    order = np.lexsort((-model.scores_, -chance))
    others = [int(k) for k in order if k != np.argmax(model.scores_)]
    likely = [k for k in others if chance[k] > 1 - SETTLED] or others[:1]
    return [(model.items_[k], float(chance[k])) for k in likely]


def _firsts_of_groups(model: RankingModel, sure: Sureness) -> list[str]:
    assert sure.group is not None
    told = []
    for number in range(min(int(sure.group.max()) + 1, _MOST_NAMED)):
        items = np.flatnonzero(sure.group == number)
        if len(items) < 2:
            continue
        place = int(np.argmax(model.scores_[items]))
        chance = float(sure.first(items)[place])
        known = f", {percent(chance)} sure" if np.isfinite(chance) else ""
        told.append(f"{model.items_[items[place]]} (of {len(items):,} items{known})")
    return [f"First in the largest groups: {'; '.join(told)}."] if told else []


def _too_narrow(model: RankingModel) -> list[str]:
    found = worth(model)
    if found is None or not are_correlated(model):
        return []
    return [
        f"Caution: the errors of the annotators are correlated, and together they are worth {found[0]:.1f} of "
        f"{found[1]:,} independent judges. All intervals here are too narrow, all probabilities too sure, and most "
        "flips too low."
    ]


def _order_sentences(model: RankingModel, sure: Sureness) -> list[str]:
    """Name the first items with their ranks, and say how far ranks are known."""
    unsure = model._uncertainty
    if sure.group is not None:
        return []
    if not (unsure.rank_low > 0).all():
        return ["This model does not say how sure the ranks are."]
    ranking = pl.DataFrame(model.ranking_)
    first = ranking.head(_FIRST).select("item", "rank_low", "rank_high").iter_rows()
    named = ", ".join(f"{item} ({low if low == high else f'{low}–{high}'})" for item, low, high in first)
    some = "The first five" if ranking.height > _FIRST else "All"
    return [f"{some}, with the ranks that are possible (95 %): {named}.", *_spread_of_ranks(model, sure)]


def _spread_of_ranks(model: RankingModel, sure: Sureness) -> list[str]:
    unsure, n_items = model._uncertainty, len(model.scores_)
    if sure.group is not None or n_items < 3:
        return []
    if not (unsure.rank_low > 0).all():
        return ["This model does not say how sure the ranks are."]
    width = float(np.median(unsure.rank_high - unsure.rank_low + 1))
    if width >= n_items:
        return ["For most items every rank is still possible: more votes are needed."]
    if are_correlated(model):
        return [
            f"If errors were independent, half of the ranks would be known to within {width:g} of {n_items:,} places."
        ]
    told = f"Half of the ranks are known to within {width:g} of {n_items:,} places"
    upper, lower = int((unsure.rank_high <= n_items // 2).sum()), int((unsure.rank_low > (n_items + 1) // 2).sum())
    if upper and lower:
        told += f"; {many(upper, 'item')} {_is(upper)} surely in the upper half and {lower:,} in the lower"
    return [f"{told}."]


def _is(number: int) -> str:
    return "is" if number == 1 else "are"


# -- features and pairs -------------------------------------------------------------------------------------------


def _feature_sentence(model: RankingModel) -> list[str]:
    if model.features_ is None:
        return []
    frame = pl.DataFrame(model.features_).sort(pl.col("effect").abs(), descending=True, maintain_order=True)
    effects = zip(frame["feature"], frame["effect"], strict=True)
    strongest = ", ".join(f"{name} ({effect:+.2f})" for name, effect in list(effects)[:_MOST_NAMED])
    return [f"The score moves most with {strongest}: change for one standard deviation of the feature."]


def find_unsettled(model: RankingModel, sure: Sureness) -> Unsettled:
    """Return the pairs of items whose order is least settled."""
    return unsettled_pairs(model.scores_, sure.above, sure.group)


def _pair_sentences(model: RankingModel, votes: Votes, sure: Sureness) -> list[str]:
    if not isinstance(votes, Comparisons) or len(model.scores_) < 2:
        return []
    found = find_unsettled(model, sure)
    which = "pairs of items" if found.whole else "pairs of near neighbours in the ranking"
    if sure.group is not None:
        which += " within groups"
    if not found.n_open:
        return [f"The order of all {which} is settled (at least 97.5 % sure)."]
    named = "; ".join(
        f"{model.items_[a]} above {model.items_[b]}" + (f", {percent(p)} sure" if np.isfinite(p) else "")
        for a, b, p in zip(found.upper[:3], found.lower[:3], found.above[:3].tolist(), strict=True)
    )
    if not sure.known:
        return [f"Nearest to each other by their scores, and so worth further votes: {named}."]
    settled = found.n_seen - found.n_open
    every = "the two items" if found.n_seen == 1 else f"all {found.n_seen:,} {which}"
    return [
        f"Least settled, and to be asked about next: {named}.",
        f"Of {found.n_seen:,} {which}, the order of {settled:,} is settled (at least 97.5 % sure); "
        f"{found.n_open:,} {_is(found.n_open)} open."
        if settled
        else f"The order of {every} is open (less than 97.5 % sure).",
    ]


def _first_place(model: RankingModel, sure: Sureness) -> list[str]:
    ranking = pl.DataFrame(model.ranking_)
    if sure.group is not None or ranking.height < 3 or int((ranking["rank"] == 1).sum()) > 1:
        return []
    chance = sure.first(np.arange(ranking.height))
    if not np.isfinite(chance).all() or chance[np.argmax(model.scores_)] >= SETTLED:
        return []
    rivals = listed([item for item, _ in _rivals(model, chance)], _MOST_NAMED)
    return [f"To settle the first place, ask about {ranking['item'][0]} against {rivals}."]
