// The Python bindings of the passes: blocks, threads and the choice of instruction set.
#include "bindings.hpp"

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "blocks.hpp"
#include "clusters.hpp"
#include "direct.hpp"
#include "effects.hpp"
#include "item_rows.hpp"
#include "linear.hpp"
#include "marginal.hpp"
#include "products.hpp"
#include "votes.hpp"

namespace jamrank {

const Passes* active = nullptr;
const EffectPasses* active_effects = nullptr;
const LapsePasses* active_lapses = nullptr;
const LinearPasses* active_linear = nullptr;

namespace {

using namespace nb::literals;

struct InstructionSet {
    const Passes* passes;
    const VotePasses* votes;
    const DirectPasses* direct;
    const MarginalPasses* marginal;
    const EffectPasses* effects;
    const LapsePasses* lapses;
    const LinearPasses* linear;
    const ClusterPasses* clusters;
};

// What was compiled for an instruction set; nulls where the set is unknown or this processor lacks it.
InstructionSet compiled_for(const std::string& name) {
#ifdef JAMRANK_X86
    const bool v3 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2");
    const bool v4 = v3 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
                    __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw") &&
                    __builtin_cpu_supports("avx512cd");
    if (name == "v4" || name == "auto")
        if (v4)
            return {&jamrank::v4::passes, &jamrank::v4::vote_passes, &jamrank::v4::direct_passes,
                    &jamrank::v4::marginal_passes, &jamrank::v4::effect_passes, &jamrank::v4::lapse_passes,
                    &jamrank::v4::linear_passes, &jamrank::v4::cluster_passes};
    if (name == "v3" || name == "auto")
        if (v3)
            return {&jamrank::v3::passes, &jamrank::v3::vote_passes, &jamrank::v3::direct_passes,
                    &jamrank::v3::marginal_passes, &jamrank::v3::effect_passes, &jamrank::v3::lapse_passes,
                    &jamrank::v3::linear_passes, &jamrank::v3::cluster_passes};
#endif
    if (name == "baseline" || name == "auto")
        return {&baseline::passes, &baseline::vote_passes, &baseline::direct_passes, &baseline::marginal_passes,
                &baseline::effect_passes, &baseline::lapse_passes, &baseline::linear_passes, &baseline::cluster_passes};
    return {};
}

const VotePasses* active_votes = compiled_for("auto").votes;
const DirectPasses* active_direct = compiled_for("auto").direct;
const MarginalPasses* active_marginal = compiled_for("auto").marginal;

bool select(const char* name) {
    const InstructionSet wanted = compiled_for(name);
    if (!wanted.passes) return false;
    active = wanted.passes;
    active_votes = wanted.votes;
    active_direct = wanted.direct;
    active_marginal = wanted.marginal;
    active_effects = wanted.effects;
    active_lapses = wanted.lapses;
    active_linear = wanted.linear;
    active_clusters = wanted.clusters;
    return true;
}

// Accumulators of all blocks side by side; `add` sums them up in the order of the blocks.
class Accumulators {
  public:
    Accumulators(size_t blocks, size_t size) : blocks_(blocks), size_(size), data_(new double[blocks * size]) {}
    // The accumulators of a block, all of them 0: each thread clears its own.
    double* clear(size_t block) {
        double* own = data_.get() + block * size_;
        std::fill_n(own, size_, 0.0);
        return own;
    }
    // Adds every `step`-th of the sums from `offset` on to `out`.
    void add(size_t offset, size_t count, double* out, size_t step = 1) const {
        for (size_t block = 0; block < blocks_; ++block) {
            const double* part = data_.get() + block * size_ + offset;
            for (size_t k = 0; k < count; ++k) out[k] += part[k * step];
        }
    }
    void collect(size_t offset, size_t count, double* out, size_t step = 1) const {
        std::fill(out, out + count, 0.0);
        add(offset, count, out, step);
    }

