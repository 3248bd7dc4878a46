"""Ratings on an ordinal scale, turned into votes: which of two populations ranks above the other, with intervals."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from jamrank.data.comparisons import Comparisons
from jamrank.inference import GroupShare, group_share
from jamrank.models import RankingModel
from jamrank.paper.data import Data
from jamrank.paper.methods import fit_methods
from jamrank.paper.trials import Measurement
from jamrank.typing import BoolArray, FloatArray

ATTRIBUTES = ("expressiveness", "naturalness")
EXPECTED, MEAN = "JAM, mean posterior", "mean rating"
# The paper's sizes; two of the raters are reliable and three nearly random.
_FIRST, _SECOND = 40, 65
_RATER_NOISE = (0.3, 0.5, 3.0, 4.0, 5.0)
_N_FEATURES, _EXPLAINED = 8, 0.5
_STEPS = (-1.0, -0.3, 0.3, 1.0)


def population_shares(
    votes: Comparisons, fits: Mapping[str, RankingModel], member: BoolArray
) -> dict[str, GroupShare]:
    """Return, for each fitted model, how often items of the first population rank above those of the second.

    votes: As :meth:`Comparisons.from_ratings` makes them, or any others.
    fits: Models fitted to them.
    member: True for the items of the first population, in the order of ``votes.items``.
    Returns: The share among pairs between the populations that were voted on, with a 95 % bootstrap interval over
        items: of pairs decided for the first population; for JAM also the mean posterior.
    """
    shares = {name: _share(votes, _decided(fit.posterior_ - 0.5), member) for name, fit in fits.items()}
    return shares | {EXPECTED: _share(votes, fits["JAM"].posterior_, member)}


def _decided(margin: FloatArray) -> FloatArray:
    return (1 + np.sign(margin)) / 2


def _share(votes: Comparisons, verdict: FloatArray, member: BoolArray) -> GroupShare:
    return group_share(votes.pair_first, votes.pair_second, verdict, member)


def _share_by(values: FloatArray, votes: Comparisons, member: BoolArray) -> GroupShare:
    """Return the share when items are ordered by given values."""
    return _share(votes, _decided(values[votes.pair_first] - values[votes.pair_second]), member)


def simulate_ratings(effect: float, rng: np.random.Generator) -> tuple[FloatArray, FloatArray, FloatArray, BoolArray]:
    """Draw two populations, features of their items, and ratings from 0 to 4 by five raters.

    effect: Chance that an item of the first population is truly above one of the second.
    Returns quality (truth, normal in each population), features, of shape (items, 8) (explain half of the variance of
        the quality), ratings, of shape (items, raters), member (true for the first population).
    """
    from scipy.stats import norm

    n_items = _FIRST + _SECOND
    member = np.arange(n_items) < _FIRST
    quality = rng.standard_normal(n_items) + np.sqrt(2) * norm.ppf(effect) * member
    features = rng.standard_normal((n_items, _N_FEATURES))
    standard = (quality - quality.mean()) / quality.std()
    features[:, 0] = np.sqrt(_EXPLAINED) * standard + np.sqrt(1 - _EXPLAINED) * features[:, 0]
    # A rotation mixes the relevant feature with the others.
    features = features @ np.linalg.qr(rng.standard_normal((_N_FEATURES, _N_FEATURES)))[0]
    noise = np.array(_RATER_NOISE)
    seen = (quality[:, None] + noise * rng.standard_normal((n_items, len(noise)))) / np.sqrt(1 + noise**2)
    ratings = np.digitize(seen + 0.3 * rng.standard_normal(len(noise)), _STEPS).astype(np.float64)
    return quality, features, ratings, member


@dataclass(frozen=True)
class SimulatedTrial:
    """Ten simulations of ratings with a known effect."""

    seed: int
    effect: float
    n_simulations: int = 10
    files: ClassVar[tuple[str, ...]] = ()

    @property
    def cost(self) -> float:
        """About how many seconds it takes."""
        return 0.15 * self.n_simulations

    def run(self, data: Data) -> list[Measurement]:
        """Draw ratings, turn them into votes, and measure what each method makes of the populations."""
        found = []
        for simulation in range(self.n_simulations):
            rng = np.random.default_rng([self.seed, simulation])
            quality, features, ratings, member = simulate_ratings(self.effect, rng)
            item, rater = np.indices(ratings.shape)
            votes = Comparisons.from_ratings(item.ravel(), rater.ravel(), ratings.ravel())
            shares = population_shares(votes, fit_methods(votes, features), member)
            shares[MEAN] = _share_by(ratings.mean(axis=1), votes, member)
            shares["truth"] = _share_by(quality, votes, member)
            for model, share in shares.items():
                found += _as_measured(model, share, f"simulation={simulation}")
        return found


@dataclass(frozen=True)
class SpeakersTrial:
    """Ratings of 300 speakers by 114 listeners: how often women rank above men.

    attribute: ``"expressiveness"`` (the slider from unemotional to emotional) or ``"naturalness"`` (from artificial
        to genuine).
    """

    attribute: str
    seed: int = 0
    files: ClassVar[tuple[str, ...]] = (
        "SC_ratings.csv",
        "eGeMAPSv01a_88_femalespk.csv",
        "eGeMAPSv01a_88_malespk.csv",
    )

    @property
    def cost(self) -> float:
        """About how many seconds it takes."""
        return 4.0

    def run(self, data: Data) -> list[Measurement]:
        """Bin the sliders to 0–4, turn ratings into votes, and compare women with men."""
        speakers = data.speakers()
        slider = speakers.ratings["emotional" if self.attribute == ATTRIBUTES[0] else "aufgesetzt"]
        rising = slider if self.attribute == ATTRIBUTES[0] else 100 - slider
        rating = np.minimum(rising // 20, 4)
        votes = Comparisons.from_ratings(speakers.item, speakers.rater, rating)
        place = np.searchsorted(speakers.items, votes.items)
        features, female = speakers.features[place], speakers.female[place]
        fits = fit_methods(votes, features)
        shares = population_shares(votes, fits, female)
        item = np.searchsorted(votes.items, speakers.item)
        shares[MEAN] = _share_by(np.bincount(item, rating) / np.bincount(item), votes, female)
        found = [
            Measurement("data", "votes", "", votes.n_votes),
            Measurement("data", "pairs", "", shares[MEAN].n_pairs),
            Measurement("data", "ties", "", 100 * votes.n_ties / votes.n_votes),
            Measurement("JAM", "median flip", "", float(np.median(fits["JAM"].flip_))),
        ]
        for model, share in shares.items():
            found += _as_measured(model, share, "")
        return found


def _as_measured(model: str, share: GroupShare, setting: str) -> list[Measurement]:
    values = {"share": share.share, "low": share.low, "high": share.high}
    return [Measurement(model, metric, setting, 100 * value) for metric, value in values.items()]
