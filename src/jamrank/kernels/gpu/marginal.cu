// Passes in which the margin of each row is integrated out, a thread or a warp for each link: the same mathematics as in
// jamrank/kernels/twin/marginal.py.

constexpr double kEighthOfPi = 0.39269908169872414154;
// Newton's method ends where the square of the last step is lost in rounding.
constexpr double kSolved = 1e-12;
constexpr int kMostSteps = 12;

// The margin of a link, without a row's own part normal with a variance: mean and variances, scaled.
struct Margin {
    double mean, scale, of_first, spread;

    __device__ Margin(const double* scores, const double* variance, int one, int other) {
        const double squared = reciprocal(1.0 + kEighthOfPi * (variance[one] + variance[other]));
        scale = sqrt(squared);
        mean = scale * (scores[one] - scores[other]);
        of_first = squared * variance[one];
        spread = of_first + squared * variance[other];
    }
};

// The truth of a row at a scaled margin x: posterior, its distance from the prior, the variance of the prior and how much
// of it the votes take away, likelihood of the votes.
struct Truth {
    double q, pull, held, known, value;

    __device__ Truth(double x, double if_first, double if_second) {
        const Prior prior(x);
        const double joint_first = prior.first * if_first, joint = joint_first + prior.second * if_second;
        const double share = reciprocal(1.0 + prior.least);
        q = fmin(joint_first * reciprocal(joint), 1.0);
        pull = q - prior.first * share;
        held = prior.least * share * share;
        known = held - q * (1.0 - q);
        value = joint * share;
    }
};

// Returns the truth where the margin x and the row's own pull add up to the margin of the scores. A scaled variance is at
// most 8 / pi, and what votes take away is a fourth at most: denominators are between a third and two.
__device__ Truth settled(const Margin& at, double if_first, double if_second) {
    double x = at.mean;
    for (int step = 0; at.spread > 0.0 && step < kMostSteps; ++step) {
        const Truth truth(x, if_first, if_second);
        const double moved = (x + at.spread * truth.pull - at.mean) * rough_reciprocal(1.0 - at.spread * truth.known);
        x -= moved;
        if (moved * moved <= kSolved) break;
    }
    return Truth(x, if_first, if_second);
}

// What the rows on a link say of its margin.
struct Linked {
    double pull = 0.0, held = 0.0, bend = 0.0, on_first = 0.0, on_second = 0.0;

    // `each`: what votes leave open of a truth is kept from winning row by row, not only over all rows of a link.
    __device__ void add(const Margin& at, const Truth& truth, double times, bool each) {
        const double known = truth.known, own = known * reciprocal(1.0 - at.spread * known);
        pull += times * truth.pull;
        held += times * truth.held;
        bend += times * (each ? fmax(own, kLeastCurvature * truth.held) : own);
        on_first += times * known * reciprocal(1.0 - at.of_first * known);
        on_second += times * known * reciprocal(1.0 - (at.spread - at.of_first) * known);
    }
    __device__ void add_up_warp() {
        pull = warp_sum(pull);
        held = warp_sum(held);
        bend = warp_sum(bend);
        on_first = warp_sum(on_first);
        on_second = warp_sum(on_second);
    }
};

// Where what links say goes. Every thread of a warp must call `add`; links of one first item add up before.
struct Places {
    ByItem sums;
    Curvature bends;
    Long* observed;

    __device__ void add(bool live, Long at, int one, int other, const Margin& margin, const Linked& linked) const {
        const double squared = margin.scale * margin.scale;
        const double curved = squared * fmax(linked.bend, kLeastCurvature * linked.held);
        if (live) bends.put(at, one, other, curved);
        sums.add(live, one, other, margin.scale * linked.pull, curved);
        if (live) ::add(observed + other, fixed(squared * linked.on_second, sums.by_degree));
        Long own = live ? fixed(squared * linked.on_first, sums.by_degree) : 0;
        if (__all_sync(kFull, one == __shfl_sync(kFull, one, 0))) {
            own = warp_sum(own);
            live = threadIdx.x % 32 == 0;
        }
        if (live) ::add(observed + one, own);
    }
};

