"""Plain numpy twins of the compiled kernels: oracle of the tests, and fallback where nothing was compiled.

Each function has the signature of its namesake in ``native.cpp`` and writes into the arrays it is given.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from jamrank.kernels.twin_marginal import first_items, marginal, marginal_lists
from jamrank.typing import BoolArray, Float32Array, FloatArray, Int32Array, IntArray

__all__ = [
    "assign",
    "code_ids",
    "count_pairs",
    "direct",
    "expectation",
    "expectation_lists",
    "expectation_votes",
    "fold_keys",
    "jury_patterns",
    "laplacian",
    "marginal",
    "marginal_lists",
    "mark_ids",
    "mark_sides",
    "mark_verdicts",
    "maximisation",
    "number_verdicts",
    "pack_votes",
    "patterns",
    "regular_lines",
    "sort_keys",
    "spell_out",
    "sum_by_kind",
    "unpack_votes",
    "weighted_gram",
]

_LARGEST_MARGIN = 700.0
_LEAST_CURVATURE = 0.1


def _margins(first: Int32Array, second: Int32Array, scores: FloatArray) -> FloatArray:
    return np.clip(scores[first] - scores[second], -_LARGEST_MARGIN, _LARGEST_MARGIN)


def _weighted(values: FloatArray, weight: FloatArray) -> FloatArray:
    return values * weight if len(weight) else values


def _scatter(
    first: Int32Array, second: Int32Array, at_first: FloatArray, at_second: FloatArray, items: int
) -> FloatArray:
    return np.asarray(np.bincount(first, at_first, items) + np.bincount(second, at_second, items), dtype=np.float64)


def expectation(
    start: IntArray,
    second: Int32Array,
    pattern: Int32Array,
    weight: FloatArray,
    if_first: FloatArray,
    if_second: FloatArray,
    scores: FloatArray,
    posterior: FloatArray,
    curvature: Float32Array,
    gradient: FloatArray,
    degree: FloatArray,
    by_pattern: FloatArray,
    threads: int,
) -> float:
    """Compute the posterior of each row's truth (kept if wanted), and the sums that both steps need.

    With an empty ``curvature`` there is no degree either: zeros, if there is room for it. Returns the log-likelihood,
    but for what is common to both truths of each pattern.
    """
    first, second = first_items(start, second, len(scores))
    truth, value = _infer(
        first,
        second,
        weight,
        if_first[pattern] if len(if_first) else 1.0,
        if_second[pattern],
        scores,
        curvature,
        gradient,
        degree,
    )
    if len(posterior):
        posterior[:] = truth
    if len(by_pattern):
        by_pattern[:] = np.bincount(pattern, _weighted(truth, weight), len(by_pattern))
    return value


def expectation_lists(
    start: IntArray,
    second: Int32Array,
    vote_start: IntArray,
    vote: Int32Array,
    vote_weight: FloatArray,
    log_emission: FloatArray,
    scores: FloatArray,
    posterior: FloatArray,
    curvature: Float32Array,
    gradient: FloatArray,
    degree: FloatArray,
    expected_counts: FloatArray,
    threads: int,
) -> float:
    """Do the same for rows with a list of votes each, and log-likelihoods for each kind of vote and truth."""
    first, second = first_items(start, second, len(scores))
    row = np.repeat(np.arange(len(first)), np.diff(vote_start))
    by_vote = log_emission.reshape(-1, 2)[vote] * (vote_weight[:, None] if len(vote_weight) else 1.0)
    log_second, log_first = (np.bincount(row, by_vote[:, truth], len(first)) for truth in (0, 1))
    largest = np.maximum(log_first, log_second)
    if_first, if_second = np.exp(log_first - largest), np.exp(log_second - largest)
    truth, value = _infer(first, second, np.empty(0), if_first, if_second, scores, curvature, gradient, degree)
    if len(posterior):
        posterior[:] = truth
    expected_counts[:] = np.bincount(vote, _weighted(truth[row], vote_weight), len(expected_counts))
    return value + float(largest.sum())


def expectation_votes(
    start: IntArray,
    second: Int32Array,
    begin: IntArray,
    kind: NDArray[np.integer],
    weight: FloatArray,
    if_first: FloatArray,
    if_second: FloatArray,
    scores: FloatArray,
    posterior: FloatArray,
    curvature: Float32Array,
    gradient: FloatArray,
    degree: FloatArray,
    expected_counts: FloatArray,
    truth_variance: FloatArray,
    threads: int,
) -> float:
    """Do the same for rows that are single votes: ``start`` and ``second`` are those of the links between items.

    The votes on link ``l`` are ``begin[l]:begin[l + 1]``; without ``begin`` there is one on each. Also adds up, by
    kind, what the posterior leaves open.
    """
    first, second = first_items(start, second, len(scores))
    link = np.repeat(np.arange(len(first)), np.diff(begin)) if len(begin) else np.arange(len(first))
    margin = _margins(first, second, scores)
    e = np.exp(-np.abs(margin))
    prior_first = np.where(margin >= 0, 1.0, e) / (1 + e)
    prior_second = np.where(margin >= 0, e, 1.0) / (1 + e)
    joint_first = prior_first[link] * (if_first[kind] if len(if_first) else 1.0)
    joint = joint_first + prior_second[link] * if_second[kind]
    truth = np.minimum(joint_first / joint, 1.0)
    left_open = truth * (1 - truth)
    if len(posterior):
        posterior[:] = truth
    expected_counts[:] = np.bincount(kind, _weighted(truth, weight), len(expected_counts))
    truth_variance[:] = np.bincount(kind, _weighted(left_open, weight), len(truth_variance))
    vote_counts, derivative, unknown = (
        np.bincount(link, _weighted(values, weight), len(first)).astype(np.float64)
        for values in (np.ones(len(kind)), truth - prior_first[link], left_open)
    )
    # What the votes leave open of the truth bends the likelihood the other way; never let it win.
    most = vote_counts * prior_first * prior_second
    bend = np.maximum(most - unknown, _LEAST_CURVATURE * most)
    curvature[:] = bend
    gradient[:] = _scatter(first, second, derivative, -derivative, len(scores))
    degree[:] = _scatter(first, second, bend, bend, len(scores))
    return float(_weighted(np.log(joint), weight).sum())


def direct(
    start: IntArray,
    second: Int32Array,
    begin: IntArray,
    kind: NDArray[np.integer],
    weight: FloatArray,
    params: FloatArray,
    scores: FloatArray,
    question: int,
    curvature: Float32Array,
    gradient: FloatArray,
    degree: FloatArray,
    slope: FloatArray,
    information: FloatArray,
    threads: int,
) -> float:
    """Do so for votes that depend on the margin of their pair directly, by one parameter of each coin.

    ``kind`` is twice the coin plus 1 for a vote that says yes. ``question`` 0: is the first item better? The log-odds
    are ``a m``. 1: is it a tie? They are ``a - log cosh(m / 2)``. The curvature is the expected one, which is never
    negative. Also adds up the derivative in each parameter, and the information on it.
    """
    first, second = first_items(start, second, len(scores))
    link = np.repeat(np.arange(len(first)), np.diff(begin)) if len(begin) else np.arange(len(first))
    margin, param, confusion_group = _margins(first, second, scores)[link], params[kind // 2], kind // 2
    log_odds, by_margin, by_param = (_better, _tied)[question](margin, param)
    log_odds = np.clip(log_odds, -_LARGEST_MARGIN, _LARGEST_MARGIN)
    e = np.exp(-np.abs(log_odds))
    said, yes = kind % 2, np.where(log_odds >= 0, 1.0, e) / (1 + e)
    rest, spread = said - yes, e / (1 + e) ** 2
    slope[:] = np.bincount(confusion_group, _weighted(rest * by_param, weight), len(slope))
    information[:] = np.bincount(confusion_group, _weighted(spread * by_param**2, weight), len(slope))
    derivative, curved = (
        np.bincount(link, _weighted(values, weight), len(first)).astype(np.float64)
        for values in (rest * by_margin, spread * by_margin**2)
    )
    curvature[:] = curved
    gradient[:] = _scatter(first, second, derivative, -derivative, len(scores))
    degree[:] = _scatter(first, second, curved, curved, len(scores))
    value = -np.log1p(e) - np.maximum(np.where(said == 1, -log_odds, log_odds), 0.0)
    return float(_weighted(value, weight).sum())


def _better(margin: FloatArray, param: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the log-odds of a vote, and their derivatives in the margin and in the parameter."""
    return param * margin, param, margin


