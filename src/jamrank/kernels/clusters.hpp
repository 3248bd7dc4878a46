// Clusters of differences of items, up to sign, and the losses of votes with flips by cluster; see
// jamrank/kernels/twin/clusters.py.
#pragma once

#include <cstddef>
#include <cstdint>

namespace jamrank {

// Two items a row, in any order.
struct Pairs {
    const int32_t* first;
    const int32_t* second;
    size_t items;
};

// Of each vote: its cell, of an annotator and a cluster, its weight, and the chances that it is wrong and, judged by the
// other votes alone, that it is right.
struct HeldOut {
    const int32_t* cell;
    const double* weight;
    const double* wrong;
    const double* right;
};

struct ClusterPasses {
    // Whether all codes are from 0 on and less than a number.
    bool (*known)(const int32_t* codes, size_t n, size_t size);
    // The nearest centroid, up to sign, of each difference, given projections[cluster, item] and the squared lengths of
    // the centroids. With `counts` (null: not wanted), the signs by cluster and item, and the pairs of each cluster.
    void (*assign)(const Pairs&, const double* projections, const double* norms, size_t clusters, size_t begin,
                   size_t end, int32_t* cluster, double* counts, double* sizes);
    // Adds to the cost of each candidate what it is to a point whose nearest seed was at a distance and is at another.
    void (*come_nearer)(const double* distance, size_t n, double from, double to, double* cost);
    // Whether the 32 high bits of a hash of each pair, made of those of both items, are less than a number.
    void (*thin)(const Pairs&, const uint64_t* of_item, uint64_t least, size_t begin, size_t end, bool* kept);
    // The cell of each vote, and what it adds to the errors and the votes there.
    void (*errors)(const int64_t* pair, const int32_t* annotator, const double* weight, const double* wrong,
                   const int32_t* cluster, size_t clusters, size_t n, int32_t* cell, double* errors, double* votes);
    // The loss of each vote, given the errors and the votes in each cell.
    void (*losses)(const HeldOut&, const double* errors, const double* votes, size_t begin, size_t end, double* loss);
};

extern const ClusterPasses* active_clusters;

namespace baseline { extern const ClusterPasses cluster_passes; }
namespace v3 { extern const ClusterPasses cluster_passes; }
namespace v4 { extern const ClusterPasses cluster_passes; }

}  // namespace jamrank
