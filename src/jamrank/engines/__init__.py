"""Where a pass over the votes runs: in memory, on a GPU, or from disk."""

from jamrank.engines.base import Engine, Expectation, Links, Maximisation
from jamrank.engines.disk import DiskEngine
from jamrank.engines.gpu import GpuEngine, on_gpu
from jamrank.engines.memory import MemoryEngine
from jamrank.engines.tied import TiedEngine

__all__ = [
    "DiskEngine",
    "Engine",
    "Expectation",
    "GpuEngine",
    "Links",
    "Maximisation",
    "MemoryEngine",
    "TiedEngine",
    "on_gpu",
]
