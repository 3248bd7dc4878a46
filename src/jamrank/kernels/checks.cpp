// What is asked of long arrays before they are used: bounds, order, equality.
#include "bindings.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <vector>

#include "blocks.hpp"

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

// The lowest bits of the bytes of a row from `at` on, the first of them highest. Read as one word, a product puts them side
// by side; where the word would end beyond the matrix it goes byte by byte.
inline uint8_t bits_of_row(const int8_t* results, size_t size, size_t at, size_t annotators) {
    if (!kLowBytesFirst || at + 8 > size) {
        unsigned bits = 0;
        for (size_t k = at; k < at + annotators; ++k) bits = bits << 1 | (results[k] & 1);
        return static_cast<uint8_t>(bits);
    }
    uint64_t word;
    std::memcpy(&word, results + at, 8);
    return static_cast<uint8_t>((word & 0x0101010101010101u) * 0x8040201008040201u >> 56 >> (8 - annotators));
}

// Byte pointers may alias anything: by value, so that the others stay in registers. Neighbours often say the same: two
// tables in turn, so that a count need not wait for the one before.
void gather_bits(const int8_t* results, size_t size, size_t annotators, Span rows, uint8_t* said, uint32_t* times) {
    for (size_t row = rows.begin; row < rows.end; ++row) {
        const uint8_t bits = bits_of_row(results, size, row * annotators, annotators);
        said[row] = bits;
        ++times[(row % 2) << 8 | bits];
    }
}

// Copies a matrix of pairs by at most eight annotators, and returns its extremes. `said` gets the lowest bits of each row as one
// number, the first highest, and `times` how often each number occurs.
nb::object copy_verdicts(const Array<const int8_t>& from, Array<int8_t> to, size_t annotators, Array<uint8_t> said,
                         Array<int64_t> times, int threads) {
    const size_t pairs = said.size(), size = from.size(), blocks = block_count(pairs, 1);
    require(annotators >= 1 && annotators <= 8 && times.size() == size_t{1} << annotators, "a count for each verdict");
    require(pairs > 0 && size == pairs * annotators && to.size() == size, "one entry a pair");
    constexpr size_t kPiece = 1 << 11;  // rows, which stay in cache
    const int8_t* source = from.data();
    int8_t* target = to.data();
    uint8_t* bits = said.data();
    std::vector<Bounds<int8_t>> found(blocks, Bounds<int8_t>(source, 0, 1));
    std::vector<uint32_t> counts(blocks * 512, 0);
    {
        nb::gil_scoped_release release;
        for_blocks(blocks, threads, [&](size_t block) {
            const Span span = span_of(block, blocks, pairs);
            for (size_t begin = span.begin; begin < span.end; begin += kPiece) {
                const Span rows{begin, std::min(begin + kPiece, span.end)};
                const size_t at = rows.begin * annotators, end = rows.end * annotators;
                found[block].add(Bounds<int8_t>(source, at, end));
                gather_bits(source, size, annotators, rows, bits, counts.data() + 512 * block);
                std::memcpy(target + at, source + at, end - at);
            }
        });
    }
    std::fill_n(times.data(), times.size(), int64_t{0});
    for (size_t block = 0; block < blocks; ++block) {
        found[0].add(found[block]);
        for (size_t kind = 0; kind < 512; ++kind)
            if (counts[512 * block + kind]) times.data()[kind % 256] += counts[512 * block + kind];
    }
    return nb::make_tuple(Ordered<int8_t>::value(found[0].low), Ordered<int8_t>::value(found[0].high));
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
    return !any_of(n, threads, [=](Span span) {
        bool wrong = span.begin < span.end && a[span.begin] >= b[span.begin];
        const size_t begin = std::max<size_t>(span.begin, 1);
        for (size_t k = begin; k < span.end; ++k)
            wrong |= (a[k] < a[k - 1]) | ((a[k] == a[k - 1]) & (b[k] <= b[k - 1])) | (a[k] >= b[k]);
        return wrong;
    });
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
    m.def("copy_verdicts", &copy_verdicts);
}

}  // namespace jamrank
