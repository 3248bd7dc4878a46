"""Work over blocks in threads gives what numpy gives in one go."""

from __future__ import annotations

import numpy as np
import pytest

from jamrank.kernels import in_threads

LENGTHS = [0, 1, 7, 64, 65, 1000]


@pytest.fixture(autouse=True)
def short_blocks(monkeypatch):
    monkeypatch.setattr(in_threads, "_BLOCK", 64)
    monkeypatch.setenv("JAMRANK_THREADS", "3")


@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize("threads", [1, 3, 50])
def test_blocks_are_in_order_and_cover_the_range(length, threads):
    blocks = in_threads.over_blocks(length, lambda block: np.arange(length)[block], threads)
    np.testing.assert_array_equal(np.concatenate([np.empty(0, int), *blocks]), np.arange(length))


@pytest.mark.parametrize("length", LENGTHS)
def test_something_true_is_found_wherever_it_is(length):
    assert not in_threads.any_block(length, lambda block: np.zeros(length, bool)[block])
    for at in {0, length // 2, length - 1} if length else set():
        marked = np.arange(length) == at
        assert in_threads.any_block(length, lambda block, marked=marked: marked[block])


@pytest.mark.parametrize("length", LENGTHS[1:])
def test_extremes_and_total(length):
    values = np.random.default_rng(length).standard_normal(length)
    assert in_threads.extremes(values) == (values.min(), values.max())
    assert in_threads.total(values) == pytest.approx(values.sum(), abs=1e-12)


def test_a_sum_does_not_depend_on_threads(monkeypatch):
    values = np.random.default_rng(0).standard_normal(1000)
    found = set()
    for threads in ("1", "2", "5"):
        monkeypatch.setenv("JAMRANK_THREADS", threads)
        found.add(in_threads.total(values))
    assert len(found) == 1


def test_a_copy_is_one_in_c_order():
    matrix = np.arange(600).reshape(3, 200).T
    copy = in_threads.copied(matrix, np.int16)
    np.testing.assert_array_equal(copy, matrix)
    assert copy.flags.c_contiguous and copy.dtype == np.int16 and not np.shares_memory(copy, matrix)


def test_an_error_in_a_block_is_raised():
    with pytest.raises(ZeroDivisionError):
        in_threads.over_blocks(500, lambda block: 1 // (block.start - 64))
