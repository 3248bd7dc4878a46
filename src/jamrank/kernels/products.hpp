// Scalar products and sums of vectors, in an order that does not change; and conjugate gradients, which are made of them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace jamrank {

// In eight sums, which vector instructions can follow.
inline double dot(const double* a, const double* b, size_t n) {
    constexpr size_t kWide = 8;
    double sums[kWide] = {};
    size_t k = 0;
    for (; k + kWide <= n; k += kWide)
        for (size_t lane = 0; lane < kWide; ++lane) sums[lane] += a[k + lane] * b[k + lane];
    double sum = 0.0;
    for (; k < n; ++k) sum += a[k] * b[k];
    for (double own : sums) sum += own;
    return sum;
}

inline void add(double factor, const double* a, double* to, size_t n) {
    for (size_t k = 0; k < n; ++k) to[k] += factor * a[k];
}

// Solves A x = target for a positive semi-definite A given by its products, until the residual has fallen by `tolerance`.
// `precondition` and `times` write what they make of their first argument to the second.
template <typename Times, typename Precondition>
void conjugate_gradients(const Times& times, const Precondition& precondition, const double* target, double tolerance,
                         int max_iter, double* x, size_t n) {
    std::vector<double> residual(target, target + n), z(n), direction(n), product(n);
    std::fill_n(x, n, 0.0);
    precondition(residual.data(), direction.data());
    double rho = dot(residual.data(), direction.data(), n);
    const double enough = tolerance * tolerance * rho;
    for (int step = 0; step < max_iter && !(rho <= enough); ++step) {
        times(direction.data(), product.data());
        const double bend = dot(direction.data(), product.data(), n);
        if (bend <= 0) return;
        add(rho / bend, direction.data(), x, n);
        add(-rho / bend, product.data(), residual.data(), n);
        precondition(residual.data(), z.data());
        const double before = rho;
        rho = dot(residual.data(), z.data(), n);
        for (size_t k = 0; k < n; ++k) direction[k] = z[k] + rho / before * direction[k];
    }
}

}  // namespace jamrank
