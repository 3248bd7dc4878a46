"""A fitted model in sentences."""

from __future__ import annotations

import numpy as np
import polars as pl

from jamrank.data.ids import names_annotators
from jamrank.diagnostics import SETTLED, Finding
from jamrank.io.out_of_core.parted import Votes
from jamrank.report.analysis import Analysis
from jamrank.report.judges import are_correlated, judge_sentences, listed, same_votes, too_narrow
from jamrank.rows import PairCounts
from jamrank.text import many, pairs_of_items, percent, safe_text
from jamrank.typing import FloatArray

_MOST_NAMED, _FIRST = 3, 5
# The items that are named as likely first hold at least this much of the probability.
_MOST_OF_IT = 0.5
# Weights of soft votes add up to whole numbers but for this.
_ROUNDING = 1e-9


def story(analysis: Analysis) -> dict[str, list[str]]:
    """Return the summary of a report, sentences by topic."""
    return {
        "Ranking": [
            *warnings_first(analysis),
            *_direction(analysis),
            *_first_place(analysis),
            *too_narrow(analysis),
            *same_votes(analysis),
            *_ranks(analysis),
        ],
        "Annotators": judge_sentences(analysis),
        "Pairs": [*_pairs(analysis), *_next_for_first_place(analysis)],
        "Features": _features(analysis),
        "Data": _data(analysis),
    }


def findings(analysis: Analysis) -> list[str]:
    """Return what to know beside the ranking, as sentences."""
    return [
        *warnings_first(analysis),
        *_direction(analysis),
        *_first_place(analysis),
        *too_narrow(analysis),
        *same_votes(analysis),
        *_serious(analysis),
        *judge_sentences(analysis),
        *_features(analysis),
        *_rank_intervals(analysis),
        *_pairs(analysis),
        *_limitations(analysis),
    ]


def warnings_first(analysis: Analysis) -> list[str]:
    """Return what to know before looking at the ranking: that some items cannot be compared with others."""
    if analysis.order.group is None:
        return []
    n_groups = int(analysis.order.group.max()) + 1
    return [
        f"The items form {n_groups:,} groups that were never compared with each other: compare ranks and scores "
        "within a group only."
    ]


def size_of(votes: Votes) -> str:
    """Return how many votes there are, by how many annotators and on how many pairs."""
    cast, rows = float(votes.annotator_weight.sum()), votes.n_votes
    same = abs(cast - rows) <= _ROUNDING * rows
    counted = many(rows, "vote") if same else f"{many(cast, 'vote')} in {many(rows, 'row')}"
    by = f" by {many(votes.n_annotators, 'annotator')}" if names_annotators(votes.annotators) else ""
    return f"{counted}{by} on {pairs_of_items(votes.n_pairs, votes.n_items, len(votes.questions))}"


def planning(analysis: Analysis, sentence: str) -> str:
    """Return the sentence about expected accuracy, with its assumption where that is not met."""
    if not are_correlated(analysis):
        return sentence
    return f"{sentence} This assumes independent errors; here they are correlated, and fewer pairs are right."


# -- data -----------------------------------------------------------------------------------------------------------


def _serious(analysis: Analysis) -> list[str]:
    # The verdicts tell more about sides, since they account for the items shown there; the others are told before.
    told = ("sides", "sign", "same votes")
    return [finding.sentence for finding in _grave(analysis) if finding.about not in told]


def _direction(analysis: Analysis) -> list[str]:
    """Return why the whole ranking may be upside down, or no ranking at all."""
    return [finding.sentence for finding in _grave(analysis) if finding.about == "sign"]


def _grave(analysis: Analysis) -> list[Finding]:
    found = [] if analysis.health is None else analysis.health.findings
    return [finding for finding in found if finding.level in ("problem", "warning")]


def _data(analysis: Analysis) -> list[str]:
    votes = analysis.votes
    size = size_of(votes)
    found = [*_serious(analysis), *_limitations(analysis)]
    if (
        found
        or _direction(analysis)
        or any(finding.about == "same votes" for finding in _grave(analysis))
        or not analysis.in_memory
    ):
        return [f"{size}.", *found]
    notes = 0 if analysis.health is None else sum(finding.level == "note" for finding in analysis.health.findings)
    noted = f", but list {many(notes, 'note')}" if notes else ""
    return [f"{size}; the data checks found no problems{noted}."]


