"""Where a pass over the votes runs; so far: in memory."""

from jamrank.engines.base import Engine, Expectation, Links, Maximisation
from jamrank.engines.memory import MemoryEngine

__all__ = ["Engine", "Expectation", "Links", "Maximisation", "MemoryEngine"]
