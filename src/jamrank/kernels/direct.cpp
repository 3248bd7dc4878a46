#include "direct.hpp"

#include <algorithm>
#include <cmath>

#include "chunks.hpp"

namespace jamrank {
namespace JAMRANK_ISA {
namespace {

// A chunk of votes: what each depends on, and what follows.
struct Taken {
    double margin[kChunk], param[kChunk], said[kChunk], weight[kChunk];
    double derivative[kChunk], bend[kChunk], slope[kChunk], information[kChunk], value[kChunk];
};

// Log-odds of a vote, with what they change by in margin and parameter.
struct Odds {
    double log_odds, by_margin, by_param;
};

inline Odds better(double m, double a) { return {a * m, a, m}; }

inline Odds tied(double m, double a) {
    const double e = exp_nonpositive(-std::fabs(m));
    const double likely = 1.0 / (1.0 + e);
    const double log_cosh = 0.5 * std::fabs(m) + log_positive(1.0 + e) - kLogOfTwo;
    const double half_tanh = 0.5 * (1.0 - e) * likely;
    return {a - log_cosh, m >= 0 ? -half_tanh : half_tanh, 1.0};
}

template <Odds (*kOdds)(double, double)>
inline void infer(size_t count, Taken& vote) {
    for (size_t k = 0; k < count; ++k) {
        const Odds odds = kOdds(vote.margin[k], vote.param[k]);
        const double x = std::min(std::max(odds.log_odds, -kLargestMargin), kLargestMargin);
        const double e = exp_nonpositive(-std::fabs(x));
        const double likely = 1.0 / (1.0 + e);
        const double rest = vote.said[k] - (x >= 0 ? likely : e * likely), spread = e * likely * likely;
        const double weight = vote.weight[k];
        vote.derivative[k] = weight * rest * odds.by_margin;
        // What is expected of the curvature: it is never negative, whatever the votes are.
        vote.bend[k] = weight * spread * odds.by_margin * odds.by_margin;
        vote.slope[k] = weight * rest * odds.by_param;
        vote.information[k] = weight * spread * odds.by_param * odds.by_param;
        vote.value[k] = -weight * (log_positive(1.0 + e) + std::max(vote.said[k] > 0.5 ? -x : x, 0.0));
    }
}

// One link after another, with its two items.
class Links {
  public:
    Links(const Rows& rows, size_t link) : rows_(rows), link_(link), first_(item_at(rows, link)) {}
    void next() {
        ++link_;
        while (first_ + 1 < rows_.items && start_of(rows_, first_ + 1) <= link_) ++first_;
    }
    size_t at() const { return link_; }
    size_t first() const { return first_; }
    size_t second() const {
        if (!rows_.start) return first_ + 1 + link_ - start_of(rows_, first_);
        return rows_.near_second ? rows_.near_second[link_] : static_cast<size_t>(rows_.second[link_]);
    }

  private:
    const Rows& rows_;
    size_t link_, first_;
};

// Adds up the derivatives of the votes on one link, and writes the sums when the link is done.
class Tally {
  public:
    Tally(float* curvature, DirectSums& sums) : curvature_(curvature), sums_(sums) {}
    void add(double derivative, double bend) {
        derivative_ += derivative;
        bend_ += bend;
    }
    void close(const Links& link) {
        curvature_[link.at()] = static_cast<float>(bend_);
        double* first = sums_.by_item + 2 * link.first();
        double* second = sums_.by_item + 2 * link.second();
        first[0] += derivative_;
        first[1] += bend_;
        second[0] -= derivative_;
        second[1] += bend_;
        derivative_ = bend_ = 0.0;
    }

  private:
    float* curvature_;
    DirectSums& sums_;
    double derivative_ = 0.0, bend_ = 0.0;
};

template <typename Code>
void expect(const Rows& rows, const SingleVotes& votes, const Code* kinds, Question question, const double* params,
            const double* scores, size_t begin, size_t end, float* curvature, DirectSums& sums) {
    if (begin == end) return;
    Taken vote;
    Links read(rows, begin), written(rows, begin);
    Tally tally(curvature, sums);
    for (size_t at = votes.start(begin), last = votes.start(end); at < last; at += kChunk) {
        const size_t count = std::min(kChunk, last - at);
        double margin = scores[read.first()] - scores[read.second()];
        for (size_t k = 0; k < count; ++k) {
            while (votes.start(read.at() + 1) <= at + k) {
                read.next();
                margin = scores[read.first()] - scores[read.second()];
            }
            vote.margin[k] = std::min(std::max(margin, -kLargestMargin), kLargestMargin);
        }
        for (size_t k = 0; k < count; ++k) {
            const Code kind = kinds[at + k];
            vote.param[k] = params[kind / 2];
            vote.said[k] = kind % 2;
            vote.weight[k] = votes.weight ? votes.weight[at + k] : 1.0;
        }
        if (question == kBetter) {
            infer<better>(count, vote);
        } else {
            infer<tied>(count, vote);
        }
        for (size_t k = 0; k < count; ++k) {
            while (votes.start(written.at() + 1) <= at + k) {
                tally.close(written);
                written.next();
            }
            tally.add(vote.derivative[k], vote.bend[k]);
            double* own = sums.by_group + 2 * static_cast<size_t>(kinds[at + k] / 2);
            own[0] += vote.slope[k];
            own[1] += vote.information[k];
            sums.value += vote.value[k];
        }
    }
    // Links without votes have no curvature.
    for (; written.at() < end; written.next()) tally.close(written);
}

void expectation(const Rows& links, const SingleVotes& votes, Question question, const double* params,
                 const double* scores, size_t begin, size_t end, float* curvature, DirectSums& sums) {
    if (votes.few_kinds) {
        expect(links, votes, votes.few_kinds, question, params, scores, begin, end, curvature, sums);
    } else {
        expect(links, votes, votes.kind, question, params, scores, begin, end, curvature, sums);
    }
}

}  // namespace

extern const DirectPasses direct_passes = {expectation};

}  // namespace JAMRANK_ISA
}  // namespace jamrank
