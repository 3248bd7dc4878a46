// The rows of a block in chunks, and the scattered sums over them.
#pragma once

#include <algorithm>

#include "numeric.hpp"
#include "passes.hpp"

namespace jamrank {
namespace JAMRANK_ISA {
namespace {

// Rows are taken in chunks that stay in the first-level cache: arithmetic on a whole chunk is a plain loop that
// the compiler turns into vector instructions, and only the scattered sums are left scalar.
constexpr size_t kChunk = 128;

// The first row of an item.
inline size_t start_of(const Rows& rows, size_t item) {
    return rows.start ? static_cast<size_t>(rows.start[item]) : item * rows.items - item * (item + 1) / 2;
}

// The first item of a row.
inline size_t item_at(const Rows& rows, size_t row) {
    size_t low = 0, high = rows.items;
    while (high - low > 1) {
        const size_t middle = (low + high) / 2;
        (start_of(rows, middle) <= row ? low : high) = middle;
    }
    return low;
}

// A run of rows with the same first item, within a chunk.
struct Run {
    int32_t item;
    int32_t from, to;
};

// The items of one chunk of rows after another.
class Chunks {
  public:
    Chunks(const Rows& rows, size_t begin) : rows_(rows), at_(begin), item_(item_at(rows, begin)) {}

    void next(size_t count) {
        runs = 0;
        for (size_t k = 0; k < count;) {
            while (start_of(rows_, item_ + 1) <= at_ + k) ++item_;
            const size_t end = std::min(count, start_of(rows_, item_ + 1) - at_);
            run[runs++] = {static_cast<int32_t>(item_), static_cast<int32_t>(k), static_cast<int32_t>(end)};
            if (!rows_.start) {
                const auto skip = static_cast<int32_t>(item_ + 1 + at_ - start_of(rows_, item_));
                for (size_t r = k; r < end; ++r) own_[r] = skip + static_cast<int32_t>(r);
            }
            k = end;
        }
        if (rows_.start && rows_.near_second)
            for (size_t k = 0; k < count; ++k) own_[k] = rows_.near_second[at_ + k];
        second = rows_.start && !rows_.near_second ? rows_.second + at_ : own_;
        at_ += count;
    }

    // The entry of each row's first item.
    void of_first(const double* by_item, double* out) const {
        for (size_t r = 0; r < runs; ++r) {
            const double entry = by_item[run[r].item];
            for (int32_t k = run[r].from; k < run[r].to; ++k) out[k] = entry;
        }
    }

    // Whether the second items of a run follow each other.
    bool consecutive() const { return !rows_.start; }

    // Whether there are many rows of the same pair, which are neighbours. Where there are few, to tell them apart
    // costs more than to visit a sum again.
    bool repeated(size_t count) const {
        uint32_t same = 0;
        for (size_t k = 0; k + 1 < count; ++k) same += second[k] == second[k + 1];
        return 8 * same > 7 * count;
    }

    const int32_t* second = nullptr;
    Run run[kChunk];
    size_t runs = 0;

