"""The interface of every model: parameters, results, frames for people, files."""

from __future__ import annotations

import inspect
import os
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from jamrank.data.comparisons import Comparisons, make_frame
from jamrank.data.gold import KnownTruths, known_truths
from jamrank.data.ids import as_column, as_objects, encode, locate
from jamrank.engines import Choice, bring, choose
from jamrank.errors import FeatureError, FormatError, InputError, NotFittedError, ParameterError, UnknownItemError
from jamrank.fitting.link import fit_link
from jamrank.inference import Uncertainty, order_accuracy, ranks, rescaled
from jamrank.inference.error_correlation import Links, correlated
from jamrank.inference.response_bias import ResponseBias, VoteChunk, habits
from jamrank.inference.verdicts import actions, evidence, flip_intervals, inner_flip, verdicts
from jamrank.io.documents import document_text, read_document, write_atomically
from jamrank.io.out_of_core.parted import PartedComparisons, Votes
from jamrank.models.display import Shown
from jamrank.models.state import from_document, to_document
from jamrank.models.uncertain import Uncertain, as_level
from jamrank.models.vote_query import VoteQuery, probit_adjusted_sigmoid
from jamrank.rows.rows import Rows
from jamrank.scorers import Features, align_features
from jamrank.typing import BoolArray, FloatArray, Int32Array

__all__ = ["RankingModel", "load"]

FeatureUse = Literal["refused", "ignored", "optional", "always"]
_VERSION = 1
# Scores closer than this differ by rounding alone.
_SAME_SCORE = 1e-9
# Of intervals.
_USUAL_LEVEL = 0.95
# Engines whose votes come part by part.
_IN_PARTS = ("disk", "dask")


