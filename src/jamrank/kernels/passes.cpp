#include "passes.hpp"

#include <algorithm>
#include <cmath>

#include "chunks.hpp"
#include "lists.hpp"
#include "numeric.hpp"
#include "vectors.hpp"

namespace jamrank {
namespace JAMRANK_ISA {
namespace {

inline void margins(const Chunks& items, const double* scores, size_t count, double* margin) {
    items.of_first(scores, margin);
    for (size_t k = 0; k < count; ++k) {
        const double m = margin[k] - scores[items.second[k]];
        margin[k] = std::min(std::max(m, -kLargestMargin), kLargestMargin);
    }
}

template <bool kBent>
inline void weigh(const Rows& rows, size_t begin, size_t count, double* a, double* b, double* curvature) {
    if (!rows.weight) return;
    const double* weight = rows.weight + begin;
    for (size_t k = 0; k < count; ++k) {
        a[k] *= weight[k];
        b[k] *= weight[k];
        if (kBent) curvature[k] *= weight[k];
    }
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

// The variance of the latent truth reduces the curvature; it must not make it negative.
inline double curvature_of(double bend, double q) { return std::max(bend - q * (1.0 - q), kLeastCurvature * bend); }

// From exp(-margin), a product where no score is too large for that. Without `first` all of it is 1.
template <bool kBent>
inline void infer_by_product(const Chunks& items, const Scores& scores, size_t count, const double* first,
                             const double* second, Inferred& out) {
    double odds[kChunk];
    items.of_first(scores.down, odds);
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
            if (kBent) out.curvature[k] = curvature_of(e * prior * prior, q);
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
        if (kBent) out.curvature[k] = curvature_of(e * prior * prior, q);
        out.value[k] = joint * prior;
    }
}

// From exp(-|margin|), which neither overflows nor loses a small posterior.
template <bool kBent>
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
        if (kBent) out.curvature[k] = curvature_of(e * normaliser * normaliser, q);
        out.value[k] = joint * normaliser;
    }
}

template <bool kBent>
inline void infer(const Chunks& items, const Scores& scores, size_t count, const double* first, const double* second,
                  Inferred& out) {
    if (scores.up) {
        infer_by_product<kBent>(items, scores, count, first, second, out);
    } else {
        infer_by_margin<kBent>(items, scores, count, first, second, out);
    }
}

template <bool kBent, typename Code>
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
        infer<kBent>(items, scores, count, table.if_first ? first : nullptr, second, row);
        if (posterior) std::copy(row.q, row.q + count, posterior + at);
        sums.value += log_sum(rows.weight ? rows.weight + at : nullptr, count, row.value, table.together == kMostTogether);
        weigh<kBent>(rows, at, count, row.derivative, row.q, row.curvature);
        if (kBent) std::copy(row.curvature, row.curvature + count, curvature + at);
        scatter<kBent>(items, count, row.derivative, row.curvature, sums);
        if (sums.by_pattern) tally(pattern, count, row.q, sums);
    }
}

void expectation(const Rows& rows, const Table& table, const Scores& scores, size_t begin, size_t end,
                 double* posterior, float* curvature, Sums& sums) {
    if (suits_vectors(rows, table, scores)) {
        expect_in_vectors(rows, table, scores, begin, end, posterior, curvature, sums);
    } else if (rows.few_patterns) {
        const auto pass = curvature ? expect<true, uint8_t> : expect<false, uint8_t>;
        pass(rows, rows.few_patterns, table, scores, begin, end, posterior, curvature, sums);
    } else {
        const auto pass = curvature ? expect<true, int32_t> : expect<false, int32_t>;
        pass(rows, rows.pattern, table, scores, begin, end, posterior, curvature, sums);
    }
}