def _tied(margin: FloatArray, param: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    e = np.exp(-np.abs(margin))
    log_cosh = np.abs(margin) / 2 + np.log1p(e) - np.log(2)
    half_tanh = np.sign(margin) * (1 - e) / (1 + e) / 2
    return param - log_cosh, -half_tanh, np.ones_like(margin)


def _infer(
    first: Int32Array,
    second: Int32Array,
    weight: FloatArray,
    if_first: FloatArray | float,
    if_second: FloatArray,
    scores: FloatArray,
    curvature: Float32Array,
    gradient: FloatArray,
    degree: FloatArray,
) -> tuple[FloatArray, float]:
    """Return the posterior of each row's truth and the log-likelihood; write what both steps need."""
    margin = _margins(first, second, scores)
    e = np.exp(-np.abs(margin))
    prior_first, prior_second = np.where(margin >= 0, 1.0, e), np.where(margin >= 0, e, 1.0)
    joint_first = prior_first * if_first
    joint = joint_first + prior_second * if_second
    truth = joint_first / joint
    derivative = _weighted(truth - prior_first / (1 + e), weight)
    gradient[:] = _scatter(first, second, derivative, -derivative, len(scores))
    degree[:] = 0.0
    if len(curvature):
        # What the votes leave open of the truth bends the likelihood the other way; never let it win.
        bend = e / (1 + e) ** 2
        bend = _weighted(np.maximum(bend - truth * (1 - truth), _LEAST_CURVATURE * bend), weight)
        curvature[:] = bend
        degree[:] = _scatter(first, second, bend, bend, len(scores))
    return truth, float(_weighted(np.log(joint / (1 + e)), weight).sum())


def maximisation(
    start: IntArray,
    second: Int32Array,
    pattern: Int32Array,
    weight: FloatArray,
    posterior: FloatArray,
    scores: FloatArray,
    loss: int,
    curvature: Float32Array,
    gradient: FloatArray,
    degree: FloatArray,
    threads: int,
) -> float:
    """Compute value, gradient and curvature of the M-step at new scores, the posterior held fixed.

    With patterns, the posterior is one for each of them.
    """
    first, second = first_items(start, second, len(scores))
    posterior = posterior[pattern] if len(pattern) else posterior
    margin = _margins(first, second, scores)
    value, derivative, bend = (_logistic, _smooth_hinge)[loss](margin, posterior)
    derivative, bend = _weighted(derivative, weight), _weighted(bend, weight)
    curvature[:] = bend
    gradient[:] = _scatter(first, second, derivative, -derivative, len(scores))
    degree[:] = _scatter(first, second, bend, bend, len(scores))
    return float(_weighted(value, weight).sum())


def _logistic(margin: FloatArray, posterior: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    e = np.exp(-np.abs(margin))
    value = -np.log1p(e) - np.where(margin >= 0, (1 - posterior) * margin, -posterior * margin)
    return value, posterior - np.where(margin >= 0, 1.0, e) / (1 + e), e / (1 + e) ** 2


def _smooth_hinge(margin: FloatArray, posterior: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    gap_first, gap_second = np.clip(1 - margin, 0, 1), np.clip(1 + margin, 0, 1)
    loss_first = gap_first**2 / 2 - np.minimum(margin, 0)
    loss_second = gap_second**2 / 2 - np.minimum(-margin, 0)
    bend = np.where(np.abs(margin) >= 1, 0.0, np.where(margin > 0, posterior, 1 - posterior))
    value = -posterior * loss_first - (1 - posterior) * loss_second
    return value, posterior * gap_first - (1 - posterior) * gap_second, bend


def laplacian(
    start: IntArray,
    second: Int32Array,
    curvature: Float32Array,
    vector: FloatArray,
    product: FloatArray,
    threads: int,
) -> None:
    """Multiply the curvature matrix, a graph Laplacian over items, with a vector."""
    first, second = first_items(start, second, len(vector))
    flow = curvature * (vector[first] - vector[second])
    product[:] = _scatter(first, second, flow, -flow, len(vector))


def assign(
    first: Int32Array,
    second: Int32Array,
    projections: FloatArray,
    norms: FloatArray,
    cluster: Int32Array,
    counts: FloatArray,
    sizes: FloatArray,
    threads: int,
) -> float:
    """Assign each difference ``x_i - x_j`` to its nearest centroid up to sign; return the sum of distances."""
    table = projections.reshape(-1, len(norms))
    along = table[first] - table[second]
    distance = norms - 2 * np.abs(along)
    cluster[:] = distance.argmin(axis=1)
    rows = np.arange(len(first))
    # A difference square to its centroid has no side: it moves the centroid nowhere.
    sign = np.sign(along[rows, cluster])
    cells = len(counts)
    counts[:] = np.bincount(first * len(norms) + cluster, sign, cells)
    counts -= np.bincount(second * len(norms) + cluster, sign, cells)
    sizes[:] = np.bincount(cluster, minlength=len(norms))
    return float(distance[rows, cluster].sum())


def patterns(
    start: IntArray,
    annotator: Int32Array,
    result: NDArray[np.int8],
    weight: FloatArray,
    pattern: Int32Array,
    example: IntArray,
    share: FloatArray,
    threads: int,
) -> int:
    """Find the distinct lists of decided votes, in the order of their first appearance; return how many.

    Also computes each pair's shrunken share of votes for its first item.
    """
    weight = weight if len(weight) else np.ones(len(result))
    decided = (result != 2) & (weight > 0)
    pair = np.repeat(np.arange(len(pattern)), np.diff(start))
    wins = np.bincount(pair[decided], (weight * result)[decided], len(share))
    share[:] = (wins + 1) / (np.bincount(pair[decided], weight[decided], len(share)) + 2)
    known: dict[bytes, int] = {}
    votes = np.rec.fromarrays([annotator, result, weight])
    for row, (begin, end) in enumerate(zip(start[:-1].tolist(), start[1:].tolist(), strict=True)):
        vote_counts = votes[begin:end][decided[begin:end]].tobytes()
        if vote_counts not in known:
            example[len(known)] = row
            known[vote_counts] = len(known)
        pattern[row] = known[vote_counts]
    return len(known)


def jury_patterns(
    results: NDArray[np.int8], annotators: int, pattern: Int32Array, example: IntArray, threads: int
) -> int:
    """Find the distinct verdicts of a jury and number them in their order; ties and gaps are no decided votes."""
    decided = np.minimum(results, 2).reshape(-1, annotators)
    _, seen_at, code = np.unique(decided, axis=0, return_index=True, return_inverse=True)
    example[: len(seen_at)] = seen_at
    pattern[:] = code.ravel()
    return len(seen_at)


def _packed_verdicts(results: NDArray[np.int8], annotators: int) -> IntArray:
    place = 4 ** np.arange(annotators - 1, -1, -1)
    return np.asarray((np.minimum(results, 2).reshape(-1, annotators) * place).sum(axis=1), dtype=np.int64)


def mark_verdicts(results: NDArray[np.int8], annotators: int, seen: NDArray[np.uint8], threads: int) -> None:
    """Mark the verdicts of at most eight annotators that occur, two bits each, the first highest."""
    seen[:] = 0
    seen[_packed_verdicts(results, annotators)] = 1


def mark_sides(
    first: Int32Array,
    second: Int32Array,
    codes: NDArray[np.integer],
    side: NDArray[np.uint8],
    seen: NDArray[np.uint8],
    threads: int,
) -> None:
    """Mark what items did on some of their pairs: 1 for not winning, 2 for not losing.

    ``side[code]`` is 0 for rows that the second item won, 1 for those that the first did, 2 without a winner.
    """
    won = side[codes]
    seen[:] = 0
    np.bitwise_or.at(seen, first, np.array([1, 2, 3], dtype=np.uint8)[won])
    np.bitwise_or.at(seen, second, np.array([2, 1, 3], dtype=np.uint8)[won])


def number_verdicts(
    results: NDArray[np.int8], annotators: int, numbers: Int32Array, pattern: NDArray[np.integer], threads: int
) -> bool:
    """Give each row the number of its verdicts; tell whether none of them is below 0."""
    found = numbers[_packed_verdicts(results, annotators)]
    pattern[:] = found.astype(pattern.dtype)
    return bool((found >= 0).all())


def weighted_gram(matrix: FloatArray, weight: FloatArray, products: FloatArray) -> None:
    """Multiply every two rows of a matrix, times weights; what lies below the diagonal nobody looks at."""
    rows = matrix.reshape(-1, len(weight))
    products[:] = np.einsum("fi,gi->fg", rows * weight, rows).ravel()


def pack_votes(
    left: Int32Array,
    right: Int32Array,
    annotator: Int32Array,
    question: Int32Array,
    result: NDArray[np.int8],
    item_bits: int,
    question_bits: int,
    annotator_bits: int,
    keys: IntArray,
    threads: int,
) -> None:
    """Pack each vote into one integer that sorts by pair, question and annotator.

    From the highest bits: the items of the pair in order, question, annotator, whether it was shown the other way
    round, and the result seen from the pair's order.
    """
    swapped = left > right
    said = np.where(swapped & (result < 2), 1 - result, result)
    keys[:] = np.minimum(left, right)
    for digit, bits in (
        (np.maximum(left, right), item_bits),
        (question if len(question) else 0, question_bits),
        (annotator, annotator_bits),
        (swapped * 4 + said, 3),
    ):
        keys <<= bits
        keys |= digit


def count_pairs(keys: IntArray, inner_bits: int, threads: int) -> int:
    """Count the pairs, within questions, of sorted keys; ``inner_bits`` is what comes after them."""
    return int(np.count_nonzero(np.diff(keys >> inner_bits, prepend=-1)))


def unpack_votes(
    keys: IntArray,
    item_bits: int,
    question_bits: int,
    annotator_bits: int,
    first: Int32Array,
    second: Int32Array,
    question: Int32Array,
    start: IntArray,
    annotator: Int32Array,
    result: NDArray[np.int8],
    swapped: BoolArray,
    threads: int,
) -> None:
    """Turn sorted keys into votes, and the pairs they are on."""
    annotator[:] = (keys >> 3) & ((1 << annotator_bits) - 1)
    result[:] = keys & 3
    swapped[:] = keys & 4
    pair_keys = keys >> (annotator_bits + 3)
    begins = np.flatnonzero(np.diff(pair_keys, prepend=-1))
    start[:] = np.append(begins, len(keys))
    own = pair_keys[begins]
    if len(question):
        question[:] = own & ((1 << question_bits) - 1)
    first[:] = own >> (question_bits + item_bits)
    second[:] = (own >> question_bits) & ((1 << item_bits) - 1)


def mark_ids(ids: NDArray[np.integer], low: int, seen: NDArray[np.uint8], threads: int) -> None:
    """Mark the ids that occur, counted from ``low``."""
    seen[ids - low] = 1


def code_ids(ids: NDArray[np.integer], low: int, rank: Int32Array, codes: Int32Array, threads: int) -> None:
    """Give each id its rank among those that occur or, without ranks, its distance from ``low``."""
    codes[:] = rank[ids - low] if len(rank) else ids - low


def sort_keys(keys: IntArray, bits: int, threads: int) -> None:
    """Sort keys of so many bits, none negative."""
    keys.sort()


def fold_keys(keys: IntArray, distinct: IntArray, times: FloatArray, threads: int) -> None:
    """Find the distinct ones of sorted keys, and how often each occurs."""
    distinct[:], times[:] = np.unique(keys, return_counts=True)


def spell_out(
    start: IntArray,
    annotator: Int32Array,
    result: NDArray[np.int8],
    weight: FloatArray,
    begin: IntArray,
    kinds: NDArray[np.integer],
    wins: FloatArray,
    vote_counts: FloatArray,
    threads: int,
) -> None:
    """Write the decided votes on each pair one by one, each as often as its weight says (without weights: once).

    A kind is twice the annotator plus 1 if the vote is for the first item. ``begin`` gets where those of each pair
    begin, ``wins`` how many of them are for its first item, and ``cast`` how many there are of each kind.
    """
    times = (result < 2) * (weight.astype(np.int64) if len(weight) else 1)
    begin[:] = np.concatenate([[0], np.cumsum(times)])[start]
    kinds[:] = np.repeat(2 * annotator + result, times)
    pair = np.repeat(np.arange(len(wins)), np.diff(begin))
    wins[:] = np.bincount(pair, kinds % 2, len(wins))
    vote_counts[:] = np.bincount(kinds, minlength=len(vote_counts))


def sum_by_kind(
    begin: IntArray, kinds: NDArray[np.integer], weight: FloatArray, value: FloatArray, sums: FloatArray, threads: int
) -> None:
    """Add up a value for each link over its votes, times their weight, by kind."""
    sums[:] = np.bincount(kinds, _weighted(np.repeat(value, np.diff(begin)), weight), len(sums))


_QUOTE, _NEWLINE, _RETURN = b'"\n\r'


def regular_lines(text: NDArray[np.uint8], separator: int, width: int, threads: int) -> int:
    """Count the lines of a text, which ends with a newline; -1 unless every one plainly has ``width`` fields."""
    if not len(text) or text[-1] != _NEWLINE:
        return -1
    is_quote, is_return = text == _QUOTE, text == _RETURN
    if is_return[-1] or (text[1:][is_return[:-1]] != _NEWLINE).any():
        return -1
    is_end = (text == separator) | (text == _NEWLINE)
    inside = np.logical_xor.accumulate(is_quote)
    opening, closing, is_edge = is_quote & inside, is_quote & ~inside, is_quote | is_end | is_return
    # Each opening quote begins a field and each closing one ends it, or both stand for one quote.
    if inside[-1] or (opening[1:] & ~is_edge[:-1]).any() or (closing[:-1] & ~is_edge[1:]).any():
        return -1
    marks = text[is_end & ~inside]
    expected = np.full(width, separator, dtype=np.uint8)
    expected[-1] = _NEWLINE
    if len(marks) % width or (marks.reshape(-1, width) != expected).any():
        return -1
    return len(marks) // width