  private:
    size_t blocks_, size_;
    std::unique_ptr<double[]> data_;
};

// With more kinds of votes than this, neighbours hardly ever have the same.
constexpr size_t kFewKinds = 1024;
constexpr size_t kFewLinks = 1 << 16;

// Every pass over rows sums up gradient and degree (if wanted) by item first, then what is its own, and its value last.
// With all pairs, gradients of second items are contiguous; else an item's two sums are adjacent: a row touches two places.
struct Layout {
    Layout(const Rows& rows, bool bent, size_t own, bool observed = false)
        : items(rows.items),
          bent(bent),
          observed(observed),
          step(observed ? 3 : bent && rows.start ? 2 : 1),
          degree(step > 1 ? 1 : items),
          own(observed ? 3 * items : bent ? 2 * items : items),
          size(this->own + own + 1) {}

    Sums sums(double* block) const { return {block, bent ? block + degree : nullptr, nullptr, 0, 0.0, observed}; }

    // Writes the gradient and the degree; returns the value.
    double write_out(const Accumulators& sums, OutDoubles& gradient_out, OutDoubles& degree_out) const {
        sums.collect(0, items, gradient_out.data(), step);
        if (bent) {
            sums.collect(degree, items, degree_out.data(), step);
        } else {
            std::fill_n(degree_out.data(), degree_out.size(), 0.0);
        }
        double value;
        sums.collect(size - 1, 1, &value);
        return value;
    }

    size_t items;
    bool bent, observed;
    size_t step, degree, own, size;
};

// Without curvature there is no degree either: the array is empty, or filled with zeros.
void require_sums(size_t items, bool bent, const OutDoubles& gradient, const OutDoubles& degree) {
    require(gradient.size() == items && (degree.size() == items || (!bent && degree.size() == 0)),
            "expected one entry for each item");
}

// Rows with patterns.
template <typename Code>
Rows rows_of(const Array<const int64_t>& start, const Seconds& second, const Array<const Code>& pattern, size_t items) {
    Rows rows = as_rows(start, second, pattern.size(), items);
    if constexpr (sizeof(Code) == 1) {
        rows.few_patterns = pattern.data();
    } else {
        rows.pattern = pattern.data();
    }
    return rows;
}

// The likelihoods of patterns, and how far they reach.
struct PatternLikelihoods {
    PatternLikelihoods(const Doubles& if_first, const Doubles& if_second)
        : reach(if_first.size() ? Reach{} : reach_of(if_second)),
          table{if_first.size() ? if_first.data() : nullptr, if_second.data(), if_second.size(), reach.together} {}

