// What every pass is made of: arithmetic that vectorises, and the items of one chunk of rows after another.
//
// Included once for each instruction set, inside its namespace.
#pragma once

#include <algorithm>
#include <cstring>

#include "passes.hpp"

namespace jamrank {
namespace JAMRANK_ISA {
namespace {

// Rows are taken in chunks that stay in the first-level cache: arithmetic on a whole chunk is a plain loop that
// the compiler turns into vector instructions, and only the scattered sums are left scalar.
constexpr size_t kChunk = 128;
constexpr double kLargestMargin = 700.0;
constexpr double kLeastCurvature = 0.1;

inline double from_bits(uint64_t bits) {
    double value;
    std::memcpy(&value, &bits, sizeof value);
    return value;
}

inline uint64_t to_bits(double value) {
    uint64_t bits;
    std::memcpy(&bits, &value, sizeof bits);
    return bits;
}

// exp(x) for -708 <= x <= 0, to about one unit in the last place: x = n ln 2 + r, |r| <= ln 2 / 2, Taylor in r.
inline double exp_nonpositive(double x) {
    constexpr double shift = 6755399441055744.0;  // 1.5 * 2^52: adding it leaves round(x) in the low bits
    const double shifted = x * 1.4426950408889634 + shift;
    const double n = shifted - shift;
    const double r = (x - n * 6.93147180369123816490e-01) - n * 1.90821492927058770002e-10;
    const double r2 = r * r, r4 = r2 * r2;
    const double low = (1.0 + r) + r2 * (0.5 + r * (1.0 / 6.0));
    const double middle = (1.0 / 24.0 + r * (1.0 / 120.0)) + r2 * (1.0 / 720.0 + r * (1.0 / 5040.0));
    const double high = (1.0 / 40320.0 + r * (1.0 / 362880.0)) +
                        r2 * (1.0 / 3628800.0 + r * (1.0 / 39916800.0)) + r4 * (1.0 / 479001600.0);
    const double p = low + r4 * (middle + r4 * high);
    return p * from_bits((to_bits(shifted) + 1023) << 52);
}

// log(x) for normal x > 0: x = 2^k f with f near 1, then the series of atanh((f - 1) / (f + 1)).
inline double log_positive(double x) {
    const uint64_t bits = to_bits(x);
    const uint64_t above = bits - 0x3fe6a09e667f3bcdULL;  // bits of sqrt(1/2): f lies in [sqrt(1/2), sqrt(2))
    const uint64_t k = (above >> 52) & 0xfff;
    const double f = from_bits(bits - (k << 52));
    // k is a 12-bit two's complement number; magic addition turns it into a double without a conversion.
    const double exponent = from_bits(((k ^ 0x800) | 0x4330000000000000ULL)) - (4503599627370496.0 + 2048.0);
    const double s = (f - 1.0) / (f + 1.0);
    const double z = s * s;
    double p = 1.0 / 21.0;
    p = p * z + 1.0 / 19.0;
    p = p * z + 1.0 / 17.0;
    p = p * z + 1.0 / 15.0;
    p = p * z + 1.0 / 13.0;
    p = p * z + 1.0 / 11.0;
    p = p * z + 1.0 / 9.0;
    p = p * z + 1.0 / 7.0;
    p = p * z + 1.0 / 5.0;
    p = p * z + 1.0 / 3.0;
    p = p * z + 1.0;
    return exponent * 6.93147180559945309417e-01 + 2.0 * s * p;
}

inline double sum_of(const double* value, size_t count) {
    // Four sums at a time: one alone would wait for itself at every step.
    double a = 0.0, b = 0.0, c = 0.0, d = 0.0;
    size_t k = 0;
    for (; k + 4 <= count; k += 4) {
        a += value[k];
        b += value[k + 1];
        c += value[k + 2];
        d += value[k + 3];
    }
    for (; k < count; ++k) a += value[k];
    return (a + b) + (c + d);
}

// Sum of the weighted logarithms of likelihoods. Without weights eight are multiplied before each logarithm: none
// is so small or large that their product could vanish or overflow, for one that is sends the chunk the long way.
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

// A run of rows with the same first item, within a chunk.
struct Run {
    int32_t item;
    int32_t from, to;
};

// The items of one chunk of rows after another.
class Chunks {
  public:
    Chunks(const Rows& rows, size_t begin) : rows_(rows), at_(begin) {
        // The first item of the row at which to begin.
        size_t low = 0, high = rows.items;
        while (high - low > 1) {
            const size_t middle = (low + high) / 2;
            (start(middle) <= begin ? low : high) = middle;
        }
        item_ = low;
    }

    void next(size_t count) {
        runs = 0;
        for (size_t k = 0; k < count;) {
            while (start(item_ + 1) <= at_ + k) ++item_;
            const size_t end = std::min(count, start(item_ + 1) - at_);
            run[runs++] = {static_cast<int32_t>(item_), static_cast<int32_t>(k), static_cast<int32_t>(end)};
            const auto item = static_cast<int32_t>(item_);
            for (size_t r = k; r < end; ++r) first[r] = item;
            if (!rows_.start) {
                const auto skip = static_cast<int32_t>(item_ + 1 + at_ - start(item_));
                for (size_t r = k; r < end; ++r) own_[r] = skip + static_cast<int32_t>(r);
            }
            k = end;
        }
        if (rows_.start && rows_.near_second)
            for (size_t k = 0; k < count; ++k) own_[k] = rows_.near_second[at_ + k];
        second = rows_.start && !rows_.near_second ? rows_.second + at_ : own_;
        at_ += count;
    }

    // Whether the second items of a run follow each other.
    bool consecutive() const { return !rows_.start; }

    int32_t first[kChunk];
    const int32_t* second = nullptr;
    Run run[kChunk];
    size_t runs = 0;

  private:
    size_t start(size_t item) const {
        return rows_.start ? static_cast<size_t>(rows_.start[item]) : item * rows_.items - item * (item + 1) / 2;
    }
    const Rows& rows_;
    size_t at_, item_;
    int32_t own_[kChunk];
};

}  // namespace
}  // namespace JAMRANK_ISA
}  // namespace jamrank
