// The posterior density of scores and flips, as chains need it thousands of times; see jamrank/kernels/twin/flips.py.
#include "bindings.hpp"
#include "item_rows.hpp"

#include <limits>

namespace jamrank {
namespace {

using Longs = Array<const int64_t>;

// Beyond these likelihood ratios of a list of votes one table of them would not do.
constexpr double kLargestRatio = 1e130;

// The distinct lists of votes; a vote is twice its annotator plus 1 if it is for the first item of its row.
struct Lists {
    const int64_t* start;
    const int32_t* vote;
    const double* weight;
    size_t count;

    // The likelihood of each list if the second item is better, divided by that if the first is, from the ratio of each
    // kind of vote and its logarithm. Returns what can be done with them.
    Reach ratios(const double* of_kind, const double* log_of_kind, double* out) const {
        double least = 1.0, most = 1.0;
        bool mild = true;
        for (size_t list = 0; list < count; ++list) {
            double ratio = 1.0, weighted = 0.0;
            for (int64_t v = start[list]; v < start[list + 1]; ++v) {
                if (weight[v] == 1.0) {
                    ratio *= of_kind[vote[v]];
                } else {
                    weighted += weight[v] * log_of_kind[vote[v]];
                }
            }
            if (weighted != 0.0) ratio *= std::exp(weighted);
            mild &= ratio >= 1.0 / kLargestRatio && ratio <= kLargestRatio;
            least = std::min(least, ratio);
            most = std::max(most, ratio);
            out[list] = ratio;
        }
        return mild ? reach_between(least, most) : Reach{std::numeric_limits<double>::infinity(), 0};
    }

    void add_up(const double* of_list, double* by_kind) const {
        for (size_t list = 0; list < count; ++list)
            for (int64_t v = start[list]; v < start[list + 1]; ++v) by_kind[vote[v]] += weight[v] * of_list[list];
    }
};

// The prior of the flips: pseudo-votes, and the logits at which their density is largest.
struct FlipPrior {
    const double *errors, *correct, *mode;
    double largest;  // logits beyond this have the density there

    // The log density relative to its maximum. The distance to the mode keeps digits that a difference would lose, and
    // the smaller probability is the exact one.
    double log_density(size_t k, double logit) const {
        const double away = std::min(std::max(logit, -largest), largest) - mode[k];
        const double sign = mode[k] <= 0.0 ? 1.0 : -1.0, rare = 1.0 / (1.0 + std::exp(sign * -mode[k]));
        const double usual = -std::log1p(rare * std::expm1(sign * away));
        return (errors[k] + correct[k]) * usual + (sign > 0 ? errors[k] : -correct[k]) * away;
    }
};

double flip_density(const Longs& start, const Codes& second, const Codes& pattern, const Doubles& weight,
                    const Longs& list_start, const Ints& vote, const Doubles& vote_weight, const Doubles& vote_counts,
                    const Doubles& prior, double largest_logit, const Longs& item_place, const Longs& group_place,
                    bool oriented, const Doubles& x, OutDoubles slope) {
    const size_t n = pattern.size(), items = item_place.size(), groups = group_place.size(), kinds = 2 * groups;
    require(list_start.size() > 0 && vote_weight.size() == vote.size(), "one weight a vote");
    require(x.size() == items + groups && slope.size() == x.size(), "one entry for each item and group");
    require(vote_counts.size() == kinds && prior.size() == 3 * groups, "two counts and three numbers a group");
    const Lists lists{list_start.data(), vote.data(), vote_weight.data(), list_start.size() - 1};
    const FlipPrior flips{prior.data(), prior.data() + groups, prior.data() + 2 * groups, largest_logit};
    Rows rows = as_rows(start, second, n, items);
    rows.weight = weights_or_null(weight, n);
    if (pattern.dtype() == nb::dtype<uint8_t>()) {
        rows.few_patterns = static_cast<const uint8_t*>(pattern.data());
    } else {
        require(pattern.dtype() == nb::dtype<int32_t>(), "patterns are int32 or uint8");
        rows.pattern = static_cast<const int32_t*>(pattern.data());
    }
    nb::gil_scoped_release release;

    std::vector<double> scores(items), odds(groups), of_kind(kinds), log_of_kind(kinds), ratio(lists.count);
    for (size_t k = 0; k < items; ++k) scores[item_place.data()[k]] = x.data()[k];
    double value = 0.0, balance = 0.0;
    for (size_t k = 0; k < groups; ++k) {
        const size_t group = group_place.data()[k];
        const double logit = x.data()[items + k], flip_odds = std::exp(logit), log_keep = -std::log1p(flip_odds);
        const double *counts = vote_counts.data() + 2 * group, votes = counts[0] + counts[1];
        odds[group] = flip_odds;
        of_kind[2 * group] = 1.0 / flip_odds;
        of_kind[2 * group + 1] = flip_odds;
        log_of_kind[2 * group] = -logit;
        log_of_kind[2 * group + 1] = logit;
        // What every row has if its first item is better.
        value += votes * log_keep + counts[0] * logit + flips.log_density(group, logit);
        balance += votes * (1.0 - flip_odds) / (1.0 + flip_odds);
    }
    const Reach reach = lists.ratios(of_kind.data(), log_of_kind.data(), ratio.data());
    if (!(reach.log_ratio < kLargestLog)) return std::numeric_limits<double>::quiet_NaN();

    const Table table{nullptr, ratio.data(), ratio.size(), reach.together};
    std::vector<double> sums(items + kPatternTables * lists.count, 0.0), expected(kinds, 0.0);
    double* by_list = sums.data() + items;
    Sums pass{sums.data(), nullptr, by_list, lists.count, 0.0};
    active->expectation(rows, table, Exponentials(scores.data(), items, reach.log_ratio).view(), 0, n, nullptr, nullptr,
                        pass);
    for (size_t t = 1; t < kPatternTables; ++t)
        for (size_t list = 0; list < lists.count; ++list) by_list[list] += by_list[t * lists.count + list];
    lists.add_up(by_list, expected.data());

    for (size_t k = 0; k < items; ++k) slope.data()[k] = sums[item_place.data()[k]];
    for (size_t k = 0; k < groups; ++k) {
        const size_t group = group_place.data()[k];
        const double* counts = vote_counts.data() + 2 * group;
        const double errors = expected[2 * group] + (counts[1] - expected[2 * group + 1]) + flips.errors[group];
        const double votes = counts[0] + counts[1] + flips.errors[group] + flips.correct[group];
        slope.data()[items + k] = errors - votes * odds[group] / (1.0 + odds[group]);
    }
    if (oriented && balance < 0.0) return -std::numeric_limits<double>::infinity();
    return value + pass.value;
}

}  // namespace

void bind_flips(nb::module_& m) { m.def("flip_density", &flip_density); }

}  // namespace jamrank
