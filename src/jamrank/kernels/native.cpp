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
using Floats = Array<const float>;
using OutFloats = Array<float>;

// The passes compiled for an instruction set; null where the set is unknown or this processor lacks it.
const Passes* passes_for(const std::string& name) {
#ifdef JAMRANK_X86
    const bool v3 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2");
    const bool v4 = v3 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
                    __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw") &&
                    __builtin_cpu_supports("avx512cd");
    if (name == "v4" || name == "auto")
        if (v4) return &jamrank::v4::passes;
    if (name == "v3" || name == "auto")
        if (v3) return &jamrank::v3::passes;
#endif
    return name == "baseline" || name == "auto" ? &baseline::passes : nullptr;
}

const Passes* active = passes_for("auto");

bool select(const char* name) {
    const Passes* wanted = passes_for(name);
    if (wanted) active = wanted;
    return wanted != nullptr;
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

// Accumulators of all blocks side by side; `add` sums them up in the order of the blocks.
class Accumulators {
  public:
    Accumulators(size_t blocks, size_t size) : blocks_(blocks), size_(size), data_(blocks * size, 0.0) {}
    double* of(size_t block) { return data_.data() + block * size_; }
    // Adds every `step`-th of the sums from `offset` on to `out`.
    void add(size_t offset, size_t count, double* out, size_t step = 1) const {
        for (size_t block = 0; block < blocks_; ++block) {
            const double* part = data_.data() + block * size_ + offset;
            for (size_t k = 0; k < count; ++k) out[k] += part[k * step];
        }
    }
    void collect(size_t offset, size_t count, double* out, size_t step = 1) const {
        std::fill(out, out + count, 0.0);
        add(offset, count, out, step);
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
                   OutDoubles posterior, OutFloats curvature, OutDoubles gradient, OutDoubles degree,
                   OutDoubles by_pattern, int threads) {
    const size_t n = first.size(), items = scores.size(), patterns = by_pattern.size();
    require(pattern.size() == n && curvature.size() == n, "one entry a row");
    require(posterior.size() == 0 || posterior.size() == n, "posterior must be empty or one a row");
    require(gradient.size() == items && degree.size() == items, "one entry an item");
    const Rows rows = as_rows(first, second, pattern.data(), weight);
    const Table table{if_first.data(), if_second.data()};
    const size_t size = 2 * items + kPatternTables * patterns + 1;
    const size_t blocks = block_count(n, size);
    nb::gil_scoped_release release;
    Accumulators sums(blocks, size);
    for_blocks(blocks, threads, [&](size_t block) {
        double* own = sums.of(block);
        Sums part{own, patterns ? own + 2 * items : nullptr, patterns, 0.0};
        const Span span = span_of(block, blocks, n);
        active->expectation(rows, table, scores.data(), span.begin, span.end,
                            posterior.size() ? posterior.data() : nullptr, curvature.data(), part);
        own[size - 1] = part.value;
    });
    sums.collect(0, items, gradient.data(), 2);
    sums.collect(1, items, degree.data(), 2);
    std::fill_n(by_pattern.data(), patterns, 0.0);
    for (size_t t = 0; t < kPatternTables; ++t) sums.add(2 * items + t * patterns, patterns, by_pattern.data());
    double value;
    sums.collect(size - 1, 1, &value);
    return value;
}

double expectation_lists(const Ints& first, const Ints& second, const Array<const int64_t>& start,
                         const Ints& vote, const Doubles& vote_weight, const Doubles& tables,
                         const Doubles& scores, OutDoubles posterior, OutFloats curvature, OutDoubles gradient,
                         OutDoubles degree, OutDoubles truly_first, int threads) {
    const size_t n = first.size(), items = scores.size(), kinds = truly_first.size();
    require(second.size() == n && start.size() == n + 1 && curvature.size() == n, "one entry a row");
    require(posterior.size() == 0 || posterior.size() == n, "posterior must be empty or one a row");
    require(vote_weight.size() == 0 || vote_weight.size() == vote.size(), "weight must be empty or one a vote");
    require(gradient.size() == items && degree.size() == items, "one entry an item");
    require(tables.size() == 2 * kinds, "two entries a kind of vote");
    const Rows rows{first.data(), second.data(), nullptr, nullptr};
    const Lists lists{start.data(), vote.data(), vote_weight.size() ? vote_weight.data() : nullptr, tables.data()};
    const size_t size = 2 * items + kinds + 1;
    const size_t blocks = block_count(n, size);
    nb::gil_scoped_release release;
    Accumulators sums(blocks, size);
    for_blocks(blocks, threads, [&](size_t block) {
        double* own = sums.of(block);
        Sums part{own, nullptr, 0, 0.0};
        const Span span = span_of(block, blocks, n);
        active->expectation_lists(rows, lists, scores.data(), span.begin, span.end,
                                  posterior.size() ? posterior.data() : nullptr, curvature.data(), own + 2 * items,
                                  part);
        own[size - 1] = part.value;
    });
    sums.collect(0, items, gradient.data(), 2);
    sums.collect(1, items, degree.data(), 2);
    sums.collect(2 * items, kinds, truly_first.data());
    double value;
    sums.collect(size - 1, 1, &value);
    return value;
}

double maximisation(const Ints& first, const Ints& second, const Doubles& weight, const Doubles& posterior,
                    const Doubles& scores, int loss, OutFloats curvature, OutDoubles gradient,
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
        Sums part{own, nullptr, 0, 0.0};
        const Span span = span_of(block, blocks, n);
        active->maximisation(rows, posterior.data(), scores.data(), static_cast<Loss>(loss), span.begin,
                             span.end, curvature.data(), part);
        own[size - 1] = part.value;
    });
    sums.collect(0, items, gradient.data(), 2);
    sums.collect(1, items, degree.data(), 2);
    double value;
    sums.collect(size - 1, 1, &value);
    return value;
}

