// Ids to codes, votes spelled out one by one and counted.
#include "bindings.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <vector>

#include "blocks.hpp"
#include "order.hpp"

namespace jamrank {
namespace {

// A byte pointer may alias anything: by value, so that the others stay in registers.
template <typename Id>
void mark_span(const Id* id, Span span, int64_t low, uint8_t* seen) {
    for (size_t v = span.begin; v < span.end; ++v) seen[static_cast<int64_t>(id[v]) - low] = 1;
}

// Adds the marks of parts to those of the first.
void merge_marks(const std::vector<std::vector<uint8_t>>& marks, uint8_t* all) {
    for (const auto& own : marks) {
        const uint8_t* from = own.data();
        const size_t range = own.size();
        for (size_t k = 0; k < range; ++k) all[k] |= from[k];
    }
}

// Marks the ids that occur, counted from `low`.
template <typename Id>
void mark_ids(const Array<const Id>& ids, int64_t low, Array<uint8_t> seen, int threads) {
    constexpr size_t kSmall = 1 << 16;
    const size_t n = ids.size(), range = seen.size();
    const Id* id = ids.data();
    uint8_t* all = seen.data();
    nb::gil_scoped_release release;
    // Parts have marks of their own where that costs nothing.
    const size_t parts = range <= kSmall ? std::min<size_t>(block_count(n, 1), std::max(threads, 1)) : 1;
    std::vector<std::vector<uint8_t>> marks(parts);
    for_blocks(parts, threads, [&](size_t part) {
        if (part) marks[part].assign(range, 0);
        mark_span(id, span_of(part, parts, n), low, part ? marks[part].data() : all);
    });
    merge_marks(marks, all);
}

// Copies ids as codes; returns whether all are from 0 on and below a power of two.
template <typename Id>
bool copy_ids(const Id* id, int32_t* code, Span span, size_t range) {
    Id bits = 0;  // of all ids together
    for (size_t v = span.begin; v < span.end; ++v) {
        bits |= id[v];
        code[v] = static_cast<int32_t>(id[v]);
    }
    return bits >= 0 && static_cast<uint64_t>(bits) < range;
}

// Takes ids from 0 on as their own codes, and marks those that occur; returns false where one is too large to be marked.
// There is room for as many marks as a power of two.
template <typename Id>
bool take_ids(const Array<const Id>& ids, Array<int32_t> codes, Array<uint8_t> seen, int threads) {
    constexpr size_t kPiece = 1 << 12;  // stays in cache between copy and marks
    const size_t n = ids.size(), range = seen.size();
    const size_t parts = std::min<size_t>(block_count(n, 1), std::max(threads, 1));
    require(codes.size() == n, "one code an id");
    require(range > 0 && (range & (range - 1)) == 0, "as many marks as a power of two");
    const Id* id = ids.data();
    int32_t* code = codes.data();
    uint8_t* all = seen.data();
    nb::gil_scoped_release release;
    std::vector<std::vector<uint8_t>> marks(parts);
    std::atomic<bool> fits{true};
    for_blocks(parts, threads, [&](size_t part) {
        marks[part].assign(part ? range : 0, 0);
        const Span span = span_of(part, parts, n);
        for (size_t begin = span.begin; begin < span.end && fits; begin += kPiece) {
            const Span piece{begin, std::min(begin + kPiece, span.end)};
            if (copy_ids(id, code, piece, range))
                mark_span(code, piece, 0, part ? marks[part].data() : all);
            else
                fits = false;
        }
    });
    merge_marks(marks, all);
    return fits;
}

// The same for pairs. Those of an item follow each other where pairs are in order, and mostly their second ids too.
template <typename Id>
void mark_pairs(const Id* first, const Id* second, Span span, bool in_order, uint8_t* seen) {
    if (!in_order) {
        mark_span(first, span, 0, seen);
        mark_span(second, span, 0, seen);
        return;
    }
    for (size_t begin = span.begin; begin < span.end;) {
        const size_t end = std::upper_bound(first + begin, first + span.end, first[begin]) - first;
        seen[first[begin]] = 1;
        if (static_cast<size_t>(second[end - 1] - second[begin]) == end - 1 - begin)
            std::memset(seen + second[begin], 1, end - begin);
        else
            mark_span(second, {begin, end}, 0, seen);
        begin = end;
    }
}

// Takes the ids of pairs from 0 on as their own codes, and marks those that occur. Returns -1 where one is too large to be
// marked; else 1 if the pairs are sorted and distinct and name the lower id first, or 0.
template <typename Id>
int take_pairs(const Array<const Id>& left, const Array<const Id>& right, Array<int32_t> left_codes,
               Array<int32_t> right_codes, Array<uint8_t> seen, int threads) {
    constexpr size_t kPiece = 1 << 12;
    const size_t n = left.size(), range = seen.size();
    const size_t parts = std::min<size_t>(block_count(n, 1), std::max(threads, 1));
    require(right.size() == n && left_codes.size() == n && right_codes.size() == n, "one entry a pair");
    require(range > 0 && (range & (range - 1)) == 0, "as many marks as a power of two");
    const Id *first = left.data(), *second = right.data();
    int32_t *first_code = left_codes.data(), *second_code = right_codes.data();
    uint8_t* all = seen.data();
    nb::gil_scoped_release release;
    std::vector<std::vector<uint8_t>> marks(parts);
    std::atomic<bool> fits{true}, ordered{true};
    for_blocks(parts, threads, [&](size_t part) {
        marks[part].assign(part ? range : 0, 0);
        const Span span = span_of(part, parts, n);
        for (size_t begin = span.begin; begin < span.end && fits; begin += kPiece) {
            const Span piece{begin, std::min(begin + kPiece, span.end)};
            const bool wrong = out_of_order(first, second, piece.begin, piece.end);
            if (wrong) ordered = false;
            const bool small = copy_ids(first, first_code, piece, range) & copy_ids(second, second_code, piece, range);
            if (small)
                mark_pairs(first, second, piece, !wrong, part ? marks[part].data() : all);
            else
                fits = false;
        }
    });
    merge_marks(marks, all);
    return fits ? static_cast<int>(ordered.load()) : -1;
}

// Codes of ids: their rank among those that occur or, without ranks, their distance from `low`.
template <typename Id>
void code_ids(const Array<const Id>& ids, int64_t low, const Array<const int32_t>& rank, Array<int32_t> codes,
              int threads) {
    const size_t n = ids.size(), blocks = block_count(n, 1);
    require(codes.size() == n, "one code an id");
    nb::gil_scoped_release release;
    for_blocks(blocks, threads, [&](size_t block) {
        const Span span = span_of(block, blocks, n);
        const Id* id = ids.data();
        int32_t* code = codes.data();
        if (rank.size())
            for (size_t v = span.begin; v < span.end; ++v) code[v] = rank.data()[static_cast<int64_t>(id[v]) - low];
        else
            for (size_t v = span.begin; v < span.end; ++v) code[v] = static_cast<int32_t>(static_cast<int64_t>(id[v]) - low);
    });
}

constexpr int8_t kDecided = 2;  // results below this have a side
// Whether a result has a side, and whether that is the first item.
constexpr double kCounted[4] = {1.0, 1.0, 0.0, 0.0}, kForFirst[4] = {0.0, 1.0, 0.0, 0.0};

// Visits the votes on some pairs, telling `vote` whether each is the last on its pair, and pairs that have none. Where a pair
// ends is unpredictable: what `vote` does at an end should be no branch.
template <typename Vote, typename Empty>
void walk_pairs(const int64_t* starts, Span span, const Vote& vote, const Empty& empty) {
    size_t pair = span.begin;
    const auto skip = [&](int64_t v) {
        for (; pair < span.end && starts[pair + 1] == v; ++pair) empty(pair);
    };
    skip(starts[span.begin]);
    for (int64_t v = starts[span.begin]; v < starts[span.end]; ++v) {
        const bool last = starts[pair + 1] == v + 1;
        vote(v, pair, last);
        pair += last;
        skip(v + 1);
    }
}

// The decided votes on each pair one by one, each as often as its weight says (without weights: once), as kinds: twice the
// annotator plus 1 if it is for the first item. `begin` gets where those of each pair begin, `wins` how many
// of them are for its first item, and `vote_counts` how many there are of each kind.
template <typename Code>
void spell_out(const Array<const int64_t>& start, const Array<const int32_t>& annotator, const Array<const int8_t>& result,
               const Array<const double>& weight, Array<int64_t> begin, Array<Code> kinds, Array<double> wins,
               Array<double> cast, int threads) {
    const size_t pairs = wins.size(), n = annotator.size(), n_kinds = cast.size();
    require(start.size() == pairs + 1 && begin.size() == pairs + 1, "one entry a pair");
    require(result.size() == n && (weight.size() == 0 || weight.size() == n), "one entry a vote");
    const int64_t* starts = start.data();
    const int32_t* who = annotator.data();
    const int8_t* results = result.data();
    const double* weights = weight.size() ? weight.data() : nullptr;
    int64_t* begins = begin.data();
    double* won_of = wins.data();
    Code* spelled = kinds.data();
    const auto times = [=](int64_t v) -> int64_t {
        return results[v] < kDecided ? (weights ? static_cast<int64_t>(weights[v]) : 1) : 0;
    };
    nb::gil_scoped_release release;
    const size_t blocks = block_count(n, n_kinds);
    std::vector<size_t> before(blocks + 1, 0);
    for_blocks(blocks, threads, [&](size_t block) {
        const Span span = span_of(block, blocks, pairs);
        int64_t count = 0;
        for (int64_t v = starts[span.begin]; v < starts[span.end]; ++v) count += times(v);
        before[block + 1] = static_cast<size_t>(count);
    });
    for (size_t block = 0; block < blocks; ++block) before[block + 1] += before[block];
    require(before[blocks] == kinds.size(), "another number of votes");
    std::vector<double> sums(blocks * n_kinds, 0.0);
    double* by_kind = sums.data();
    const size_t* earlier = before.data();
    // By value: a byte pointer may alias anything.
    for_blocks(blocks, threads, [=](size_t block) {
        const Span span = span_of(block, blocks, pairs);
        Code* at = spelled + earlier[block];
        double* own = by_kind + block * n_kinds;
        int64_t won = 0;
        begins[span.begin] = at - spelled;
        // The next pair begins behind the votes so far; that of the next block is the next block's to write.
        const auto close = [&](size_t pair, int64_t wins_of_first) {
            won_of[pair] = static_cast<double>(wins_of_first);
            if (pair + 1 < span.end) begins[pair + 1] = at - spelled;
        };
        walk_pairs(
            starts, span,
            [&](int64_t v, size_t pair, bool last) {
                const int64_t count = times(v), kind = 2 * who[v] + results[v];
                if (count) {
                    *at++ = static_cast<Code>(kind);
                    for (int64_t k = 1; k < count; ++k) *at++ = static_cast<Code>(kind);
                    won += results[v] * count;
                    own[kind] += static_cast<double>(count);
                }
                close(pair, won);
                won &= static_cast<int64_t>(last) - 1;  // a choice would be compiled to a branch
            },
            [&](size_t pair) { close(pair, 0); });
    });
    begin.data()[pairs] = static_cast<int64_t>(before[blocks]);
    std::fill_n(cast.data(), n_kinds, 0.0);
    for (size_t block = 0; block < blocks; ++block)
        for (size_t k = 0; k < n_kinds; ++k) cast.data()[k] += sums[block * n_kinds + k];
}

// The weight of the decided votes on each pair (without weights: their number): for its first item, and of all.
void count_sides(const Array<const int64_t>& start, const Array<const int8_t>& result, const Array<const double>& weight,
                 Array<double> wins, Array<double> total, int threads) {
    const size_t pairs = wins.size(), n = result.size(), blocks = block_count(n, 1);
    require(start.size() == pairs + 1 && total.size() == pairs, "one entry a pair");
    require(weight.size() == 0 || weight.size() == n, "weight must be empty or one a vote");
    const int64_t* starts = start.data();
    const int8_t* results = result.data();
    const double* weights = weight.size() ? weight.data() : nullptr;
    double *won = wins.data(), *all = total.data();
    nb::gil_scoped_release release;
    for_blocks(blocks, threads, [=](size_t block) {
        const Span span = span_of(block, blocks, pairs);
        double first = 0.0, both = 0.0;
        walk_pairs(
            starts, span,
            [&](int64_t v, size_t pair, bool last) {
                const double own = weights ? weights[v] : 1.0;
                first += own * kForFirst[results[v] & 3];
                both += own * kCounted[results[v] & 3];
                won[pair] = first;
                all[pair] = both;
                // Numbers from tables: a choice would be compiled to a branch.
                first *= kCounted[2 * last];
                both *= kCounted[2 * last];
            },
            [&](size_t pair) { won[pair] = all[pair] = 0.0; });
    });
}

// The rows of votes that are the truth: one for each side of a pair that has votes. `begin` gets where those of each pair
// begin, `kinds` 1 for those of first items, and `weight` their weight. Returns how many rows there are.
size_t split_sides(const Array<const double>& wins, const Array<const double>& total, Array<int64_t> begin,
                   Array<uint8_t> kinds, Array<double> weight) {
    const size_t pairs = wins.size();
    require(total.size() == pairs && begin.size() == pairs + 1, "one entry a pair");
    require(kinds.size() == 2 * pairs && weight.size() == 2 * pairs, "room for two rows a pair");
    const double *won = wins.data(), *all = total.data();
    int64_t* begins = begin.data();
    uint8_t* kind = kinds.data();
    double* own = weight.data();
    nb::gil_scoped_release release;
    size_t at = 0;
    for (size_t pair = 0; pair < pairs; ++pair) {
        begins[pair] = static_cast<int64_t>(at);
        for (const uint8_t side : {0, 1}) {
            kind[at] = side;
            own[at] = side ? won[pair] : all[pair] - won[pair];
            at += own[at] > 0.0;
        }
    }
    begins[pairs] = static_cast<int64_t>(at);
    return at;
}

// The weight of each annotator's decided votes (without weights: their number) that go against a lean of each pair, 1
// towards its first item and -1 towards its second, and of all of them; half of a vote goes against a lean of 0.
void count_against(const Array<const int64_t>& start, const Array<const int32_t>& annotator,
                   const Array<const int8_t>& result, const Array<const double>& weight, const Array<const double>& lean,
                   Array<double> against, Array<double> cast, int threads) {
    const size_t pairs = lean.size(), n = annotator.size(), people = cast.size(), blocks = block_count(n, 2 * people);
    require(start.size() == pairs + 1 && against.size() == people, "one entry a pair and one an annotator");
    require(result.size() == n && (weight.size() == 0 || weight.size() == n), "one entry a vote");
    const double* weights = weight.size() ? weight.data() : nullptr;
    nb::gil_scoped_release release;
    std::vector<double> parts(blocks * 2 * people, 0.0);
    for_blocks(blocks, threads, [&](size_t block) {
        double *wrong = parts.data() + block * 2 * people, *all = wrong + people;
        const int32_t* who = annotator.data();
        const int8_t* results = result.data();
        const Span span = span_of(block, blocks, pairs);
        for (size_t pair = span.begin; pair < span.end; ++pair) {
            const double of_side[2] = {(1.0 + lean.data()[pair]) / 2, (1.0 - lean.data()[pair]) / 2};
            for (int64_t v = start.data()[pair]; v < start.data()[pair + 1]; ++v) {
                if (results[v] >= kDecided) continue;
                const double own = weights ? weights[v] : 1.0;
                wrong[who[v]] += own * of_side[results[v]];
                all[who[v]] += own;
            }
        }
    });
    std::fill_n(against.data(), people, 0.0);
    std::fill_n(cast.data(), people, 0.0);
    for (size_t block = 0; block < blocks; ++block)
        for (size_t k = 0; k < people; ++k) {
            against.data()[k] += parts[2 * block * people + k];
            cast.data()[k] += parts[(2 * block + 1) * people + k];
        }
}

// How many rows votes are when spelled out: the sum of the weights of the decided ones; -1 where one is no whole number.
int64_t count_spelled(const Array<const int8_t>& result, const Array<const double>& weight, int threads) {
    const size_t n = result.size(), blocks = block_count(n, 1);
    require(weight.size() == 0 || weight.size() == n, "weight must be empty or one a vote");
    const int8_t* results = result.data();
    const double* weights = weight.size() ? weight.data() : nullptr;
    nb::gil_scoped_release release;
    std::vector<int64_t> counts(blocks, 0);
    std::vector<uint8_t> whole(blocks, 1);
    for_blocks(blocks, threads, [&](size_t block) {
        const Span span = span_of(block, blocks, n);
        double sum = 0.0;
        bool all = true;
        for (size_t v = span.begin; v < span.end; ++v) {
            const double own = weights ? weights[v] : 1.0;
            // Faster than floor; weights beyond 2^63 are none that are spelled out.
            all &= own == static_cast<double>(static_cast<int64_t>(own));
            sum += results[v] < kDecided ? own : 0.0;
        }
        counts[block] = static_cast<int64_t>(sum);
        whole[block] = all;
    });
    if (!std::all_of(whole.begin(), whole.end(), [](uint8_t all) { return all != 0; })) return -1;
    int64_t total = 0;
    for (int64_t own : counts) total += own;
    return total;
}

// The probability that the first item of each pair is better, from the scores. Unless scores are far apart, the exponential
// of a difference is a product of two exponentials, which are computed once an item.
void prior_of_pairs(const Array<const int32_t>& first, const Array<const int32_t>& second, const Array<const double>& scores,
                    Array<double> prior, int threads) {
    const size_t n = prior.size(), blocks = block_count(n, 1);
    require(first.size() == n && second.size() == n, "one entry a pair");
    constexpr double kFar = 300.0;
    const size_t items = scores.size();
    const int32_t *one = first.data(), *other = second.data();
    const double* score = scores.data();
    double* out = prior.data();
    nb::gil_scoped_release release;
    const bool near = std::all_of(score, score + items, [=](double own) { return std::abs(own) <= kFar; });
    std::vector<double> up(near ? items : 0), down(near ? items : 0);
    for (size_t item = 0; item < up.size(); ++item) {
        up[item] = std::exp(score[item]);
        down[item] = std::exp(-score[item]);
    }
    for_blocks(blocks, threads, [&, one, other, score, out](size_t block) {
        const Span span = span_of(block, blocks, n);
        const double *ups = up.data(), *downs = down.data();
        if (near)
            for (size_t k = span.begin; k < span.end; ++k) out[k] = 1.0 / (1.0 + ups[other[k]] * downs[one[k]]);
        else
            for (size_t k = span.begin; k < span.end; ++k) out[k] = 1.0 / (1.0 + std::exp(score[other[k]] - score[one[k]]));
    });
}

// Adds up the values of each link's rows; without any, counts them.
void sum_by_link(const Array<const int64_t>& begin, const Array<const double>& value, Array<double> sums, int threads) {
    const size_t links = sums.size(), n = static_cast<size_t>(begin.data()[links]), blocks = block_count(n, 1);
    require(begin.size() == links + 1, "one begin a link");
    require(value.size() == 0 || value.size() == n, "value must be empty or one a row");
    const int64_t* begins = begin.data();
    const double* values = value.size() ? value.data() : nullptr;
    double* out = sums.data();
    nb::gil_scoped_release release;
    for_blocks(blocks, threads, [=](size_t block) {
        const Span span = span_of(block, blocks, links);
        for (size_t link = span.begin; link < span.end; ++link) {
            double sum = values ? 0.0 : static_cast<double>(begins[link + 1] - begins[link]);
            if (values)
                for (int64_t row = begins[link]; row < begins[link + 1]; ++row) sum += values[row];
            out[link] = sum;
        }
    });
}

// Adds up values (without any: counts) by code.
template <typename Code>
void sum_by_code(const Array<const Code>& code, const Array<const double>& value, Array<double> sums, int threads) {
    const size_t n = code.size(), kinds = sums.size(), blocks = block_count(n, kinds);
    require(value.size() == 0 || value.size() == n, "value must be empty or one a code");
    const Code* codes = code.data();
    const double* values = value.size() ? value.data() : nullptr;
    nb::gil_scoped_release release;
    std::vector<double> parts(blocks * kinds, 0.0);
    for_blocks(blocks, threads, [&, codes, values](size_t block) {
        double* own = parts.data() + block * kinds;
        const Span span = span_of(block, blocks, n);
        for (size_t v = span.begin; v < span.end; ++v) own[codes[v]] += values ? values[v] : 1.0;
    });
    std::fill_n(sums.data(), kinds, 0.0);
    for (size_t block = 0; block < blocks; ++block)
        for (size_t k = 0; k < kinds; ++k) sums.data()[k] += parts[block * kinds + k];
}

// The value of each link for all of its rows.
template <typename Value, typename Out>
void repeat(const Array<const int64_t>& begin, const Array<const Value>& of_link, Array<Out> of_row, int threads) {
    const size_t links = of_link.size(), blocks = block_count(of_row.size(), 1);
    require(begin.size() == links + 1 && begin.data()[links] == static_cast<int64_t>(of_row.size()), "one begin a link");
    const int64_t* begins = begin.data();
    const Value* values = of_link.data();
    Out* out = of_row.data();
    nb::gil_scoped_release release;
    for_blocks(blocks, threads, [=](size_t block) {
        // Several at once: what is written beyond the end of a link is written anew for the next one.
        constexpr int64_t kAtOnce = 4;
        const Span span = span_of(block, blocks, links);
        const int64_t last = begins[span.end];
        for (size_t link = span.begin; link < span.end; ++link) {
            const Out value = static_cast<Out>(values[link]);
            const int64_t end = begins[link + 1];
            int64_t row = begins[link];
            for (; row < end && row + kAtOnce <= last; row += kAtOnce) std::fill_n(out + row, kAtOnce, value);
            for (; row < end; ++row) out[row] = value;
        }
    });
}

// Adds up a value for each link over its votes, times their weight, by kind.
template <typename Code>
void sum_by_kind(const Array<const int64_t>& begin, const Array<const Code>& kinds, const Array<const double>& weight,
                 const Array<const double>& value, Array<double> sums, int threads) {
    const size_t links = value.size(), n_kinds = sums.size(), blocks = block_count(kinds.size(), n_kinds);
    require(begin.size() == links + 1 && begin.data()[links] == static_cast<int64_t>(kinds.size()), "one begin a link");
    require(weight.size() == 0 || weight.size() == kinds.size(), "weight must be empty or one a vote");
    const int64_t* begins = begin.data();
    const Code* kind = kinds.data();
    const double *values = value.data(), *weights = weight.size() ? weight.data() : nullptr;
    nb::gil_scoped_release release;
    std::vector<double> parts(blocks * n_kinds, 0.0);
    for_blocks(blocks, threads, [&](size_t block) {
        double* own = parts.data() + block * n_kinds;
        const Span span = span_of(block, blocks, links);
        for (size_t link = span.begin; link < span.end; ++link)
            for (int64_t v = begins[link]; v < begins[link + 1]; ++v)
                own[kind[v]] += weights ? weights[v] * values[link] : values[link];
    });
    std::fill_n(sums.data(), n_kinds, 0.0);
    for (size_t block = 0; block < blocks; ++block)
        for (size_t k = 0; k < n_kinds; ++k) sums.data()[k] += parts[block * n_kinds + k];
}

}  // namespace

void bind_encoding(nb::module_& m) {
    m.def("mark_ids", &mark_ids<int64_t>);
    m.def("mark_ids", &mark_ids<int32_t>);
    m.def("mark_ids", &mark_ids<int16_t>);
    m.def("mark_ids", &mark_ids<int8_t>);
    m.def("mark_ids", &mark_ids<uint8_t>);
    m.def("mark_ids", &mark_ids<uint16_t>);
    m.def("mark_ids", &mark_ids<uint32_t>);
    m.def("take_ids", &take_ids<int64_t>);
    m.def("take_ids", &take_ids<int32_t>);
    m.def("take_pairs", &take_pairs<int64_t>);
    m.def("take_pairs", &take_pairs<int32_t>);
    m.def("code_ids", &code_ids<int64_t>);
    m.def("code_ids", &code_ids<int32_t>);
    m.def("code_ids", &code_ids<int16_t>);
    m.def("code_ids", &code_ids<int8_t>);
    m.def("code_ids", &code_ids<uint8_t>);
    m.def("code_ids", &code_ids<uint16_t>);
    m.def("code_ids", &code_ids<uint32_t>);
    m.def("spell_out", &spell_out<uint8_t>);
    m.def("spell_out", &spell_out<int32_t>);
    m.def("count_spelled", &count_spelled);
    m.def("count_sides", &count_sides);
    m.def("split_sides", &split_sides);
    m.def("count_against", &count_against);
    m.def("sum_by_link", &sum_by_link);
    m.def("sum_by_code", &sum_by_code<uint8_t>);
    m.def("sum_by_code", &sum_by_code<int32_t>);
    m.def("prior_of_pairs", &prior_of_pairs);
    m.def("repeat", &repeat<int32_t, int32_t>);
    m.def("repeat", &repeat<int32_t, uint16_t>);
    m.def("repeat", &repeat<double, double>);
    m.def("sum_by_kind", &sum_by_kind<uint8_t>);
    m.def("sum_by_kind", &sum_by_kind<int32_t>);
}

}  // namespace jamrank
