"""The interface of every model: parameters as in scikit-learn, ``fit``, and properties of its result."""

from __future__ import annotations

from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

from numpy.typing import NDArray

from jamrank.data.comparisons import Comparisons
from jamrank.data.gold import KnownTruths
from jamrank.engines import Choice
from jamrank.errors import NotFittedError, ParameterError
from jamrank.fitting.fit_input import FitInput, bring_votes, match_gold
from jamrank.fitting.spec import ModelSpec
from jamrank.inference.annotators import AnnotatorFit
from jamrank.inference.bootstrap import Refit
from jamrank.inference.latent import N_DRAWS
from jamrank.inference.prediction import LinkPredictor
from jamrank.inference.result import Convergence, RankingResult
from jamrank.inference.score_uncertainty import ScoreUncertainty
from jamrank.inference.scores import Scores
from jamrank.inference.uncertainty import Uncertainty
from jamrank.inference.vote_summary import VoteSummary
from jamrank.io.given import VoteSource
from jamrank.io.out_of_core.parted import Votes
from jamrank.linalg.blas import blas_threads
from jamrank.models.parameters import Parameters
from jamrank.typing import FloatArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Rows of the ranking that print(model) shows.
_HEAD = 10


class RankingModel(Parameters):
    """Base of all models; follows scikit-learn's conventions.

    A subclass says what it is in ``_spec``, has its arguments as fields of a keyword-only dataclass (or stores them
    in ``__init__``) and returns its result from ``_fit``.
    Everything known after a fit is in ``result_``; the other attributes that end in an underscore are parts of it.
    """

    _spec: ClassVar[ModelSpec] = ModelSpec()

    def fit(
        self,
        votes: Votes | VoteSource,
        features: Any = None,
        *,
        gold: Any = None,
        start: RankingModel | None = None,
    ) -> Self:
        """Fit the model.

        Parameters
        ----------
        votes : Comparisons, StoredComparisons, DistributedComparisons, path-like, data frame, mapping or list
            The votes, or whatever :func:`jamrank.read_comparisons` reads; those on disk or on a cluster only for JAM,
            CrowdBT and BradleyTerry.
        features : data frame, mapping or array, optional
            One row for each item: a frame with a column ``item`` (or, in pandas, indexed by item), a mapping from
            item to values, or an array in the order of ``votes.items``.
        gold : data frame or iterable of (better, worse), optional
            Pairs of known truth: a frame with ``left``, ``right`` and ``winner`` and optionally ``question``. They
            determine the orientation of the votes. For JAM, VRJAM, CrowdBT and DawidSkene.
        start : RankingModel, optional
            A fitted model to start from, matched by ids: new votes then need fewer iterations, with the same result.

        Returns
        -------
        self
        """
        choice, votes = self._bring(votes)
        self._forget()
        known = self._known_truths(votes, gold)
        votes = votes if known is None else known.votes
        given = FitInput(votes, features, known, self._checked_start(start), choice)
        with blas_threads(len(votes.items)):
            self.result_ = self._fit(given)
        return self

    def _fit(self, given: FitInput) -> RankingResult:
        raise NotImplementedError

    def _bring(self, votes: Any) -> tuple[Choice, Votes]:
        """Choose the engine, and move the votes to where it needs them."""
        return bring_votes(type(self).__name__, self._spec, self.get_params().get("engine", "auto"), votes)

    def _known_truths(self, votes: Votes, gold: Any) -> KnownTruths | None:
        ties = self.get_params().get("ties")
        only_voted = ties == "davidson" or (ties == "auto" and bool(votes.n_ties))
        return None if gold is None else match_gold(type(self).__name__, self._spec, votes, gold, only_voted)

    def _checked_start(self, start: RankingModel | None) -> RankingResult | None:
        if start is None:
            return None
        if not self._spec.capabilities.log_odds:
            raise ParameterError(f"{type(self).__name__} cannot use a warm start.")
        if not isinstance(start, RankingModel):
            raise ParameterError(f"start is a {type(start).__name__}; expected a fitted model")
        if not start.result_.can.log_odds:
            raise ParameterError(f"{start.result_.model} cannot be used as a warm start.")
        return start.result_

    # -- display ----------------------------------------------------------------------------------------------

    def __sklearn_is_fitted__(self) -> bool:
        return "_result" in vars(self)

    def __str__(self) -> str:
        if "_result" not in vars(self):
            return repr(self)
        from jamrank.inference.display import as_text

        return f"{self!r}\n{as_text(self.result_, _HEAD)}"

    def _repr_html_(self) -> str:
        """Return the HTML for a notebook: ranking and annotators, or before a fit the parameters."""
        if "_result" not in vars(self):
            return f"<pre>{escape(repr(self))}</pre>"
        from jamrank.report.notebook import as_table

        return as_table(self)

    # -- the result -------------------------------------------------------------------------------------------

    @property
    def result_(self) -> RankingResult:
        """The result of the fit; see :class:`jamrank.inference.RankingResult`."""
        result: RankingResult | None = vars(self).get("_result")
        if result is None:
            raise NotFittedError(f"this {type(self).__name__} is not fitted yet; call fit first")
        return result

    @result_.setter
    def result_(self, result: RankingResult) -> None:
        self._result = result

    def _forget(self) -> None:
        """Drop the result of an earlier fit, so that a failed fit leaves none."""
        vars(self).pop("_result", None)

    @property
    def items_(self) -> NDArray[Any]:
        """The ids of the items, in the order of ``scores_``."""
        return self.result_.items

    @property
    def scores_(self) -> FloatArray:
        """Score of each item, from votes and features."""
        return self.result_.scores.scores

    @property
    def feature_scores_(self) -> FloatArray | None:
        """The part of the scores that the features explain; None without features."""
        return self.result_.scores.feature_scores

    @property
    def coef_(self) -> FloatArray | None:
        """Weight of each feature, in the user's units; None without, and for a kernel."""
        return self.result_.scores.coef

    @property
    def flip_(self) -> FloatArray:
        """Flip probability of each annotator: estimated, or the share of votes against the scores."""
        return self.result_.annotators.flip

    @property
    def posterior_(self) -> FloatArray:
        """P(left wins one comparison judged without error) for each pair of ``pairs_``, computed on first access.

        In models with one truth for each pair: that left is better on this pair and question, given the votes on it.
        :meth:`order_probability` is that its score is higher.
        """
        return self.result_.predictor.posterior

    @property
    def log_likelihoods_(self) -> FloatArray:
        """Log-likelihood plus log prior at each iteration."""
        return self.result_.convergence.log_likelihoods

    @property
    def log_likelihood_(self) -> float | None:
        """The last log-likelihood, without prior; None for models without a likelihood."""
        return self.result_.convergence.log_likelihood

    @property
    def n_iter_(self) -> int:
        """Number of iterations."""
        return self.result_.convergence.n_iter

    @property
    def converged_(self) -> bool:
        """Whether the fit reached its tolerance."""
        return self.result_.convergence.converged

    @property
    def ranking_(self) -> Any:
        """Frame of the items, best first: item, rank, score, score_se, score_low, score_high, rank_low, rank_high.

        Intervals are 95 %: quantiles of the posterior where there are draws.
        """
        return self.result_.ranking()

    @property
    def annotators_(self) -> Any:
        """Frame of the annotators: annotator, votes, flip, flip_low, flip_high, verdict, evidence, action, traits.

        Further columns depend on the noise.
        """
        return self.result_.annotators_frame()

    @property
    def pairs_(self) -> Any:
        """Frame of the pairs: left, right, votes, p_left (``posterior_``); and question, where there are several."""
        return self.result_.pairs()

    @property
    def features_(self) -> Any:
        """Frame of the features: feature, coef (for one unit), effect (for one standard deviation); None without."""
        return self.result_.features_frame()

    @property
    def correlated_(self) -> Any:
        """Frame of annotators with correlated errors: first, second, pairs, agreed, expected, correlation."""
        return self.result_.correlated()

    @property
    def effective_judges_(self) -> float | None:
        """How many independent annotators the annotators are equivalent to; None for votes on disk."""
        return self.result_.judging.annotators.effective_judges

    def ranking_on(self, scale: str = "elo", anchor: Any = None) -> Any:
        """Return ``ranking_`` with scores on another scale.

        Parameters
        ----------
        scale : {"elo", "logit"}
            ``elo``: 400 points for odds of ten to one; ``logit``: natural log-odds, as ``scores_`` are.
        anchor : id, optional
            The item that gets 1000 (elo) or 0 (logit); by default the mean of the items. Standard errors remain those
            of the distance to the mean of the items.

        Returns
        -------
        data frame
            Columns as in ``ranking_``.
        """
        return self.result_.ranking_on(scale, anchor)

    # -- uncertainty ------------------------------------------------------------------------------------------

    def score_draws(self, n: int = N_DRAWS, random_state: Any = 0) -> FloatArray:
        """Draw scores from their posterior.

        Parameters
        ----------
        n : int
            How many draws.
        random_state : int, Generator or None
            Fixes them.

        Returns
        -------
        ndarray of shape (n, items)
            In the order of ``items_``.
        """
        return self.result_.uncertainty.draw(n, random_state)

    def top(self, k: int) -> Any:
        """Return the probability that each item is among the best.

        Parameters
        ----------
        k : int
            Number of best items.

        Returns
        -------
        data frame
            Columns item, rank and p_top, the probability that the item is among the ``k`` best; highest first.
        """
        return self.result_.uncertainty.top_frame(k)

    def order_probability(self, a: Any, b: Any) -> Any:
        """Return the probability that the score of one item is higher than that of another, given the votes.

        It is about the order of the scores, and goes to 0 or 1 with more votes; :meth:`predict_proba` is about a
        single comparison. ``jamrank diff`` puts it into a sentence.

        Parameters
        ----------
        a, b : id or array-like of ids
            Items of the fit. Between items that no votes connect, only the prior decides.

        Returns
        -------
        float or ndarray
            P(a above b): the share of the posterior draws in which it is.
        """
        found = self.result_.order_probability(a, b)
        return (
            float(found[0]) if all(isinstance(one, str) or not hasattr(one, "__len__") for one in (a, b)) else found
        )

    def score_intervals(self, level: float = 0.95) -> Any:
        """Return an interval for the score of each item, relative to the mean of all scores.

        Parameters
        ----------
        level : float
            Probability that it is to cover.

        Returns
        -------
        data frame
            Columns item, score, score_low, score_high; best first.
        """
        return self.result_.uncertainty.intervals_frame(level)

    def uncertainty(
        self, kind: str = "posterior", *, n_resamples: int = 100, random_state: Any = 0, by: str = "annotator"
    ) -> Uncertainty:
        """Return the uncertainty of scores and ranks, by one of several methods.

        Parameters
        ----------
        kind : {"posterior", "information", "bootstrap"}
            ``posterior``: draws from the posterior; if votes are few enough, ``ranking_`` shows these.
            ``information``: a normal approximation with the observed information of scores and noise; otherwise
            ``ranking_`` shows these. ``bootstrap``: refits to annotators or questions drawn with replacement.
        n_resamples : int
            Refits of the bootstrap.
        random_state : int, Generator or None
            For the bootstrap.
        by : {"annotator", "question"}
            What the bootstrap draws: ``annotator``, where others might have been asked; ``question``, where they
            might have been asked something else.

        Returns
        -------
        Uncertainty
            Arrays in the order of ``items_``.
        """
        return self.result_.of_kind(kind, n_resamples, random_state, by)

    # -- prediction -------------------------------------------------------------------------------------------

    def predict_proba(self, left: Any, right: Any, features: Any = None) -> FloatArray:
        """Return the probability that left wins one comparison judged without error, from the scores alone.

        Parameters
        ----------
        left, right : id or array-like of ids
            Items; those without votes are scored by their features.
        features : data frame or mapping, optional
            Features of the unseen items.

        Returns
        -------
        ndarray
            One probability for each pair.
        """
        return self.result_.predictor.truth(left, right, features)

    def vote_proba(self, votes: Comparisons, features: Any = None) -> FloatArray:
        """Return the probability that each vote is for the first item of its pair, given the fitted model.

        Unlike :meth:`predict_proba` it predicts a vote and not the truth: it uses the annotator, and the votes on the
        same pair to which the model was fitted.

        Parameters
        ----------
        votes : Comparisons
            Votes with the same ids as those of the fit. For an unknown annotator the mean annotator is used; an
            unknown item is scored by its features, or has an unknown score.
        features : data frame or mapping, optional
            Features of the unseen items.

        Returns
        -------
        ndarray
            One for each decided vote of positive weight, in the order of the votes; ``votes`` has their outcomes.
        """
        return self.result_.predictor.vote(votes, features)

    def score(self, truth: Any, by: str = "posterior") -> float:
        """Return the accuracy against known values of the items.

        Parameters
        ----------
        truth : array-like, mapping or data frame
            The true value of each item, higher is better: in the order of ``items_``, or by item id.
        by : {"posterior", "scores", "recommended"}
            ``posterior``: the share of the voted pairs that the posterior decides correctly; ``scores``: the share of
            all pairs of items that ``scores_`` orders correctly; ``recommended``: the share of the voted pairs
            decided correctly by the posterior or the order of the scores, whichever ``result_.recommended()``
            returns. Pairs of equal value do not count; a tie of the model counts one half.

        Returns
        -------
        float
        """
        return self.result_.accuracy(truth, by)

    # -- plots and files --------------------------------------------------------------------------------------

    def plot(self, what: str = "ranking", ax: Axes | None = None, most: int | None = None) -> Axes:
        """Plot the result; needs matplotlib (``pip install 'jamrank[figures]'``).

        Parameters
        ----------
        what : {"ranking", "annotators", "reliability"}
            ``ranking``: scores with their 95 % intervals, best first. ``annotators``: flips with their 95 %
            intervals, lowest first, in the colours of the verdicts. ``reliability``: for :class:`VRJAM` the flip of
            each annotator on each kind of pairs; for other models the flip over the number of votes.
        ax : matplotlib Axes, optional
            Where to draw; by default a new figure.
        most : int, optional
            Largest number of items (40) or annotators (60) drawn.

        Returns
        -------
        matplotlib Axes
        """
        from jamrank.report import plots

        return plots.plot(self, what, ax, most)

    def save(self, path: str | Path) -> None:
        """Write the fitted model to a file that contains only data.

        The file has what was computed so far and, up to two million folded votes in memory, the votes: from these a
        loaded model computes everything else on access. Saving itself computes nothing.

        Parameters
        ----------
        path : str or Path
            The file; by convention it ends in ``.jamrank``.
        """
        from jamrank.io.documents import write_atomically
        from jamrank.models.files import model_bytes

        write_atomically(path, model_bytes(self))

    def _to_body(self) -> dict[str, Any]:
        """Return the model as plain data."""
        from jamrank.models.files import model_body

        return model_body(self)

    @classmethod
    def _from_body(cls, body: dict[str, Any], source: str) -> RankingModel:
        """Return the model from plain data."""
        from jamrank.models.files import model_from_body

        return model_from_body(cls, body, source)

    # -- for models without a likelihood ----------------------------------------------------------------------

    _predictor: ClassVar[type[LinkPredictor]] = LinkPredictor

    @classmethod
    def _counted_result(
        cls,
        votes: VoteSummary,
        scores: Scores,
        flip: FloatArray,
        convergence: Convergence,
        params: dict[str, Any],
        *,
        se: FloatArray | None = None,
        extras: dict[str, Any] | None = None,
        posterior: FloatArray | None = None,
    ) -> RankingResult:
        """Return the result of a model with counted flips and scores with independent errors, or none."""
        found = extras or {}
        annotators, predictor, uncertainty = cls._counted_parts(votes, scores, flip, se, found, posterior)
        return RankingResult(
            cls.__name__,
            cls._spec,
            votes,
            scores,
            annotators,
            convergence,
            predictor,
            uncertainty,
            extras=found,
            refit=Refit(cls, params),
        )

    @classmethod
    def _counted_parts(
        cls,
        votes: VoteSummary,
        scores: Scores,
        flip: FloatArray,
        se: FloatArray | None,
        extras: dict[str, Any],
        posterior: FloatArray | None,
    ) -> tuple[AnnotatorFit, LinkPredictor, ScoreUncertainty]:
        """Return what the result tells of annotators, votes and scores; models with parts of their own replace it."""
        predictor = cls._predictor(votes, scores, posterior)
        return AnnotatorFit(votes, flip, predictor), predictor, ScoreUncertainty(votes, scores, se)
