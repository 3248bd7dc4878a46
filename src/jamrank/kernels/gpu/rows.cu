// Passes over rows of any kind, a thread for each row or link: the same mathematics as in jamrank/kernels/twin.py.
//
// A block has `chunk` rows that follow each other. Sums are wanted where there is a gradient; else only the posterior.

struct Span {
    Long at, end;
    __device__ Span(Long count, Long chunk) {
        at = blockIdx.x * chunk;
        end = min(at + chunk, count);
    }
};

template <typename Second, typename Code>
__global__ void over_patterns(Long items, Long base, Long count, Long chunk, const Long* start, const Second* second,
                              const Code* codes, const double* weight, const double* if_first, const double* if_second,
                              const double* scores, double* posterior, float* curvature, double by_gradient,
                              double by_degree, double by_kind, Long kinds, Long here, Long* gradient, Long* degree,
                              Long* kind_sums, double* values) {
    extern __shared__ unsigned words[];
    const Layout<Second> layout{items, base, start, second};
    const ByItem sums{gradient, degree, by_gradient, by_degree};
    Tally tally{words, kind_sums, static_cast<int>(kinds), here != 0};
    if (gradient) tally.clear();
    const Span span(count, chunk);
    double value = 0.0;
    for (Long begin = span.at; begin < span.end; begin += blockDim.x) {
        const Long at = min(begin + threadIdx.x, span.end - 1);
        const bool live = begin + threadIdx.x < span.end;
        int one, other;
        layout.of(base + at, one, other);
        const int kind = codes[at];
        const double times = weight ? weight[at] : 1.0;
        const Prior prior(scores[one] - scores[other]);
        const double joint_first = prior.first * (if_first ? if_first[kind] : 1.0);
        const double joint = joint_first + prior.second * if_second[kind], total = 1.0 + prior.least;
        const double q = joint_first / joint, bend = prior.least / (total * total);
        if (posterior && live) posterior[at] = q;
        if (!gradient) continue;
        const double curved = times * fmax(bend - q * (1.0 - q), kLeastCurvature * bend);
        if (curvature && live) curvature[at] = static_cast<float>(curved);
        sums.add(live, one, other, times * (q - prior.first / total), curved);
        if (live) {
            value += times * log(joint / total);
            tally.add(kind, fixed(times * q, by_kind));
        }
    }
    if (!gradient) return;
    value = block_sum(value);
    if (threadIdx.x == 0) values[blockIdx.x] = value;
    tally.hand_over();
}

template <typename Second>
__global__ void over_lists(Long items, Long base, Long count, Long chunk, const Long* start, const Second* second,
                           const Long* vote_start, Long vote_base, const int* vote, const double* vote_weight,
                           const double* tables, const double* scores, double* posterior, float* curvature,
                           double by_gradient, double by_degree, double by_kind, Long kinds, Long here, Long* gradient,
                           Long* degree, Long* kind_sums, double* values) {
    extern __shared__ unsigned words[];
    const Layout<Second> layout{items, base, start, second};
    const ByItem sums{gradient, degree, by_gradient, by_degree};
    Tally tally{words, kind_sums, static_cast<int>(kinds), here != 0};
    if (gradient) tally.clear();
    const Span span(count, chunk);
    double value = 0.0;
    for (Long begin = span.at; begin < span.end; begin += blockDim.x) {
        const Long at = min(begin + threadIdx.x, span.end - 1);
        const bool live = begin + threadIdx.x < span.end;
        int one, other;
        layout.of(base + at, one, other);
        const Long from = vote_start[at] - vote_base, to = vote_start[at + 1] - vote_base;
        double log_first = 0.0, log_second = 0.0;
        for (Long v = from; v < to; ++v) {
            const double times = vote_weight ? vote_weight[v] : 1.0;
            log_second += times * tables[2 * vote[v]];
            log_first += times * tables[2 * vote[v] + 1];
        }
        const double largest = fmax(log_first, log_second);
        const Prior prior(scores[one] - scores[other]);
        const double joint_first = prior.first * exp(log_first - largest);
        const double joint = joint_first + prior.second * exp(log_second - largest), total = 1.0 + prior.least;
        const double q = joint_first / joint, bend = prior.least / (total * total);
        if (posterior && live) posterior[at] = q;
        if (!gradient) continue;
        const double curved = fmax(bend - q * (1.0 - q), kLeastCurvature * bend);
        if (curvature && live) curvature[at] = static_cast<float>(curved);
        sums.add(live, one, other, q - prior.first / total, curved);
        if (!live) continue;
        value += log(joint / total) + largest;
        for (Long v = from; v < to; ++v)
            tally.add(vote[v], fixed(vote_weight ? vote_weight[v] * q : q, by_kind));
    }
    if (!gradient) return;
    value = block_sum(value);
    if (threadIdx.x == 0) values[blockIdx.x] = value;
    tally.hand_over();
}

