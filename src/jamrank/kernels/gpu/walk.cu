// Passes over all pairs of the items, in tiles: a thread keeps the sums of some second items in registers, its columns, a
// warp goes from first item to first item, and nothing is scattered but the sums of whole tiles. Pairs without a row are
// holes.

constexpr int kLanes = 32, kWarps = 4, kThreads = kLanes * kWarps;
constexpr int kRows = 2;  // that a warp has in hand
// The table of likelihood ratios is there so many times, so that threads seldom wait for each other.
constexpr int kCopies = 16;

// exp(score) and exp(-score) of each item: their product is the exponential of a margin.
extern "C" __global__ void exponentials(Long items, const double* scores, double* up_then_down) {
    const Long item = static_cast<Long>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (item >= items) return;
    up_then_down[item] = exp(scores[item]);
    up_then_down[items + item] = exp(-scores[item]);
}

// Of four sums over a warp each ends in a quarter of its threads: the first in the first, and so on.
__device__ __forceinline__ double four_sums(const double (&sum)[4]) {
    const bool upper = threadIdx.x & 16, odd = threadIdx.x & 8;
    double low = upper ? sum[2] : sum[0], high = upper ? sum[3] : sum[1];
    low += __shfl_xor_sync(kFull, upper ? sum[0] : sum[2], 16);
    high += __shfl_xor_sync(kFull, upper ? sum[1] : sum[3], 16);
    double mine = odd ? high : low;
    mine += __shfl_xor_sync(kFull, odd ? low : high, 8);
    for (int step = 4; step; step /= 2) mine += __shfl_xor_sync(kFull, mine, step);
    return mine;
}

// A number from 0 to 1 in single precision, rounded half up or down, or nearly 0 where it is too small for that. The
// GPU's own conversion takes longer. Rounding everything down would be quicker still, but leaves fits further from those
// in memory.
template <bool kDown = false>
__device__ __forceinline__ float single(double value) {
    const Long bits = __double_as_longlong(value) + (kDown ? 0ll : 0x10000000ll);
    const int high = max(static_cast<int>(bits >> 32), 0x38000000);
    return __int_as_float(__funnelshift_l(static_cast<unsigned>(bits), high, 3) + 0x40000000);
}

// A byte that is read once, as a whole word.
__device__ __forceinline__ unsigned once(const Byte* place) {
    unsigned value;
    asm("ld.global.cs.u8 %0, [%1];" : "=r"(value) : "l"(place));
    return value;
}

// Shared memory by its own, short addresses.
__device__ __forceinline__ unsigned address(const void* shared) {
    return static_cast<unsigned>(__cvta_generic_to_shared(shared));
}
__device__ __forceinline__ double read(unsigned place) {
    double value;
    asm volatile("ld.shared.f64 %0, [%1];" : "=d"(value) : "r"(place));
    return value;
}
__device__ __forceinline__ void write(unsigned place, double value) {
    asm volatile("st.shared.f64 [%0], %1;" ::"r"(place), "d"(value));
}

// The address of an entry of a table: one instruction, of which the compiler would make two.
__device__ __forceinline__ unsigned entry(unsigned table, unsigned code, unsigned stride) {
    unsigned place;
    asm("mad.lo.u32 %0, %1, %2, %3;" : "=r"(place) : "r"(code), "r"(stride), "r"(table));
    return place;
}

// Sums of posteriors by pattern, of each thread: in float64.
struct InDoubles {
    typedef double Sum;
    static constexpr int kColumns = 6;  // an even number
    static __device__ __forceinline__ void add(unsigned, unsigned, double) {}
    static __device__ __forceinline__ void add_row(unsigned own, const unsigned (&code)[kColumns], const double (&q)[kColumns]) {
#pragma unroll
        for (int c = 0; c < kColumns; c += 2) {
            // Two at a time: if they are the same sum, it is the latter that counts.
            const unsigned one = entry(own, code[c], 8 * kThreads), other = entry(own, code[c + 1], 8 * kThreads);
            const double before = read(one), there = read(other), sum = before + q[c];
            write(one, sum);
            write(other, (one == other ? sum : there) + q[c + 1]);
        }
    }
    static __device__ double value(double sum) { return sum; }
    static __device__ __forceinline__ double inverse(double x) { return reciprocal(x); }
};

