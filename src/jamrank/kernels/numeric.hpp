// The arithmetic of all passes: exponential and logarithm as plain arithmetic, which a compiler can turn into vector
// instructions, and the bounds that keep numbers finite.
#pragma once

#include <cstdint>
#include <cstring>

namespace jamrank {
namespace JAMRANK_ISA {
namespace {

constexpr double kLargestMargin = 700.0;
constexpr double kLeastCurvature = 0.1;
constexpr double kLogOfTwo = 6.93147180559945309417e-01;

inline double from_bits(uint64_t bits) {
    double value;
    std::memcpy(&value, &bits, sizeof value);
    return value;
}

inline uint64_t to_bits(double value) {
    uint64_t bits;
    std::memcpy(&bits, &value, sizeof bits);
    return bits;
}

// exp(x) for -708 <= x <= 0, to about one unit in the last place: x = n ln 2 + r, |r| <= ln 2 / 2, Taylor in r.
inline double exp_nonpositive(double x) {
    constexpr double shift = 6755399441055744.0;  // 1.5 * 2^52: adding it leaves round(x) in the low bits
    const double shifted = x * 1.4426950408889634 + shift;
    const double n = shifted - shift;
    const double r = (x - n * 6.93147180369123816490e-01) - n * 1.90821492927058770002e-10;
    const double r2 = r * r, r4 = r2 * r2;
    const double low = (1.0 + r) + r2 * (0.5 + r * (1.0 / 6.0));
    const double middle = (1.0 / 24.0 + r * (1.0 / 120.0)) + r2 * (1.0 / 720.0 + r * (1.0 / 5040.0));
    const double high = (1.0 / 40320.0 + r * (1.0 / 362880.0)) +
                        r2 * (1.0 / 3628800.0 + r * (1.0 / 39916800.0)) + r4 * (1.0 / 479001600.0);
    const double p = low + r4 * (middle + r4 * high);
    return p * from_bits((to_bits(shifted) + 1023) << 52);
}

// log(x) for normal x > 0: x = 2^k f with f near 1, then the series of atanh((f - 1) / (f + 1)).
inline double log_positive(double x) {
    const uint64_t bits = to_bits(x);
    const uint64_t above = bits - 0x3fe6a09e667f3bcdULL;  // bits of sqrt(1/2): f lies in [sqrt(1/2), sqrt(2))
    const uint64_t k = (above >> 52) & 0xfff;
    const double f = from_bits(bits - (k << 52));
    // k is a 12-bit two's complement number; magic addition turns it into a double without a conversion.
    const double exponent = from_bits(((k ^ 0x800) | 0x4330000000000000ULL)) - (4503599627370496.0 + 2048.0);
    const double s = (f - 1.0) / (f + 1.0);
    const double z = s * s;
    double p = 1.0 / 21.0;
    p = p * z + 1.0 / 19.0;
    p = p * z + 1.0 / 17.0;
    p = p * z + 1.0 / 15.0;
    p = p * z + 1.0 / 13.0;
    p = p * z + 1.0 / 11.0;
    p = p * z + 1.0 / 9.0;
    p = p * z + 1.0 / 7.0;
    p = p * z + 1.0 / 5.0;
    p = p * z + 1.0 / 3.0;
    p = p * z + 1.0;
    return exponent * kLogOfTwo + 2.0 * s * p;
}

}  // namespace
}  // namespace JAMRANK_ISA
}  // namespace jamrank
