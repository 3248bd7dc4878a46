"""One adapter a rival: the same votes in, item scores out.

Importing an adapter imports nothing of its rival, so that what a rival costs is seen where it is measured.
"""

from benchmarks.rivals import arena_rank, choix, crowd_kit, evalica, evaluatorq, jamrank, numpy_jam
from benchmarks.rivals.contender import Contender

__all__ = ["CONTENDERS", "Contender"]

_ADAPTERS = (jamrank, numpy_jam, evalica, choix, crowd_kit, arena_rank, evaluatorq)
CONTENDERS: dict[str, Contender] = {
    contender.name: contender for adapter in _ADAPTERS for contender in adapter.CONTENDERS
}
