"""Where a pass over the votes runs: in memory, on a GPU, from disk, or on a cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jamrank.registry import importing

if TYPE_CHECKING:
    from jamrank.engines.base import Choice, Engine, Expectation, Information, Links, Maximisation
    from jamrank.engines.disk import DiskEngine
    from jamrank.engines.gpu import GpuEngine
    from jamrank.engines.graded import GradedEngine
    from jamrank.engines.kind import Kind, Load
    from jamrank.engines.memory import MemoryEngine
    from jamrank.engines.registry import ENGINES, bring, choose, make_engine
    from jamrank.engines.tied import TiedEngine

__all__ = [
    "ENGINES",
    "Choice",
    "DiskEngine",
    "Engine",
    "Expectation",
    "GpuEngine",
    "GradedEngine",
    "Information",
    "Kind",
    "Links",
    "Load",
    "Maximisation",
    "MemoryEngine",
    "TiedEngine",
    "bring",
    "choose",
    "make_engine",
]

if not TYPE_CHECKING:
    __getattr__ = importing(
        __name__,
        {
            "base": "Choice Engine Expectation Information Links Maximisation",
            "disk": "DiskEngine",
            "gpu": "GpuEngine",
            "graded": "GradedEngine",
            "kind": "Kind Load",
            "memory": "MemoryEngine",
            "registry": "ENGINES bring choose make_engine",
            "tied": "TiedEngine",
        },
    )
