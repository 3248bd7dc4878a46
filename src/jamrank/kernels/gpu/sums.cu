// What all kernels share: sums that are the same in whatever order they are added, and the items of a row.
//
// Sums over rows are kept as integers, multiples of a power of two that the host chooses from what they can amount to at
// most: integers may be added in any order, so that atomic additions leave results that do not change from run to run.
// What threads add up on their own before that is double, in an order that the layout of the rows fixes.

typedef long long Long;
typedef unsigned long long ULong;
typedef unsigned short Near;  // second items, where two bytes can number them
typedef unsigned char Byte;   // patterns, where there are few

constexpr unsigned kFull = 0xffffffffu;
constexpr double kLargestMargin = 700.0;
constexpr double kLeastCurvature = 0.1;
constexpr double kLogOfTwo = 0.693147180559945309417;

__device__ __forceinline__ Long fixed(double value, double scale) { return __double2ll_rn(value * scale); }

__device__ __forceinline__ void add(Long* sum, Long value) {
    atomicAdd(reinterpret_cast<ULong*>(sum), static_cast<ULong>(value));
}

template <typename Number>
__device__ __forceinline__ Number warp_sum(Number value) {
    for (int step = 16; step; step /= 2) value += __shfl_xor_sync(kFull, value, step);
    return value;
}

// The sum over a block, for its first thread. Blocks have at most 256 threads.
__device__ inline double block_sum(double value) {
    __shared__ double by_warp[8];
    value = warp_sum(value);
    __syncthreads();
    if (threadIdx.x % 32 == 0) by_warp[threadIdx.x / 32] = value;
    __syncthreads();
    double sum = 0.0;
    for (int warp = 0; warp < blockDim.x / 32; ++warp) sum += by_warp[warp];
    return sum;
}

// 1 / x for an x that is neither very small nor very large: the GPU's approximation of some 20 bits, refined to three times
// as many, or to twice as many.
__device__ __forceinline__ double guessed_reciprocal(double x) {
    double guess;
    asm("rcp.approx.ftz.f64 %0, %1;" : "=d"(guess) : "d"(x));
    return guess;
}
__device__ __forceinline__ double reciprocal(double x) {
    const double guess = guessed_reciprocal(x), off = fma(-x, guess, 1.0);
    return fma(guess, fma(off, off, off), guess);
}
__device__ __forceinline__ double rough_reciprocal(double x) {
    const double guess = guessed_reciprocal(x);
    return fma(guess, fma(-x, guess, 1.0), guess);
}

// A sum of logarithms as the logarithm of a product, whose exponent is split off before it grows too large.
struct LogSum {
    double product = 1.0;
    Long exponent = 0;

    // `factor` must be a positive number that is not subnormal.
    __device__ void times(double factor) {
        product *= factor;
        exponent += (__double2hiint(product) >> 20) - 1023;
        product = __hiloint2double((__double2hiint(product) & 0xfffff) | 0x3ff00000, __double2loint(product));
    }
    __device__ double value() const { return exponent * kLogOfTwo + log(product); }
};

// Sums by kind of vote or pattern: in shared memory while there is room, as two words for want of wider additions there.
struct Tally {
    unsigned* words;
    Long* sums;
    int kinds;
    bool here;

    __device__ void clear() {
        if (!here) return;
        for (int k = threadIdx.x; k < 2 * kinds; k += blockDim.x) words[k] = 0;
        __syncthreads();
    }
    __device__ void add(int kind, Long value) {
        if (!here) return ::add(sums + kind, value);
        const unsigned low = static_cast<unsigned>(value), before = atomicAdd(words + kind, low);
        const unsigned high = static_cast<unsigned>(value >> 32) + (before + low < before);
        if (high) atomicAdd(words + kinds + kind, high);
    }
    __device__ void hand_over() {
        if (!here) return;
        __syncthreads();
        for (int k = threadIdx.x; k < kinds; k += blockDim.x) {
            const ULong value = static_cast<ULong>(words[kinds + k]) << 32 | words[k];
            if (value) ::add(sums + k, static_cast<Long>(value));
        }
    }
};

