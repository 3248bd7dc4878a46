#include "linear.hpp"

#include <algorithm>
#include <vector>

namespace jamrank {
namespace JAMRANK_ISA {
namespace {

// Sums beside each other: one alone would wait for itself at every step. As many for all instruction sets.
constexpr size_t kSums = 32;

double product_of(const double* one, const double* other, size_t columns) {
    double sums[kSums] = {}, sum = 0.0;
    size_t i = 0;
    for (; i + kSums <= columns; i += kSums)
        for (size_t k = 0; k < kSums; ++k) sums[k] += one[i + k] * other[i + k];
    for (; i < columns; ++i) sum += one[i] * other[i];
    for (size_t half = kSums / 2; half; half /= 2)
        for (size_t k = 0; k < half; ++k) sums[k] += sums[k + half];
    return sums[0] + sum;
}

void gram(const double* matrix, size_t rows, size_t columns, const double* mean, const double* weight, double* products) {
    constexpr size_t kTogether = 1024;  // columns whose centred entries stay in cache
    std::vector<double> centred(rows * kTogether), weighted(kTogether);
    std::fill_n(products, rows * rows, 0.0);
    for (size_t begin = 0; begin < columns; begin += kTogether) {
        const size_t count = std::min(kTogether, columns - begin);
        for (size_t row = 0; row < rows; ++row) {
            const double *own = matrix + row * columns + begin, centre = mean[row];
            double* out = centred.data() + row * kTogether;
            for (size_t k = 0; k < count; ++k) out[k] = own[k] - centre;
        }
        for (size_t a = 0; a < rows; ++a) {
            const double *own = centred.data() + a * kTogether, *times = weight + begin;
            double* out = weighted.data();
            for (size_t k = 0; k < count; ++k) out[k] = own[k] * times[k];
            for (size_t b = a; b < rows; ++b)
                products[a * rows + b] += product_of(out, centred.data() + b * kTogether, count);
        }
    }
}

void sum_of_rows(const double* matrix, size_t rows, size_t columns, const double* factor, double* sums) {
    constexpr size_t kTogether = 256;  // columns whose sums stay in cache
    for (size_t begin = 0; begin < columns; begin += kTogether) {
        const size_t count = std::min(kTogether, columns - begin);
        double sum[kTogether] = {};
        for (size_t row = 0; row < rows; ++row) {
            const double times = factor[row], *own = matrix + row * columns + begin;
            for (size_t k = 0; k < count; ++k) sum[k] += times * own[k];
        }
        std::copy(sum, sum + count, sums + begin);
    }
}

void row_products(const double* matrix, size_t rows, size_t columns, const double* vector, double* products) {
    for (size_t row = 0; row < rows; ++row) products[row] = product_of(matrix + row * columns, vector, columns);
}

}  // namespace

extern const LinearPasses linear_passes = {gram, sum_of_rows, row_products};

}  // namespace JAMRANK_ISA
}  // namespace jamrank
