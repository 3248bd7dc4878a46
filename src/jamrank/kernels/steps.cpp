// The direction of a step of the fit, from the steps before it; and products of vectors in a fixed order.
#include "bindings.hpp"

#include <nanobind/stl/vector.h>

#include <vector>

#include "products.hpp"

namespace jamrank {
namespace {

// L-BFGS with the EM step in place of a scaled gradient; see lbfgs_direction in jamrank/kernels/twin/steps.py. `direction`
// is the EM step at first.
void lbfgs_direction(const std::vector<Doubles>& steps, const std::vector<Doubles>& gradient_drops,
                     const std::vector<Doubles>& em_drops, const Doubles& gradient, OutDoubles direction) {
    const size_t kept = steps.size(), n = gradient.size();
    require(gradient_drops.size() == kept && em_drops.size() == kept && direction.size() == n, "as many of each");
    for (size_t s = 0; s < kept; ++s)
        require(steps[s].size() == n && gradient_drops[s].size() == n && em_drops[s].size() == n, "vectors of one length");
    double* em = direction.data();
    nb::gil_scoped_release release;
    std::vector<double> left(gradient.data(), gradient.data() + n), shares(kept), curvatures(kept);
    for (size_t s = kept; s-- > 0;) {
        curvatures[s] = dot(steps[s].data(), gradient_drops[s].data(), n);
        shares[s] = dot(steps[s].data(), left.data(), n) / curvatures[s];
        add(-shares[s], gradient_drops[s].data(), left.data(), n);
        add(-shares[s], em_drops[s].data(), em, n);
    }
    for (size_t s = 0; s < kept; ++s)
        add(shares[s] - dot(gradient_drops[s].data(), em, n) / curvatures[s], steps[s].data(), em, n);
}

// Weighted products of every two rows of a matrix, on and above the diagonal, in a fixed order, as BLAS does not promise.
void weighted_gram(const Doubles& matrix, const Doubles& weight, OutDoubles products) {
    const size_t columns = weight.size(), rows = columns ? matrix.size() / columns : 0;
    require(matrix.size() == rows * columns && products.size() == rows * rows, "one product for every two rows");
    std::vector<double> weighted(columns);
    for (size_t a = 0; a < rows; ++a) {
        const double *own = matrix.data() + a * columns, *times = weight.data();
        for (size_t i = 0; i < columns; ++i) weighted[i] = own[i] * times[i];
        for (size_t b = a; b < rows; ++b)
            products.data()[a * rows + b] = dot(weighted.data(), matrix.data() + b * columns, columns);
    }
}

}  // namespace

void bind_steps(nb::module_& m) {
    m.def("lbfgs_direction", &lbfgs_direction);
    m.def("weighted_gram", &weighted_gram);
}

}  // namespace jamrank
