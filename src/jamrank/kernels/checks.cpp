// What is asked of long arrays before they are used: bounds, order, equality.
#include "bindings.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <utility>
#include <vector>

#include "blocks.hpp"

namespace jamrank {
namespace {

// The smallest and the largest of some values, of which there is one at least and none is NaN.
template <typename Value>
std::pair<Value, Value> extremes(const Array<const Value>& values, int threads) {
    const size_t n = values.size(), blocks = block_count(n, 1);
    require(n > 0, "no values");
    const Value* value = values.data();
    std::vector<std::pair<Value, Value>> found(blocks);
    {
        nb::gil_scoped_release release;
        for_blocks(blocks, threads, [&, value](size_t block) {
            const Span span = span_of(block, blocks, n);
            Value low = value[span.begin], high = low;
            for (size_t k = span.begin; k < span.end; ++k) {
                low = std::min(low, value[k]);
                high = std::max(high, value[k]);
            }
            found[block] = {low, high};
        });
    }
    for (const auto& own : found) found[0] = {std::min(found[0].first, own.first), std::max(found[0].second, own.second)};
    return found[0];
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

void copy_bytes(const Array<const uint8_t>& from, Array<uint8_t> to, int threads) {
    const size_t n = from.size(), blocks = block_count(n, 1);
    require(to.size() == n, "arrays of different length");
    const uint8_t* source = from.data();
    uint8_t* target = to.data();
    nb::gil_scoped_release release;
    for_blocks(blocks, threads, [=](size_t block) {
        const Span span = span_of(block, blocks, n);
        std::memcpy(target + span.begin, source + span.begin, span.end - span.begin);
    });
}

template <typename Value>
nb::object extremes_as_tuple(const Array<const Value>& values, int threads) {
    const auto found = extremes(values, threads);
    return nb::make_tuple(found.first, found.second);
}

}  // namespace

void bind_checks(nb::module_& m) {
    m.def("extremes", &extremes_as_tuple<int8_t>);
    m.def("extremes", &extremes_as_tuple<int32_t>);
    m.def("extremes", &extremes_as_tuple<int64_t>);
    m.def("extremes", &extremes_as_tuple<double>);
    m.def("any_equal", &any_equal<int32_t>);
    m.def("any_equal", &any_equal<int64_t>);
    m.def("in_order", &in_order);
    m.def("copy_bytes", &copy_bytes);
}

}  // namespace jamrank
