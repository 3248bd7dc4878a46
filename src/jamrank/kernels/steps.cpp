// The direction of a step of the fit, from the steps before it.
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

}  // namespace

void bind_steps(nb::module_& m) { m.def("lbfgs_direction", &lbfgs_direction); }

}  // namespace jamrank
