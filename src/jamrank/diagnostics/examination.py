"""What the checks look at: the votes, and what several checks need, computed once."""

from __future__ import annotations

import warnings
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from jamrank.data.comparisons import Comparisons
from jamrank.data.duplicates import divided, times_written
from jamrank.data.sides import sides_identified, winner_on_one_side
from jamrank.diagnostics.consistency import SelfConsistency, self_consistency
from jamrank.diagnostics.direction import Direction, direction_of
from jamrank.diagnostics.graph import components, weakly_joined
from jamrank.diagnostics.sides import Sides, sides
from jamrank.diagnostics.sign import differ_from_random, orientation_of
from jamrank.diagnostics.target import TARGET
from jamrank.errors import InputError, JamrankWarning
from jamrank.models import JAM, BradleyTerry, CovariateBT, CrowdBT, RankingModel
from jamrank.rows import PairCounts
from jamrank.selection.agreeing import share_truths
from jamrank.selection.design import examine_design
from jamrank.selection.differing import differences
from jamrank.selection.differing_tastes import taste_differences
from jamrank.selection.item_agreement import have_own_tastes
from jamrank.selection.siding import prefer_a_side
from jamrank.text import safe_text
from jamrank.typing import BoolArray, Int32Array, IntArray

if TYPE_CHECKING:
    from jamrank.inference.result import RankingResult

# An annotator with fewer votes cannot be assessed.
FEW_VOTES = 10
# Probability of differences as large among annotators who are alike, beyond which a quick fit takes them for alike.
_DIFFER = 0.05
# With more items, exact effects of the side take long.
_MOST_BY_SIDE = 200
# Names in a sentence, and in the details.
_MOST_NAMED, MOST_LISTED = 3, 100


