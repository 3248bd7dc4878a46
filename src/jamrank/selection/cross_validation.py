"""Cross-validation: losses of models on held-out votes."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from jamrank.data.color_refinement import decided
from jamrank.data.comparisons import Comparisons
from jamrank.data.storage import FIRST, TIE
from jamrank.errors import FeatureError, InputError, JamrankWarning
from jamrank.selection.agreeing import agree_more
from jamrank.selection.differing import differences
from jamrank.selection.siding import prefer_a_side
from jamrank.selection.trials import Candidate, Estimate, Trial
from jamrank.typing import BoolArray, FloatArray, IntArray

# Upper bound on the loss of one vote: a probability of 0 may be rounding.
_SUREST = 1e-12
# The standard normal's 97.5 % point.
_Z = 1.959963984540054
_MANY_CLUSTERS = 30
# Forward in time, the first periods are only learned from.
_EARLIEST = 2
N_BINS = 10


@dataclass(frozen=True)
class HeldOut:
    """Decided votes that were held out fold by fold, and the predictions of each model.

    fold: Fold of each folded vote.
    trials: By name of the model.
    left_out: Models that could not be fitted, and why.
    """

    votes: Comparisons
    fold: IntArray
    trials: dict[str, Trial] = field(default_factory=dict)
    left_out: dict[str, str] = field(default_factory=dict)
    by_tastes: bool = False
    """Whether FamilyBT is the choice because annotators do not err independently."""
    explained: bool = False
    """Whether features explain the scores."""

    @cached_property
    def decided(self) -> BoolArray:
        """Which of the folded votes count."""
        return decided(self.votes)

    @cached_property
    def weight(self) -> FloatArray:
        """Weight of each decided vote."""
        return np.asarray(self.votes.vote_weight[self.decided], dtype=np.float64)

    @cached_property
    def first_won(self) -> BoolArray:
        """The outcome of each decided vote."""
        return np.asarray(self.votes.vote_result[self.decided] == FIRST)

    @cached_property
    def pair_of_items(self) -> IntArray:
        """The two items of each decided vote, in any question."""
        pair = self.votes.vote_pair[self.decided]
        both = self.votes.pair_first[pair].astype(np.int64) * self.votes.n_items + self.votes.pair_second[pair]
        codes: IntArray = np.unique(both, return_inverse=True)[1]
        return codes

    @cached_property
    def unit(self) -> IntArray:
        """The pair of each decided vote within its question: what may share a truth."""
        return self.votes.vote_pair[self.decided].astype(np.int64)

    @cached_property
    def _estimated(self) -> list[tuple[IntArray, IntArray, IntArray]]:
        """What predicts each decided vote: the estimate of an annotator, of two items; within its fold; and unit."""
        fold, found = self.fold[self.decided] + 1, []
        for source in (self.votes.vote_annotator[self.decided].astype(np.int64), self.pair_of_items):
            within = _combined(source, fold)
            found.append((source, within, _combined(within, self.unit)))
        return found

    def losses(self, name: str) -> FloatArray:
        """Return the loss of each decided vote: minus the logarithm of its predicted probability."""
        proba = self.trials[name].proba
        return np.asarray(-np.log(np.clip(np.where(self.first_won, proba, 1 - proba), _SUREST, 1.0)))

    def log_loss(self, name: str) -> Estimate:
        """Return the mean loss of a vote, in nats."""
        if name not in self._log_losses:
            self._log_losses[name] = self._mean(self.losses(name))
        return self._log_losses[name]

    @cached_property
    def _log_losses(self) -> dict[str, Estimate]:
        return {}

    def tie_loss(self, name: str) -> float | None:
        """Return the mean loss of predicting which votes are ties, in nats a vote; None for a model without ties."""
        losses = self.trials[name].tie_loss
        if losses is None:
            return None
        there = ~np.isnan(losses)
        return float(np.average(losses[there], weights=self.votes.vote_weight[there]))

    def difference(self, name: str, than: str) -> Estimate:
        """Return the difference in loss of two models on the same votes."""
        return self._mean(self.losses(name) - self.losses(than))

    def accuracy(self, name: str) -> Estimate:
        """Return the share of votes for the likelier item; equal probabilities count one half."""
        lean = np.sign(self.trials[name].proba - 0.5) * np.where(self.first_won, 1.0, -1.0)
        return self._mean((lean + 1) / 2)

    def best(self, names: Sequence[str] | None = None) -> str:
        """Return the model with the lowest loss; the first of equal ones."""
        # Losses that agree to ten digits are equal, so that rounding does not decide.
        return min(names or self.choices, key=lambda name: round(self.log_loss(name).value, 10))

    def choice(self) -> str:
        """Return the simplest model that the best does not beat by two standard errors of the difference.

        A truth per vote and one per pair are equally simple: if votes on a pair agree more than a truth per vote
        explains, the loss decides between them. Where the simplest counts all annotators alike although they differ
        too much for it, it is the simplest of the models of annotators with a lower loss; likewise where it has no
        place for a preference for a side that they have; and where features explain the scores, it is the simplest
        of the models with features and a lower loss. Where they do not err independently, it is FamilyBT.
        """
        if self.by_tastes:
            return "FamilyBT"
        return self._simplest(self._explaining) if self.by_features else self._but_for_features

    @property
    def _but_for_features(self) -> str:
        return self._simplest(self._sided) if self.by_sides else self._but_for_sides

    @cached_property
    def by_features(self) -> bool:
        """Whether the choice uses features, and would not if they did not explain the scores."""
        return bool(self.explained and self._explaining)

    @property
    def _explaining(self) -> list[str]:
        """Models with features and a lower loss than the choice without any, and of annotators if that is."""
        usual = self._but_for_features
        loss, mine = self.log_loss(usual).value, self.trials[usual].candidate
        if mine.features:
            return []
        featured = [
            (name, self.trials[name].candidate) for name in self.choices if self.trials[name].candidate.features
        ]
        return [
            name for name, one in featured if one.annotators >= mine.annotators and self.log_loss(name).value < loss
        ]

    @cached_property
    def _but_for_sides(self) -> str:
        return self._simplest(self._telling) if self.by_differences else self.simplest

    @cached_property
    def simplest(self) -> str:
        """The simplest model that the best does not beat by two standard errors of the difference."""
        return self._simplest(self.choices)

    @cached_property
    def by_differences(self) -> bool:
        """Whether the choice is another than the simplest because annotators differ.

        With few pairs of items losses depend on each other so much that two standard errors are much.
        """
        telling = self._telling and not self.trials[self.simplest].candidate.annotators
        return bool(telling) and self._few_pairs and differences(self.votes).matter

    @cached_property
    def by_sides(self) -> bool:
        """Whether the choice is another than it would be because annotators prefer a side."""
        sided = self._sided and not self.trials[self._but_for_sides].candidate.by_side
        return bool(sided) and self._few_pairs and prefer_a_side(self.votes)

    @property
    def _few_pairs(self) -> bool:
        return int(self.pair_of_items.max(initial=-1)) + 1 < _MANY_CLUSTERS

    @property
    def _sided(self) -> list[str]:
        """Models of a preference for a side with a lower loss than the choice without one; of annotators if it is."""
        usual = self._but_for_sides
        loss, telling = self.log_loss(usual).value, self.trials[usual].candidate.annotators
        sided = [(name, self.trials[name].candidate) for name in self.choices if self.trials[name].candidate.by_side]
        return [name for name, one in sided if one.annotators >= telling and self.log_loss(name).value < loss]

    @property
    def _telling(self) -> list[str]:
        """Models of annotators with a lower loss than the simplest model."""
        loss = self.log_loss(self.simplest).value
        annotators = [name for name in self.choices if self.trials[name].candidate.annotators]
        return [name for name in annotators if self.log_loss(name).value < loss]

    def _simplest(self, names: Sequence[str]) -> str:
        best = self.best(names)
        found = next(name for name in names if name == best or not self.difference(name, best).low > 0)
        mine, loss = self.trials[found].candidate, self.log_loss(found).value
        units = [name for name in names if self.trials[name].candidate.differs_in_unit(mine)]
        better = [name for name in units if self.log_loss(name).value < loss]
        return better[0] if better and agree_more(self.votes, str(mine.noise)) else found

    @property
    def choices(self) -> list[str]:
        """Models that can be chosen, the simplest first: all but pooled baselines."""
        return [name for name, trial in self.trials.items() if trial.candidate.pooled_baseline_of is None]

    def reliability(self, name: str) -> dict[str, FloatArray]:
        """Return expected and observed shares in ten bins of the probability of the likelier side."""
        proba = self.trials[name].proba
        there = ~np.isnan(proba)
        proba, won, weight = proba[there], self.first_won[there], self.weight[there]
        sure = np.maximum(proba, 1 - proba)
        right = np.where(proba == 0.5, 0.5, (proba > 0.5) == won)
        bins = np.clip(((sure - 0.5) * 2 * N_BINS).astype(np.int64), 0, N_BINS - 1)
        total = np.asarray(np.bincount(bins, weight, N_BINS), dtype=np.float64)
        edges = 0.5 + np.arange(N_BINS + 1) / (2 * N_BINS)

        def mean(values: FloatArray) -> FloatArray:
            sums = np.bincount(bins, weight * values, N_BINS)
            return np.asarray(np.divide(sums, total, out=np.full(N_BINS, np.nan), where=total > 0))

        return {"low": edges[:-1], "high": edges[1:], "votes": total, "expected": mean(sure), "observed": mean(right)}

    def calibration_error(self, name: str) -> float:
        """Return the mean distance between expected and observed shares, over the votes: 0 is perfect."""
        bins = self.reliability(name)
        gap = np.abs(bins["expected"] - bins["observed"])
        return float(np.nansum(gap * bins["votes"]) / bins["votes"].sum())

    def _mean(self, values: FloatArray) -> Estimate:
        """Return the weighted mean and its interval: normal, and with few clusters by Student's distribution.

        The standard error is clustered by pair within a question: its votes may share a truth. To its variance is
        added what the votes of an annotator, and those on two items, in a fold have in common beyond that. The votes
        that are predicted are of the same annotators and items as the votes of the fit. That a model suits some of
        them better is therefore no sampling error; that a fold predicts them all by the same estimates is one.
        """
        there = ~np.isnan(values)
        values, weight = values[there], self.weight[there]
        unit, total = self.unit[there], weight.sum()
        mean = float((weight * values).sum() / total)
        variance = _clustered(unit, weight * (values - mean))
        if not np.isfinite(variance):
            return Estimate(mean, -np.inf, np.inf)
        for source, within, cell in self._estimated:
            variance += _in_common(source[there], within[there], cell[there], values, weight)
        error = _quantile(int(np.count_nonzero(np.bincount(unit)))) * np.sqrt(variance) / total
        return Estimate(mean, float(mean - error), float(mean + error))


def _combined(one: IntArray, other: IntArray) -> IntArray:
    """Return the number of each distinct combination of two codes."""
    codes: IntArray = np.unique(one * (int(other.max(initial=0)) + 1) + other, return_inverse=True)[1]
    return codes


def _in_common(source: IntArray, within: IntArray, cell: IntArray, values: FloatArray, weight: FloatArray) -> float:
    """Return the variance of a sum that its terms have in common within folds, about the mean of each source.

    Terms of the same cell are left out: their dependence is counted already.
    """
    total = np.bincount(source, weight)
    own = np.bincount(source, weight * values) / np.maximum(total, 1e-300)
    apart, means = weight * (values - own[source]), int(np.count_nonzero(total))
    shared = _clustered(within, apart, means) - _clustered(cell, apart, means)
    # With one vote or fold for each source, nothing is known of their dependence.
    return max(shared, 0.0) if np.isfinite(shared) else 0.0


def _quantile(n_clusters: int) -> float:
    """Return how many standard errors an interval reaches: the variance of few clusters is itself uncertain."""
    return _Z if n_clusters >= _MANY_CLUSTERS else float(stdtrit(n_clusters - 1, 0.975))


def _clustered(cluster: IntArray, values: FloatArray, n_means: int = 1) -> float:
    """Return the variance of a sum of terms that are dependent within clusters; infinite for no more than means."""
    sums, size = np.bincount(cluster, values), np.bincount(cluster)
    n_clusters = int(np.count_nonzero(size))
    return n_clusters / (n_clusters - n_means) * float((sums**2).sum()) if n_clusters > n_means else np.inf


def hold_out(
    votes: Comparisons,
    fold: IntArray,
    candidates: Sequence[Candidate],
    features: Any = None,
    progress: Callable[[int, int], None] = lambda done, total: None,
    forward: bool = False,
) -> HeldOut:
    """Fit every candidate to all folds but one, in turn, and predict that one.

    votes: The votes.
    fold: Fold of each folded vote; -1 for those that are never held out.
    candidates: What to fit.
    features: Features, for the candidates that use them.
    progress: Called with the number of finished fits and their total.
    forward: Fit to earlier folds only; the first ones are not predicted.
    """
    found = HeldOut(votes, fold)
    parts = _parts(votes, fold, forward)
    total, done = len(candidates) * len(parts), 0
    for candidate in candidates:
        proba, begin = np.full(int(found.decided.sum()), np.nan), perf_counter()
        tied = np.full(len(fold), np.nan)
        try:
            for train, test, places, votes_there in parts:
                proba[places], tied[votes_there] = _loo_predict(candidate, train, test, features)
                done += 1
                progress(done, total)
        except FeatureError as error:  # it needs features
            found.left_out[candidate.name] = str(error)
            continue
        losses = None if np.isnan(tied).all() else tied
        found.trials[candidate.name] = Trial(candidate, proba, perf_counter() - begin, losses)
    return found


def _parts(
    votes: Comparisons, fold: IntArray, forward: bool = False
) -> list[tuple[Comparisons, Comparisons, IntArray, IntArray]]:
    """Return for each fold the training votes, the test votes, and their indices among the decided and all votes.

    Forward, training votes are those of earlier folds, of which the first few are not predicted.
    """
    counts = decided(votes)
    n_folds = int(fold.max(initial=0)) + 1
    parts = []
    for number in range(_EARLIEST if forward else 0, n_folds):
        out = fold == number
        known = fold < number if forward else ~out
        if not (counts & out).any() or not (counts & known).any():
            continue
        there = np.flatnonzero(out & (votes.vote_weight > 0))
        parts.append((votes.only(known), votes.only(out), np.flatnonzero(out[counts]), there))
    if not parts:
        raise InputError("too few votes to hold any out", "a comparison needs decided votes on several pairs")
    return parts


def _loo_predict(
    candidate: Candidate, train: Comparisons, test: Comparisons, features: Any
) -> tuple[FloatArray, FloatArray | float]:
    """Return the probabilities of the decided votes that were held out, and the loss of each as a tie or not."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", JamrankWarning)
        used = features if candidate.features else None
        model = candidate.make().fit(train, used)
        proba = np.asarray(model.vote_proba(test, used))
        tied = model.result_.predictor.tie(test, used) if test.n_ties or train.n_ties else None
    if tied is None:
        return proba, np.nan
    is_tie = test.vote_result[test.vote_weight > 0] == TIE
    return proba, np.asarray(-np.log(np.clip(np.where(is_tie, tied, 1 - tied), _SUREST, 1.0)))


