// Packed votes, sorted and counted.
#include "bindings.hpp"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "blocks.hpp"

namespace jamrank {
namespace {

constexpr int kWidest = 11;             // bits of a digit
constexpr size_t kPart = 1 << 15;       // keys that are worth a thread
constexpr size_t kInCache = 1 << 15;    // keys that are sorted best where they are
constexpr size_t kFew = 1 << 8;         // keys for which counting digits is not worth it

// Sorts keys by their lowest bits, one digit after another; they end in `keys`, where `from` is may be either array.
void sort_by_digits(int64_t* from, int64_t* keys, int64_t* spare, size_t n, int bits) {
    const int passes = std::max(1, (bits + kWidest - 1) / kWidest), width = (bits + passes - 1) / passes;
    const size_t digits = size_t{1} << width;
    std::vector<size_t> counts(passes * digits);
    for (size_t v = 0; v < n; ++v)
        for (int pass = 0; pass < passes; ++pass)
            ++counts[pass * digits + (static_cast<size_t>(from[v] >> (pass * width)) & (digits - 1))];
    for (int pass = 0; pass < passes; ++pass) {
        size_t* next = counts.data() + pass * digits;
        const auto digit = [=](int64_t key) { return static_cast<size_t>(key >> (pass * width)) & (digits - 1); };
        if (next[digit(from[0])] == n) continue;  // all have the same
        size_t place = 0;
        for (size_t d = 0; d < digits; ++d) place += std::exchange(next[d], place);
        int64_t* to = from == keys ? spare : keys;
        for (size_t v = 0; v < n; ++v) to[next[digit(from[v])]++] = from[v];
        from = to;
    }
    if (from != keys) std::memcpy(keys, from, n * sizeof(int64_t));
}

// Radix sort of non-negative keys of `bits` bits. They are distributed by their highest bits, each thread its own part,
// and the keys of each value of these are then sorted in the cache of one thread. `room`, for as many, gets anything.
void sort_keys(Array<int64_t> given, Array<int64_t> room, int bits, int threads) {
    const size_t n = given.size();
    int64_t *keys = given.data(), *spare = room.data();
    require(bits >= 0 && bits <= 63, "keys have at most 63 bits");
    require(room.size() == n, "room for as many keys");
    nb::gil_scoped_release release;
    if (std::is_sorted(keys, keys + n)) return;
    if (n <= kInCache) return sort_by_digits(keys, keys, spare, n, bits);
    int top = 0;
    while (top < std::min(bits, kWidest) && (n >> top) > kInCache) ++top;
    const size_t values = size_t{1} << top, parts = std::max<size_t>(1, std::min<size_t>(std::max(threads, 1), n / kPart));
    const int shift = bits - top;
    std::vector<size_t> places(parts * values, 0), begins(values + 1, n);
    for_blocks(parts, threads, [&](size_t part) {
        size_t* counts = places.data() + part * values;
        const Span span = span_of(part, parts, n);
        for (size_t v = span.begin; v < span.end; ++v) ++counts[keys[v] >> shift];
    });
    size_t place = 0;
    for (size_t value = 0; value < values; ++value) {
        begins[value] = place;
        for (size_t part = 0; part < parts; ++part) place += std::exchange(places[part * values + value], place);
    }
    for_blocks(parts, threads, [&](size_t part) {
        size_t* next = places.data() + part * values;
        const Span span = span_of(part, parts, n);
        for (size_t v = span.begin; v < span.end; ++v) spare[next[keys[v] >> shift]++] = keys[v];
    });
    for_blocks(values, threads, [&](size_t value) {
        const size_t begin = begins[value], count = begins[value + 1] - begin;
        if (count > kFew) return sort_by_digits(spare + begin, keys + begin, spare + begin, count, shift);
        std::copy_n(spare + begin, count, keys + begin);
        std::sort(keys + begin, keys + begin + count);
    });
}

// Sorted keys to distinct ones, and how often each occurs.
void fold_keys(const Array<const int64_t>& keys, Array<int64_t> distinct, Array<double> times, int threads) {
    const size_t n = keys.size(), blocks = block_count(n, 1);
    const int64_t* key = keys.data();
    const auto fresh = [&](size_t v) { return v == 0 || key[v] != key[v - 1]; };
    require(times.size() == distinct.size(), "one number a distinct key");
    nb::gil_scoped_release release;
    std::vector<size_t> before(blocks + 1, 0);
    for_blocks(blocks, threads, [&](size_t block) {
        const Span span = span_of(block, blocks, n);
        size_t count = 0;
        for (size_t v = span.begin; v < span.end; ++v) count += fresh(v);
        before[block + 1] = count;
    });
    for (size_t block = 0; block < blocks; ++block) before[block + 1] += before[block];
    require(before[blocks] == distinct.size(), "another number of distinct keys");
    for_blocks(blocks, threads, [&](size_t block) {
        const Span span = span_of(block, blocks, n);
        size_t at = before[block];
        for (size_t v = span.begin; v < span.end; ++v) {
            if (!fresh(v)) continue;
            size_t end = v + 1;
            while (end < n && key[end] == key[v]) ++end;
            distinct.data()[at] = key[v];
            times.data()[at++] = static_cast<double>(end - v);
        }
    });
}

}  // namespace

void bind_sorting(nb::module_& m) {
    m.def("sort_keys", &sort_keys);
    m.def("fold_keys", &fold_keys);
}

}  // namespace jamrank
