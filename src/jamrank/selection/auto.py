"""The model that foretells held-out votes best."""

from __future__ import annotations

import os
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from jamrank.data.comparisons import Comparisons, make_frame
from jamrank.engines import bring, choose
from jamrank.errors import FormatError, ParameterError
from jamrank.io.out_of_core.parted import PartedComparisons, Votes
from jamrank.io.out_of_core.sampling import sample_pairs, sample_parts
from jamrank.models.base import FeatureUse, RankingModel
from jamrank.models.registry import find_model
from jamrank.models.state import from_document, to_document
from jamrank.models.uncertain import Uncertain
from jamrank.scorers import align_features
from jamrank.selection.candidates import usual_candidates
from jamrank.selection.cross_validation import Candidate, HeldOut, frames, hold_out
from jamrank.selection.design import Design, examine_design
from jamrank.selection.folds import deal
from jamrank.text import many

__all__ = ["Auto"]

# With fewer decided votes the choice would be chance.
_FEWEST = 100
# With more than so many it is clear enough after two folds, or one.
_MANY, _VERY_MANY = 5_000, 50_000
# A sample must leave every item and annotator with votes enough to be known by.
_VOTES_EACH = 10


class Auto(RankingModel):
    """Chooses a model by votes that were held out, and fits it.

    BradleyTerry, AmElo, and CrowdBT and JAM with either noise are tried; with features also JAM with them, by the
    linear scorer or linear+objects, KernelJAM and VRJAM. The one with the lowest loss of a held-out vote (minus the
    logarithm of its probability), or a simpler one that is as good, is fitted to all votes, and everything that it
    knows is found here under the same names.

    Parameters
    ----------
    folds : int
        Into how many folds votes are split for the choice. Of more than 5,000 decided votes only two folds are held
        out, of more than 50,000 only one.
    max_votes : int
        Most votes that the choice is made on, or ten for each item and annotator if that is more; of more votes,
        those on some pairs are drawn.
    ties : {"leave out", "davidson"}
        As in :class:`JAM`, for those models that have a place for ties. The choice is made by decided votes.
    max_iter, tol : optional
        As in :class:`JAM`; the chosen model's own unless given.
    n_jobs, verbose
        As in :class:`JAM`.

    Attributes
    ----------
    model_ : RankingModel
        The chosen model, fitted.
    chosen_ : str
        Its name, as in ``comparison_``.
    reason_ : str
        Why it was chosen, in a sentence.
    uses_features_ : bool
        Whether it was fitted with the features.
    comparison_ : data frame or None
        Models, losses and intervals, as in :func:`jamrank.diagnostics.compare`; None where votes were too few to
        compare (fewer than 100 that are decided), and JAM was taken.

    Examples
    --------
    >>> import jamrank as jr
    >>> votes = jr.simulate(20, 8, 2000, truth="pair", random_state=0).votes
    >>> jr.Auto().fit(votes).chosen_
    'JAM'
    """

    _from_disk: ClassVar[bool] = True
    _takes_features: ClassVar[FeatureUse] = "optional"
    _knows_annotators: ClassVar[bool] = True

    model_: RankingModel
    chosen_: str
    reason_: str
    uses_features_: bool
    comparison_: Any

    def __init__(
        self,
        *,
        folds: int = 5,
        max_votes: int = 200_000,
        ties: str = "leave out",
        max_iter: int | None = None,
        tol: float | None = None,
        n_jobs: int | None = None,
        verbose: bool = False,
    ) -> None:
        self.folds = folds
        self.max_votes = max_votes
        self.ties = ties
        self.max_iter = max_iter
        self.tol = tol
        self.n_jobs = n_jobs
        self.verbose = verbose

    def fit(
        self,
        votes: Votes | str | os.PathLike[str],
        features: Any = None,
        *,
        gold: Any = None,
        start: RankingModel | None = None,
    ) -> Self:
        """Choose a model and fit it; see :meth:`RankingModel.fit`."""
        if not isinstance(votes, (Comparisons, PartedComparisons, str, os.PathLike)):
            raise ParameterError(
                f"votes is a {type(votes).__name__}; expected jamrank.Comparisons (see Comparisons.from_frame)"
            )
        votes = bring(choose(self.engine, votes), votes)
        self._reset()
        try:
            chosen = self.choose(votes, features, gold is not None)
            self.model_ = chosen.fit(votes, features if self.uses_features_ else None, gold=gold, start=start)
        except BaseException:
            self._reset()
            raise
        return self

    def choose(self, votes: Votes, features: Any = None, gold: bool = False) -> RankingModel:
        """Choose a model; set ``chosen_``, ``reason_`` and ``comparison_``, and return it unfitted.

        Parameters
        ----------
        votes, features
            As in :meth:`RankingModel.fit`.
        gold : bool
            Only among the models that can use pairs of known truth.
        """
        self._validate()
        if features is not None:
            align_features(features, votes.items)
        handed_on = ("ties", "max_iter", "tol", "n_jobs", "verbose")
        changes = {name: getattr(self, name) for name in handed_on if getattr(self, name) is not None}
        wanted = max(self.max_votes, _VOTES_EACH * (votes.n_items + votes.n_annotators))
        sample = sample_pairs(votes, wanted) if isinstance(votes, Comparisons) else sample_parts(votes, wanted)
        design = examine_design(sample)
        candidates = usual_candidates(features is not None, changes, design, not isinstance(votes, Comparisons), gold)
        self.comparison_ = None
        if len(candidates) == 1 or design.n_decided < _FEWEST:
            self.chosen_ = candidates[0].name
            self.reason_ = _without_comparison(self.chosen_, design, len(candidates) == 1)
        else:
            found = self._compare(sample, features, candidates)
            self.comparison_, _ = frames({"vote": found}, votes.frame if isinstance(votes, Comparisons) else _polars)
            self.chosen_ = found.choice()
            drawn = sample is not votes and sample.n_folded < votes.n_votes
            self.reason_ = _reason(found, self.folds, votes.n_votes if drawn else None)
        (chosen,) = (one for one in candidates if one.name == self.chosen_)
        self.uses_features_ = chosen.features
        if features is not None and not chosen.features:
            self.reason_ += " The features are not used."
        assert isinstance(chosen.model, RankingModel)
        return chosen.model

    def _compare(self, sample: Comparisons, features: Any, candidates: list[Candidate]) -> HeldOut:
        written, fold = deal(sample, self.folds, "vote")
        n_decided = float(sample.annotator_decided.sum())
        if n_decided > _MANY:
            fold[fold >= (1 if n_decided > _VERY_MANY else 2)] = -1
        return hold_out(written, fold, candidates, features)

    def _validate(self) -> None:
        for name, least in (("folds", 2), ("max_votes", 1)):
            value = getattr(self, name)
            if not (isinstance(value, (int, np.integer)) and value >= least):
                raise ParameterError(f"{name} is {value!r}; expected a whole number of at least {least}")

    # -- everything else is the chosen model's ------------------------------------------------------------------

    def __getattr__(self, name: str) -> Any:
        model = vars(self).get("model_")
        if model is None or name.startswith("__"):
            return super().__getattr__(name)
        return getattr(model, name)

    def _require_fit(self) -> None:
        if "model_" not in vars(self):
            super()._require_fit()

    def __sklearn_is_fitted__(self) -> bool:
        return "model_" in vars(self)

    # -- files --------------------------------------------------------------------------------------------------

    def _document(self) -> dict[str, Any]:
        frame = self.comparison_
        columns = None if frame is None else {name: frame[name].to_numpy() for name in frame.columns}
        plain = columns and {name: v.tolist() if v.dtype.kind not in "iuf" else v for name, v in columns.items()}
        return {
            "class": "Auto",
            "params": self.get_params(),
            "chosen": self.chosen_,
            "reason": self.reason_,
            "comparison": plain,
            "uses_features": self.uses_features_,
            "frames": self.model_._frames,
            "model": to_document(self.model_),
        }

    @classmethod
    def _from_document(cls, body: dict[str, Any], source: str) -> RankingModel:
        try:
            auto = cls(**body["params"])
            auto.chosen_, auto.reason_, columns = body["chosen"], body["reason"], body["comparison"]
            auto.uses_features_ = body["uses_features"]
            auto.comparison_ = columns and make_frame(
                {name: np.asarray(column) for name, column in columns.items()}, body["frames"]
            )
            auto.model_ = from_document(find_model(body["model"]["class"]), body["model"], source)
        except (KeyError, TypeError, AttributeError, ParameterError) as error:
            raise FormatError(f"{source}: an Auto whose data are incomplete or damaged ({error})") from None
        return auto


