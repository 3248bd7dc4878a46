// Passes over all pairs of the items, in tiles: a thread keeps the sums of eight second items in registers, a warp
// goes from first item to first item, and nothing is scattered but the sums of whole tiles. Pairs without a row are holes.

constexpr int kLanes = 32, kColumns = 8, kWarps = 4, kWidth = kLanes * kColumns, kThreads = kLanes * kWarps;
// The table of likelihood ratios is there so many times, so that threads seldom wait for each other.
constexpr int kCopies = 16;

// exp(score) and exp(-score) of each item: their product is the exponential of a margin.
extern "C" __global__ void exponentials(Long items, const double* scores, double* up, double* down) {
    const Long item = static_cast<Long>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (item >= items) return;
    up[item] = exp(scores[item]);
    down[item] = exp(-scores[item]);
}

// Of two sums over a warp the former ends in its first half, the latter in its second.
__device__ __forceinline__ double both_sums(double one, double other) {
    const bool upper = threadIdx.x & 16;
    double mine = upper ? other : one;
    mine += __shfl_xor_sync(kFull, upper ? one : other, 16);
    for (int step = 8; step; step /= 2) mine += __shfl_xor_sync(kFull, mine, step);
    return mine;
}

struct Tile {
    Long items, left;
    int lane;
    __device__ Long column(int c) const { return left + lane + c * kLanes; }
    __device__ bool inside(Long first, int c) const { return column(c) > first && column(c) < items; }
};

struct Walk {
    Tile tile;
    Long top, bottom, base;
    const Byte* codes;
    int hole;
    const double* ratio;
    double* by_thread;
    const double* up;
    const double* down;
    float* curvature;
    ByItem sums;

    template <bool kCheck>
    __device__ __forceinline__ void fetch(Long first, const Byte* row, unsigned (&code)[kColumns]) const {
#pragma unroll
        for (int c = 0; c < kColumns; ++c)
            code[c] = !kCheck || tile.inside(first, c) ? __ldcs(row + c * kLanes) : static_cast<unsigned>(hole);
    }

    // The place of a row's cell in the tile's first column of this thread, were it there.
    __device__ Long place(Long first) const {
        return start_of(tile.items, first) - first - 1 + tile.left + tile.lane - base;
    }

    template <bool kCheck>
    __device__ double run() const {
        double e_up[kColumns], slope[kColumns], bent[kColumns];
#pragma unroll
        for (int c = 0; c < kColumns; ++c) {
            e_up[c] = tile.column(c) < tile.items ? up[tile.column(c)] : 0.0;
            slope[c] = bent[c] = 0.0;
        }
        const double* own_ratio = ratio + tile.lane % kCopies;
        double* own_sums = by_thread + threadIdx.x;
        double product = 1.0;
        Long exponent = 0;
        unsigned next[kColumns];
        const Long begin = top + threadIdx.x / kLanes;
        if (begin < bottom) fetch<kCheck>(begin, codes + place(begin), next);
        for (Long first = begin; first < bottom; first += kWarps) {
            unsigned code[kColumns];
#pragma unroll
            for (int c = 0; c < kColumns; ++c) code[c] = next[c];
            const Long at = place(first), after = first + kWarps;
            if (after < bottom) fetch<kCheck>(after, codes + place(after), next);
            const double e_down = down[first];
            double row_slope = 0.0, row_bent = 0.0;
#pragma unroll
            for (int c = 0; c < kColumns; ++c) {
                const double e = e_down * e_up[c], sum = 1.0 + e;
                const double joint = fma(e, own_ratio[code[c] * kCopies], 1.0);
                const double inverse = reciprocal(sum * joint), prior = inverse * joint, q = inverse * sum;
                const double derivative = q - prior, bend = e * (prior * prior);
                double curved = fmax(kLeastCurvature * bend, fma(-q, 1.0 - q, bend));
                // A hole has a ratio of 1: it says nothing of itself, but for the curvature.
                if (kCheck && code[c] == hole) curved = 0.0;
                product *= joint * prior;
                slope[c] += derivative;
                bent[c] += curved;
                row_slope += derivative;
                row_bent += curved;
                own_sums[code[c] * kThreads] += q;
                if (!kCheck || tile.inside(first, c)) __stcs(curvature + at + c * kLanes, static_cast<float>(curved));
            }
            // Exponents are split off before they grow too large.
            exponent += (__double2hiint(product) >> 20) - 1023;
            product = __hiloint2double((__double2hiint(product) & 0xfffff) | 0x3ff00000, __double2loint(product));
            const double mine = both_sums(row_slope, row_bent);
            if (tile.lane == 0) add(sums.gradient + first, fixed(mine, sums.by_gradient));
            if (tile.lane == 16) add(sums.degree + first, fixed(mine, sums.by_degree));
        }
#pragma unroll
        for (int c = 0; c < kColumns; ++c) {
            if (tile.column(c) >= tile.items) continue;
            add(sums.gradient + tile.column(c), -fixed(slope[c], sums.by_gradient));
            add(sums.degree + tile.column(c), fixed(bent[c], sums.by_degree));
        }
        return exponent * kLogOfTwo + log(product);
    }
};

