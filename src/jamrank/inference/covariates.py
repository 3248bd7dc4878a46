"""The result of a fit with covariates of the votes: effects, annotators whom they sway, predictions, uncertainty."""

from __future__ import annotations

from dataclasses import fields
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit

from jamrank.data.comparisons import Comparisons
from jamrank.data.covariates import SIDE, covariate_of
from jamrank.errors import ParameterError
from jamrank.fitting.covariates import CovariateFit, Estimates
from jamrank.inference.annotators import AnnotatorFit
from jamrank.inference.prediction import LinkPredictor
from jamrank.inference.ranks import ranks
from jamrank.inference.score_uncertainty import ScoreUncertainty
from jamrank.inference.scores import SAME_SCORE, Scores
from jamrank.inference.uncertainty import Uncertainty, from_information, normal_draws
from jamrank.inference.verdicts import Verdicts
from jamrank.inference.vote_query import VoteQuery, probit_adjusted_sigmoid
from jamrank.inference.vote_summary import VoteSummary
from jamrank.typing import FloatArray

ALL = "all"
# An annotator is called swayed if the whole interval is beyond this, in log-odds at a typical difference: votes that
# would be 50:50 are at least 52.5:47.5.
MATTERS = 0.1
_ACTION = "keep; the effect is taken out of the ranking"


def summarise(names: tuple[str, ...], size: FloatArray, fit: CovariateFit, plain: CovariateFit) -> dict[str, Any]:
    """Return what only this model has, as plain data: effects, and the ranking with the effects left in.

    names, size: Of the covariates, and their typical size.
    plain: The fit without covariates.
    """
    found: dict[str, Any] = {
        "covariates": list(names),
        "covariate_size": size,
        "identified": fit.identified,
        "sd": fit.sd,
        "noise_flip": fit.flip,
    }
    for kind, estimates in (("effect", fit.coef), ("mean_effect", fit.mean)):
        for each in fields(Estimates):
            end = "" if each.name == "value" else f"_{each.name}"
            found[f"{kind}{end}"] = getattr(estimates, each.name)
    return found | {
        "information": np.linalg.inv(fit.covariance),
        "scores_with_effects": plain.scores,
        "information_with_effects": np.linalg.inv(plain.covariance),
    }


def effects_frame(votes: VoteSummary, found: dict[str, Any]) -> Any:
    """Return the effects as a frame: covariate, annotator, coef, coef_se, coef_low, coef_high, sentence."""
    rows: list[tuple[Any, ...]] = []
    for c, name in enumerate(found["covariates"]):
        identified = bool(found["identified"][c])
        estimates = np.stack([found[f"effect{end}"][:, c] for end in ("", "_se", "_low", "_high")], axis=1)
        known = np.isfinite(estimates[:, 0])
        if identified:
            mean = [float(found[f"mean_effect{end}"][c]) for end in ("", "_se", "_low", "_high")]
            rows.append((name, ALL, *mean, _sentence(name, mean, ALL, int(known.sum()))))
        if known.sum() > 1:
            for who, own in zip(votes.annotators[known], estimates[known].tolist(), strict=True):
                rows.append((name, str(who), *own, _sentence(name, own, "" if identified else "relative")))
    heads = ("covariate", "annotator", "coef", "coef_se", "coef_low", "coef_high", "sentence")
    columns = list(zip(*rows, strict=True)) if rows else [() for _ in heads]
    kinds = (str, str, float, float, float, float, str)
    return votes.frame(
        {head: np.array(column, dtype=kind) for head, column, kind in zip(heads, columns, kinds, strict=True)}
    )


def _sentence(name: str, own: list[float], kind: str, n_annotators: int = 1) -> str:
    value, _, low, high = own
    size = f"{value:+.3g} log-odds" + ("" if name == SIDE else " for one unit") + f" ({low:+.3g} to {high:+.3g})"
    if low <= 0 <= high:
        found = f"no clear {'difference' if kind == 'relative' else 'effect'}: {size}"
    elif kind == "relative":
        found = f"prefers {'higher' if value > 0 else 'lower'} {name} than the mean annotator does: {size}"
    elif name == SIDE:
        found = f"prefers the {'left' if value > 0 else 'right'}: {size}"
    else:
        found = f"prefers {'higher' if value > 0 else 'lower'} {name}: {size}"
    return f"mean of {n_annotators} annotators, {found}" if kind == ALL and n_annotators > 1 else found


def confounded(found: dict[str, Any]) -> list[str]:
    """Return a sentence on every covariate that cannot be separated from the scores."""
    return [
        f"{name} is a difference of constants of the items: a common effect cannot be separated from the scores, and "
        "only differences between annotators are estimated. Name a reference annotator whom it does not sway."
        for name, identified in zip(found["covariates"], found["identified"], strict=True)
        if not identified
    ]


def ranking_with_effects(votes: VoteSummary, found: dict[str, Any]) -> Any:
    """Return the ranking without covariates as a frame; columns as in :meth:`RankingResult.ranking`."""
    scores = found["scores_with_effects"]
    sure = from_information(scores, found["information_with_effects"])
    rank = ranks(scores, within=SAME_SCORE)
    columns = {"item": votes.items, "rank": rank, "score": scores}
    columns |= {
        name: getattr(sure, name) for name in ("score_se", "score_low", "score_high", "rank_low", "rank_high")
    }
    order = np.lexsort((np.arange(len(rank)), rank))
    return votes.frame({name: column[order] for name, column in columns.items()})


