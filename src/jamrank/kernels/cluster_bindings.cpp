// The Python bindings of clusters.cpp; see jamrank/kernels/twin/clusters.py.
#include "bindings.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "blocks.hpp"
#include "clusters.hpp"
#include "linear.hpp"
#include "products.hpp"

namespace jamrank {

const ClusterPasses* active_clusters = nullptr;

namespace {

using Longs = Array<const int64_t>;

bool known(const Ints& codes, size_t size) { return active_clusters->known(codes.data(), codes.size(), size); }

void require_items(const Ints& first, const Ints& second, size_t items) {
    require(items > 0 && known(first, items) && known(second, items), "items must be known");
}

// Lloyd's algorithm on differences of the rows of a matrix.
class Lloyd {
  public:
    Lloyd(const Pairs& pairs, size_t n, const double* matrix, size_t features, size_t clusters, int threads)
        : pairs_(pairs), n_(n), features_(features), clusters_(clusters), threads_(threads),
          columns_(features * pairs.items), projections_(clusters * pairs.items), norms_(clusters), sums_(features) {
        for (size_t item = 0; item < pairs.items; ++item)
            for (size_t f = 0; f < features; ++f) columns_[f * pairs.items + item] = matrix[item * features + f];
    }

    // Each difference's nearest centroid.
    void assign(const double* centroids, int32_t* cluster) {
        project(centroids);
        const size_t blocks = block_count(n_, 1);
        for_blocks(blocks, threads_, [&](size_t block) { assign_block(block, blocks, cluster, nullptr); });
    }

    // The same, and each centroid moved to the mean of its differences.
    void assign_and_move(double* centroids, int32_t* cluster) {
        project(centroids);
        const size_t size = projections_.size() + clusters_, blocks = block_count(n_, size);
        counts_.assign(blocks * size, 0.0);
        for_blocks(blocks, threads_,
                   [&](size_t block) { assign_block(block, blocks, cluster, counts_.data() + block * size); });
        for (size_t block = 1; block < blocks; ++block)
            for (size_t k = 0; k < size; ++k) counts_[k] += counts_[block * size + k];
        for (size_t c = 0; c < clusters_; ++c) move(c, counts_[projections_.size() + c], centroids + c * features_);
    }

  private:
    void project(const double* centroids) {
        for (size_t c = 0; c < clusters_; ++c) {
            const double* own = centroids + c * features_;
            norms_[c] = dot(own, own, features_);
            active_linear->sum_of_rows(columns_.data(), features_, pairs_.items, own,
                                       projections_.data() + c * pairs_.items);
        }
    }

    void assign_block(size_t block, size_t blocks, int32_t* cluster, double* counts) const {
        const Span span = span_of(block, blocks, n_);
        active_clusters->assign(pairs_, projections_.data(), norms_.data(), clusters_, span.begin, span.end, cluster,
                                counts, counts ? counts + projections_.size() : nullptr);
    }

    void move(size_t c, double pairs, double* centroid) {
        active_linear->row_products(columns_.data(), features_, pairs_.items, counts_.data() + c * pairs_.items,
                                    sums_.data());
        // Rounded, so that differences halfway between two centroids do not depend on the order of the items.
        for (size_t f = 0; f < features_; ++f)
            centroid[f] = std::nearbyint((pairs > 0 ? sums_[f] / pairs : centroid[f]) * 1e12) / 1e12;
    }

    Pairs pairs_;
    size_t n_, features_, clusters_;
    int threads_;
    std::vector<double> columns_, projections_, norms_, sums_, counts_;
};

void lloyd(const Ints& first, const Ints& second, const Doubles& matrix, OutDoubles centroids, OutInts cluster,
           size_t features, int rounds, double few_moves, int threads) {
    const size_t n = first.size();
    require(second.size() == n && cluster.size() == n, "one entry a row");
    require(features > 0 && matrix.size() % features == 0 && centroids.size() % features == 0, "one entry a feature");
    const size_t items = matrix.size() / features, clusters = centroids.size() / features;
    require(clusters > 0, "at least one cluster");
    require_items(first, second, items);
    nb::gil_scoped_release release;
    Lloyd found({first.data(), second.data(), items}, n, matrix.data(), features, clusters, threads);
    if (rounds == 0) {
        found.assign(centroids.data(), cluster.data());
        return;
    }
    std::vector<int32_t> previous(n, -1);
    for (int round = 0; round < rounds; ++round) {
        found.assign_and_move(centroids.data(), cluster.data());
        size_t moves = 0;
        for (size_t k = 0; k < n; ++k) moves += cluster.data()[k] != previous[k];
        if (static_cast<double>(moves) <= few_moves) return;
        std::copy(cluster.data(), cluster.data() + n, previous.begin());
    }
}

// Greedy seeds: each is the difference whose choice brings all differences, up to sign, nearest to a seed.
class Seeds {
  public:
    Seeds(const double* sample, size_t n, size_t features)
        : n_(n), distance_(n * n), nearest_(n), cost_(n, 0.0) {
        std::vector<double> columns(features * n);
        for (size_t s = 0; s < n; ++s) {
            nearest_[s] = dot(sample + s * features, sample + s * features, features);
            for (size_t f = 0; f < features; ++f) columns[f * n + s] = sample[s * features + f];
        }
        for (size_t s = 0; s < n; ++s) {
            double* own = distance_.data() + s * n;
            active_linear->sum_of_rows(columns.data(), features, n, sample + s * features, own);
            for (size_t t = 0; t < n; ++t) own[t] = std::max(nearest_[s] + nearest_[t] - 2.0 * std::fabs(own[t]), 0.0);
        }
        for (size_t s = 0; s < n; ++s) {
            total_ += nearest_[s];
            furthest_ = std::max(furthest_, nearest_[s]);
            active_clusters->come_nearer(distance_.data() + s * n, n, 0.0, nearest_[s], cost_.data());
        }
    }

