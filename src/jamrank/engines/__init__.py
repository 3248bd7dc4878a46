"""Where a pass over the votes runs: in memory, on a GPU, from disk, or on a cluster."""

from jamrank.engines.base import Engine, Expectation, Information, Links, Maximisation, PartedEngine
from jamrank.engines.disk import DiskEngine
from jamrank.engines.gpu import GpuEngine, on_gpu
from jamrank.engines.memory import MemoryEngine
from jamrank.engines.registry import ENGINES, Choice, bring, choose, make_engine
from jamrank.engines.tied import TiedEngine

__all__ = [
    "ENGINES",
    "Choice",
    "DiskEngine",
    "Engine",
    "Expectation",
    "GpuEngine",
    "Information",
    "Links",
    "Maximisation",
    "MemoryEngine",
    "PartedEngine",
    "TiedEngine",
    "bring",
    "choose",
    "make_engine",
    "on_gpu",
]