class NormalUncertainty(ScoreUncertainty):
    """Normal scores with a known information matrix."""

    def __init__(self, votes: VoteSummary, scores: Scores, matrix: FloatArray) -> None:
        super().__init__(votes, scores)
        self.matrix = matrix

    @cached_property
    def estimate(self) -> Uncertainty:
        """Standard errors, and 95 % intervals of scores and ranks."""
        return from_information(self.scores.scores, self.matrix)

    def information(self) -> Uncertainty:
        """Return the normal approximation, which is what the ranking shows."""
        return self.estimate

    def _draw(self, n: int, random_state: Any) -> FloatArray:
        return normal_draws(self.scores.scores, self.matrix, None, n, random_state)


class CovariatePredictor(LinkPredictor):
    """Votes follow the scores and what sways their annotator."""

    def __init__(self, votes: VoteSummary, scores: Scores, found: dict[str, Any]) -> None:
        super().__init__(votes, scores)
        self.found = found

    @cached_property
    def link(self) -> float:
        """1: scores are log-odds."""
        return 1.0

    @cached_property
    def score_variances(self) -> FloatArray:
        """Posterior variance of each score."""
        return np.asarray(np.diag(np.linalg.inv(self.found["information"])))

    def _coefficients(self, end: str = "") -> FloatArray:
        """Return the coefficients of each annotator, and last those of an unknown one."""
        means = np.nan_to_num(self.found[f"mean_effect{end}"])
        return np.concatenate([np.nan_to_num(self.found[f"effect{end}"]), means[None]])

    def of_query(self, query: VoteQuery, features: Any) -> FloatArray:
        """Return the probability that each vote is for the first item of its pair, given its covariates."""
        margin, variance = self.margins(query, features)
        names = tuple(self.found["covariates"])
        x = oriented(query.votes, names)[query.which]
        margin = margin + (x * self._coefficients()[query.annotator]).sum(axis=1)
        variance = variance + (x**2 * self._coefficients("_se")[query.annotator] ** 2).sum(axis=1)
        return self._voted(probit_adjusted_sigmoid(margin, variance), query.annotator)

    def _voted(self, prefers: FloatArray, who: NDArray[np.intp]) -> FloatArray:
        """Return the probability of a vote, given that of the opinion."""
        own = self.found.get("noise_flip")
        if own is None:  # files of earlier versions
            return prefers
        flip = np.append(own, own.mean())[who]
        return np.asarray(flip + (1 - 2 * flip) * prefers)

    def says_left(
        self, better: FloatArray, who: NDArray[np.intp], flip: FloatArray, traits: dict[str, Any]
    ) -> FloatArray:
        """Return the probability of a vote for left where all covariates but the side are 0."""
        names = self.found["covariates"]
        lean = self._coefficients()[who, names.index(SIDE)] if SIDE in names else 0.0
        return self._voted(np.asarray(expit(logit(better) + lean)), who)


def oriented(votes: Comparisons, names: tuple[str, ...]) -> FloatArray:
    """Return the covariates of each folded vote towards the first item of its pair, one column each."""
    for name in names:
        if name != SIDE and name not in votes.covariates:
            raise ParameterError(
                f"these votes have no covariate {name!r}; read them with read_comparisons(…, covariates=[{name!r}])"
            )
    sign = np.where(votes.vote_swapped, -1.0, 1.0)
    return np.column_stack([sign * covariate_of(votes, name) for name in names])


class CovariateAnnotators(AnnotatorFit):
    """Annotators, and which covariates sway them."""

    def __init__(self, votes: VoteSummary, flip: FloatArray, predictor: CovariatePredictor) -> None:
        super().__init__(votes, flip, predictor)
        self.found = predictor.found

    @property
    def corrects_sides(self) -> bool:
        """Whether the side is one of the covariates, whose effects are taken out of the ranking."""
        return SIDE in self.found["covariates"]

    def amend(self, found: Verdicts) -> Verdicts:
        """Return the verdicts, annotators who are swayed called so."""
        verdict, evidence, action = list(found.verdict), list(found.evidence), list(found.action)
        names, size = self.found["covariates"], self.found["covariate_size"]
        ends = size * np.stack([self.found["effect_low"], self.found["effect_high"]])
        with np.errstate(invalid="ignore"):
            clear = ((ends[0] > MATTERS) | (ends[1] < -MATTERS))[self.votes.stands_for]
        for k in np.flatnonzero(clear.any(axis=1)).tolist():
            if verdict[k] in ("reliable", "noisy"):
                own = [names[c] for c in np.flatnonzero(clear[k])]
                said = [self._said(k, int(c)) for c in np.flatnonzero(clear[k])]
                verdict[k] = f"swayed by {' and '.join(own)}"
                evidence[k], action[k] = "; ".join(said), _ACTION
        return Verdicts(verdict, evidence, action)

    def _said(self, k: int, c: int) -> str:
        value, low, high = (self.found[f"effect{end}"][self.votes.stands_for[k], c] for end in ("", "_low", "_high"))
        return f"{self.found['covariates'][c]} {value:+.2g} log-odds for one unit, {low:+.2g} to {high:+.2g}"
