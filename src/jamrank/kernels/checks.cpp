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
}

}  // namespace jamrank
