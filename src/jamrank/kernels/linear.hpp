// Products of a matrix with few rows, one for each feature, as scores need them; all sums in a fixed order.
#pragma once

#include <cstddef>

namespace jamrank {

struct LinearPasses {
    // Weighted products of every two rows, each less a mean, on and above the diagonal.
    void (*gram)(const double* matrix, size_t rows, size_t columns, const double* mean, const double* weight,
                 double* products);
    // The sum of the rows, each times a factor.
    void (*sum_of_rows)(const double* matrix, size_t rows, size_t columns, const double* factor, double* sums);
    // The product of each row with a vector.
    void (*row_products)(const double* matrix, size_t rows, size_t columns, const double* vector, double* products);
};

extern const LinearPasses* active_linear;

namespace baseline { extern const LinearPasses linear_passes; }
namespace v3 { extern const LinearPasses linear_passes; }
namespace v4 { extern const LinearPasses linear_passes; }

}  // namespace jamrank
