"""What is wrong or risky in votes, before any fit that counts."""

from __future__ import annotations

import warnings
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from jamrank.data.comparisons import Comparisons
from jamrank.data.storage import DenseVotes
from jamrank.diagnostics.consistency import self_consistency
from jamrank.diagnostics.cycles import best_order, count_triads, majorities
from jamrank.diagnostics.graph import components, find_bridges, separation
from jamrank.diagnostics.planning import expected_accuracy, more_votes
from jamrank.diagnostics.sides import sides
from jamrank.diagnostics.sign import orientation
from jamrank.diagnostics.similar_ids import similar_ids, told_apart
from jamrank.errors import InputError, JamrankWarning, NotFittedError, ParameterError
from jamrank.rows.duels import Duels
from jamrank.text import many, number
from jamrank.typing import FloatArray

if TYPE_CHECKING:
    from jamrank.models import RankingModel

__all__ = ["Finding", "Health", "check"]

_FEW_VOTES = 10
_MOST_NAMED = 3
_LEVELS = ("problem", "warning", "note", "good")
# With fewer votes, that they do not say which way is up, or lean to a side, means only that they are few.
_FEW_FOR_SIGN = 50
# A quarter of the triads of coin tossers is circular.
_CIRCULAR_BY_CHANCE, _NEARLY_CHANCE, _ENOUGH_TRIADS = 0.25, 0.2, 20
_CONTRADICTS_OFTEN, _ENOUGH_REPEATS = 0.25, 5
_TILTED, _LEANING = 0.05, 0.02
_MAY_DIFFER = "jamrank fit chooses a model by the votes, and may say otherwise"


@dataclass(frozen=True)
class Finding:
    """One thing to know: how grave it is (``good``, ``note``, ``warning``, ``problem``), a sentence, its subject."""

    level: str
    sentence: str
    about: str = ""


@dataclass(frozen=True)
class Health:
    """What there is to know of votes before they are ranked.

    Attributes
    ----------
    counts : dict
        Items, annotators, votes and the like.
    findings : list of Finding
        From the gravest to the lightest.
    measures : dict
        Shares and other numbers; None where there is nothing to measure.
    details : dict
        Names: of bridges, of items that never lost, of annotators who contradict themselves.
    """

    counts: dict[str, int | float]
    findings: list[Finding]
    measures: dict[str, float | None] = field(default_factory=dict)
    details: dict[str, list[Any]] = field(default_factory=dict)

    @property
    def comparable(self) -> bool:
        """Whether all items can be put on one scale."""
        return not any(finding.level == "problem" and finding.about != "sign" for finding in self.findings)

    @property
    def settled(self) -> bool:
        """Whether the votes say which way is up."""
        return not any(finding.level == "problem" and finding.about == "sign" for finding in self.findings)

    @property
    def sentences(self) -> list[str]:
        """The findings in plain words, from the gravest to the lightest."""
        return [finding.sentence for finding in self.findings]

    @property
    def reasons(self) -> list[str]:
        """Why the votes cannot be ranked as they are; empty where they can."""
        return [finding.sentence for finding in self.findings if finding.level == "problem"]

    def to_dict(self) -> dict[str, Any]:
        """Return all of it as plain data for JSON."""
        return {"comparable": self.comparable, "settled": self.settled, "reasons": self.reasons, **asdict(self)}


def check(votes: Comparisons, model: RankingModel | None = None, *, target: float = 0.95) -> Health:
    """Look over the votes.

    Parameters
    ----------
    votes : Comparisons
        What to look over.
    model : RankingModel, optional
        Fitted to these votes: it says which way they point and how sure the order is. Unless given, a quick fit of
        JAM without features does.
    target : float
        Share of the pairs of items in the right order for which votes are planned.

    Returns
    -------
    Health
    """
    if not 0.5 < target < 1:
        raise ParameterError(f"target is {target!r}; expected a share above 0.5 and below 1")
    examination = _Examination(votes)
    examination.count()
    examination.look_at_ids()
    if examination.counts["decided"]:
        examination.look_at_graph()
        examination.look_at_cycles()
        examination.look_at_annotators()
        examination.look_at_fit(model, target)
    examination.look_at_idle_votes()
    return examination.health()