class Examination:
    """One data set under examination.

    votes: The votes; those of a file that seems to be included several times once, unless a result is given.
    as_written: The votes, and how many times each seems to be written.
    result: Of a fit to these votes; without it, a quick fit is used where a check needs one.
    target: Share of the pairs of items in the right order to plan votes for.
    """

    def __init__(self, votes: Comparisons, result: RankingResult | None = None, target: float = TARGET) -> None:
        self.as_written, self.times_written = votes, times_written(votes)
        self.quick = result is None
        self.votes = divided(votes, self.times_written) if self.quick else votes
        self.target = target
        self._given = result

    @cached_property
    def n_decided(self) -> float:
        """The number of decided votes, by weight."""
        return float(self.votes.annotator_decided.sum())

    @cached_property
    def pair_counts(self) -> PairCounts:
        """Decided votes for either item of each pair."""
        return PairCounts.decided(self.votes)

    @cached_property
    def component(self) -> Int32Array:
        """The connected component of each item in the graph of decided votes."""
        return components(self.pair_counts)

    @cached_property
    def n_components(self) -> int:
        """The number of connected components."""
        return int(self.component.max(initial=-1)) + 1

    @cached_property
    def no_new_pairs(self) -> bool:
        """Whether every pair of items was compared."""
        n = self.pair_counts.n_items
        return len(self.pair_counts.first) == n * (n - 1) // 2

    @cached_property
    def consistency(self) -> SelfConsistency:
        """How the annotators agree with themselves."""
        return self_consistency(divided(self.as_written, self.times_written))

    @cached_property
    def sides(self) -> Sides:
        """Votes for the left, by annotator."""
        return sides(self.votes)

    @cached_property
    def has_sides(self) -> bool:
        """Whether a preference for a side can be separated from the items."""
        return examine_design(self.votes).sides

    @property
    def winner_on_one_side(self) -> bool:
        """Whether every vote of several annotators is for one side: the file lists the winner there."""
        return self.votes.n_annotators > 1 and winner_on_one_side(self.votes)

    @cached_property
    def one_sided(self) -> BoolArray:
        """Which annotators chose the same side in every vote, where that is not the side of the same items."""
        found = self.sides.one_sided(FEW_VOTES)
        unknown = self.winner_on_one_side or (bool(found.any()) and not sides_identified(self.votes, fixed=True))
        return np.zeros_like(found) if unknown else found

    @cached_property
    def result(self) -> RankingResult | None:
        """The result that was given, or that of a quick fit; None where there is nothing to fit."""
        if self._given is not None or self._by_pair is None:
            return self._given
        if share_truths(self.votes):
            return self._by_pair
        if self._annotators_differ:
            return _quick_fit(CrowdBT(), self.votes)
        one = np.count_nonzero(self.votes.annotator_decided) < 2
        by_side = one and self.votes.n_items <= _MOST_BY_SIDE and prefer_a_side(self.votes)
        return _quick_fit(CovariateBT(noise="none") if by_side else BradleyTerry(), self.votes)

    @cached_property
    def weakly_joined(self) -> IntArray | None:
        """Sizes of the groups of items that only few votes join; None where there is one group, or none join them."""
        return weakly_joined(self.pair_counts) if self.n_components == 1 else None

    @property
    def _annotators_differ(self) -> bool:
        """Whether annotators err differently often; of few votes each, or of two items, that cannot be told."""
        n_annotators = np.count_nonzero(self.votes.annotator_decided)
        many = bool(n_annotators > 1 and self.n_decided >= FEW_VOTES * n_annotators)
        return self.votes.n_items > 2 and many and differences(self.votes).chance < _DIFFER

    @cached_property
    def _by_pair(self) -> RankingResult | None:
        try:
            return _quick_fit(JAM(), self._once)
        except InputError:
            return None

    @cached_property
    def _once(self) -> Comparisons:
        """The votes for tests, of which copies of all of them are no further evidence."""
        return self.votes if self.quick else divided(self.as_written, self.times_written)

    @cached_property
    def direction(self) -> Direction | None:
        """What the votes say of the direction of the ranking; None where there are no others to agree with.

        It is judged by a fit in which repeated votes on a pair show who is right; or by the one that was given,
        unless scores alone fit the votes no better than random ones: the answer must not depend on the model then.
        """
        if np.count_nonzero(self.votes.annotator_decided) < 2:
            return None  # one annotator is taken at the word
        counts = self.pair_counts if self.quick else PairCounts.decided(self._once)
        given = None if self._given is None else orientation_of(self._given)
        if given is not None and not (given.by_gold or given.open or self._uses_features):
            given = given if differ_from_random(counts) else None
        if given is None:
            fitted = self._by_pair or self._given
            if fitted is None:
                return None
            given = orientation_of(fitted)
        return direction_of(self._once, counts, given)

    @property
    def _uses_features(self) -> bool:
        return self._given is not None and self._given.scores.features is not None

    @cached_property
    def tastes_differ(self) -> bool:
        """Whether a quick fit misses that annotators share tastes, or have their own, by the tests of ``Auto``."""
        if not self.quick:
            return False
        return (not self.votes.n_ties and taste_differences(self.votes)) or have_own_tastes(self.votes)

    @property
    def fit_name(self) -> str:
        """Which fit a finding rests on, for its sentence."""
        name = "" if self.result is None else self.result.model
        return f"{'a quick' if self.quick else 'this'} fit of {name}"


def _quick_fit(model: RankingModel, votes: Comparisons) -> RankingResult:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", JamrankWarning)
        quick = {"tol": 1e-3, "max_iter": 100}
        known = model.get_params()
        return model.set_params(**{name: value for name, value in quick.items() if name in known}).fit(votes).result_


def named(ids: NDArray[Any], noun: str) -> str:
    """Return the first few ids with their noun, to begin a sentence."""
    listed = ", ".join(safe_text(label) for label in ids[:_MOST_NAMED])
    if len(ids) == 1:
        return f"{noun.capitalize()} {listed}"
    return f"{len(ids):,} {noun}s ({listed}{', …' if len(ids) > _MOST_NAMED else ''})"


def json_ids(ids: NDArray[Any]) -> list[Any]:
    """Return the first ids as plain Python values."""
    return [label.item() if isinstance(label, np.generic) else label for label in ids[:MOST_LISTED]]
