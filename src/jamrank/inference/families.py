"""What draws of the families model say: scores, annotators, votes, who is of one family."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from scipy.special import logit

from jamrank.errors import ParameterError
from jamrank.fitting.families import N_CHAINS, FamilyDraws
from jamrank.fitting.family_state import ALONE
from jamrank.inference.annotators import AnnotatorFit
from jamrank.inference.chain_diagnostics import ChainDiagnostics, diagnose
from jamrank.inference.prediction import LinkPredictor
from jamrank.inference.response_bias import VoteChunk
from jamrank.inference.same_votes import SameVotes
from jamrank.inference.score_uncertainty import ScoreUncertainty
from jamrank.inference.scores import Scores
from jamrank.inference.uncertainty import Uncertainty
from jamrank.inference.verdicts import Verdicts
from jamrank.inference.vote_query import VoteQuery, probit_adjusted_sigmoid
from jamrank.inference.vote_summary import VoteSummary
from jamrank.typing import BoolArray, FloatArray, IntArray

# Annotators are called a family if they are one with more than this probability.
_LIKELY = 0.5
# Tastes that nobody shares cannot be told from errors where scores are less correlated with the ranking than this.
_ONE_SCALE = 0.8
TASTES = (
    "Tastes of the annotators differ so much that errors cannot be told from them: intervals of flips are withheld."
)


def summarise(draws: FamilyDraws, kept: IntArray, votes: FloatArray) -> dict[str, Any]:
    """Return what a result keeps of draws, whose annotators are some of all; ``votes`` are those of each of these.

    ``same_taste`` has for any two annotators how likely neither or both have a family, and the same one;
    ``in_family`` how likely each has one; ``family`` the families to speak of, numbered, -1 for none.
    """
    n_draws, n_annotators = len(draws.own), len(votes)
    centred = draws.own - draws.own.mean(axis=2, keepdims=True)
    same = (draws.family[:, :, None] == draws.family[:, None, :]).mean(axis=0)
    inside = (draws.family != ALONE).mean(axis=0)
    group = _groups(same)
    both = (draws.family != ALONE)[:, :, None] & (draws.family[:, :, None] == draws.family[:, None, :])
    family = _groups(both.mean(axis=0))
    several = np.flatnonzero(np.bincount(family) > 1)
    family = np.where(np.isin(family, several), np.searchsorted(several, family), ALONE)
    tastes = [draws.own[:, group == g].mean(axis=1, dtype=np.float64) for g in np.unique(group)]
    tastes_of = np.full(n_annotators, ALONE, dtype=np.int64)
    tastes_of[kept] = group

    def wide(values: FloatArray, fill: float) -> FloatArray:
        found = np.full((n_annotators, *values.shape[1:]), fill)
        found[kept] = values
        return found

    together = np.eye(n_annotators)
    together[np.ix_(kept, kept)] = same
    rates = np.full((n_draws, n_annotators), draws.flip.mean())
    rates[:, kept] = draws.flip
    return {
        "score_draws": draws.scores,
        "flip_draws": rates,
        "own_scores": wide(centred.mean(axis=0, dtype=np.float64), 0.0),
        "own_variance": wide(centred.var(axis=0, dtype=np.float64), 0.0),
        "same_taste": together,
        "in_family": wide(inside, 0.0),
        "family": wide(family.astype(np.float64), -1.0).astype(np.int64),
        "taste": tastes_of,
        "taste_draws": np.stack(tastes) - np.stack(tastes).mean(axis=2, keepdims=True),
        "sds": draws.sds,
        "effective_judges": effective_number(draws, votes[kept]),
    }


def _groups(same: FloatArray) -> IntArray:
    """Return a number for each annotator, the same for those who are likely the same as the first of a group."""
    group = np.full(len(same), -1, dtype=np.int64)
    for k in range(len(same)):
        if group[k] < 0:
            own = (group < 0) & (same[k] > _LIKELY)
            own[k] = True
            group[own] = group.max() + 1
    return group


class DrawnUncertainty(ScoreUncertainty):
    """Draws from the posterior, made when the model was fitted."""

    def __init__(self, votes: VoteSummary, scores: Scores, draws: FloatArray, chains: bool = True) -> None:
        super().__init__(votes, scores)
        vars(self)["score_draws"] = draws
        self._chains = chains

    @cached_property
    def estimate(self) -> Uncertainty:
        """Standard errors, and 95 % intervals of scores and ranks."""
        return Uncertainty.of_draws(self.scores.scores, self.score_draws, "posterior")

    @property
    def diagnostics(self) -> ChainDiagnostics | None:
        """R-hat and effective sample size of the draws; None if they are not from chains."""
        if not self._chains:
            return None
        return diagnose(self.score_draws, N_CHAINS if len(self.score_draws) >= 4 * N_CHAINS else 1)

    def _draw(self, n: int, random_state: Any) -> FloatArray:
        at = np.random.default_rng(random_state).integers(len(self.score_draws), size=n)
        return self.score_draws[at]

    def information(self) -> Uncertainty:
        """Say that there is none."""
        raise ParameterError(f"{self.scores.model} draws from the posterior; try kind='posterior' or 'bootstrap'")


class FamilyPredictor(LinkPredictor):
    """Votes follow the scores that their annotator has in mind, and are flipped with the annotator's probability."""

    def __init__(self, votes: VoteSummary, scores: Scores, found: dict[str, Any]) -> None:
        super().__init__(votes, scores)
        self.found = found

    @cached_property
    def score_variances(self) -> FloatArray:
        """Variance that the votes leave to each score."""
        return np.asarray(self.found["score_draws"].var(axis=0))

    def of_query(self, query: VoteQuery, features: Any) -> FloatArray:
        """Return how likely each vote is to be for the first item of its pair."""
        margin, variance = self.margins(query, features)
        flips = self.found["flip_draws"].mean(axis=0)
        known = (query.annotator >= 0) & (query.first >= 0) & (query.second >= 0)
        who, a, b = query.annotator[known], query.first[known], query.second[known]
        own, spread = self.found["own_scores"], self.found["own_variance"]
        margin[known], variance[known] = own[who, a] - own[who, b], spread[who, a] + spread[who, b]
        flip = np.append(flips, flips[self.votes.decided_votes > 0].mean())[query.annotator]
        better = probit_adjusted_sigmoid(margin, variance)
        return np.asarray(flip + (1 - 2 * flip) * better)


