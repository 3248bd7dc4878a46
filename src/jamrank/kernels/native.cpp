// Python's door to the compiled passes: blocks, threads and the choice of instruction set.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "passes.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace jamrank {
namespace {

template <typename T>
using Array = nb::ndarray<T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Doubles = Array<const double>;
using Ints = Array<const int32_t>;
using OutDoubles = Array<double>;
using OutInts = Array<int32_t>;

const Passes* choose_passes() {
#ifdef JAMRANK_HAS_V3
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2"))
        return &v3::passes;
#endif
    return &baseline::passes;
}

const Passes* active = choose_passes();

void select(const char* name) {
    const std::string wanted(name);
    if (wanted == "baseline") active = &baseline::passes;
    else if (wanted == "auto") active = choose_passes();
    else throw std::invalid_argument("instruction set must be 'auto' or 'baseline'");
}

void require(bool holds, const char* what) {
    if (!holds) throw std::invalid_argument(what);
}

// The number of blocks depends on the data alone, never on the threads: that fixes the order of every sum.
size_t block_count(size_t rows, size_t accumulators) {
    const size_t by_rows = (rows + 16383) / 16384;
    const size_t by_memory = std::max<size_t>(1, (size_t{1} << 22) / std::max<size_t>(1, accumulators));
    return std::max<size_t>(1, std::min({by_rows, by_memory, size_t{64}}));
}

template <typename Work>
void for_blocks(size_t blocks, int threads, const Work& work) {
    std::atomic<size_t> next{0};
    const auto drain = [&] {
        for (size_t block = next++; block < blocks; block = next++) work(block);
    };
    std::vector<std::thread> helpers;
    const size_t wanted = std::min<size_t>(std::max(threads, 1), blocks);
    for (size_t t = 1; t < wanted; ++t) helpers.emplace_back(drain);
    drain();
    for (auto& helper : helpers) helper.join();
}

// Accumulators of all blocks side by side; `collect` adds them up in the order of the blocks.
class Accumulators {
  public:
    Accumulators(size_t blocks, size_t size) : blocks_(blocks), size_(size), data_(blocks * size, 0.0) {}
    double* of(size_t block) { return data_.data() + block * size_; }
    void collect(size_t offset, size_t count, double* out) const {
        std::fill(out, out + count, 0.0);
        for (size_t block = 0; block < blocks_; ++block) {
            const double* part = data_.data() + block * size_ + offset;
            for (size_t k = 0; k < count; ++k) out[k] += part[k];
        }
    }

