// The votes of a crowd, as they were copied to the device, to rows; and what items did on their pairs.
//
// A vote is a word, see pack_kinds in packing.cpp: its kind and, above that, how often it is counted. The votes on pair p
// are start[p] to start[p + 1].

// How many votes each pair has when they are spelled out; `empty` is set where one has none.
template <typename Word>
__global__ void count_votes(Long pairs, const int* start, const Word* words, Long kind_bits, int* counts, Long* empty) {
    const Long pair = blockIdx.x * static_cast<Long>(blockDim.x) + threadIdx.x;
    if (pair >= pairs) return;
    int count = 0;
    for (int v = start[pair]; v < start[pair + 1]; ++v) count += words[v] >> kind_bits;
    counts[pair] = count;
    if (!count) *empty = 1;
}

// The kind of each vote, as often as it is counted; those of a pair from begin[pair] on.
template <typename Word>
__global__ void spell_out(Long pairs, const int* start, const Word* words, Long kind_bits, const Long* begin, int* kinds) {
    const Long pair = blockIdx.x * static_cast<Long>(blockDim.x) + threadIdx.x;
    if (pair >= pairs) return;
    int* out = kinds + begin[pair];
    for (int v = start[pair]; v < start[pair + 1]; ++v)
        for (unsigned left = words[v] >> kind_bits; left; --left) *out++ = words[v] & ((1u << kind_bits) - 1);
}

// Sets bit 1 of an item that did not win one of its links, by most of the votes on it, and bit 2 of one that did not lose
// one. side[code] is 0 for links that the second item won, 1 for those that the first did, else 2; without `side`, the
// votes on a link are counted: their kinds are codes[begin[l]] to codes[begin[l + 1]].
template <typename Second, typename Code>
__global__ void mark_sides(Long items, Long base, Long count, Long chunk, const Long* start, const Second* second,
                           const Long* begin, Long vote_base, const Code* codes, const double* weight, const Byte* side,
                           int* seen) {
    const Layout<Second> layout{items, base, start, second};
    const Long last = min((blockIdx.x + 1) * chunk, count);
    int one = 0, other;
    for (Long at = blockIdx.x * chunk + threadIdx.x; at < last; at += blockDim.x) {
        layout.of(base + at, one, other);
        double lead = 0.0;
        if (side) {
            const Byte won = side[codes[at]];
            lead = won == 2 ? 0.0 : won ? 1.0 : -1.0;
        } else {
            for (Long v = begin[at] - vote_base; v < begin[at + 1] - vote_base; ++v)
                lead += (codes[v] % 2 ? 1.0 : -1.0) * (weight ? weight[v] : 1.0);
        }
        const int of_first = lead > 0.0 ? 2 : lead < 0.0 ? 1 : 3, of_second = lead > 0.0 ? 1 : lead < 0.0 ? 2 : 3;
        // Nearly all marks are there already.
        if ((seen[one] & of_first) != of_first) atomicOr(seen + one, of_first);
        if ((seen[other] & of_second) != of_second) atomicOr(seen + other, of_second);
    }
}
