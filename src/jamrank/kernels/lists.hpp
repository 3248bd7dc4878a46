// Rows with a list of votes each: the votes of a chunk, and what they say of each row's truth.
#pragma once

#include <algorithm>
#include <cmath>

#include "chunks.hpp"

namespace jamrank {
namespace JAMRANK_ISA {
namespace {

// The votes of a chunk, each with its row. RaggedVotes are short and of any length: a loop over each would guess wrong, at
// almost every row, where it ends.
class Votes {
  public:
    explicit Votes(const RaggedVotes& lists) : lists_(lists) {}

    void next(size_t at, size_t count) {
        start_ = lists_.start + at;
        count_ = count;
        size_ = static_cast<size_t>(start_[count] - start_[0]);
        if (size_ > kMost) return;
        std::fill_n(row_, size_ + 1, uint8_t{0});
        for (size_t k = 1; k < count; ++k) ++row_[start_[k] - start_[0]];
        uint8_t row = 0;
        for (size_t v = 0; v < size_; ++v) row_[v] = row = static_cast<uint8_t>(row + row_[v]);
    }

    // Calls `visit` with the number of each vote, its row within the chunk and its weight.
    template <typename Visit>
    void each(const Visit& visit) const {
        if (lists_.weight) {
            each(visit, [this](int64_t v) { return lists_.weight[v]; });
        } else {
            each(visit, [](int64_t) { return 1.0; });
        }
    }

  private:
    static constexpr size_t kMost = 8 * kChunk;
    static_assert(kChunk <= 256, "a row must fit one byte");

    template <typename Visit, typename Weight>
    void each(const Visit& visit, const Weight& weight) const {
        const int64_t begin = start_[0];
        if (size_ <= kMost) {
            for (size_t v = 0; v < size_; ++v) visit(begin + v, row_[v], weight(begin + v));
            return;
        }
        for (size_t k = 0; k < count_; ++k)
            for (int64_t v = start_[k]; v < start_[k + 1]; ++v) visit(v, k, weight(v));
    }

    const RaggedVotes& lists_;
    const int64_t* start_ = nullptr;
    size_t count_ = 0, size_ = 0;
    uint8_t row_[kMost + 1];
};

// Likelihoods of each row's votes under both truths, divided by the larger; returns the sum of its logarithms.
inline double collect(const RaggedVotes& lists, const Votes& votes, size_t count, double* first, double* second) {
    double difference[kChunk] = {}, above[kChunk], if_second = 0.0;
    votes.each([&](size_t v, size_t k, double weight) {
        const double* entry = lists.log_likelihood + 2 * static_cast<size_t>(lists.vote[v]);
        difference[k] += weight * (entry[1] - entry[0]);
        if_second += weight * entry[0];
    });
    for (size_t k = 0; k < count; ++k) {
        const double d = difference[k];
        const double smaller = exp_nonpositive(-std::min(std::fabs(d), kLargestMargin));
        above[k] = std::max(d, 0.0);
        first[k] = d >= 0 ? 1.0 : smaller;
        second[k] = d >= 0 ? smaller : 1.0;
    }
    return if_second + sum_of(above, count);
}

}  // namespace
}  // namespace JAMRANK_ISA
}  // namespace jamrank