// What the votes on a link add up to, each of them `times` what it says.
struct Linked {
    double value = 0.0, slope = 0.0, bend = 0.0, cast = 0.0;
};

// A vote that reports on a hidden truth of its own.
struct OfTruth {
    const double* if_first;
    const double* if_second;
    double better, worse;

    __device__ OfTruth(const double* if_first, const double* if_second, double margin)
        : if_first(if_first), if_second(if_second) {
        const Prior prior(margin);
        better = prior.first / (1.0 + prior.least);
        worse = prior.second / (1.0 + prior.least);
    }
    // Returns what is added up by kind: the posterior, and what it leaves open.
    __device__ double2 say(int kind, double times, Linked& sums, double& q) const {
        const double joint_first = better * (if_first ? if_first[kind] : 1.0);
        const double joint = joint_first + worse * if_second[kind];
        q = fmin(joint_first / joint, 1.0);
        const double open = q * (1.0 - q);
        sums.value += times * log(joint);
        sums.slope += times * (q - better);
        sums.bend += times * open;
        sums.cast += times;
        return {times * q, times * open};
    }
    __device__ double curvature(const Linked& sums) const {
        // What the votes leave open of the truth bends the likelihood the other way; never let it win.
        const double most = sums.cast * better * worse;
        return fmax(most - sums.bend, kLeastCurvature * most);
    }
    static __device__ int place(int kind) { return kind; }
};

// A vote whose log-odds depend on the margin and a parameter of its confusion group: whether the first item is better, or it is a tie.
template <bool kTie>
struct OfMargin {
    const double* params;
    double margin;

    __device__ OfMargin(const double* params, const double*, double margin)
        : params(params), margin(fmin(fmax(margin, -kLargestMargin), kLargestMargin)) {}
    // Returns what is added up by confusion group: the derivative in its parameter, and the information on it.
    __device__ double2 say(int kind, double times, Linked& sums, double&) const {
        const double param = params[kind / 2], said = kind % 2;
        double odds = param * margin, by_margin = param, by_param = margin;
        if (kTie) {
            const double least = exp(-fabs(margin));
            odds = param - (fabs(margin) / 2 + log1p(least) - kLogOfTwo);
            by_margin = copysign((1.0 - least) / (1.0 + least) / 2, -margin);
            by_param = 1.0;
        }
        odds = fmin(fmax(odds, -kLargestMargin), kLargestMargin);
        const double e = exp(-fabs(odds)), yes = (odds >= 0.0 ? 1.0 : e) / (1.0 + e);
        const double rest = said - yes, spread = e / ((1.0 + e) * (1.0 + e));
        sums.value += times * (-log1p(e) - fmax(said > 0.5 ? -odds : odds, 0.0));
        sums.slope += times * rest * by_margin;
        sums.bend += times * spread * by_margin * by_margin;
        return {times * rest * by_param, times * spread * by_param * by_param};
    }
    __device__ double curvature(const Linked& sums) const { return sums.bend; }
    static __device__ int place(int kind) { return kind / 2; }
};

