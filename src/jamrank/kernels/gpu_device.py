"""A GPU, through CuPy: its memory, and jamrank's own kernels, which are compiled when they are first used."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from jamrank.errors import GpuError
from jamrank.kernels import default_threads

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

_Found = TypeVar("_Found")

# The file of each kernel, unless it is rows.cu.
_FILES = dict.fromkeys(("exponentials", "walk", "walk_times", "to_cells", "from_cells"), "walk.cu")
_FILES |= dict.fromkeys(("count_votes", "spell_out", "mark_sides"), "votes.cu") | {"descend": "descent.cu"}
_FILES |= dict.fromkeys(("marginal_votes", "marginal_lists"), "marginal.cu")
_NULL, _DEFAULT_SHARED_BYTES = np.uint64(0), 48 << 10
# Arrays of more bytes than a chunk are copied chunk by chunk, through pinned memory and by several threads: the first
# write to fresh memory costs more than the copy itself.
_CHUNK_BYTES, _N_CHUNKS = 1 << 22, 16
# To start a copy takes longer than to copy a smaller chunk to pinned memory.
_LEAST_CHUNK_BYTES = 1 << 21


class GpuDevice:
    """The current device of CuPy; only this class knows that arrays on the device are CuPy's.

    Raises GpuError: Where there is no CuPy, no driver or no GPU.
    """

    def __init__(self) -> None:
        self._cupy = _find_cupy()
        self._device = self._cupy.cuda.Device()
        self._kernels: dict[str, Any] = {}

    @cached_property
    def name(self) -> str:
        """Name of the device."""
        found: bytes = self._cupy.cuda.runtime.getDeviceProperties(self._device.id)["name"]
        return found.decode()

    @property
    def free_bytes(self) -> int:
        """Free memory, in bytes."""
        free: int = self._device.mem_info[0]
        return free + int(self._cupy.get_default_memory_pool().free_bytes())

    @property
    def shared_bytes(self) -> int:
        """Shared memory that a block can have, in bytes."""
        runtime = self._cupy.cuda.runtime
        return int(runtime.deviceGetAttribute(runtime.cudaDevAttrMaxSharedMemoryPerBlockOptin, self._device.id))

    def put(self, array: NDArray[Any], dtype: Any = None) -> Any:
        """Copy an array to the device, as another type if one is given."""
        kind = np.dtype(array.dtype if dtype is None else dtype)
        if array.nbytes <= _CHUNK_BYTES:
            there = self.empty(len(array), kind)
            there.set(np.ascontiguousarray(array, kind))
            return there
        least = _LEAST_CHUNK_BYTES if kind == array.dtype else 0
        return self.filled(
            len(array), kind, lambda own, chunk: np.copyto(chunk, array[own], casting="unsafe"), least
        )[0]

    def filled(
        self, length: int, dtype: Any, fill: Callable[[slice, NDArray[Any]], _Found], least_bytes: int = 0
    ) -> tuple[Any, list[_Found]]:
        """Return an array on the device, and what ``fill`` has returned: it writes each slice of it, in threads.

        ``least_bytes`` is for slices that are quicker filled than a copy is started.
        """
        there = self.empty(length, dtype)
        stream, sent = self._cupy.cuda.get_current_stream(), _sent_from()
        found: list[_Found] = []
        for turn in _chunk_groups(length, there.itemsize, least_bytes):
            waiting = []
            for slot, own in enumerate(turn):
                if slot in sent:
                    sent[slot].synchronize()
                chunk = _chunk(slot, there.dtype, own)
                waiting.append((_thread_pool(default_threads()).submit(fill, own, chunk), chunk))
            for slot, own in enumerate(turn):
                filled, chunk = waiting[slot]
                found.append(filled.result())
                there[own].data.copy_from_host_async(chunk.ctypes.data, chunk.nbytes, stream)
                sent[slot] = stream.record()
        return there, found

    def pinned(self, length: int, dtype: Any) -> NDArray[Any]:
        """Return an array in pinned memory, as :meth:`send` and :meth:`fetch` need."""
        import cupyx

        found: NDArray[Any] = cupyx.empty_pinned(length, dtype)
        return found

    def send(self, array: NDArray[Any], there: Any) -> None:
        """Start copying a pinned array to the device; it must not change until something is fetched."""
        self._copy(there.data.ptr, array.ctypes.data, array.nbytes)

    def receive(self, there: Any, array: NDArray[Any]) -> None:
        """Start copying from the device to a pinned array, once all that was launched before is done."""
        self._copy(array.ctypes.data, there.data.ptr, array.nbytes)

    def _copy(self, to: int, at: int, n_bytes: int) -> None:
        # CUDA itself: CuPy's arrays do not copy while they are recorded.
        runtime, stream = self._cupy.cuda.runtime, self._cupy.cuda.get_current_stream()
        runtime.memcpyAsync(to, at, n_bytes, runtime.memcpyDefault, stream.ptr)

    def wait(self) -> None:
        """Wait until all that was launched is done."""
        self._cupy.cuda.get_current_stream().synchronize()

    def fetch(self, there: Any, array: NDArray[Any]) -> None:
        """Copy from the device to a pinned array, once all that was launched before is done."""
        self.receive(there, array)
        self.wait()

    def recorded(self, work: Callable[[], None]) -> Callable[[], None]:
        """Record work, kernels and copies of pinned memory; return what starts all of it by one call."""
        stream = self._cupy.cuda.Stream(non_blocking=True)
        with stream:
            stream.begin_capture()
            work()
            graph = stream.end_capture()
        return lambda: graph.launch(self._cupy.cuda.get_current_stream())

    def empty(self, length: int, dtype: Any) -> Any:
        """Return an array on the device."""
        return self._guarded(lambda: self._cupy.ndarray(length, dtype))

    def fill(self, array: Any, value: int) -> None:
        """Set every byte of an array."""
        array.data.memset_async(value, array.nbytes, self._cupy.cuda.get_current_stream())

    def begins(self, lengths: Any, dtype: Any) -> Any:
        """Return where runs of given lengths begin and, at last, where all end."""
        found = self.empty(len(lengths) + 1, dtype)
        self.fill(found[:1], 0)
        self._guarded(lambda: self._cupy.cumsum(lengths, dtype=dtype, out=found[1:]))
        return found

    def read(self, array: Any, out: NDArray[Any] | None = None) -> NDArray[Any]:
        """Copy an array from the device, once all that was launched before is done."""
        if out is None or array.nbytes <= _CHUNK_BYTES:
            found: NDArray[Any] = array.get(out=out)
            return found
        stream = self._cupy.cuda.get_current_stream()
        waiting: list[Any] = []
        for turn in _chunk_groups(len(out), out.itemsize):
            for slot, own in enumerate(turn):
                if len(waiting) >= _N_CHUNKS:
                    waiting[-_N_CHUNKS].result()
                chunk = _chunk(slot, out.dtype, own)
                array[own].data.copy_to_host_async(chunk.ctypes.data, chunk.nbytes, stream)
                waiting.append(
                    _thread_pool(default_threads()).submit(_copy_when_ready, stream.record(), chunk, out[own])
                )
        for copied in waiting:
            copied.result()
        return out

    def launch(
        self, kernel: str, blocks: int | tuple[int, int], threads: int, *arguments: Any, shared: int = 0
    ) -> None:
        """Start a kernel.

        kernel: Its name, with template arguments.
        *arguments: Arrays on the device, integers (64 bits), doubles, or None for a null pointer.
        shared: Bytes of shared memory for each block.
        """
        known = self._kernels.get(kernel)
        if known is None:
            raw = _compiled(kernel, self._device.id)
            known = self._kernels[kernel] = raw, raw.kernel
        compiled, function = known
        if shared > _DEFAULT_SHARED_BYTES and compiled.max_dynamic_shared_size_bytes < shared:
            compiled.max_dynamic_shared_size_bytes = shared
        grid = blocks if isinstance(blocks, tuple) else (blocks,)
        # The function itself: looking it up for every launch takes time.
        function(grid, (threads,), [_NULL if one is None else one for one in arguments], shared_mem=shared)

    def _guarded(self, work: Callable[[], Any]) -> Any:
        try:
            return work()
        except self._cupy.cuda.memory.OutOfMemoryError:
            free = self.free_bytes / 1e9
            raise GpuError(f"the {self.name} has too little memory for the votes ({free:.1f} GB are free)") from None


def _copy_when_ready(copied: Any, chunk: NDArray[Any], out: NDArray[Any]) -> None:
    copied.synchronize()
    np.copyto(out, chunk)


def _chunk_groups(length: int, itemsize: int, least_bytes: int = 0) -> list[list[slice]]:
    """Return the chunks of an array, mostly one for each thread, in groups that fit into the pinned memory."""
    size = min(_CHUNK_BYTES, max(-(-length // _N_CHUNKS) * itemsize, least_bytes, itemsize)) // itemsize
    every = [slice(begin, min(begin + size, length)) for begin in range(0, length, size)]
    return [every[begin : begin + _N_CHUNKS] for begin in range(0, len(every), _N_CHUNKS)]


def _chunk(slot: int, dtype: np.dtype[Any], own: slice) -> NDArray[Any]:
    """Return pinned memory for a chunk of an array."""
    return _pinned_memory()[slot][: (own.stop - own.start) * dtype.itemsize].view(dtype)


@cache
def _thread_pool(threads: int) -> ThreadPoolExecutor:
    from concurrent.futures import ThreadPoolExecutor

    return ThreadPoolExecutor(min(threads, _N_CHUNKS))


@cache
def _pinned_memory() -> list[NDArray[np.uint8]]:
    """Return chunks of pinned memory; allocated once, since that is slow."""
    import cupyx

    return list(cupyx.empty_pinned((_N_CHUNKS, _CHUNK_BYTES), dtype=np.uint8))


@cache
def _sent_from() -> dict[int, Any]:
    """Return, for chunks of pinned memory from which a copy to the device was started, the event of its end."""
    return {}


def _find_cupy() -> Any:
    try:
        import cupy
    except ImportError:
        raise GpuError("CuPy is not installed; pip install 'jamrank[gpu]' brings it for CUDA 12") from None
    try:
        found = cupy.cuda.runtime.getDeviceCount()
    except cupy.cuda.runtime.CUDARuntimeError as error:
        raise GpuError(f"no GPU can be used ({error})") from None
    if not found:
        raise GpuError("there is no GPU")
    return cupy


@cache
def _compiled(kernel: str, device: int) -> Any:
    """Return a compiled kernel; CuPy caches compiled kernels on disk."""
    import cupy

    module = cupy.RawModule(code=source(kernel), options=("-std=c++17",), name_expressions=(kernel,))
    return module.get_function(kernel)


def source(kernel: str) -> str:
    """Return the source code of a kernel."""
    import pkgutil

    name = kernel.partition("<")[0]
    files = ("sums.cu", _FILES.get(name, "rows.cu"))
    found = [pkgutil.get_data("jamrank.kernels", f"gpu/{name}") for name in files]
    return "\n".join(text.decode() for text in found if text is not None)


def gpu_available() -> bool:
    """Return whether there is a GPU that CuPy can use."""
    from importlib.util import find_spec

    if find_spec("cupy") is None:
        return False
    try:
        GpuDevice()
    except GpuError:
        return False
    return True
