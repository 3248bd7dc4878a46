#include "clusters.hpp"

#include <algorithm>
#include <cmath>

#include "numeric.hpp"

namespace jamrank {
namespace JAMRANK_ISA {
namespace {

constexpr double kLeastChance = 1e-9;

constexpr size_t kChunk = 128;

bool known(const int32_t* codes, size_t n, size_t size) {
    uint32_t highest = 0;
    for (size_t k = 0; k < n; ++k) highest = std::max(highest, static_cast<uint32_t>(codes[k]));
    return n == 0 || highest < size;
}

// Chunk by chunk and cluster by cluster: a plain loop over pairs, which the compiler turns into vector instructions.
void assign(const Pairs& pairs, const double* projections, const double* norms, size_t clusters, size_t begin,
            size_t end, int32_t* cluster, double* counts, double* sizes) {
    double nearest[kChunk];
    int64_t best[kChunk] = {};
    for (size_t at = begin; at < end; at += kChunk) {
        const size_t count = std::min(kChunk, end - at);
        const int32_t *first = pairs.first + at, *second = pairs.second + at;
        std::fill_n(nearest, count, HUGE_VAL);
        for (size_t d = 0; d < clusters; ++d) {
            const double* along = projections + d * pairs.items;
            const double norm = norms[d];
            for (size_t k = 0; k < count; ++k) {
                const double distance = norm - 2.0 * std::fabs(along[first[k]] - along[second[k]]);
                // A mask: of a condition some compilers make a branch, which nobody can predict.
                const int64_t nearer = -static_cast<int64_t>(distance < nearest[k]);
                nearest[k] = std::min(nearest[k], distance);
                best[k] ^= (best[k] ^ static_cast<int64_t>(d)) & nearer;
            }
        }
        for (size_t k = 0; k < count; ++k) cluster[at + k] = static_cast<int32_t>(best[k]);
        if (!counts) continue;
        for (size_t k = 0; k < count; ++k) {
            const size_t row = static_cast<size_t>(best[k]) * pairs.items;
            const double gap = projections[row + first[k]] - projections[row + second[k]];
            // A difference square to its centroid has no side: it moves the centroid nowhere.
            const double sign = static_cast<double>((gap > 0) - (gap < 0));
            counts[row + first[k]] += sign;
            counts[row + second[k]] -= sign;
            sizes[best[k]] += 1.0;
        }
    }
}

void come_nearer(const double* distance, size_t n, double from, double to, double* cost) {
    for (size_t k = 0; k < n; ++k) cost[k] += std::min(distance[k], to) - std::min(distance[k], from);
}

void thin(const Pairs& pairs, const uint64_t* of_item, uint64_t least, size_t begin, size_t end, bool* kept) {
    uint64_t mixed[kChunk];
    for (size_t at = begin; at < end; at += kChunk) {
        const size_t count = std::min(kChunk, end - at);
        for (size_t k = 0; k < count; ++k) {
            const uint64_t one = of_item[pairs.first[at + k]], other = of_item[pairs.second[at + k]];
            mixed[k] = ((one + other) * 0x9E3779B97F4A7C15ULL) ^ (one * other);
        }
        for (size_t k = 0; k < count; ++k) {
            mixed[k] = (mixed[k] ^ (mixed[k] >> 29)) * 0xBF58476D1CE4E5B9ULL;
            kept[at + k] = (mixed[k] >> 32) < least;
        }
    }
}

void errors(const int64_t* pair, const int32_t* annotator, const double* weight, const double* wrong,
            const int32_t* cluster, size_t clusters, size_t n, int32_t* cell, double* errors, double* votes) {
    const auto every = static_cast<int32_t>(clusters);
    for (size_t begin = 0; begin < n; begin += kChunk) {
        const size_t end = std::min(begin + kChunk, n);
        for (size_t v = begin; v < end; ++v) cell[v] = every * annotator[v] + cluster[pair[v]];
        for (size_t v = begin; v < end; ++v) {
            errors[cell[v]] += weight[v] * wrong[v];
            votes[cell[v]] += weight[v];
        }
    }
}

void losses(const HeldOut& held_out, const double* errors, const double* votes, size_t begin, size_t end, double* loss) {
    double own[kChunk], all[kChunk];
    for (size_t at = begin; at < end; at += kChunk) {
        const size_t count = std::min(kChunk, end - at);
        for (size_t k = 0; k < count; ++k) {
            own[k] = errors[held_out.cell[at + k]];
            all[k] = votes[held_out.cell[at + k]];
        }
        const double *weight = held_out.weight + at, *wrong = held_out.wrong + at, *right = held_out.right + at;
        for (size_t k = 0; k < count; ++k) {
            const double rate = (own[k] - weight[k] * wrong[k]) / (all[k] - weight[k]);
            const double chance = right[k] * (1.0 - rate) + (1.0 - right[k]) * rate;
            loss[at + k] = -log_positive(std::min(std::max(chance, kLeastChance), 1.0));
        }
    }
}

}  // namespace

extern const ClusterPasses cluster_passes = {known, assign, come_nearer, thin, errors, losses};

}  // namespace JAMRANK_ISA
}  // namespace jamrank
