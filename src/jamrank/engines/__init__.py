"""Where a pass over the votes runs: in memory, or from disk."""

from jamrank.engines.base import Engine, Expectation, Information, Links, Maximisation
from jamrank.engines.disk import DiskEngine
from jamrank.engines.memory import MemoryEngine
from jamrank.engines.tied import TiedEngine

__all__ = [
    "DiskEngine",
    "Engine",
    "Expectation",
    "Information",
    "Links",
    "Maximisation",
    "MemoryEngine",
    "TiedEngine",
]
