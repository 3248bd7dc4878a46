"""Where a pass over the votes runs: in memory, or from disk."""

from jamrank.engines.base import Engine, Expectation, Links, Maximisation
from jamrank.engines.disk import DiskEngine
from jamrank.engines.memory import MemoryEngine
from jamrank.engines.tied import TiedEngine

__all__ = ["DiskEngine", "Engine", "Expectation", "Links", "Maximisation", "MemoryEngine", "TiedEngine"]
