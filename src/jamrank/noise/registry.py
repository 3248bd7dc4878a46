"""The noises by name: one line each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from jamrank.noise.base import Noise
from jamrank.noise.difficulty import Difficulty
from jamrank.noise.discrimination import Discrimination
from jamrank.noise.flip import Flip
from jamrank.noise.none import NoNoise
from jamrank.noise.two_coin import TwoCoin
from jamrank.registry import Registry
from jamrank.typing import FloatArray

if TYPE_CHECKING:
    from jamrank.fitting.prior import Prior


@dataclass(frozen=True)
class NoiseSpec:
    """A noise in the registry.

    make: Returns the noise for the vote counts of an engine (confusion groups × 2) and a prior, or None without one.
    rows: The layout of the rows that it needs, by the unit that shares a latent truth: ``"{unit}"``,
        ``"{unit}-by-side"``, or a layout of its own, as in :data:`jamrank.rows.rows.ROWS_BY`.
    selectable: Whether it is a value of the parameter ``noise`` of JAM, CrowdBT and DawidSkene.
    flips: Whether it estimates a flip of each annotator.
    in_memory: Whether it needs the passes of the engine ``memory``.
    n_shared: How many parameters all annotators share.
    """

    make: Callable[[FloatArray, Prior | None], Noise]
    rows: str = "{unit}"
    selectable: bool = True
    flips: bool = True
    in_memory: bool = False
    n_shared: int = 0

    def rows_of(self, unit: str) -> str:
        """Return the layout of rows for a unit."""
        return self.rows.format(unit=unit)


def _flip(vote_counts: FloatArray, prior: Prior | None) -> Noise:
    return Flip(vote_counts, *(prior.flip_votes if prior else ()))


def _two_coin(vote_counts: FloatArray, prior: Prior | None) -> Noise:
    return TwoCoin(vote_counts, *((*prior.flip_votes, prior.bias_spread) if prior else ()))


def _difficulty(vote_counts: FloatArray, prior: Prior | None) -> Noise:
    return Difficulty(vote_counts, *(prior.flip_votes if prior else ()))


def _discrimination(vote_counts: FloatArray, prior: Prior | None) -> Noise:
    return Discrimination(vote_counts, prior.discrimination_spread if prior else None)


def _none(vote_counts: FloatArray, prior: Prior | None) -> Noise:
    return NoNoise(len(vote_counts))


NOISES: Registry[NoiseSpec] = Registry(
    "noise",
    {
        "flip": NoiseSpec(_flip),
        "two-coin": NoiseSpec(_two_coin, "{unit}-by-side"),
        "difficulty": NoiseSpec(_difficulty, "{unit}-by-ease", in_memory=True, n_shared=1),
        "discrimination": NoiseSpec(_discrimination, "margin", selectable=False, flips=False),
        "none": NoiseSpec(_none, "side", selectable=False, flips=False),
    },
)
