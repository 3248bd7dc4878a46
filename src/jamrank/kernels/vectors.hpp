// The expectation in vectors of eight rows, where the processor has registers of 512 bits: from patterns and
// exp(score) to the sums without a detour through memory, but for what is scattered.
#pragma once

#include <algorithm>

#include "chunks.hpp"
#include "numeric.hpp"
#include "passes.hpp"

#if defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512DQ__) && defined(__AVX512VL__)
#include <immintrin.h>
#define JAMRANK_VECTORS
#endif

namespace jamrank {
namespace JAMRANK_ISA {
namespace {

#ifdef JAMRANK_VECTORS

using Vector = __m512d;
constexpr size_t kLanes = 8;
// Vectors between two rounds of scattered sums: enough for the processor to work on both at once.
constexpr size_t kGroup = 4;

inline __mmask8 lanes(size_t count) { return static_cast<__mmask8>((1u << count) - 1); }

// Entries of a table; 0 beyond `count` of them.
template <typename Index>
inline Vector fetch(const double* table, const Index* at, size_t count) {
    if (count == kLanes)
        return _mm512_set_pd(table[at[7]], table[at[6]], table[at[5]], table[at[4]], table[at[3]], table[at[2]],
                             table[at[1]], table[at[0]]);
    alignas(64) double entry[kLanes] = {};
    for (size_t k = 0; k < count; ++k) entry[k] = table[at[k]];
    return _mm512_load_pd(entry);
}

// A table that stays in registers.
class Held {
  public:
    static constexpr size_t kMost = 64;

    explicit Held(const Table& table) {
        double entry[kMost] = {};
        std::copy(table.if_second, table.if_second + table.size, entry);
        for (size_t k = 0; k < kMost / kLanes; ++k) part_[k] = _mm512_loadu_pd(entry + k * kLanes);
    }
    Vector at(const uint8_t* pattern, size_t count) const {
        const __m128i bytes = count == kLanes ? _mm_loadl_epi64(reinterpret_cast<const __m128i*>(pattern))
                                              : _mm_maskz_loadu_epi8(lanes(count), pattern);
        const __m512i code = _mm512_cvtepu8_epi64(bytes);
        const __mmask8 odd = _mm512_test_epi64_mask(code, _mm512_set1_epi64(16));
        const __mmask8 upper = _mm512_test_epi64_mask(code, _mm512_set1_epi64(32));
        const Vector low = _mm512_mask_blend_pd(odd, _mm512_permutex2var_pd(part_[0], code, part_[1]),
                                                _mm512_permutex2var_pd(part_[2], code, part_[3]));
        const Vector high = _mm512_mask_blend_pd(odd, _mm512_permutex2var_pd(part_[4], code, part_[5]),
                                                 _mm512_permutex2var_pd(part_[6], code, part_[7]));
        return _mm512_mask_blend_pd(upper, low, high);
    }

  private:
    Vector part_[kMost / kLanes];
};

// One that does not fit.
class Fetched {
  public:
    explicit Fetched(const Table& table) : entries_(table.if_second) {}
    template <typename Code>
    Vector at(const Code* pattern, size_t count) const {
        return fetch(entries_, pattern, count);
    }

  private:
    const double* entries_;
};

// The product of all likelihoods, lane by lane: one logarithm a block will do, as long as exponents are split off
// before they grow too large.
class Likelihood {
  public:
    void multiply(Vector factor) { product_ = _mm512_mul_pd(product_, factor); }
    void split() {
        exponent_ = _mm512_add_pd(exponent_, _mm512_getexp_pd(product_));
        product_ = _mm512_getmant_pd(product_, _MM_MANT_NORM_1_2, _MM_MANT_SIGN_src);
    }
    double log() const {
        double product[kLanes], exponent[kLanes], sum = 0.0;
        _mm512_storeu_pd(product, product_);
        _mm512_storeu_pd(exponent, exponent_);
        for (size_t k = 0; k < kLanes; ++k) sum += exponent[k] * kLogOfTwo + log_positive(product[k]);
        return sum;
    }

  private:
    Vector product_ = _mm512_set1_pd(1.0), exponent_ = _mm512_setzero_pd();
};

// Sums by pattern: a table for each lane, so that no sum waits for its neighbour.
template <typename Code>
class Tally {
  public:
    explicit Tally(Sums& sums) : sums_(sums) {}
    void add(const Code* pattern, size_t count, const double* value) {
        if (sums_.by_pattern) tally(pattern, count, value, sums_);
    }
    void write_out() {}

