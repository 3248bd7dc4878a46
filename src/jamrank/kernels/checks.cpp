// What is asked of long arrays before they are used: bounds, order, equality.
#include "bindings.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <vector>

#include "blocks.hpp"
#include "order.hpp"

namespace jamrank {
namespace {

// Numbers that vector instructions compare: those of x86-64 know the smaller of two bytes without a sign only.
template <typename Value>
struct Ordered {
    using Key = Value;
    static Key key(Value value) { return value; }
    static Value value(Key key) { return key; }
};
template <>
struct Ordered<int8_t> {
    using Key = uint8_t;
    static Key key(int8_t value) { return static_cast<uint8_t>(value) ^ 0x80; }
    static int8_t value(Key key) { return static_cast<int8_t>(key ^ 0x80); }
};

template <typename Value>
struct Bounds {
    using Key = typename Ordered<Value>::Key;
    Key low, high;

    Bounds(const Value* values, size_t begin, size_t end) : low(Ordered<Value>::key(values[begin])), high(low) {
        Key least = low, most = high;
        for (size_t k = begin; k < end; ++k) {
            const Key key = Ordered<Value>::key(values[k]);
            least = key < least ? key : least;
            most = key > most ? key : most;
        }
        low = least;
        high = most;
    }
    void add(const Bounds& other) {
        low = std::min(low, other.low);
        high = std::max(high, other.high);
    }
};

// The smallest and the largest of some values, of which there is one at least and none is NaN; with `to`, a copy too.
template <typename Value>
nb::object bounds_of(const Value* value, Value* to, size_t n, int threads) {
    constexpr size_t kPiece = 1 << 14;  // stays in cache between copy and look
    require(n > 0, "no values");
    const size_t blocks = block_count(n, 1);
    std::vector<Bounds<Value>> found(blocks, Bounds<Value>(value, 0, 1));
    {
        nb::gil_scoped_release release;
        for_blocks(blocks, threads, [&](size_t block) {
            const Span span = span_of(block, blocks, n);
            for (size_t begin = span.begin; begin < span.end; begin += kPiece) {
                const size_t end = std::min(begin + kPiece, span.end);
                found[block].add(Bounds<Value>(value, begin, end));
                if (to) std::memcpy(to + begin, value + begin, (end - begin) * sizeof(Value));
            }
        });
    }
    for (const auto& own : found) found[0].add(own);
    return nb::make_tuple(Ordered<Value>::value(found[0].low), Ordered<Value>::value(found[0].high));
}

template <typename Value>
nb::object extremes(const Array<const Value>& values, int threads) {
    return bounds_of<Value>(values.data(), nullptr, values.size(), threads);
}

// Copies values, and returns their extremes.
nb::object copy_bounded(const Array<const int8_t>& from, Array<int8_t> to, int threads) {
    require(to.size() == from.size(), "arrays of different length");
    return bounds_of<int8_t>(from.data(), to.data(), from.size(), threads);
}

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
constexpr bool kLowBytesFirst = false;
#else
constexpr bool kLowBytesFirst = true;
#endif

// The lowest bits of some bytes, the first of them highest. As one word, a product puts them side by side.
inline uint8_t bits_of_bytes(const int8_t* bytes, size_t count) {
    unsigned bits = 0;
    for (size_t k = 0; k < count; ++k) bits = bits << 1 | (bytes[k] & 1);
    return static_cast<uint8_t>(bits);
}
inline uint64_t bits_of_word(const int8_t* bytes, size_t count) {
    uint64_t word;
    std::memcpy(&word, bytes, 8);
    return (word & 0x0101010101010101u) * 0x8040201008040201u >> 56 >> (8 - count);
}

constexpr size_t kTables = 4, kKinds = 256;

// Byte pointers may alias anything: by value, so that the others stay in registers, and eight rows at a time. Neighbours often
// say the same: tables in turn, so that a count need not wait for the one before.
// Returns whether all is in the lowest bits.
bool gather_bits(const int8_t* results, size_t size, size_t annotators, Span rows, uint8_t* said, uint32_t* times) {
    size_t row = rows.begin;
    int8_t others = 0;
    for (size_t k = rows.begin * annotators; k < rows.end * annotators; ++k) others |= results[k];
    // A word must not end beyond the matrix.
    const size_t end = kLowBytesFirst && size >= 8 ? std::min(rows.end, (size - 8) / annotators + 1) : row;
    for (; row + 8 <= end; row += 8) {
        uint64_t eight = 0;
        for (size_t k = 0; k < 8; ++k) {
            const uint64_t bits = bits_of_word(results + (row + k) * annotators, annotators);
            ++times[k % kTables * kKinds + bits];
            eight |= bits << 8 * k;
        }
        std::memcpy(said + row, &eight, 8);
    }
    for (; row < rows.end; ++row) ++times[said[row] = bits_of_bytes(results + row * annotators, annotators)];
    return (others & ~1) == 0;
}

// Packs a matrix of pairs by at most eight annotators, and returns whether all is 0 or 1. `said` gets the lowest bits of each
// row as one number, the first highest, and `times` how often each number occurs.
bool pack_verdicts(const Array<const int8_t>& from, size_t annotators, Array<uint8_t> said, Array<int64_t> times,
                   int threads) {
    const size_t pairs = said.size(), size = from.size(), blocks = block_count(pairs, 1);
    require(annotators >= 1 && annotators <= 8 && times.size() == size_t{1} << annotators, "a count for each verdict");
    require(size == pairs * annotators, "one entry a pair");
    constexpr size_t kPiece = 1 << 11;  // rows, which stay in cache
    const int8_t* source = from.data();
    uint8_t* bits = said.data();
    std::vector<uint32_t> counts(blocks * kTables * kKinds, 0);
    std::atomic<bool> decided{true};
    nb::gil_scoped_release release;
    for_blocks(blocks, threads, [&](size_t block) {
        const Span span = span_of(block, blocks, pairs);
        for (size_t begin = span.begin; begin < span.end && decided; begin += kPiece) {
            const Span rows{begin, std::min(begin + kPiece, span.end)};
            if (!gather_bits(source, size, annotators, rows, bits, counts.data() + block * kTables * kKinds)) decided = false;
        }
    });
    std::fill_n(times.data(), times.size(), int64_t{0});
    for (size_t k = 0; k < counts.size(); ++k)
        if (counts[k]) times.data()[k % kKinds] += counts[k];
    return decided;
}

// The matrix that was packed.
void unpack_verdicts(const Array<const uint8_t>& said, size_t annotators, Array<int8_t> to, int threads) {
    const size_t pairs = said.size(), blocks = block_count(pairs, 1);
    require(annotators >= 1 && annotators <= 8 && to.size() == pairs * annotators, "one entry a pair and annotator");
    std::vector<int8_t> table(kKinds * annotators);
    for (size_t bits = 0; bits < kKinds; ++bits)
        for (size_t k = 0; k < annotators; ++k) table[bits * annotators + k] = bits >> (annotators - 1 - k) & 1;
    nb::gil_scoped_release release;
    for_blocks(blocks, threads, [&](size_t block) {
        const Span span = span_of(block, blocks, pairs);
        const uint8_t* bits = said.data();
        int8_t* out = to.data() + span.begin * annotators;
        for (size_t row = span.begin; row < span.end; ++row, out += annotators)
            std::memcpy(out, table.data() + bits[row] * annotators, annotators);
    });
}

// Whether a block of a range has something: blocks after one that has are not looked at.
template <typename Look>
bool any_of(size_t n, int threads, const Look& look) {
    const size_t blocks = block_count(n, 1);
    std::atomic<bool> found{false};
    nb::gil_scoped_release release;
    for_blocks(blocks, threads, [&](size_t block) {
        if (!found && look(span_of(block, blocks, n))) found = true;
    });
    return found;
}

// Whether two arrays have the same value at the same place, anywhere.
template <typename Value>
bool any_equal(const Array<const Value>& one, const Array<const Value>& other, int threads) {
    require(one.size() == other.size(), "arrays of different length");
    const Value *a = one.data(), *b = other.data();
    return any_of(one.size(), threads, [=](Span span) {
        bool equal = false;
        for (size_t k = span.begin; k < span.end; ++k) equal |= a[k] == b[k];
        return equal;
    });
}

// Whether pairs are sorted and distinct, and name the lower item first.
bool in_order(const Ints& first, const Ints& second, int threads) {
    const size_t n = first.size();
    require(second.size() == n, "one entry a pair");
    const int32_t *a = first.data(), *b = second.data();
    return !any_of(n, threads, [=](Span span) { return out_of_order(a, b, span.begin, span.end); });
}

}  // namespace

void bind_checks(nb::module_& m) {
    m.def("extremes", &extremes<int8_t>);
    m.def("extremes", &extremes<int32_t>);
    m.def("extremes", &extremes<double>);
    m.def("any_equal", &any_equal<int32_t>);
    m.def("any_equal", &any_equal<int64_t>);
    m.def("in_order", &in_order);
    m.def("copy_bounded", &copy_bounded);
    m.def("pack_verdicts", &pack_verdicts);
    m.def("unpack_verdicts", &unpack_verdicts);
}

}  // namespace jamrank
