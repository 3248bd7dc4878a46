"""Comparison of models by their loss on held-out votes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from jamrank.data.color_refinement import decided
from jamrank.data.comparisons import Comparisons
from jamrank.data.duplicates import as_if_included, common_factor, divided
from jamrank.data.storage import DenseVotes
from jamrank.errors import InputError, ParameterError
from jamrank.io.any_votes import votes_in_memory
from jamrank.io.given import VoteSource
from jamrank.io.out_of_core.sampling import sample_pairs
from jamrank.rows import by_one
from jamrank.scorers import align_features
from jamrank.selection.adaptive import CAUTION, FORWARD, looks_adaptive
from jamrank.selection.cross_validation import HeldOut, frames, hold_out
from jamrank.selection.design import FEWEST_TO_COMPARE, examine_design
from jamrank.selection.differing import THEY_DIFFER, differ_in_few
from jamrank.selection.explaining import THEY_EXPLAIN, features_explain
from jamrank.selection.families import NOT_INDEPENDENT, differ_in_taste, try_families
from jamrank.selection.folds import SPLITS, assign_folds, assign_periods
from jamrank.selection.item_agreement import have_own_tastes
from jamrank.selection.siding import THEY_PREFER_A_SIDE
from jamrank.selection.tastes import try_tastes
from jamrank.selection.trials import Estimate
from jamrank.text import in_percent, many
from jamrank.typing import IntArray

_HELD_OUT = {
    "vote": "single held-out votes",
    "pair": "held-out pairs",
    "time": "later votes",
}
_FEWEST = 10


@dataclass(frozen=True)
class Comparison:
    """How well each model predicts held-out votes.

    Attributes
    ----------
    choice : str
        The recommended model, by single held-out votes: the simplest that the one with the lowest loss does
        not beat by two standard errors of the difference, clustered by pair within a question; where annotators
        differ too much to count their votes alike, the simplest of the models of annotators with a lower loss. Unless
        models are named, those among which ``Auto`` chooses go before all others, and of fewer than 100 decided votes
        it is the simplest of all, as ``Auto`` takes.
    sentences : list of str
        The findings, in words.
    table : data frame
        One row per split and model, lowest loss first: split, model, log_loss (nats per vote), behind (how much
        higher than that of the best, on the same votes), accuracy, each with its 95 % interval, tie_loss (of
        predicting which votes are ties, where there are any; NaN for a model without ties), calibration_error,
        annotators and features (whether it uses them), seconds.
    reliability : data frame
        Ten bins for each: split, model, low and high (of the probability of the likelier side), votes, expected and
        observed (share of votes on that side).
    left_out : dict
        Models that could not be compared, and why.
    n_votes, n_compared : int
        Number of folded votes, and how many were used.
    """

    choice: str
    sentences: list[str]
    table: Any
    reliability: Any
    left_out: dict[str, str]
    n_votes: int
    n_compared: int
    held_out: dict[str, HeldOut]

    def difference(self, model: str, than: str, split: str | None = None) -> Estimate:
        """Return the difference in loss of two models on the same votes, in nats per vote.

        Parameters
        ----------
        model, than : str
            Names in the table.
        split : {"vote", "pair", "time"}, optional
            What was held out; by default the first in the table.

        Returns
        -------
        Estimate
            ``value``, ``low`` and ``high``.
        """
        held_out = next(iter(self.held_out.values())) if split is None else self.held_out[split]
        known = held_out.trials
        for name in (model, than):
            if name not in known:
                raise ParameterError(f"{name}: not compared; there are {', '.join(known)}")
        return held_out.difference(model, than)


def compare(
    votes: Comparisons | VoteSource,
    features: Any = None,
    models: Any = None,
    *,
    folds: int = 5,
    splits: Sequence[str] = SPLITS,
    max_votes: int | None = 1_000_000,
    progress: Callable[[str, int, int], None] = lambda what, done, total: None,
) -> Comparison:
    """Compare models by held-out votes.

    Votes are split into folds. Each model is fitted to all folds but one and predicts every decided vote of that one,
    for all folds in turn. The loss of a vote is minus the logarithm of its probability.
    Where every vote occurs an even number of times, as if a file was included twice, it counts once.

    Parameters
    ----------
    votes : Comparisons, path-like, data frame, mapping or list
        The votes, or whatever :func:`jamrank.read_comparisons` reads; in memory.
    features : data frame, mapping or array, optional
        As in :meth:`RankingModel.fit`; models that may use features are tried with and without them.
    models : list of models or names, or dict of models by name, optional
        What to compare; by default every model that can be fitted, FamilyBT and TasteBT only where ``Auto`` would try
        them.
    folds : int
        Number of folds.
    splits : sequence of {"vote", "pair"}
        What is held out together: the votes of one annotator on a pair, while those of others are kept; or all votes
        on a pair within a question.
    max_votes : int, optional
        If there are more votes, about this many are used: those on a sample of the pairs.
    progress : callable, optional
        Called with the current step, the number of finished fits and their total.

    Returns
    -------
    Comparison
    """
    from jamrank.selection.candidates import as_candidates

    _validate(folds, splits)
    votes = votes_in_memory(votes, "compare")
    drawn = votes if max_votes is None else sample_pairs(votes, max_votes)
    times = common_factor(drawn)
    used = divided(drawn, times)
    _refuse_too_few(used)
    if features is not None:
        align_features(features, votes.items)
    design = examine_design(used)
    candidates, left_out = as_candidates(models, features is not None, design)
    if not candidates:
        raise ParameterError("no model to compare; those named need features")
    tastes = models is None and features is None and not used.n_ties and differ_in_taste(used)
    if tastes:
        del left_out["FamilyBT"]
    own_tastes = models is None and features is None and not tastes and have_own_tastes(used)
    if own_tastes:
        del left_out["TasteBT"]
    found: dict[str, HeldOut] = {}
    explained = features is not None and features_explain(used, features)
    by_time = assign_periods(used) if looks_adaptive(used) else None
    if by_time is not None:
        # A vote held out at random would be betrayed by the later pairs of its items.
        found["time"] = hold_out(*by_time, candidates, features, partial(progress, _HELD_OUT["time"]), forward=True)
        splits = ()
    for by in splits:
        written, fold = assign_folds(used, folds, by)
        if by == "vote" and "pair" in splits and _keeps_pairs_together(written, fold):
            continue  # the same folds as those of pairs
        held_out = hold_out(written, fold, candidates, features, partial(progress, _HELD_OUT[by]))
        if not held_out.trials:
            name, why = next(iter(held_out.left_out.items()))
            raise InputError(f"{name} could not be fitted: {why}")
        found[by] = _with_pooled_baseline(held_out, features)
    if tastes:
        found = {by: try_families(held_out, by == "time") for by, held_out in found.items()}
    if own_tastes:
        found = {by: try_tastes(held_out, by == "time") for by, held_out in found.items()}
    found = {by: replace(held_out, explained=explained) for by, held_out in found.items()}
    table, reliability = frames(found, votes.frame)
    leading = next(iter(found.values()))
    few = design.n_decided < FEWEST_TO_COMPARE
    differ = few and models is None and "CrowdBT" in leading.trials and differ_in_few(used, design)
    choice = ("CrowdBT" if differ else leading.choices[0]) if few and models is None else leading.choice()
    return Comparison(
        choice,
        _sentences(found, votes, used, times, few, choice, differ),
        table,
        reliability,
        left_out | {name: why for one in found.values() for name, why in one.left_out.items()},
        votes.n_folded,
        used.n_folded,
        found,
    )


def _validate(folds: Any, splits: Sequence[str]) -> None:
    if not (isinstance(folds, (int, np.integer)) and folds >= 2):
        raise ParameterError(f"folds is {folds!r}; expected a whole number of at least 2")
    for by in splits:
        if by not in SPLITS:
            raise ParameterError(f"split {by!r}; expected 'vote' or 'pair'")
    if not splits:
        raise ParameterError("no split; expected 'vote', 'pair' or both")


def _keeps_pairs_together(votes: Comparisons, fold: IntArray) -> bool:
    """Tell whether all votes of each pair are in one fold, as those of one annotator."""
    if isinstance(votes.storage, DenseVotes):
        return False
    lowest, highest = np.full(votes.n_pairs, fold.max()), np.zeros(votes.n_pairs, fold.dtype)
    np.minimum.at(lowest, votes.vote_pair, fold)
    np.maximum.at(highest, votes.vote_pair, fold)
    return bool((lowest >= highest).all())


def _refuse_too_few(votes: Comparisons) -> None:
    counts = decided(votes)
    found = many(float(votes.vote_weight[counts].sum()), "decided vote")
    if votes.vote_weight[counts].sum() < _FEWEST:
        raise InputError(found, f"a comparison needs at least {_FEWEST}")
    if len(np.unique(votes.vote_pair[counts])) < 2:
        raise InputError(f"{found}, all on one pair", "a comparison needs votes on several pairs")


# -- does it help to model annotators? --------------------------------------------------------------------------


def _with_pooled_baseline(held_out: HeldOut, features: Any) -> HeldOut:
    """Add the pooled baseline of the best model with annotators: the same model with all votes as one annotator's.

    The two differ in nothing else, so their difference is the gain from modelling annotators.
    """
    telling = [name for name, trial in held_out.trials.items() if trial.candidate.annotators]
    if not telling or held_out.votes.n_annotators < 2:
        return held_out
    best = held_out.best(telling)
    candidate = held_out.trials[best].candidate
    twin = replace(candidate, name=f"{best}, annotators pooled", annotators=False, pooled_baseline_of=best)
    alone = hold_out(by_one(held_out.votes), held_out.fold, [twin], features)
    return replace(held_out, trials={**held_out.trials, **alone.trials})


# -- in words ---------------------------------------------------------------------------------------------------


def _sentences(
    found: dict[str, HeldOut],
    votes: Comparisons,
    used: Comparisons,
    times: int,
    few: bool,
    choice: str,
    differ: bool,
) -> list[str]:
    sentences = [] if times == 1 else [f"{as_if_included(times)}: models are compared as if it was included once."]
    sentences += [FORWARD] if "time" in found else [CAUTION] if looks_adaptive(used) else []
    sentences += [sentence for by, held_out in found.items() for sentence in _on_annotators(by, held_out, choice)]
    for by, held_out in found.items():
        sentences += _on_the_best(by, held_out)
    if few:
        cast = many(float(used.annotator_decided.sum()), "decided vote")
        advice = f"But {THEY_DIFFER}: take {choice}." if differ else "Take the simplest."
        sentences.append(f"{cast} are too few to choose a model by: differences may be chance. {advice}")
    else:
        sentences += _on_the_choice(found)
    if used.n_folded < votes.n_folded:
        sentences.append(
            f"Compared on {used.n_folded:,} of {votes.n_folded:,} votes, those on pairs drawn at random."
        )
    if votes.n_ties:
        ties = many(votes.n_ties, "tie vote")
        sentences.append(f"{ties}: losses are those of decided votes; ties are scored separately.")
    return sentences


def _on_the_choice(found: dict[str, HeldOut]) -> list[str]:
    """Say which model is recommended and why, and where another predicts pairs without votes better."""
    by, leading = next(iter(found.items()))
    choice, best = leading.choice(), leading.best()
    if leading.by_tastes:
        why = NOT_INDEPENDENT
    elif leading.by_features:
        why = THEY_EXPLAIN
    elif leading.by_sides:
        why = THEY_PREFER_A_SIDE
    elif leading.by_differences:
        why = THEY_DIFFER
    elif choice != best:
        why = f"on {_HELD_OUT[by]}, {best} is not significantly better"
    else:
        why = f"on {_HELD_OUT[by]}, it has the lowest loss"
    sentences = [f"{choice} is recommended: {why}."]
    unvoted = found.get("pair")
    if unvoted is not None and unvoted is not leading and choice in unvoted.trials:
        better = unvoted.best()
        gap = unvoted.difference(choice, better)
        if gap.low > 0:
            sentences.append(
                f"Pairs without votes are predicted better by {better}, with a loss lower by {_range(gap)}."
            )
    return sentences


def _on_annotators(by: str, held_out: HeldOut, choice: str) -> list[str]:
    """Say whether modelling annotators helps."""
    twins = [
        (name, trial.candidate.pooled_baseline_of)
        for name, trial in held_out.trials.items()
        if trial.candidate.pooled_baseline_of
    ]
    if not twins:
        return []
    ((twin, name),) = twins
    gain = held_out.difference(twin, name)
    where = f"On {_HELD_OUT[by]}, modelling annotators (in {name})"
    here = "to predict pairs without votes" if by == "pair" else "here"
    if gain.low > 0:
        trial = held_out.trials.get(choice)
        plain = trial is not None and not trial.candidate.annotators and held_out.difference(choice, name).low <= 0
        verdict = (
            f", but {choice}, which counts all alike, is not significantly worse" if plain else f": it helps {here}"
        )
        return [f"{where} lowers the loss by {_range(gain)}{verdict}."]
    if gain.high < 0:
        return [f"{where} raises the loss by {_range(_negative(gain))}: it does not help {here}."]
    return [f"{where} changes the loss by {_range(_negative(gain))}: no significant difference."]


def _negative(estimate: Estimate) -> Estimate:
    return Estimate(-estimate.value, -estimate.high, -estimate.low)


def _range(estimate: Estimate) -> str:
    return f"{estimate.value:.4f} nats per vote ({estimate.low:.4f} to {estimate.high:.4f})"


def _on_the_best(by: str, held_out: HeldOut) -> list[str]:
    best = held_out.best()
    loss, accuracy = held_out.log_loss(best), held_out.accuracy(best)
    below = [name for name in held_out.trials if held_out.log_loss(name).value < loss.value]
    aside = " (annotators pooled aside)" if below else ""
    sentences = (
        f"On {_HELD_OUT[by]}, {best} has the lowest loss{aside}: {_range(loss)}, {in_percent(accuracy.value)} correct"
    )
    equals = [name for name in held_out.choices if name != best and held_out.difference(name, best).low <= 0]
    if equals:
        sentences += f"; not significantly worse: {', '.join(equals)}"
    return [f"{sentences}."]