def frames(found: Mapping[str, HeldOut], make_frame: Callable[[dict[str, Any]], Any]) -> tuple[Any, Any]:
    """Return the losses, and the reliability bins, of all models and splits as frames, best first."""
    table: dict[str, list[Any]] = {}
    bins: dict[str, list[Any]] = {}
    for by, held_out in found.items():
        best = held_out.best()
        for name in sorted(held_out.trials, key=lambda name: round(held_out.log_loss(name).value, 10)):
            for key, value in {"split": by, "model": name, **_figures(held_out, name, best)}.items():
                table.setdefault(key, []).append(value)
            named: dict[str, NDArray[Any]] = {"split": np.full(N_BINS, by), "model": np.full(N_BINS, name)}
            for key, column in (named | held_out.reliability(name)).items():
                bins.setdefault(key, []).extend(column.tolist())
    return tuple(make_frame({key: np.array(column) for key, column in one.items()}) for one in (table, bins))


def _figures(held_out: HeldOut, name: str, best: str) -> dict[str, Any]:
    loss, behind, accuracy = held_out.log_loss(name), held_out.difference(name, best), held_out.accuracy(name)
    trial, tie_loss = held_out.trials[name], held_out.tie_loss(name)
    return {
        "log_loss": loss.value,
        "log_loss_low": loss.low,
        "log_loss_high": loss.high,
        "behind": behind.value,
        "behind_low": behind.low,
        "behind_high": behind.high,
        "accuracy": accuracy.value,
        "accuracy_low": accuracy.low,
        "accuracy_high": accuracy.high,
        **({"tie_loss": np.nan if tie_loss is None else tie_loss} if held_out.votes.n_ties else {}),
        "calibration_error": held_out.calibration_error(name),
        "annotators": trial.candidate.annotators,
        "features": trial.candidate.features,
        "seconds": trial.seconds,
    }