def _limitations(analysis: Analysis) -> list[str]:
    fit, votes, sentences = analysis.result.convergence, analysis.votes, []
    if not analysis.in_memory:
        place = getattr(votes, "place", "from disk")
        sentences.append(f"Fitted {place}: single pairs and data checks are not shown.")
    if analysis.excluded_ties:
        sentences.append(f"{many(analysis.excluded_ties, 'tie vote')} excluded.")
    if votes.n_missing:
        sentences.append(f"{many(votes.n_missing, 'vote')} without a winner excluded.")
    if not fit.converged:
        sentences.append(f"The fit did not converge; it stopped after {many(fit.n_iter, 'iteration')}.")
    return sentences


# -- the ranking ----------------------------------------------------------------------------------------------------


def _first_place(analysis: Analysis) -> list[str]:
    """Say which item is first with what probability, which others could be, and which is last."""
    if analysis.order.group is not None:
        return _firsts_of_groups(analysis)
    ranking = analysis.ranking
    first, last = safe_text(ranking["item"][0]), _last(ranking)
    n_items = ranking.height
    if n_items == 1:
        return [f"{first} is the only item."]
    shared = int((ranking["rank"] == 1).sum())
    if shared == n_items:
        return [f"{'Both' if n_items == 2 else f'All {n_items:,}'} items share the first rank."]
    if shared > 1:
        return [f"{shared:,} of {n_items:,} items share the first rank; {last}."]
    sentence = f"{first} ranks first of {many(n_items, 'item')}"
    chance = analysis.first_probability
    if not np.isfinite(chance).all():
        return [f"{sentence}; {last}."]
    own = float(chance[np.argmax(analysis.scores)])
    sentence = f"{sentence} (probability {percent(own)})"
    if own >= SETTLED or n_items == 2:
        return [f"{sentence}; {last}."]
    rivals = _rivals(analysis, chance)
    others = listed([f"{safe_text(item)} ({percent(p)})" for item, p in rivals], _MOST_NAMED)
    told = [f"{sentence}; {last}. Other candidates for the first rank: {others}."]
    item, most = rivals[0]
    if most > own and percent(most) != percent(own):
        told.append(f"{safe_text(item)} is more likely to be first than {first}, although its score is lower.")
    return told


def _last(ranking: pl.DataFrame) -> str:
    """Name the last item, or say how many share the last rank."""
    shared = int((ranking["rank"] == ranking["rank"].max()).sum())
    return f"{safe_text(ranking['item'][-1])} is last" if shared == 1 else f"{shared:,} items share the last rank"


def _rivals(analysis: Analysis, chance: FloatArray) -> list[tuple[object, float]]:
    """Return the other items that could be first, the most probable first, with their probabilities."""
    order = np.lexsort((-analysis.scores, -chance))
    others = [int(k) for k in order if k != np.argmax(analysis.scores)]
    likely = [k for k in others if chance[k] > 1 - SETTLED] or others[:1]
    return [(analysis.items[k], float(chance[k])) for k in likely]


def _firsts_of_groups(analysis: Analysis) -> list[str]:
    """Name the first items of the largest groups; not where a group has fewer votes than items.

    There each vote is the only one that joins two parts of the group, and tells little of which item is first.
    """
    group, parts = analysis.order.group, []
    assert group is not None and analysis.known_votes is not None
    counts = PairCounts.decided(analysis.known_votes)
    sizes = np.bincount(group)
    enough = np.bincount(group[counts.first], counts.votes, len(sizes)) >= sizes
    several = np.flatnonzero(sizes > 1)
    named = several[enough[several]][:_MOST_NAMED]
    for number in named:
        items = np.flatnonzero(group == number)
        place = int(np.argmax(analysis.scores[items]))
        chance = float(analysis.order.first(items)[place])
        known = f", probability {percent(chance)}" if np.isfinite(chance) else ""
        parts.append(f"{safe_text(analysis.items[items[place]])} (of {len(items):,} items{known})")
    others = np.setdiff1d(several, named)
    which = "each group" if not len(others) else "some groups"
    if len(named) and len(others) and sizes[named].min() > sizes[others].max():
        which = "the largest groups" if len(named) > 1 else "the largest group"
    return [f"First in {which}: {'; '.join(parts)}."] if parts else []


def _ranks(analysis: Analysis) -> list[str]:
    """Name the first items with their rank intervals, and say how wide these are."""
    if analysis.order.group is not None:
        return []
    if analysis.rank_intervals is None:
        return _rank_intervals(analysis)
    ranking = analysis.ranking
    first = ranking.head(_FIRST).select("item", "rank_low", "rank_high").iter_rows()
    named = ", ".join(f"{safe_text(item)} ({low if low == high else f'{low}–{high}'})" for item, low, high in first)
    which = "Rank intervals (95 %) of the first five" if ranking.height > _FIRST else "Rank intervals (95 %)"
    return [f"{which}: {named}.", *_rank_intervals(analysis)]


