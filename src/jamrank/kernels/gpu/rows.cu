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
                              const double* scores, double* posterior, float* curvature, Long cells,
                              double by_gradient, double by_degree, double by_kind, Long kinds, Long here, Long* gradient, Long* degree,
                              Long* kind_sums, double* values) {
    extern __shared__ unsigned words[];
    const Layout<Second> layout{items, base, start, second};
    const ByItem sums{gradient, degree, by_gradient, by_degree};
    const Curvature bends{curvature, items, cells};
    Tally tally{words, kind_sums, static_cast<int>(kinds), here != 0};
    if (gradient) tally.clear();
    const Span span(count, chunk);
    double value = 0.0;
    LogSum logs;
    int one = 0, other;
    for (Long begin = span.at; begin < span.end; begin += blockDim.x) {
        const Long at = min(begin + threadIdx.x, span.end - 1);
        const bool live = begin + threadIdx.x < span.end;
        layout.of(base + at, one, other);
        const int kind = codes[at];
        const double times = weight ? weight[at] : 1.0;
        const Prior prior(scores[one] - scores[other]);
        const double joint_first = prior.first * (if_first ? if_first[kind] : 1.0);
        const double joint = joint_first + prior.second * if_second[kind], total = 1.0 + prior.least;
        const double share = reciprocal(total), q = joint_first * reciprocal(joint), bend = prior.least * share * share;
        if (posterior && live) posterior[at] = q;
        if (!gradient) continue;
        const double curved = times * fmax(bend - q * (1.0 - q), kLeastCurvature * bend);
        if (live) bends.put(at, one, other, curved);
        sums.add(live, one, other, times * (q - prior.first * share), curved);
        if (live) {
            if (weight)
                value += times * log(joint * share);
            else
                logs.times(joint * share);
            tally.add(kind, fixed(times * q, by_kind));
        }
    }
    if (!gradient) return;
    value = block_sum(value + logs.value());
    if (threadIdx.x == 0) values[blockIdx.x] = value;
    tally.hand_over();
}

template <typename Second>
__global__ void over_lists(Long items, Long base, Long count, Long chunk, const Long* start, const Second* second,
                           const Long* vote_start, Long vote_base, const int* vote, const double* vote_weight,
                           const double* tables, const double* scores, double* posterior, float* curvature, Long cells,
                           double by_gradient, double by_degree, double by_kind, Long kinds, Long here, Long* gradient,
                           Long* degree, Long* kind_sums, double* values) {
    extern __shared__ unsigned words[];
    const Layout<Second> layout{items, base, start, second};
    const ByItem sums{gradient, degree, by_gradient, by_degree};
    const Curvature bends{curvature, items, cells};
    Tally tally{words, kind_sums, static_cast<int>(kinds), here != 0};
    if (gradient) tally.clear();
    const Span span(count, chunk);
    double value = 0.0;
    LogSum logs;
    int one = 0, other;
    for (Long begin = span.at; begin < span.end; begin += blockDim.x) {
        const Long at = min(begin + threadIdx.x, span.end - 1);
        const bool live = begin + threadIdx.x < span.end;
        layout.of(base + at, one, other);
        const Long from = vote_start[at] - vote_base, to = vote_start[at + 1] - vote_base;
        const OfList likely(from, to, vote, vote_weight, tables);
        const Prior prior(scores[one] - scores[other]);
        const double joint_first = prior.first * likely.if_first;
        const double joint = joint_first + prior.second * likely.if_second, total = 1.0 + prior.least;
        const double share = reciprocal(total), q = joint_first * reciprocal(joint), bend = prior.least * share * share;
        if (posterior && live) posterior[at] = q;
        if (!gradient) continue;
        const double curved = fmax(bend - q * (1.0 - q), kLeastCurvature * bend);
        if (live) bends.put(at, one, other, curved);
        sums.add(live, one, other, q - prior.first * share, curved);
        if (!live) continue;
        logs.times(joint * share);
        value += likely.log_largest;
        for (Long v = from; v < to; ++v)
            tally.add(vote[v], fixed(vote_weight ? vote_weight[v] * q : q, by_kind));
    }
    if (!gradient) return;
    value = block_sum(value + logs.value());
    if (threadIdx.x == 0) values[blockIdx.x] = value;
    tally.hand_over();
}

// What the votes on a link add up to, each of them `times` what it says.
struct Linked {
    double slope = 0.0, bend = 0.0, cast = 0.0;
};