// The same for very many rows, whose sums need less of each: as multiples of kShare in words, which leaves room for more
// columns, and with reciprocals of 40 bits. A thread meets at most 512 pairs in a tile of 256 rows: their sum fits into a
// word.
constexpr double kShare = 1.0 / (1 << 22), kOfShares = 1ll << (52 - 22);  // kShare is what its last bit is worth
struct InWords {
    typedef unsigned Sum;
    static constexpr int kColumns = 8;
    static __device__ __forceinline__ void add(unsigned own, unsigned code, double q) {
        const unsigned shares = __double2loint(q + kOfShares);  // added atomically: nothing waits for what was there
        asm volatile("red.shared.add.u32 [%0], %1;" ::"r"(entry(own, code, 4 * kThreads)), "r"(shares) : "memory");
    }
    static __device__ __forceinline__ void add_row(unsigned, const unsigned (&)[kColumns], const double (&)[kColumns]) {}
    static __device__ double value(unsigned sum) { return kShare * sum; }
    static __device__ __forceinline__ double inverse(double x) { return rough_reciprocal(x); }
};

// Prefetches a row that will be read after the next ones.
__device__ __forceinline__ void prefetch_row(const Byte* row) { asm volatile("prefetch.global.L2 [%0];" ::"l"(row)); }

struct Tile {
    int items, left, bottom, lane;
    __device__ int column(int c) const { return left + lane + c * kLanes; }
    __device__ bool inside(int first, int c) const {
        return column(c) > first && column(c) < items && first < bottom;
    }
};

template <typename ByPattern>
struct Walk {
    static constexpr int kColumns = ByPattern::kColumns;
    Tile tile;
    int top;
    Long base;
    const Byte* codes;
    int hole;
    const double* ratio;
    typename ByPattern::Sum* by_thread;
    const double* up;
    const double* down;
    float* curvature;
    double* posterior;
    ByItem sums;

    template <bool kEdge>
    __device__ __forceinline__ void fetch(int first, const Byte* row, unsigned (&code)[kColumns]) const {
#pragma unroll
        for (int c = 0; c < kColumns; ++c)
            code[c] = !kEdge || tile.inside(first, c) ? once(row + c * kLanes) : static_cast<unsigned>(hole);
    }

