#include "marginal.hpp"

#include <algorithm>
#include <cmath>

#include "chunks.hpp"
#include "lists.hpp"

namespace jamrank {
namespace JAMRANK_ISA {
namespace {

constexpr double kEighthOfPi = 0.39269908169872414;
// Newton's method ends where the squares of the last steps are lost in rounding.
constexpr double kSolved = 1e-12;
constexpr int kMostSteps = 12;

// The margin of each link, without the rows' own part normal with a variance v. The mean of a logistic function over
// it is that of the mean divided by sqrt(1 + pi v / 8), closely.
struct Margins {
    double mean[kChunk], scale[kChunk];        // scaled mean, scale
    double of_first[kChunk], spread[kChunk];   // variance of the first item's score, and v; times the scale's square
};

inline void take_margins(const Chunks& items, const double* scores, const double* variance, size_t count, Margins& out) {
    items.of_first(scores, out.mean);
    items.of_first(variance, out.of_first);
    for (size_t k = 0; k < count; ++k) {
        const size_t other = items.second[k];
        out.mean[k] -= scores[other];
        out.spread[k] = out.of_first[k] + variance[other];
    }
    for (size_t k = 0; k < count; ++k) {
        const double squared = 1.0 / (1.0 + kEighthOfPi * out.spread[k]);
        out.scale[k] = std::sqrt(squared);
        out.of_first[k] *= squared;
        out.spread[k] *= squared;
        out.mean[k] *= out.scale[k];
    }
}

// A chunk of rows: what each depends on, and what follows.
struct Solved {
    double mean[kChunk], of_first[kChunk], spread[kChunk], first[kChunk], second[kChunk];
    double x[kChunk], q[kChunk], pull[kChunk], held[kChunk], known[kChunk], value[kChunk];
    double bend[kChunk], on_first[kChunk], on_second[kChunk];
};

// Truths at scaled margins x: posterior, its distance from the prior, the variance of the prior and how much of it the
// votes take away (less than nothing, where they contradict it), likelihood of the votes.
inline void infer(size_t count, Solved& row) {
    for (size_t k = 0; k < count; ++k) {
        const double x = row.x[k];
        const double e = exp_nonpositive(-std::min(std::fabs(x), kLargestMargin));
        const double prior_first = x >= 0 ? 1.0 : e, prior_second = x >= 0 ? e : 1.0;
        const double joint_first = prior_first * row.first[k];
        const double joint = joint_first + prior_second * row.second[k];
        const double inverse = 1.0 / ((1.0 + e) * joint);
        const double normaliser = inverse * joint;
        const double q = std::min(joint_first * (inverse * (1.0 + e)), 1.0);
        row.q[k] = q;
        row.pull[k] = q - prior_first * normaliser;
        row.held[k] = e * normaliser * normaliser;
        row.known[k] = row.held[k] - q * (1.0 - q);
        row.value[k] = joint * normaliser;
    }
}

// Finds the margin x of each row such that x with the row's own pull is the margin of the scores. The last step is so
// short that what changes with it does so in proportion.
inline void solve(size_t count, Solved& row) {
    std::copy(row.mean, row.mean + count, row.x);
    double moved[kChunk], miss[kChunk];
    for (int step = 0; step < kMostSteps; ++step) {
        infer(count, row);
        for (size_t k = 0; k < count; ++k) {
            const double gap = row.x[k] + row.spread[k] * row.pull[k] - row.mean[k];
            moved[k] = gap / (1.0 - row.spread[k] * row.known[k]);
            row.x[k] -= moved[k];
            miss[k] = moved[k] * moved[k];
        }
        if (sum_of(miss, count) <= kSolved) break;
    }
    for (size_t k = 0; k < count; ++k) {
        const double q = row.q[k], p = q - row.pull[k];
        const double by_x = p * (1.0 - p) * (1.0 - 2.0 * p) - q * (1.0 - q) * (1.0 - 2.0 * q);
        const double known = row.known[k] - moved[k] * by_x;
        row.value[k] *= 1.0 - moved[k] * row.pull[k];
        row.q[k] = q - moved[k] * q * (1.0 - q);
        row.held[k] -= moved[k] * row.held[k] * (1.0 - 2.0 * p);
        row.pull[k] += moved[k] * row.known[k];
        row.bend[k] = known / (1.0 - row.spread[k] * known);
        row.on_first[k] = known / (1.0 - row.of_first[k] * known);
        row.on_second[k] = known / (1.0 - (row.spread[k] - row.of_first[k]) * known);
    }
}

inline double value_of(const Solved& row, const double* weight, size_t count, bool mild) {
    double bonus[kChunk];
    for (size_t k = 0; k < count; ++k)
        bonus[k] = 0.5 * row.spread[k] * row.pull[k] * row.pull[k] * (weight ? weight[k] : 1.0);
    return log_sum(weight, count, row.value, mild) + sum_of(bonus, count);
}

template <typename Code>
inline void tally(const Code* kind, const double* weight, size_t count, const Solved& row, MarginalSums& sums) {
    const size_t stride = 2 * sums.kinds;
    double sides[2 * kChunk];
    for (size_t k = 0; k < count; ++k) {
        const double times = weight ? weight[k] : 1.0;
        sides[2 * k] = times * row.q[k];
        sides[2 * k + 1] = times * row.q[k] * (1.0 - row.q[k]);
    }
    const auto add = [&](double* table, size_t k) {
        table += 2 * static_cast<size_t>(kind[k]);
        table[0] += sides[2 * k];
        table[1] += sides[2 * k + 1];
    };
    size_t k = 0;
    if (sums.tables == kVoteTables)
        for (; k + kVoteTables <= count; k += kVoteTables)
            for (size_t t = 0; t < kVoteTables; ++t) add(sums.by_kind + t * stride, k + t);
    for (; k < count; ++k) add(sums.by_kind, k);
}

// What the rows on each link of a chunk say of its margin.
struct Linked {
    double pull[kChunk], held[kChunk], bend[kChunk], on_first[kChunk], on_second[kChunk];
};

// Where each link has one row.
inline void place(const Margins& margins, size_t count, Solved& row) {
    std::copy(margins.mean, margins.mean + count, row.mean);
    std::copy(margins.of_first, margins.of_first + count, row.of_first);
    std::copy(margins.spread, margins.spread + count, row.spread);
}

inline void take_over(const Solved& row, size_t count, Linked& linked) {
    std::copy(row.pull, row.pull + count, linked.pull);
    std::copy(row.held, row.held + count, linked.held);
    std::copy(row.bend, row.bend + count, linked.bend);
    std::copy(row.on_first, row.on_first + count, linked.on_first);
    std::copy(row.on_second, row.on_second + count, linked.on_second);
}

inline void scatter(const Chunks& links, const Linked& linked, const double* curvature, MarginalSums& sums) {
    for (size_t r = 0; r < links.runs; ++r) {
        const Run run = links.run[r];
        const size_t length = run.to - run.from;
        double* own = sums.by_item + kMarginalSums * static_cast<size_t>(run.item);
        own[0] += sum_of(linked.pull + run.from, length);
        own[1] += sum_of(curvature + run.from, length);
        own[2] += sum_of(linked.on_first + run.from, length);
        for (int32_t k = run.from; k < run.to; ++k) {
            double* other = sums.by_item + kMarginalSums * static_cast<size_t>(links.second[k]);
            other[0] -= linked.pull[k];
            other[1] += curvature[k];
            other[2] += linked.on_second[k];
        }
    }
}

inline void hand_over(const Chunks& links, const Margins& margins, size_t count, Linked& linked, float* curvature,
                      MarginalSums& sums) {
    double step[kChunk];
    for (size_t k = 0; k < count; ++k) {
        const double squared = margins.scale[k] * margins.scale[k];
        linked.pull[k] *= margins.scale[k];
        for (double* each : {linked.bend, linked.on_first, linked.on_second}) each[k] *= squared;
        // What the votes leave open of the truth bends the likelihood the other way; a step must not follow it.
        step[k] = std::max(linked.bend[k], kLeastCurvature * squared * linked.held[k]);
    }
    std::copy(step, step + count, curvature);
    scatter(links, linked, step, sums);
}

template <typename Code>
inline void look_up(const Table& table, const Code* kind, size_t count, Solved& row) {
    for (size_t k = 0; k < count; ++k) row.second[k] = table.if_second[kind[k]];
    if (table.if_first) {
        for (size_t k = 0; k < count; ++k) row.first[k] = table.if_first[kind[k]];
    } else {
        std::fill_n(row.first, count, 1.0);
    }
}

template <typename Code>
inline void take_in(const SingleVotes& votes, const Code* kinds, const Table& table, size_t begin, size_t count,
                    double* posterior, Solved& row, MarginalSums& sums) {
    const double* weight = votes.weight ? votes.weight + begin : nullptr;
    look_up(table, kinds + begin, count, row);
    solve(count, row);
    if (posterior) std::copy(row.q, row.q + count, posterior + begin);
    sums.value += value_of(row, weight, count, table.together == kMostTogether);
    if (sums.kinds) tally(kinds + begin, weight, count, row, sums);
    if (weight)
        for (double* each : {row.pull, row.held, row.bend, row.on_first, row.on_second})
            for (size_t k = 0; k < count; ++k) each[k] *= weight[k];
}

// Votes on the links of a chunk that begins at `at`: one chunk of votes after another, which may begin or end within a link.
template <typename Code>
inline void take_in_links(const SingleVotes& votes, const Code* kinds, const Table& table, const Margins& margins,
                          size_t at, size_t count, double* posterior, Solved& row, Linked& linked, MarginalSums& sums) {
    for (double* each : {linked.pull, linked.held, linked.bend, linked.on_first, linked.on_second}) std::fill_n(each, count, 0.0);
    const size_t last = votes.start(at + count);
    size_t link = 0;
    for (size_t begin = votes.start(at); begin < last; begin += kChunk) {
        const size_t end = std::min(begin + kChunk, last);
        const auto from = [&](size_t l) { return std::max(votes.start(at + l), begin) - begin; };
        const auto to = [&](size_t l) { return std::min(votes.start(at + l + 1), end) - begin; };
        while (votes.start(at + link + 1) <= begin) ++link;
        size_t next = link;
        for (; next < count && votes.start(at + next) < end; ++next) {
            std::fill(row.mean + from(next), row.mean + to(next), margins.mean[next]);
            std::fill(row.of_first + from(next), row.of_first + to(next), margins.of_first[next]);
            std::fill(row.spread + from(next), row.spread + to(next), margins.spread[next]);
        }
        take_in(votes, kinds, table, begin, end - begin, posterior, row, sums);
        for (size_t l = link; l < next; ++l) {
            const size_t first = from(l), length = to(l) - first;
            linked.pull[l] += sum_of(row.pull + first, length);
            linked.held[l] += sum_of(row.held + first, length);
            linked.bend[l] += sum_of(row.bend + first, length);
            linked.on_first[l] += sum_of(row.on_first + first, length);
            linked.on_second[l] += sum_of(row.on_second + first, length);
        }
    }
}

template <typename Code>
void expect(const Rows& rows, const SingleVotes& votes, const Code* kinds, const Table& table, const double* scores,
            const double* variance, size_t begin, size_t end, double* posterior, float* curvature, MarginalSums& sums) {
    Margins margins;
    Solved row;
    Linked linked;
    Chunks items(rows, begin);
    for (size_t at = begin; at < end; at += kChunk) {
        const size_t count = std::min(kChunk, end - at);
        items.next(count);
        take_margins(items, scores, variance, count, margins);
        if (votes.begin) {
            take_in_links(votes, kinds, table, margins, at, count, posterior, row, linked, sums);
        } else {
            place(margins, count, row);
            take_in(votes, kinds, table, at, count, posterior, row, sums);
            take_over(row, count, linked);
        }
        hand_over(items, margins, count, linked, curvature + at, sums);
    }
}

void expectation(const Rows& links, const SingleVotes& votes, const Table& table, const double* scores,
                 const double* variance, size_t begin, size_t end, double* posterior, float* curvature,
                 MarginalSums& sums) {
    if (votes.few_kinds) {
        expect(links, votes, votes.few_kinds, table, scores, variance, begin, end, posterior, curvature, sums);
    } else {
        expect(links, votes, votes.kind, table, scores, variance, begin, end, posterior, curvature, sums);
    }
}

void expectation_lists(const Rows& rows, const RaggedVotes& lists, const double* scores, const double* variance,
                       size_t begin, size_t end, double* posterior, float* curvature, MarginalSums& sums) {
    Margins margins;
    Solved row;
    Linked linked;
    Chunks items(rows, begin);
    Votes votes(lists);
    for (size_t at = begin; at < end; at += kChunk) {
        const size_t count = std::min(kChunk, end - at);
        items.next(count);
        votes.next(at, count);
        take_margins(items, scores, variance, count, margins);
        place(margins, count, row);
        sums.value += collect(lists, votes, count, row.first, row.second);
        solve(count, row);
        if (posterior) std::copy(row.q, row.q + count, posterior + at);
        sums.value += value_of(row, nullptr, count, false);
        votes.each([&](size_t v, size_t k, double weight) {
            double* own = sums.by_kind + 2 * static_cast<size_t>(lists.vote[v]);
            own[0] += weight * row.q[k];
            own[1] += weight * row.q[k] * (1.0 - row.q[k]);
        });
        take_over(row, count, linked);
        hand_over(items, margins, count, linked, curvature + at, sums);
    }
}

}  // namespace

extern const MarginalPasses marginal_passes = {expectation, expectation_lists};

}  // namespace JAMRANK_ISA
}  // namespace jamrank
