"""The annotators in sentences: whom to exclude, to review or to keep, and whose errors are correlated."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl
from scipy.special import expit

from jamrank.data.comparisons import Comparisons
from jamrank.data.copies import ACCIDENT, identical, log_chance_of_same_counts
from jamrank.data.storage import TIE
from jamrank.diagnostics.checks.annotators import alone_sentence
from jamrank.inference.covariates import confounded
from jamrank.inference.families import taste_agreement
from jamrank.inference.verdicts import PREFERENCE_BALANCED, PREFERENCE_CORRECTED, PREFERENCE_ONLY
from jamrank.report.analysis import Analysis
from jamrank.text import many, number, safe_text

# A preference for a side, without any other information.
ONLY_SIDE = "only a side"
# What to do about each verdict, the most urgent first.
ADVICE = {
    "Exclude": ("random", "one-sided", ONLY_SIDE),
    "Review, or invert the votes": ("adversarial",),
    "Keep": ("reliable", "noisy", "position-biased", "tie-lazy"),
    "Find out whether they are independent": ("same votes",),
    "Too few votes to assess": ("too few votes",),
    "Not comparable with others": ("alone",),
    "Number of errors unknown": ("unresolved",),
    "Add gold pairs": ("opposed",),
}
# Why, of one annotator and of several.
REASONS = {
    "random": ("is indistinguishable from random voting", "are indistinguishable from random voting"),
    "one-sided": ("nearly always chooses the same side", "nearly always choose the same side"),
    ONLY_SIDE: (
        "chooses one side more often than the items explain, and tells almost nothing else",
        "choose one side more often than the items explain, and tell almost nothing else",
    ),
    "position-biased": (
        "chooses one side more often than the items explain",
        "choose one side more often than the items explain",
    ),
    "adversarial": (
        "votes against the truth more often than for it",
        "vote against the truth more often than for it",
    ),
    "reliable": ("", ""),
    "noisy": (
        "the votes are less informative; more of them help",
        "their votes are less informative; more of them help",
    ),
    "tie-lazy": (
        "casts far more ties than others; ask for decisions",
        "cast far more ties than others; ask for decisions",
    ),
    "same votes": ("casts the same votes as another", "cast the same votes: they hardly ever err, or are copies"),
    "too few votes": ("collect more votes first", "collect more votes first"),
    "alone": ("have others vote on the same items", "have others vote on the same items"),
    "unresolved": ("compare other pairs of these items too", "compare other pairs of these items too"),
    "opposed": ("nothing tells who is right", "vote against each other, and nothing tells who is right"),
}
_FURTHER_ITEMS = "have them vote on further items too"
_MOST_TO_ACT_UPON, _MOST_NAMED = 30, 5
_MOST_GROUPS = 3
# A difference between the flips on two types of pairs that gets a sentence.
_SKILL_GAP = 0.1
# Annotators whose errors are correlated this strongly count as one judge.
_AS_ONE = 0.5
# Groups of annotators whose scores are less correlated than this have no order in common.
_ONE_ORDER = 0.5
# Own tastes are mentioned if they are likelier than this.
_LIKELY = 0.5
# Annotators equivalent to less than this share of their number are not independent.
INDEPENDENT = 0.9


def reason(verdict: str, n_annotators: int, n_items: int) -> str:
    """Return why there is a verdict, or what to do about it; empty for unknown ones."""
    if verdict == "unresolved" and n_items == 2:
        return _FURTHER_ITEMS
    return REASONS.get(verdict, ("", ""))[n_annotators > 1]


def judge_sentences(analysis: Analysis) -> list[str]:
    """Return what to do about which annotators, and why."""
    source = [analysis.result.judged_by] if analysis.result.judged_by else []
    advice = [*_alone(analysis), *_advice(analysis)]
    swayed = _sway_sentences(analysis)
    return [*source, *advice, *swayed, *correlated_sentences(analysis), *_skill_sentences(analysis)]


def kinds(frame: pl.DataFrame) -> list[str]:
    """Return the verdict on each annotator, as ``ADVICE`` has it: a preference for a side by what else votes tell."""
    verdicts = [str(verdict) for verdict in frame["verdict"].to_list()]
    if "action" not in frame.columns:
        return verdicts
    done = frame["action"].to_list()
    return [ONLY_SIDE if action == PREFERENCE_ONLY else kind for kind, action in zip(verdicts, done, strict=True)]


def listed(names: Sequence[object], most: int) -> str:
    """Return names as a list in words; of many names the first, and the number of the others."""
    shown = [safe_text(name) for name in names[: most if len(names) > most + 1 else len(names)]]
    if len(names) > len(shown):
        return f"{', '.join(shown)} and {len(names) - len(shown):,} more"
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"


def _is_alone() -> pl.Expr:
    return pl.col("verdict") == "alone"


def _alone(analysis: Analysis) -> list[str]:
    """Name the annotators whose flips measure only how consistent their own votes are."""
    frame = analysis.annotators
    names = frame.filter(_is_alone())["annotator"].to_list()
    if not names:
        return []
    if frame.height == 1:
        return [alone_sentence(analysis.result.votes.annotators)]
    whose = "this annotator" if len(names) == 1 else "these annotators"
    return [
        f"No vote of {many(len(names), 'annotator')} ({listed(names, _MOST_NAMED)}) is between two items on which "
        f"others voted too: the flips of {whose} measure only how consistent their own votes are."
    ]


def _advice(analysis: Analysis) -> list[str]:
    frame = analysis.annotators.sort("flip", descending=True, maintain_order=True).filter(~_is_alone())
    if frame.is_empty():
        return []
    kind = pl.Series(kinds(frame))
    names = {verdict: frame.filter(kind == verdict)["annotator"].to_list() for verdict in REASONS}
    total = many(frame.height, "annotator")
    exclude, keep = ([v for v in ADVICE[advice] if names[v]] for advice in ("Exclude", "Keep"))
    n_exclude, n_keep = (sum(len(names[v]) for v in verdicts) for verdicts in (exclude, keep))
    sentences = []
    if exclude:
        sentences.append(f"Exclude {n_exclude:,} of {total}: {_reasons(names, exclude)}.")
        sentences += _then_open(analysis, [name for verdict in exclude for name in names[verdict]])
    elif keep:
        sentences.append("No annotator needs to be excluded.")
    if names["adversarial"]:
        against = names["adversarial"]
        done = "this model does" if analysis.models_annotators else "models with flips do"
        verb = "vote" if len(against) > 1 else "votes"
        sentences.append(
            f"Review or invert the votes of {listed(against, _MOST_TO_ACT_UPON)} ({done} the latter), who {verb} "
            "against the truth more often than for it."
        )
    if keep:
        sentences.append(f"Keep {n_keep:,}: {_kept({v: names[v][::-1] for v in keep}, analysis.models_annotators)}.")
    sentences += _preferences(frame)
    few = names["too few votes"]
    if few:
        sentences.append(
            f"{many(len(few), 'annotator')} cannot be assessed ({listed(few, _MOST_NAMED)}): the votes tell too "
            "little of how often they err."
        )
    opposed = names["opposed"][::-1]
    if opposed:
        sentences.append(
            f"{many(len(opposed), 'annotator')} vote against each other ({listed(opposed, _MOST_TO_ACT_UPON)}), and "
            "nothing tells who is right: add gold pairs (--gold)."
        )
    unresolved = names["unresolved"][::-1]
    if unresolved:
        why = (
            ": their tastes differ so much that errors look like tastes."
            if analysis.result.can.families
            else ": all votes are on two items, so errors look like a small difference between them; only votes on "
            "further items would tell."
            if len(analysis.result.items) == 2
            else ", only which err more than others: the compared pairs form no cycle, as where all share one "
            "baseline, so errors look like close pairs."
        )
        sentences.append(
            f"How often {many(len(unresolved), 'annotator')} ({listed(unresolved, _MOST_NAMED)}) err is unknown{why}"
        )
    return sentences


def _then_open(analysis: Analysis, excluded: Sequence[object]) -> list[str]:
    """Warn where those who would remain balance each other."""
    left_out = np.isin(analysis.result.votes.annotators.astype(str), [str(name) for name in excluded])
    if not analysis.result.judging.annotators.open_without(left_out):
        return []
    return [
        f"But without {listed(excluded, _MOST_NAMED)} the others balance each other, and the ranking may be upside "
        "down: add gold pairs (--gold) first."
    ]


def _preferences(frame: pl.DataFrame) -> list[str]:
    """Say of those who prefer a side, but are kept, what corrects the preference or would."""
    biased = frame.filter(pl.Series(kinds(frame)) == "position-biased")
    sentences = []
    for (action,), own in biased.group_by("action", maintain_order=True):
        names = own["annotator"].to_list()
        how = "; show pairs in random order or in both orders, or correct it (two-coin noise)"
        how = "; both orders are shown, so that no item gains by it" if action == PREFERENCE_BALANCED else how
        how = "; the model corrects this" if action == PREFERENCE_CORRECTED else how
        reason = REASONS["position-biased"][len(names) > 1]
        sentences.append(f"{listed(names, _MOST_TO_ACT_UPON)} {reason}{how}.")
    return sentences


def _reasons(names: dict[str, list[object]], verdicts: Sequence[str]) -> str:
    return "; ".join(f"{listed(names[v], _MOST_TO_ACT_UPON)} {REASONS[v][len(names[v]) > 1]}" for v in verdicts)


def _kept(names: dict[str, list[object]], weighed: bool) -> str:
    noisy = "noisy, with a lower weight" if weighed else "noisy"
    parts = {"reliable": "reliable", "noisy": noisy, "tie-lazy": "with many ties"}
    parts["position-biased"] = "with a preference for a side"
    return "; ".join(f"{len(own):,} {parts[v]} ({listed(own, _MOST_NAMED)})" for v, own in names.items())


# -- correlated errors ------------------------------------------------------------------------------------------


def are_correlated(analysis: Analysis) -> bool:
    """Return whether the errors of the annotators are so correlated that intervals are too narrow."""
    if analysis.result.can.families:
        return False
    found = analysis.effective_judges
    return found is not None and found < INDEPENDENT * analysis.n_judges


def too_narrow(analysis: Analysis) -> list[str]:
    """Warn that intervals assume independent errors, where errors are correlated."""
    if not are_correlated(analysis):
        return []
    which = "Intervals of flips are withheld, all others here" if why_withheld(analysis) else "All intervals here"
    return [
        f"Caution: the errors of the annotators are correlated; {analysis.n_judges:,} annotators are equivalent to "
        f"{analysis.effective_judges:.1f} independent ones. {which} are too narrow, all probabilities too extreme, "
        "and most flips too low."
    ]


def same_votes(analysis: Analysis) -> list[str]:
    """Name annotators with the same votes who were not recognised as copies."""
    sentences, named = _unexplained(analysis)
    groups = [
        group
        for group in analysis.result.judging.annotators.same_votes
        if not any(set(group.annotators.tolist()) <= own for own in named)
    ]
    names = analysis.result.votes.annotators
    told = [*sentences, *(group.sentence(names) for group in groups[:_MOST_GROUPS])]
    if len(groups) > _MOST_GROUPS:
        told.append(f"So did {many(len(groups) - _MOST_GROUPS, 'more group')} of annotators.")
    return told


def _unexplained(analysis: Analysis) -> tuple[list[str], list[set[int]]]:
    """Return sentences on those whose same votes a truth per vote forbids, and who they are."""
    result, votes = analysis.result, analysis.votes
    if not isinstance(votes, Comparisons) or result.spec.unit != "vote" or not result.can.log_odds:
        return [], []
    sentences, found = [], []
    for group in identical(votes):
        if len(result.votes.copy_of) and (result.votes.copy_of[group] >= 0).any():
            continue
        own = (votes.vote_annotator == group[0]) & (votes.vote_result != TIE)
        pair, weight = votes.vote_pair[own], votes.vote_weight[own]
        pairs, at = np.unique(pair, return_inverse=True)
        cast = np.bincount(at, weight).astype(np.float64)
        score = result.scores.scores
        p = expit(score[votes.pair_first[pairs]] - score[votes.pair_second[pairs]])
        if log_chance_of_same_counts(p, cast, len(group)) > np.log(ACCIDENT):
            continue
        names = listed(votes.annotators[group].tolist(), _MOST_TO_ACT_UPON)
        rest = ",".join(map(str, votes.annotators[group[1:]].tolist()))
        sentences.append(
            f"{names} cast the same {number(float(weight.sum()))} votes, which {result.model} cannot explain: they "
            "are copies, or judged the same cases alike. If they are copies, all intervals are too narrow; leave out "
            f"all but one (--without {safe_text(rest)})."
        )
        found.append(set(group.tolist()))
    return sentences, found


def why_withheld(analysis: Analysis) -> str:
    """Return why intervals of flips are withheld, in a sentence; empty where they are not."""
    return analysis.result.judging.annotators.why_withheld


def family_sentences(analysis: Analysis) -> list[str]:
    """Name families of annotators who share a taste, and say whether one order holds for all; for FamilyBT."""
    result = analysis.result
    if not result.can.families:
        return []
    names, found = result.votes.annotators, result.extras
    families = [np.flatnonzero(found["family"] == g) for g in range(found["family"].max(initial=-1) + 1)]
    # As the evidence of each annotator has it; that neither has a family is no taste that they share.
    likely = [found["in_family"][own].mean() for own in families]
    sentences = [
        f"{listed(names[own].tolist(), _MOST_TO_ACT_UPON)} share a taste (probability {p:.2f}): keep them; intervals "
        "allow for it."
        for own, p in zip(families, likely, strict=True)
    ]
    if (found["sds"][:, 2] > 0).mean() > _LIKELY:
        sentences.append("Annotators have tastes of their own; intervals allow for them.")
    sentences += [why_withheld(analysis)] if why_withheld(analysis) else []
    if not sentences:
        sentences = ["No annotators were found to share a taste; intervals allow for the possibility."]
    agreement = taste_agreement(found)
    if agreement is not None and agreement < _ONE_ORDER:
        sentences.append(
            f"There is no one order: the scores of the two largest groups of annotators have a correlation of "
            f"{agreement:.2f}. Compare their rankings (in Python, FamilyBT has rankings_by_family_)."
        )
    return sentences


def correlated_sentences(analysis: Analysis) -> list[str]:
    """Name annotators whose errors are correlated, and say whether the others are independent."""
    if analysis.result.can.families:
        return family_sentences(analysis)
    withheld = why_withheld(analysis)
    if analysis.correlated.is_empty():
        return [withheld] if withheld and not are_correlated(analysis) else []
    sentences = []
    for row in analysis.correlated.head(3).iter_rows(named=True):
        advice = "; treat them as one judge" if row["correlation"] >= _AS_ONE else ""
        sentences.append(
            f"Errors of {safe_text(row['first'])} and {safe_text(row['second'])} are correlated "
            f"({row['correlation']:.2f}; they agree on {number(row['agreed'])} of "
            f"{many(row['pairs'], 'common pair')}, expected {row['expected']:,.0f}){advice}."
        )
    if are_correlated(analysis) or analysis.result.judging.annotators.same_votes:
        return [*sentences, withheld] if withheld and not are_correlated(analysis) else sentences
    return [*sentences, withheld or "Otherwise the errors of the annotators are nearly independent."]


def _sway_sentences(analysis: Analysis) -> list[str]:
    """Name the annotators whom covariates sway, and say what that changes; for models with covariates."""
    if analysis.with_effects is None:
        return []
    swayed = analysis.annotators.filter(pl.col("verdict").str.starts_with("swayed by"))
    sentences = [
        f"Keep {listed(own['annotator'].to_list(), _MOST_TO_ACT_UPON)}, {safe_text(verdict)}: the effect is taken "
        "out of the ranking."
        for (verdict,), own in swayed.group_by("verdict", maintain_order=True)
    ]
    before = analysis.with_effects.select("item", other="rank")
    moved = analysis.ranking.join(before, on="item").filter(pl.col("rank") != pl.col("other")).height
    changed = "no rank changes" if not moved else f"the ranks of {many(moved, 'item')} change"
    sentences.append(f"Where the effects of covariates are taken out of the ranking, {changed}.")
    return [*sentences, *confounded(analysis.result.extras)]


def _skill_sentences(analysis: Analysis) -> list[str]:
    """Name the annotators whose flips differ most between types of pairs."""
    skills = analysis.skills
    if skills is None or skills.flip.shape[1] < 2:
        return []
    types, flip = skills.clusters["description"].to_list(), skills.flip
    best, worst = flip.argmin(axis=1), flip.argmax(axis=1)
    gap = flip.max(axis=1) - flip.min(axis=1)
    order = [k for k in np.argsort(-gap, kind="stable") if gap[k] >= _SKILL_GAP][:3]
    return [
        f"{safe_text(skills.annotators[k])} is best on {types[best[k]]} (flip {flip[k, best[k]]:.2f}) and worst on "
        f"{types[worst[k]]} (flip {flip[k, worst[k]]:.2f})."
        for k in order
    ]
