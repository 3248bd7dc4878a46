"""The annotators of a result: flips, intervals, response bias, error correlations, verdicts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np

from jamrank.data.ids import names_annotators
from jamrank.data.sides import sides_identified
from jamrank.fitting.latent_fit import LatentFit
from jamrank.inference.agreement import Agreement, ordered_agreement
from jamrank.inference.error_correlation import Links, correlated
from jamrank.inference.orientation import Orientation, orientation
from jamrank.inference.prediction import LinkPredictor
from jamrank.inference.response_bias import ResponseBias, VoteChunk, habits, shown_both_ways
from jamrank.inference.same_votes import SameVotes, among, same_votes
from jamrank.inference.verdicts import (
    Verdicts,
    flip_intervals,
    inner_flip,
    judge,
    judge_relative,
    leaning,
    name_copies,
    name_nobody,
    name_on_one_pair,
    name_opposed,
    name_same_votes,
)
from jamrank.inference.vote_summary import VoteSummary, whole_numbers
from jamrank.typing import BoolArray, FloatArray

USUAL_LEVEL = 0.95
# Intervals of flips are withheld where annotators are worth less than this share of their number.
_INDEPENDENT = 0.975
CORRELATED = "The errors of the annotators are correlated: intervals of flips are withheld."
UNDECIDED = "Annotators with the same votes may not be independent: intervals of flips are withheld."


class AnnotatorFit:
    """Counted flips: the share of each annotator's votes against the scores.

    flip: Of each annotator; by annotator and cluster where flips differ between clusters. Or a fit that has it.
    predictor: Predicts the truths with which votes are compared.
    traits: Other estimates for each annotator, by name: ``bias``, ``side_flip``, ``tie``, ``discrimination``.
    """

    # Traits that only some noises have.
    bias_interval: FloatArray | None = None
    tie_interval: FloatArray | None = None
    discrimination_interval: FloatArray | None = None
    cluster_interval: FloatArray | None = None

    saved: tuple[str, ...] = (
        "flip_information",
        "flip_range",
        "response_sums",
        "link_rows",
        "effective_judges",
        "same_rows",
    )

    def __init__(
        self,
        votes: VoteSummary,
        flip: FloatArray | LatentFit,
        predictor: LinkPredictor,
        traits: dict[str, FloatArray] | None = None,
    ) -> None:
        self.votes, self.predictor = votes, predictor
        self.traits = {} if traits is None else traits
        if len(votes.copy_of):
            self.traits = {name: self._shown(value) for name, value in self.traits.items()}
        self._flip = flip

    @cached_property
    def flip(self) -> FloatArray:
        """Flip of each annotator; by annotator and cluster where flips differ between clusters."""
        return self._shown(self._flip.flip if isinstance(self._flip, LatentFit) else self._flip)

    @cached_property
    def overall(self) -> FloatArray:
        """One flip for each annotator, where ``flip`` has several."""
        return self._shown(self._flip.overall_flip) if isinstance(self._flip, LatentFit) else self.flip

    def _shown(self, values: FloatArray) -> FloatArray:
        """Return values as they are shown: of copies, who have no votes here, those of the annotator they copy."""
        return values[self.votes.stands_for] if len(self.votes.copy_of) else values

    @property
    def counted(self) -> bool:
        """Whether flips are shares of votes against the scores, not estimates of a model of annotators."""
        return True

    @property
    def level_known(self) -> bool:
        """Whether the votes tell how high flips are, and not only which are higher."""
        return True

    @property
    def flip_known(self) -> bool:
        """Whether votes tell of errors: a single annotator's agree with scores of their own, whatever the errors."""
        return len(self.overall) > 1 or self.votes.gold is not None

    @property
    def allows_for_correlation(self) -> bool:
        """Whether the model allows for annotators who err together."""
        return False

    @cached_property
    def why_withheld(self) -> str:
        """Why intervals of flips are withheld, in a sentence; empty where they are not."""
        if self.effective_judges is None:
            return ""
        n = float(np.count_nonzero(self.votes.decided_votes > 0))
        worth = n if self.allows_for_correlation else self.effective_judges
        if worth < _INDEPENDENT * n:
            return CORRELATED
        copied = sum(len(group.annotators) - 1 for group in self.same_votes)
        return UNDECIDED if worth - copied < _INDEPENDENT * n else ""

    def trait(self, name: str) -> FloatArray | None:
        """Return a trait of each annotator; None if the noise does not have it."""
        return self.traits.get(name)

    # -- flips ------------------------------------------------------------------------------------------------

    @cached_property
    def flip_information(self) -> FloatArray:
        """Information on the logit of each annotator's overall flip, here the complete-data information."""
        decided = self.votes.decided_votes
        flip = inner_flip(self.overall, decided)
        return np.asarray(decided * flip * (1 - flip))

    def flip_bounds(self, level: float) -> tuple[FloatArray, FloatArray]:
        """Return an interval of each annotator's overall flip."""
        low, high = self.flip_range if level == USUAL_LEVEL else self._shown_bounds(level)
        return low, high

    def _bounds(self, level: float) -> tuple[FloatArray, FloatArray]:
        return flip_intervals(self.overall, self.flip_information, self.votes.decided_votes, level)

    @cached_property
    def flip_range(self) -> FloatArray:
        """The 95 % interval of each annotator's overall flip: low and high."""
        return self._shown_bounds(USUAL_LEVEL)

    def _shown_bounds(self, level: float) -> FloatArray:
        return np.stack(self._bounds(level))[:, self.votes.stands_for]

    # -- sides, ties, correlation -----------------------------------------------------------------------------

    @cached_property
    def response_sums(self) -> FloatArray:
        """Sums over sides and ties, as in :class:`ResponseBias`; empty for votes on disk."""
        self.votes.require()
        votes = self.votes.in_memory
        if votes is None:
            return np.empty((0, 0))
        found = habits(votes, self._chance() if votes.n_ties else None, self._truth_of_votes, self.overall)
        if leaning(found).any() and not sides_identified(votes, fixed=True):
            # A preference for a side cannot be separated from one for the items on it.
            found.left[:] = found.expected_left
        return np.column_stack([found.sums, shown_both_ways(votes, leaning(found))])

    @property
    def response_bias(self) -> ResponseBias | None:
        """How annotators treat sides and ties; None for votes on disk."""
        return ResponseBias(self.response_sums) if len(self.response_sums) else None

    def _chance(self) -> FloatArray:
        """Return the prior probability that the first item of each pair is better; here unknown."""
        return np.full(len(self.votes.pairs.first), 0.5)

    def _truth_of_votes(self, chunk: VoteChunk) -> FloatArray:
        """Return for each vote the probability that the first item is better, with which flips are counted."""
        return np.heaviside(self.predictor.posterior[chunk.pair] - 0.5, 0.5)

    @cached_property
    def _links(self) -> Links | None:
        self.votes.require()
        votes = self.votes.in_memory
        return None if votes is None else correlated(votes, self.overall)

    @cached_property
    def effective_judges(self) -> float | None:
        """How many independent annotators the annotators are worth; None for votes on disk."""
        return None if self._links is None else self._links.effective_judges

    def agreement(self, most: int) -> Agreement | None:
        """Return who agrees with whom; None for votes on disk, and where no two annotators have pairs in common."""
        return None if self._links is None else ordered_agreement(self._links.couples, most)

    @cached_property
    def link_rows(self) -> FloatArray:
        """Annotator pairs with correlated errors, as rows of numbers."""
        found = np.empty((0, 6)) if self._links is None else self._links.to_array()
        return np.concatenate([self._copies(), found])

    @cached_property
    def same_rows(self) -> FloatArray:
        """Annotators with the same votes, as rows: group, annotator, common pairs."""
        votes = self.votes.in_memory
        if self._links is None or votes is None:
            return np.empty((0, 3))
        found = same_votes(votes, self._links.couples)
        rows = [(g, k, group.pairs) for g, group in enumerate(found) for k in group.annotators.tolist()]
        return np.array(rows, dtype=np.float64).reshape(-1, 3)

    @cached_property
    def same_votes(self) -> list[SameVotes]:
        """Annotators with the same votes, of whom neither copying nor independence can be excluded.

        Not those whose errors are known to be correlated.
        """
        if self.votes.source is None and "same_rows" not in vars(self):
            return []
        linked = {frozenset(couple) for couple in self.link_rows[:, :2].astype(np.int64).tolist()}
        rows = self.same_rows
        groups = [rows[rows[:, 0] == g] for g in np.unique(rows[:, 0])]
        found = [SameVotes(own[:, 1].astype(np.int64), int(own[0, 2])) for own in groups]
        return [
            group
            for group in found
            if any(frozenset(couple) not in linked for couple in combinations(group.annotators.tolist(), 2))
        ]

    def _copies(self) -> FloatArray:
        """Return every two copies of one annotator, and the annotator, as such rows: they agree on everything."""
        copy_of = self.votes.copy_of
        groups = [[of, *np.flatnonzero(copy_of == of)] for of in np.unique(copy_of[copy_of >= 0])]
        couples = [couple for group in groups for couple in combinations(group, 2)]
        first, copies = np.array(couples, dtype=np.int64).reshape(-1, 2).T
        pairs, skill = self.votes.decided_votes[self.votes.stands_for[first]], 1 - 2 * self.overall[first]
        return np.stack([first, copies, pairs, pairs, pairs * (1 + skill**2) / 2, np.ones(len(first))], axis=1)

    # -- frames -----------------------------------------------------------------------------------------------

    @cached_property
    def orientation(self) -> Orientation:
        """How the votes agree with the scores, and whether that determines the direction of the ranking."""
        found = orientation(self.overall, self.flip_information, self.votes.decided_votes)
        return replace(found, by_gold=self.votes.gold is not None)

    def open_without(self, left_out: BoolArray) -> bool:
        """Tell whether annotators balance each other only once some are left out."""
        decided = np.where(left_out, 0.0, self.votes.decided_votes)
        rest = orientation(self.overall, self.flip_information, decided)
        return not self.orientation.open and replace(rest, by_gold=self.votes.gold is not None).open

    @property
    def corrects_sides(self) -> bool:
        """Whether the model has a preference for a side of each annotator, so that it does not bias the scores."""
        return self.trait("bias") is not None

    @cached_property
    def verdicts(self) -> Verdicts:
        """The verdict on each annotator, with evidence and action."""
        low, high = self.flip_range
        shown, corrected = np.full(len(low), not self.why_withheld), self.corrects_sides
        shown &= ~among(self.same_votes, len(shown))
        if self.level_known:
            found = judge(self.overall, low, high, self.response_bias, shown=shown, corrected=corrected)
        else:
            found = judge_relative(self.overall, low, high, self.response_bias, corrected=corrected)
            found = name_on_one_pair(found) if len(self.votes.items) == 2 else found
        found = name_same_votes(self.amend(found), self.votes.annotators, self.same_votes)
        if self.orientation.open:
            found = name_opposed(found)
        if not names_annotators(self.votes.annotators):
            return name_nobody(found)
        return name_copies(found, self.votes.annotators, self.votes.copy_of)

    def amend(self, found: Verdicts) -> Verdicts:
        """Return verdicts with what the model of the ranking knows beside flips, sides and ties; here nothing."""
        return found

    def frame(self, more: Mapping[str, FloatArray] | None = None) -> Any:
        """Return the annotators as a frame: counts, flip, verdict, traits of the noise, and more columns."""
        verdicts = self.verdicts
        return self.votes.frame(
            {
                "annotator": self.votes.annotators,
                "votes": whole_numbers(self.votes.annotator_votes[self.votes.stands_for]),
                **self._flip_columns(USUAL_LEVEL),
                "verdict": np.array(verdicts.verdict, dtype=object),
                "evidence": np.array(verdicts.evidence, dtype=object),
                "action": np.array(verdicts.action, dtype=object),
                **self.trait_columns(),
                **(more or {}),
            }
        )

    def intervals_frame(self, level: float) -> Any:
        """Return flips with their intervals as a frame."""
        return self.votes.frame({"annotator": self.votes.annotators, **self._flip_columns(level)})

    def _flip_columns(self, level: float) -> dict[str, Any]:
        """Return flips with their intervals, which are missing where they would not hold.

        So it is where only the prior tells how high flips are, and where annotators err together. The flip of a
        single annotator is missing, too, unless features or pairs of known truth tell of it.
        """
        told = np.full(len(self.overall), self.flip_known)
        known = told & (self.level_known and not self.why_withheld) & ~among(self.same_votes, len(told))
        low, high = (self.votes.with_gaps(bound, known) for bound in self.flip_bounds(level))
        return {"flip": self.votes.with_gaps(self.overall, told), "flip_low": low, "flip_high": high}

    def correlated_frame(self) -> Any:
        """Return annotators with correlated errors as a frame, highest correlation first."""
        first, second, common, agreed, expected, correlation = self.link_rows.reshape(-1, 6).T
        names = self.votes.annotators
        return self.votes.frame(
            {
                "first": names[first.astype(np.int64)],
                "second": names[second.astype(np.int64)],
                "pairs": whole_numbers(common),
                "agreed": whole_numbers(agreed),
                "expected": expected,
                "correlation": correlation,
            }
        )

    def trait_columns(self) -> dict[str, FloatArray]:
        """Return what is estimated of each annotator besides the flip, with intervals, as columns."""
        columns: dict[str, FloatArray] = {}
        for name, value in self.traits.items():
            if value.ndim > 1:
                continue
            columns[name] = value
            reach = getattr(self, f"{name}_interval", None)
            if reach is not None:
                columns |= {f"{name}_low": reach[:, 0], f"{name}_high": reach[:, 1]}
        return columns