void laplacian(const Ints& first, const Ints& second, const Floats& curvature, const Doubles& vector,
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

// The votes on each pair, as they are stored.
struct Votes {
    const int64_t* start;
    const int32_t* annotator;
    const int8_t* result;
    const double* weights;  // null: all 1

    double weight(int64_t v) const { return weights ? weights[v] : 1.0; }

    // Ties, and votes of no weight, say nothing of the truth.
    bool idle(int64_t v) const { return result[v] == kTie || weight(v) == 0.0; }

    bool same(size_t a, size_t b) const {
        int64_t u = start[a], v = start[b];
        for (;; ++u, ++v) {
            while (u < start[a + 1] && idle(u)) ++u;
            while (v < start[b + 1] && idle(v)) ++v;
            if (u == start[a + 1] || v == start[b + 1]) return u == start[a + 1] && v == start[b + 1];
            if (annotator[u] != annotator[v] || result[u] != result[v] || weight(u) != weight(v)) return false;
        }
    }
};

// Numbers distinct lists of decided votes in the order of their first appearance. Open addressing, doubled
// whenever half full: small where the lists are few, so that it stays in cache.
class PatternTable {
  public:
    explicit PatternTable(const Votes& votes) : votes_(votes), slots_(1024, -1) {}

    int32_t number(size_t pair, uint64_t hash) {
        size_t slot = hash & (slots_.size() - 1);
        while (slots_[slot] >= 0) {
            const int32_t known = slots_[slot];
            if (hashes[known] == hash && votes_.same(examples[known], pair)) return known;
            slot = (slot + 1) & (slots_.size() - 1);
        }
        const auto fresh = static_cast<int32_t>(hashes.size());
        slots_[slot] = fresh;
        hashes.push_back(hash);
        examples.push_back(pair);
        if (2 * hashes.size() >= slots_.size()) grow();
        return fresh;
    }

    std::vector<uint64_t> hashes;
    std::vector<size_t> examples;

  private:
    void grow() {
        std::vector<int32_t> larger(2 * slots_.size(), -1);
        for (size_t known = 0; known < hashes.size(); ++known) {
            size_t at = hashes[known] & (larger.size() - 1);
            while (larger[at] >= 0) at = (at + 1) & (larger.size() - 1);
            larger[at] = static_cast<int32_t>(known);
        }
        slots_.swap(larger);
    }

    Votes votes_;
    std::vector<int32_t> slots_;
};

// Numbers the distinct lists of decided votes in the order of their first appearance, and computes each pair's
// shrunken share of votes for its first item, (wins + 1) / (votes + 2). Returns how many lists there are;
// `example[u]` is a pair whose votes are list u.
size_t patterns(const Array<const int64_t>& start, const Ints& annotator, const Array<const int8_t>& result,
                const Doubles& weight, OutInts pattern, Array<int64_t> example, OutDoubles share, int threads) {
    const size_t pairs = pattern.size(), count = annotator.size();
    require(start.size() == pairs + 1 && example.size() == pairs, "one entry a pair");
    require(share.size() == pairs, "one entry a pair");
    require(result.size() == count, "one entry a vote");
    require(weight.size() == 0 || weight.size() == count, "weight must be empty or one a vote");
    const Votes votes{start.data(), annotator.data(), result.data(), weight.size() ? weight.data() : nullptr};
    nb::gil_scoped_release release;
    // Every block numbers its own lists; then the blocks' tables are merged in order and the numbers replaced.
    const size_t blocks = block_count(pairs, 1);
    std::vector<PatternTable> tables(blocks, PatternTable(votes));
    for_blocks(blocks, threads, [&](size_t block) {
        const Span span = span_of(block, blocks, pairs);
        for (size_t pair = span.begin; pair < span.end; ++pair) {
            double won = 0.0, cast = 0.0;
            uint64_t hash = 0;
            for (int64_t v = votes.start[pair]; v < votes.start[pair + 1]; ++v) {
                if (votes.idle(v)) continue;
                const auto how = static_cast<uint64_t>(votes.result[v]);
                const double weight_of_vote = votes.weight(v);
                won += static_cast<double>(how) * weight_of_vote;
                cast += weight_of_vote;
                uint64_t bits;
                std::memcpy(&bits, &weight_of_vote, sizeof bits);
                hash = mix(hash, bits + ((static_cast<uint64_t>(votes.annotator[v]) << 2) | how));
            }
            share.data()[pair] = (won + 1.0) / (cast + 2.0);
            pattern.data()[pair] = tables[block].number(pair, hash);
        }
    });
    PatternTable merged(votes);
    std::vector<std::vector<int32_t>> renumbered(blocks);
    for (size_t block = 0; block < blocks; ++block)
        for (size_t k = 0; k < tables[block].hashes.size(); ++k)
            renumbered[block].push_back(merged.number(tables[block].examples[k], tables[block].hashes[k]));
    for_blocks(blocks, threads, [&](size_t block) {
        const Span span = span_of(block, blocks, pairs);
        for (size_t pair = span.begin; pair < span.end; ++pair)
            pattern.data()[pair] = renumbered[block][pattern.data()[pair]];
    });
    std::copy(merged.examples.begin(), merged.examples.end(), example.data());
    return merged.hashes.size();
}

// What a jury said of a pair, two bits an annotator: 1 for the second item, 2 for the first, 0 where nothing was decided.
struct Verdicts {
    uint64_t low, high;
    bool operator==(const Verdicts& other) const { return low == other.low && high == other.high; }
};

inline Verdicts verdicts_of(const int8_t* said, size_t annotators) {
    // Results are 0, 1, a tie or no vote: the last two become nothing.
    constexpr uint64_t code[4] = {1, 2, 0, 0};
    Verdicts all{0, 0};
    for (size_t k = 0; k < std::min<size_t>(annotators, 32); ++k) all.low |= code[said[k] & 3] << (2 * k);
    for (size_t k = 32; k < annotators; ++k) all.high |= code[said[k] & 3] << (2 * (k - 32));
    return all;
}

// Numbers distinct verdicts in the order of their first appearance.
class VerdictTable {
  public:
    VerdictTable() : slots_(1024, -1) {}

    int32_t number(const Verdicts& verdicts, size_t row) {
        size_t slot = mix(mix(0, verdicts.low), verdicts.high) & (slots_.size() - 1);
        for (; slots_[slot] >= 0; slot = (slot + 1) & (slots_.size() - 1))
            if (known[slots_[slot]] == verdicts) return slots_[slot];
        const auto fresh = static_cast<int32_t>(known.size());
        slots_[slot] = fresh;
        known.push_back(verdicts);
        examples.push_back(row);
        if (2 * known.size() >= slots_.size()) grow();
        return fresh;
    }

    std::vector<Verdicts> known;
    std::vector<size_t> examples;

  private:
    void grow() {
        std::vector<int32_t> larger(2 * slots_.size(), -1);
        for (size_t k = 0; k < known.size(); ++k) {
            size_t at = mix(mix(0, known[k].low), known[k].high) & (larger.size() - 1);
            while (larger[at] >= 0) at = (at + 1) & (larger.size() - 1);
            larger[at] = static_cast<int32_t>(k);
        }
        slots_.swap(larger);
    }

    std::vector<int32_t> slots_;
};

// As `patterns`, for the results of a jury of at most 64 on each pair, one row of the matrix a pair. Returns how many
// distinct verdicts there are.
size_t jury_patterns(const Array<const int8_t>& results, size_t annotators, OutInts pattern, Array<int64_t> example,
                     int threads) {
    const size_t pairs = pattern.size();
    require(annotators >= 1 && annotators <= 64, "a jury has 1 to 64 annotators");
    require(results.size() == pairs * annotators && example.size() == pairs, "one entry a pair");
    nb::gil_scoped_release release;
    const size_t blocks = block_count(pairs, 1);
    std::vector<VerdictTable> tables(blocks);
    for_blocks(blocks, threads, [&](size_t block) {
        const Span span = span_of(block, blocks, pairs);
        for (size_t row = span.begin; row < span.end; ++row)
            pattern.data()[row] = tables[block].number(verdicts_of(results.data() + row * annotators, annotators), row);
    });
    VerdictTable merged;
    std::vector<std::vector<int32_t>> renumbered(blocks);
    for (size_t block = 0; block < blocks; ++block)
        for (size_t k = 0; k < tables[block].known.size(); ++k)
            renumbered[block].push_back(merged.number(tables[block].known[k], tables[block].examples[k]));
    for_blocks(blocks, threads, [&](size_t block) {
        const Span span = span_of(block, blocks, pairs);
        for (size_t row = span.begin; row < span.end; ++row)
            pattern.data()[row] = renumbered[block][pattern.data()[row]];
    });
    std::copy(merged.examples.begin(), merged.examples.end(), example.data());
    return merged.known.size();
}

}  // namespace

NB_MODULE(_native, m) {
    m.doc() = "Compiled passes over rows; each has a plain twin in jamrank.kernels.twin.";
    m.def("expectation", &expectation);
    m.def("expectation_lists", &expectation_lists);
    m.def("maximisation", &maximisation);
    m.def("laplacian", &laplacian);
    m.def("assign", &assign);
    m.def("patterns", &patterns);
    m.def("jury_patterns", &jury_patterns);
    m.def("select", &select, "instruction_set"_a,
          "Use the passes for 'baseline', 'v3', 'v4' or 'auto'; False where this processor lacks them.");
}

}  // namespace jamrank
