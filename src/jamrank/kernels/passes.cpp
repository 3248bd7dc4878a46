#include "passes.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

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

inline void margins(const Chunks& items, const double* scores, size_t count, double* margin) {
    for (size_t k = 0; k < count; ++k) {
        const double m = scores[items.first[k]] - scores[items.second[k]];
        margin[k] = std::min(std::max(m, -kLargestMargin), kLargestMargin);
    }
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

// An item's gradient and degree lie side by side: one row touches two places, not four.
inline void scatter(const Chunks& items, const double* derivative, const double* curvature, Sums& sums) {
    for (size_t r = 0; r < items.runs; ++r) {
        const Run run = items.run[r];
        const size_t length = run.to - run.from;
        double* own = sums.by_item + 2 * static_cast<size_t>(run.item);
        own[0] += sum_of(derivative + run.from, length);
        own[1] += sum_of(curvature + run.from, length);
        if (items.consecutive()) {
            double* other = sums.by_item + 2 * static_cast<size_t>(items.second[run.from]);
            const double* d = derivative + run.from;
            const double* c = curvature + run.from;
            for (size_t k = 0; k < length; ++k) {
                other[2 * k] -= d[k];
                other[2 * k + 1] += c[k];
            }
            continue;
        }
        for (int32_t k = run.from; k < run.to; ++k) {
            double* other = sums.by_item + 2 * static_cast<size_t>(items.second[k]);
            double d = derivative[k], c = curvature[k];
            // Rows of the same pair are neighbours: one visit will do.
            for (; k + 1 < run.to && items.second[k + 1] == items.second[k]; ++k) {
                d += derivative[k + 1];
                c += curvature[k + 1];
            }
            other[0] -= d;
            other[1] += c;
        }
    }
}

// Neighbouring rows often have the same pattern: four tables in turn keep one sum from waiting for the last.
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

inline void weigh(const Rows& rows, size_t begin, size_t count, double* a, double* b, double* c) {
    if (!rows.weight) return;
    const double* weight = rows.weight + begin;
    for (size_t k = 0; k < count; ++k) {
        a[k] *= weight[k];
        b[k] *= weight[k];
        c[k] *= weight[k];
    }
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

template <typename Code>
inline void lookup(const Table& table, const Code* pattern, size_t count, double* if_first,
                   double* if_second) {
    if (table.if_first)
        for (size_t k = 0; k < count; ++k) if_first[k] = table.if_first[pattern[k]];
    for (size_t k = 0; k < count; ++k) if_second[k] = table.if_second[pattern[k]];
}

// Posterior, derivative, curvature and likelihood of each row of a chunk.
struct Inferred {
    double q[kChunk], derivative[kChunk], curvature[kChunk], value[kChunk];
};

// What the votes leave open of the truth bends the likelihood the other way; never let it win.
inline double curvature_of(double bend, double q) { return std::max(bend - q * (1.0 - q), kLeastCurvature * bend); }

// From exp(-margin), a product where no score is too large for that. Without `first` all of it is 1.
inline void infer_by_product(const Chunks& items, const Scores& scores, size_t count, const double* first,
                             const double* second, Inferred& out) {
    double odds[kChunk];
    for (size_t r = 0; r < items.runs; ++r) {
        const double down = scores.down[items.run[r].item];
        for (int32_t k = items.run[r].from; k < items.run[r].to; ++k) odds[k] = down;
    }
    for (size_t k = 0; k < count; ++k) odds[k] *= scores.up[items.second[k]];
    if (!first) {
        for (size_t k = 0; k < count; ++k) {
            const double e = odds[k];
            const double joint = 1.0 + e * second[k];
            const double inverse = 1.0 / ((1.0 + e) * joint);
            const double prior = inverse * joint;
            const double q = std::min(inverse * (1.0 + e), 1.0);
            out.q[k] = q;
            out.derivative[k] = q - prior;
            out.curvature[k] = curvature_of(e * prior * prior, q);
            out.value[k] = joint * prior;
        }
        return;
    }
    for (size_t k = 0; k < count; ++k) {
        const double e = odds[k];
        const double joint = first[k] + e * second[k];
        const double inverse = 1.0 / ((1.0 + e) * joint);
        const double prior = inverse * joint;
        const double q = std::min(first[k] * (inverse * (1.0 + e)), 1.0);
        out.q[k] = q;
        out.derivative[k] = q - prior;
        out.curvature[k] = curvature_of(e * prior * prior, q);
        out.value[k] = joint * prior;
    }
}

// From exp(-|margin|), which neither overflows nor loses a small posterior.
inline void infer_by_margin(const Chunks& items, const Scores& scores, size_t count, const double* first,
                            const double* second, Inferred& out) {
    double margin[kChunk];
    margins(items, scores.score, count, margin);
    for (size_t k = 0; k < count; ++k) {
        const double m = margin[k];
        const double e = exp_nonpositive(-std::fabs(m));
        const double prior_first = m >= 0 ? 1.0 : e, prior_second = m >= 0 ? e : 1.0;
        const double joint_first = first ? prior_first * first[k] : prior_first;
        const double joint = joint_first + prior_second * second[k];
        const double inverse = 1.0 / ((1.0 + e) * joint);
        const double normaliser = inverse * joint;
        const double q = std::min(joint_first * (inverse * (1.0 + e)), 1.0);
        out.q[k] = q;
        out.derivative[k] = q - prior_first * normaliser;
        out.curvature[k] = curvature_of(e * normaliser * normaliser, q);
        out.value[k] = joint * normaliser;
    }
}

inline void infer(const Chunks& items, const Scores& scores, size_t count, const double* first, const double* second,
                  Inferred& out) {
    if (scores.up) {
        infer_by_product(items, scores, count, first, second, out);
    } else {
        infer_by_margin(items, scores, count, first, second, out);
    }
}

template <typename Code>
void expect(const Rows& rows, const Code* patterns, const Table& table, const Scores& scores, size_t begin, size_t end,
            double* posterior, float* curvature, Sums& sums) {
    double first[kChunk], second[kChunk];
    Inferred row;
    Chunks items(rows, begin);
    for (size_t at = begin; at < end; at += kChunk) {
        const size_t count = std::min(kChunk, end - at);
        const Code* pattern = patterns + at;
        items.next(count);
        lookup(table, pattern, count, first, second);
        infer(items, scores, count, table.if_first ? first : nullptr, second, row);
        if (posterior) std::copy(row.q, row.q + count, posterior + at);
        sums.value += log_sum(rows.weight ? rows.weight + at : nullptr, count, row.value, table.mild);
        weigh(rows, at, count, row.derivative, row.curvature, row.q);
        std::copy(row.curvature, row.curvature + count, curvature + at);
        scatter(items, row.derivative, row.curvature, sums);
        if (sums.by_pattern) tally(pattern, count, row.q, sums);
    }
}

void expectation(const Rows& rows, const Table& table, const Scores& scores, size_t begin, size_t end,
                 double* posterior, float* curvature, Sums& sums) {
    if (rows.few_patterns) {
        expect(rows, rows.few_patterns, table, scores, begin, end, posterior, curvature, sums);
    } else {
        expect(rows, rows.pattern, table, scores, begin, end, posterior, curvature, sums);
    }
}

// Likelihoods of each row's votes under both truths, divided by the larger, whose logarithms are added to `value`.
inline void collect(const Lists& lists, size_t at, size_t count, double* first, double* second, double& value) {
    double larger[kChunk];
    for (size_t k = 0; k < count; ++k) {
        double a = 0.0, b = 0.0;
        for (int64_t v = lists.start[at + k]; v < lists.start[at + k + 1]; ++v) {
            const double* entry = lists.log_likelihood + 2 * static_cast<size_t>(lists.vote[v]);
            const double weight = lists.weight ? lists.weight[v] : 1.0;
            b += weight * entry[0];
            a += weight * entry[1];
        }
        first[k] = a;
        second[k] = b;
    }
    for (size_t k = 0; k < count; ++k) {
        larger[k] = std::max(first[k], second[k]);
        first[k] = exp_nonpositive(std::max(first[k] - larger[k], -kLargestMargin));
        second[k] = exp_nonpositive(std::max(second[k] - larger[k], -kLargestMargin));
    }
    for (size_t k = 0; k < count; ++k) value += larger[k];
}

void expectation_lists(const Rows& rows, const Lists& lists, const Scores& scores, size_t begin, size_t end,
                       double* posterior, float* curvature, double* truly_first, Sums& sums) {
    double first[kChunk], second[kChunk];
    Inferred row;
    Chunks items(rows, begin);
    for (size_t at = begin; at < end; at += kChunk) {
        const size_t count = std::min(kChunk, end - at);
        items.next(count);
        collect(lists, at, count, first, second, sums.value);
        infer(items, scores, count, first, second, row);
        if (posterior) std::copy(row.q, row.q + count, posterior + at);
        sums.value += log_sum(nullptr, count, row.value, false);
        std::copy(row.curvature, row.curvature + count, curvature + at);
        scatter(items, row.derivative, row.curvature, sums);
        for (size_t k = 0; k < count; ++k)
            for (int64_t v = lists.start[at + k]; v < lists.start[at + k + 1]; ++v)
                truly_first[lists.vote[v]] += lists.weight ? lists.weight[v] * row.q[k] : row.q[k];
    }
}

inline void logistic(size_t count, const double* margin, const double* q, double* value, double* derivative,
                     double* curvature) {
    for (size_t k = 0; k < count; ++k) {
        const double m = margin[k];
        const double e = exp_nonpositive(-std::fabs(m));
        const double normaliser = 1.0 / (1.0 + e);
        derivative[k] = q[k] - (m >= 0 ? normaliser : e * normaliser);
        curvature[k] = e * normaliser * normaliser;
        value[k] = log_positive(normaliser) - (m >= 0 ? (1.0 - q[k]) * m : -q[k] * m);
    }
}

// Rennie's smooth hinge h(z): 1/2 - z below 0, (1 - z)^2 / 2 up to 1, then 0; value is -q h(m) - (1 - q) h(-m).
inline double hinge(double z) {
    const double gap = std::min(std::max(1.0 - z, 0.0), 1.0);
    return 0.5 * gap * gap - std::min(z, 0.0);
}

inline double hinge_slope(double z) { return -std::min(std::max(1.0 - z, 0.0), 1.0); }

inline void smooth_hinge(size_t count, const double* margin, const double* q, double* value,
                         double* derivative, double* curvature) {
    for (size_t k = 0; k < count; ++k) {
        const double m = margin[k];
        value[k] = -q[k] * hinge(m) - (1.0 - q[k]) * hinge(-m);
        derivative[k] = -q[k] * hinge_slope(m) + (1.0 - q[k]) * hinge_slope(-m);
        curvature[k] = std::fabs(m) >= 1.0 ? 0.0 : (m > 0 ? q[k] : 1.0 - q[k]);
    }
}

void maximisation(const Rows& rows, const double* posterior, const Scores& scores, Loss loss, size_t begin,
                  size_t end, float* curvature, Sums& sums) {
    double margin[kChunk], q[kChunk], value[kChunk], derivative[kChunk], c[kChunk];
    Chunks items(rows, begin);
    for (size_t at = begin; at < end; at += kChunk) {
        const size_t count = std::min(kChunk, end - at);
        items.next(count);
        margins(items, scores.score, count, margin);
        if (rows.few_patterns) {
            for (size_t k = 0; k < count; ++k) q[k] = posterior[rows.few_patterns[at + k]];
        } else if (rows.pattern) {
            for (size_t k = 0; k < count; ++k) q[k] = posterior[rows.pattern[at + k]];
        } else {
            std::copy(posterior + at, posterior + at + count, q);
        }
        const auto apply = loss == kLogistic ? logistic : smooth_hinge;
        apply(count, margin, q, value, derivative, c);
        weigh(rows, at, count, derivative, c, value);
        std::copy(c, c + count, curvature + at);
        for (size_t k = 0; k < count; ++k) sums.value += value[k];
        scatter(items, derivative, c, sums);
    }
}

void laplacian(const Rows& rows, const float* curvature, const double* vector, size_t begin, size_t end,
               double* product) {
    Chunks items(rows, begin);
    for (size_t at = begin; at < end; at += kChunk) {
        const size_t count = std::min(kChunk, end - at);
        items.next(count);
        const float* bend = curvature + at;
        for (size_t r = 0; r < items.runs; ++r) {
            const Run run = items.run[r];
            const double own = vector[run.item];
            double sum = 0.0;
            if (items.consecutive()) {
                double flow[kChunk];
                const size_t length = run.to - run.from;
                const double* other = vector + items.second[run.from];
                double* out = product + items.second[run.from];
                for (size_t k = 0; k < length; ++k) flow[k] = bend[run.from + k] * (own - other[k]);
                for (size_t k = 0; k < length; ++k) out[k] -= flow[k];
                sum = sum_of(flow, length);
            } else {
                for (int32_t k = run.from; k < run.to; ++k) {
                    const size_t j = items.second[k];
                    const double flow = bend[k] * (own - vector[j]);
                    sum += flow;
                    product[j] -= flow;
                }
            }
            product[run.item] += sum;
        }
    }
}

void assign(const Pairs& rows, const double* projections, const double* norms, int clusters, size_t begin,
            size_t end, int32_t* cluster, double* counts, double* sizes, double& value) {
    for (size_t r = begin; r < end; ++r) {
        const size_t i = rows.first[r], j = rows.second[r];
        const double* a = projections + i * clusters;
        const double* b = projections + j * clusters;
        int best = 0;
        double nearest = norms[0] - 2.0 * std::fabs(a[0] - b[0]);
        for (int d = 1; d < clusters; ++d) {
            const double distance = norms[d] - 2.0 * std::fabs(a[d] - b[d]);
            if (distance < nearest) {
                nearest = distance;
                best = d;
            }
        }
        // A difference square to its centroid has no side: it moves the centroid nowhere.
        const double sign = a[best] > b[best] ? 1.0 : a[best] < b[best] ? -1.0 : 0.0;
        cluster[r] = best;
        counts[i * clusters + best] += sign;
        counts[j * clusters + best] -= sign;
        sizes[best] += 1.0;
        value += nearest;
    }
}

}  // namespace

extern const Passes passes = {expectation, expectation_lists, maximisation, laplacian, assign};

}  // namespace JAMRANK_ISA
}  // namespace jamrank