def _handed_on(name: str) -> property:
    """Return a property that asks the chosen model."""

    def ask(self: Auto) -> Any:
        if "model_" not in vars(self):
            return RankingModel.__getattr__(self, name)
        return getattr(self.model_, name)

    return property(ask)


# What a model works out when asked for is the business of the chosen one, whose way it may be.
for _name, _value in [*vars(Uncertain).items(), *vars(RankingModel).items()]:
    if isinstance(_value, (property, cached_property)):
        setattr(Auto, _name, _handed_on(_name))


def _method(name: str) -> Any:
    def call(self: Auto, *args: Any, **kwargs: Any) -> Any:
        self._require_fit()
        return getattr(self.model_, name)(*args, **kwargs)

    call.__name__, call.__doc__ = name, getattr(RankingModel, name).__doc__
    return call


_ASKED = ("score_intervals", "flip_intervals", "score_draws", "rank_draws", "top", "uncertainty")
for _name in ("predict_proba", "vote_proba", "score", *_ASKED):
    setattr(Auto, _name, _method(_name))


def _polars(columns: dict[str, NDArray[Any]]) -> Any:
    return make_frame(columns, "polars")


def _without_comparison(chosen: str, design: Design, only: bool) -> str:
    """Say why a model was taken that was not compared with others."""
    if only and design.n_annotators == 1:
        return f"{chosen}: there is one annotator, so there are no reliabilities to estimate."
    if only:
        return f"{chosen}: no other model can be fitted to these votes."
    return f"{chosen}, the simplest model: {many(design.n_decided, 'decided vote')} cannot tell models apart."


def _reason(found: HeldOut, folds: int, drawn_from: int | None) -> str:
    choice, best = found.choice(), found.best()
    held_out = len(np.unique(found.fold[found.fold >= 0]))
    which = f" ({held_out} of {folds} folds; compare holds out all)" if held_out < folds else ""
    told = f"{choice}: {found.log_loss(choice).value:.4f} nats a held-out vote{which}"
    others = [name for name in found.choices if name != choice]
    if choice != best:
        gap = found.difference(choice, best).value
        told += f", the simplest of {len(others) + 1} models that is as good as the best ({best}, {gap:.4f} lower)"
    elif others:
        next_best = found.best(others)
        behind = found.difference(next_best, choice)
        told += (
            f", the lowest of {len(others) + 1} models; next is {next_best}, {behind.value:.4f} higher "
            f"({behind.low:.4f} to {behind.high:.4f})"
        )
    if drawn_from is not None:
        told += f"; chosen on {len(found.votes.vote_result):,} of {drawn_from:,} votes"
    return f"{told}."
