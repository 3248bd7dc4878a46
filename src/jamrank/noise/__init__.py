"""How annotators distort the truth: each noise is one small file."""

from jamrank.noise.base import Measured, Noise
from jamrank.noise.clustered import ClusteredFlip
from jamrank.noise.flip import Flip
from jamrank.noise.none import NoNoise

__all__ = ["ClusteredFlip", "Flip", "Measured", "NoNoise", "Noise"]