// Rows that are single votes, as in over_votes (rows.cu).
template <typename Second, typename Code>
__global__ void marginal_votes(Long items, Long base, Long count, Long chunk, const Long* start, const Second* second,
                               const Long* begin, Long vote_base, Long group, Long each, const Code* kind,
                               const double* weight, const double* if_first, const double* if_second,
                               const double* scores, const double* variance, float* curvature, Long cells,
                               double by_gradient, double by_degree, double by_kind, Long kinds, Long here, Long* gradient,
                               Long* degree, Long* observed, Long* kind_sums, double* values) {
    extern __shared__ unsigned words[];
    const Layout<Second> layout{items, base, start, second};
    const Places sums{{gradient, degree, by_gradient, by_degree}, {curvature, items, cells}, observed};
    Tally tally{words, kind_sums, static_cast<int>(kinds), here != 0};
    tally.clear();
    const Long first_link = blockIdx.x * chunk, end = min(first_link + chunk, count);
    const Long own = threadIdx.x / group, step = blockDim.x / group;
    double value = 0.0;
    LogSum logs;
    int one = 0, other;
    for (Long link = first_link; link < end; link += step) {
        const Long at = min(link + own, end - 1);
        const bool live = link + own < end;
        layout.of(base + at, one, other);
        const Margin margin(scores, variance, one, other);
        const Long from = begin ? begin[at] - vote_base : at, to = begin ? begin[at + 1] - vote_base : at + 1;
        Linked linked;
        for (Long v = from + threadIdx.x % group; live && v < to; v += group) {
            const double times = weight ? weight[v] : 1.0;
            const Truth truth = settled(margin, if_first ? if_first[kind[v]] : 1.0, if_second[kind[v]]);
            linked.add(margin, truth, times, each != 0);
            value += times * 0.5 * margin.spread * truth.pull * truth.pull;
            if (times == 1.0)
                logs.times(truth.value);
            else
                value += times * log(truth.value);
            tally.add(kind[v], fixed(times * truth.q, by_kind));
            tally.add(static_cast<int>(kinds / 2) + kind[v], fixed(times * truth.q * (1.0 - truth.q), by_kind));
        }
        if (group == 32) linked.add_up_warp();
        sums.add(live && threadIdx.x % group == 0, at, one, other, margin, linked);
    }
    value = block_sum(value + logs.value());
    if (threadIdx.x == 0) values[blockIdx.x] = value;
    tally.hand_over();
}

// Rows with a list of votes each, as in over_lists (rows.cu). Two tables of sums by kind lie after each other here too.
template <typename Second>
__global__ void marginal_lists(Long items, Long base, Long count, Long chunk, const Long* start, const Second* second,
                               const Long* vote_start, Long vote_base, const int* vote, const double* vote_weight,
                               const double* tables, const double* scores, const double* variance, float* curvature,
                               Long cells, double by_gradient, double by_degree, double by_kind, Long kinds, Long here,
                               Long* gradient, Long* degree, Long* observed, Long* kind_sums, double* values) {
    extern __shared__ unsigned words[];
    const Layout<Second> layout{items, base, start, second};
    const Places sums{{gradient, degree, by_gradient, by_degree}, {curvature, items, cells}, observed};
    Tally tally{words, kind_sums, static_cast<int>(kinds), here != 0};
    tally.clear();
    const Long first_row = blockIdx.x * chunk, end = min(first_row + chunk, count);
    double value = 0.0;
    LogSum logs;
    int one = 0, other;
    for (Long begin = first_row; begin < end; begin += blockDim.x) {
        const Long at = min(begin + threadIdx.x, end - 1);
        const bool live = begin + threadIdx.x < end;
        layout.of(base + at, one, other);
        const Long from = vote_start[at] - vote_base, to = vote_start[at + 1] - vote_base;
        const OfList likely(from, to, vote, vote_weight, tables);
        const Margin margin(scores, variance, one, other);
        const Truth truth = settled(margin, likely.if_first, likely.if_second);
        Linked linked;
        linked.add(margin, truth, 1.0, false);
        sums.add(live, at, one, other, margin, linked);
        if (!live) continue;
        logs.times(truth.value);
        value += likely.log_largest + 0.5 * margin.spread * truth.pull * truth.pull;
        for (Long v = from; v < to; ++v) {
            const double times = vote_weight ? vote_weight[v] : 1.0;
            tally.add(vote[v], fixed(times * truth.q, by_kind));
            tally.add(static_cast<int>(kinds / 2) + vote[v], fixed(times * truth.q * (1.0 - truth.q), by_kind));
        }
    }
    value = block_sum(value + logs.value());
    if (threadIdx.x == 0) values[blockIdx.x] = value;
    tally.hand_over();
}
