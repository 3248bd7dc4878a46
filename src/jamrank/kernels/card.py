"""The GPU, by way of CuPy: memory on it, and jamrank's own kernels, compiled when they are first used."""

from __future__ import annotations

import pkgutil
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from jamrank.errors import CardError

__all__ = ["Card"]

_WALKS = ("exponentials", "walk", "walk_times", "to_cells", "from_cells")
_NOTHING = np.uint64(0)


class Card:
    """The current device of CuPy.

    Arrays on it are CuPy's; only this class knows.

    Raises
    ------
    CardError
        Where there is no CuPy, no driver or no card.
    """

    def __init__(self) -> None:
        self._cupy = _find_cupy()
        self.name: str = self._cupy.cuda.runtime.getDeviceProperties(self._device.id)["name"].decode()

    @property
    def _device(self) -> Any:
        return self._cupy.cuda.Device()

    @property
    def free_bytes(self) -> int:
        """How much memory is free."""
        free: int = self._device.mem_info[0]
        return free + int(self._cupy.get_default_memory_pool().free_bytes())

    @property
    def shared_bytes(self) -> int:
        """How much memory the threads of a block can share."""
        return int(self._device.attributes["MaxSharedMemoryPerBlockOptin"])

    def put(self, array: NDArray[Any]) -> Any:
        """Copy an array to the card."""
        there = self.empty(len(array), array.dtype)
        there.set(np.ascontiguousarray(array))
        return there

    def empty(self, length: int, dtype: Any) -> Any:
        """Return an array on the card."""
        return self._guarded(lambda: self._cupy.empty(length, dtype))

    def fill(self, array: Any, value: int) -> None:
        """Set every byte of an array."""
        array.data.memset_async(value, array.nbytes, self._cupy.cuda.get_current_stream())

    def narrowed(self, array: Any) -> Any:
        """Return small integers in two bytes."""
        return self._guarded(lambda: array.astype(self._cupy.uint16))

    def read(self, array: Any, out: NDArray[Any] | None = None) -> NDArray[Any]:
        """Copy an array from the card, once what was launched before is done."""
        found: NDArray[Any] = array.get(out=out)
        return found

    def launch(
        self, kernel: str, blocks: int | tuple[int, int], threads: int, *arguments: Any, shared: int = 0
    ) -> None:
        """Start a kernel.

        Parameters
        ----------
        kernel : str
            Its name, with what its template takes.
        blocks, threads : int
        *arguments
            Arrays on the card, whole numbers (64 bits), numbers (double), or None for no array.
        shared : int
            Bytes that a block shares.
        """
        compiled = _compiled(kernel, self._device.id)
        if shared > 48 << 10 and compiled.max_dynamic_shared_size_bytes < shared:
            compiled.max_dynamic_shared_size_bytes = shared
        grid = blocks if isinstance(blocks, tuple) else (blocks,)
        compiled(grid, (threads,), tuple(map(_as_argument, arguments)), shared_mem=shared)

    def _guarded(self, work: Callable[[], Any]) -> Any:
        try:
            return work()
        except self._cupy.cuda.memory.OutOfMemoryError:
            free = self.free_bytes / 1e9
            raise CardError(f"the {self.name} has no room for the votes: {free:.1f} GB are free") from None


def _as_argument(value: Any) -> Any:
    if value is None:
        return _NOTHING
    return np.int64(value) if isinstance(value, int) else value


def _find_cupy() -> Any:
    try:
        import cupy
    except ImportError:
        raise CardError("CuPy is not installed; pip install 'jamrank[gpu]' brings it for CUDA 12") from None
    try:
        found = cupy.cuda.runtime.getDeviceCount()
    except cupy.cuda.runtime.CUDARuntimeError as error:
        raise CardError(f"no GPU can be used ({error})") from None
    if not found:
        raise CardError("there is no GPU")
    return cupy


@cache
def _compiled(kernel: str, device: int) -> Any:
    """Return a kernel for a card. CuPy keeps what was compiled on disk."""
    import cupy

    module = cupy.RawModule(code=source(kernel), options=("-std=c++17",), name_expressions=(kernel,))
    return module.get_function(kernel)


def source(kernel: str) -> str:
    """Return the source that has a kernel."""
    files = ("sums.cu", "walk.cu" if kernel.partition("<")[0] in _WALKS else "rows.cu")
    found = [pkgutil.get_data("jamrank.kernels", f"gpu/{name}") for name in files]
    return "\n".join(text.decode() for text in found if text is not None)