    Reach reach;
    Table table;
};

template <typename Code>
double expectation(const Array<const int64_t>& start, const Seconds& second, const Array<const Code>& pattern,
                   const Doubles& weight, const Doubles& if_first, const Doubles& if_second, const Doubles& scores,
                   OutDoubles posterior, OutFloats curvature, OutDoubles gradient, OutDoubles degree,
                   OutDoubles by_pattern, int threads) {
    const size_t n = pattern.size(), items = scores.size(), patterns = by_pattern.size();
    const bool bent = curvature.size() > 0;
    require(!bent || curvature.size() == n, "curvature must be empty or one a row");
    require(posterior.size() == 0 || posterior.size() == n, "posterior must be empty or one a row");
    require_sums(items, bent, gradient, degree);
    Rows rows = rows_of(start, second, pattern, items);
    rows.weight = weights_or_null(weight, n);
    const PatternLikelihoods likely(if_first, if_second);
    const Layout layout(rows, bent, kPatternTables * patterns);
    const size_t blocks = block_count(n, layout.size);
    nb::gil_scoped_release release;
    const Exponentials exponentials(scores.data(), items, likely.reach.log_ratio);
    Accumulators sums(blocks, layout.size);
    for_blocks(blocks, threads, [&](size_t block) {
        double* own = sums.clear(block);
        Sums part = layout.sums(own);
        if (patterns) part.by_pattern = own + layout.own;
        part.patterns = patterns;
        const Span span = span_of(block, blocks, n);
        active->expectation(rows, likely.table, exponentials.view(), span.begin, span.end,
                            posterior.size() ? posterior.data() : nullptr, bent ? curvature.data() : nullptr, part);
        own[layout.size - 1] = part.value;
    });
    std::fill_n(by_pattern.data(), patterns, 0.0);
    for (size_t t = 0; t < kPatternTables; ++t) sums.add(layout.own + t * patterns, patterns, by_pattern.data());
    return layout.write_out(sums, gradient, degree);
}

// The posterior of each row alone.
template <typename Code>
void posterior(const Array<const int64_t>& start, const Seconds& second, const Array<const Code>& pattern,
               const Doubles& if_first, const Doubles& if_second, const Doubles& scores, OutDoubles out, int threads) {
    const size_t n = pattern.size(), items = scores.size();
    // Nothing is added up: long spans, in which fresh memory is touched by one thread.
    const size_t blocks = std::min<size_t>(block_count(n, 1), std::max(threads, 1));
    require(out.size() == n, "one posterior a row");
    const Rows rows = rows_of(start, second, pattern, items);
    const PatternLikelihoods likely(if_first, if_second);
    nb::gil_scoped_release release;
    const Exponentials exponentials(scores.data(), items, likely.reach.log_ratio);
    for_blocks(blocks, threads, [&](size_t block) {
        const Span span = span_of(block, blocks, n);
        active->posterior(rows, likely.table, exponentials.view(), span.begin, span.end, out.data());
    });
}

double expectation_lists(const Array<const int64_t>& start, const Seconds& second,
                         const Array<const int64_t>& vote_start, const Ints& vote, const Doubles& vote_weight,
                         const Doubles& tables, const Doubles& scores, OutDoubles posterior, OutFloats curvature,
                         OutDoubles gradient, OutDoubles degree, OutDoubles expected_counts, OutDoubles hidden,
                         OutDoubles observed, int threads) {
    require(vote_start.size() > 0, "one entry a row, and one");
    const size_t n = vote_start.size() - 1, items = scores.size(), kinds = expected_counts.size();
    const bool kept = curvature.size() > 0, with_observed = observed.size() > 0, bent = kept || with_observed;
    require(observed.size() == (with_observed ? items : 0) && hidden.size() == (with_observed ? kinds : 0),
            "observed must be empty or one an item, and hidden empty or one a kind of vote");
    require(!kept || curvature.size() == n, "curvature must be empty or one a row");
    require(posterior.size() == 0 || posterior.size() == n, "posterior must be empty or one a row");
    require(vote_weight.size() == 0 || vote_weight.size() == vote.size(), "weight must be empty or one a vote");
    require_sums(items, bent, gradient, degree);
    require(tables.size() == 2 * kinds, "two entries a kind of vote");
    const Rows rows = as_rows(start, second, n, items);
    RaggedVotes lists{vote_start.data(), vote.data(), vote_weight.size() ? vote_weight.data() : nullptr, tables.data()};
    std::vector<double> ratio(kinds), base(kinds);
    for (size_t kind = 0; kind < kinds; ++kind) {
        const double log_ratio = tables.data()[2 * kind] - tables.data()[2 * kind + 1];
        ratio[kind] = std::exp(log_ratio);
        base[kind] = tables.data()[2 * kind + 1];
        lists.furthest = std::max(lists.furthest, std::fabs(log_ratio));
    }
    lists.ratio = ratio.data();
    lists.base = base.data();
    const Layout layout(rows, bent, with_observed ? 2 * kinds : kinds, with_observed);
    const size_t blocks = block_count(n, layout.size);
    nb::gil_scoped_release release;
    const Exponentials exponentials(scores.data(), items, kLargestProduct);
    Accumulators sums(blocks, layout.size);
    for_blocks(blocks, threads, [&](size_t block) {
        double* own = sums.clear(block);
        Sums part = layout.sums(own);
        const Span span = span_of(block, blocks, n);
        active->expectation_lists(rows, lists, exponentials.view(), span.begin, span.end,
                                  posterior.size() ? posterior.data() : nullptr, kept ? curvature.data() : nullptr,
                                  own + layout.own, part);
        own[layout.size - 1] = part.value;
    });
    sums.collect(layout.own, kinds, expected_counts.data(), with_observed ? 2 : 1);
    sums.collect(layout.own + 1, hidden.size(), hidden.data(), 2);
    sums.collect(2, observed.size(), observed.data(), 3);
    return layout.write_out(sums, gradient, degree);
}

// A block of links for each block of votes: a link belongs to one block, and blocks have about the same number of votes.
size_t first_link(const SingleVotes& votes, size_t links, size_t block, size_t blocks, size_t n) {
    const size_t vote = span_of(block, blocks, n).begin;
    if (!votes.begin || block == blocks) return block == blocks ? links : vote;
    return std::lower_bound(votes.begin, votes.begin + links, static_cast<int64_t>(vote)) - votes.begin;
}

// Votes that depend on the margin itself, through the parameter of their confusion group; see `Question`.
template <typename Code>
double direct(const Array<const int64_t>& start, const Seconds& second, const Array<const int64_t>& begin,
              const Array<const Code>& kind, const Doubles& weight, const Doubles& params, const Doubles& scores,
              int question, OutFloats curvature, OutDoubles gradient, OutDoubles degree, OutDoubles slope,
              OutDoubles information, int threads) {
    const size_t n = kind.size(), links = curvature.size(), items = scores.size(), groups = params.size();
    require(begin.size() == links + 1 || (begin.size() == 0 && links == n), "one begin a link");
    require(begin.size() == 0 || (begin.data()[0] == 0 && begin.data()[links] == static_cast<int64_t>(n)),
            "begins must cover the votes");
    require(gradient.size() == items && degree.size() == items, "expected one entry for each item");
    require(slope.size() == groups && information.size() == groups, "expected one entry for each confusion group");
    require(question == kBetter || question == kTied, "votes are about the better item or about ties");
    const Rows rows = as_rows(start, second, links, items);
    SingleVotes votes{begin.size() ? begin.data() : nullptr, nullptr, nullptr, weights_or_null(weight, n)};
    if constexpr (sizeof(Code) == 1) {
        votes.few_kinds = kind.data();
    } else {
        votes.kind = kind.data();
    }
    const size_t size = 2 * (items + groups) + 1;
    const size_t blocks = block_count(n, size);
    nb::gil_scoped_release release;
    Accumulators sums(blocks, size);
    for_blocks(blocks, threads, [&](size_t block) {
        double* own = sums.clear(block);
        DirectSums part{own, own + 2 * items, 0.0};
        active_direct->expectation(rows, votes, static_cast<Question>(question), params.data(), scores.data(),
                                   first_link(votes, links, block, blocks, n),
                                   first_link(votes, links, block + 1, blocks, n), curvature.data(), part);
        own[size - 1] = part.value;
    });
    sums.collect(0, items, gradient.data(), 2);
    sums.collect(1, items, degree.data(), 2);
    sums.collect(2 * items, groups, slope.data(), 2);
    sums.collect(2 * items + 1, groups, information.data(), 2);
    double value;
    sums.collect(size - 1, 1, &value);
    return value;
}

// Rows that are single votes, each with a truth of its own; `start` and `second` are those of the links between items.
template <typename Code>
double expectation_votes(const Array<const int64_t>& start, const Seconds& second, const Array<const int64_t>& begin,
                         const Array<const Code>& kind, const Doubles& weight, const Doubles& if_first,
                         const Doubles& if_second, const Doubles& scores, OutDoubles posterior, OutFloats curvature,
                         OutDoubles gradient, OutDoubles degree, OutDoubles expected_counts, OutDoubles hidden,
                         OutDoubles observed, int threads) {
    const size_t n = kind.size(), links = begin.size() ? begin.size() - 1 : n, items = scores.size();
    const size_t kinds = expected_counts.size(), columns = observed.size() ? 3 : 2;
    require(curvature.size() == 0 || curvature.size() == links, "curvature must be empty or one a link");
    require(observed.size() == 0 || observed.size() == items, "observed must be empty or one an item");
    require(begin.size() == 0 || (begin.data()[0] == 0 && begin.data()[links] == static_cast<int64_t>(n)),
            "begins must cover the votes");
    require(posterior.size() == 0 || posterior.size() == n, "posterior must be empty or one a vote");
    require(gradient.size() == items && degree.size() == items, "expected one entry for each item");
    require(hidden.size() == kinds && if_second.size() == kinds, "one entry a kind of vote");
    require(if_first.size() == 0 || if_first.size() == kinds, "if_first must be empty or one a kind of vote");
    const Rows rows = as_rows(start, second, links, items);
    SingleVotes votes{begin.size() ? begin.data() : nullptr, nullptr, nullptr, weights_or_null(weight, n)};
    if constexpr (sizeof(Code) == 1) {
        votes.few_kinds = kind.data();
    } else {
        votes.kind = kind.data();
    }
    const size_t together = if_first.size() ? 0 : reach_of(if_second).together;
    const Table table{if_first.size() ? if_first.data() : nullptr, if_second.data(), kinds, together};
    const size_t tables = kinds <= kFewKinds ? kVoteTables : 1;
    const size_t of_kinds = columns * items, size = of_kinds + 2 * tables * kinds + 1;
    const size_t blocks = block_count(n, size);
    nb::gil_scoped_release release;
    const Exponentials exponentials(scores.data(), items);
    Accumulators sums(blocks, size);
    for_blocks(blocks, threads, [&](size_t block) {
        double* own = sums.clear(block);
        VoteSums part{own, columns == 3, own + of_kinds, kinds, tables, 0.0};
        active_votes->expectation(rows, votes, table, exponentials.view(), first_link(votes, links, block, blocks, n),
                                  first_link(votes, links, block + 1, blocks, n),
                                  posterior.size() ? posterior.data() : nullptr,
                                  curvature.size() ? curvature.data() : nullptr, part);
        own[size - 1] = part.value;
    });
    std::fill_n(expected_counts.data(), kinds, 0.0);
    std::fill_n(hidden.data(), kinds, 0.0);
    for (size_t t = 0; t < tables; ++t) {
        sums.add(of_kinds + 2 * t * kinds, kinds, expected_counts.data(), 2);
        sums.add(of_kinds + 2 * t * kinds + 1, kinds, hidden.data(), 2);
    }
    sums.collect(0, items, gradient.data(), columns);
    sums.collect(1, items, degree.data(), columns);
    sums.collect(2, observed.size(), observed.data(), columns);
    double value;
    sums.collect(size - 1, 1, &value);
    return value;
}

// Votes that are the truth, added up by link and side: `wins` are those for the first item.
double expectation_sides(const Array<const int64_t>& start, const Seconds& second, const Doubles& wins, const Doubles& total,
                         const Doubles& scores, OutFloats curvature, OutDoubles gradient, OutDoubles degree, int threads) {
    const size_t n = curvature.size(), items = scores.size(), size = 2 * items + 1, blocks = block_count(n, size);
    require(wins.size() == n && total.size() == n, "one entry a link");
    require(gradient.size() == items && degree.size() == items, "expected one entry for each item");
    const Rows rows = as_rows(start, second, n, items);
    const SideCounts votes{wins.data(), total.data()};
    nb::gil_scoped_release release;
    const Exponentials exponentials(scores.data(), items);
    Accumulators sums(blocks, size);
    for_blocks(blocks, threads, [&](size_t block) {
        double* own = sums.clear(block);
        VoteSums part{own, false, nullptr, 0, 0, 0.0};
        const Span span = span_of(block, blocks, n);
        active_votes->sides(rows, votes, exponentials.view(), span.begin, span.end, curvature.data(), part);
        own[size - 1] = part.value;
    });
    sums.collect(0, items, gradient.data(), 2);
    sums.collect(1, items, degree.data(), 2);
    double value;
    sums.collect(size - 1, 1, &value);
    return value;
}

// Sums of a pass over margins that are integrated out, all blocks together.
class MarginalBlocks {
  public:
    MarginalBlocks(size_t rows, size_t items, size_t kinds)
        : items_(items),
          kinds_(kinds),
          tables_(kinds <= kFewKinds ? kVoteTables : 1),
          size_(kMarginalSums * items + 2 * tables_ * kinds + 1),
          blocks(block_count(rows, size_)),
          sums_(blocks, size_) {}

