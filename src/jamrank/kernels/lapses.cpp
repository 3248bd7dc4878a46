// Votes that follow the scores their annotator has in mind, unless they are lapses: likelihood and gradient in many
// chains, one in each lane, and the normal likelihood near a centre.
#include <algorithm>
#include <cmath>
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

constexpr double kSquareRootOfTwo = 1.41421356237309504880;
// Cells of one annotator that are computed side by side.
constexpr size_t kCells = 128;

// Cells, and the slopes and curvatures of their log-likelihoods in the margin and in the logit of lapses.
class Cells {
  public:
    Cells(const LapseCells& all, const LapseCentre& centre, const LapseExpansion& out)
        : all_(all), centre_(centre), out_(out), n_(all.items), sums_(n_) {}

    void run() {
        for (size_t k = 0, at = 0; k < all_.annotators; ++k) {
            clear(k);
            while (at < all_.count && static_cast<size_t>(all_.annotator[at]) == k) {
                size_t here = 0;
                while (here < kCells && at + here < all_.count && static_cast<size_t>(all_.annotator[at + here]) == k) ++here;
                load(k, at, here);
                centre_.covariance ? over_spread(k, here) : at_centre(k, here);
                store(k, at, here);
                at += here;
            }
            mirror(out_.precision + k * n_ * n_);
        }
    }

  private:
    void clear(size_t k) {
        std::fill_n(out_.precision + k * n_ * n_, n_ * n_, 0.0);
        std::fill_n(out_.shift + k * n_, n_, 0.0);
        std::fill_n(out_.slope + k * n_, n_, 0.0);
        out_.information[k] = out_.pull[k] = 0.0;
    }

    void load(size_t k, size_t at, size_t here) {
        const double *scores = centre_.scores + k * n_, *covariance = centre_.covariance, *both = nullptr;
        if (covariance) covariance += k * n_ * n_, both = centre_.both + k * n_;
        for (size_t c = 0; c < here; ++c) {
            const size_t a = static_cast<size_t>(all_.first[at + c]), b = static_cast<size_t>(all_.second[at + c]);
            margin_[c] = scores[a] - scores[b];
            won_[c] = all_.won[at + c];
            count_[c] = won_[c] + all_.lost[at + c];
            if (!covariance) continue;
            apart_[c] = covariance[a * n_ + a] + covariance[b * n_ + b] - 2.0 * covariance[a * n_ + b];
            along_[c] = both[a] - both[b];
        }
        for (double* sum : {on_scores_, on_odds_, of_scores_, of_both_, of_odds_}) std::fill_n(sum, here, 0.0);
    }

    void at_centre(size_t k, size_t here) {
        logistic(margin_, 0.0, margin_, here, better_);
        std::fill_n(lapse_, here, centre_.log_odds[k]);
        logistic(lapse_, 0.0, lapse_, here, lapse_);
        add_point(here, 1.0);
    }

    // Points of equal weight with the means and covariances of margin and logit.
    void over_spread(size_t k, size_t here) {
        const double variance = centre_.variance[k];
        for (size_t c = 0; c < here; ++c) {
            apart_[c] = std::sqrt(std::max(apart_[c], 1e-12));
            along_[c] /= apart_[c];
            rest_[c] = std::sqrt(std::max(variance - along_[c] * along_[c], 0.0));
            log_odds_[c] = centre_.log_odds[k];
        }
        for (const double by : {kSquareRootOfTwo, -kSquareRootOfTwo}) {
            logistic(margin_, by, apart_, here, better_);
            logistic(log_odds_, by, along_, here, lapse_);
            add_point(here, 0.25);
        }
        logistic(margin_, 0.0, apart_, here, better_);
        for (const double by : {kSquareRootOfTwo, -kSquareRootOfTwo}) {
            logistic(log_odds_, by, rest_, here, lapse_);
            add_point(here, 0.25);
        }
    }

