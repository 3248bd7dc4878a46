// The Python bindings of effects.cpp and lapses.cpp; see jamrank/kernels/twin/effects.py.
#include "bindings.hpp"
#include "effects.hpp"

namespace jamrank {
namespace {

using Longs = Array<const int64_t>;

// `n` items; so many matrices as the precisions have, and as many variances for each as there are.
Likelihoods stack(const Doubles& precision, const Doubles& shift, const Doubles& variance, size_t n) {
    require(n > 0 && precision.size() % (n * n) == 0, "matrices of n x n");
    const size_t matrices = precision.size() / (n * n), each = matrices ? variance.size() / matrices : 1;
    const size_t columns = matrices ? shift.size() / (matrices * n) : 1;
    require(variance.size() == each * matrices && each > 0, "as many variances for each matrix");
    require(shift.size() == columns * matrices * n && columns > 0, "as many shifts for each matrix");
    return {precision.data(), shift.data(), variance.data(), variance.size(), each, n, columns};
}

void absorb_effects(const Doubles& precision, const Doubles& shift, const Doubles& variance, OutDoubles left,
                    OutDoubles moved, OutDoubles gained, size_t items) {
    const Likelihoods all = stack(precision, shift, variance, items);
    require(gained.size() == all.count * all.columns, "one entry for each shift");
    require(left.size() == 0 || left.size() == all.each * precision.size(), "left must be empty or like the precision");
    require(moved.size() == (left.size() ? all.each * shift.size() : 0), "moved must be empty or like the shift");
    nb::gil_scoped_release release;
    active_effects->absorb(all, left.size() ? left.data() : nullptr, moved.data(), gained.data());
}

void draw_effects(const Doubles& precision, const Doubles& shift, const Doubles& variance, const Doubles& noise,
                  OutDoubles drawn, size_t items) {
    const Likelihoods all = stack(precision, shift, variance, items);
    require(all.each == 1 && all.columns == 1, "one variance and one shift for each matrix");
    require(noise.size() == shift.size() && drawn.size() == shift.size(), "one entry for each of the shifts");
    nb::gil_scoped_release release;
    active_effects->draw(all, noise.data(), drawn.data());
}

void lapse_likelihood(const Longs& annotator, const Longs& winner, const Longs& loser, const Doubles& weight,
                      const Doubles& own, const Doubles& lapse, OutDoubles value, OutDoubles on_own,
                      OutDoubles on_lapse, size_t annotators, size_t items) {
    const size_t count = weight.size(), chains = annotators ? lapse.size() / annotators : 0;
    require(annotator.size() == count && winner.size() == count && loser.size() == count, "one entry a vote");
    require(items > 0 && lapse.size() == chains * annotators && own.size() == lapse.size() * items, "one entry an item");
    require(value.size() == lapse.size(), "one value for each annotator in each chain");
    require(on_own.size() == 0 || (on_own.size() == own.size() && on_lapse.size() == lapse.size()), "a slope for each");
    const auto known = [](int64_t code, size_t size) { return code >= 0 && static_cast<size_t>(code) < size; };
    for (size_t v = 0; v < count; ++v)
        require(known(annotator.data()[v], annotators) && known(winner.data()[v], items) &&
                known(loser.data()[v], items), "codes must be known");
    const LapseVotes votes{annotator.data(), winner.data(), loser.data(), weight.data(), count, annotators, items};
    const LapseSums sums{value.data(), on_own.size() ? on_own.data() : nullptr, on_lapse.data()};
    nb::gil_scoped_release release;
    active_lapses->likelihood(votes, chains, own.data(), lapse.data(), sums);
}

void expand_cells(const Longs& annotator, const Longs& first, const Longs& second, const Doubles& won,
                  const Doubles& lost, const Doubles& scores, const Doubles& log_odds, const Doubles& covariance,
                  const Doubles& both, const Doubles& variance, OutDoubles precision, OutDoubles shift,
                  OutDoubles slope, OutDoubles information, OutDoubles pull, size_t items) {
    const size_t count = won.size(), annotators = log_odds.size(), each = annotators * items;
    require(annotator.size() == count && first.size() == count && second.size() == count && lost.size() == count,
            "one entry a cell");
    require(items > 0 && scores.size() == each && shift.size() == each && slope.size() == each, "one entry an item");
    require(information.size() == annotators && pull.size() == annotators, "one entry an annotator");
    require(precision.size() == each * items, "matrices of n x n");
    const bool spread = covariance.size() > 0;
    require(!spread || (covariance.size() == each * items && both.size() == each && variance.size() == annotators),
            "covariances of each annotator");
    for (size_t c = 0; c < count; ++c) {
        const auto known = [](int64_t code, size_t size) { return code >= 0 && static_cast<size_t>(code) < size; };
        require(known(annotator.data()[c], annotators) && known(first.data()[c], items) &&
                known(second.data()[c], items), "codes must be known");
        require(c == 0 || annotator.data()[c - 1] <= annotator.data()[c], "cells must be sorted by annotator");
    }
    const LapseCells cells{annotator.data(), first.data(), second.data(), won.data(), lost.data(), count, annotators, items};
    const LapseCentre centre{scores.data(), log_odds.data(), spread ? covariance.data() : nullptr, both.data(), variance.data()};
    const LapseExpansion out{precision.data(), shift.data(), slope.data(), information.data(), pull.data()};
    nb::gil_scoped_release release;
    active_lapses->expand(cells, centre, out);
}

}  // namespace

void bind_effects(nb::module_& m) {
    m.def("absorb_effects", &absorb_effects);
    m.def("draw_effects", &draw_effects);
    m.def("expand_cells", &expand_cells);
    m.def("lapse_likelihood", &lapse_likelihood);
}

}  // namespace jamrank