class RankingModel(Shown, Uncertain):
    """Base of all models; follows scikit-learn's conventions.

    A subclass stores its arguments in ``__init__`` and, in ``_fit``, sets the fitted attributes: at least
    ``scores_``, ``flip_`` and ``posterior_``; the last may be left to ``_estimate_posterior``.
    """

    # Whether votes may stay on disk.
    _from_disk: ClassVar[bool] = False
    # Whether ties count for something; else they are left out.
    _uses_ties: ClassVar[bool] = False
    # What becomes of features, and whether it tells annotators apart: what a comparison of models must know.
    _takes_features: ClassVar[FeatureUse] = "refused"
    _knows_annotators: ClassVar[bool] = False
    # Whether it can use pairs of known truth.
    _takes_gold: ClassVar[bool] = False
    # Whether scores are log-odds: such can be shown as Elo, and another fit can start from them.
    _log_odds: ClassVar[bool] = False
    # Fitted attributes that a subclass adds to the saved state.
    _extra_state: ClassVar[tuple[str, ...]] = ()

    # Where passes over the votes run.
    engine: str = "auto"

    items_: NDArray[Any]
    engine_: str
    _choice: Choice
    scores_: FloatArray
    feature_scores_: FloatArray | None
    coef_: FloatArray | None
    flip_: FloatArray
    log_likelihoods_: FloatArray
    log_likelihood_: float | None
    score_variance_: float | None
    n_iter_: int
    n_passes_: int
    converged_: bool
    n_ties_: float
    _features: Features | None

    def fit(
        self,
        votes: Votes | str | os.PathLike[str],
        features: Any = None,
        *,
        gold: Any = None,
        start: RankingModel | None = None,
    ) -> Self:
        """Fit the model.

        Parameters
        ----------
        votes : Comparisons, StoredComparisons, DistributedComparisons or path-like
            The votes, or their file; those on disk or on a cluster only for JAM, CrowdBT and BradleyTerry.
        features : data frame, mapping or array, optional
            One row for each item: a frame with a column ``item`` (or, in pandas, indexed by item), a mapping from
            item to values, or an array in the order of ``votes.items``.
        gold : data frame or iterable of (better, worse), optional
            Pairs of known truth: a frame with ``left``, ``right`` and ``winner`` and, if need be, ``question``. They
            settle which way the votes as a whole point. For JAM, VRJAM, CrowdBT and DawidSkene.
        start : RankingModel, optional
            A fitted model to start from, matched by ids: new votes need fewer iterations then, and the end is the
            same.

        Returns
        -------
        self
        """
        if not isinstance(votes, (Comparisons, PartedComparisons, str, os.PathLike)):
            raise ParameterError(
                f"votes is a {type(votes).__name__}; expected jamrank.Comparisons (see Comparisons.from_frame)"
            )
        name = type(self).__name__
        choice = choose(self.engine, votes, self._from_disk)
        if not self._from_disk and (isinstance(votes, PartedComparisons) or choice.name in _IN_PARTS):
            told = "JAM, CrowdBT and BradleyTerry fit from disk and on clusters"
            raise ParameterError(f"{name} needs the votes in memory; {told}")
        votes = bring(choice, votes)
        self._reset()
        self.engine_, self._choice = choice.name, choice
        self._start = self._checked_start(start)
        votes = self._attach_gold(votes, gold)
        self.items_ = votes.items
        self._annotators, self._questions, self._frames = votes.annotators, votes.questions, votes.frames
        self._votes = votes
        self.feature_scores_ = self.coef_ = self._features = None
        self.log_likelihoods_, self.log_likelihood_, self.score_variance_ = np.empty(0), None, None
        self.n_iter_, self.n_passes_, self.converged_, self.n_ties_ = 0, 0, True, 0.0
        try:
            self._fit(votes, features)
        except BaseException:
            self._reset()
            raise
        return self

    def _fit(self, votes: Votes, features: Any) -> None:
        raise NotImplementedError

    def _checked_start(self, start: RankingModel | None) -> RankingModel | None:
        if start is None:
            return None
        for model in (self, start):
            if not (isinstance(model, RankingModel) and model._log_odds):
                name = type(model).__name__
                raise ParameterError(f"start: a fit cannot begin with, or be a {name}; JAM and its kin can")
        start._require_fit()
        return start

    def _attach_gold(self, votes: Votes, gold: Any) -> Votes:
        """Keep the pairs of known truth beside the votes; return the votes with all these pairs."""
        self._gold: KnownTruths | None = None
        if gold is None:
            return votes
        if not self._takes_gold:
            name = type(self).__name__
            raise ParameterError(f"{name} has no use for gold; JAM, VRJAM, CrowdBT and DawidSkene have")
        if not isinstance(votes, Comparisons):
            raise ParameterError("gold needs the votes in memory; this fit is from disk")
        self._gold = known_truths(gold, votes, only_voted=getattr(self, "ties", "") == "davidson")
        return self._gold.votes

    @property
    def _settled_by_gold(self) -> bool:
        return vars(self).get("_gold") is not None

    def _reset(self) -> None:
        for name in [name for name in vars(self) if name.endswith("_") or name.startswith("_")]:
            delattr(self, name)

    # -- parameters, as scikit-learn has them ---------------------------------------------------------------

    @classmethod
    def _parameter_names(cls) -> list[str]:
        return [name for name in inspect.signature(cls.__init__).parameters if name != "self"]

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the arguments of the constructor."""
        return {name: getattr(self, name) for name in self._parameter_names()}

    def set_params(self, **params: Any) -> Self:
        """Change arguments of the constructor."""
        known = self._parameter_names()
        for name, value in params.items():
            if name not in known:
                raise ParameterError(f"{type(self).__name__} has no argument {name!r}; it has {', '.join(known)}")
            setattr(self, name, value)
        return self

    def __sklearn_is_fitted__(self) -> bool:
        return "scores_" in vars(self)

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import Tags, TargetTags

        return Tags(estimator_type=None, target_tags=TargetTags(required=False))

    def __repr__(self) -> str:
        defaults = inspect.signature(type(self).__init__).parameters
        changed = [
            f"{name}={value!r}" for name, value in self.get_params().items() if value != defaults[name].default
        ]
        return f"{type(self).__name__}({', '.join(changed)})"

    def __getattr__(self, name: str) -> Any:
        if name.endswith("_") and not name.startswith("_") and "scores_" not in vars(self):
            raise NotFittedError(f"this {type(self).__name__} has no {name} yet; call fit first")
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    # -- results for people ---------------------------------------------------------------------------------

    @cached_property
    def posterior_(self) -> FloatArray:
        """P(left truly beats right) for each pair of ``pairs_``; worked out when it is asked for."""
        self._require_fit()
        return self._estimate_posterior()

    def _estimate_posterior(self) -> FloatArray:
        raise NotImplementedError

    @cached_property
    def recommended_(self) -> str:
        """By what to decide a pair that was voted on: ``"posterior"``, or ``"scores"``, by their order.

        Decided from the votes alone, when it is asked for: the order of the scores, where votes are better foretold
        by the other votes if the better score is always truly better; otherwise the posterior.
        """
        self._require_fit()
        return self._estimate_recommended()

    def _estimate_recommended(self) -> str:
        return "posterior"

    @cached_property
    def _uncertainty(self) -> Uncertainty:
        self._require_fit()
        return self._estimate_uncertainty()

    def _estimate_uncertainty(self) -> Uncertainty:
        return Uncertainty.unknown(len(self.items_))

    @cached_property
    def _flip_information(self) -> FloatArray:
        """Information on the logit of each annotator's overall flip."""
        return self._estimate_flip_information()

    def _estimate_flip_information(self) -> FloatArray:
        """Return the information that there would be if the truths were known."""
        flip = inner_flip(self._overall_flip(), self._decided_votes)
        return self._decided_votes * flip * (1 - flip)

    def _flip_bounds(self, level: float) -> tuple[FloatArray, FloatArray]:
        """Return the interval of each annotator's overall flip."""
        return flip_intervals(self._overall_flip(), self._flip_information, self._decided_votes, level)

    @cached_property
    def _flip_range(self) -> FloatArray:
        """The usual interval of each annotator's overall flip: low and high."""
        return np.stack(self._flip_bounds(_USUAL_LEVEL))

    def flip_intervals(self, level: float = _USUAL_LEVEL) -> Any:
        """Return an interval for the flip of each annotator, from the posterior where votes are few enough.

        Parameters
        ----------
        level : float
            Probability that it is to cover.

        Returns
        -------
        data frame
            Columns annotator, flip, flip_low, flip_high.
        """
        self._require_fit()
        low, high = self._flip_range if as_level(level) == _USUAL_LEVEL else self._flip_bounds(level)
        return self._frame(
            {"annotator": self._annotators, "flip": self._overall_flip(), "flip_low": low, "flip_high": high}
        )

    @cached_property
    def _habit_sums(self) -> FloatArray:
        """Sums over sides and ties, as in :class:`ResponseBias`; empty where votes stay on disk."""
        if not isinstance(self._votes, Comparisons):
            return np.empty((0, 0))
        chance = self._chance() if self._votes.n_ties else None
        return habits(self._votes, chance, self._truth_of_votes, self._overall_flip()).sums

    def _chance(self) -> FloatArray:
        """Return how likely the first item of each pair is better, before the votes on it: nothing is known."""
        return np.full(len(self._pair_first), 0.5)

    def _truth_of_votes(self, chunk: VoteChunk) -> FloatArray:
        """Return for each vote how likely the first item is better: the opinion that flips are counted against."""
        return np.heaviside(self.posterior_[chunk.pair] - 0.5, 0.5)

    @cached_property
    def effective_judges_(self) -> float | None:
        """How many independent judges the annotators are worth; None where votes stay on disk."""
        self._require_fit()
        return self._links.effective_judges if isinstance(self._votes, Comparisons) else None

    @cached_property
    def _link_rows(self) -> FloatArray:
        return self._links.to_array() if isinstance(self._votes, Comparisons) else np.empty((0, 6))

    @cached_property
    def _links(self) -> Links:
        assert isinstance(self._votes, Comparisons)
        return correlated(self._votes, self._overall_flip())

    @property
    def correlated_(self) -> Any:
        """Frame of judges who agree more than the truth explains, the strongest couple first.

        Columns first, second, pairs, agreed, expected, correlation: ``pairs`` are those that both judged, ``agreed``
        on how many they agreed, ``expected`` on how many they would have if they erred independently.
        """
        self._require_fit()
        first, second, common, agreed, expected, correlation = self._link_rows.reshape(-1, 6).T
        return self._frame(
            {
                "first": self._annotators[first.astype(np.int64)],
                "second": self._annotators[second.astype(np.int64)],
                "pairs": _counts(common),
                "agreed": _counts(agreed),
                "expected": expected,
                "correlation": correlation,
            }
        )

    @cached_property
    def _pair_first(self) -> Int32Array:
        return self._votes.pair_first

    @cached_property
    def _pair_second(self) -> Int32Array:
        return self._votes.pair_second

    @cached_property
    def _pair_question(self) -> Int32Array:
        return self._votes.pair_question

    @cached_property
    def _pair_votes(self) -> FloatArray:
        return self._votes.pair_weight

    @cached_property
    def _decided_votes(self) -> FloatArray:
        return self._votes.annotator_decided

    @cached_property
    def _annotator_votes(self) -> FloatArray:
        return self._votes.annotator_weight

    def _overall_flip(self) -> FloatArray:
        return self.flip_

    def _require_fit(self) -> None:
        if "scores_" not in vars(self):
            raise NotFittedError(f"this {type(self).__name__} is not fitted yet; call fit first")

    def _with_gaps(self, values: NDArray[Any], known: BoolArray) -> NDArray[Any]:
        """Return values with what their kind of frame takes for missing: NaN in pandas, null in polars."""
        if known.all():
            return values
        if self._frames == "pandas":
            return np.where(known, values, np.nan)
        gaps = np.empty(len(values), dtype=object)
        gaps[:] = [value if there else None for value, there in zip(values.tolist(), known, strict=True)]
        return gaps

    def _frame(self, columns: dict[str, Any]) -> Any:
        return make_frame(columns, self._frames)

    @property
    def ranking_(self) -> Any:
        """Frame of the items, best first: item, rank, score, score_se, rank_low, rank_high."""
        self._require_fit()
        unsure = self._uncertainty
        known = unsure.rank_low > 0
        rank = ranks(self.scores_, within=_SAME_SCORE)
        order = np.lexsort((np.arange(len(rank)), rank))
        columns = {
            "item": self.items_,
            "rank": rank,
            "score": self.scores_,
            "score_se": self._with_gaps(unsure.score_se, np.isfinite(unsure.score_se)),
            "rank_low": self._with_gaps(unsure.rank_low, known),
            "rank_high": self._with_gaps(unsure.rank_high, known),
        }
        return self._frame({name: column[order] for name, column in columns.items()})

    def ranking_on(self, scale: str = "elo", anchor: Any = None) -> Any:
        """Return ``ranking_`` with scores on another scale.

        Parameters
        ----------
        scale : {"elo", "logit"}
            ``elo``: 400 points for odds of ten to one; ``logit``: natural log-odds, as ``scores_`` are.
        anchor : id, optional
            The item that gets 1000 (elo) or 0 (logit); the mean of the items unless given. Standard errors stay those
            of the distance to the mean of the items.

        Returns
        -------
        data frame
            Columns as in ``ranking_``.
        """
        self._require_fit()
        at = self._place_anchor(scale, anchor, self.items_)
        return rescaled(self.ranking_, scale, float(self.scores_.mean() if at is None else self.scores_[at]))

    def _place_anchor(self, scale: str, anchor: Any, items: NDArray[Any]) -> int | None:
        """Return the code of an anchor, or say why there can be no such scale: before a fit, if need be."""
        if scale != "logit" and not self._log_odds:
            raise ParameterError(f"the scores of {type(self).__name__} are no log-odds and have no Elo; JAM's have")
        if anchor is None:
            return None
        at = int(locate(items, np.array([anchor], dtype=object))[0])
        if at < 0:
            raise UnknownItemError(f"anchor {anchor!s}: no vote is about such an item")
        return at

    @property
    def annotators_(self) -> Any:
        """Frame of the annotators: annotator, votes, flip, flip_low, flip_high, verdict, evidence, action; and more.

        What follows after that depends on the noise.
        """
        self._require_fit()
        flip = self._overall_flip()
        low, high = self._flip_range
        known = ResponseBias(self._habit_sums) if len(self._habit_sums) else None
        told = verdicts(flip, low, high, known)
        return self._frame(
            {
                "annotator": self._annotators,
                "votes": _counts(self._annotator_votes),
                "flip": flip,
                "flip_low": low,
                "flip_high": high,
                "verdict": np.array(told, dtype=object),
                "evidence": np.array(evidence(told, flip, low, high, known), dtype=object),
                "action": np.array(actions(told, known), dtype=object),
                **self._annotator_columns(),
            }
        )

    def _annotator_columns(self) -> dict[str, Any]:
        """Return what else is known of each annotator."""
        return {}

    @property
    def pairs_(self) -> Any:
        """Frame of the pairs: left, right, votes, p_left; and question, where there are several."""
        self._require_fit()
        columns = {
            "left": self.items_[self._pair_first],
            "right": self.items_[self._pair_second],
            "votes": _counts(self._pair_votes),
            "p_left": self.posterior_,
        }
        if len(self._questions) > 1:
            columns["question"] = self._questions[self._pair_question]
        return self._frame(columns)

    @property
    def features_(self) -> Any:
        """Frame of the features: feature, coef (for one unit), effect (for one standard deviation); None without."""
        self._require_fit()
        if self._features is None or self.coef_ is None:
            return None
        return self._frame(
            {
                "feature": np.array(self._features.names, dtype=object),
                "coef": self.coef_,
                "effect": self.coef_ * self._features.scale,
            }
        )

    # -- prediction -----------------------------------------------------------------------------------------

    def predict_proba(self, left: Any, right: Any, features: Any = None) -> FloatArray:
        """Return the probability that left truly beats right, from the scores alone.

        Parameters
        ----------
        left, right : id or array-like of ids
            Any items; those that the votes did not name are scored through their features.
        features : data frame or mapping, optional
            Features of the unseen items.

        Returns
        -------
        ndarray
            One probability for each pair.
        """
        self._require_fit()
        a, b = _ids(left), _ids(right)
        if len(a) != len(b):
            raise ParameterError(f"left has {len(a)} items and right {len(b)}; expected as many")
        margin = self._score_of(a, features) - self._score_of(b, features)
        return np.asarray(expit(margin))

    def vote_proba(self, votes: Comparisons, features: Any = None) -> FloatArray:
        """Return how likely it is that each vote goes to the first item of its pair, given the fitted model.

        Unlike :meth:`predict_proba` it is about a vote and not about the truth: it knows who votes, and the votes on
        the same pair to which the model was fitted.

        Parameters
        ----------
        votes : Comparisons
            Whose items, annotators and questions have the ids of those that the model was fitted to. An annotator
            that the model never saw is taken for the mean annotator; an item that it never saw is scored through
            its features, or taken for any item.
        features : data frame or mapping, optional
            Features of the unseen items.

        Returns
        -------
        ndarray
            One for each decided vote of positive weight, in the order of the votes; ``votes`` says how they came
            out.
        """
        self._require_fit()
        if not isinstance(votes, Comparisons):
            raise ParameterError(f"votes is a {type(votes).__name__}; expected jamrank.Comparisons")
        return self._vote_proba(VoteQuery.of(self, votes), features)

    def _vote_proba(self, query: VoteQuery, features: Any) -> FloatArray:
        """Return sigmoid(a · margin), its slope fitted to the votes: for models that have no probabilities."""
        margin, variance = self._margins(query, features)
        return probit_adjusted_sigmoid(self._link * margin, self._link**2 * variance)

    def _margins(self, query: VoteQuery, features: Any) -> tuple[FloatArray, FloatArray]:
        """Return the difference of the scores behind each vote, and the variance that is left of it."""
        spread = self._score_variances
        sides = []
        for item, of_pair in ((query.first, query.votes.pair_first), (query.second, query.votes.pair_second)):
            score, variance = np.append(self.scores_, 0.0)[item], np.append(spread, self._unseen_variance())[item]
            unseen = item < 0
            if unseen.any() and features is not None and self._features is not None:
                code = of_pair[query.votes.vote_pair[query.which[unseen]]]
                score[unseen] = self._score_unseen(query.votes.items[code], features)
                variance[unseen] = self.score_variance_ or 0.0
            elif unseen.any():
                score[unseen] = self.scores_.mean()
            sides.append((score, variance))
        (a, var_a), (b, var_b) = sides
        return a - b, var_a + var_b

    def _unseen_variance(self) -> float:
        """Return the variance of the score of an item of which nothing is known."""
        return float(self.scores_.var()) if self.score_variance_ is None else self.score_variance_

    @cached_property
    def _score_variances(self) -> FloatArray:
        """Variance that the votes leave to each score; 0 where the model knows of none."""
        return self._estimate_score_variances()

    def _estimate_score_variances(self) -> FloatArray:
        return np.zeros(len(self.items_))

    @cached_property
    def _link(self) -> float:
        """Slope from a difference of scores to the log-odds of a vote."""
        return self._estimate_link()

    def _estimate_link(self) -> float:
        assert isinstance(self._votes, Comparisons)
        rows = Rows.per_pair(self._votes)
        wins, vote_counts = rows.vote_totals()
        return fit_link(self.scores_[rows.first] - self.scores_[rows.second], wins, vote_counts)

    @cached_property
    def _vote_tables(self) -> FloatArray:
        """Probability of a vote by coin, by whether it is for the first item, and by the truth; empty without any."""
        return self._estimate_vote_tables()

    def _estimate_vote_tables(self) -> FloatArray:
        return np.empty((0, 2, 2))

    def _score_of(self, wanted: NDArray[Any], features: Any) -> FloatArray:
        at = locate(self.items_, wanted)
        scores = np.where(at >= 0, self.scores_[at], np.nan)
        unseen = at < 0
        if unseen.any():
            scores[unseen] = self._score_unseen(wanted[unseen], features)
        return scores

    def _score_unseen(self, items: NDArray[Any], features: Any) -> FloatArray:
        if self._features is None:
            raise UnknownItemError(
                f"item {items[0]!s} has no votes, and {type(self).__name__} was fitted without features "
                "through which it could be scored"
            )
        if features is None:
            raise UnknownItemError(f"item {items[0]!s} has no votes; give its features")
        if not isinstance(features, dict) and not hasattr(features, "columns"):
            raise FeatureError("features of unseen items as a bare array", "give a frame or a mapping by item")
        distinct, (codes,) = encode(as_column(items.tolist()))
        matrix, _ = align_features(features, distinct, self._features.names)
        return self._explained(matrix)[codes]

    def _explained(self, matrix: FloatArray) -> FloatArray:
        """Return what the features say of unseen items."""
        assert self._features is not None and self.coef_ is not None
        gaps = np.where(np.isnan(matrix), self._features.mean, matrix)
        scores: FloatArray = ((gaps - self._features.mean) * self.coef_).sum(axis=1)
        return scores

    def score(self, truth: Any, by: str = "posterior") -> float:
        """Return the accuracy against known values of the items.

        Parameters
        ----------
        truth : array-like, mapping or data frame
            The true value of each item, higher is better: in the order of ``items_``, or by item id.
        by : {"posterior", "scores", "recommended"}
            ``posterior``: the share of the voted pairs on whose side the posterior is; ``scores``: the share of
            all pairs of items that ``scores_`` orders rightly; ``recommended``: the share of the voted pairs that
            are decided rightly by the posterior or by the order of the scores, whichever ``recommended_`` says.
            Pairs of equal value do not count; a tie of the model counts one half.

        Returns
        -------
        float
        """
        self._require_fit()
        try:
            value = align_features(_by_item(truth), self.items_)[0][:, 0]
        except FeatureError:
            raise InputError(
                "truth does not fit the items", "give one number for each item, by id or in order"
            ) from None
        if by == "scores":
            return order_accuracy(self.scores_, value)
        if by not in ("posterior", "recommended"):
            raise ParameterError(f"by is {by!r}; expected 'posterior', 'scores' or 'recommended'")
        gap = value[self._pair_first] - value[self._pair_second]
        if by == "recommended" and self.recommended_ == "scores":
            lean = np.sign(self.scores_[self._pair_first] - self.scores_[self._pair_second])
        else:
            lean = np.sign(self.posterior_ - 0.5)
        return float(((lean * np.sign(gap) + 1) / 2)[gap != 0].mean())

    # -- files ----------------------------------------------------------------------------------------------

    def save(self, path: str | Path) -> None:
        """Write the fitted model to a JSON file: data, not code."""
        write_atomically(path, self.to_json())

    def to_json(self) -> str:
        """Return what :meth:`save` writes."""
        self._require_fit()
        return document_text("model", _VERSION, self._document())

    def _document(self) -> dict[str, Any]:
        return to_document(self)

    @classmethod
    def _from_document(cls, body: dict[str, Any], source: str) -> RankingModel:
        return from_document(cls, body, source)