// Rows that are single votes, on links between items: a thread, or a warp (`group` of 32), for each link. Those of link l
// are begin[l] to begin[l + 1]; without `begin` there is one on each. Two tables of sums by kind lie after each other.
template <typename Second, typename Code, typename Vote>
__global__ void over_votes(Long items, Long base, Long count, Long chunk, const Long* start, const Second* second,
                           const Long* begin, Long vote_base, Long group, const Code* kind, const double* weight,
                           const double* if_first, const double* if_second, const double* scores, double* posterior,
                           float* curvature, double by_gradient, double by_degree, double by_kind, Long kinds, Long here,
                           Long* gradient, Long* degree, Long* kind_sums, double* values) {
    extern __shared__ unsigned words[];
    const Layout<Second> layout{items, base, start, second};
    const ByItem sums{gradient, degree, by_gradient, by_degree};
    Tally tally{words, kind_sums, static_cast<int>(2 * kinds), here != 0};
    if (gradient) tally.clear();
    const Span span(count, chunk);
    const Long own = threadIdx.x / group, step = blockDim.x / group;
    double value = 0.0;
    for (Long link = span.at; link < span.end; link += step) {
        const Long at = min(link + own, span.end - 1);
        const bool live = link + own < span.end;
        int one, other;
        layout.of(base + at, one, other);
        const Vote vote(if_first, if_second, scores[one] - scores[other]);
        const Long from = begin ? begin[at] - vote_base : at, to = begin ? begin[at + 1] - vote_base : at + 1;
        Linked linked;
        for (Long v = from + threadIdx.x % group; live && v < to; v += group) {
            double q = 0.0;
            const double2 said = vote.say(kind[v], weight ? weight[v] : 1.0, linked, q);
            if (posterior) posterior[v] = q;
            if (!gradient) continue;
            tally.add(Vote::place(kind[v]), fixed(said.x, by_kind));
            tally.add(kinds + Vote::place(kind[v]), fixed(said.y, by_kind));
        }
        if (!gradient) continue;
        value += linked.value;
        if (group == 32) {
            linked.slope = warp_sum(linked.slope);
            linked.bend = warp_sum(linked.bend);
            linked.cast = warp_sum(linked.cast);
        }
        const bool speaks = live && threadIdx.x % group == 0;
        const double curved = vote.curvature(linked);
        if (curvature && speaks) curvature[at] = static_cast<float>(curved);
        sums.add(speaks, one, other, linked.slope, curved);
    }
    if (!gradient) return;
    value = block_sum(value);
    if (threadIdx.x == 0) values[blockIdx.x] = value;
    tally.hand_over();
}

// The M-step's pass, with a posterior for each row or, with codes, for each pattern.
template <typename Second, typename Code>
__global__ void maximise(Long items, Long base, Long count, Long chunk, const Long* start, const Second* second,
                         const Code* codes, const double* weight, const double* posterior, const double* scores,
                         float* curvature, double by_gradient, double by_degree, Long* gradient, Long* degree,
                         double* values) {
    const Layout<Second> layout{items, base, start, second};
    const ByItem sums{gradient, degree, by_gradient, by_degree};
    const Span span(count, chunk);
    double value = 0.0;
    for (Long begin = span.at; begin < span.end; begin += blockDim.x) {
        const Long at = min(begin + threadIdx.x, span.end - 1);
        const bool live = begin + threadIdx.x < span.end;
        int one, other;
        layout.of(base + at, one, other);
        const double q = posterior[codes ? static_cast<Long>(codes[at]) : at], times = weight ? weight[at] : 1.0;
        const double margin = fmin(fmax(scores[one] - scores[other], -kLargestMargin), kLargestMargin);
        const Prior prior(margin);
        const double total = 1.0 + prior.least, curved = times * prior.least / (total * total);
        if (live) {
            curvature[at] = static_cast<float>(curved);
            value += times * (-log1p(prior.least) - (margin >= 0.0 ? (1.0 - q) * margin : -q * margin));
        }
        sums.add(live, one, other, times * (q - prior.first / total), curved);
    }
    value = block_sum(value);
    if (threadIdx.x == 0) values[blockIdx.x] = value;
}

// The curvature matrix times a vector.
template <typename Second>
__global__ void rows_times(Long items, Long base, Long count, Long chunk, const Long* start, const Second* second,
                           const float* curvature, const double* vector, const double* scale_and_done, Long* product) {
    if (scale_and_done[1] != 0.0) return;
    const double scale = scale_and_done[0];
    const Layout<Second> layout{items, base, start, second};
    const ByItem sums{product, nullptr, scale, 0.0};
    const Span span(count, chunk);
    for (Long begin = span.at; begin < span.end; begin += blockDim.x) {
        const Long at = min(begin + threadIdx.x, span.end - 1);
        int one, other;
        layout.of(base + at, one, other);
        sums.add(begin + threadIdx.x < span.end, one, other, curvature[at] * (vector[one] - vector[other]), 0.0);
    }
}

// How many rows have each code.
template <typename Code>
__global__ void count_codes(Long count, Long chunk, const Code* codes, Long kinds, Long here, Long* sums) {
    extern __shared__ unsigned words[];
    Tally tally{words, sums, static_cast<int>(kinds), here != 0};
    tally.clear();
    const Span span(count, chunk);
    for (Long at = span.at + threadIdx.x; at < span.end; at += blockDim.x) tally.add(codes[at], 1);
    tally.hand_over();
}
