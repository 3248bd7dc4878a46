// What is asked of long arrays before they are used: bounds, order, equality.
#include "bindings.hpp"

#include <algorithm>
#include <atomic>
#include <limits>
#include <memory>
#include <mutex>
#include <vector>

#include "blocks.hpp"

namespace jamrank {
namespace {

template <typename Value>
struct Bounds {
    Value low = std::numeric_limits<Value>::max(), high = std::numeric_limits<Value>::lowest();

    void add(Value value) {
        low = value < low ? value : low;
        high = value > high ? value : high;
    }
    void add(const Bounds& other) {
        add(other.low);
        add(other.high);
    }
};

// The smallest and the largest of some values, of which there is one at least and none is NaN. `work` adds those of a span,
// and does whatever else it does with them: reading long arrays is what takes time.
template <typename Value, typename Work>
nb::object bounds_of(size_t n, int threads, const Work& work) {
    require(n > 0, "no values");
    const size_t blocks = std::min<size_t>(block_count(n, 1), std::max(threads, 1));
    std::vector<Bounds<Value>> found(blocks);
    {
        nb::gil_scoped_release release;
        for_blocks(blocks, threads, [&](size_t block) { found[block] = work(span_of(block, blocks, n)); });
    }
    Bounds<Value> all;
    for (const auto& own : found) all.add(own);
    return nb::make_tuple(all.low, all.high);
}

template <typename Value>
nb::object extremes(const Array<const Value>& values, int threads) {
    const Value* value = values.data();
    return bounds_of<Value>(values.size(), threads, [=](Span span) {
        Bounds<Value> own;
        for (size_t k = span.begin; k < span.end; ++k) own.add(value[k]);
        return own;
    });
}

// Copies values, and returns their extremes.
nb::object copy_bounded(const Array<const int8_t>& from, Array<int8_t> to, int threads) {
    require(to.size() == from.size(), "arrays of different length");
    const int8_t* source = from.data();
    int8_t* target = to.data();
    return bounds_of<int8_t>(from.size(), threads, [=](Span span) {
        Bounds<int8_t> own;
        for (size_t k = span.begin; k < span.end; ++k) {
            const int8_t value = source[k];
            target[k] = value;
            own.add(value);
        }
        return own;
    });
}

// Marks the ids that occur, as far as there are marks, and returns the smallest and the largest.
template <typename Id>
nb::object survey_ids(const Array<const Id>& ids, Array<uint8_t> seen, int threads) {
    const Id* id = ids.data();
    uint8_t* all = seen.data();
    const size_t range = seen.size();
    std::mutex merging;
    return bounds_of<Id>(ids.size(), threads, [&, id, all, range](Span span) {
        Bounds<Id> own;
        // Marks of its own, so that threads do not write to the same memory.
        const std::unique_ptr<uint8_t[]> marks(new uint8_t[range + 1]());
        uint8_t* mark = marks.get();
        for (size_t k = span.begin; k < span.end; ++k) {
            const Id value = id[k];
            own.add(value);
            const auto place = static_cast<uint64_t>(value);
            mark[place < range ? place : range] = 1;
        }
        const std::lock_guard<std::mutex> lock(merging);
        for (size_t k = 0; k < range; ++k) all[k] |= mark[k];
        return own;
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
    m.def("extremes", &extremes<int64_t>);
    m.def("extremes", &extremes<double>);
    m.def("any_equal", &any_equal<int32_t>);
    m.def("any_equal", &any_equal<int64_t>);
    m.def("in_order", &in_order);
    m.def("copy_bounded", &copy_bounded);
    m.def("survey_ids", &survey_ids<int32_t>);
    m.def("survey_ids", &survey_ids<int64_t>);
}

}  // namespace jamrank