    template <typename Pass>
    void run(size_t block, const Pass& pass) {
        double* own = sums_.clear(block);
        MarginalSums part{own, own + kMarginalSums * items_, kinds_, tables_, 0.0};
        pass(part);
        own[size_ - 1] = part.value;
    }

    double hand_over(OutDoubles& gradient, OutDoubles& degree, OutDoubles& observed, OutDoubles& expected_counts,
                     OutDoubles& truth_variance) const {
        sums_.collect(0, items_, gradient.data(), kMarginalSums);
        sums_.collect(1, items_, degree.data(), kMarginalSums);
        sums_.collect(2, items_, observed.data(), kMarginalSums);
        std::fill_n(expected_counts.data(), kinds_, 0.0);
        std::fill_n(truth_variance.data(), kinds_, 0.0);
        for (size_t t = 0; t < tables_; ++t) {
            const size_t offset = kMarginalSums * items_ + 2 * t * kinds_;
            sums_.add(offset, kinds_, expected_counts.data(), 2);
            sums_.add(offset + 1, kinds_, truth_variance.data(), 2);
        }
        double value;
        sums_.collect(size_ - 1, 1, &value);
        return value;
    }

  private:
    size_t items_, kinds_, tables_, size_;

  public:
    size_t blocks;

  private:
    Accumulators sums_;
};

// Rows with margins that are integrated out, each of one kind; laid out as for `expectation_votes`.
template <typename Code>
double marginal(const Array<const int64_t>& start, const Seconds& second, const Array<const int64_t>& begin,
                const Array<const Code>& kind, const Doubles& weight, const Doubles& if_first, const Doubles& if_second,
                const Doubles& scores, const Doubles& variance, OutDoubles posterior, OutFloats curvature,
                OutDoubles gradient, OutDoubles degree, OutDoubles observed, OutDoubles expected_counts,
                OutDoubles truth_variance, int threads) {
    const size_t n = kind.size(), links = curvature.size(), items = scores.size(), kinds = expected_counts.size();
    require(begin.size() == links + 1 || (begin.size() == 0 && links == n), "one begin a link");
    require(begin.size() == 0 || (begin.data()[0] == 0 && begin.data()[links] == static_cast<int64_t>(n)),
            "begins must cover the votes");
    require(posterior.size() == 0 || posterior.size() == n, "posterior must be empty or one a row");
    require(gradient.size() == items && degree.size() == items && observed.size() == items, "one entry an item");
    require(variance.size() == items, "one variance an item");
    require(truth_variance.size() == kinds && (kinds == 0 || if_second.size() == kinds), "one entry a kind");
    require(if_first.size() == 0 || if_first.size() == if_second.size(), "if_first must be empty or one a kind");
    const Rows rows = as_rows(start, second, links, items);
    SingleVotes votes{begin.size() ? begin.data() : nullptr, nullptr, nullptr, weights_or_null(weight, n)};
    if constexpr (sizeof(Code) == 1) {
        votes.few_kinds = kind.data();
    } else {
        votes.kind = kind.data();
    }
    const size_t together = if_first.size() ? 0 : reach_of(if_second).together;
    const Table table{if_first.size() ? if_first.data() : nullptr, if_second.data(), if_second.size(), together};
    nb::gil_scoped_release release;
    MarginalBlocks sums(n, items, kinds);
    for_blocks(sums.blocks, threads, [&](size_t block) {
        sums.run(block, [&](MarginalSums& part) {
            active_marginal->expectation(rows, votes, table, scores.data(), variance.data(),
                                         first_link(votes, links, block, sums.blocks, n),
                                         first_link(votes, links, block + 1, sums.blocks, n),
                                         posterior.size() ? posterior.data() : nullptr, curvature.data(), part);
        });
    });
    return sums.hand_over(gradient, degree, observed, expected_counts, truth_variance);
}

double marginal_lists(const Array<const int64_t>& start, const Seconds& second, const Array<const int64_t>& vote_start,
                      const Ints& vote, const Doubles& vote_weight, const Doubles& log_emission, const Doubles& scores,
                      const Doubles& variance, OutDoubles posterior, OutFloats curvature, OutDoubles gradient,
                      OutDoubles degree, OutDoubles observed, OutDoubles expected_counts, OutDoubles truth_variance,
                      int threads) {
    require(vote_start.size() > 0, "one entry a row, and one");
    const size_t n = vote_start.size() - 1, items = scores.size(), kinds = expected_counts.size();
    require(curvature.size() == n, "one curvature a row");
    require(posterior.size() == 0 || posterior.size() == n, "posterior must be empty or one a row");
    require(vote_weight.size() == 0 || vote_weight.size() == vote.size(), "weight must be empty or one a vote");
    require(gradient.size() == items && degree.size() == items && observed.size() == items, "one entry an item");
    require(variance.size() == items, "one variance an item");
    require(truth_variance.size() == kinds && log_emission.size() == 2 * kinds, "two entries a kind of vote");
    const Rows rows = as_rows(start, second, n, items);
    const RaggedVotes lists{vote_start.data(), vote.data(), vote_weight.size() ? vote_weight.data() : nullptr,
                      log_emission.data()};
    nb::gil_scoped_release release;
    MarginalBlocks sums(n, items, kinds);
    for_blocks(sums.blocks, threads, [&](size_t block) {
        sums.run(block, [&](MarginalSums& part) {
            const Span span = span_of(block, sums.blocks, n);
            active_marginal->expectation_lists(rows, lists, scores.data(), variance.data(), span.begin, span.end,
                                               posterior.size() ? posterior.data() : nullptr, curvature.data(), part);
        });
    });
    return sums.hand_over(gradient, degree, observed, expected_counts, truth_variance);
}

// With patterns, the posterior is one for each of them.
double maximisation(const Array<const int64_t>& start, const Seconds& second, const Codes& pattern,
                    const Doubles& weight, const Doubles& posterior, const Doubles& scores, int loss,
                    OutFloats curvature, OutDoubles gradient, OutDoubles degree, int threads) {
    const size_t n = curvature.size(), items = scores.size();
    require(pattern.size() == n || (pattern.size() == 0 && posterior.size() == n), "one entry a row");
    require_sums(items, true, gradient, degree);
    require(loss == kLogistic || loss == kSmoothHinge, "unknown loss");
    Rows rows = as_rows(start, second, n, items);
    rows.weight = weights_or_null(weight, n);
    if (pattern.size() && pattern.dtype() == nb::dtype<uint8_t>()) {
        rows.few_patterns = static_cast<const uint8_t*>(pattern.data());
    } else if (pattern.size()) {
        require(pattern.dtype() == nb::dtype<int32_t>(), "patterns are int32 or uint8");
        rows.pattern = static_cast<const int32_t*>(pattern.data());
    }
    const Scores plain{scores.data(), nullptr, nullptr};
    const Layout layout(rows, true, 0);
    const size_t blocks = block_count(n, layout.size);
    nb::gil_scoped_release release;
    Accumulators sums(blocks, layout.size);
    for_blocks(blocks, threads, [&](size_t block) {
        double* own = sums.clear(block);
        Sums part = layout.sums(own);
        const Span span = span_of(block, blocks, n);
        active->maximisation(rows, posterior.data(), plain, static_cast<Loss>(loss), span.begin,
                             span.end, curvature.data(), part);
        own[layout.size - 1] = part.value;
    });
    return layout.write_out(sums, gradient, degree);
}

// The curvature matrix of the scores, a graph Laplacian, in threads.
class Curvatures {
  public:
    Curvatures(const Array<const int64_t>& start, const Seconds& second, const Floats& curvature, size_t items, int threads)
        : n_(curvature.size() ? curvature.size() : start.size() ? second.size() : items * (items - 1) / 2),
          items_(items),
          blocks_(block_count(n_, items)),
          // Starting threads would take longer than a product over few rows.
          threads_(n_ <= kFewLinks ? 1 : threads),
          rows_(as_rows(start, second, n_, items)),
          curvature_(curvature.size() ? curvature.data() : nullptr),
          sums_(blocks_, items) {}

