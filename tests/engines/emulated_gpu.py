"""A card that is none: jamrank's GPU kernels in numpy, to try the engine where there is no GPU.

Every kernel has a namesake here with the same arguments, which knows nothing of threads and blocks.
"""

from __future__ import annotations

import numpy as np
from scipy.special import expit

from jamrank.engines.gpu_layout import fixed_point_scale

_LEAST_CURVATURE, _LARGEST_MARGIN = 0.1, 700.0


class EmulatedDevice:
    """Takes the place of ``jamrank.kernels.gpu_device.Card``."""

    name = "emulated card"

    def __init__(self, free_bytes=1 << 30, shared_bytes=200 << 10):
        self.free_bytes, self.shared_bytes = free_bytes, shared_bytes
        self.launched = []

    def put(self, array, dtype=None):
        return np.array(array, dtype)

    def filled(self, length, dtype, fill, least_bytes=0):
        there, half = np.full(length, 77, dtype), length // 2
        return there, [fill(own, there[own]) for own in (slice(0, half), slice(half, length))]

    def empty(self, length, dtype):
        return np.full(length, 77, dtype)

    def pinned(self, length, dtype):
        return np.full(length, 77, dtype)

    def send(self, array, there):
        there[:] = array

    def receive(self, there, array):
        array[:] = there

    fetch = receive

    def wait(self):
        pass

    def recorded(self, work):
        return work

    def fill(self, array, value):
        array.view(np.uint8)[:] = value

    def begins(self, lengths, dtype):
        return np.concatenate([[0], np.cumsum(lengths, dtype=dtype)]).astype(dtype)

    def read(self, array, out=None):
        if out is None:
            return array.copy()
        out[:] = array
        return out

    def launch(self, kernel, blocks, threads, *arguments, shared=0):
        self.launched.append(kernel)
        KERNELS[kernel.partition("<")[0]](kernel, *arguments)


def _items(items, base, count, start, second):
    if start is None:
        first, other = np.triu_indices(items, 1)
        return first[base : base + count], other[base : base + count]
    first = np.searchsorted(start, np.arange(base, base + count), side="right") - 1
    return first, second[:count].astype(np.int64)


def _margins(scores, first, second):
    return np.clip(scores[first] - scores[second], -_LARGEST_MARGIN, _LARGEST_MARGIN)


def _fixed(values, scale):
    return np.rint(np.asarray(values) * scale).astype(np.int64)


def _scatter(sums, at, values, scale):
    np.add.at(sums, at, _fixed(values, scale))


def _add_value(values, value):
    values.view(np.float64)[0] += value


def _cells(items, first, second, base):
    return first * items - first * (first + 1) // 2 + second - first - 1 - base


def _places(items, first, second, cells):
    return slice(0, len(first)) if cells < 0 else _cells(items, first, second, cells)


def exponentials(_, items, scores, up_then_down):
    up_then_down[:items], up_then_down[items:] = np.exp(scores), np.exp(-scores)


def walk(
    kernel, items, start, end, base, height, codes, holes, patterns, ratio, up, curvature, posterior, by_gradient,
    by_degree, by_pattern, gradient, degree, pattern_sums, values,
):  # fmt: skip
    first, second = np.triu_indices(items, 1)
    own = (first >= start) & (first < end)
    first, second = first[own], second[own]
    at = _cells(items, first, second, base)
    there = codes[at] < patterns
    curvature[at[~there]] = 0
    first, second, at = first[there], second[there], at[there]

    def by_row(q):
        if posterior is not None:
            posterior[at] = q
        added = np.round(q * 2**22) / 2**22 if "InWords" in kernel else q
        _scatter(pattern_sums, codes[at], added, by_pattern)

    _expect(
        first, second, None, 1.0, ratio[codes[at]], np.log(up[:items]), (curvature, at), (by_gradient, by_degree),
        (gradient, degree), values, by_row,
    )  # fmt: skip


def walk_times(_, items, start, end, base, height, curvature, vector, scale, product):
    first, second = np.triu_indices(items, 1)
    own = (first >= start) & (first < end)
    first, second = first[own], second[own]
    _flow(first, second, curvature[_cells(items, first, second, base)], vector, scale, product)


def rows_times(_, items, base, count, chunk, start, second, curvature, vector, scale, product):
    _flow(*_items(items, base, count, start, second), curvature[:count], vector, scale, product)