  private:
    size_t blocks_, size_;
    std::vector<double> data_;
};

struct Span {
    size_t begin, end;
};

Span span_of(size_t block, size_t blocks, size_t rows) {
    return {rows * block / blocks, rows * (block + 1) / blocks};
}

Rows as_rows(const Ints& first, const Ints& second, const int32_t* pattern, const Doubles& weight) {
    require(first.size() == second.size(), "first and second differ in length");
    require(weight.size() == 0 || weight.size() == first.size(), "weight must be empty or one a row");
    return {first.data(), second.data(), pattern, weight.size() ? weight.data() : nullptr};
}

double expectation(const Ints& first, const Ints& second, const Ints& pattern, const Doubles& weight,
                   const Doubles& if_first, const Doubles& if_second, const Doubles& scores,
                   OutDoubles posterior, OutDoubles curvature, OutDoubles gradient, OutDoubles degree,
                   OutDoubles by_pattern, int threads) {
    const size_t n = first.size(), items = scores.size(), patterns = by_pattern.size();
    require(pattern.size() == n && posterior.size() == n && curvature.size() == n, "one entry a row");
    require(gradient.size() == items && degree.size() == items, "one entry an item");
    const Rows rows = as_rows(first, second, pattern.data(), weight);
    const Table table{if_first.data(), if_second.data()};
    const size_t size = 2 * items + patterns + 1;
    const size_t blocks = block_count(n, size);
    nb::gil_scoped_release release;
    Accumulators sums(blocks, size);
    for_blocks(blocks, threads, [&](size_t block) {
        double* own = sums.of(block);
        Sums part{own, own + items, patterns ? own + 2 * items : nullptr, 0.0};
        const Span span = span_of(block, blocks, n);
        active->expectation(rows, table, scores.data(), span.begin, span.end, posterior.data(),
                            curvature.data(), part);
        own[size - 1] = part.value;
    });
    sums.collect(0, items, gradient.data());
    sums.collect(items, items, degree.data());
    sums.collect(2 * items, patterns, by_pattern.data());
    double value;
    sums.collect(size - 1, 1, &value);
    return value;
}

double maximisation(const Ints& first, const Ints& second, const Doubles& weight, const Doubles& posterior,
                    const Doubles& scores, int loss, OutDoubles curvature, OutDoubles gradient,
                    OutDoubles degree, int threads) {
    const size_t n = first.size(), items = scores.size();
    require(posterior.size() == n && curvature.size() == n, "one entry a row");
    require(gradient.size() == items && degree.size() == items, "one entry an item");
    require(loss == kLogistic || loss == kSmoothHinge, "unknown loss");
    const Rows rows = as_rows(first, second, nullptr, weight);
    const size_t size = 2 * items + 1;
    const size_t blocks = block_count(n, size);
    nb::gil_scoped_release release;
    Accumulators sums(blocks, size);
    for_blocks(blocks, threads, [&](size_t block) {
        double* own = sums.of(block);
        Sums part{own, own + items, nullptr, 0.0};
        const Span span = span_of(block, blocks, n);
        active->maximisation(rows, posterior.data(), scores.data(), static_cast<Loss>(loss), span.begin,
                             span.end, curvature.data(), part);
        own[size - 1] = part.value;
    });
    sums.collect(0, items, gradient.data());
    sums.collect(items, items, degree.data());
    double value;
    sums.collect(size - 1, 1, &value);
    return value;
}

void laplacian(const Ints& first, const Ints& second, const Doubles& curvature, const Doubles& vector,
               OutDoubles product, int threads) {
    const size_t n = first.size(), items = vector.size();
    require(curvature.size() == n && second.size() == n, "one entry a row");
    require(product.size() == items, "one entry an item");
    const Rows rows{first.data(), second.data(), nullptr, nullptr};
    const size_t blocks = block_count(n, items);
    nb::gil_scoped_release release;
    Accumulators sums(blocks, items);
    for_blocks(blocks, threads, [&](size_t block) {
        const Span span = span_of(block, blocks, n);
        active->laplacian(rows, curvature.data(), vector.data(), span.begin, span.end, sums.of(block));
    });
    sums.collect(0, items, product.data());
}

double assign(const Ints& first, const Ints& second, const Doubles& projections, const Doubles& norms,
              OutInts cluster, OutDoubles counts, OutDoubles sizes, int threads) {
    const size_t n = first.size(), clusters = norms.size();
    require(second.size() == n && cluster.size() == n, "one entry a row");
    require(clusters > 0 && sizes.size() == clusters, "one entry a cluster");
    require(counts.size() == projections.size(), "one entry an item and cluster");
    const Rows rows{first.data(), second.data(), nullptr, nullptr};
    const size_t size = counts.size() + clusters + 1;
    const size_t blocks = block_count(n, size);
    nb::gil_scoped_release release;
    Accumulators sums(blocks, size);
    for_blocks(blocks, threads, [&](size_t block) {
        double* own = sums.of(block);
        const Span span = span_of(block, blocks, n);
        active->assign(rows, projections.data(), norms.data(), static_cast<int>(clusters), span.begin,
                       span.end, cluster.data(), own, own + counts.size(), own[size - 1]);
    });
    sums.collect(0, counts.size(), counts.data());
    sums.collect(counts.size(), clusters, sizes.data());
    double value;
    sums.collect(size - 1, 1, &value);
    return value;
}

inline uint64_t mix(uint64_t hash, uint64_t word) {
    hash = (hash ^ word) * 0x9E3779B97F4A7C15ULL;
    return hash ^ (hash >> 29);
}

constexpr int8_t kTie = 2;

// Numbers the distinct lists of decided votes in the order of their first appearance, and adds up, for each pair,
// the weight of its first item's wins and of all its decided votes. Returns how many lists there are;
// `example[u]` is a pair whose votes are list u.
size_t patterns(const Array<const int64_t>& start, const Ints& annotator, const Array<const int8_t>& result,
                const Doubles& weight, OutInts pattern, Array<int64_t> example, OutDoubles wins,
                OutDoubles total) {
    const size_t pairs = pattern.size(), votes = annotator.size();
    require(start.size() == pairs + 1 && example.size() == pairs, "one entry a pair");
    require(wins.size() == pairs && total.size() == pairs, "one entry a pair");
    require(result.size() == votes && weight.size() == votes, "one entry a vote");
    const int64_t* s = start.data();
    const int32_t* who = annotator.data();
    const int8_t* how = result.data();
    const double* w = weight.data();
    nb::gil_scoped_release release;
    const auto hash_of = [&](size_t pair) {
        uint64_t hash = 0;
        for (int64_t v = s[pair]; v < s[pair + 1]; ++v) {
            if (how[v] == kTie) continue;
            uint64_t bits;
            std::memcpy(&bits, w + v, sizeof bits);
            hash = mix(hash, bits + ((static_cast<uint64_t>(who[v]) << 2) | static_cast<uint64_t>(how[v])));
        }
        return hash;
    };
    const auto equal = [&](size_t a, size_t b) {
        int64_t u = s[a], v = s[b];
        for (;; ++u, ++v) {
            while (u < s[a + 1] && how[u] == kTie) ++u;
            while (v < s[b + 1] && how[v] == kTie) ++v;
            if (u == s[a + 1] || v == s[b + 1]) return u == s[a + 1] && v == s[b + 1];
            if (who[u] != who[v] || how[u] != how[v] || w[u] != w[v]) return false;
        }
    };
    // Open addressing, doubled whenever half full: small where the patterns are few, so that it stays in cache.
    std::vector<int32_t> slots(1024, -1);
    std::vector<uint64_t> hashes;
    for (size_t pair = 0; pair < pairs; ++pair) {
        double won = 0.0, cast = 0.0;
        for (int64_t v = s[pair]; v < s[pair + 1]; ++v) {
            if (how[v] == kTie) continue;
            won += how[v] * w[v];
            cast += w[v];
        }
        wins.data()[pair] = won;
        total.data()[pair] = cast;
        const uint64_t hash = hash_of(pair);
        size_t slot = hash & (slots.size() - 1);
        while (slots[slot] >= 0 && !(hashes[slots[slot]] == hash && equal(example.data()[slots[slot]], pair)))
            slot = (slot + 1) & (slots.size() - 1);
        if (slots[slot] < 0) {
            slots[slot] = static_cast<int32_t>(hashes.size());
            example.data()[hashes.size()] = static_cast<int64_t>(pair);
            hashes.push_back(hash);
        }
        pattern.data()[pair] = slots[slot];
        if (2 * hashes.size() < slots.size()) continue;
        std::vector<int32_t> larger(2 * slots.size(), -1);
        for (size_t known = 0; known < hashes.size(); ++known) {
            size_t at = hashes[known] & (larger.size() - 1);
            while (larger[at] >= 0) at = (at + 1) & (larger.size() - 1);
            larger[at] = static_cast<int32_t>(known);
        }
        slots.swap(larger);
    }
    return hashes.size();
}

}  // namespace

NB_MODULE(_native, m) {
    m.doc() = "Compiled passes over rows; each has a plain twin in jamrank.kernels.twin.";
    m.def("expectation", &expectation);
    m.def("maximisation", &maximisation);
    m.def("laplacian", &laplacian);
    m.def("assign", &assign);
    m.def("patterns", &patterns);
    m.def("select", &select, "instruction_set"_a);
}

}  // namespace jamrank
