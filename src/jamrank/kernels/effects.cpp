// Normal effects integrated out or drawn: the Cholesky factors of I + v P of several likelihoods side by side, so that
// every step is one of vectors, however small the matrices.
#include "effects.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "lanes.hpp"
#include "numeric.hpp"

namespace jamrank {
namespace JAMRANK_ISA {
namespace {

#define JAMRANK_EACH for (size_t lane = 0; lane < kLanes; ++lane)

// Sums of products with so many rows at once: none waits for its neighbour.
constexpr size_t kRows = 4;

// Matrices of as many likelihoods as there are lanes. Below the diagonal is the factor L of I + v P; above it, once it
// is asked for, the transpose of L⁻¹; on the diagonal are the reciprocals of that of L.
class Stack {
  public:
    explicit Stack(const Likelihoods& all) : all_(all), n_(all.n), matrix_(n_ * n_), vector_(n_) {}

    void load(size_t begin) {
        begin_ = begin, here_ = std::min(kLanes, all_.count - begin);
        JAMRANK_EACH variance_[lane] = lane < here_ ? all_.variance[begin + lane] : 0.0;
        std::fill(matrix_.begin(), matrix_.end(), Lanes{});
        for (size_t lane = 0; lane < here_; ++lane) {
            const double *own = all_.precision + (begin + lane) / all_.each * n_ * n_, variance = variance_[lane];
            for (size_t i = 0; i < n_; ++i)
                for (size_t j = 0; j <= i; ++j) row(i)[j][lane] = variance * own[i * n_ + j];
        }
        for (size_t i = 0; i < n_; ++i) JAMRANK_EACH row(i)[i][lane] += 1.0;
        factor();
    }

    size_t here() const { return here_; }
    const Lanes& half_log_det() const { return half_log_det_; }

    // Puts the products of L⁻¹ and the shifts of a column into the vector.
    void solve(size_t column) {
        for (size_t lane = 0; lane < kLanes; ++lane) {
            const double* own = all_.shift + (begin_ + std::min(lane, here_ - 1)) / all_.each * n_ * all_.columns + column;
            for (size_t i = 0; i < n_; ++i) vector_[i][lane] = own[i * all_.columns];
        }
        for (size_t i = 0; i < n_; ++i) {
            Lanes sum = vector_[i];
            for (size_t k = 0; k < i; ++k) sum -= row(i)[k] * vector_[k];
            vector_[i] = sum * row(i)[i];
        }
    }
    Lanes squares() const {
        Lanes sum{};
        for (const Lanes& own : vector_) sum += own * own;
        return sum;
    }
    // Adds noise to the vector times the deviation of the effects, and multiplies by that and the transpose of L⁻¹.
    void draw(const double* noise, double* drawn) {
        Lanes sd;
        JAMRANK_EACH sd[lane] = std::sqrt(variance_[lane]);
        for (size_t lane = 0; lane < here_; ++lane)
            for (size_t i = 0; i < n_; ++i)
                vector_[i][lane] = sd[lane] * vector_[i][lane] + noise[(begin_ + lane) * n_ + i];
        for (size_t i = n_; i-- > 0;) {
            const Lanes own = vector_[i] = vector_[i] * row(i)[i];
            for (size_t k = 0; k < i; ++k) vector_[k] -= row(i)[k] * own;
        }
        for (size_t lane = 0; lane < here_; ++lane)
            for (size_t i = 0; i < n_; ++i) drawn[(begin_ + lane) * n_ + i] = sd[lane] * vector_[i][lane];
    }
    // Multiplies the vector by the transpose of L⁻¹, which has been inverted.
    void raise(size_t column, double* moved) const {
        for (size_t i = 0; i < n_; ++i) {
            Lanes sum{};
            for (size_t k = i; k < n_; ++k) sum += row(i)[k] * vector_[k];
            for (size_t lane = 0; lane < here_; ++lane)
                moved[((begin_ + lane) * n_ + i) * all_.columns + column] = sum[lane];
        }
    }

    void invert() {
        for (size_t i = 1; i < n_; i += 2) {
            const bool two = i + 1 < n_;
            const Lanes *own = row(i), *next = two ? row(i + 1) : own;
            size_t j = 0;
            for (; j + kRows <= i; j += kRows) {
                Lanes sum[2 * kRows] = {};
                for (size_t r = 0; r < kRows; ++r)
                    for (size_t k = j + r; k < j + kRows - 1; ++k) {
                        sum[r] -= own[k] * row(j + r)[k];
                        sum[kRows + r] -= next[k] * row(j + r)[k];
                    }
                products(own, next, j, j + kRows - 1, i, sum);
                for (size_t r = 0; r < kRows; ++r) {
                    const Lanes entry = row(j + r)[i] = sum[r] * own[i];
                    if (two) row(j + r)[i + 1] = (sum[kRows + r] - next[i] * entry) * next[i + 1];
                }
            }
            for (; j < i; ++j) row(j)[i] = inverse_entry(i, j);
            if (two) for (j = i / kRows * kRows; j <= i; ++j) row(j)[i + 1] = inverse_entry(i + 1, j);
        }
    }