def _rank_intervals(analysis: Analysis) -> list[str]:
    n_items = len(analysis.scores)
    if analysis.order.group is not None or n_items < 3:
        return []
    if analysis.rank_intervals is None:
        return [f"{analysis.result.model} gives no intervals of the ranks."]
    low, high = analysis.rank_intervals
    width = float(np.median(high - low + 1))
    if width >= n_items:
        if not analysis.settled:  # why more votes may not help is said elsewhere
            return ["For most items every rank is possible."]
        needed = "votes on more pairs or questions" if analysis.result.spec.unit == "pair" else "more votes"
        return [f"For most items every rank is possible; {needed} are needed."]
    sentence = f"Median 95 % rank interval: {width:g} of {n_items:,} ranks"
    if are_correlated(analysis):
        return [f"{sentence} (assuming independent errors)."]
    upper, lower = int((high <= n_items // 2).sum()), int((low > (n_items + 1) // 2).sum())
    if upper and lower:
        are = "is" if upper == 1 else "are"
        sentence += f"; {many(upper, 'item')} {are} in the upper half with 95 % probability, {lower:,} in the lower"
    return [f"{sentence}."]


# -- features and pairs ---------------------------------------------------------------------------------------------


def _features(analysis: Analysis) -> list[str]:
    if analysis.features is None:
        return []
    frame = analysis.features.sort(pl.col("effect").abs(), descending=True, maintain_order=True).head(_MOST_NAMED)
    effects = zip(frame["feature"], frame["effect"], strict=True)
    strongest = ", ".join(f"{safe_text(name)} ({effect:+.2f})" for name, effect in effects)
    return [f"Strongest features: {strongest} (change of the score per standard deviation)."]


def _pairs(analysis: Analysis) -> list[str]:
    if not analysis.in_memory or len(analysis.scores) < 2:
        return []
    found, items = analysis.uncertain, analysis.items
    if not found.n_seen:
        return []
    which = "pairs of items" if found.whole else "pairs of near neighbours in the ranking"
    if analysis.order.group is not None:
        which += " within groups"
    if len(items) == 2 and analysis.order.known:
        how = "not certain (probability below 97.5 %)" if found.n_open else "certain (probability of at least 97.5 %)"
        return [f"The order of the two items is {how}."]
    if not found.n_open:
        return [f"The order of all {which} is certain (probability of at least 97.5 %)."]
    closest = zip(found.upper[:3], found.lower[:3], found.above[:3].tolist(), strict=True)
    named = ", ".join(
        f"{safe_text(items[a])} over {safe_text(items[b])}" + (f" ({percent(p)})" if np.isfinite(p) else "")
        for a, b, p in closest
    )
    if not analysis.order.known:
        return [f"Pairs with the closest scores: {named}."]
    certain = f"{found.n_seen - found.n_open:,} of {found.n_seen:,}" if found.n_open < found.n_seen else "none of the"
    return [
        f"Least certain pairs: {named}.",
        f"The order of {certain} {which} is certain (probability of at least 97.5 %).",
    ]


def _next_for_first_place(analysis: Analysis) -> list[str]:
    ranking = analysis.ranking
    if analysis.order.group is not None or ranking.height < 3 or int((ranking["rank"] == 1).sum()) > 1:
        return []
    if analysis.result.can.tastes:
        return []
    if not analysis.settled:
        return []
    chance = analysis.first_probability
    if not np.isfinite(chance).all() or chance[np.argmax(analysis.scores)] >= SETTLED:
        return []
    # Where the votes on a pair share one truth, more votes on it say little that is new.
    one_truth = analysis.result.spec.unit == "pair"
    where = " under new questions" if one_truth else ""
    others = _rivals(analysis, chance)
    named = others[: _MOST_NAMED if len(others) > _MOST_NAMED + 1 else len(others)]
    if chance[np.argmax(analysis.scores)] + sum(p for _, p in named) < _MOST_OF_IT:
        return [f"Many items may be first: to determine the first rank, more votes on all of them are needed{where}."]
    rivals = listed([item for item, _ in others], _MOST_NAMED)
    return [f"To determine the first rank, compare {safe_text(ranking['item'][0])} with {rivals}{where}."]
