#include "votes.hpp"

#include <algorithm>
#include <cmath>
#include <type_traits>

#include "chunks.hpp"

namespace jamrank {
namespace JAMRANK_ISA {
namespace {

// Probabilities that the first, and that the second, item of each link of a chunk is truly better.
inline void priors(const Chunks& items, const Scores& scores, size_t count, double* first, double* second) {
    double own[kChunk];
    items.of_first(scores.up ? scores.down : scores.score, own);
    if (scores.up) {
        for (size_t k = 0; k < count; ++k) {
            const double odds = own[k] * scores.up[items.second[k]];
            first[k] = 1.0 / (1.0 + odds);
            second[k] = odds * first[k];
        }
        return;
    }
    for (size_t k = 0; k < count; ++k) {
        const double m = own[k] - scores.score[items.second[k]];
        const double e = exp_nonpositive(-std::min(std::fabs(m), kLargestMargin));
        const double likely = 1.0 / (1.0 + e), unlikely = e * likely;
        first[k] = m >= 0 ? likely : unlikely;
        second[k] = m >= 0 ? unlikely : likely;
    }
}

// Eight at a time: what is written beyond the end is written anew for the next link.
constexpr size_t kAtOnce = 8;

inline void fill(double* values, size_t from, size_t to, double value) {
    for (size_t k = from; k < to; k += kAtOnce)
        for (size_t j = 0; j < kAtOnce; ++j) values[k + j] = value;
}

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

// Sums of both sides, four of each at a time: one alone would wait for itself at every step.
inline void add_sides(const double* sides, size_t count, double& q, double& open) {
    double sum[8] = {};
    size_t k = 0;
    for (; k + 4 <= count; k += 4)
        for (size_t s = 0; s < 8; ++s) sum[s] += sides[2 * k + s];
    for (; k < count; ++k)
        for (size_t s = 0; s < 2; ++s) sum[s] += sides[2 * k + s];
    q += (sum[0] + sum[2]) + (sum[4] + sum[6]);
    open += (sum[1] + sum[3]) + (sum[5] + sum[7]);
}

// Several tables in turn, so that an addition need not wait for the one before.
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

// The links of one chunk: what their votes share, and the sums over these.
struct Linked {
    double first[kChunk], second[kChunk], cast[kChunk], q[kChunk], open[kChunk];
};

// Posteriors, sums by kind and likelihood of a chunk of votes, once the priors of each are known.
template <typename Code>
inline void take_in(const SingleVotes& votes, const Code* kinds, const Table& table, size_t begin, size_t count,
                    const double* first, const double* second, double* posterior, Inferred& vote, VoteSums& sums) {
    const Code* kind = kinds + begin;
    const double* weight = votes.weight ? votes.weight + begin : nullptr;
    infer(table, kind, count, first, second, vote);
    if (posterior)
        for (size_t k = 0; k < count; ++k) posterior[begin + k] = vote.sides[2 * k];
    sums.value += log_sum(weight, count, vote.value, table.together == kMostTogether);
    if (weight)
        for (size_t k = 0; k < 2 * count; ++k) vote.sides[k] *= weight[k / 2];
    tally(kind, count, vote, sums);
}

// The votes on the links of a chunk that begins at `at`: those from `begin` to `end`, on the links from `link` to `last`.
template <typename Code>
inline void take_in_links(const SingleVotes& votes, const Code* kinds, const Table& table, size_t at, size_t link,
                          size_t last, size_t begin, size_t end, double* posterior, Linked& links, VoteSums& sums) {
    double first[kChunk + kAtOnce], second[kChunk + kAtOnce];
    Inferred vote;
    const auto from = [&](size_t l) { return std::max(votes.start(at + l), begin) - begin; };
    const auto to = [&](size_t l) { return std::min(votes.start(at + l + 1), end) - begin; };
    for (size_t l = link; l < last; ++l) fill(first, from(l), to(l), links.first[l]);
    for (size_t l = link; l < last; ++l) fill(second, from(l), to(l), links.second[l]);
    take_in(votes, kinds, table, begin, end - begin, first, second, posterior, vote, sums);
    for (size_t l = link; l < last; ++l) {
        const size_t f = from(l), length = to(l) - f;
        add_sides(vote.sides + 2 * f, length, links.q[l], links.open[l]);
        links.cast[l] += votes.weight ? sum_of(votes.weight + begin + f, length) : static_cast<double>(length);
    }
}

template <typename Code>
inline void take_in_all(const SingleVotes& votes, const Code* kinds, const Table& table, size_t at, size_t count,
                        double* posterior, Linked& links, VoteSums& sums) {
    for (double* sum : {links.cast, links.q, links.open}) std::fill_n(sum, count, 0.0);
    size_t v = votes.start(at);
    for (size_t link = 0; link < count;) {
        // The links whose votes fill one chunk; or one chunk of the votes of a link that has more.
        size_t last = link;
        while (last < count && votes.start(at + last + 1) - v <= kChunk) ++last;
        const bool whole = last > link;
        const size_t next = whole ? votes.start(at + last) : v + kChunk;
        take_in_links(votes, kinds, table, at, link, whole ? last : link + 1, v, next, posterior, links, sums);
        link = last;
        v = next;
    }
}

// The same where each link has one vote.
template <typename Code>
inline void take_in_each(const SingleVotes& votes, const Code* kinds, const Table& table, size_t at, size_t count,
                         double* posterior, Linked& links, VoteSums& sums) {
    Inferred vote;
    take_in(votes, kinds, table, at, count, links.first, links.second, posterior, vote, sums);
    for (size_t k = 0; k < count; ++k) {
        links.q[k] = vote.sides[2 * k];
        links.open[k] = vote.sides[2 * k + 1];
        links.cast[k] = votes.weight ? votes.weight[at + k] : 1.0;
    }
}

template <typename Code>
void expect(const Rows& rows, const SingleVotes& votes, const Code* kinds, const Table& table, const Scores& scores,
            size_t begin, size_t end, double* posterior, float* curvature, VoteSums& sums) {
    double derivative[kChunk], bend[kChunk];
    Linked links;
    Chunks items(rows, begin);
    for (size_t at = begin; at < end; at += kChunk) {
        const size_t count = std::min(kChunk, end - at);
        items.next(count);
        priors(items, scores, count, links.first, links.second);
        if (votes.begin) {
            take_in_all(votes, kinds, table, at, count, posterior, links, sums);
        } else {
            take_in_each(votes, kinds, table, at, count, posterior, links, sums);
        }
        for (size_t k = 0; k < count; ++k) {
            // The variance of the latent truth reduces the curvature; it must not make it negative.
            const double most = links.cast[k] * links.first[k] * links.second[k];
            bend[k] = std::max(most - links.open[k], kLeastCurvature * most);
            derivative[k] = links.q[k] - links.cast[k] * links.first[k];
        }
        if (curvature) std::copy(bend, bend + count, curvature + at);
        if (sums.observed) {
            double observed[kChunk];
            for (size_t k = 0; k < count; ++k)
                observed[k] = links.cast[k] * links.first[k] * links.second[k] - links.open[k];
            scatter_observed(items, derivative, bend, observed, sums.by_item);
        } else {
            scatter(items, derivative, bend, sums);
        }
    }
}

// The votes of a chunk, one on each link: what they say of their truths.
struct Judged {
    double q[kChunk], open[kChunk], derivative[kChunk], bend[kChunk], observed[kChunk], value[kChunk];
};

// From exp(-margin), where no score is too large for that, and one table of ratios: with a single division.
inline void judge(const double* odds, const double* ratio, size_t count, Judged& out) {
    for (size_t k = 0; k < count; ++k) {
        const double e = odds[k], joint = 1.0 + e * ratio[k], inverse = 1.0 / ((1.0 + e) * joint);
        const double prior = inverse * joint, q = std::min(inverse * (1.0 + e), 1.0), most = e * prior * prior;
        out.q[k] = q;
        out.open[k] = q * (1.0 - q);
        out.derivative[k] = q - prior;
        out.observed[k] = most - out.open[k];
        out.bend[k] = std::max(out.observed[k], kLeastCurvature * most);
        out.value[k] = joint * prior;
    }
}

template <typename Code>
inline void tally(const Code* kind, size_t count, const Judged& vote, VoteSums& sums) {
    const size_t stride = 2 * sums.kinds;
    const auto add = [&](double* table, size_t k) {
        table += 2 * static_cast<size_t>(kind[k]);
        table[0] += vote.q[k];
        table[1] += vote.open[k];
    };
    size_t k = 0;
    if (sums.tables == kVoteTables)
        for (; k + kVoteTables <= count; k += kVoteTables)
            for (size_t t = 0; t < kVoteTables; ++t) add(sums.by_kind + t * stride, k + t);
    for (; k < count; ++k) add(sums.by_kind, k);
}

// The same where each link has one vote, scores are not too large and likelihoods come as one table of ratios.
template <typename Code>
void expect_each(const Rows& rows, const SingleVotes& votes, const Code* kinds, const Table& table, const Scores& scores,
                 size_t begin, size_t end, double* posterior, float* curvature, VoteSums& sums) {
    double odds[kChunk], ratio[kChunk];
    Judged vote;
    Chunks items(rows, begin);
    for (size_t at = begin; at < end; at += kChunk) {
        const size_t count = std::min(kChunk, end - at);
        const Code* kind = kinds + at;
        const double* weight = votes.weight ? votes.weight + at : nullptr;
        items.next(count);
        items.of_first(scores.down, odds);
        for (size_t k = 0; k < count; ++k) odds[k] *= scores.up[items.second[k]];
        for (size_t k = 0; k < count; ++k) ratio[k] = table.if_second[kind[k]];
        judge(odds, ratio, count, vote);
        if (posterior) std::copy(vote.q, vote.q + count, posterior + at);
        sums.value += log_sum(weight, count, vote.value, table.together == kMostTogether);
        if (weight)
            for (double* values : {vote.q, vote.open, vote.derivative, vote.bend, vote.observed})
                for (size_t k = 0; k < count; ++k) values[k] *= weight[k];
        tally(kind, count, vote, sums);
        if (curvature) std::copy(vote.bend, vote.bend + count, curvature + at);
        if (sums.observed) {
            scatter_observed(items, vote.derivative, vote.bend, vote.observed, sums.by_item);
        } else {
            scatter(items, vote.derivative, vote.bend, sums);
        }
    }
}

void expectation(const Rows& links, const SingleVotes& votes, const Table& table, const Scores& scores, size_t begin,
                 size_t end, double* posterior, float* curvature, VoteSums& sums) {
    const auto run = [&](const auto* kinds) {
        using Code = std::decay_t<decltype(*kinds)>;
        const bool each = !votes.begin && !table.if_first && scores.up;
        (each ? expect_each<Code> : expect<Code>)(links, votes, kinds, table, scores, begin, end, posterior, curvature, sums);
    };
    if (votes.few_kinds) {
        run(votes.few_kinds);
    } else {
        run(votes.kind);
    }
}

// The logarithm of the likelier side's probability never rounds to that of 0, as that of the other side's may.
void sides(const Rows& rows, const SideCounts& votes, const Scores& scores, size_t begin, size_t end, float* curvature,
           VoteSums& sums) {
    double first[kChunk], second[kChunk], derivative[kChunk], bend[kChunk], value[kChunk], own[kChunk];
    Chunks items(rows, begin);
    for (size_t at = begin; at < end; at += kChunk) {
        const size_t count = std::min(kChunk, end - at);
        const double *wins = votes.wins + at, *total = votes.total + at;
        items.next(count);
        priors(items, scores, count, first, second);
        items.of_first(scores.score, own);
        for (size_t k = 0; k < count; ++k) {
            const double m = own[k] - scores.score[items.second[k]];
            const double against = m >= 0 ? total[k] - wins[k] : wins[k];
            const double expected = total[k] * first[k];
            value[k] = total[k] * log_positive(std::max(first[k], second[k])) - against * std::min(std::fabs(m), kLargestMargin);
            derivative[k] = wins[k] - expected;
            bend[k] = expected * second[k];
        }
        sums.value += sum_of(value, count);
        std::copy(bend, bend + count, curvature + at);
        scatter(items, derivative, bend, sums);
    }
}

}  // namespace

extern const VotePasses vote_passes = {expectation, sides};

}  // namespace JAMRANK_ISA
}  // namespace jamrank
