"""Annotators with correlated votes: families, camps, copies, own tastes, and effects of covariates."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from jamrank.errors import ParameterError
from jamrank.typing import FloatArray, IntArray

_COLUMNS = ("annotator", "left", "right", "winner", "grade", "p_left")


@dataclass(frozen=True)
class Effect:
    """The effect of a covariate on votes.

    Attributes
    ----------
    common : float
        Log-odds towards the left item for one unit of the covariate, of all annotators.
    sd : float
        Standard deviation of what each annotator adds to it.
    of_items : bool
        Whether the covariate is a difference of constants of the two items; otherwise it is drawn for each vote.
    item_sd : float
        Standard deviation of constants of the items, whose difference is added to a covariate drawn for each vote: of
        lengths that vary by question, and are larger for some items.
    own : tuple of float
        What single annotators add, the first ones in this order.
    """

    common: float = 0.0
    sd: float = 0.0
    of_items: bool = False
    item_sd: float = 0.0
    own: tuple[float, ...] = ()

    def draw(self, n_annotators: int, rng: np.random.Generator) -> FloatArray:
        """Draw the coefficient of each annotator."""
        found = self.common + self.sd * rng.standard_normal(n_annotators)
        found[: len(self.own)] += self.own
        return found

    def covariate(self, left: IntArray, right: IntArray, n_items: int, rng: np.random.Generator) -> FloatArray:
        """Draw the covariate of each vote."""
        constant = rng.standard_normal(n_items)
        apart = constant[left] - constant[right]
        return apart if self.of_items else rng.standard_normal(len(left)) + self.item_sd * apart


@dataclass(frozen=True)
class Tastes:
    """How annotators' own scores of the items differ from the common ones.

    The first annotators are the members of the families or camps, in this order; the rest have no family.

    Attributes
    ----------
    families : tuple of int
        Size of each family. Members share an effect on each item, normal with deviation ``family_sd``.
    family_sd, own_sd : float
        Deviation of that effect, and of an effect on each item that is an annotator's own.
    camps : tuple of int
        Size of each camp. The first has the common scores; the scores of every other one are drawn separately,
        correlated with the common ones by ``camp_correlation``.
    camp_correlation : float
        -1 for opposite tastes, 0 for unrelated ones.
    copies : int
        Number of annotators, the last ones, who cast identical votes.
    same_pairs : int
        If above 0, all annotators vote once on this number of common pairs, which determines the number of votes.
    effects : mapping of str to Effect
        Covariates of the votes, by name.
    """

    families: tuple[int, ...] = ()
    family_sd: float = 0.8
    own_sd: float = 0.0
    camps: tuple[int, ...] = ()
    camp_correlation: float = 0.0
    copies: int = 0
    same_pairs: int = 0
    effects: Mapping[str, Effect] = field(default_factory=dict)

    def check(self, n_annotators: int) -> None:
        """Raise an error where there are not so many annotators, or a number is out of range."""
        for name in ("families", "camps"):
            sizes = getattr(self, name)
            if any(size < 1 for size in sizes) or sum(sizes) > n_annotators:
                raise ParameterError(f"{name} {sizes} among {n_annotators} annotators; expected sizes that fit")
        if self.families and self.camps:
            raise ParameterError("both families and camps are given; expected only one of them")
        if not 0 <= self.copies <= n_annotators:
            raise ParameterError(f"copies is {self.copies}; there are {n_annotators} annotators")
        if not (self.family_sd >= 0 and self.own_sd >= 0):
            raise ParameterError("family_sd and own_sd are deviations; expected numbers of at least 0")
        if not -1 <= self.camp_correlation <= 1:
            raise ParameterError(f"camp_correlation is {self.camp_correlation!r}; expected -1 to 1")
        for name, effect in self.effects.items():
            if name in _COLUMNS:
                raise ParameterError(
                    f"a covariate is named {name!r}, as a column of every vote is; choose another name"
                )
            if not np.isfinite([effect.common, effect.sd, effect.item_sd, *effect.own]).all():
                raise ParameterError(f"the effect of {name} is not finite; expected numbers")
            if len(effect.own) > n_annotators:
                raise ParameterError(f"the effect of {name} names {len(effect.own)} of {n_annotators} annotators")

    def draw(self, scores: FloatArray, n_annotators: int, spread: float, rng: np.random.Generator) -> DrawnTastes:
        """Draw the scores by which each annotator votes."""
        n_items = len(scores)
        sizes = self.families or self.camps
        family = np.full(n_annotators, -1, dtype=np.int64)
        family[: sum(sizes)] = np.repeat(np.arange(len(sizes)), sizes)
        own = np.tile(scores, (n_annotators, 1))
        for g in range(len(sizes)):
            drawn = rng.standard_normal(n_items)
            if self.families:
                own[family == g] += self.family_sd * drawn
            elif g > 0:
                r = self.camp_correlation
                own[family == g] = r * scores + np.sqrt(1 - r**2) * spread * drawn
        own += self.own_sd * rng.standard_normal((n_annotators, n_items))
        shared = [effect.draw(n_annotators, rng) for effect in self.effects.values()]
        effects = np.stack(shared, axis=1) if shared else np.empty((n_annotators, 0))
        if self.copies > 1:
            first = n_annotators - self.copies
            own[first:], effects[first:] = own[first], effects[first]
        return DrawnTastes(own, family, effects)

    def design(
        self, n_items: int, n_annotators: int, rng: np.random.Generator
    ) -> tuple[IntArray, IntArray, IntArray]:
        """Return left, right and annotator of each vote, where all annotators vote on the same pairs."""
        first, second = np.triu_indices(n_items, 1)
        if self.same_pairs > len(first):
            raise ParameterError(f"same_pairs is {self.same_pairs}; {n_items} items have {len(first)} pairs")
        chosen = rng.permutation(len(first))[: self.same_pairs]
        turned = rng.random(self.same_pairs) < 0.5
        left, right = np.where(turned, second[chosen], first[chosen]), np.where(turned, first[chosen], second[chosen])
        who = np.repeat(np.arange(n_annotators), self.same_pairs)
        return np.tile(left, n_annotators), np.tile(right, n_annotators), who

    def covariates(self, left: IntArray, right: IntArray, n_items: int, rng: np.random.Generator) -> FloatArray:
        """Draw the covariates of each vote, one column each."""
        columns = [effect.covariate(left, right, n_items, rng) for effect in self.effects.values()]
        return np.stack(columns, axis=1) if columns else np.empty((len(left), 0))


@dataclass(frozen=True)
class DrawnTastes:
    """What was drawn.

    scores, of shape (annotators, items): The scores by which each annotator votes.
    family: Number of each annotator's family or camp; -1 for none.
    effects, of shape (annotators, covariates).
    """

    scores: FloatArray
    family: IntArray
    effects: FloatArray