    // At an edge some cells of the tile are no pairs, or none of this part. Elsewhere rows come in whole steps.
    template <bool kKeep, bool kEdge, bool kHoles>
    __device__ double run() const {
        double e_up[kColumns], slope[kColumns];
        float bent[kColumns];
        unsigned code[kRows][kColumns];
#pragma unroll
        for (int c = 0; c < kColumns; ++c) {
            e_up[c] = tile.column(c) < tile.items ? up[tile.column(c)] : 0.0;
            slope[c] = 0.0;
            bent[c] = 0.0f;
        }
        const unsigned own_ratio = address(ratio + tile.lane % kCopies), own_sums = address(by_thread + threadIdx.x);
        double product = 1.0, coming[kRows];
        int exponent = 0;
        int first = top + threadIdx.x / kLanes;
        // Where the cells of the row are, or would be, and how far it is from there to those of the next one.
        Long at = start_of(tile.items, first) - first - 1 + tile.left + tile.lane - base;
        int far = kWarps * (tile.items - first) - kWarps * (kWarps + 1) / 2 - kWarps;
#pragma unroll
        for (int r = 0; r < kRows; ++r) {
            coming[r] = down[min(first + r * kWarps, tile.items - 1)];
            fetch<kEdge>(first + r * kWarps, codes + at + ahead(far, r), code[r]);
        }
        for (; first < tile.bottom; first += kRows * kWarps) {
            // All of a kind together, so that nothing waits for anything before it.
            double pending[2 * kRows], e_down[kRows];
#pragma unroll
            for (int r = 0; r < kRows; ++r) {
                e_down[r] = coming[r];
                coming[r] = down[min(first + (kRows + r) * kWarps, tile.items - 1)];
                if (!kEdge && first + (2 * kRows + r) * kWarps < tile.bottom)
                    prefetch_row(codes + at + ahead(far, 2 * kRows + r) + (kColumns - 1) * tile.lane);
            }
#pragma unroll
            for (int r = 0; r < kRows; ++r) {
                const int own = first + r * kWarps;
                float* out = curvature + at + ahead(far, r);
                double row_slope = 0.0, likely[kColumns], q[kColumns];
                float row_bent = 0.0f;
#pragma unroll
                for (int c = 0; c < kColumns; ++c) likely[c] = read(entry(own_ratio, code[r][c], 8 * kCopies));
#pragma unroll
                for (int c = 0; c < kColumns; ++c) {
                    const double e = e_down[r] * e_up[c], sum = 1.0 + e, joint = fma(e, likely[c], 1.0);
                    const double inverse = ByPattern::inverse(sum * joint), prior = inverse * joint;
                    q[c] = inverse * sum;
                    ByPattern::add(own_sums, code[r][c], q[c]);
                    const double derivative = q[c] - prior;
                    product *= joint * prior;
                    slope[c] += derivative;
                    row_slope += derivative;
                    // The curvature: what is open of the truth before the votes, p (1 - p), less what is after. What
                    // cancels is computed in float64.
                    const float least = static_cast<float>(kLeastCurvature) * single<true>(fma(-prior, prior, prior));
                    float curved = fmaxf(single(fma(derivative, q[c] + prior, -derivative)), least);
                    // A hole has a ratio of 1: it says nothing of itself, but for the curvature.
                    if ((kEdge || kHoles) && code[r][c] == hole) curved = 0.0f;
                    bent[c] += curved;
                    row_bent += curved;
                    if (!kEdge || tile.inside(own, c)) {
                        __stcs(out + c * kLanes, curved);
                        if (kKeep) __stcs(posterior + (out - curvature) + c * kLanes, q[c]);
                    }
                }
                ByPattern::add_row(own_sums, code[r], q);
                pending[r] = row_slope;
                pending[kRows + r] = row_bent;
                // Past the end this row is read once more, which costs less than a branch.
                const int next = own + kRows * kWarps;
                fetch<kEdge>(next, codes + at + (next < tile.bottom ? ahead(far, kRows + r) : 0), code[r]);
                // Exponents are split off before they grow too large.
                exponent += (__double2hiint(product) >> 20) - 1023;
                product = __hiloint2double((__double2hiint(product) & 0xfffff) | 0x3ff00000, __double2loint(product));
            }
            at += ahead(far, kRows);
            far -= kRows * kWarps * kWarps;
            const double mine = four_sums(pending);
            const int own = first + (tile.lane / 8 % kRows) * kWarps;
            if (tile.lane % 8 == 0 && (!kEdge || own < tile.bottom)) {
                const bool upper = tile.lane >= 16;
                add((upper ? sums.degree : sums.gradient) + own,
                    fixed(mine, upper ? sums.by_degree : sums.by_gradient));
            }
        }
#pragma unroll
        for (int c = 0; c < kColumns; ++c) {
            if (tile.column(c) >= tile.items) continue;
            add(sums.gradient + tile.column(c), -fixed(slope[c], sums.by_gradient));
            add(sums.degree + tile.column(c), fixed(bent[c], sums.by_degree));
        }
        return exponent * kLogOfTwo + log(product);
    }

  private:
    // How far it is to so many rows of this warp further on, of which each is shorter than the last.
    static __device__ __forceinline__ int ahead(int far, int rows) {
        return rows * far - rows * (rows - 1) / 2 * kWarps * kWarps;
    }
};

// The expectation over pairs whose first item is one of `from` to `to`; `codes`, `curvature` and, where it is kept,
// `posterior` begin with pair `base`.
template <bool kKeep, typename ByPattern>
__global__ void __launch_bounds__(kThreads, 3)
walk(Long items, Long from, Long to, Long base, Long height, const Byte* codes, Long holes, Long patterns,
     const double* ratio, const double* up, float* curvature, double* posterior, double by_gradient, double by_degree, double by_pattern, Long* gradient, Long* degree, Long* pattern_sums, double* values) {
    constexpr int kWidth = kLanes * ByPattern::kColumns;
    extern __shared__ double table[];
    const int left = blockIdx.x * kWidth, top = static_cast<int>(from + blockIdx.y * height);
    const int bottom = static_cast<int>(min(min(top + height, to), min(left + kWidth - 1ll, items - 1)));
    double* value = values + (static_cast<Long>(blockIdx.y) * gridDim.x + blockIdx.x);
    if (top >= bottom) {
        if (threadIdx.x == 0) *value = 0.0;
        return;
    }
    const int kinds = static_cast<int>(patterns) + 1;
    auto* by_thread = reinterpret_cast<typename ByPattern::Sum*>(table + kinds * kCopies);
    for (int k = threadIdx.x; k < kinds * kThreads; k += kThreads) by_thread[k] = 0;
    for (int k = threadIdx.x; k < kinds * kCopies; k += kThreads)
        table[k] = k / kCopies < patterns ? ratio[k / kCopies] : 1.0;
    __syncthreads();
    const Tile tile{static_cast<int>(items), left, bottom, static_cast<int>(threadIdx.x) % kLanes};
    const Walk<ByPattern> pass{tile, top, base, codes, static_cast<int>(patterns), table, by_thread, up, up + items,
                               curvature, posterior, ByItem{gradient, degree, by_gradient, by_degree}};
    const bool whole = left >= bottom && left + kWidth <= items && (bottom - top) % (kRows * kWarps) == 0;
    const double own = !whole  ? pass.template run<kKeep, true, true>()
                       : holes ? pass.template run<kKeep, false, true>()
                               : pass.template run<kKeep, false, false>();
    const double sum = block_sum(own);
    if (threadIdx.x == 0) *value = sum;
    for (int k = threadIdx.x / kLanes; k < patterns; k += kWarps) {
        double part = 0.0;
        for (int t = tile.lane; t < kThreads; t += kLanes) part += ByPattern::value(by_thread[k * kThreads + t]);
        part = warp_sum(part);
        if (tile.lane == 0) add(pattern_sums + k, fixed(part, by_pattern));
    }
}

