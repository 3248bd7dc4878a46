"""Products with the curvature, and conjugate gradients, on a GPU."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from jamrank.engines.gpu_layout import GpuLayout
from jamrank.typing import FloatArray, IntArray

# Steps that are started before the result is looked at, and the threads of each.
_AHEAD, _STEP_THREADS = 3, 1024
# Numbers of the state, see kernels/gpu/descent.cu.
_STATE = 6

# Returns how to launch the kernels that multiply the curvature with a vector, given the scale of the product and
# where it goes.
Products = Callable[[Any, Any, Any], list[tuple[Any, ...]]]


class RecordedProduct:
    """Multiplies with the curvature; its copies and kernels are recorded once, so that a product is one call.

    gpu: The rows, all of them resident.
    products: How to multiply with their curvature.
    """

    def __init__(self, gpu: GpuLayout, products: Products) -> None:
        device, n = gpu.device, gpu.n_items
        self._device, self._n, product = device, n, gpu.sums[:n]
        # The vector and the scale of the product, whose place is followed by that of the mark that all is done.
        sent = self._sent = device.pinned(n + 2, np.float64)
        found = self._found = device.pinned(n, np.int64)
        there = self._there = device.empty(n + 2, np.float64)
        launches = products(there[:n], there[n:], product)
        sent[n + 1] = 0.0

        def work() -> None:
            device.send(sent, there)
            device.fill(product, 0)
            for launch in launches:
                device.launch(*launch)
            device.receive(product, found)

        self._start = device.recorded(work)

    def times(self, vector: FloatArray, scale: float) -> IntArray:
        """Return the product in units of the scale, in a buffer that the next one overwrites."""
        self._sent[: self._n], self._sent[self._n] = vector, scale
        self._start()
        self._device.wait()
        return self._found


class GpuDescent:
    """Solves for Newton steps; its copies and kernels are recorded once, so that starting several steps is one call.

    gpu: The rows, all of them resident.
    products: How to multiply with their curvature.
    """

    def __init__(self, gpu: GpuLayout, products: Products) -> None:
        self._device, self._n = gpu.device, gpu.n_items
        n, self._product = self._n, gpu.sums[: gpu.n_items]
        # The target, precision, inverse, share, solution and state, and on the device what becomes of them.
        self._sent = self._device.pinned(5 * n + _STATE, np.float64)
        self._sent[4 * n : 5 * n] = 0.0
        self._given = self._device.empty(len(self._sent), np.float64)
        self._direction = self._device.empty(n, np.float64)
        self._solution, self._found = self._given[4 * n :], self._device.pinned(n + _STATE, np.float64)
        self._products = products(self._direction, self._given[5 * n :], self._product)
        self._begin = self._device.recorded(lambda: self._launch(first=True))
        self._go_on = self._device.recorded(lambda: self._launch(first=False))

    def start(
        self,
        target: FloatArray,
        precision: FloatArray,
        preconditioner: tuple[FloatArray, FloatArray, float],
        tolerance: float,
        largest_degree: float,
        max_iter: int,
    ) -> Callable[[], FloatArray]:
        """Start solving, and return what waits for the solution; see :meth:`~jamrank.engines.Engine.start_solving`.

        Several steps are started before the result of the first is known; steps after convergence change nothing.
        """
        n, sent, (inverse, share, held) = self._n, self._sent, preconditioner
        sent[:n], sent[n : 2 * n], sent[2 * n : 3 * n], sent[3 * n : 4 * n] = target, precision, inverse, share
        # The state begins with the scale of a product and whether the solution is found.
        sent[5 * n :] = 0.0, 0.0, 0.0, tolerance, largest_degree, held
        self._begin()

        def finish() -> FloatArray:
            self._device.wait()
            for _ in range(_AHEAD, max_iter, _AHEAD):
                if self._found[n + 1]:
                    break
                self._go_on()
                self._device.wait()
            return self._found[:n].copy()

        return finish

    def _launch(self, first: bool) -> None:
        device, step = self._device, (self._n, self._product, self._direction, self._given)
        if first:
            device.send(self._sent, self._given)
            device.launch("descend", 1, _STEP_THREADS, *step, 1)
        for _ in range(_AHEAD):
            for product in self._products:
                device.launch(*product)
            device.launch("descend", 1, _STEP_THREADS, *step, 0)
        device.receive(self._solution, self._found)