class _Examination:
    """Findings as they come up."""

    def __init__(self, votes: Comparisons) -> None:
        self.votes = votes
        self.counts: dict[str, int | float] = {}
        self.measures: dict[str, float | None] = {}
        self.details: dict[str, list[Any]] = {}
        self._findings: list[Finding] = []

    def health(self) -> Health:
        ordered = sorted(self._findings, key=lambda finding: _LEVELS.index(finding.level))
        return Health(self.counts, ordered, self.measures, self.details)

    def tell(self, level: str, sentence: str, about: str = "") -> None:
        self._findings.append(Finding(level, sentence, about))

    # -- counts ---------------------------------------------------------------------------------------------

    def count(self) -> None:
        votes = self.votes
        # A jury casts each vote once, and spelling its votes out would take memory.
        jury = isinstance(votes.storage, DenseVotes)
        self.duels = Duels.of(votes)
        self.groups = components(self.duels)
        self.counts = {
            "rows": votes.n_votes + votes.n_missing,
            "items": votes.n_items,
            "annotators": votes.n_annotators,
            "questions": len(votes.questions),
            "pairs": votes.n_pairs,
            "votes": votes.n_votes,
            "decided": float(votes.annotator_decided.sum()),
            "ties": votes.n_ties,
            "missing": votes.n_missing,
            "folded": 0 if jury else votes.n_votes - len(votes.vote_result),
            "without_weight": 0 if jury else int((votes.vote_weight == 0).sum()),
            "components": int(self.groups.max(initial=-1)) + 1,
        }
        voted = votes.pair_weight[votes.pair_weight > 0]
        self.measures["votes_a_pair"] = float(voted.mean()) if len(voted) else None
        self.measures["votes_an_annotator"] = float(votes.annotator_weight.mean())
        if not self.counts["decided"]:
            self.tell("problem", "No vote is decided: there is nothing to rank by.", "connection")

    def look_at_ids(self) -> None:
        votes = self.votes
        for noun, labels in (("item", votes.items), ("annotator", votes.annotators), ("question", votes.questions)):
            groups = similar_ids(labels)
            self.details[f"similar_{noun}s"] = list(groups[:100])
            if groups:
                more = f" ({len(groups) - 1:,} more like it)" if len(groups) > 1 else ""
                self.tell(
                    "warning",
                    f"The {noun} ids {told_apart(groups[0])} differ only by spaces, case or Unicode "
                    f"normalisation{more}, and count as different {noun}s: write them alike if they are the same.",
                    "ids",
                )

    # -- the graph ------------------------------------------------------------------------------------------

    def look_at_graph(self) -> None:
        n_groups = self.counts["components"]
        if n_groups > 1:
            sizes = np.sort(np.bincount(self.groups))[::-1]
            told = ", ".join(f"{size:,}" for size in sizes[:_MOST_NAMED]) + (", …" if n_groups > _MOST_NAMED else "")
            self.tell(
                "problem",
                f"The items fall into {n_groups:,} groups (of {told} items) with no decided vote between them: "
                "scores of different groups cannot be compared. Collect votes across the groups, or give features.",
                "connection",
            )
        else:
            self.tell("good", "Every item is linked to every other through decided votes.", "connection")
        self._look_at_bridges()
        self._look_at_separation()

    def _look_at_bridges(self) -> None:
        items, duels = self.votes.items, self.duels
        found = find_bridges(duels)
        ends = [(items[duels.first[d]], items[duels.second[d]]) for d in found.duel[:100]]
        votes = (duels.wins + duels.losses)[found.duel]
        self.counts["bridges"] = len(found.duel)
        self.details["bridges"] = [
            {"left": _plain(a), "right": _plain(b), "votes": float(n), "cut_off": int(cut)}
            for (a, b), n, cut in zip(ends, votes, found.cut_off, strict=False)
        ]
        large = int((found.cut_off > 1).sum())
        if large:
            (a, b), cut, n = ends[0], int(found.cut_off[0]), votes[0]
            more = f" ({large - 1:,} more like it)" if large > 1 else ""
            self.tell(
                "warning",
                f"{many(cut, 'item')} hang on the rest by the {many(n, 'vote')} between {a} and {b} alone{more}: how "
                "they compare rests on these votes. Collect votes on other pairs across.",
                "bridges",
            )
        ones = np.ones(len(duels))
        lone = int((duels.by_item(ones, ones) == 1).sum())
        self.counts["single_opponent"] = lone
        if lone and self.votes.n_items > 2:
            verb = "was" if lone == 1 else "were"
            self.tell("note", f"{many(lone, 'item')} {verb} compared with one other item only.", "bridges")

    def _look_at_separation(self) -> None:
        items, found = self.votes.items, separation(self.duels)
        self.counts["win_groups"] = found.n_groups
        for name, which, what in (
            ("never_lost", found.never_lost, "won"),
            ("never_won", found.never_won, "lost"),
        ):
            self.counts[name] = len(which)
            self.details[name] = [_plain(item) for item in items[which[:100]]]
            if len(which):
                verb = "has" if len(which) == 1 else "have"
                far = "ahead" if what == "won" else "behind"
                self.tell(
                    "note",
                    f"{_named(items[which], 'item')} {verb} {what} every vote: how far {far} rests on the prior, not "
                    "on votes.",
                    "separation",
                )
        singles = len(found.never_lost) + len(found.never_won)
        if found.n_groups > 1 + singles and self.counts["components"] == 1:
            self.tell(
                "note",
                f"The items fall into {found.n_groups:,} groups between which all votes point one way: how far apart "
                "these are rests on the prior, not on votes.",
                "separation",
            )

    # -- one order for all ----------------------------------------------------------------------------------

    def look_at_cycles(self) -> None:
        winner, loser = majorities(self.duels)
        triads = count_triads(winner, loser, np.zeros(self.votes.n_items, dtype=np.int64), 1)
        circular, total = float(triads.circular[0]), float(triads.circular[0] + triads.ordered[0])
        self.counts |= {"triads": round(total), "circular_triads": round(circular)}
        self.measures["circular_share"] = circular / total if total else None
        if total:
            share, about = circular / total, "" if triads.exact else "about "
            level = "good" if share < _TILTED else "note"
            if share >= _NEARLY_CHANCE and total >= _ENOUGH_TRIADS:
                level = "warning"
            self.tell(
                level,
                f"Of {about}{many(round(total), 'triple')} of items that were all compared with each other, the "
                f"majorities of {round(circular):,} ({share:.1%}) run in a circle; of coin tosses "
                f"{_CIRCULAR_BY_CHANCE:.0%} would.",
                "cycles",
            )
        order, decided = best_order(self.duels), float(self.counts["decided"])
        self.counts["against_best_order"] = order.against
        self.measures["against_best_order_share"] = order.against / decided
        best = "the best order found" if order.settled else "the best order found in limited time"
        self.tell(
            "note",
            f"{number(round(order.against, 2))} of {many(decided, 'decided vote')} ({order.against / decided:.1%}) "
            f"go against {best}.",
            "cycles",
        )

    # -- annotators -----------------------------------------------------------------------------------------

    def look_at_annotators(self) -> None:
        self._look_at_contradictions()
        self._look_at_sides()
        if int((self.votes.annotator_decided > 0).sum()) == 1 and self.counts["decided"] > 1:
            self.tell(
                "note",
                "With one annotator flips tell only how far the votes agree with each other, not whether they are "
                "right: have others vote on the same pairs.",
                "alone",
            )
        few = int((self.votes.annotator_weight < _FEW_VOTES).sum())
        self.counts["annotators_with_few_votes"] = few
        if few:
            self.tell(
                "note",
                f"{few:,} of {self.votes.n_annotators:,} annotators cast fewer than {_FEW_VOTES} votes: little can "
                "be said of each of them.",
            )

    def _look_at_contradictions(self) -> None:
        names, found = self.votes.annotators, self_consistency(self.votes)
        self._cancelled = float(found.cancelled.sum())
        repeated, both = found.repeated.sum(), found.contradicted.sum()
        self.counts |= {"repeated_pairs": int(repeated), "contradicted_pairs": int(both)}
        self.measures["contradicted_share"] = float(both / repeated) if repeated else None
        rate = np.divide(found.contradicted, found.repeated, out=np.zeros(len(names)), where=found.repeated > 0)
        if repeated:
            often = bool(both / repeated > _CONTRADICTS_OFTEN and repeated >= _ENOUGH_REPEATS)
            level = "warning" if often else ("note" if both else "good")
            self.tell(
                level,
                f"On {many(repeated, 'pair')} an annotator voted more than once; on {number(both)} of them "
                f"({both / repeated:.1%}) both ways.",
                "contradictions",
            )
        worst = np.flatnonzero((found.repeated >= _ENOUGH_REPEATS) & (rate > _CONTRADICTS_OFTEN))
        worst = worst[np.argsort(-rate[worst], kind="stable")]
        self.details["contradict_themselves"] = [_plain(name) for name in names[worst[:100]]]
        if len(worst):
            self.tell(
                "warning",
                f"{_named(names[worst], 'annotator')} voted both ways on more than {_CONTRADICTS_OFTEN:.0%} of the "
                "pairs that came twice.",
                "contradictions",
            )
        total = found.circular + found.ordered
        share = np.divide(found.circular, total, out=np.zeros(len(names)), where=total > 0)
        self.measures["own_circular_share"] = float(found.circular.sum() / total.sum()) if total.sum() else None
        circling = np.flatnonzero((total >= _ENOUGH_TRIADS) & (share >= _NEARLY_CHANCE))
        circling = circling[np.argsort(-share[circling], kind="stable")]
        self.details["vote_in_circles"] = [_plain(name) for name in names[circling[:100]]]
        if len(circling):
            self.tell(
                "warning",
                f"{_named(names[circling], 'annotator')} voted in circles (a over b, b over c, c over a) nearly as "
                "often as coin tosses do.",
                "circles",
            )

    def _look_at_sides(self) -> None:
        votes, found = self.votes, sides(self.votes)
        share, n = found.share_left, float(found.decided.sum())
        self.measures["left_share"] = share
        one_sided = found.one_sided(_FEW_VOTES)
        self.counts["one_sided_annotators"] = int(one_sided.sum())
        self.details["one_sided"] = [_plain(name) for name in votes.annotators[one_sided][:100]]
        self._one_sided_votes = float(found.decided[one_sided].sum())
        if share in (0.0, 1.0) and n >= _FEW_VOTES and votes.n_annotators > 1:
            side = "left" if share else "right"
            self._one_sided_votes = 0.0
            self.tell(
                "note",
                f"Every decided vote is for the {side}: it seems that the winner was written there, so that nothing "
                "can be said of sides.",
                "balance",
            )
            return
        off = abs(share - 0.5)
        if off > 2 * np.sqrt(0.25 / n) and n >= _FEW_FOR_SIGN:
            level = "warning" if off > _TILTED else "note"
            if off > _LEANING:
                self.tell(
                    level,
                    f"{share:.1%} of the decided votes are for the left, more than chance explains where items are "
                    "shown on either side alike: annotators may lean to a side, or items may have their sides.",
                    "balance",
                )
        if one_sided.any():
            names = votes.annotators[one_sided]
            verb = "always picks" if len(names) == 1 else "always pick"
            self.tell("warning", f"{_named(names, 'annotator')} {verb} the same side.", "sides")

    # -- what a quick fit says ------------------------------------------------------------------------------

    def look_at_fit(self, model: RankingModel | None, target: float) -> None:
        quick, model = model is None, _quick_fit(self.votes) if model is None else model
        if model is None:
            return
        by = f"By {'a quick' if quick else 'this'} fit of {_name_of(model)}"
        self._look_at_sign(model, by)
        self._look_ahead(model, target, f"{by} ({_MAY_DIFFER})" if quick else by)

    def _look_at_sign(self, model: RankingModel, by: str) -> None:
        found = orientation(model._overall_flip(), model._flip_information, model._decided_votes)
        self.measures |= {"votes_with_the_scores": found.share, "votes_with_the_scores_se": found.se}
        reach = f"{found.share:.1%} ± {2 * found.se:.1%}"
        if found.settled or model._settled_by_gold:
            self.tell(
                "good", f"{by}, about {reach} of the decided votes are for the scores, not against them.", "sign"
            )
        elif self.counts["decided"] < _FEW_FOR_SIGN:
            self.tell(
                "note",
                f"{many(self.counts['decided'], 'decided vote')} are too few to tell from coin tosses: that more are "
                "right than wrong is taken on trust.",
                "few votes",
            )
        else:
            self.tell(
                "problem",
                f"As many votes are against the scores as for them ({reach} for): the votes do not say which way is "
                "up, and the ranking could as well be upside down. Give pairs whose winner you know (--gold).",
                "sign",
            )

    def _look_ahead(self, model: RankingModel, target: float, by: str) -> None:
        se, variance = _score_errors(model), model.score_variance_
        if not np.isfinite(se).all() or len(se) < 2 or self.counts["components"] > 1:
            return
        accuracy = expected_accuracy(model.scores_, se, variance)
        more = more_votes(model.scores_, se, variance, float(self.counts["decided"]), target)
        self.measures |= {"expected_accuracy": accuracy, "target": target, "more_votes": more}
        told = f"{by}, two items drawn at random are in the right order in about {accuracy:.0%} of cases"
        if more == 0:
            self.tell("good", f"{told}, as wanted ({target:.0%}).", "planning")
        elif more is None:
            self.tell("note", f"{told}; {target:.0%} is out of reach with votes like these.", "planning")
        else:
            self.tell(
                "note",
                f"{told}; for {target:.0%} about {_rounded(more)} more votes like these are needed, on new pairs or "
                "under new questions.",
                "planning",
            )

    # -- votes that say nothing -----------------------------------------------------------------------------

    def look_at_idle_votes(self) -> None:
        votes, counts = self.votes, self.counts
        if votes.n_ties:
            share = votes.n_ties / votes.annotator_weight.sum()
            verb = "is a tie" if votes.n_ties == 1 else "are ties"
            told = f"{many(votes.n_ties, 'vote')} ({share:.1%}) {verb}; most models leave ties out and say so."
            self.tell("note", told, "ties")
        if votes.n_missing:
            self.tell(
                "note", f"{many(votes.n_missing, 'row')} without a winner set aside: counted as not cast.", "rows"
            )
        if counts["without_weight"]:
            self.tell("note", f"{many(counts['without_weight'], 'vote')} with weight 0 set aside.", "rows")
        if counts["folded"]:
            verb = "repeats" if counts["folded"] == 1 else "repeat"
            self.tell(
                "note",
                f"{many(counts['folded'], 'vote')} {verb} another in everything (annotator, pair, sides, winner), "
                "counted as often as written; remove them if the file was put together twice.",
                "duplicates",
            )
        cancelled, one_sided = getattr(self, "_cancelled", 0.0), getattr(self, "_one_sided_votes", 0.0)
        idle = votes.n_ties + counts["without_weight"] + cancelled + one_sided
        counts["uninformative"] = idle
        if cancelled or one_sided:
            parts = [
                f"{number(value)} {what}"
                for value, what in (
                    (votes.n_ties, "ties"),
                    (cancelled, "cancelled by the same annotator's vote for the other item"),
                    (one_sided, "by annotators who always pick the same side"),
                    (counts["without_weight"], "of weight 0"),
                )
                if value
            ]
            verb = "tells" if idle == 1 else "tell"
            self.tell("note", f"{many(idle, 'vote')} {verb} nothing of the items: {', '.join(parts)}.", "idle")


