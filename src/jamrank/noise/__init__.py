"""How votes arise from the truth: each noise is one file and one line in the registry."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jamrank.registry import importing

if TYPE_CHECKING:
    from jamrank.noise.base import Noise
    from jamrank.noise.clustered import ClusteredFlip
    from jamrank.noise.difficulty import Difficulty
    from jamrank.noise.discrimination import Discrimination
    from jamrank.noise.flip import Flip
    from jamrank.noise.grades import Graded
    from jamrank.noise.none import NoNoise
    from jamrank.noise.registry import NOISES, NoiseSpec
    from jamrank.noise.ties import Tied
    from jamrank.noise.two_coin import TwoCoin

__all__ = [
    "NOISES",
    "ClusteredFlip",
    "Difficulty",
    "Discrimination",
    "Flip",
    "Graded",
    "NoNoise",
    "Noise",
    "NoiseSpec",
    "Tied",
    "TwoCoin",
]

if not TYPE_CHECKING:
    __getattr__ = importing(
        __name__,
        {
            "base": "Noise",
            "clustered": "ClusteredFlip",
            "difficulty": "Difficulty",
            "discrimination": "Discrimination",
            "flip": "Flip",
            "grades": "Graded",
            "none": "NoNoise",
            "registry": "NOISES NoiseSpec",
            "ties": "Tied",
            "two_coin": "TwoCoin",
        },
    )
