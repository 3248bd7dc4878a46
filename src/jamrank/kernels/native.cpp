// Python's door to the compiled passes: blocks, threads and the choice of instruction set.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <vector>

#include "blocks.hpp"
#include "direct.hpp"
#include "encoding.hpp"
#include "marginal.hpp"
#include "passes.hpp"
#include "votes.hpp"

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

struct InstructionSet {
    const Passes* passes;
    const VotePasses* votes;
    const DirectPasses* direct;
    const MarginalPasses* marginal;
};

// What was compiled for an instruction set; nulls where the set is unknown or this processor lacks it.
InstructionSet compiled_for(const std::string& name) {
#ifdef JAMRANK_X86
    const bool v3 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2");
    const bool v4 = v3 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
                    __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw") &&
                    __builtin_cpu_supports("avx512cd");
    if (name == "v4" || name == "auto")
        if (v4) return {&jamrank::v4::passes, &jamrank::v4::vote_passes, &jamrank::v4::direct_passes, &jamrank::v4::marginal_passes};
    if (name == "v3" || name == "auto")
        if (v3) return {&jamrank::v3::passes, &jamrank::v3::vote_passes, &jamrank::v3::direct_passes, &jamrank::v3::marginal_passes};
#endif
    if (name == "baseline" || name == "auto")
        return {&baseline::passes, &baseline::vote_passes, &baseline::direct_passes, &baseline::marginal_passes};
    return {nullptr, nullptr, nullptr, nullptr};
}

const Passes* active = compiled_for("auto").passes;
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
    return true;
}

