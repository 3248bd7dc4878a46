"""The model that predicts held-out votes best."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from jamrank.data.comparisons import Comparisons
from jamrank.data.duplicates import independent
from jamrank.data.frames import make_frame
from jamrank.errors import FormatError, NotFittedError, ParameterError
from jamrank.fitting.fit_warnings import has_grades
from jamrank.fitting.spec import Capabilities, ModelSpec
from jamrank.io.any_votes import as_votes
from jamrank.io.given import VoteSource
from jamrank.io.out_of_core.parted import Votes
from jamrank.io.out_of_core.sampling import sample_pairs, sample_parts
from jamrank.models.base import RankingModel
from jamrank.models.registry import find_model
from jamrank.scorers import align_features
from jamrank.selection.adaptive import CAUTION, FORWARD, looks_adaptive
from jamrank.selection.agreeing import agree_more
from jamrank.selection.candidates import usual_candidates
from jamrank.selection.cross_validation import HeldOut, frames, hold_out
from jamrank.selection.design import FEWEST_TO_COMPARE, Design, examine_design
from jamrank.selection.differing import THEY_DIFFER, differ_in_few
from jamrank.selection.explaining import THEY_EXPLAIN, features_explain
from jamrank.selection.families import NOT_INDEPENDENT, differ_in_taste, try_families
from jamrank.selection.folds import assign_folds, assign_periods
from jamrank.selection.item_agreement import have_own_tastes
from jamrank.selection.judging import judging_body, with_judging
from jamrank.selection.siding import THEY_PREFER_A_SIDE
from jamrank.selection.tastes import OWN_TASTES, try_tastes
from jamrank.selection.trials import Candidate
from jamrank.text import many

# With more votes than this, two folds or one are enough.
_MANY, _VERY_MANY = 5_000, 50_000
# A sample must keep enough votes of every item and annotator.
_VOTES_EACH = 10


@dataclass(frozen=True)
class ModelChoice:
    """Which model was chosen, and why.

    reason: In a sentence.
    uses_features: Whether it is fitted with the features.
    comparison: Models, losses and intervals; None where votes were too few to compare.
    """

    name: str
    reason: str
    uses_features: bool
    comparison: Any


@dataclass(kw_only=True, repr=False, eq=False)
class Auto(RankingModel):
    """Chooses a model by its loss on held-out votes, and fits it.

    BradleyTerry, AmElo and CrowdBT with flips or two coins (of a single annotator BradleyTerry, with a
    preference for a side, and JAM where a pair is voted on again within a question) are tried and, if votes on the
    same pair agree more than a truth per vote explains, JAM with flips, two coins or difficulty; with features also
    JAM with them, by the linear scorer or linear+objects, KernelJAM and VRJAM. The one with the lowest loss of a
    held-out vote (minus the logarithm of its probability), or a simpler one that is as good, is fitted to all votes;
    its result is the result of ``Auto``. Where annotators differ too much in how often they err to count their votes
    alike, it is a model of annotators, if one has a lower loss. Where the chosen model does not estimate flips
    (BradleyTerry, AmElo), the flips and verdicts of ``annotators_`` come from a CrowdBT fitted to the same votes;
    ``result_.judged_by`` says so. Where every vote occurs an even number of times, as if a file was included twice,
    the choice counts it once; the fit counts all.

    Where a test finds that annotators do not err independently, FamilyBT is tried, too, and chosen if it finds that
    tastes differ and its loss is not significantly higher. It uses no features, gold pairs and ties. If the product
    of the annotators and the cube of the items is above 500,000, it is tried without a test where each annotator cast
    at least 40 votes for each item on average, and otherwise not. Where the product is above 500,000, FamilyBT is
    not tried, and votes of an annotator on an item agree more than independent ones, TasteBT is tried, with ties,
    too, and chosen if its loss is significantly lower.

    Parameters
    ----------
    folds : int
        Number of folds for the choice. Of more than 5,000 decided votes only two folds are held
        out, of more than 50,000 only one.
    max_votes : int
        Most votes used for the choice, or ten for each item and annotator if that is more; if there are more, a
        sample of the pairs is used.
    ties : {"auto", "davidson", "half", "leave out"}
        As in :class:`JAM`. Unless they are left out, only models that have a place for ties are tried where there
        are any; and only models that use grades where votes have them. The choice is made by decided votes.
    max_iter, tol : optional
        As in :class:`JAM`; by default that of the chosen model.
    n_jobs, verbose
        As in :class:`JAM`.

    Attributes
    ----------
    model_ : RankingModel
        The chosen model, fitted: with its own attributes.
    chosen_ : str
        Its name, as in ``comparison_``.
    reason_ : str
        Why it was chosen, in a sentence.
    uses_features_ : bool
        Whether it was fitted with the features.
    comparison_ : data frame or None
        Models, losses and intervals, as in :func:`jamrank.selection.compare`; None where votes were too few to
        compare (fewer than 100 that are decided, or all on one pair); the simplest model was taken.

    Examples
    --------
    >>> import jamrank as jr
    >>> votes = jr.simulate(20, 8, 2000, truth="pair", random_state=0).votes
    >>> jr.Auto().fit(votes).chosen_
    'JAM'
    """

    _spec: ClassVar[ModelSpec] = ModelSpec(
        scorer="auto",
        noise="flip",
        capabilities=Capabilities(
            features="optional", gold=True, out_of_core=True, log_odds=True, annotators=True, likelihood=True
        ),
    )

    folds: int = 5
    max_votes: int = 200_000
    ties: str = "auto"
    max_iter: int | None = None
    tol: float | None = None
    n_jobs: int | None = None
    verbose: bool = False

    def fit(
        self,
        votes: Votes | VoteSource,
        features: Any = None,
        *,
        gold: Any = None,
        start: RankingModel | None = None,
    ) -> Self:
        """Choose a model and fit it; see :meth:`RankingModel.fit`."""
        _, votes = self._bring(votes)
        self._forget()
        chosen, choice = self.choose(votes, features, gold is not None)
        return self.adopt(
            chosen.fit(votes, features if choice.uses_features else None, gold=gold, start=start), choice
        )

    def adopt(self, chosen: RankingModel, choice: ModelChoice) -> Self:
        """Take over the fit of a model that :meth:`choose` returned."""
        self._model, self._choice, self.result_ = chosen, choice, with_judging(chosen)
        return self

    def _forget(self) -> None:
        super()._forget()
        for name in ("_model", "_choice"):
            vars(self).pop(name, None)

    def choose(
        self, votes: Votes | VoteSource, features: Any = None, gold: bool = False
    ) -> tuple[RankingModel, ModelChoice]:
        """Choose a model without fitting it to all votes.

        Parameters
        ----------
        votes, features
            As in :meth:`RankingModel.fit`.
        gold : bool
            Choose only among models that can use gold pairs.

        Returns
        -------
        model : RankingModel
            Not fitted.
        choice : ModelChoice
            Name of the model, and why it was chosen.
        """
        self._validate()
        votes = as_votes(votes)
        if features is not None:
            align_features(features, votes.items)
        handed_on = ("ties", "max_iter", "tol", "n_jobs", "verbose")
        changes = {name: getattr(self, name) for name in handed_on if getattr(self, name) is not None}
        wanted = max(self.max_votes, _VOTES_EACH * (votes.n_items + votes.n_annotators))
        drawn = sample_pairs(votes, wanted) if isinstance(votes, Comparisons) else sample_parts(votes, wanted)
        sample = independent(drawn)
        design = examine_design(sample)
        graded = has_grades(votes)
        ties = (self.ties != "leave out" and bool(votes.n_ties)) or graded
        half = not graded and (self.ties in ("auto", "half") or not votes.n_ties)
        from_disk = not isinstance(votes, Comparisons)
        if features is None and design.n_annotators > 1 and design.repeats and design.n_decided >= FEWEST_TO_COMPARE:
            agree = agree_more(sample, "two-coin" if design.sides else "flip")
            design = replace(design, repeats=agree, lists=agree and design.lists)
        candidates = usual_candidates(features is not None, changes, design, from_disk, gold, ties, half)
        comparison = None
        if len(candidates) == 1 or design.n_decided < FEWEST_TO_COMPARE or design.one_pair:
            named = {one.name for one in candidates}
            differ = "CrowdBT" in named and design.n_decided < FEWEST_TO_COMPARE and differ_in_few(sample, design)
            name = "CrowdBT" if differ else candidates[0].name
            reason = _without_comparison(name, design, len(candidates) == 1)
        else:
            adaptive = looks_adaptive(sample)
            found, forward = self._compare(sample, features, candidates, adaptive)
            if features is not None and not from_disk:
                found = replace(found, explained=features_explain(sample, features))
            plain = not (from_disk or gold or found.trials[found.choice()].candidate.features)
            if plain and not ties and differ_in_taste(sample):
                found = try_families(found, forward)
            elif plain and self.ties != "half" and not graded and have_own_tastes(sample):
                found = try_tastes(found, forward, changes)
            candidates += [found.trials[name].candidate for name in ("FamilyBT", "TasteBT") if name in found.trials]
            name = found.choice()
            fewer = drawn is not votes and drawn.n_folded < votes.n_votes
            reason = _reason(found, self.folds, votes.n_votes if fewer else None, forward)
            comparison, _ = frames(
                {"time" if forward else "vote": found}, votes.frame if isinstance(votes, Comparisons) else _polars
            )
            if adaptive:
                reason += f" {FORWARD if forward else CAUTION}"
        (chosen,) = (one for one in candidates if one.name == name)
        if features is not None and not chosen.features:
            reason += " The features are not used: items without votes get no score. JAM uses them."
        assert isinstance(chosen.model, RankingModel)
        return chosen.model, ModelChoice(name, reason, chosen.features, comparison)

    def _compare(
        self, sample: Comparisons, features: Any, candidates: list[Candidate], adaptive: bool
    ) -> tuple[HeldOut, bool]:
        """Hold votes out: the later ones where pairs were chosen by earlier votes. Also return whether it was so."""
        by_time = assign_periods(sample) if adaptive else None
        if by_time is not None:
            return hold_out(*by_time, candidates, features, forward=True), True
        written, fold = assign_folds(sample, self.folds, "vote")
        n_decided = float(sample.annotator_decided.sum())
        if n_decided > _MANY:
            fold[fold >= (1 if n_decided > _VERY_MANY else 2)] = -1
        return hold_out(written, fold, candidates, features), False

    def _validate(self) -> None:
        for name, least in (("folds", 2), ("max_votes", 1)):
            value = getattr(self, name)
            if not (isinstance(value, (int, np.integer)) and value >= least):
                raise ParameterError(f"{name} is {value!r}; expected a whole number of at least {least}")

    # -- files ----------------------------------------------------------------------------------------------------

    def _to_body(self) -> dict[str, Any]:
        choice, frame = self._chosen(), self._chosen().comparison
        inner, judging = self.model_._to_body(), judging_body(self.result_)
        # How long a fit took differs from run to run; the file does not.
        kept = [] if frame is None else [name for name in frame.columns if name != "seconds"]
        columns = None if frame is None else {name: frame[name].to_numpy() for name in kept}
        return {
            "class": "Auto",
            "params": self.get_params(),
            "choice": {
                "name": choice.name,
                "reason": choice.reason,
                "uses_features": choice.uses_features,
                "comparison": columns and {n: v if v.dtype.kind in "iuf" else v.tolist() for n, v in columns.items()},
                "frames": self.result_.votes.frames,
            },
            "model": inner,
            "judging": None if judging is None else {**judging, "ids": None, "votes": None},
        }

    @classmethod
    def _from_body(cls, body: dict[str, Any], source: str) -> RankingModel:
        auto, choice, inner = cls(**body["params"]), body["choice"], body["model"]
        columns = choice["comparison"]
        frame = columns and make_frame({n: np.asarray(v) for n, v in columns.items()}, choice["frames"])
        if inner["class"] == "Auto":
            raise FormatError(f"{source}: an Auto that chose an Auto")
        auto._model = find_model(str(inner["class"]))._from_body(inner, source)
        auto._choice = ModelChoice(str(choice["name"]), str(choice["reason"]), bool(choice["uses_features"]), frame)
        judging = body.get("judging")
        if judging is not None:  # of the same votes
            judging = {**judging, "ids": inner["ids"], "votes": inner["votes"]}
        auto.result_ = with_judging(auto._model, judging, source)
        return auto

    # -- the choice -----------------------------------------------------------------------------------------------

    def _chosen(self) -> ModelChoice:
        choice: ModelChoice | None = vars(self).get("_choice")
        if choice is None:
            raise NotFittedError("this Auto is not fitted yet; call fit first")
        return choice

    @property
    def model_(self) -> RankingModel:
        """The chosen model, fitted."""
        self._chosen()
        return self._model

    @property
    def chosen_(self) -> str:
        """The name of the chosen model, as in ``comparison_``."""
        return self._chosen().name

    @property
    def reason_(self) -> str:
        """Why it was chosen, in a sentence."""
        return self._chosen().reason

    @property
    def uses_features_(self) -> bool:
        """Whether it was fitted with the features."""
        return self._chosen().uses_features

    @property
    def comparison_(self) -> Any:
        """Models, losses and intervals; None where votes were too few to compare."""
        return self._chosen().comparison


def _polars(columns: dict[str, NDArray[Any]]) -> Any:
    return make_frame(columns, "polars")


def _without_comparison(chosen: str, design: Design, only: bool) -> str:
    """Return why a model was chosen without a comparison."""
    if only and design.n_annotators == 1:
        whose = "all decided votes are by one annotator" if design.named else "the votes name no annotators"
        side = "; models of a preference for a side do not take these votes" if design.sides else ""
        return f"{chosen}: {whose}, so there are no reliabilities to compare{side}."
    if only:
        return f"{chosen}: no other model can be fitted to these votes."
    if design.n_decided >= FEWEST_TO_COMPARE:
        return (
            f"{chosen}, the simplest model: all {many(design.n_decided, 'decided vote')} are on one pair; a "
            "comparison needs votes on several pairs."
        )
    few = f"{many(design.n_decided, 'decided vote')} are too few to compare models"
    if chosen == "CrowdBT":
        return f"{chosen}: {few}, but {THEY_DIFFER}."
    return f"{chosen}, the simplest model: {few}."


def _reason(found: HeldOut, folds: int, drawn_from: int | None, forward: bool = False) -> str:
    choice, best = found.choice(), found.best()
    held_out = len(np.unique(found.fold[found.fold >= 0]))
    which = f" ({held_out} of {folds} folds; compare holds out all)" if held_out < folds and not forward else ""
    vote = "later vote" if forward else "held-out vote"
    reason = f"{choice}: {found.log_loss(choice).value:.4f} nats per {vote}{which}"
    others = [name for name in found.choices if name != choice]
    if found.by_tastes:
        gap = found.difference(choice, found.best(others)).value
        reason += f", {abs(gap):.4f} {'lower' if gap < 0 else 'higher'} than {found.best(others)}; {NOT_INDEPENDENT}"
    elif found.by_features or found.by_sides or found.by_differences:
        why = THEY_PREFER_A_SIDE if found.by_sides else THEY_DIFFER
        why = THEY_EXPLAIN if found.by_features else why
        gap = found.difference(found.simplest, choice).value
        reason += f", {gap:.4f} lower than {found.simplest}, the simplest of {len(others) + 1} models; {why}"
    elif choice != best:
        gap = found.difference(choice, best).value
        simplest = f"the simplest of {len(others) + 1} models not significantly worse than the best"
        reason += f", {simplest} ({best}, {gap:.4f} lower)"
    elif others:
        next_best = found.best(others)
        behind = found.difference(next_best, choice)
        reason += f", the lowest of {len(others) + 1} models; next is {next_best}, {behind.value:.4f} higher"
        if np.isfinite(behind.low):  # otherwise all votes are on one pair
            reason += f" ({behind.low:.4f} to {behind.high:.4f})"
    if choice == "TasteBT":
        reason += f"; {OWN_TASTES}"
    if drawn_from is not None:
        reason += f"; chosen on {len(found.votes.vote_result):,} of {drawn_from:,} votes"
    return f"{reason}."
