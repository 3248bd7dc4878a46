// The loops over rows, compiled once for each instruction set (see CMakeLists.txt).
//
// Every function here works on one block of rows and adds to accumulators that belong to that block alone, so
// that sums do not depend on how many threads share the blocks.
#pragma once

#include <cstddef>
#include <cstdint>

namespace jamrank {

// Rows of a fit, sorted by their first item: those of item i are start[i] to start[i + 1]. The second item is kept in two
// bytes where there are few items, the pattern of the votes in one where there are few patterns. Without `start` the rows
// are all pairs of the items, in order. A weight of null: all 1.
struct Rows {
    size_t items;
    const int64_t* start;
    const uint16_t* near_second;
    const int32_t* second;
    const uint8_t* few_patterns;
    const int32_t* pattern;
    const double* weight;
};

// The scores of the items, with exp(score) and exp(-score) where none is so large that these could not be multiplied.
struct Scores {
    const double* score;
    const double* up;
    const double* down;
};

// Likelihood of each pattern's votes when the first item is truly better, and when the second is, both divided by the
// larger of the two; or, with `if_first` null, both by the first.
struct Table {
    const double* if_first;
    const double* if_second;
    size_t size;
    size_t together;  // with `if_first` null: how many rows' likelihoods can be multiplied, up to kMostTogether
};
constexpr size_t kMostTogether = 8;

// A list of votes for each row. A vote is twice its confusion group plus 1 if it is for the first item; `log_likelihood` has
// two entries for each, if the second and if the first item is truly better.
struct RaggedVotes {
    const int64_t* start;
    const int32_t* vote;
    const double* weight;  // null: all 1
    const double* log_likelihood;
    // By kind: the ratio of the likelihoods if the second and if the first item is better, and the logarithm of the latter.
    const double* ratio = nullptr;
    const double* base = nullptr;
    double furthest = 0.0;  // the largest logarithm among the ratios
};
// A row's ratios are multiplied where the logarithm of their product is at most this.
constexpr double kLargestProduct = 60.0;

// The sums of one block.
struct Sums {
    double* gradient;    // by item; an item's gradient and degree lie side by side unless the rows are all pairs
    double* degree;      // null: neither it nor the curvature is wanted
    double* by_pattern;  // four tables of sums by pattern, to be added up; null: not wanted
    size_t patterns;
    double value;
    // Of rows with a list of votes each: whether the observed curvature of each item, which unlike the degree may be negative,
    // lies next to its degree, and the variance of the truth behind each kind of vote next to its posterior.
    bool observed = false;
};
constexpr size_t kPatternTables = 4;

enum Loss : int { kLogistic = 0, kSmoothHinge = 1 };

// Curvatures are kept in single precision: they shape a step but not where it ends, and memory is what a pass
// waits for. Everything else is double.
struct Passes {
    // Posterior of the truth of each row (null: not kept), curvature there (null: not wanted), sums of both steps.
    void (*expectation)(const Rows&, const Table&, const Scores& scores, size_t begin, size_t end,
                        double* posterior, float* curvature, Sums& sums);
    // The posterior alone.
    void (*posterior)(const Rows&, const Table&, const Scores& scores, size_t begin, size_t end, double* posterior);
    // The expectation of rows with a list of votes each; `expected_counts` gets the posterior of each kind of vote.
    void (*expectation_lists)(const Rows&, const RaggedVotes&, const Scores& scores, size_t begin, size_t end,
                              double* posterior, float* curvature, double* expected_counts, Sums& sums);
    // Value, derivative and curvature of the M-step at new scores, with the posterior held fixed: one a row, or one a
    // pattern where the rows have patterns.
    void (*maximisation)(const Rows&, const double* posterior, const Scores& scores, Loss loss, size_t begin,
                         size_t end, float* curvature, Sums& sums);
    // Curvature matrix (a graph Laplacian) times a vector over items; a curvature of null: all 1.
    void (*laplacian)(const Rows&, const float* curvature, const double* vector, size_t begin, size_t end,
                      double* product);
};

namespace baseline { extern const Passes passes; }
namespace v3 { extern const Passes passes; }
namespace v4 { extern const Passes passes; }

}  // namespace jamrank