def _quick_fit(votes: Comparisons) -> RankingModel | None:
    """Fit a model well enough for a look; None where there is nothing to fit."""
    # Models stand after diagnostics: they use what is here. Only this look ahead needs one.
    from jamrank.models import JAM

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", JamrankWarning)
        try:
            return JAM(tol=1e-3, max_iter=100).fit(votes)
        except InputError:
            return None


def _name_of(model: RankingModel) -> str:
    return str(getattr(model, "chosen_", type(model).__name__))


def _named(names: Any, noun: str) -> str:
    """Return the first few names with their noun."""
    told = ", ".join(str(name) for name in names[:_MOST_NAMED])
    if len(names) == 1:
        return f"{noun.capitalize()} {told}"
    return f"{len(names):,} {noun}s ({told}{', …' if len(names) > _MOST_NAMED else ''})"


def _rounded(value: float) -> str:
    """Return a number to two digits: it is an estimate."""
    digits = max(int(np.floor(np.log10(max(value, 1.0)))) - 1, 0)
    return f"{round(max(value, 1.0), -digits):,.0f}"


def _plain(value: Any) -> Any:
    """Return an id as JSON has it."""
    return value.item() if isinstance(value, np.generic) else value


def _score_errors(model: RankingModel) -> FloatArray:
    """Return what votes leave open of each score, in a normal around the fit."""
    try:
        return model._information_uncertainty().score_se
    except (AttributeError, NotFittedError, ParameterError):  # from a file, or without a likelihood
        return model._uncertainty.score_se