def load(path: str | Path) -> RankingModel:
    """Read a model that :meth:`RankingModel.save` wrote.

    Parameters
    ----------
    path : str or Path
        The file.

    Returns
    -------
    RankingModel
        A model of the class that was saved, with the same predictions bit for bit.
    """
    from jamrank.models import MODELS

    body = read_document(Path(path), "model", _VERSION)
    name = str(body.get("class"))
    if name not in MODELS:
        raise FormatError(f"{path}: a model of class {name!r}; this version knows {', '.join(MODELS)}")
    return MODELS[name]._from_document(body, str(path))


def _ids(values: Any) -> NDArray[Any]:
    scalar = isinstance(values, (str, bytes)) or not hasattr(values, "__len__")
    return as_objects(as_column([values] if scalar else values))


def _by_item(truth: Any) -> Any:
    """Return truth as something that features may be; a pandas series becomes a mapping."""
    if hasattr(truth, "index") and hasattr(truth, "to_dict") and not hasattr(truth, "columns"):
        return truth.to_dict()
    return truth.to_numpy() if hasattr(truth, "to_numpy") and not hasattr(truth, "columns") else truth


def _counts(weights: FloatArray) -> NDArray[Any]:
    """Return whole numbers as integers."""
    whole = weights.astype(np.int64)
    return whole if (whole == weights).all() else weights