    size_t choose(OutInts chosen) {
        size_t count = 0;
        for (double far = HUGE_VAL; far > 1e-12 * furthest_ && count < std::min<size_t>(chosen.size(), n_);) {
            const size_t best = cheapest();
            chosen.data()[count++] = static_cast<int32_t>(best);
            take(best);
            far = *std::max_element(nearest_.begin(), nearest_.end());
        }
        return count;
    }

  private:
    // Costs are rounded, so that ties between candidates are broken only by their position in the sorted sample.
    size_t cheapest() const {
        const double unit = std::max(total_, 1e-300);
        const auto rounded = [&](size_t s) { return std::nearbyint(cost_[s] / unit * 1e12); };
        size_t best = 0;
        for (size_t s = 1; s < n_; ++s)
            if (rounded(s) < rounded(best)) best = s;
        return best;
    }

    void take(size_t best) {
        for (size_t s = 0; s < n_; ++s) {
            const double own = distance_[best * n_ + s];
            if (own >= nearest_[s]) continue;
            active_clusters->come_nearer(distance_.data() + s * n_, n_, nearest_[s], own, cost_.data());
            nearest_[s] = own;
        }
    }

    size_t n_;
    std::vector<double> distance_, nearest_, cost_;
    double total_ = 0.0, furthest_ = 0.0;
};

size_t seeds(const Doubles& sample, size_t features, OutInts chosen) {
    require(features > 0 && sample.size() >= features && sample.size() % features == 0, "one entry a feature");
    nb::gil_scoped_release release;
    return Seeds(sample.data(), sample.size() / features, features).choose(chosen);
}

// Which pairs a hash of both items chooses; see SampledPairs in jamrank/noise/kmeans.py.
void thin(const Ints& first, const Ints& second, const Array<const uint64_t>& of_item, uint64_t least, Array<bool> kept,
          int threads) {
    const size_t n = kept.size(), items = of_item.size(), blocks = block_count(n, 1);
    require(first.size() == n && second.size() == n, "one entry a row");
    require_items(first, second, items);
    const Pairs pairs{first.data(), second.data(), items};
    nb::gil_scoped_release release;
    for_blocks(blocks, threads, [&](size_t block) {
        const Span span = span_of(block, blocks, n);
        active_clusters->thin(pairs, of_item.data(), least, span.begin, span.end, kept.data());
    });
}

// The cell of each vote, of its annotator and the cluster of its pair; errors and votes of the cells.
void cell_errors(const Longs& pair, const Ints& annotator, const Doubles& weight, const Doubles& wrong,
                 const Ints& cluster, size_t clusters, OutInts cell, OutDoubles errors, OutDoubles votes) {
    const size_t n = cell.size(), cells = errors.size();
    require(pair.size() == n && annotator.size() == n && weight.size() == n && wrong.size() == n, "one entry a vote");
    require(votes.size() == cells && clusters > 0 && cells % clusters == 0, "one cell for each annotator and cluster");
    uint64_t last = 0;
    for (size_t v = 0; v < n; ++v) last = std::max(last, static_cast<uint64_t>(pair.data()[v]));
    require((n == 0 || last < cluster.size()) && known(annotator, cells / clusters) && known(cluster, clusters),
            "pairs, annotators and clusters must be known");
    std::fill_n(errors.data(), cells, 0.0);
    std::fill_n(votes.data(), cells, 0.0);
    nb::gil_scoped_release release;
    active_clusters->errors(pair.data(), annotator.data(), weight.data(), wrong.data(), cluster.data(), clusters, n,
                            cell.data(), errors.data(), votes.data());
}

void cell_losses(const Ints& cell, const Doubles& weight, const Doubles& wrong, const Doubles& right,
                 const Doubles& errors, const Doubles& votes, OutDoubles loss, int threads) {
    const size_t n = loss.size(), blocks = block_count(n, 1);
    require(cell.size() == n && weight.size() == n && wrong.size() == n && right.size() == n, "one entry a vote");
    require(votes.size() == errors.size() && known(cell, errors.size()), "cells must be known");
    const HeldOut all{cell.data(), weight.data(), wrong.data(), right.data()};
    nb::gil_scoped_release release;
    for_blocks(blocks, threads, [&](size_t block) {
        const Span span = span_of(block, blocks, n);
        active_clusters->losses(all, errors.data(), votes.data(), span.begin, span.end, loss.data());
    });
}

}  // namespace

void bind_clusters(nb::module_& m) {
    m.def("lloyd", &lloyd);
    m.def("seeds", &seeds);
    m.def("thin", &thin);
    m.def("cell_errors", &cell_errors);
    m.def("cell_losses", &cell_losses);
}

}  // namespace jamrank