    // Writes (I - (I + v P)⁻¹) / v, which is what is left of the precision.
    void write_left(double* left) const {
        Lanes reciprocal;
        JAMRANK_EACH reciprocal[lane] = variance_[lane] > 0.0 ? 1.0 / variance_[lane] : 0.0;
        const auto put = [&](size_t i, size_t j, const Lanes& minus) {
            const Lanes entry = minus * reciprocal;
            for (size_t lane = 0; lane < here_; ++lane) {
                double* own = left + (begin_ + lane) * n_ * n_;
                own[i * n_ + j] = own[j * n_ + i] = entry[lane];
            }
        };
        for (size_t i = 0; i < n_; i += 2) {
            const bool two = i + 1 < n_;
            size_t j = 0;
            for (; j + kRows <= i; j += kRows) {
                Lanes sum[2 * kRows] = {};
                for (size_t r = 0; r < kRows; ++r) sum[r] -= row(i)[i] * row(j + r)[i];
                products(row(i), two ? row(i + 1) : row(i), j, i + 1, n_, sum);
                for (size_t r = 0; r < kRows; ++r) {
                    put(i, j + r, sum[r]);
                    if (two) put(i + 1, j + r, sum[kRows + r]);
                }
            }
            for (size_t here = i; here < std::min(i + 2, n_); ++here)
                for (size_t of = j; of <= here; ++of) {
                    Lanes sum{};
                    if (of == here) JAMRANK_EACH sum[lane] = 1.0;
                    for (size_t k = here; k < n_; ++k) sum -= row(here)[k] * row(of)[k];
                    put(here, of, sum);
                }
        }
        for (size_t lane = 0; lane < here_; ++lane)
            if (!(variance_[lane] > 0.0))
                std::copy_n(all_.precision + (begin_ + lane) / all_.each * n_ * n_, n_ * n_, left + (begin_ + lane) * n_ * n_);
    }

    const Lanes& variance() const { return variance_; }

  private:
    Lanes* row(size_t i) { return matrix_.data() + i * n_; }
    const Lanes* row(size_t i) const { return matrix_.data() + i * n_; }

    // Subtracts the products of two rows with four others, which are read once.
    void products(const Lanes* own, const Lanes* next, size_t first, size_t begin, size_t end, Lanes* sum) const {
        const Lanes *a = row(first), *b = a + n_, *c = b + n_, *d = c + n_;
        Lanes s0 = sum[0], s1 = sum[1], s2 = sum[2], s3 = sum[3], t0 = sum[4], t1 = sum[5], t2 = sum[6], t3 = sum[7];
        for (size_t k = begin; k < end; ++k) {
            const Lanes x = own[k], y = next[k];
            s0 -= x * a[k];
            t0 -= y * a[k];
            s1 -= x * b[k];
            t1 -= y * b[k];
            s2 -= x * c[k];
            t2 -= y * c[k];
            s3 -= x * d[k];
            t3 -= y * d[k];
        }
        sum[0] = s0, sum[1] = s1, sum[2] = s2, sum[3] = s3, sum[4] = t0, sum[5] = t1, sum[6] = t2, sum[7] = t3;
    }

    Lanes inverse_entry(size_t i, size_t j) const {
        Lanes sum{};
        for (size_t k = j; k < i; ++k) sum -= row(i)[k] * row(j)[k];
        return sum * row(i)[i];
    }

    // An entry of the factor below the diagonal.
    Lanes entry(size_t i, size_t j) const {
        Lanes sum = row(i)[j];
        for (size_t k = 0; k < j; ++k) sum -= row(i)[k] * row(j)[k];
        return sum * row(j)[j];
    }

    void diagonal(size_t j) {
        Lanes own = row(j)[j];
        for (size_t k = 0; k < j; ++k) own -= row(j)[k] * row(j)[k];
        JAMRANK_EACH {
            half_log_det_[lane] += 0.5 * log_positive(own[lane]);
            own[lane] = 1.0 / std::sqrt(own[lane]);
        }
        row(j)[j] = own;
    }

    void factor() {
        half_log_det_ = Lanes{};
        for (size_t j = 0; j < n_; j += 2) {
            diagonal(j);
            if (j + 1 == n_) break;
            row(j + 1)[j] = entry(j + 1, j);
            diagonal(j + 1);
            const Lanes *own = row(j), *next = row(j + 1);
            size_t i = j + 2;
            for (; i + kRows <= n_; i += kRows) {
                Lanes sum[2 * kRows];
                for (size_t r = 0; r < kRows; ++r) sum[r] = row(i + r)[j], sum[kRows + r] = row(i + r)[j + 1];
                products(own, next, i, 0, j, sum);
                for (size_t r = 0; r < kRows; ++r) {
                    const Lanes first = row(i + r)[j] = sum[r] * own[j];
                    row(i + r)[j + 1] = (sum[kRows + r] - first * next[j]) * next[j + 1];
                }
            }
            for (; i < n_; ++i) {
                row(i)[j] = entry(i, j);
                row(i)[j + 1] = entry(i, j + 1);
            }
        }
    }

    const Likelihoods& all_;
    size_t n_, begin_ = 0, here_ = 0;
    std::vector<Lanes> matrix_, vector_;
    Lanes variance_{}, half_log_det_{};
};

void absorb(const Likelihoods& all, double* left, double* moved, double* gained) {
    Stack some(all);
    for (size_t begin = 0; begin < all.count; begin += kLanes) {
        some.load(begin);
        if (left) some.invert();
        for (size_t column = 0; column < all.columns; ++column) {
            some.solve(column);
            const Lanes squares = some.squares();
            for (size_t lane = 0; lane < some.here(); ++lane)
                gained[(begin + lane) * all.columns + column] =
                    0.5 * some.variance()[lane] * squares[lane] - some.half_log_det()[lane];
            if (left) some.raise(column, moved);
        }
        if (left) some.write_left(left);
    }
}

void draw(const Likelihoods& all, const double* noise, double* drawn) {
    Stack some(all);
    for (size_t begin = 0; begin < all.count; begin += kLanes) {
        some.load(begin);
        some.solve(0);
        some.draw(noise, drawn);
    }
}

}  // namespace

extern const EffectPasses effect_passes;
const EffectPasses effect_passes = {absorb, draw};

}  // namespace JAMRANK_ISA
}  // namespace jamrank