// The posterior alone. Where exponentials can be multiplied, a single division is all there is to a row.
template <typename Code>
void posterior_of(const Rows& rows, const Code* patterns, const Table& table, const Scores& scores, size_t begin, size_t end,
                  double* posterior) {
    double first[kChunk], second[kChunk];
    Inferred row;
    Chunks items(rows, begin);
    const bool by_product = scores.up && !table.if_first;
    for (size_t at = begin; at < end; at += kChunk) {
        const size_t count = std::min(kChunk, end - at);
        items.next(count);
        lookup(table, patterns + at, count, first, second);
        if (!by_product) {
            infer<false>(items, scores, count, table.if_first ? first : nullptr, second, row);
            std::copy(row.q, row.q + count, posterior + at);
            continue;
        }
        for (size_t r = 0; r < items.runs; ++r) {
            const Run run = items.run[r];
            const double down = scores.down[run.item];
            const int32_t* other = items.second + run.from;
            const double *ratio = second + run.from, *up = scores.up;
            double* out = posterior + at + run.from;
            const size_t length = run.to - run.from;
            if (items.consecutive())
                for (size_t k = 0; k < length; ++k) out[k] = 1.0 / (1.0 + down * up[other[0] + k] * ratio[k]);
            else
                for (size_t k = 0; k < length; ++k) out[k] = 1.0 / (1.0 + down * up[other[k]] * ratio[k]);
        }
    }
}

void posterior(const Rows& rows, const Table& table, const Scores& scores, size_t begin, size_t end, double* out) {
    if (rows.few_patterns) {
        posterior_of(rows, rows.few_patterns, table, scores, begin, end, out);
    } else {
        posterior_of(rows, rows.pattern, table, scores, begin, end, out);
    }
}

// Short lists of votes. Most have one vote, and it is hard to guess which have more: first votes are taken without a branch,
// then those of the lists that have others, which are listed without one.
class ShortLists {
  public:
    explicit ShortLists(const RaggedVotes& lists) : lists_(lists) {}

    // Whether no list of a chunk is empty, all its votes count once, and the ratios of each list can be multiplied.
    bool next(size_t at, size_t count) {
        start_ = lists_.start + at;
        if (lists_.weight) {
            const double *begin = lists_.weight + start_[0], *end = lists_.weight + start_[count];
            uint64_t off = 0;  // bits, which vector instructions can collect
            for (const double* weight = begin; weight < end; ++weight) off |= to_bits(*weight) ^ to_bits(1.0);
            if (off) return false;
        }
        int64_t least = 1, most = 0;
        for (size_t k = 0; k < count; ++k) {
            least = std::min(least, start_[k + 1] - start_[k]);
            most = std::max(most, start_[k + 1] - start_[k]);
        }
        return least > 0 && static_cast<double>(most) * lists_.furthest <= kLargestProduct;
    }

    // Ratio of the likelihoods of each row's votes; returns the sum of the logarithms if the first item is better.
    double multiply(size_t count, double* second) {
        for (size_t k = 0; k < count; ++k) first_[k] = lists_.vote[start_[k]];
        for (size_t k = 0; k < count; ++k) second[k] = lists_.ratio[first_[k]];
        longer_ = 0;
        for (size_t k = 0; k < count; ++k) {
            row_[longer_] = static_cast<int32_t>(k);
            longer_ += start_[k + 1] - start_[k] > 1;
        }
        others([&](size_t k, int32_t kind) { second[k] *= lists_.ratio[kind]; });
        return log_likelihood(lists_.vote + start_[0], static_cast<size_t>(start_[count] - start_[0]));
    }

    // Calls `visit` with the row and the kind of each vote.
    template <typename Visit>
    void each(size_t count, const Visit& visit) const {
        for (size_t k = 0; k < count; ++k) visit(k, first_[k]);
        others(visit);
    }

  private:
    template <typename Visit>
    void others(const Visit& visit) const {
        for (size_t l = 0; l < longer_; ++l)
            for (int64_t v = start_[row_[l]] + 1; v < start_[row_[l] + 1]; ++v) visit(row_[l], lists_.vote[v]);
    }

    double log_likelihood(const int32_t* kind, size_t count) const {
        double each[kChunk], sum = 0.0;
        for (size_t at = 0; at < count; at += kChunk) {
            const size_t some = std::min(kChunk, count - at);
            for (size_t v = 0; v < some; ++v) each[v] = lists_.base[kind[at + v]];
            sum += sum_of(each, some);
        }
        return sum;
    }

    const RaggedVotes& lists_;
    const int64_t* start_ = nullptr;
    size_t longer_ = 0;
    int32_t first_[kChunk], row_[kChunk + 1];
};

