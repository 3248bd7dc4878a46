"""Passes on a GPU: what the kernel of a pass needs, how it is launched, and its sums."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import Any

import numpy as np

from jamrank.engines.gpu_layout import (
    THREADS,
    WALK_THREADS,
    GpuLayout,
    GpuPart,
    fixed_point_scale,
    shared_bytes,
)
from jamrank.engines.passes import likelihoods
from jamrank.typing import FloatArray, IntArray

# A walk multiplies eight likelihood ratios before it splits off the exponent, and exponentials of scores.
_MILD_LOG_RATIO, _LARGEST_LOG = 80.0, 690.0

# Starts a pass over a part, given its arrays on the device and where its sums go. It must not hold the rows on the
# device: their memory would not be freed as soon as nobody needs it.
Launch = Callable[[GpuLayout, GpuPart, dict[str, Any], Any], None]


@dataclass(frozen=True)
class PassSums:
    """What a pass has added up, as floating point numbers."""

    value: float
    gradient: FloatArray
    degree: FloatArray
    by_kind: FloatArray

    @classmethod
    def of(cls, found: IntArray, n_items: int, kinds: int, scales: tuple[float, float, float]) -> PassSums:
        """Convert the integer sums of a pass."""
        ends = 0, n_items, 2 * n_items, 2 * n_items + kinds
        value = float(found[ends[-1] :].view(np.float64).sum())
        # Exact, for powers of two.
        parts = zip(pairwise(ends), scales, strict=True)
        return cls(value, *(np.multiply(found[begin:end], 1.0 / scale) for (begin, end), scale in parts))


class PassTask:
    """The fused pass at some scores: what it needs on the device, and how it is launched once that is there.

    given: What it needs: scores, and the likelihoods of votes or patterns under either truth.
    """

    def __init__(self, gpu: GpuLayout, scores: FloatArray, log_emission: FloatArray) -> None:
        self.form, self._pattern_weight = gpu.form, gpu.pattern_weight
        self._base = np.empty(0)
        if_first = if_second = np.empty(0)
        if self.form.patterns is None or self.form.about != "truth":
            if_first = np.ascontiguousarray(log_emission, dtype=np.float64).ravel()
        else:
            self._base, if_first, if_second = likelihoods(self.form.patterns, log_emission)
        self.scales = self._scales(gpu, scores, log_emission)
        low, high = float(scores.min(initial=np.inf)), float(scores.max(initial=-np.inf))
        self.walks = gpu.walks and not len(if_first) and self._mild(high - low, if_second)
        # Only differences of scores count; centred, their exponentials are least likely to overflow.
        centred = scores - (low + high) / 2 if self.walks else scores
        self.given: tuple[FloatArray, ...] = centred, if_first, if_second

    @property
    def kind(self) -> tuple[Any, ...]:
        """What it has in common with tasks that differ only in what they are given."""
        return self.walks, self.scales, *map(len, self.given)

    def send(self, gpu: GpuLayout) -> None:
        """Copy what it needs to the device."""
        self.find(gpu, gpu.send(*self.given))
        self.prepare(gpu)

    def find(self, gpu: GpuLayout, there: Any) -> None:
        """Find what it needs in an array on the device that has it all."""
        n, *_, split, end = accumulate(map(len, self.given))
        self._scores = there[:n]
        self._if_first = there[n:split] if split > n else None
        self._if_second = there[split:] if end > split else None
        self._exponentials = gpu.device.empty(2 * n, np.float64) if self.walks else None

    def prepare(self, gpu: GpuLayout) -> None:
        """Start what is needed once for all parts."""
        n = gpu.n_items
        if self.walks:
            gpu.device.launch("exponentials", -(-n // THREADS), THREADS, n, self._scores, self._exponentials)

    @staticmethod
    def _mild(spread: float, ratio: FloatArray) -> bool:
        """Return whether no product of exponentials can overflow."""
        least, most = float(ratio.min(initial=1.0)), float(ratio.max(initial=1.0))
        furthest = max(math.log(most), -math.log(least)) if least > 0 else math.inf
        return furthest <= _MILD_LOG_RATIO and 2 * spread + furthest <= _LARGEST_LOG

    def _scales(self, gpu: GpuLayout, scores: FloatArray, log_emission: FloatArray) -> tuple[float, float, float]:
        if self.form.about == "truth":
            return gpu.truth_scales
        most, every = self.form.most_weight, self.form.total_weight
        spread = float(scores.max(initial=0.0) - scores.min(initial=0.0))
        steep = max(float(np.abs(log_emission).max(initial=0.0)), 1.0) if self.form.about == "margin" else 1.0
        return (
            fixed_point_scale(most * steep),
            fixed_point_scale(most * steep**2),
            fixed_point_scale(every * max(spread, 1.0) ** 2),
        )

    def start(self, gpu: GpuLayout) -> None:
        """Start the pass over all parts, and the copy of its sums."""
        gpu.clear_sums()
        for part in gpu.parts:
            with gpu.on_device(part) as there:
                self.launch(gpu, part, there, gpu.sums)
        gpu.start_fetching()

    def launch(self, gpu: GpuLayout, part: GpuPart, there: dict[str, Any], sums: Any) -> None:
        """Start the pass over a part."""
        if self.walks:
            self.walk(gpu, part, there, sums, None)
        else:
            self._pass(gpu, part, there, sums, None)

    def walk(self, gpu: GpuLayout, part: GpuPart, there: dict[str, Any], sums: Any, posterior: Any | None) -> None:
        """Start the pass over all pairs of a part; ``posterior``, if given, is filled."""
        assert self.form.patterns is not None
        patterns = len(self.form.patterns)
        gpu.device.launch(
            f"walk<{str(posterior is not None).lower()}, {'InWords' if gpu.sums_in_words else 'InDoubles'}>",
            gpu.tiles(part, gpu.sums_in_words),
            WALK_THREADS,
            gpu.n_items,
            part.first,
            part.last,
            gpu.cell_at(part.first),
            gpu.height,
            there["codes"] if gpu.all_pairs else there["cells"],
            int(not gpu.all_pairs),
            patterns,
            self._if_second,
            self._exponentials,
            there["curvature"],
            posterior,
            *self.scales,
            *gpu.places(part, sums),
            shared=gpu.walk_room,
        )

    def _pass(
        self, gpu: GpuLayout, part: GpuPart, there: dict[str, Any], sums: Any | None, posterior: Any | None
    ) -> None:
        """Start the pass over rows of any kind; without ``sums``, only the posterior is computed."""
        kinds = gpu.n_kinds
        shared = shared_bytes(kinds) if sums is not None else 0
        each = kinds // 2 if self.form.patterns is not None and self.form.single_votes else kinds
        room = (None, None, None, None)
        if sums is not None:
            room = gpu.places(part, sums)
        blocks, chunk = gpu.blocks(part)
        gpu.device.launch(
            self._kernel(gpu),
            blocks,
            THREADS,
            *gpu.layout(part, there, chunk),
            *self._votes(gpu, part, there),
            self._scores,
            posterior,
            *gpu.curvature(part, there if sums is not None else None),
            *self.scales,
            each,
            int(shared > 0),
            *room,
            shared=shared,
        )

    def _kernel(self, gpu: GpuLayout) -> str:
        second, code, form = gpu.second_type, gpu.code_type, self.form
        if form.patterns is None:
            return f"over_lists<{second}>"
        if not form.single_votes:
            return f"over_patterns<{second}, {code}>"
        of = {"truth": "OfTruth", "margin": "OfMargin<false>", "tie": "OfMargin<true>"}[form.about]
        return f"over_votes<{second}, {code}, {of}>"

    def _votes(self, gpu: GpuLayout, part: GpuPart, there: dict[str, Any]) -> tuple[Any, ...]:
        if self.form.patterns is None:
            own = there["vote_start"], part.vote_base, there["vote"], there.get("vote_weight")
            return (*own, self._if_first)
        likely = self._if_first, self._if_second
        if not self.form.single_votes:
            return there["codes"], there.get("weight"), *likely
        in_runs = there.get("begin"), part.vote_base, gpu.group, int(self.form.each_vote_bends)
        return *in_runs, there["codes"], there.get("weight"), *likely

    def posterior(self, gpu: GpuLayout, part: GpuPart, there: dict[str, Any], out: FloatArray) -> None:
        """Compute the posterior of the rows of a part."""
        device = gpu.device
        at = part.vote_base if self.form.in_runs else part.begin
        length = len(there["codes"]) if self.form.patterns is not None else len(part)
        found = device.empty(length, np.float64)
        self._pass(gpu, part, there, None, found)
        device.read(found, out[at : at + length])

    def summed(self, by_kind: FloatArray) -> tuple[FloatArray, FloatArray, float]:
        """Return expected counts, truth variance, and the part of the log-likelihood common to both truths."""
        patterns, none = self.form.patterns, np.zeros(self.form.n_confusion_groups)
        if patterns is None:
            return by_kind.reshape(-1, 2), none, 0.0
        if self.form.about != "truth":
            return np.ascontiguousarray(by_kind.reshape(2, -1).T), none, 0.0
        base = float((self._pattern_weight * self._base).sum())
        if not self.form.single_votes:
            return patterns.over_patterns(by_kind), none, base
        expected_counts, truth_variance = by_kind.reshape(2, -1)
        return patterns.over_patterns(expected_counts), patterns.over_patterns(truth_variance).sum(axis=1), base


class RecordedPass:
    """The fused pass with its copies, recorded so that starting it is one call; all parts must be resident.

    task: Any of the tasks of one :attr:`~PassTask.kind`.
    """

    def __init__(self, gpu: GpuLayout, task: PassTask) -> None:
        device, self._ends = gpu.device, [0, *accumulate(map(len, task.given))]
        sent = self._sent = device.pinned(self._ends[-1], np.float64)
        # What is recorded goes where these are, so they must stay.
        self._there, self._task = device.empty(len(sent), np.float64), task
        there = self._there
        task.find(gpu, there)

        def work() -> None:
            device.send(sent, there)
            task.prepare(gpu)
            task.start(gpu)

        self._start = device.recorded(work)

    def start(self, given: tuple[FloatArray, ...]) -> None:
        """Start the pass with what a task of this kind is given."""
        for vector, (begin, end) in zip(given, pairwise(self._ends), strict=True):
            self._sent[begin:end] = vector
        self._start()
