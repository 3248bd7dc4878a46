// Votes that follow the scores their annotator has in mind, unless they are lapses: likelihood and gradient in many
// chains, one in each lane.
#include <algorithm>
#include <vector>

#include "effects.hpp"
#include "lanes.hpp"
#include "numeric.hpp"

namespace jamrank {
namespace JAMRANK_ISA {
namespace {

// Scores that are further below an annotator's highest count as so far below.
constexpr double kFarthest = 300.0;

class Chains {
  public:
    Chains(const LapseVotes& votes, const double* own, const double* lapse, const LapseSums& sums)
        : votes_(votes), own_(own), lapse_(lapse), sums_(sums), cells_(votes.annotators * votes.items), up_(cells_),
          on_own_(sums.on_own ? cells_ : 0), on_lapse_(votes.annotators), value_(votes.annotators) {}

    void run(size_t begin, size_t here) {
        begin_ = begin, here_ = here;
        load();
        std::fill(on_own_.begin(), on_own_.end(), all_lanes(0.0));
        for (size_t at = 0; at < votes_.count;) {
            size_t end = at;
            while (end < votes_.count && votes_.annotator[end] == votes_.annotator[at]) ++end;
            sums_.on_own ? pass<true>(at, end) : pass<false>(at, end);
            at = end;
        }
        store(value_, votes_.annotators, sums_.value);
        if (!sums_.on_own) return;
        store(on_own_, cells_, sums_.on_own);
        store(on_lapse_, votes_.annotators, sums_.on_lapse);
    }

  private:
    // Exponentials of the scores, relative to the highest of each annotator.
    void load() {
        for (size_t k = 0; k < votes_.annotators; ++k) {
            value_[k] = on_lapse_[k] = all_lanes(0.0);
            Lanes* up = up_.data() + k * votes_.items;
            for (size_t lane = 0; lane < kLanes; ++lane) {
                const double* own = own_ + (begin_ + std::min(lane, here_ - 1)) * cells_ + k * votes_.items;
                const double highest = *std::max_element(own, own + votes_.items);
                for (size_t i = 0; i < votes_.items; ++i) up[i][lane] = std::max(own[i] - highest, -kFarthest);
            }
            for (size_t i = 0; i < votes_.items; ++i)
                for (size_t lane = 0; lane < kLanes; ++lane) up[i][lane] = exp_nonpositive(up[i][lane]);
        }
    }

    // The votes of one annotator. With odds a : b, a vote for the first of a pair has the probability d / s, where
    // s = a + b and d = s lapse / 2 + a (1 - lapse).
    template <bool slope>
    void pass(size_t begin, size_t end) {
        const size_t k = static_cast<size_t>(votes_.annotator[begin]);
        Lanes toss, kept, on_lapse = all_lanes(0.0), value = all_lanes(0.0);
        for (size_t lane = 0; lane < kLanes; ++lane) {
            const double rate = lapse_[(begin_ + std::min(lane, here_ - 1)) * votes_.annotators + k];
            toss[lane] = 0.5 * rate, kept[lane] = 1.0 - rate;
        }
        const Lanes* up = up_.data() + k * votes_.items;
        for (size_t v = begin; v < end; ++v) {
            const size_t winner = static_cast<size_t>(votes_.winner[v]), loser = static_cast<size_t>(votes_.loser[v]);
            const Lanes a = up[winner], b = up[loser], s = a + b, d = toss * s + kept * a, count = all_lanes(votes_.weight[v]);
            if (slope) {
                Lanes* to = on_own_.data() + k * votes_.items;
                const Lanes times = count / (s * d), on_margin = kept * a * b * times;
                to[winner] += on_margin;
                to[loser] -= on_margin;
                on_lapse += (all_lanes(0.5) * s - a) * s * times;
            }
            Lanes says = d / s;
            for (size_t lane = 0; lane < kLanes; ++lane) says[lane] = log_positive(says[lane]);
            value += count * says;
        }
        value_[k] = value, on_lapse_[k] = on_lapse;
    }

    void store(const std::vector<Lanes>& from, size_t size, double* to) const {
        for (size_t lane = 0; lane < here_; ++lane)
            for (size_t k = 0; k < size; ++k) to[(begin_ + lane) * size + k] = from[k][lane];
    }

    const LapseVotes& votes_;
    const double *own_, *lapse_;
    const LapseSums& sums_;
    size_t cells_, begin_ = 0, here_ = 0;
    std::vector<Lanes> up_, on_own_, on_lapse_, value_;
};

void likelihood(const LapseVotes& votes, size_t chains, const double* own, const double* lapse, const LapseSums& sums) {
    Chains some(votes, own, lapse, sums);
    for (size_t begin = 0; begin < chains; begin += kLanes) some.run(begin, std::min(kLanes, chains - begin));
}

}  // namespace

extern const LapsePasses lapse_passes;
const LapsePasses lapse_passes = {likelihood};

}  // namespace JAMRANK_ISA
}  // namespace jamrank