void require(bool holds, const char* what) {
    if (!holds) throw std::invalid_argument(what);
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

// Small integers, in as few bytes as will do.
using Codes = nb::ndarray<nb::ro, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Seconds = Codes;

// Rows sorted by their first item; without any they are all pairs of `items`, in order.
Rows as_rows(const Array<const int64_t>& start, const Seconds& second, size_t n, size_t items) {
    Rows rows{items, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr};
    if (start.size() == 0) {
        require(n == items * (items - 1) / 2 && second.size() == 0, "without items the rows are all pairs");
        return rows;
    }
    require(start.size() == items + 1 && second.size() == n, "one start an item, one second item a row");
    require(start.data()[0] == 0 && start.data()[items] == static_cast<int64_t>(n), "starts must cover the rows");
    rows.start = start.data();
    if (second.dtype() == nb::dtype<uint16_t>()) {
        rows.near_second = static_cast<const uint16_t*>(second.data());
    } else {
        require(second.dtype() == nb::dtype<int32_t>(), "second items are int32 or uint16");
        rows.second = static_cast<const int32_t*>(second.data());
    }
    return rows;
}

const double* weights_or_null(const Doubles& weight, size_t n) {
    require(weight.size() == 0 || weight.size() == n, "weight must be empty or one a row");
    return weight.size() ? weight.data() : nullptr;
}

// Scores within these bounds can be exponentiated once an item, and multiplied for each row.
constexpr double kLargestScore = 150.0;
// The largest logarithm of a number, with some room below what a double can hold.
constexpr double kLargestLog = 690.0;
// With more kinds of votes than this, neighbours hardly ever have the same.
constexpr size_t kFewKinds = 1024;
constexpr size_t kFewLinks = 1 << 16;

class Exponentials {
  public:
    // `log_ratio` is the largest logarithm by which a row's odds are multiplied.
    explicit Exponentials(const Doubles& scores, double log_ratio = 0.0) : scores_(scores.data()) {
        const auto [low, high] = std::minmax_element(scores_, scores_ + scores.size());
        if (scores.size() == 0 || !(*low >= -kLargestScore && *high <= kLargestScore)) return;
        // A pass multiplies the odds of the prior with those of the posterior.
        if (!(2.0 * (*high - *low) + std::max(log_ratio, 0.0) <= kLargestLog)) return;
        up_.reserve(scores.size());
        down_.reserve(scores.size());
        for (size_t i = 0; i < scores.size(); ++i) {
            up_.push_back(std::exp(scores_[i]));
            down_.push_back(std::exp(-scores_[i]));
        }
    }
    Scores view() const {
        return {scores_, up_.empty() ? nullptr : up_.data(), up_.empty() ? nullptr : down_.data()};
    }

  private:
    const double* scores_;
    std::vector<double> up_, down_;
};

// Every pass over rows sums up gradient and degree (if wanted) by item first, then what is its own, and its value last.
// Where second items follow each other gradients do, too; else an item's two sums lie side by side, so that one row
// touches two places and not four.
struct Layout {
    Layout(const Rows& rows, bool bent, size_t own)
        : items(rows.items),
          bent(bent),
          step(bent && rows.start ? 2 : 1),
          degree(step == 2 ? 1 : items),
          own(bent ? 2 * items : items),
          size(this->own + own + 1) {}

    Sums sums(double* block) const { return {block, bent ? block + degree : nullptr, nullptr, 0, 0.0}; }

    // Writes the gradient and the degree; returns the value.
    double hand_over(const Accumulators& sums, OutDoubles& gradient_out, OutDoubles& degree_out) const {
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
    bool bent;
    size_t step, degree, own, size;
};

// Without curvature there is no degree either: it is empty, or zeros.
void require_sums(size_t items, bool bent, const OutDoubles& gradient, const OutDoubles& degree) {
    require(gradient.size() == items && (degree.size() == items || (!bent && degree.size() == 0)), "one entry an item");
}

// The largest logarithm in one table of ratios, and how many likelihoods can be multiplied: a row's lies between 1 and
// the ratio of its pattern.
struct Reach {
    double log_ratio = 0.0;
    size_t together = 0;
};

Reach reach_of(const Doubles& ratio) {
    if (ratio.size() == 0) return {};
    const auto [least, most] = std::minmax_element(ratio.data(), ratio.data() + ratio.size());
    Reach reach{std::log(*most), 0};
    const double furthest = std::max(std::fabs(std::log(*least)), std::fabs(reach.log_ratio));
    while (reach.together < kMostTogether && (reach.together + 1) * furthest <= kLargestLog) ++reach.together;
    return reach;
}

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
    Rows rows = as_rows(start, second, n, items);
    rows.weight = weights_or_null(weight, n);
    if constexpr (sizeof(Code) == 1) {
        rows.few_patterns = pattern.data();
    } else {
        rows.pattern = pattern.data();
    }
    const bool one_table = if_first.size() == 0;
    const Reach reach = one_table ? reach_of(if_second) : Reach{};
    const Table table{one_table ? nullptr : if_first.data(), if_second.data(), if_second.size(), reach.together};
    const Layout layout(rows, bent, kPatternTables * patterns);
    const size_t blocks = block_count(n, layout.size);
    nb::gil_scoped_release release;
    const Exponentials exponentials(scores, reach.log_ratio);
    Accumulators sums(blocks, layout.size);
    for_blocks(blocks, threads, [&](size_t block) {
        double* own = sums.clear(block);
        Sums part = layout.sums(own);
        if (patterns) part.by_pattern = own + layout.own;
        part.patterns = patterns;
        const Span span = span_of(block, blocks, n);
        active->expectation(rows, table, exponentials.view(), span.begin, span.end,
                            posterior.size() ? posterior.data() : nullptr, bent ? curvature.data() : nullptr, part);
        own[layout.size - 1] = part.value;
    });
    std::fill_n(by_pattern.data(), patterns, 0.0);
    for (size_t t = 0; t < kPatternTables; ++t) sums.add(layout.own + t * patterns, patterns, by_pattern.data());
    return layout.hand_over(sums, gradient, degree);
}

double expectation_lists(const Array<const int64_t>& start, const Seconds& second,
                         const Array<const int64_t>& vote_start, const Ints& vote, const Doubles& vote_weight,
                         const Doubles& tables, const Doubles& scores, OutDoubles posterior, OutFloats curvature,
                         OutDoubles gradient, OutDoubles degree, OutDoubles truly_first, int threads) {
    require(vote_start.size() > 0, "one entry a row, and one");
    const size_t n = vote_start.size() - 1, items = scores.size(), kinds = truly_first.size();
    const bool bent = curvature.size() > 0;
    require(!bent || curvature.size() == n, "curvature must be empty or one a row");
    require(posterior.size() == 0 || posterior.size() == n, "posterior must be empty or one a row");
    require(vote_weight.size() == 0 || vote_weight.size() == vote.size(), "weight must be empty or one a vote");
    require_sums(items, bent, gradient, degree);
    require(tables.size() == 2 * kinds, "two entries a kind of vote");
    const Rows rows = as_rows(start, second, n, items);
    const Lists lists{vote_start.data(), vote.data(), vote_weight.size() ? vote_weight.data() : nullptr, tables.data()};
    const Layout layout(rows, bent, kinds);
    const size_t blocks = block_count(n, layout.size);
    nb::gil_scoped_release release;
    const Exponentials exponentials(scores);
    Accumulators sums(blocks, layout.size);
    for_blocks(blocks, threads, [&](size_t block) {
        double* own = sums.clear(block);
        Sums part = layout.sums(own);
        const Span span = span_of(block, blocks, n);
        active->expectation_lists(rows, lists, exponentials.view(), span.begin, span.end,
                                  posterior.size() ? posterior.data() : nullptr, bent ? curvature.data() : nullptr,
                                  own + layout.own, part);
        own[layout.size - 1] = part.value;
    });
    sums.collect(layout.own, kinds, truly_first.data());
    return layout.hand_over(sums, gradient, degree);
}

// A block of links for each block of votes: a link belongs to one block, and blocks have about as many votes each.
size_t first_link(const SingleVotes& votes, size_t links, size_t block, size_t blocks, size_t n) {
    const size_t vote = span_of(block, blocks, n).begin;
    if (!votes.begin || block == blocks) return block == blocks ? links : vote;
    return std::lower_bound(votes.begin, votes.begin + links, static_cast<int64_t>(vote)) - votes.begin;
}

// Votes that depend on the margin directly, each by the parameter of its coin; `question` is what they are about.
template <typename Code>
double direct(const Array<const int64_t>& start, const Seconds& second, const Array<const int64_t>& begin,
              const Array<const Code>& kind, const Doubles& weight, const Doubles& params, const Doubles& scores,
              int question, OutFloats curvature, OutDoubles gradient, OutDoubles degree, OutDoubles slope,
              OutDoubles information, int threads) {
    const size_t n = kind.size(), links = curvature.size(), items = scores.size(), coins = params.size();
    require(begin.size() == links + 1 || (begin.size() == 0 && links == n), "one begin a link");
    require(begin.size() == 0 || (begin.data()[0] == 0 && begin.data()[links] == static_cast<int64_t>(n)),
            "begins must cover the votes");
    require(gradient.size() == items && degree.size() == items, "one entry an item");
    require(slope.size() == coins && information.size() == coins, "one entry a coin");
    require(question == kBetter || question == kTied, "votes are about the better item or about ties");
    const Rows rows = as_rows(start, second, links, items);
    SingleVotes votes{begin.size() ? begin.data() : nullptr, nullptr, nullptr, weights_or_null(weight, n)};
    if constexpr (sizeof(Code) == 1) {
        votes.few_kinds = kind.data();
    } else {
        votes.kind = kind.data();
    }
    const size_t size = 2 * (items + coins) + 1;
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
    sums.collect(2 * items, coins, slope.data(), 2);
    sums.collect(2 * items + 1, coins, information.data(), 2);
    double value;
    sums.collect(size - 1, 1, &value);
    return value;
}

// Rows that are single votes, each with a truth of its own; `start` and `second` are those of the links between items.
template <typename Code>
double expectation_votes(const Array<const int64_t>& start, const Seconds& second, const Array<const int64_t>& begin,
                         const Array<const Code>& kind, const Doubles& weight, const Doubles& if_first,
                         const Doubles& if_second, const Doubles& scores, OutDoubles posterior, OutFloats curvature,
                         OutDoubles gradient, OutDoubles degree, OutDoubles truly_first, OutDoubles hidden, int threads) {
    const size_t n = kind.size(), links = curvature.size(), items = scores.size(), kinds = truly_first.size();
    require(begin.size() == links + 1 || (begin.size() == 0 && links == n), "one begin a link");
    require(begin.size() == 0 || (begin.data()[0] == 0 && begin.data()[links] == static_cast<int64_t>(n)),
            "begins must cover the votes");
    require(posterior.size() == 0 || posterior.size() == n, "posterior must be empty or one a vote");
    require(gradient.size() == items && degree.size() == items, "one entry an item");
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
    const size_t size = 2 * items + 2 * tables * kinds + 1;
    const size_t blocks = block_count(n, size);
    nb::gil_scoped_release release;
    const Exponentials exponentials(scores);
    Accumulators sums(blocks, size);
    for_blocks(blocks, threads, [&](size_t block) {
        double* own = sums.clear(block);
        VoteSums part{own, own + 2 * items, kinds, tables, 0.0};
        active_votes->expectation(rows, votes, table, exponentials.view(), first_link(votes, links, block, blocks, n),
                                  first_link(votes, links, block + 1, blocks, n), posterior.size() ? posterior.data() : nullptr, curvature.data(), part);
        own[size - 1] = part.value;
    });
    std::fill_n(truly_first.data(), kinds, 0.0);
    std::fill_n(hidden.data(), kinds, 0.0);
    for (size_t t = 0; t < tables; ++t) {
        sums.add(2 * (items + t * kinds), kinds, truly_first.data(), 2);
        sums.add(2 * (items + t * kinds) + 1, kinds, hidden.data(), 2);
    }
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
    const Lists lists{vote_start.data(), vote.data(), vote_weight.size() ? vote_weight.data() : nullptr,
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
    return layout.hand_over(sums, gradient, degree);
}

void laplacian(const Array<const int64_t>& start, const Seconds& second, const Floats& curvature, const Doubles& vector,
               OutDoubles product, int threads) {
    const size_t n = curvature.size(), items = vector.size();
    require(product.size() == items, "one entry an item");
    const Rows rows = as_rows(start, second, n, items);
    const size_t blocks = block_count(n, items);
    nb::gil_scoped_release release;
    Accumulators sums(blocks, items);
    // A product over few rows is done before another thread has begun.
    for_blocks(blocks, n <= kFewLinks ? 1 : threads, [&](size_t block) {
        const Span span = span_of(block, blocks, n);
        active->laplacian(rows, curvature.data(), vector.data(), span.begin, span.end, sums.clear(block));
    });
    sums.collect(0, items, product.data());
}

double assign(const Ints& first, const Ints& second, const Doubles& projections, const Doubles& norms,
              OutInts cluster, OutDoubles counts, OutDoubles sizes, int threads) {
    const size_t n = first.size(), clusters = norms.size();
    require(second.size() == n && cluster.size() == n, "one entry a row");
    require(clusters > 0 && sizes.size() == clusters, "one entry a cluster");
    require(counts.size() == projections.size(), "one entry an item and cluster");
    const Pairs rows{first.data(), second.data()};
    const size_t size = counts.size() + clusters + 1;
    const size_t blocks = block_count(n, size);
    nb::gil_scoped_release release;
    Accumulators sums(blocks, size);
    for_blocks(blocks, threads, [&](size_t block) {
        double* own = sums.clear(block);
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

// What a jury said of a pair, two bits an annotator from the highest down: 0 for the second item, 1 for the first, 2 where
// nothing was decided.
struct Verdicts {
    uint64_t high, low;
    bool operator==(const Verdicts& other) const { return low == other.low && high == other.high; }
    bool operator<(const Verdicts& other) const { return high != other.high ? high < other.high : low < other.low; }
};

inline uint64_t pack(const int8_t* said, size_t count) {
    uint64_t packed = 0;
    for (size_t k = 0; k < count; ++k) packed = packed << 2 | (said[k] > 2 ? 2 : said[k]);
    return packed;
}

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
constexpr bool kLowBytesFirst = false;
#else
constexpr bool kLowBytesFirst = true;
#endif

// The same for the row of a small jury that begins at `at`: its bytes are read as one word, and their bits pushed together
// with the first of them highest. Where the word would end beyond the results it goes byte by byte.
inline uint64_t pack_row(const int8_t* results, size_t size, size_t at, size_t annotators) {
    if (!kLowBytesFirst || at + 8 > size) return pack(results + at, annotators);
    uint64_t word;
    std::memcpy(&word, results + at, 8);
    word <<= 8 * (8 - annotators);
    word &= ~(word >> 1 & 0x0101010101010101u);  // 3 becomes 2
    word = (word << 2 | word >> 8) & 0x000f000f000f000fu;
    word = (word << 4 | word >> 16) & 0x000000ff000000ffu;
    return (word << 8 | word >> 32) & 0xffffu;
}

inline Verdicts verdicts_of(const int8_t* said, size_t annotators) {
    const size_t high = annotators > 32 ? annotators - 32 : 0;
    return {pack(said, high), pack(said + high, annotators - high)};
}

struct HashVerdicts {
    size_t operator()(const Verdicts& verdicts) const { return mix(mix(0, verdicts.low), verdicts.high); }
};

size_t number_jury(const int8_t* results, size_t annotators, size_t pairs, int32_t* pattern, int64_t* example,
                   int threads) {
    const size_t blocks = block_count(pairs, 1);
    std::vector<std::unordered_map<Verdicts, size_t, HashVerdicts>> seen(blocks);
    for_blocks(blocks, threads, [&](size_t block) {
        const Span span = span_of(block, blocks, pairs);
        for (size_t row = span.begin; row < span.end; ++row)
            seen[block].emplace(verdicts_of(results + row * annotators, annotators), row);
    });
    std::map<Verdicts, size_t> distinct;
    for (const auto& block : seen) distinct.insert(block.begin(), block.end());
    std::unordered_map<Verdicts, int32_t, HashVerdicts> number;
    for (const auto& [verdicts, row] : distinct) {
        example[number.size()] = static_cast<int64_t>(row);
        number.emplace(verdicts, static_cast<int32_t>(number.size()));
    }
    for_blocks(blocks, threads, [&](size_t block) {
        const Span span = span_of(block, blocks, pairs);
        for (size_t row = span.begin; row < span.end; ++row)
            pattern[row] = number.find(verdicts_of(results + row * annotators, annotators))->second;
    });
    return number.size();
}

// Numbers the distinct verdicts of a jury of at most 64, one row of results a pair, in their order; returns how many
// there are. `example[u]` is a pair with verdicts u.
size_t jury_patterns(const Array<const int8_t>& results, size_t annotators, OutInts pattern, Array<int64_t> example,
                     int threads) {
    const size_t pairs = pattern.size();
    require(annotators >= 1 && annotators <= 64, "a jury has 1 to 64 annotators");
    require(results.size() == pairs * annotators && example.size() == pairs, "one entry a pair");
    nb::gil_scoped_release release;
    return number_jury(results.data(), annotators, pairs, pattern.data(), example.data(), threads);
}

// Bytes may be anything, for all that a compiler knows: what a loop that writes some needs, it is handed by value.
void mark_rows(const int8_t* said, size_t size, size_t annotators, Span span, uint8_t* seen) {
    for (size_t row = span.begin; row < span.end; ++row) seen[pack_row(said, size, row * annotators, annotators)] = 1;
}

template <typename Code>
bool number_rows(const int8_t* said, size_t size, size_t annotators, Span span, const int32_t* numbers, Code* pattern) {
    int32_t all = 0;
    for (size_t row = span.begin; row < span.end; ++row) {
        const int32_t number = numbers[pack_row(said, size, row * annotators, annotators)];
        pattern[row] = static_cast<Code>(number);
        all |= number;
    }
    return all >= 0;
}

template <typename Code>
void mark_items(const int32_t* first, const int32_t* second, const Code* codes, const uint8_t* side, Span span,
                uint8_t* seen) {
    constexpr uint8_t kOfFirst[] = {1, 2, 3}, kOfSecond[] = {2, 1, 3};
    for (size_t row = span.begin; row < span.end;) {
        // Rows of one first item follow each other.
        const int32_t item = first[row];
        uint8_t mark = 0;
        for (; row < span.end && first[row] == item; ++row) {
            const uint8_t won = side[codes[row]];
            mark |= kOfFirst[won];
            seen[second[row]] |= kOfSecond[won];
        }
        seen[item] |= mark;
    }
}

// Verdicts of at most eight annotators are places in a table: marks those that occur.
void mark_verdicts(const Array<const int8_t>& results, size_t annotators, Array<uint8_t> seen, int threads) {
    require(annotators >= 1 && annotators <= 8 && seen.size() == size_t{1} << (2 * annotators), "a mark for each verdict");
    const size_t pairs = results.size() / annotators, blocks = block_count(pairs, 1);
    const size_t size = results.size();
    const int8_t* said = results.data();
    nb::gil_scoped_release release;
    std::vector<std::vector<uint8_t>> marks(blocks);
    for_blocks(blocks, threads, [&](size_t block) {
        marks[block].assign(seen.size(), 0);
        mark_rows(said, size, annotators, span_of(block, blocks, pairs), marks[block].data());
    });
    std::fill_n(seen.data(), seen.size(), 0);
    for (const auto& own : marks)
        for (size_t kind = 0; kind < own.size(); ++kind) seen.data()[kind] |= own[kind];
}

// Gives each row the number of its verdicts; tells whether none of them is below 0.
template <typename Code>
bool number_verdicts(const Array<const int8_t>& results, size_t annotators, const Ints& numbers, Array<Code> pattern,
                     int threads) {
    const size_t pairs = pattern.size(), blocks = block_count(pairs, 1);
    require(annotators >= 1 && annotators <= 8 && numbers.size() == size_t{1} << (2 * annotators), "a number a verdict");
    require(results.size() == pairs * annotators, "one entry a pair");
    const int8_t* said = results.data();
    const int32_t* number = numbers.data();
    Code* code = pattern.data();
    nb::gil_scoped_release release;
    std::atomic<bool> known{true};
    for_blocks(blocks, threads, [&](size_t block) {
        if (!number_rows(said, pairs * annotators, annotators, span_of(block, blocks, pairs), number, code)) known = false;
    });
    return known;
}

// Marks what items did on some of their pairs: 1 for not winning, 2 for not losing. `side[code]` is 0 for rows that the
// second item won, 1 for those that the first did, 2 for those without a winner.
template <typename Code>
void mark_sides(const Ints& first, const Ints& second, Array<const Code> codes, const Array<const uint8_t>& side,
                Array<uint8_t> seen, int threads) {
    const size_t rows = codes.size(), items = seen.size(), blocks = block_count(rows, items);
    require(first.size() == rows && second.size() == rows, "one entry a row");
    const int32_t *one = first.data(), *other = second.data();
    const Code* code = codes.data();
    const uint8_t* won = side.data();
    nb::gil_scoped_release release;
    std::vector<std::vector<uint8_t>> marks(blocks);
    for_blocks(blocks, threads, [&](size_t block) {
        marks[block].assign(items, 0);
        mark_items(one, other, code, won, span_of(block, blocks, rows), marks[block].data());
    });
    std::fill_n(seen.data(), items, 0);
    for (const auto& own : marks)
        for (size_t item = 0; item < items; ++item) seen.data()[item] |= own[item];
}

// Products of every two rows of a matrix, times weights, on and above the diagonal; added up in an order of its own, which
// BLAS would not promise.
void weighted_gram(const Doubles& matrix, const Doubles& weight, OutDoubles products) {
    const size_t columns = weight.size(), rows = columns ? matrix.size() / columns : 0;
    require(matrix.size() == rows * columns && products.size() == rows * rows, "one product for every two rows");
    constexpr size_t kLanes = 8;
    std::vector<double> weighted(columns);
    for (size_t a = 0; a < rows; ++a) {
        const double *own = matrix.data() + a * columns, *times = weight.data();
        for (size_t i = 0; i < columns; ++i) weighted[i] = own[i] * times[i];
        for (size_t b = a; b < rows; ++b) {
            const double *one = weighted.data(), *other = matrix.data() + b * columns;
            double lanes[kLanes] = {}, sum = 0.0;
            size_t i = 0;
            for (; i + kLanes <= columns; i += kLanes)
                for (size_t lane = 0; lane < kLanes; ++lane) lanes[lane] += one[i + lane] * other[i + lane];
            for (; i < columns; ++i) sum += one[i] * other[i];
            for (double lane : lanes) sum += lane;
            products.data()[a * rows + b] = sum;
        }
    }
}

// A vote is packed into the bits of one integer, from the highest: the items of its pair in order, its question, its
// annotator, whether it was shown the other way round, and its result seen from the pair's order.
constexpr uint64_t kDecided = 2;  // results below this have a side

void pack_votes(const Ints& left, const Ints& right, const Ints& annotator, const Ints& question,
                const Array<const int8_t>& result, int item_bits, int question_bits, int annotator_bits,
                Array<int64_t> keys, int threads) {
    const size_t n = keys.size();
    require(left.size() == n && right.size() == n && annotator.size() == n && result.size() == n, "one entry a vote");
    require(question.size() == 0 || question.size() == n, "question must be empty or one a vote");
    require(2 * item_bits + question_bits + annotator_bits + 3 <= 63, "too many bits");
    nb::gil_scoped_release release;
    const size_t blocks = block_count(n, 1);
    const int32_t *lefts = left.data(), *rights = right.data(), *who = annotator.data();
    const int32_t* asked = question.size() ? question.data() : nullptr;
    const int8_t* results = result.data();
    int64_t* packed = keys.data();
    for_blocks(blocks, threads, [=](size_t block) {
        const Span span = span_of(block, blocks, n);
        for (size_t v = span.begin; v < span.end; ++v) {
            // Without branches, for who is on the left is anyone's guess.
            const int64_t a = lefts[v], b = rights[v];
            const uint64_t swapped = static_cast<uint64_t>(b - a) >> 63, turn = (a ^ b) & -swapped;
            const auto said = static_cast<uint64_t>(results[v]);
            uint64_t key = (a ^ turn) << item_bits | (b ^ turn);
            key = key << question_bits | (asked ? static_cast<uint64_t>(asked[v]) : 0);
            key = key << annotator_bits | static_cast<uint64_t>(who[v]);
            key = key << 3 | swapped << 2 | (said ^ (swapped & (said < kDecided)));
            packed[v] = static_cast<int64_t>(key);
        }
    });
}

// Where the pairs of sorted keys begin; `begins[block]` counts those of the blocks before.
std::vector<size_t> pairs_before(const int64_t* keys, size_t n, int inner, size_t blocks, int threads) {
    std::vector<size_t> begins(blocks + 1, 0);
    for_blocks(blocks, threads, [&](size_t block) {
        const Span span = span_of(block, blocks, n);
        size_t count = 0;
        for (size_t v = span.begin; v < span.end; ++v) count += v == 0 || keys[v] >> inner != keys[v - 1] >> inner;
        begins[block + 1] = count;
    });
    for (size_t block = 0; block < blocks; ++block) begins[block + 1] += begins[block];
    return begins;
}

size_t count_pairs(const Array<const int64_t>& keys, int inner_bits, int threads) {
    nb::gil_scoped_release release;
    return pairs_before(keys.data(), keys.size(), inner_bits, block_count(keys.size(), 1), threads).back();
}

// Sorted keys to votes and pairs; `start` has one entry more than there are pairs.
void unpack_votes(const Array<const int64_t>& keys, int item_bits, int question_bits, int annotator_bits, OutInts first,
                  OutInts second, OutInts question, Array<int64_t> start, OutInts annotator, Array<int8_t> result,
                  Array<bool> swapped, int threads) {
    const size_t n = keys.size(), pairs = first.size();
    const int inner = annotator_bits + 3;
    require(second.size() == pairs && start.size() == pairs + 1, "one entry a pair");
    require(question.size() == 0 || question.size() == pairs, "question must be empty or one a pair");
    require(annotator.size() == n && result.size() == n && swapped.size() == n, "one entry a vote");
    nb::gil_scoped_release release;
    const size_t blocks = block_count(n, 1);
    const std::vector<size_t> begins = pairs_before(keys.data(), n, inner, blocks, threads);
    require(begins.back() == pairs, "the keys have another number of pairs");
    const auto low = [](int bits) { return (uint64_t{1} << bits) - 1; };
    for_blocks(blocks, threads, [&](size_t block) {
        const Span span = span_of(block, blocks, n);
        size_t pair = begins[block];
        for (size_t v = span.begin; v < span.end; ++v) {
            const auto key = static_cast<uint64_t>(keys.data()[v]);
            annotator.data()[v] = static_cast<int32_t>(key >> 3 & low(annotator_bits));
            result.data()[v] = static_cast<int8_t>(key & 3);
            swapped.data()[v] = key >> 2 & 1;
            const uint64_t own = key >> inner;
            if (v > 0 && own == static_cast<uint64_t>(keys.data()[v - 1]) >> inner) continue;
            const uint64_t both = own >> question_bits;
            first.data()[pair] = static_cast<int32_t>(both >> item_bits);
            second.data()[pair] = static_cast<int32_t>(both & low(item_bits));
            if (question.size()) question.data()[pair] = static_cast<int32_t>(own & low(question_bits));
            start.data()[pair++] = static_cast<int64_t>(v);
        }
    });
    start.data()[pairs] = static_cast<int64_t>(n);
}

// A text of lines with `width` fields each, some of which may be quoted; the scan of one block of it.
class Lines {
  public:
    Lines(const uint8_t* text, size_t size, uint8_t separator, size_t width)
        : text_(text), size_(size), separator_(separator), width_(width) {}

    static constexpr uint8_t kQuote = '"', kNewline = '\n', kReturn = '\r';

    size_t quotes(size_t begin, size_t end) const { return std::count(text_ + begin, text_ + end, kQuote); }

    // Counts the lines that begin in a block; -1 where one is irregular. `inside` tells whether the block begins inside
    // a quoted field.
    int64_t count(size_t begin, size_t end, bool inside) const {
        size_t at = begin;
        if (begin > 0) {
            // The line that is going on belongs to the block before.
            const bool fresh = !inside && text_[begin - 1] == kNewline;
            for (; !fresh && at < size_; ++at) {
                if (text_[at] == kQuote) inside = !inside;
                if (!inside && text_[at] == kNewline) break;
            }
            at += !fresh;
        }
        int64_t lines = 0;
        for (size_t fields = 1; at < size_; ++at) {
            if (at >= end && fields == 1 && !inside && (at == 0 || text_[at - 1] == kNewline)) break;
            const uint8_t c = text_[at];
            if (c == kQuote) {
                inside = !inside;
                if (!fits(at, inside)) return -1;
            } else if (c == kReturn && (at + 1 == size_ || text_[at + 1] != kNewline)) {
                return -1;
            } else if (!inside && c == separator_) {
                ++fields;
            } else if (!inside && c == kNewline) {
                if (fields != width_) return -1;
                fields = 1;
                ++lines;
            }
        }
        return lines;
    }

  private:
    bool edge(size_t at) const {
        const uint8_t c = text_[at];
        return c == separator_ || c == kNewline || c == kReturn || c == kQuote;
    }
    // A quote that opens must begin a field and one that closes must end it; two in a row stand for one.
    bool fits(size_t at, bool opens) const {
        return opens ? at == 0 || edge(at - 1) : at + 1 == size_ || edge(at + 1);
    }
    const uint8_t* text_;
    size_t size_;
    uint8_t separator_;
    size_t width_;
};

// Counts the lines of a text, which ends with a newline; -1 unless every one plainly has `width` fields.
int64_t regular_lines(const Array<const uint8_t>& text, int separator, size_t width, int threads) {
    const size_t size = text.size();
    nb::gil_scoped_release release;
    const Lines lines(text.data(), size, static_cast<uint8_t>(separator), width);
    const size_t blocks = block_count(size, 1);
    std::vector<size_t> quotes(blocks + 1, 0);
    for_blocks(blocks, threads, [&](size_t block) {
        const Span span = span_of(block, blocks, size);
        quotes[block + 1] = lines.quotes(span.begin, span.end);
    });
    for (size_t block = 0; block < blocks; ++block) quotes[block + 1] += quotes[block];
    if (size == 0 || quotes[blocks] % 2 || text.data()[size - 1] != Lines::kNewline) return -1;
    std::vector<int64_t> counts(blocks);
    for_blocks(blocks, threads, [&](size_t block) {
        const Span span = span_of(block, blocks, size);
        counts[block] = lines.count(span.begin, span.end, quotes[block] % 2);
    });
    int64_t total = 0;
    for (const int64_t count : counts) {
        if (count < 0) return -1;
        total += count;
    }
    return total;
}

}  // namespace

NB_MODULE(_native, m) {
    m.doc() = "Compiled passes over rows; each has a plain twin in jamrank.kernels.twin.";
    m.def("expectation", &expectation<uint8_t>);
    m.def("expectation", &expectation<int32_t>);
    m.def("expectation_lists", &expectation_lists);
    m.def("expectation_votes", &expectation_votes<uint8_t>);
    m.def("expectation_votes", &expectation_votes<int32_t>);
    m.def("direct", &direct<uint8_t>);
    m.def("direct", &direct<int32_t>);
    m.def("marginal", &marginal<uint8_t>);
    m.def("marginal", &marginal<int32_t>);
    m.def("marginal_lists", &marginal_lists);
    m.def("maximisation", &maximisation);
    m.def("laplacian", &laplacian);
    m.def("assign", &assign);
    m.def("patterns", &patterns);
    m.def("jury_patterns", &jury_patterns);
    m.def("mark_verdicts", &mark_verdicts);
    m.def("number_verdicts", &number_verdicts<uint8_t>);
    m.def("number_verdicts", &number_verdicts<int32_t>);
    m.def("weighted_gram", &weighted_gram);
    m.def("mark_sides", &mark_sides<uint8_t>);
    m.def("mark_sides", &mark_sides<int32_t>);
    m.def("regular_lines", &regular_lines);
    bind_encoding(m);
    m.def("pack_votes", &pack_votes);
    m.def("count_pairs", &count_pairs);
    m.def("unpack_votes", &unpack_votes);
    m.def("select", &select, "instruction_set"_a,
          "Use the passes for 'baseline', 'v3', 'v4' or 'auto'; False where this processor lacks them.");
}

}  // namespace jamrank