// The curvature matrix times a vector, for the same pairs. A warp has four rows in hand, so that loads seldom wait.
extern "C" __global__ void __launch_bounds__(kThreads)
walk_times(Long items, Long from, Long to, Long base, Long height, const float* __restrict__ curvature,
           const double* __restrict__ vector, const double* scale_and_done, Long* product) {
    constexpr int kInHand = 4, kColumns = 6, kWidth = kLanes * kColumns;
    if (scale_and_done[1] != 0.0) return;
    const double scale = scale_and_done[0];
    const int left = blockIdx.x * kWidth, top = static_cast<int>(from + blockIdx.y * height);
    const int bottom = static_cast<int>(min(min(top + height, to), min(left + kWidth - 1ll, items - 1)));
    if (top >= bottom) return;
    const Tile tile{static_cast<int>(items), left, bottom, static_cast<int>(threadIdx.x) % kLanes};
    double own[kColumns], sum[kColumns];
#pragma unroll
    for (int c = 0; c < kColumns; ++c) {
        own[c] = tile.column(c) < items ? vector[tile.column(c)] : 0.0;
        sum[c] = 0.0;
    }
    for (int first = top + threadIdx.x / kLanes; first < bottom; first += kInHand * kWarps) {
        float curved[kInHand][kColumns];
        double entry[kInHand], row_sum[kInHand];
#pragma unroll
        for (int r = 0; r < kInHand; ++r) {
            const int item = first + r * kWarps;
            const float* row = curvature + (start_of(items, item) - item - 1 + left + tile.lane - base);
#pragma unroll
            for (int c = 0; c < kColumns; ++c) curved[r][c] = tile.inside(item, c) ? row[c * kLanes] : 0.0f;
            entry[r] = vector[min(item, tile.items - 1)];
        }
#pragma unroll
        for (int r = 0; r < kInHand; ++r) {
            row_sum[r] = 0.0;
#pragma unroll
            for (int c = 0; c < kColumns; ++c) {
                const double flow = curved[r][c] * (entry[r] - own[c]);
                row_sum[r] += flow;
                sum[c] -= flow;
            }
        }
        const double mine = four_sums(row_sum);
        const int item = first + tile.lane / 8 * kWarps;
        if (tile.lane % 8 == 0 && item < bottom) add(product + item, fixed(mine, scale));
    }
#pragma unroll
    for (int c = 0; c < kColumns; ++c)
        if (tile.column(c) < items) add(product + tile.column(c), fixed(sum[c], scale));
}

// Puts the codes of rows into their cells; the others keep what is there.
template <typename Second>
__global__ void to_cells(Long items, Long base, Long count, const Long* start, const Second* second, const Byte* codes,
                         Long cell_base, Byte* cells) {
    const Long at = static_cast<Long>(blockIdx.x) * blockDim.x + threadIdx.x, row = base + min(at, count - 1);
    int one = 0, other;
    Layout<Second>{items, base, start, second}.of(row, one, other);
    if (at < count) cells[cell(items, one, other, cell_base)] = codes[at];
}

// Fetches the curvature of rows from their cells.
template <typename Second>
__global__ void from_cells(Long items, Long base, Long count, const Long* start, const Second* second, Long cell_base,
                           const float* cells, float* curvature) {
    const Long at = static_cast<Long>(blockIdx.x) * blockDim.x + threadIdx.x, row = base + min(at, count - 1);
    int one = 0, other;
    Layout<Second>{items, base, start, second}.of(row, one, other);
    if (at < count) curvature[at] = cells[cell(items, one, other, cell_base)];
}
