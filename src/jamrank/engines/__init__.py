"""Where a pass over the votes runs; so far: in memory."""

from jamrank.engines.memory import Expectation, Maximisation, MemoryEngine

__all__ = ["Expectation", "Maximisation", "MemoryEngine"]
