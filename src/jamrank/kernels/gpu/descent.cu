// Conjugate gradients, all of a step but the product with the curvature, by one block. What is done is said plainly by
// conjugate_gradients in jamrank/fitting/newton.py.

// Two sums, or largest numbers, over a block of 32 warps, for all of its threads, in an order that does not change.
template <bool kLargest>
__device__ double2 over_warp(double2 value) {
    for (int step = 16; step; step /= 2) {
        const double one = __shfl_xor_sync(kFull, value.x, step), other = __shfl_xor_sync(kFull, value.y, step);
        value.x = kLargest ? fmax(value.x, one) : value.x + one;
        value.y = kLargest ? fmax(value.y, other) : value.y + other;
    }
    return value;
}
template <bool kLargest>
__device__ double2 over_block(double2 value) {
    __shared__ double2 by_warp[32];
    value = over_warp<kLargest>(value);
    __syncthreads();
    if (threadIdx.x % 32 == 0) by_warp[threadIdx.x / 32] = value;
    __syncthreads();
    return over_warp<kLargest>(by_warp[threadIdx.x % 32]);
}

// The power of two that turns a product into integers: see _scale in jamrank/engines/gpu.py.
__device__ double scale_of(double most) {
    int exponent;
    frexp(fmax(most, 1e-250), &exponent);
    return scalbn(1.0, 61 - exponent);
}

// `given` has, one after the other: what is left of the target, precision, inverse, share, the solution, and the state:
// scale of the product, whether all is done, residual times direction, tolerance (later: what is enough), the largest
// degree, and what the share is divided by. The first call finds the first direction; the others take a step.
extern "C" __global__ void __launch_bounds__(1024)
descend(Long items, Long* __restrict__ product, double* __restrict__ direction, double* given, Long first) {
    double *__restrict__ residual = given, *__restrict__ solution = given + 4 * items, *state = given + 5 * items;
    const double *__restrict__ precision = given + items, *__restrict__ inverse = given + 2 * items;
    const double* __restrict__ share = given + 3 * items;
    const int from = threadIdx.x, step = blockDim.x;
    // The scale is a power of two, so that its inverse is exact.
    const double unit = 1.0 / state[0], before = state[2], held = state[5];
    if (state[1] != 0.0) return;
    double alpha = 0.0;
    if (!first) {
        double bend = 0.0;
#pragma unroll 4
        for (Long k = from; k < items; k += step)
            bend += direction[k] * (static_cast<double>(product[k]) * unit + precision[k] * direction[k]);
        bend = over_block<false>({bend, 0.0}).x;
        if (bend <= 0.0) {
            if (from == 0) state[1] = 1.0;
            return;
        }
        alpha = before / bend;
    }
    // What the preconditioner makes of the residual r is z = inverse r + share (share r) / held.
    double2 sums{0.0, 0.0};
#pragma unroll 4
    for (Long k = from; k < items; k += step) {
        double left = residual[k];
        if (!first) {
            solution[k] += alpha * direction[k];
            left -= alpha * (static_cast<double>(product[k]) * unit + precision[k] * direction[k]);
            residual[k] = left;
        }
        sums.x += share[k] * left;
        sums.y += inverse[k] * left * left;
    }
    sums = over_block<false>(sums);
    const double shared = sums.x / held, rho = sums.y + sums.x * shared;
    double2 ends{-1e300, -1e300};
#pragma unroll 4
    for (Long k = from; k < items; k += step) {
        const double z = inverse[k] * residual[k] + share[k] * shared;
        const double next = first ? z : z + rho / before * direction[k];
        direction[k] = next;
        product[k] = 0;
        ends.x = fmax(ends.x, next);
        ends.y = fmax(ends.y, -next);
    }
    ends = over_block<true>(ends);
    if (from != 0) return;
    const double enough = first ? state[3] * state[3] * rho : state[3];
    state[0] = scale_of(state[4] * (ends.x + ends.y));
    state[1] = rho <= enough;
    state[2] = rho;
    state[3] = enough;
}
