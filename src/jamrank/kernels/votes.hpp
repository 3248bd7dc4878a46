// Passes over rows that are single votes, each with its own latent truth: what depends on the two items alone is
// computed once for each pair of items, a link.
#pragma once

#include "passes.hpp"

namespace jamrank {

struct SingleVotes {
    const int64_t* begin;      // where the votes on each link begin; null: one vote a link
    const uint8_t* few_kinds;  // twice the confusion group plus 1 if the vote is for the first item: in one byte where that is enough
    const int32_t* kind;
    const double* weight;  // null: all 1

    size_t start(size_t link) const { return begin ? static_cast<size_t>(begin[link]) : link; }
};

// The sums of one block.
struct VoteSums {
    double* by_item;  // gradient and degree of each item, side by side; with the observed curvature, if wanted, as a third
    bool observed;    // whether it is wanted; unlike the degree it may be negative
    double* by_kind;  // tables, to be added up: posterior and its variance, of each kind, side by side
    size_t kinds, tables;
    double value;
};

// Tables in a block where there are few kinds; else one.
constexpr size_t kVoteTables = 4;

// Votes that are the truth: the weight of those for the first item of each link, and of all on it.
struct SideCounts {
    const double* wins;
    const double* total;
};

struct VotePasses {
    // Posterior of the truth of each vote and curvature of each link (null: not kept), and the sums of both steps.
    void (*expectation)(const Rows& links, const SingleVotes&, const Table&, const Scores& scores, size_t begin,
                        size_t end, double* posterior, float* curvature, VoteSums& sums);
    // The same sums of votes that are the truth, of which there is nothing to infer; kinds are not told apart.
    void (*sides)(const Rows& links, const SideCounts&, const Scores& scores, size_t begin, size_t end, float* curvature,
                  VoteSums& sums);
};

namespace baseline { extern const VotePasses vote_passes; }
namespace v3 { extern const VotePasses vote_passes; }
namespace v4 { extern const VotePasses vote_passes; }

}  // namespace jamrank
