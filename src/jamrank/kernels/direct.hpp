// Passes over votes that depend on the margin of their pair itself, without a latent truth.
#pragma once

#include "passes.hpp"
#include "votes.hpp"

namespace jamrank {

// What a vote answers, m being the margin of its pair and a the parameter of its confusion group: which item is better,
// with log-odds a m for the first; or whether it is a tie, with log-odds a - log cosh(m / 2).
enum Question : int { kBetter = 0, kTied = 1 };

// The sums of one block.
struct DirectSums {
    double* by_item;  // gradient and degree of each item, side by side
    double* by_group;  // derivative in the parameter of each confusion group, and information on it, side by side
    double value;
};

struct DirectPasses {
    // Expected curvature of each link, and sums over the votes on the links from `begin` to `end`.
    void (*expectation)(const Rows& links, const SingleVotes&, Question, const double* params, const double* scores,
                        size_t begin, size_t end, float* curvature, DirectSums& sums);
};

namespace baseline { extern const DirectPasses direct_passes; }
namespace v3 { extern const DirectPasses direct_passes; }
namespace v4 { extern const DirectPasses direct_passes; }

}  // namespace jamrank