// The first row of an item among all pairs.
__device__ __forceinline__ Long start_of(Long items, Long item) { return item * items - item * (item + 1) / 2; }

// Rows sorted by first item, as jamrank.rows lays them out: those of item i are start[i] to start[i + 1]; without `start`
// they are all pairs. `second` has the rows from `base` on.
template <typename Second>
struct Layout {
    Long items, base;
    const Long* start;
    const Second* second;

    // `first` must be 0 or the first item of an earlier row, which is mostly that of this one too.
    __device__ void of(Long row, int& first, int& other) const {
        if (!start) {
            const double wide = 2.0 * items - 1.0;
            Long item = static_cast<Long>((wide - sqrt(fmax(wide * wide - 8.0 * row, 0.0))) / 2.0);
            item = max(0ll, min(item, items - 2));
            while (start_of(items, item) > row) --item;
            while (start_of(items, item + 1) <= row) ++item;
            first = static_cast<int>(item);
            other = static_cast<int>(item + 1 + row - start_of(items, item));
            return;
        }
        if (start[first + 1] <= row) first = search(first, row);
        other = second[row - base];
    }

  private:
    __device__ int search(int low, Long row) const {
        int high = static_cast<int>(items);
        while (high - low > 1) {
            const int middle = (low + high) / 2;
            (start[middle] <= row ? low : high) = middle;
        }
        return low;
    }
};

// Where the cell of a pair lies, among all pairs from `base` on.
__device__ __forceinline__ Long cell(Long items, int first, int second, Long base) {
    return start_of(items, first) + second - first - 1 - base;
}

// The curvature of links: one after the other or, with `cells`, in the cells of all pairs from that one on.
struct Curvature {
    float* values;
    Long items, cells;

    __device__ void put(Long at, int first, int second, double value) const {
        if (values) values[cells < 0 ? at : cell(items, first, second, cells)] = static_cast<float>(value);
    }
};

// Adds what a row says to the sums of its items. Every thread of a warp must call; those of one first item add up first.
struct ByItem {
    Long* gradient;
    Long* degree;
    double by_gradient, by_degree;

    __device__ void add(bool live, int first, int second, double slope, double bend) const {
        Long up = live ? fixed(slope, by_gradient) : 0, curved = live ? fixed(bend, by_degree) : 0;
        if (live) {
            ::add(gradient + second, -up);
            if (degree) ::add(degree + second, curved);
        }
        const int leader = __shfl_sync(kFull, first, 0);
        if (__all_sync(kFull, first == leader)) {
            up = warp_sum(up);
            curved = warp_sum(curved);
            live = threadIdx.x % 32 == 0;
        }
        if (!live) return;
        ::add(gradient + first, up);
        if (degree) ::add(degree + first, curved);
    }
};

// Probabilities, but for their sum, that either item is better; their sum is 1 + `least`.
struct Prior {
    double first, second, least;

    __device__ explicit Prior(double margin) {
        margin = fmin(fmax(margin, -kLargestMargin), kLargestMargin);
        least = exp(-fabs(margin));
        first = margin >= 0.0 ? 1.0 : least;
        second = margin >= 0.0 ? least : 1.0;
    }
};

// The likelihoods of a row's list of votes under either truth, over the larger of them: one of the two is 1. `tables` has
// the log-likelihoods of each kind of vote.
struct OfList {
    double log_largest, if_first, if_second;

    __device__ OfList(Long from, Long to, const int* vote, const double* vote_weight, const double* tables) {
        double log_first = 0.0, log_second = 0.0;
        for (Long v = from; v < to; ++v) {
            const double times = vote_weight ? vote_weight[v] : 1.0;
            log_second += times * tables[2 * vote[v]];
            log_first += times * tables[2 * vote[v] + 1];
        }
        log_largest = fmax(log_first, log_second);
        const double least = exp(-fabs(log_first - log_second));
        if_first = log_first == log_largest ? 1.0 : least;
        if_second = log_second == log_largest ? 1.0 : least;
    }
};