class FamilyAnnotators(AnnotatorFit):
    """Flips and families from draws."""

    def __init__(self, votes: VoteSummary, predictor: FamilyPredictor) -> None:
        super().__init__(votes, predictor.found["flip_draws"].mean(axis=0), predictor)
        self.found = predictor.found

    @property
    def counted(self) -> bool:
        """Whether flips are shares of votes against the scores."""
        return False

    @cached_property
    def flip_information(self) -> FloatArray:
        """Information on the logit of each flip."""
        rates = np.clip(self.found["flip_draws"], 1e-6, 1 - 1e-6)
        return np.asarray(1.0 / np.maximum(logit(rates).var(axis=0), 1e-12))

    def _bounds(self, level: float) -> tuple[FloatArray, FloatArray]:
        low, high = np.quantile(
            self.found["flip_draws"], [(1 - level) / 2, (1 + level) / 2], axis=0, method="weibull"
        )
        return low, high

    def _truth_of_votes(self, chunk: VoteChunk) -> FloatArray:
        """Return the probability that the first item is better in the scores that the annotator has in mind."""
        first, second = self.votes.pairs.first[chunk.pair], self.votes.pairs.second[chunk.pair]
        own, spread, who = self.found["own_scores"], self.found["own_variance"], chunk.annotator
        return probit_adjusted_sigmoid(own[who, first] - own[who, second], spread[who, first] + spread[who, second])

    @cached_property
    def effective_judges(self) -> float | None:
        """How many independent judges the annotators are worth, by how far families share what is theirs."""
        return float(self.found["effective_judges"])

    @property
    def allows_for_correlation(self) -> bool:
        """Whether the model allows for annotators who err together."""
        return True

    @cached_property
    def same_votes(self) -> list[SameVotes]:
        """Nobody: the model has families, whose members may always vote alike."""
        return []

    @cached_property
    def why_withheld(self) -> str:
        """Why intervals of flips are withheld, in a sentence; empty where they are not.

        With wide tastes that nobody shares, nearly every error may be one of taste, and flips are then near 0
        or 1, however often an annotator errs.
        """
        alike = agreement_with_ranking(self.found, self.votes.decided_votes > 0)
        return TASTES if alike < _ONE_SCALE else ""

    @cached_property
    def verdicts(self) -> Verdicts:
        """What to think of each annotator; of members of a family, that they are."""
        found = super().verdicts
        verdict, evidence, action = list(found.verdict), list(found.evidence), list(found.action)
        names, family = self.votes.annotators, self.found["family"]
        by_flip = np.isin(verdict, ["reliable", "noisy", "adversarial"]) & (family < 0)
        for k in np.flatnonzero(by_flip & bool(self.why_withheld)):
            verdict[k], evidence[k] = "unresolved", "own tastes explain the votes: errors look like tastes"
            action[k] = "keep; only items of known order show how often votes are wrong"
        for k in np.flatnonzero(family >= 0):
            others = [str(names[j]) for j in np.flatnonzero(family == family[k]) if j != k]
            if verdict[k] in ("reliable", "noisy"):
                verdict[k] = f"family of {', '.join(others[:5])}{' and more' if len(others) > 5 else ''}"
                evidence[k] = f"shares a taste with them, probability {self.found['in_family'][k]:.2f}; {evidence[k]}"
                action[k] = "keep; the family's votes count for less than independent ones"
        return Verdicts(verdict, evidence, action)