def _flow(first, second, curvature, vector, scale_and_done, product):
    scale, done = scale_and_done[:2]
    if done:
        return
    flow = curvature * (vector[first] - vector[second])
    _scatter(product, first, flow, scale)
    _scatter(product, second, -flow, scale)


def descend(_, items, product, direction, given, first):
    residual, precision, inverse, share, solution = given[: 5 * items].reshape(5, items)
    scale, done, before, enough, degree, held = state = given[5 * items :]
    if done:
        return
    if not first:
        pushed = product / scale + precision * direction
        bend = direction @ pushed
        if bend <= 0:
            state[1] = 1
            return
        solution += before / bend * direction
        residual -= before / bend * pushed
    z = inverse * residual + share * (share @ residual / held)
    rho = residual @ z
    direction[:] = z if first else z + rho / before * direction
    product[:] = 0
    enough = enough**2 * rho if first else enough
    state[:4] = fixed_point_scale(degree * np.ptp(direction)), rho <= enough, rho, enough


def to_cells(_, items, base, count, start, second, codes, cell_base, cells):
    cells[_cells(items, *_items(items, base, count, start, second), cell_base)] = codes[:count]


def from_cells(_, items, base, count, start, second, cell_base, cells, curvature):
    curvature[:count] = cells[_cells(items, *_items(items, base, count, start, second), cell_base)]


def _expect(first, second, weight, if_first, if_second, scores, curvature, scales, by_item, values, by_row):
    times = 1.0 if weight is None else weight
    better, worse = (expit(sign * _margins(scores, first, second)) for sign in (1, -1))
    joint = better * if_first + worse * if_second
    q = better * if_first / joint
    by_row(q)
    if by_item[0] is None:
        return
    bend = better * worse
    curved = times * np.maximum(bend - q * (1 - q), _LEAST_CURVATURE * bend)
    curvature[0][curvature[1]] = curved
    _sum_items(first, second, times * (q - better), curved, by_item, scales)
    _add_value(values, (times * np.log(joint)).sum())


def _sum_items(first, second, slope, curved, by_item, scales):
    _scatter(by_item[0], first, slope, scales[0])
    _scatter(by_item[0], second, -slope, scales[0])
    for item in (first, second):
        _scatter(by_item[1], item, curved, scales[1])


def over_patterns(
    _, items, base, count, chunk, start, second, codes, weight, if_first, if_second, scores, posterior, curvature,
    cells, by_gradient, by_degree, by_kind, kinds, here, gradient, degree, kind_sums, values,
):  # fmt: skip
    def by_row(q):
        if posterior is not None:
            posterior[:] = q
        if gradient is not None:
            _scatter(kind_sums, codes, q if weight is None else weight * q, by_kind)

    likely, pairs = 1.0 if if_first is None else if_first[codes], _items(items, base, count, start, second)
    _expect(
        *pairs, weight, likely, if_second[codes], scores,
        (curvature, _places(items, *pairs, cells)), (by_gradient, by_degree), (gradient, degree), values, by_row,
    )  # fmt: skip


def over_lists(
    _, items, base, count, chunk, start, second, vote_start, vote_base, vote, vote_weight, log_emission, scores,
    posterior, curvature, cells, by_gradient, by_degree, by_kind, kinds, here, gradient, degree, kind_sums,
    values,
):  # fmt: skip
    row = np.repeat(np.arange(count), np.diff(vote_start))
    times = np.ones(len(vote)) if vote_weight is None else vote_weight
    log_second, log_first = (np.bincount(row, times * log_emission[2 * vote + truth], count) for truth in (0, 1))
    largest = np.maximum(log_first, log_second)

    def by_row(q):
        if posterior is not None:
            posterior[:] = q
        if gradient is not None:
            _scatter(kind_sums, vote, times * q[row], by_kind)

    pairs = _items(items, base, count, start, second)
    _expect(
        *pairs, None, np.exp(log_first - largest), np.exp(log_second - largest),
        scores, (curvature, _places(items, *pairs, cells)), (by_gradient, by_degree), (gradient, degree), values,
        by_row,
    )  # fmt: skip
    if gradient is not None:
        _add_value(values, largest.sum())