  private:
    const Rows& rows_;
    size_t at_, item_;
    int32_t own_[kChunk];
};

inline double sum_of(const double* value, size_t count) {
    // Eight sums at a time: one alone would wait for itself at every step.
    double sum[8] = {};
    size_t k = 0;
    for (; k + 8 <= count; k += 8)
        for (size_t part = 0; part < 8; ++part) sum[part] += value[k + part];
    for (; k < count; ++k) sum[0] += value[k];
    return ((sum[0] + sum[4]) + (sum[1] + sum[5])) + ((sum[2] + sum[6]) + (sum[3] + sum[7]));
}

// Sum of the weighted logarithms of likelihoods. Without weights eight are multiplied before each logarithm: none
// is so small or large that their product could vanish or overflow, for one that is sends the chunk the long way;
// `mild` says that none can be.
inline double log_sum(const double* weight, size_t count, const double* likelihood, bool mild) {
    double term[kChunk], sum = 0.0, smallest = 1.0, largest = 1.0;
    if (!mild)
        for (size_t k = 0; k < count; ++k) {
            smallest = std::min(smallest, likelihood[k]);
            largest = std::max(largest, likelihood[k]);
        }
    size_t terms = count;
    if (!weight && smallest > 1e-37 && largest < 1e37) {
        terms = count / 8;
        std::copy(likelihood, likelihood + terms, term);
        for (size_t part = 1; part < 8; ++part)
            for (size_t k = 0; k < terms; ++k) term[k] *= likelihood[part * terms + k];
        for (size_t k = 8 * (count / 8); k < count; ++k) term[terms++] = likelihood[k];
        for (size_t k = 0; k < terms; ++k) term[k] = log_positive(term[k]);
    } else {
        for (size_t k = 0; k < count; ++k) term[k] = log_positive(likelihood[k]) * (weight ? weight[k] : 1.0);
    }
    for (size_t k = 0; k < terms; ++k) sum += term[k];
    return sum;
}

// What each row of a run says of its second item: its derivative and, if wanted, its curvature.
struct Said {
    const double* derivative;
    const double* curvature;
    size_t length;
};

template <bool kBent>
inline void add_in_order(size_t second, const Said& said, Sums& sums) {
    double* gradient = sums.gradient + second;
    for (size_t k = 0; k < said.length; ++k) gradient[k] -= said.derivative[k];
    if (!kBent) return;
    double* degree = sums.degree + second;
    for (size_t k = 0; k < said.length; ++k) degree[k] += said.curvature[k];
}

template <bool kBent>
inline void add_apart(const int32_t* second, const Said& said, Sums& sums) {
    double* gradient = sums.gradient;
    double* degree = sums.degree;
    for (size_t k = 0; k < said.length; ++k) {
        const size_t other = (kBent ? 2 : 1) * static_cast<size_t>(second[k]);
        gradient[other] -= said.derivative[k];
        if (kBent) degree[other] += said.curvature[k];
    }
}

template <bool kBent>
inline void add_repeated(const int32_t* second, const Said& said, Sums& sums) {
    for (size_t k = 0; k < said.length; ++k) {
        const size_t other = (kBent ? 2 : 1) * static_cast<size_t>(second[k]);
        double slope = said.derivative[k], bend = kBent ? said.curvature[k] : 0.0;
        for (; k + 1 < said.length && second[k + 1] == second[k]; ++k) {
            slope += said.derivative[k + 1];
            if (kBent) bend += said.curvature[k + 1];
        }
        sums.gradient[other] -= slope;
        if (kBent) sums.degree[other] += bend;
    }
}

// Adds what the rows of a chunk say to the sums of their items; without curvature the gradient alone.
template <bool kBent>
inline void scatter(const Chunks& items, size_t count, const double* derivative, const double* curvature, Sums& sums) {
    const bool in_order = items.consecutive(), repeated = !in_order && items.repeated(count);
    const size_t step = kBent && !in_order ? 2 : 1;
    for (size_t r = 0; r < items.runs; ++r) {
        const Run run = items.run[r];
        const Said said{derivative + run.from, curvature + run.from, static_cast<size_t>(run.to - run.from)};
        const int32_t* second = items.second + run.from;
        sums.gradient[step * run.item] += sum_of(said.derivative, said.length);
        if (kBent) sums.degree[step * run.item] += sum_of(said.curvature, said.length);
        if (in_order) {
            add_in_order<kBent>(second[0], said, sums);
        } else if (repeated) {
            add_repeated<kBent>(second, said, sums);
        } else {
            add_apart<kBent>(second, said, sums);
        }
    }
}

// The same with the observed curvature as a third sum of each item, side by side with the other two.
inline void scatter_observed(const Chunks& items, const double* derivative, const double* curvature, const double* observed,
                             double* by_item) {
    for (size_t r = 0; r < items.runs; ++r) {
        const Run run = items.run[r];
        const size_t length = run.to - run.from;
        double* own = by_item + 3 * static_cast<size_t>(run.item);
        own[0] += sum_of(derivative + run.from, length);
        own[1] += sum_of(curvature + run.from, length);
        own[2] += sum_of(observed + run.from, length);
        for (int32_t k = run.from; k < run.to; ++k) {
            double* other = by_item + 3 * static_cast<size_t>(items.second[k]);
            other[0] -= derivative[k];
            other[1] += curvature[k];
            other[2] += observed[k];
        }
    }
}

// Neighbouring rows often have the same pattern: four tables in turn, so that an addition need not wait for the one before.
template <typename Code>
inline void tally(const Code* pattern, size_t count, const double* value, Sums& sums) {
    double* table = sums.by_pattern;
    const size_t stride = sums.patterns;
    size_t k = 0;
    for (; k + 4 <= count; k += 4) {
        table[pattern[k]] += value[k];
        table[stride + pattern[k + 1]] += value[k + 1];
        table[2 * stride + pattern[k + 2]] += value[k + 2];
        table[3 * stride + pattern[k + 3]] += value[k + 3];
    }
    for (; k < count; ++k) table[pattern[k]] += value[k];
}

}  // namespace
}  // namespace JAMRANK_ISA
}  // namespace jamrank