def effective_number(draws: FamilyDraws, votes: FloatArray) -> float:
    """Return how many independent judges the annotators are worth, given how many votes each cast.

    Of annotators with correlations r of their deviations from the common scores n² / Σ r, averaged over the draws. A
    deviation is the family's effect, an own effect, and the error of a score that one annotator's votes leave: a vote
    tells about a fifth of a unit of information on two items.
    """
    n = len(votes)
    error = 5.0 * draws.scores.shape[1] / (2.0 * votes)
    each, times = np.unique(np.column_stack([draws.family, draws.sds[:, 1:]]), axis=0, return_inverse=True)
    family = each[:, :n]
    together = (family[:, :, None] == family[:, None, :]) & (family != ALONE)[:, :, None]
    of_family, of_own = each[:, n] ** 2, each[:, n + 1] ** 2
    spread = np.sqrt((of_family + of_own)[:, None] + error)
    r = together * of_family[:, None, None] / (spread[:, :, None] * spread[:, None, :])
    r[:, np.arange(n), np.arange(n)] = 1.0
    return float((n**2 / r.sum(axis=(1, 2)))[times.ravel()].mean())


def agreement_with_ranking(found: dict[str, Any], known: BoolArray) -> float:
    """Return the mean correlation of the ranking's scores with those in the mind of annotators without a family.

    1 where all have one; ``known`` tells who has decided votes.
    """
    own = found["own_scores"][known & (found["family"] < 0)]
    common = found["score_draws"].mean(axis=0)
    common = common - common.mean()
    size = np.sqrt((own**2).sum(axis=1) * (common**2).sum())
    alike = np.divide(own @ common, size, out=np.ones(len(own)), where=size > 0)
    return float(alike.mean()) if len(own) else 1.0


def taste_agreement(found: dict[str, Any]) -> float | None:
    """Return the correlation between the scores of the two largest groups with one taste; None if there is one."""
    draws = found["taste_draws"]
    if len(draws) < 2:
        return None
    size = np.bincount(found["taste"][found["taste"] >= 0], minlength=len(draws))
    first, second = np.argsort(-size, kind="stable")[:2]
    if size[second] < 2:
        return None
    a, b = (draws[g].mean(axis=0) for g in (first, second))
    spread = np.sqrt((a**2).sum() * (b**2).sum())
    return float((a * b).sum() / spread) if spread > 0 else None


def families_ranking(votes: VoteSummary, found: dict[str, Any]) -> Any:
    """Return the ranking of every group of annotators with one taste as a frame, larger groups first.

    Columns family, annotators, item, rank, score, score_low, score_high, rank_low, rank_high.
    """
    columns: dict[str, list[Any]] = {}
    taste, draws = found["taste"], found["taste_draws"]
    size = np.array([np.count_nonzero(taste == g) for g in range(len(draws))])
    for number, g in enumerate(np.argsort(-size, kind="stable"), start=1):
        scores = draws[g].mean(axis=0)
        sure = Uncertainty.of_draws(scores, draws[g], "posterior")
        rank = 1 + (scores[None, :] > scores[:, None]).sum(axis=1)
        members = ", ".join(str(votes.annotators[k]) for k in np.flatnonzero(taste == g))
        order = np.lexsort((np.arange(len(scores)), rank))
        own = {
            "family": np.full(len(order), number),
            "annotators": np.full(len(order), members, dtype=object),
            "item": votes.items[order],
            "rank": rank[order],
            "score": scores[order],
            "score_low": sure.score_low[order],
            "score_high": sure.score_high[order],
            "rank_low": sure.rank_low[order],
            "rank_high": sure.rank_high[order],
        }
        for name, values in own.items():
            columns.setdefault(name, []).append(values)
    return votes.frame({name: np.concatenate(parts) for name, parts in columns.items()})