// Sums over a chunk with the observed curvature of its items, and with the variance of the truths behind its votes.
inline void add_observed(const Chunks& items, const RaggedVotes& lists, const Votes& votes, const ShortLists* short_votes,
                         size_t count, const Inferred& row, double* by_kind, Sums& sums) {
    double open[kChunk], observed[kChunk];
    for (size_t k = 0; k < count; ++k) {
        const double prior = row.q[k] - row.derivative[k];
        open[k] = row.q[k] * (1.0 - row.q[k]);
        observed[k] = prior * (1.0 - prior) - open[k];
    }
    scatter_observed(items, row.derivative, row.curvature, observed, sums.gradient);
    const auto add = [&](size_t k, int32_t kind, double weight) {
        double* sum = by_kind + 2 * static_cast<size_t>(kind);
        sum[0] += weight * row.q[k];
        sum[1] += weight * open[k];
    };
    if (short_votes) {
        short_votes->each(count, [&](size_t k, int32_t kind) { add(k, kind, 1.0); });
    } else {
        votes.each([&](size_t v, size_t k, double weight) { add(k, lists.vote[v], weight); });
    }
}

template <bool kBent>
void expect_lists(const Rows& rows, const RaggedVotes& lists, const Scores& scores, size_t begin, size_t end,
                  double* posterior, float* curvature, double* expected_counts, Sums& sums) {
    double first[kChunk], second[kChunk];
    Inferred row;
    Chunks items(rows, begin);
    Votes votes(lists);
    ShortLists short_votes(lists);
    for (size_t at = begin; at < end; at += kChunk) {
        const size_t count = std::min(kChunk, end - at);
        const bool short_lists = short_votes.next(at, count);
        items.next(count);
        if (short_lists) {
            sums.value += short_votes.multiply(count, second);
        } else {
            votes.next(at, count);
            sums.value += collect(lists, votes, count, first, second);
        }
        infer<kBent>(items, scores, count, short_lists ? nullptr : first, second, row);
        if (posterior) std::copy(row.q, row.q + count, posterior + at);
        sums.value += log_sum(nullptr, count, row.value, short_lists);
        if (curvature) std::copy(row.curvature, row.curvature + count, curvature + at);
        if (sums.observed) {
            add_observed(items, lists, votes, short_lists ? &short_votes : nullptr, count, row, expected_counts, sums);
            continue;
        }
        scatter<kBent>(items, count, row.derivative, row.curvature, sums);
        if (short_lists) {
            short_votes.each(count, [&](size_t k, int32_t kind) { expected_counts[kind] += row.q[k]; });
        } else {
            votes.each([&](size_t v, size_t k, double weight) { expected_counts[lists.vote[v]] += weight * row.q[k]; });
        }
    }
}

void expectation_lists(const Rows& rows, const RaggedVotes& lists, const Scores& scores, size_t begin, size_t end,
                       double* posterior, float* curvature, double* expected_counts, Sums& sums) {
    const auto pass = sums.degree ? expect_lists<true> : expect_lists<false>;
    pass(rows, lists, scores, begin, end, posterior, curvature, expected_counts, sums);
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
        weigh<true>(rows, at, count, derivative, value, c);
        std::copy(c, c + count, curvature + at);
        for (size_t k = 0; k < count; ++k) sums.value += value[k];
        scatter<true>(items, count, derivative, c, sums);
    }
}

void laplacian(const Rows& rows, const float* curvature, const double* vector, size_t begin, size_t end,
               double* product) {
    float ones[kChunk];
    std::fill_n(ones, kChunk, 1.0f);
    Chunks items(rows, begin);
    for (size_t at = begin; at < end; at += kChunk) {
        const size_t count = std::min(kChunk, end - at);
        items.next(count);
        const float* bend = curvature ? curvature + at : ones;
        for (size_t r = 0; r < items.runs; ++r) {
            const Run run = items.run[r];
            const double own = vector[run.item];
            const float* bends = bend + run.from;
            const int32_t* second = items.second + run.from;
            const size_t length = run.to - run.from;
            double flow[kChunk];
            if (items.consecutive()) {
                const double* other = vector + second[0];
                double* out = product + second[0];
                for (size_t k = 0; k < length; ++k) flow[k] = bends[k] * (own - other[k]);
                for (size_t k = 0; k < length; ++k) out[k] -= flow[k];
            } else {
                for (size_t k = 0; k < length; ++k) flow[k] = bends[k] * (own - vector[second[k]]);
                for (size_t k = 0; k < length; ++k) product[second[k]] -= flow[k];
            }
            product[run.item] += sum_of(flow, length);
        }
    }
}

}  // namespace

extern const Passes passes = {expectation, posterior, expectation_lists, maximisation, laplacian};

}  // namespace JAMRANK_ISA
}  // namespace jamrank