  private:
    Sums& sums_;
};

template <>
class Tally<uint8_t> {
  public:
    explicit Tally(Sums& sums) : sums_(sums) {
        for (auto& table : table_) std::fill_n(table, sums.patterns, 0.0);
    }
    void add(const uint8_t* pattern, size_t count, const double* value) {
        if (!sums_.by_pattern) return;
        size_t k = 0;
        for (; k + kLanes <= count; k += kLanes) {
            table_[0][pattern[k]] += value[k];
            table_[1][pattern[k + 1]] += value[k + 1];
            table_[2][pattern[k + 2]] += value[k + 2];
            table_[3][pattern[k + 3]] += value[k + 3];
            table_[4][pattern[k + 4]] += value[k + 4];
            table_[5][pattern[k + 5]] += value[k + 5];
            table_[6][pattern[k + 6]] += value[k + 6];
            table_[7][pattern[k + 7]] += value[k + 7];
        }
        for (; k < count; ++k) table_[0][pattern[k]] += value[k];
    }
    void write_out() {
        for (const auto& table : table_)
            for (size_t p = 0; p < sums_.patterns; ++p) sums_.by_pattern[p] += table[p];
    }

  private:
    Sums& sums_;
    // A little longer than 256: entries of the same pattern must not lie a power of two apart.
    double table_[kLanes][264];
};

struct Inference {
    Vector q, derivative, curvature;
};

template <bool kBent>
inline Inference infer(Vector e, Vector ratio, Likelihood& likelihood) {
    const Vector one = _mm512_set1_pd(1.0), sum = _mm512_add_pd(one, e);
    const Vector joint = _mm512_fmadd_pd(e, ratio, one);
    // A division costs less here than an approximation and its steps: it runs beside everything else.
    const Vector inverse = _mm512_div_pd(one, _mm512_mul_pd(sum, joint));
    const Vector prior = _mm512_mul_pd(inverse, joint);
    Inference row;
    row.q = _mm512_min_pd(one, _mm512_mul_pd(inverse, sum));
    row.derivative = _mm512_sub_pd(row.q, prior);
    likelihood.multiply(_mm512_mul_pd(joint, prior));
    if (kBent) {
        const Vector bend = _mm512_mul_pd(e, _mm512_mul_pd(prior, prior));
        const Vector open = _mm512_fnmadd_pd(row.q, _mm512_sub_pd(one, row.q), bend);
        row.curvature = _mm512_max_pd(_mm512_mul_pd(bend, _mm512_set1_pd(kLeastCurvature)), open);
    }
    return row;
}

// All pairs of the items: both the second items' exponentials and their sums are read and written in order.
template <bool kBent, typename Code, typename Ratios>
void expect_all_pairs(const Rows& rows, const Code* patterns, const Table& table, const Scores& scores, size_t begin,
                      size_t end, double* posterior, float* curvature, Sums& sums) {
    const Ratios ratios(table);
    const size_t group = kLanes * std::min(kGroup, table.together);
    alignas(64) double q[kLanes * kGroup];
    Tally<Code> by_pattern(sums);
    Likelihood likelihood;
    size_t at = begin;
    for (size_t item = item_at(rows, begin); at < end; ++item) {
        const size_t run_end = std::min(end, start_of(rows, item + 1));
        const Vector down = _mm512_set1_pd(scores.down[item]);
        Vector slope = _mm512_setzero_pd(), bend = _mm512_setzero_pd();
        for (size_t j = item + 1 + at - start_of(rows, item); at < run_end;) {
            const size_t rows_left = std::min(group, run_end - at);
            const auto step = [&](size_t k, size_t count) __attribute__((always_inline)) {
                const __mmask8 mask = lanes(count);
                const Vector e = _mm512_mul_pd(down, _mm512_maskz_loadu_pd(mask, scores.up + j + k));
                const Inference row = infer<kBent>(e, ratios.at(patterns + at + k, count), likelihood);
                slope = _mm512_add_pd(slope, row.derivative);
                double* gradient = sums.gradient + j + k;
                const Vector old = _mm512_maskz_loadu_pd(mask, gradient);
                _mm512_mask_storeu_pd(gradient, mask, _mm512_sub_pd(old, row.derivative));
                _mm512_store_pd(q + k, row.q);
                if (posterior) _mm512_mask_storeu_pd(posterior + at + k, mask, row.q);
                if (kBent) {
                    bend = _mm512_add_pd(bend, row.curvature);
                    double* degree = sums.degree + j + k;
                    const Vector before = _mm512_maskz_loadu_pd(mask, degree);
                    _mm512_mask_storeu_pd(degree, mask, _mm512_add_pd(before, row.curvature));
                    _mm256_mask_storeu_ps(curvature + at + k, mask, _mm512_cvtpd_ps(row.curvature));
                }
            };
            size_t k = 0;
            for (; k + kLanes <= rows_left; k += kLanes) step(k, kLanes);
            if (k < rows_left) step(k, rows_left - k);
            likelihood.split();
            by_pattern.add(patterns + at, rows_left, q);
            at += rows_left;
            j += rows_left;
        }
        sums.gradient[item] += _mm512_reduce_add_pd(slope);
        if (kBent) sums.degree[item] += _mm512_reduce_add_pd(bend);
    }
    by_pattern.write_out();
    sums.value += likelihood.log();
}

template <bool kBent, typename Code, typename Ratios>
void expect_indexed(const Rows& rows, const Code* patterns, const Table& table, const Scores& scores, size_t begin,
                    size_t end, double* posterior, float* curvature, Sums& sums) {
    const Ratios ratios(table);
    const size_t group = kLanes * std::min(kGroup, table.together);
    alignas(64) double q[kChunk], derivative[kChunk], bend[kChunk], down[kChunk];
    Tally<Code> by_pattern(sums);
    Likelihood likelihood;
    Chunks items(rows, begin);
    for (size_t at = begin; at < end; at += kChunk) {
        const size_t rows_left = std::min(kChunk, end - at);
        items.next(rows_left);
        items.of_first(scores.down, down);
        const auto step = [&](size_t k, size_t count) __attribute__((always_inline)) {
            const __mmask8 mask = lanes(count);
            const Vector up = fetch(scores.up, items.second + k, count);
            const Vector e = _mm512_mul_pd(_mm512_maskz_load_pd(mask, down + k), up);
            const Inference row = infer<kBent>(e, ratios.at(patterns + at + k, count), likelihood);
            _mm512_store_pd(derivative + k, row.derivative);
            _mm512_store_pd(q + k, row.q);
            if (posterior) _mm512_mask_storeu_pd(posterior + at + k, mask, row.q);
            if (kBent) {
                _mm512_store_pd(bend + k, row.curvature);
                _mm256_mask_storeu_ps(curvature + at + k, mask, _mm512_cvtpd_ps(row.curvature));
            }
        };
        for (size_t k = 0; k < rows_left;) {
            const size_t stop = std::min(rows_left, k + group);
            for (; k + kLanes <= stop; k += kLanes) step(k, kLanes);
            if (k < stop) {
                step(k, stop - k);
                k = stop;
            }
            likelihood.split();
        }
        scatter<kBent>(items, rows_left, derivative, bend, sums);
        by_pattern.add(patterns + at, rows_left, q);
    }
    by_pattern.write_out();
    sums.value += likelihood.log();
}

template <typename Code, typename Ratios>
void expect_with(const Rows& rows, const Code* patterns, const Table& table, const Scores& scores, size_t begin,
                 size_t end, double* posterior, float* curvature, Sums& sums) {
    const auto indexed = curvature ? expect_indexed<true, Code, Ratios> : expect_indexed<false, Code, Ratios>;
    const auto all_pairs = curvature ? expect_all_pairs<true, Code, Ratios> : expect_all_pairs<false, Code, Ratios>;
    const auto pass = rows.start ? indexed : all_pairs;
    pass(rows, patterns, table, scores, begin, end, posterior, curvature, sums);
}

inline void expect_in_vectors(const Rows& rows, const Table& table, const Scores& scores, size_t begin, size_t end,
                              double* posterior, float* curvature, Sums& sums) {
    if (!rows.few_patterns) {
        expect_with<int32_t, Fetched>(rows, rows.pattern, table, scores, begin, end, posterior, curvature, sums);
    } else if (table.size <= Held::kMost) {
        expect_with<uint8_t, Held>(rows, rows.few_patterns, table, scores, begin, end, posterior, curvature, sums);
    } else {
        expect_with<uint8_t, Fetched>(rows, rows.few_patterns, table, scores, begin, end, posterior, curvature, sums);
    }
}

inline bool suits_vectors(const Rows& rows, const Table& table, const Scores& scores) {
    return scores.up && table.together && !rows.weight;
}

#else

inline bool suits_vectors(const Rows&, const Table&, const Scores&) { return false; }

inline void expect_in_vectors(const Rows&, const Table&, const Scores&, size_t, size_t, double*, float*, Sums&) {}

#endif

}  // namespace
}  // namespace JAMRANK_ISA
}  // namespace jamrank