    static void logistic(const double* x, double by, const double* step, size_t here, double* to) {
        for (size_t c = 0; c < here; ++c) {
            const double at = x[c] + by * step[c], odds = exp_nonpositive(std::max(-std::fabs(at), -kLargestMargin));
            to[c] = (at < 0.0 ? odds : 1.0) / (1.0 + odds);
        }
    }

    void add_point(size_t here, double share) {
        for (size_t c = 0; c < here; ++c) {
            const double better = better_[c], kept = 1.0 - lapse_[c], toss = lapse_[c] * (0.5 - better);
            const double proba = better + toss, by_odds = toss * kept, by_margin = kept * better * (1.0 - better);
            const double weight = share / std::max(proba * (1.0 - proba), 1e-9), all = weight * count_[c];
            const double residual = (won_[c] - count_[c] * proba) * weight;
            on_scores_[c] += residual * by_margin;
            on_odds_[c] += residual * by_odds;
            of_scores_[c] += all * by_margin * by_margin;
            of_both_[c] += all * by_margin * by_odds;
            of_odds_[c] += all * by_odds * by_odds;
        }
    }

    void store(size_t k, size_t at, size_t here) {
        double *precision = out_.precision + k * n_ * n_, *shift = out_.shift + k * n_, *slope = out_.slope + k * n_;
        double information = 0.0, pull = 0.0;
        const double log_odds = centre_.log_odds[k];
        for (size_t c = 0; c < here;) {
            // Sums of the first item stay in registers.
            const int64_t first = all_.first[at + c];
            const size_t a = static_cast<size_t>(first);
            double shift_of_first = 0.0, slope_of_first = 0.0;
            for (; c < here && all_.first[at + c] == first; ++c) {
                const size_t b = static_cast<size_t>(all_.second[at + c]);
                const double moved = on_scores_[c] + of_scores_[c] * margin_[c] + of_both_[c] * log_odds;
                precision[a * n_ + b] -= of_scores_[c];
                shift_of_first += moved;
                shift[b] -= moved;
                slope_of_first += of_both_[c];
                slope[b] -= of_both_[c];
                information += of_odds_[c];
                pull += on_odds_[c] + of_odds_[c] * log_odds + of_both_[c] * margin_[c];
            }
            shift[a] += shift_of_first;
            slope[a] += slope_of_first;
        }
        out_.information[k] += information;
        out_.pull[k] += pull;
    }

    // Entries of pairs in either order are the same, and rows, which are columns, too, add up to 0.
    void mirror(double* precision) {
        std::fill(sums_.begin(), sums_.end(), 0.0);
        for (size_t i = 0; i < n_; ++i) {
            double* row = precision + i * n_;
            for (size_t j = 0; j < i; ++j) row[j] = precision[j * n_ + i] = row[j] + precision[j * n_ + i];
        }
        for (size_t i = 0; i < n_; ++i)
            for (size_t j = 0; j < n_; ++j) sums_[j] += precision[i * n_ + j];
        for (size_t i = 0; i < n_; ++i) precision[i * n_ + i] -= sums_[i];
    }

    const LapseCells& all_;
    const LapseCentre& centre_;
    const LapseExpansion& out_;
    size_t n_;
    std::vector<double> sums_;
    double margin_[kCells], won_[kCells], count_[kCells], apart_[kCells], along_[kCells], rest_[kCells], log_odds_[kCells];
    double better_[kCells], lapse_[kCells];
    double on_scores_[kCells], on_odds_[kCells], of_scores_[kCells], of_both_[kCells], of_odds_[kCells];
};

void expand(const LapseCells& cells, const LapseCentre& centre, const LapseExpansion& out) { Cells(cells, centre, out).run(); }

}  // namespace

extern const LapsePasses lapse_passes;
const LapsePasses lapse_passes = {likelihood, expand};

}  // namespace JAMRANK_ISA
}  // namespace jamrank
