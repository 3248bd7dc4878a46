// The direction of a step of the fit, from the steps before it; and the bindings of linear.cpp.
#include "bindings.hpp"

#include <nanobind/stl/vector.h>

#include <vector>

#include "linear.hpp"
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

// Weighted products of every two rows of a matrix, each less a mean, on and above the diagonal, in a fixed order, as BLAS does not
// promise.
void weighted_gram(const Doubles& matrix, const Doubles& mean, const Doubles& weight, OutDoubles products) {
    const size_t columns = weight.size(), rows = mean.size();
    require(matrix.size() == rows * columns && products.size() == rows * rows, "one product for every two rows");
    active_linear->gram(matrix.data(), rows, columns, mean.data(), weight.data(), products.data());
}

// The sum of the rows of a matrix, each times a number.
void sum_of_rows(const Doubles& matrix, const Doubles& factor, OutDoubles sums) {
    require(matrix.size() == factor.size() * sums.size(), "one factor a row, one sum a column");
    active_linear->sum_of_rows(matrix.data(), factor.size(), sums.size(), factor.data(), sums.data());
}

// The product of each row of a matrix with a vector.
void row_products(const Doubles& matrix, const Doubles& vector, OutDoubles products) {
    require(matrix.size() == vector.size() * products.size(), "one entry a column, one product a row");
    active_linear->row_products(matrix.data(), products.size(), vector.size(), vector.data(), products.data());
}

}  // namespace

void bind_steps(nb::module_& m) {
    m.def("lbfgs_direction", &lbfgs_direction);
    m.def("weighted_gram", &weighted_gram);
    m.def("sum_of_rows", &sum_of_rows);
    m.def("row_products", &row_products);
}

}  // namespace jamrank
