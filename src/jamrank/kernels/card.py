"""The GPU, by way of CuPy: memory on it, and jamrank's own kernels, compiled when they are first used."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from jamrank.errors import CardError
from jamrank.kernels import default_threads

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

__all__ = ["GpuDevice", "gpu_available"]

_WALKS = ("exponentials", "walk", "walk_times", "to_cells", "from_cells")
_NOTHING, _MOST_SHARED_UNASKED = np.uint64(0), 48 << 10
# Arrays of more bytes than a piece are copied piece by piece, through memory that does not move, by threads: where a
# copy goes is often memory that was not touched before, and to touch it takes longer than to copy.
_PIECE, _PIECES = 1 << 22, 16


class GpuDevice:
    """The current device of CuPy.

    Arrays on it are CuPy's; only this class knows.

    Raises
    ------
    CardError
        Where there is no CuPy, no driver or no card.
    """

    def __init__(self) -> None:
        self._cupy = _find_cupy()
        self._device = self._cupy.cuda.Device()
        self._kernels: dict[str, Any] = {}

    @cached_property
    def name(self) -> str:
        """What the card is called."""
        found: bytes = self._cupy.cuda.runtime.getDeviceProperties(self._device.id)["name"]
        return found.decode()

    @property
    def free_bytes(self) -> int:
        """How much memory is free."""
        free: int = self._device.mem_info[0]
        return free + int(self._cupy.get_default_memory_pool().free_bytes())

    @property
    def shared_bytes(self) -> int:
        """How much memory the threads of a block can share."""
        runtime = self._cupy.cuda.runtime
        return int(runtime.deviceGetAttribute(runtime.cudaDevAttrMaxSharedMemoryPerBlockOptin, self._device.id))

    def put(self, array: NDArray[Any]) -> Any:
        """Copy an array to the card."""
        there, array = self.empty(len(array), array.dtype), np.ascontiguousarray(array)
        if array.nbytes <= _PIECE:
            there.set(array)
            return there
        stream = self._cupy.cuda.get_current_stream()
        events: dict[int, Any] = {}
        for turn in _turns(array):
            copies = []
            for slot, own in enumerate(turn):
                if slot in events:
                    events[slot].synchronize()
                copies.append(_helpers(default_threads()).submit(np.copyto, _piece(slot, array, own), array[own]))
            for slot, own in enumerate(turn):
                copies[slot].result()
                piece = _piece(slot, array, own)
                there[own].data.copy_from_host_async(piece.ctypes.data, piece.nbytes, stream)
                events[slot] = stream.record()
        stream.synchronize()
        return there

    def fixed(self, length: int, dtype: Any) -> NDArray[Any]:
        """Return an array in memory that does not move: what :meth:`send` and :meth:`fetch` copy."""
        import cupyx

        found: NDArray[Any] = cupyx.empty_pinned(length, dtype)
        return found

    def send(self, array: NDArray[Any], there: Any) -> None:
        """Start to copy an array that does not move to the card; it must not change until something is fetched."""
        there.data.copy_from_host_async(array.ctypes.data, array.nbytes)

    def fetch(self, there: Any, array: NDArray[Any]) -> None:
        """Copy from the card to an array that does not move, once what was launched before is done."""
        stream = self._cupy.cuda.get_current_stream()
        there.data.copy_to_host_async(array.ctypes.data, array.nbytes, stream)
        stream.synchronize()

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
        if out is None or array.nbytes <= _PIECE:
            found: NDArray[Any] = array.get(out=out)
            return found
        stream = self._cupy.cuda.get_current_stream()
        waiting: list[Any] = []
        for turn in _turns(out):
            for copied in waiting:
                copied.result()
            waiting = []
            for slot, own in enumerate(turn):
                piece = _piece(slot, out, own)
                array[own].data.copy_to_host_async(piece.ctypes.data, piece.nbytes, stream)
                waiting.append(_helpers(default_threads()).submit(_hand_on, stream.record(), piece, out[own]))
        for copied in waiting:
            copied.result()
        return out

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
        compiled = self._kernels.get(kernel)
        if compiled is None:
            compiled = self._kernels[kernel] = _compiled(kernel, self._device.id)
        if shared > _MOST_SHARED_UNASKED and compiled.max_dynamic_shared_size_bytes < shared:
            compiled.max_dynamic_shared_size_bytes = shared
        grid = blocks if isinstance(blocks, tuple) else (blocks,)
        compiled(grid, (threads,), [_NOTHING if one is None else one for one in arguments], shared_mem=shared)

    def _guarded(self, work: Callable[[], Any]) -> Any:
        try:
            return work()
        except self._cupy.cuda.memory.OutOfMemoryError:
            free = self.free_bytes / 1e9
            raise CardError(f"the {self.name} has no room for the votes: {free:.1f} GB are free") from None


def _hand_on(copied: Any, piece: NDArray[Any], out: NDArray[Any]) -> None:
    copied.synchronize()
    np.copyto(out, piece)


def _turns(array: NDArray[Any]) -> list[list[slice]]:
    """Return the pieces of an array, as many at a time as there is memory that does not move."""
    size = _PIECE // array.itemsize
    every = [slice(begin, min(begin + size, len(array))) for begin in range(0, len(array), size)]
    return [every[begin : begin + _PIECES] for begin in range(0, len(every), _PIECES)]


def _piece(slot: int, array: NDArray[Any], own: slice) -> NDArray[Any]:
    """Return memory that does not move for a piece of an array."""
    return _fixed_memory()[slot][: (own.stop - own.start) * array.itemsize].view(array.dtype)


@cache
def _helpers(threads: int) -> ThreadPoolExecutor:
    from concurrent.futures import ThreadPoolExecutor

    return ThreadPoolExecutor(min(threads, _PIECES))


@cache
def _fixed_memory() -> list[NDArray[np.uint8]]:
    """Return pieces of memory that do not move, which the card can write to; once, since to get them is slow."""
    import cupyx

    return list(cupyx.empty_pinned((_PIECES, _PIECE), dtype=np.uint8))


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
    import pkgutil

    name = kernel.partition("<")[0]
    files = ("sums.cu", "walk.cu" if name in _WALKS else "descent.cu" if name == "descend" else "rows.cu")
    found = [pkgutil.get_data("jamrank.kernels", f"gpu/{name}") for name in files]
    return "\n".join(text.decode() for text in found if text is not None)


def gpu_available() -> bool:
    """Tell whether there is a card that CuPy can use."""
    from importlib.util import find_spec

    if find_spec("cupy") is None:
        return False
    try:
        GpuDevice()
    except CardError:
        return False
    return True