// What they add up to over all links.
struct Value {
    double sum = 0.0;
    LogSum logs;
};

// A vote that reports on a hidden truth of its own.
struct OfTruth {
    const double* if_first;
    const double* if_second;
    bool each;  // whether what a vote leaves open is kept from winning, below, vote by vote
    double better, worse;

    __device__ OfTruth(const double* if_first, const double* if_second, bool each, double margin)
        : if_first(if_first), if_second(if_second), each(each) {
        const Prior prior(margin);
        const double share = reciprocal(1.0 + prior.least);
        better = prior.first * share;
        worse = prior.second * share;
    }
    // Returns what is added up by kind: the posterior, and what it leaves open.
    __device__ double2 say(int kind, double times, Linked& sums, Value& value, double& q) const {
        const double joint_first = better * (if_first ? if_first[kind] : 1.0);
        const double joint = joint_first + worse * if_second[kind];
        q = fmin(joint_first * reciprocal(joint), 1.0);
        const double open = q * (1.0 - q);
        if (times == 1.0)
            value.logs.times(joint);
        else
            value.sum += times * log(joint);
        sums.slope += times * (q - better);
        sums.bend += times * (each ? kept(better * worse, open) : open);
        sums.cast += times;
        return {times * q, times * open};
    }
    __device__ double curvature(const Linked& sums) const {
        return each ? sums.bend : kept(sums.cast * better * worse, sums.bend);
    }
    // What the votes leave open of the truth bends the likelihood the other way; never let it win.
    static __device__ double kept(double most, double open) { return fmax(most - open, kLeastCurvature * most); }
    static __device__ int place(int kind) { return kind; }
};

// A vote whose log-odds depend on the margin and a parameter of its confusion group: whether the first item is better, or it is a tie.
template <bool kTie>
struct OfMargin {
    const double* params;
    double margin;

