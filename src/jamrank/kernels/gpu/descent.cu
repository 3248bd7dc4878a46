// Conjugate gradients, all of a step but the product with the curvature, by one block. What is done is said plainly by
// conjugate_gradients in jamrank/fitting/newton.py.

// Sums, or largest numbers, over a block, for all of its threads, in an order that does not change.
template <bool kLargest>
__device__ double over_block(double value) {
    __shared__ double by_warp[32];
    for (int step = 16; step; step /= 2) {
        const double other = __shfl_xor_sync(kFull, value, step);
        value = kLargest ? fmax(value, other) : value + other;
    }
    __syncthreads();
    if (threadIdx.x % 32 == 0) by_warp[threadIdx.x / 32] = value;
    __syncthreads();
    double all = by_warp[0];
    for (int warp = 1; warp < blockDim.x / 32; ++warp) all = kLargest ? fmax(all, by_warp[warp]) : all + by_warp[warp];
    return all;
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
    if (!first) {
        double bend = 0.0;
#pragma unroll 4
        for (Long k = from; k < items; k += step)
            bend += direction[k] * (static_cast<double>(product[k]) * unit + precision[k] * direction[k]);
        bend = over_block<false>(bend);
        if (bend <= 0.0) {
            if (from == 0) state[1] = 1.0;
            return;
        }
        const double alpha = before / bend;
#pragma unroll 4
        for (Long k = from; k < items; k += step) {
            solution[k] += alpha * direction[k];
            residual[k] -= alpha * (static_cast<double>(product[k]) * unit + precision[k] * direction[k]);
        }
    }
    // In the order of conjugate_gradients: with fewer loops and another order of sums, a fit to white wine ended an iteration
    // earlier than in memory, 1.5e-5 away.
    double shared = 0.0;
#pragma unroll 4
    for (Long k = from; k < items; k += step) shared += share[k] * residual[k];
    shared = over_block<false>(shared) / held;
    double rho = 0.0;
#pragma unroll 4
    for (Long k = from; k < items; k += step) rho += residual[k] * (inverse[k] * residual[k] + share[k] * shared);
    rho = over_block<false>(rho);
    double high = -1e300, low = -1e300;
#pragma unroll 4
    for (Long k = from; k < items; k += step) {
        const double z = inverse[k] * residual[k] + share[k] * shared;
        const double next = first ? z : z + rho / before * direction[k];
        direction[k] = next;
        product[k] = 0;
        high = fmax(high, next);
        low = fmax(low, -next);
    }
    high = over_block<true>(high);
    low = over_block<true>(low);
    if (from != 0) return;
    const double enough = first ? state[3] * state[3] * rho : state[3];
    state[0] = scale_of(state[4] * (high + low));
    state[1] = rho <= enough;
    state[2] = rho;
    state[3] = enough;
}