    void times(const double* vector, double* product) {
        for_blocks(blocks_, threads_, [&](size_t block) {
            const Span span = span_of(block, blocks_, n_);
            active->laplacian(rows_, curvature_, vector, span.begin, span.end, sums_.clear(block));
        });
        sums_.collect(0, items_, product);
    }

  private:
    size_t n_, items_, blocks_;
    int threads_;
    Rows rows_;
    const float* curvature_;
    Accumulators sums_;
};

void laplacian(const Array<const int64_t>& start, const Seconds& second, const Floats& curvature, const Doubles& vector,
               OutDoubles product, int threads) {
    require(product.size() == vector.size(), "expected one entry for each item");
    Curvatures matrix(start, second, curvature, vector.size(), threads);
    nb::gil_scoped_release release;
    matrix.times(vector.data(), product.data());
}

// Conjugate gradients for the curvature matrix plus a diagonal; see solve_laplacian in jamrank/kernels/twin/steps.py.
void solve_laplacian(const Array<const int64_t>& start, const Seconds& second, const Floats& curvature,
                     const Doubles& target, const Doubles& diagonal, const Doubles& inverse, const Doubles& share, double held,
                     double tolerance, int max_iter, OutDoubles solution, int threads) {
    const size_t n = target.size();
    require(diagonal.size() == n && inverse.size() == n && share.size() == n && solution.size() == n,
            "expected one entry for each item");
    Curvatures matrix(start, second, curvature, n, threads);
    nb::gil_scoped_release release;
    const auto times = [&](const double* vector, double* product) {
        matrix.times(vector, product);
        for (size_t k = 0; k < n; ++k) product[k] += diagonal.data()[k] * vector[k];
    };
    const auto precondition = [&](const double* vector, double* out) {
        const double common = dot(share.data(), vector, n) / held;
        for (size_t k = 0; k < n; ++k) out[k] = inverse.data()[k] * vector[k] + share.data()[k] * common;
    };
    conjugate_gradients(times, precondition, target.data(), tolerance, max_iter, solution.data(), n);
}

}  // namespace

NB_MODULE(_native, m) {
    m.doc() = "Compiled kernels; each has a numpy twin in jamrank.kernels.twin.";
    m.def("expectation", &expectation<uint8_t>);
    m.def("expectation", &expectation<int32_t>);
    m.def("posterior", &posterior<uint8_t>);
    m.def("posterior", &posterior<int32_t>);
    m.def("expectation_lists", &expectation_lists);
    m.def("expectation_votes", &expectation_votes<uint8_t>);
    m.def("expectation_votes", &expectation_votes<int32_t>);
    m.def("expectation_sides", &expectation_sides);
    m.def("direct", &direct<uint8_t>);
    m.def("direct", &direct<int32_t>);
    m.def("marginal", &marginal<uint8_t>);
    m.def("marginal", &marginal<int32_t>);
    m.def("marginal_lists", &marginal_lists);
    m.def("maximisation", &maximisation);
    m.def("laplacian", &laplacian);
    m.def("solve_laplacian", &solve_laplacian);
    select("auto");
    bind_checks(m);
    bind_clusters(m);
    bind_effects(m);
    bind_encoding(m);
    bind_packing(m);
    bind_patterns(m);
    bind_sorting(m);
    bind_steps(m);
    bind_strings(m);
    bind_text(m);
    bind_fields(m);
    bind_flips(m);
    m.def("select", &select, "instruction_set"_a,
          "Use the passes for 'baseline', 'v3', 'v4' or 'auto'; False where this processor lacks them.");
}

}  // namespace jamrank