    __device__ OfMargin(const double* params, const double*, bool, double margin)
        : params(params), margin(fmin(fmax(margin, -kLargestMargin), kLargestMargin)) {}
    // Returns what is added up by confusion group: the derivative in its parameter, and the information on it.
    __device__ double2 say(int kind, double times, Linked& sums, Value& value, double&) const {
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
        value.sum += times * (-log1p(e) - fmax(said > 0.5 ? -odds : odds, 0.0));
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
                           const Long* begin, Long vote_base, Long group, Long each, const Code* kind, const double* weight,
                           const double* if_first, const double* if_second, const double* scores, double* posterior,
                           float* curvature, Long cells, double by_gradient, double by_degree, double by_kind, Long kinds, Long here,
                           Long* gradient, Long* degree, Long* kind_sums, double* values) {
    extern __shared__ unsigned words[];
    const Layout<Second> layout{items, base, start, second};
    const ByItem sums{gradient, degree, by_gradient, by_degree};
    const Curvature bends{curvature, items, cells};
    Tally tally{words, kind_sums, static_cast<int>(2 * kinds), here != 0};
    if (gradient) tally.clear();
    const Span span(count, chunk);
    const Long own = threadIdx.x / group, step = blockDim.x / group;
    Value value;
    int one = 0, other;
    for (Long link = span.at; link < span.end; link += step) {
        const Long at = min(link + own, span.end - 1);
        const bool live = link + own < span.end;
        layout.of(base + at, one, other);
        const Vote vote(if_first, if_second, each != 0, scores[one] - scores[other]);
        const Long from = begin ? begin[at] - vote_base : at, to = begin ? begin[at + 1] - vote_base : at + 1;
        Linked linked;
        for (Long v = from + threadIdx.x % group; live && v < to; v += group) {
            double q = 0.0;
            const double2 said = vote.say(kind[v], weight ? weight[v] : 1.0, linked, value, q);
            if (posterior) posterior[v] = q;
            if (!gradient) continue;
            tally.add(Vote::place(kind[v]), fixed(said.x, by_kind));
            tally.add(kinds + Vote::place(kind[v]), fixed(said.y, by_kind));
        }
        if (!gradient) continue;
        if (group == 32) {
            linked.slope = warp_sum(linked.slope);
            linked.bend = warp_sum(linked.bend);
            linked.cast = warp_sum(linked.cast);
        }
        const bool speaks = live && threadIdx.x % group == 0;
        const double curved = vote.curvature(linked);
        if (speaks) bends.put(at, one, other, curved);
        sums.add(speaks, one, other, linked.slope, curved);
    }
    if (!gradient) return;
    const double sum = block_sum(value.sum + value.logs.value());
    if (threadIdx.x == 0) values[blockIdx.x] = sum;
    tally.hand_over();
}

// The M-step's pass, with a posterior for each row or, with codes, for each pattern.
template <typename Second, typename Code>
__global__ void maximise(Long items, Long base, Long count, Long chunk, const Long* start, const Second* second,
                         const Code* codes, const double* weight, const double* posterior, const double* scores,
                         float* curvature, Long cells, double by_gradient, double by_degree, Long* gradient, Long* degree,
                         double* values) {
    const Layout<Second> layout{items, base, start, second};
    const ByItem sums{gradient, degree, by_gradient, by_degree};
    const Curvature bends{curvature, items, cells};
    const Span span(count, chunk);
    double value = 0.0;
    int one = 0, other;
    for (Long begin = span.at; begin < span.end; begin += blockDim.x) {
        const Long at = min(begin + threadIdx.x, span.end - 1);
        const bool live = begin + threadIdx.x < span.end;
        layout.of(base + at, one, other);
        const double q = posterior[codes ? static_cast<Long>(codes[at]) : at], times = weight ? weight[at] : 1.0;
        const double margin = fmin(fmax(scores[one] - scores[other], -kLargestMargin), kLargestMargin);
        const Prior prior(margin);
        const double total = 1.0 + prior.least, curved = times * prior.least / (total * total);
        if (live) {
            bends.put(at, one, other, curved);
            value += times * (-log1p(prior.least) - (margin >= 0.0 ? (1.0 - q) * margin : -q * margin));
        }
        sums.add(live, one, other, times * (q - prior.first / total), curved);
    }
    value = block_sum(value);
    if (threadIdx.x == 0) values[blockIdx.x] = value;
}

// The M-step's pass with the share of a link's votes for its first item, (wins + 1) / (votes + 2), as the posterior; and
// that share summed over the votes by kind. With `by_vote`, a link counts as often as it has votes.
template <typename Second, typename Code>
__global__ void from_shares(Long items, Long base, Long count, Long chunk, const Long* start, const Second* second,
                            const Long* begin, Long vote_base, const Code* kind, const double* weight, Long by_vote,
                            const double* scores, float* curvature, Long cells, double by_gradient, double by_degree,
                            double by_kind, Long kinds, Long here, Long* gradient, Long* degree, Long* kind_sums,
                            double* values) {
    extern __shared__ unsigned words[];
    const Layout<Second> layout{items, base, start, second};
    const ByItem sums{gradient, degree, by_gradient, by_degree};
    const Curvature bends{curvature, items, cells};
    Tally tally{words, kind_sums, static_cast<int>(kinds), here != 0};
    tally.clear();
    const Span span(count, chunk);
    double value = 0.0;
    int one = 0, other;
    for (Long link = span.at; link < span.end; link += blockDim.x) {
        const Long at = min(link + threadIdx.x, span.end - 1);
        const bool live = link + threadIdx.x < span.end;
        layout.of(base + at, one, other);
        const Long from = begin[at] - vote_base, to = begin[at + 1] - vote_base;
        double won = 0.0, cast = 0.0;
        for (Long v = from; v < to; ++v) {
            const double own = weight ? weight[v] : 1.0;
            won += kind[v] % 2 ? own : 0.0;
            cast += own;
        }
        const double q = (won + 1.0) / (cast + 2.0), times = by_vote ? cast : 1.0;
        const double margin = fmin(fmax(scores[one] - scores[other], -kLargestMargin), kLargestMargin);
        const Prior prior(margin);
        const double total = 1.0 + prior.least, curved = times * prior.least / (total * total);
        sums.add(live, one, other, times * (q - prior.first / total), curved);
        if (!live) continue;
        bends.put(at, one, other, curved);
        value += times * (-log1p(prior.least) - (margin >= 0.0 ? (1.0 - q) * margin : -q * margin));
        for (Long v = from; v < to; ++v) tally.add(kind[v], fixed(weight ? weight[v] * q : q, by_kind));
    }
    value = block_sum(value);
    if (threadIdx.x == 0) values[blockIdx.x] = value;
    tally.hand_over();
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
    int one = 0, other;
    for (Long begin = span.at; begin < span.end; begin += blockDim.x) {
        const Long at = min(begin + threadIdx.x, span.end - 1);
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
