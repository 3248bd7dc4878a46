#include "votes.hpp"

#include <algorithm>
#include <cmath>

#include "chunks.hpp"

namespace jamrank {
namespace JAMRANK_ISA {
namespace {

// Probabilities that the first, and that the second, item of each link of a chunk is truly better.
inline void priors(const Chunks& items, const Scores& scores, size_t count, double* first, double* second) {
    if (scores.up) {
        for (size_t k = 0; k < count; ++k) {
            const double odds = scores.down[items.first[k]] * scores.up[items.second[k]];
            first[k] = 1.0 / (1.0 + odds);
            second[k] = odds * first[k];
        }
        return;
    }
    for (size_t k = 0; k < count; ++k) {
        const double m = scores.score[items.first[k]] - scores.score[items.second[k]];
        const double e = exp_nonpositive(-std::min(std::fabs(m), kLargestMargin));
        const double likely = 1.0 / (1.0 + e), unlikely = e * likely;
        first[k] = m >= 0 ? likely : unlikely;
        second[k] = m >= 0 ? unlikely : likely;
    }
}

// The votes on one link within a chunk of votes.
struct Stretch {
    size_t link, from, to;
};

// Posterior of each vote and what it leaves open, side by side, and the vote's likelihood.
struct Inferred {
    double sides[2 * kChunk], value[kChunk];
};

inline void infer_one(double joint_first, double joint, size_t k, Inferred& out) {
    const double q = std::min(joint_first / joint, 1.0);
    out.sides[2 * k] = q;
    out.sides[2 * k + 1] = q * (1.0 - q);
    out.value[k] = joint;
}

template <typename Code>
inline void infer(const Table& table, const Code* kind, size_t count, const double* first, const double* second,
                  Inferred& out) {
    double ratio[kChunk];
    for (size_t k = 0; k < count; ++k) ratio[k] = table.if_second[kind[k]];
    if (!table.if_first) {
        for (size_t k = 0; k < count; ++k) infer_one(first[k], first[k] + second[k] * ratio[k], k, out);
        return;
    }
    double joint_first[kChunk];
    for (size_t k = 0; k < count; ++k) joint_first[k] = first[k] * table.if_first[kind[k]];
    for (size_t k = 0; k < count; ++k) infer_one(joint_first[k], joint_first[k] + second[k] * ratio[k], k, out);
}

// Sums of both sides, two of each at a time: one alone would wait for itself at every step.
inline void add_sides(const double* sides, size_t count, double& q, double& open) {
    double sum[4] = {0.0, 0.0, 0.0, 0.0};
    size_t k = 0;
    for (; k + 2 <= count; k += 2)
        for (size_t s = 0; s < 4; ++s) sum[s] += sides[2 * k + s];
    if (k < count)
        for (size_t s = 0; s < 2; ++s) sum[s] += sides[2 * k + s];
    q += sum[0] + sum[2];
    open += sum[1] + sum[3];
}

// Tables in turn keep one sum from waiting for the last.
template <typename Code>
inline void tally(const Code* kind, size_t count, const Inferred& vote, VoteSums& sums) {
    const size_t stride = 2 * sums.kinds;
    const auto add = [&](double* table, size_t k) {
        table += 2 * static_cast<size_t>(kind[k]);
        table[0] += vote.sides[2 * k];
        table[1] += vote.sides[2 * k + 1];
    };
    size_t k = 0;
    if (sums.tables == kVoteTables)
        for (; k + kVoteTables <= count; k += kVoteTables)
            for (size_t t = 0; t < kVoteTables; ++t) add(sums.by_kind + t * stride, k + t);
    for (; k < count; ++k) add(sums.by_kind, k);
}

inline void scatter(const Chunks& links, const double* derivative, const double* curvature, VoteSums& sums) {
    for (size_t r = 0; r < links.runs; ++r) {
        const Run run = links.run[r];
        const size_t length = run.to - run.from;
        double* own = sums.by_item + 2 * static_cast<size_t>(run.item);
        own[0] += sum_of(derivative + run.from, length);
        own[1] += sum_of(curvature + run.from, length);
        for (int32_t k = run.from; k < run.to; ++k) {
            double* other = sums.by_item + 2 * static_cast<size_t>(links.second[k]);
            other[0] -= derivative[k];
            other[1] += curvature[k];
        }
    }
}

template <typename Code>
void expect(const Rows& links, const SingleVotes& votes, const Code* kinds, const Table& table, const Scores& scores,
            size_t begin, size_t end, double* posterior, float* curvature, VoteSums& sums) {
    double link_first[kChunk], link_second[kChunk], cast[kChunk], q[kChunk], open[kChunk], derivative[kChunk], bend[kChunk];
    double first[kChunk], second[kChunk];
    Stretch stretch[kChunk];
    Inferred vote;
    Chunks items(links, begin);
    for (size_t at = begin; at < end; at += kChunk) {
        const size_t count = std::min(kChunk, end - at);
        items.next(count);
        priors(items, scores, count, link_first, link_second);
        std::fill_n(cast, count, 0.0);
        std::fill_n(q, count, 0.0);
        std::fill_n(open, count, 0.0);
        size_t link = 0;
        const size_t last = votes.start(at + count);
        for (size_t v = votes.start(at); v < last;) {
            const size_t size = std::min(kChunk, last - v);
            size_t stretches = 0;
            for (size_t k = 0; k < size;) {
                while (votes.start(at + link + 1) <= v + k) ++link;
                const size_t to = std::min(size, votes.start(at + link + 1) - v);
                stretch[stretches++] = {link, k, to};
                std::fill(first + k, first + to, link_first[link]);
                std::fill(second + k, second + to, link_second[link]);
                k = to;
            }
            const Code* kind = kinds + v;
            infer(table, kind, size, first, second, vote);
            if (posterior)
                for (size_t k = 0; k < size; ++k) posterior[v + k] = vote.sides[2 * k];
            const double* weight = votes.weight ? votes.weight + v : nullptr;
            sums.value += log_sum(weight, size, vote.value, table.mild);
            if (weight)
                for (size_t k = 0; k < 2 * size; ++k) vote.sides[k] *= weight[k / 2];
            tally(kind, size, vote, sums);
            for (size_t s = 0; s < stretches; ++s) {
                const Stretch own = stretch[s];
                const size_t length = own.to - own.from;
                add_sides(vote.sides + 2 * own.from, length, q[own.link], open[own.link]);
                cast[own.link] += weight ? sum_of(weight + own.from, length) : static_cast<double>(length);
            }
            v += size;
        }
        for (size_t k = 0; k < count; ++k) {
            // What the votes leave open of the truth bends the likelihood the other way; never let it win.
            const double most = cast[k] * link_first[k] * link_second[k];
            bend[k] = std::max(most - open[k], kLeastCurvature * most);
            derivative[k] = q[k] - cast[k] * link_first[k];
        }
        std::copy(bend, bend + count, curvature + at);
        scatter(items, derivative, bend, sums);
    }
}

void expectation(const Rows& links, const SingleVotes& votes, const Table& table, const Scores& scores, size_t begin,
                 size_t end, double* posterior, float* curvature, VoteSums& sums) {
    if (votes.few_kinds) {
        expect(links, votes, votes.few_kinds, table, scores, begin, end, posterior, curvature, sums);
    } else {
        expect(links, votes, votes.kind, table, scores, begin, end, posterior, curvature, sums);
    }
}

}  // namespace

extern const VotePasses vote_passes = {expectation};

}  // namespace JAMRANK_ISA
}  // namespace jamrank
