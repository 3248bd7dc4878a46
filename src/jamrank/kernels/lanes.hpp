// Numbers side by side, as many as fit into a register: one for each matrix, or for each chain.
#pragma once

#include <cstddef>

namespace jamrank {
namespace JAMRANK_ISA {
namespace {

#if defined(__AVX512F__)
constexpr size_t kLanes = 8;
#elif defined(__AVX__)
constexpr size_t kLanes = 4;
#else
constexpr size_t kLanes = 2;
#endif

#ifdef __GNUC__
typedef double Lanes __attribute__((vector_size(kLanes * sizeof(double))));
#else
struct Lanes {
    double at[kLanes];
    double& operator[](size_t lane) { return at[lane]; }
    double operator[](size_t lane) const { return at[lane]; }
};
#define JAMRANK_LANES(op)                                                     \
    inline Lanes& operator op##=(Lanes& a, const Lanes& b) {                  \
        for (size_t lane = 0; lane < kLanes; ++lane) a[lane] op##= b[lane];   \
        return a;                                                             \
    }                                                                         \
    inline Lanes operator op(Lanes a, const Lanes& b) { return a op##= b; }
JAMRANK_LANES(+)
JAMRANK_LANES(-)
JAMRANK_LANES(*)
JAMRANK_LANES(/)
#endif

// The same number in each.
inline Lanes all_lanes(double value) {
    Lanes all;
    for (size_t lane = 0; lane < kLanes; ++lane) all[lane] = value;
    return all;
}

}  // namespace
}  // namespace JAMRANK_ISA
}  // namespace jamrank
