// What the bindings of the passes over rows share: rows and scores, as passes read them.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "bindings.hpp"
#include "passes.hpp"

namespace jamrank {

// The passes compiled for this processor.
extern const Passes* active;

// Small integers, in as few bytes as will do.
using Codes = nb::ndarray<nb::ro, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Seconds = Codes;

// Rows sorted by their first item; without any they are all pairs of `items`, in order.
inline Rows as_rows(const Array<const int64_t>& start, const Seconds& second, size_t n, size_t items) {
    Rows rows{items, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr};
    if (start.size() == 0) {
        require(n == items * (items - 1) / 2 && second.size() == 0, "without items the rows are all pairs");
        return rows;
    }
    require(start.size() == items + 1 && second.size() == n, "expected a start for each item, a second item for each row");
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

inline const double* weights_or_null(const Doubles& weight, size_t n) {
    require(weight.size() == 0 || weight.size() == n, "weight must be empty or one a row");
    return weight.size() ? weight.data() : nullptr;
}

// Scores within these bounds can be exponentiated once an item, and multiplied for each row.
constexpr double kLargestScore = 150.0;
// The largest logarithm of a number, with some room below what a double can hold.
constexpr double kLargestLog = 690.0;

class Exponentials {
  public:
    // `log_ratio` is the largest logarithm by which a row's odds are multiplied.
    Exponentials(const double* scores, size_t items, double log_ratio = 0.0) : scores_(scores) {
        const auto [low, high] = std::minmax_element(scores, scores + items);
        if (items == 0 || !(*low >= -kLargestScore && *high <= kLargestScore)) return;
        // A pass multiplies the odds of the prior with those of the posterior.
        if (!(2.0 * (*high - *low) + std::max(log_ratio, 0.0) <= kLargestLog)) return;
        up_.reserve(items);
        down_.reserve(items);
        for (size_t i = 0; i < items; ++i) {
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

// The largest logarithm in a table of ratios, and how many likelihoods (from 1 to a pattern's ratio) can be multiplied.
struct Reach {
    double log_ratio = 0.0;
    size_t together = 0;
};

inline Reach reach_between(double least, double most) {
    Reach reach{std::log(most), 0};
    const double furthest = std::max(std::fabs(std::log(least)), std::fabs(reach.log_ratio));
    while (reach.together < kMostTogether && (reach.together + 1) * furthest <= kLargestLog) ++reach.together;
    return reach;
}

inline Reach reach_of(const Doubles& ratio) {
    if (ratio.size() == 0) return {};
    const auto [least, most] = std::minmax_element(ratio.data(), ratio.data() + ratio.size());
    return reach_between(*least, *most);
}

}  // namespace jamrank
