// Passes over rows whose margins are integrated out: each row's own part in its margin is removed, and what is left, a
// normal with a known variance, is summed over. Laid out like the passes over single votes.
#pragma once

#include "votes.hpp"

namespace jamrank {

// What one block hands back.
struct MarginalSums {
    double* by_item;  // gradient, degree and observed degree (which may be negative) of each item, side by side
    double* by_kind;  // as in VoteSums
    size_t kinds, tables;
    double value;
};
constexpr size_t kMarginalSums = 3;

struct MarginalPasses {
    // `variance` has, for each item, the variance of its score without the row's own part.
    void (*expectation)(const Rows& links, const SingleVotes&, const Table&, const double* scores,
                        const double* variance, size_t begin, size_t end, double* posterior, float* curvature,
                        MarginalSums& sums);
    // The same for rows with a list of votes each; `by_kind` gets the posterior of each kind of vote alone.
    void (*expectation_lists)(const Rows&, const RaggedVotes&, const double* scores, const double* variance, size_t begin,
                              size_t end, double* posterior, float* curvature, MarginalSums& sums);
};

namespace baseline { extern const MarginalPasses marginal_passes; }
namespace v3 { extern const MarginalPasses marginal_passes; }
namespace v4 { extern const MarginalPasses marginal_passes; }

}  // namespace jamrank
