"""How annotators distort the truth: each noise is one small file."""

from jamrank.noise.base import HasInformation, Noise
from jamrank.noise.clustered import ClusteredFlip
from jamrank.noise.discrimination import Discrimination
from jamrank.noise.flip import Flip
from jamrank.noise.none import NoNoise
from jamrank.noise.ties import Tied
from jamrank.noise.two_coin import TwoCoin

__all__ = ["ClusteredFlip", "Discrimination", "Flip", "HasInformation", "NoNoise", "Noise", "Tied", "TwoCoin"]