// The expectation over pairs whose first item is one of `from` to `to`; `codes` and `curvature` begin with pair `base`.
extern "C" __global__ void __launch_bounds__(kThreads, 3)
walk(Long items, Long from, Long to, Long base, Long height, const Byte* codes, Long holes, Long patterns,
     const double* ratio, const double* up, const double* down, float* curvature, double by_gradient, double by_degree,
     double by_pattern, Long* gradient, Long* degree, Long* pattern_sums, double* values) {
    extern __shared__ double room[];
    const Long left = static_cast<Long>(blockIdx.x) * kWidth, top = from + blockIdx.y * height;
    const Long bottom = min(min(top + height, to), min(left + kWidth - 1, items - 1));
    double* value = values + (static_cast<Long>(blockIdx.y) * gridDim.x + blockIdx.x);
    if (top >= bottom) {
        if (threadIdx.x == 0) *value = 0.0;
        return;
    }
    const int kinds = static_cast<int>(patterns) + 1;
    double* table = room + kinds * kThreads;
    for (int k = threadIdx.x; k < kinds * kThreads; k += kThreads) room[k] = 0.0;
    for (int k = threadIdx.x; k < kinds * kCopies; k += kThreads)
        table[k] = k / kCopies < patterns ? ratio[k / kCopies] : 1.0;
    __syncthreads();
    const Tile tile{items, left, static_cast<int>(threadIdx.x) % kLanes};
    const Walk pass{tile, top, bottom, base, codes, static_cast<int>(patterns), table, room, up, down, curvature,
                    ByItem{gradient, degree, by_gradient, by_degree}};
    const bool whole = !holes && left >= bottom && left + kWidth <= items;
    const double own = whole ? pass.run<false>() : pass.run<true>();
    const double sum = block_sum(own);
    if (threadIdx.x == 0) *value = sum;
    for (int k = threadIdx.x / kLanes; k < patterns; k += kWarps) {
        double part = 0.0;
        for (int t = tile.lane; t < kThreads; t += kLanes) part += room[k * kThreads + t];
        part = warp_sum(part);
        if (tile.lane == 0) add(pattern_sums + k, fixed(part, by_pattern));
    }
}

// The curvature matrix times a vector, for the same pairs.
extern "C" __global__ void __launch_bounds__(kThreads)
walk_times(Long items, Long from, Long to, Long base, Long height, const float* curvature, const double* vector,
           double scale, Long* product) {
    const Long left = static_cast<Long>(blockIdx.x) * kWidth, top = from + blockIdx.y * height;
    const Long bottom = min(min(top + height, to), min(left + kWidth - 1, items - 1));
    if (top >= bottom) return;
    const Tile tile{items, left, static_cast<int>(threadIdx.x) % kLanes};
    double own[kColumns], sum[kColumns];
#pragma unroll
    for (int c = 0; c < kColumns; ++c) {
        own[c] = tile.column(c) < items ? vector[tile.column(c)] : 0.0;
        sum[c] = 0.0;
    }
    for (Long first = top + threadIdx.x / kLanes; first < bottom; first += kWarps) {
        const float* row = curvature + (start_of(items, first) - first - 1 + left + tile.lane - base);
        const double entry = vector[first];
        float curved[kColumns];
#pragma unroll
        for (int c = 0; c < kColumns; ++c) curved[c] = tile.inside(first, c) ? row[c * kLanes] : 0.0f;
        double row_sum = 0.0;
#pragma unroll
        for (int c = 0; c < kColumns; ++c) {
            const double flow = curved[c] * (entry - own[c]);
            row_sum += flow;
            sum[c] -= flow;
        }
        row_sum = warp_sum(row_sum);
        if (tile.lane == 0) add(product + first, fixed(row_sum, scale));
    }
#pragma unroll
    for (int c = 0; c < kColumns; ++c)
        if (tile.column(c) < items) add(product + tile.column(c), fixed(sum[c], scale));
}

// Where the cell of a pair lies, among all pairs from `cell_base` on.
__device__ __forceinline__ Long cell(Long items, int first, int second, Long cell_base) {
    return start_of(items, first) + second - first - 1 - cell_base;
}

// Puts the codes of rows into their cells; the others keep what is there.
template <typename Second>
__global__ void to_cells(Long items, Long base, Long count, const Long* start, const Second* second, const Byte* codes,
                         Long cell_base, Byte* cells) {
    const Long at = static_cast<Long>(blockIdx.x) * blockDim.x + threadIdx.x, row = base + min(at, count - 1);
    int one, other;
    Layout<Second>{items, base, start, second}.of(row, one, other);
    if (at < count) cells[cell(items, one, other, cell_base)] = codes[at];
}

// Fetches the curvature of rows from their cells.
template <typename Second>
__global__ void from_cells(Long items, Long base, Long count, const Long* start, const Second* second, Long cell_base,
                           const float* cells, float* curvature) {
    const Long at = static_cast<Long>(blockIdx.x) * blockDim.x + threadIdx.x, row = base + min(at, count - 1);
    int one, other;
    Layout<Second>{items, base, start, second}.of(row, one, other);
    if (at < count) curvature[at] = cells[cell(items, one, other, cell_base)];
}