def over_votes(
    kernel, items, base, count, chunk, start, second, begin, vote_base, group, each, kind, weight, if_first,
    if_second, scores, posterior, curvature, cells, by_gradient, by_degree, by_kind, kinds, here, gradient, degree,
    kind_sums, values,
):  # fmt: skip
    first, other = _items(items, base, count, start, second)
    link = np.arange(count) if begin is None else np.repeat(np.arange(count), np.diff(begin))
    times = np.ones(len(kind)) if weight is None else weight
    margin = _margins(scores, first, other)[link]

    def over_link(each):
        return np.bincount(link, times * each, count)

    if "OfTruth" in kernel:
        better, worse = expit(margin), expit(-margin)
        joint_first = better * (1.0 if if_first is None else if_first[kind])
        joint = joint_first + worse * if_second[kind]
        q = joint_first / joint
        if posterior is not None:
            posterior[:] = q
        if gradient is None:
            return
        value, slope, place, by = np.log(joint), q - better, kind, (q, q * (1 - q))
        if each:
            most = better * worse
            curved = over_link(np.maximum(most - q * (1 - q), _LEAST_CURVATURE * most))
        else:
            most = over_link(better * worse)
            curved = np.maximum(most - over_link(q * (1 - q)), _LEAST_CURVATURE * most)
    else:
        param, said, place = if_first[kind // 2], kind % 2, kind // 2
        odds, by_margin, by_param = param * margin, param, margin
        if "true" in kernel:
            odds = param - np.logaddexp(margin / 2, -margin / 2) + np.log(2)
            by_margin, by_param = -np.tanh(margin / 2) / 2, np.ones(len(kind))
        yes = expit(odds)
        value, slope = -np.logaddexp(0, np.where(said, -odds, odds)), (said - yes) * by_margin
        curved = over_link(yes * (1 - yes) * by_margin**2)
        by = (said - yes) * by_param, yes * (1 - yes) * by_param**2
    curvature[_places(items, first, other, cells)] = curved
    _sum_items(first, other, over_link(slope), curved, (gradient, degree), (by_gradient, by_degree))
    for table, each in enumerate(by):
        _scatter(kind_sums, table * kinds + place, times * each, by_kind)
    _add_value(values, (times * value).sum())


def marginal_votes(
    _, items, base, count, chunk, start, second, begin, vote_base, group, each, kind, weight, if_first, if_second,
    scores, variance, curvature, cells, by_gradient, by_degree, by_kind, kinds, here, gradient, degree, observed,
    kind_sums, values,
):  # fmt: skip
    link = np.arange(count) if begin is None else np.repeat(np.arange(count), np.diff(begin))
    times = np.ones(len(kind)) if weight is None else weight
    likely = np.ones(len(kind)) if if_first is None else if_first[kind], if_second[kind]
    pairs = _items(items, base, count, start, second)
    q, value = _integrate(
        pairs, link, times, likely, scores, variance, bool(each), (curvature, _places(items, *pairs, cells)),
        (by_gradient, by_degree), (gradient, degree, observed),
    )  # fmt: skip
    _add_value(values, value)
    for table, each_row in enumerate((q, q * (1 - q))):
        _scatter(kind_sums, table * (kinds // 2) + kind, times * each_row, by_kind)


def marginal_lists(
    _, items, base, count, chunk, start, second, vote_start, vote_base, vote, vote_weight, log_emission, scores,
    variance, curvature, cells, by_gradient, by_degree, by_kind, kinds, here, gradient, degree, observed, kind_sums,
    values,
):  # fmt: skip
    row = np.repeat(np.arange(count), np.diff(vote_start))
    times = np.ones(len(vote)) if vote_weight is None else vote_weight
    log_second, log_first = (np.bincount(row, times * log_emission[2 * vote + truth], count) for truth in (0, 1))
    largest = np.maximum(log_first, log_second)
    pairs = _items(items, base, count, start, second)
    q, value = _integrate(
        pairs, np.arange(count), np.ones(count), (np.exp(log_first - largest), np.exp(log_second - largest)), scores,
        variance, False, (curvature, _places(items, *pairs, cells)), (by_gradient, by_degree),
        (gradient, degree, observed),
    )  # fmt: skip
    _add_value(values, value + largest.sum())
    for table, each_row in enumerate((q, q * (1 - q))):
        _scatter(kind_sums, table * (kinds // 2) + vote, times * each_row[row], by_kind)


def _integrate(pairs, link, times, likely, scores, variance, each, curvature, scales, by_item):
    """Solve for each row's margin by bisection, which is plain and slow."""
    first, second = pairs
    v_first, v_second = variance[first], variance[second]
    squared = 1 / (1 + np.pi / 8 * (v_first + v_second))
    spread, mean = ((v_first + v_second) * squared)[link], (np.sqrt(squared) * (scores[first] - scores[second]))[link]
    low, high = mean - spread - 1, mean + spread + 1
    for _ in range(200):
        x = (low + high) / 2
        q, p, _ = _truth(x, *likely)
        above = x + spread * (q - p) > mean
        low, high = np.where(above, low, x), np.where(above, x, high)
    q, p, joint = _truth(x, *likely)
    held = p * (1 - p)
    known = held - q * (1 - q)
    bend = known / (1 - spread * known)
    least = _LEAST_CURVATURE * held

    def over_link(values):
        return np.bincount(link, times * values, len(first)) * squared

    curved = over_link(np.maximum(bend, least)) if each else np.maximum(over_link(bend), over_link(least))
    curvature[0][curvature[1]] = curved
    _sum_items(first, second, over_link(q - p) / np.sqrt(squared), curved, by_item[:2], scales)
    for item, v in ((first, v_first), (second, v_second)):
        _scatter(by_item[2], item, over_link(known / (1 - (v * squared)[link] * known)), scales[1])
    return q, (times * (np.log(joint) + 0.5 * spread * (q - p) ** 2)).sum()


def _truth(x, if_first, if_second):
    p = expit(x)
    joint = p * if_first + expit(-x) * if_second
    return p * if_first / joint, p, joint


def maximise(
    _, items, base, count, chunk, start, second, codes, weight, posterior, scores, curvature, cells, by_gradient,
    by_degree, gradient, degree, values,
):  # fmt: skip
    first, other = _items(items, base, count, start, second)
    q, times = posterior if codes is None else posterior[codes], 1.0 if weight is None else weight
    margin = _margins(scores, first, other)
    better = expit(margin)
    curvature[_places(items, first, other, cells)] = times * better * (1 - better)
    slope = times * (q - better)
    _sum_items(first, other, slope, times * better * (1 - better), (gradient, degree), (by_gradient, by_degree))
    _add_value(values, (times * (-q * np.logaddexp(0, -margin) - (1 - q) * np.logaddexp(0, margin))).sum())


def from_shares(
    kernel, items, base, count, chunk, start, second, begin, vote_base, kind, weight, by_vote, scores, curvature,
    cells, by_gradient, by_degree, by_kind, kinds, here, gradient, degree, kind_sums, values,
):  # fmt: skip
    link, times = np.repeat(np.arange(count), np.diff(begin)), np.ones(len(kind)) if weight is None else weight
    won, cast = (np.bincount(link, own, count) for own in (times * (kind % 2), times))
    q = (won + 1) / (cast + 2)
    maximise(
        kernel, items, base, count, chunk, start, second, None, cast if by_vote else None, q, scores, curvature,
        cells, by_gradient, by_degree, gradient, degree, values,
    )  # fmt: skip
    _scatter(kind_sums, kind, times * q[link], by_kind)


def count_codes(_, count, chunk, codes, kinds, here, sums):
    sums[:kinds] += np.bincount(codes, minlength=kinds)


def count_votes(_, pairs, start, words, kind_bits, counts, empty):
    pair = np.repeat(np.arange(pairs), np.diff(start))
    counts[:] = np.bincount(pair, words >> kind_bits, pairs)
    empty[0] |= (counts == 0).any()


def spell_out(_, pairs, start, words, kind_bits, begin, kinds):
    kinds[:] = np.repeat(words & ((1 << kind_bits) - 1), words >> kind_bits)


def mark_sides(_, items, base, count, chunk, start, second, begin, vote_base, codes, weight, side, seen):
    first, other = _items(items, base, count, start, second)
    if side is None:
        link = np.repeat(np.arange(count), np.diff(begin))
        times = np.ones(len(codes)) if weight is None else weight
        lead = np.sign(np.bincount(link, np.where(codes % 2, times, -times), count))
    else:
        lead = np.array([-1, 1, 0])[side[codes]]
    for item, ahead in ((first, lead), (other, -lead)):
        np.bitwise_or.at(seen, item, np.where(ahead > 0, 2, np.where(ahead < 0, 1, 3)).astype(np.int32))


KERNELS = {
    kernel.__name__: kernel
    for kernel in (
        exponentials, walk, walk_times, rows_times, descend, to_cells, from_cells, over_patterns, over_lists,
        over_votes, marginal_votes, marginal_lists, maximise, from_shares, count_codes, count_votes,
        spell_out, mark_sides,
    )
}  # fmt: skip
