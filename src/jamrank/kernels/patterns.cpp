// Distinct lists of votes, numbered; and what items did on their pairs.
#include "bindings.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <map>
#include <unordered_map>
#include <vector>

#include "blocks.hpp"

namespace jamrank {
namespace {

inline uint64_t mix(uint64_t hash, uint64_t word) {
    hash = (hash ^ word) * 0x9E3779B97F4A7C15ULL;
    return hash ^ (hash >> 29);
}

constexpr int8_t kTie = 2;

// The votes on each pair, as they are stored.
struct Votes {
    const int64_t* start;
    const int32_t* annotator;
    const int8_t* result;
    const double* weights;  // null: all 1

    double weight(int64_t v) const { return weights ? weights[v] : 1.0; }

    // Ties, and votes of weight 0, carry no information on the truth.
    bool uninformative(int64_t v) const { return result[v] == kTie || weight(v) == 0.0; }

    bool same(size_t a, size_t b) const {
        int64_t u = start[a], v = start[b];
        for (;; ++u, ++v) {
            while (u < start[a + 1] && uninformative(u)) ++u;
            while (v < start[b + 1] && uninformative(v)) ++v;
            if (u == start[a + 1] || v == start[b + 1]) return u == start[a + 1] && v == start[b + 1];
            if (annotator[u] != annotator[v] || result[u] != result[v] || weight(u) != weight(v)) return false;
        }
    }
};

// Numbers distinct lists of decided votes in the order of their first appearance. Open addressing, doubled
// whenever half full: small where the lists are few, so that it stays in cache.
class PatternTable {
  public:
    explicit PatternTable(const Votes& votes) : votes_(votes), slots_(1024, -1) {}

    int32_t number(size_t pair, uint64_t hash) {
        size_t slot = hash & (slots_.size() - 1);
        while (slots_[slot] >= 0) {
            const int32_t known = slots_[slot];
            if (hashes[known] == hash && votes_.same(examples[known], pair)) return known;
            slot = (slot + 1) & (slots_.size() - 1);
        }
        const auto fresh = static_cast<int32_t>(hashes.size());
        slots_[slot] = fresh;
        hashes.push_back(hash);
        examples.push_back(pair);
        if (2 * hashes.size() >= slots_.size()) grow();
        return fresh;
    }

    std::vector<uint64_t> hashes;
    std::vector<size_t> examples;

  private:
    void grow() {
        std::vector<int32_t> larger(2 * slots_.size(), -1);
        for (size_t known = 0; known < hashes.size(); ++known) {
            size_t at = hashes[known] & (larger.size() - 1);
            while (larger[at] >= 0) at = (at + 1) & (larger.size() - 1);
            larger[at] = static_cast<int32_t>(known);
        }
        slots_.swap(larger);
    }

    Votes votes_;
    std::vector<int32_t> slots_;
};

// Numbers the distinct lists of decided votes in the order of their first appearance, and computes each pair's
// shrunken share of votes for its first item, (wins + 1) / (votes + 2). Returns how many lists there are;
// `example[u]` is a pair whose votes are list u.
size_t patterns(const Array<const int64_t>& start, const Ints& annotator, const Array<const int8_t>& result,
                const Doubles& weight, OutInts pattern, Array<int64_t> example, OutDoubles share, int threads) {
    const size_t pairs = pattern.size(), count = annotator.size();
    require(start.size() == pairs + 1 && example.size() == pairs, "one entry a pair");
    require(share.size() == pairs, "one entry a pair");
    require(result.size() == count, "one entry a vote");
    require(weight.size() == 0 || weight.size() == count, "weight must be empty or one a vote");
    const Votes votes{start.data(), annotator.data(), result.data(), weight.size() ? weight.data() : nullptr};
    nb::gil_scoped_release release;
    // Every block numbers its own lists; then the blocks' tables are merged in order and the numbers replaced.
    const size_t blocks = block_count(pairs, 1);
    std::vector<PatternTable> tables(blocks, PatternTable(votes));
    for_blocks(blocks, threads, [&](size_t block) {
        const Span span = span_of(block, blocks, pairs);
        for (size_t pair = span.begin; pair < span.end; ++pair) {
            double won = 0.0, total = 0.0;
            uint64_t hash = 0;
            for (int64_t v = votes.start[pair]; v < votes.start[pair + 1]; ++v) {
                if (votes.uninformative(v)) continue;
                const auto how = static_cast<uint64_t>(votes.result[v]);
                const double weight_of_vote = votes.weight(v);
                won += static_cast<double>(how) * weight_of_vote;
                total += weight_of_vote;
                uint64_t bits;
                std::memcpy(&bits, &weight_of_vote, sizeof bits);
                hash = mix(hash, bits + ((static_cast<uint64_t>(votes.annotator[v]) << 2) | how));
            }
            share.data()[pair] = (won + 1.0) / (total + 2.0);
            pattern.data()[pair] = tables[block].number(pair, hash);
        }
    });
    PatternTable merged(votes);
    std::vector<std::vector<int32_t>> renumbered(blocks);
    for (size_t block = 0; block < blocks; ++block)
        for (size_t k = 0; k < tables[block].hashes.size(); ++k)
            renumbered[block].push_back(merged.number(tables[block].examples[k], tables[block].hashes[k]));
    for_blocks(blocks, threads, [&](size_t block) {
        const Span span = span_of(block, blocks, pairs);
        for (size_t pair = span.begin; pair < span.end; ++pair)
            pattern.data()[pair] = renumbered[block][pattern.data()[pair]];
    });
    std::copy(merged.examples.begin(), merged.examples.end(), example.data());
    return merged.hashes.size();
}

// The informative votes on each pair as a list: where it begins, what each vote is (twice its annotator plus 1 if it is
// for the first item), its weight where votes have weights, and the pair's shrunken share.
void list_votes(const Array<const int64_t>& start, const Ints& annotator, const Array<const int8_t>& result,
                const Doubles& weight, Array<int64_t> begin, OutInts vote, OutDoubles kept, OutDoubles share, int threads) {
    const size_t pairs = share.size(), count = annotator.size();
    require(start.size() == pairs + 1 && begin.size() == pairs + 1, "one entry a pair");
    require(result.size() == count, "one entry a vote");
    require(weight.size() == 0 || weight.size() == count, "weight must be empty or one a vote");
    require(kept.size() == (weight.size() ? vote.size() : 0), "one weight a vote, where votes have weights");
    const Votes votes{start.data(), annotator.data(), result.data(), weight.size() ? weight.data() : nullptr};
    const size_t blocks = block_count(pairs, 1);
    int64_t* begins = begin.data();
    int32_t* listed = vote.data();
    double *weights = kept.data(), *shares = share.data();
    nb::gil_scoped_release release;
    std::vector<size_t> before(blocks + 1, 0);
    for_blocks(blocks, threads, [&](size_t block) {
        const Span span = span_of(block, blocks, pairs);
        size_t found = 0;
        for (int64_t v = votes.start[span.begin]; v < votes.start[span.end]; ++v) found += !votes.uninformative(v);
        before[block + 1] = found;
    });
    for (size_t block = 0; block < blocks; ++block) before[block + 1] += before[block];
    require(before[blocks] == vote.size(), "another number of informative votes");
    for_blocks(blocks, threads, [&, votes, begins, listed, weights, shares](size_t block) {
        const Span span = span_of(block, blocks, pairs);
        size_t at = before[block];
        for (size_t pair = span.begin; pair < span.end; ++pair) {
            double won = 0.0, total = 0.0;
            begins[pair] = static_cast<int64_t>(at);
            for (int64_t v = votes.start[pair]; v < votes.start[pair + 1]; ++v) {
                if (votes.uninformative(v)) continue;
                const double own = votes.weight(v);
                listed[at] = 2 * votes.annotator[v] + votes.result[v];
                if (votes.weights) weights[at] = own;
                ++at;
                won += votes.result[v] * own;
                total += own;
            }
            shares[pair] = (won + 1.0) / (total + 2.0);
        }
    });
    begins[pairs] = static_cast<int64_t>(before[blocks]);
}

// The log-likelihood of each list of votes if the first, or the second, item is truly better. `of_kind` has two entries for
// each kind of vote: if the second and if the first item is better.
void list_likelihoods(const Array<const int64_t>& start, const Ints& vote, const Doubles& weight, const Doubles& of_kind,
                      OutDoubles if_first, OutDoubles if_second, int threads) {
    const size_t lists = if_first.size(), blocks = block_count(lists, 1);
    require(start.size() == lists + 1 && if_second.size() == lists, "one entry a list");
    require(start.data()[lists] == static_cast<int64_t>(vote.size()), "lists must cover the votes");
    require(weight.size() == 0 || weight.size() == vote.size(), "weight must be empty or one a vote");
    const int64_t* begin = start.data();
    const int32_t* votes = vote.data();
    const double *weights = weight.size() ? weight.data() : nullptr, *kinds = of_kind.data();
    double *first = if_first.data(), *second = if_second.data();
    nb::gil_scoped_release release;
    for_blocks(blocks, threads, [=](size_t block) {
        const Span span = span_of(block, blocks, lists);
        for (size_t list = span.begin; list < span.end; ++list) {
            double one = 0.0, other = 0.0;
            for (int64_t v = begin[list]; v < begin[list + 1]; ++v) {
                const double *own = kinds + 2 * votes[v], times = weights ? weights[v] : 1.0;
                one += own[1] * times;
                other += own[0] * times;
            }
            first[list] = one;
            second[list] = other;
        }
    });
}

inline uint64_t scrambled(uint64_t z) {
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9ULL;
    z = (z ^ z >> 27) * 0x94D049BB133111EBULL;
    return z ^ z >> 31;
}

// A sum over the votes of each annotator that is the same, in any order, for the same results on the same pairs.
void mark_ballots(const Array<const int64_t>& start, const Ints& annotator, const Array<const int8_t>& result,
                  const Doubles& weight, Array<uint64_t> marks, int threads) {
    constexpr double kUnit = 1048576.0;  // weights are at most a trillion
    const size_t pairs = start.size() - 1, count = annotator.size(), annotators = marks.size();
    require(result.size() == count && start.data()[pairs] == static_cast<int64_t>(count), "one entry a vote");
    require(weight.size() == 0 || weight.size() == count, "weight must be empty or one a vote");
    const Votes votes{start.data(), annotator.data(), result.data(), weight.size() ? weight.data() : nullptr};
    const size_t blocks = block_count(count, annotators);
    nb::gil_scoped_release release;
    std::vector<uint64_t> sums(blocks * annotators, 0);
    for_blocks(blocks, threads, [&, votes](size_t block) {
        uint64_t* own = sums.data() + block * annotators;
        const Span span = span_of(block, blocks, pairs);
        for (size_t pair = span.begin; pair < span.end; ++pair)
            for (int64_t v = votes.start[pair]; v < votes.start[pair + 1]; ++v) {
                const uint64_t mark = scrambled(4 * pair + static_cast<uint64_t>(votes.result[v]) + 1);
                own[votes.annotator[v]] += votes.weights ? mark * static_cast<uint64_t>(votes.weights[v] * kUnit + 0.5) : mark;
            }
    });
    std::fill_n(marks.data(), annotators, uint64_t{0});
    for (size_t k = 0; k < sums.size(); ++k) marks.data()[k % annotators] += sums[k];
}

// The votes of a jury on a pair, two bits for each annotator from the highest down: 0 for the second item, 1 for the first,
// 2 for a tie or no vote.
struct Verdicts {
    uint64_t high, low;
    bool operator==(const Verdicts& other) const { return low == other.low && high == other.high; }
    bool operator<(const Verdicts& other) const { return high != other.high ? high < other.high : low < other.low; }
};

inline uint64_t pack(const int8_t* said, size_t count) {
    uint64_t packed = 0;
    for (size_t k = 0; k < count; ++k) packed = packed << 2 | (said[k] > 2 ? 2 : said[k]);
    return packed;
}

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
constexpr bool kLowBytesFirst = false;
#else
constexpr bool kLowBytesFirst = true;
#endif

// The same for the row of a small jury that begins at `at`: its bytes are read as one word, and their bits pushed together
// with the first of them highest. Where the word would end beyond the results it goes byte by byte.
inline uint64_t pack_row(const int8_t* results, size_t size, size_t at, size_t annotators) {
    if (!kLowBytesFirst || at + 8 > size) return pack(results + at, annotators);
    uint64_t word;
    std::memcpy(&word, results + at, 8);
    word <<= 8 * (8 - annotators);
    word &= ~(word >> 1 & 0x0101010101010101u);  // 3 becomes 2
    word = (word << 2 | word >> 8) & 0x000f000f000f000fu;
    word = (word << 4 | word >> 16) & 0x000000ff000000ffu;
    return (word << 8 | word >> 32) & 0xffffu;
}

inline Verdicts verdicts_of(const int8_t* said, size_t annotators) {
    const size_t high = annotators > 32 ? annotators - 32 : 0;
    return {pack(said, high), pack(said + high, annotators - high)};
}

struct HashVerdicts {
    size_t operator()(const Verdicts& verdicts) const { return mix(mix(0, verdicts.low), verdicts.high); }
};

size_t number_jury(const int8_t* results, size_t annotators, size_t pairs, int32_t* pattern, int64_t* example,
                   int threads) {
    const size_t blocks = block_count(pairs, 1);
    std::vector<std::unordered_map<Verdicts, size_t, HashVerdicts>> seen(blocks);
    for_blocks(blocks, threads, [&](size_t block) {
        const Span span = span_of(block, blocks, pairs);
        for (size_t row = span.begin; row < span.end; ++row)
            seen[block].emplace(verdicts_of(results + row * annotators, annotators), row);
    });
    std::map<Verdicts, size_t> distinct;
    for (const auto& block : seen) distinct.insert(block.begin(), block.end());
    std::unordered_map<Verdicts, int32_t, HashVerdicts> number;
    for (const auto& [verdicts, row] : distinct) {
        example[number.size()] = static_cast<int64_t>(row);
        number.emplace(verdicts, static_cast<int32_t>(number.size()));
    }
    for_blocks(blocks, threads, [&](size_t block) {
        const Span span = span_of(block, blocks, pairs);
        for (size_t row = span.begin; row < span.end; ++row)
            pattern[row] = number.find(verdicts_of(results + row * annotators, annotators))->second;
    });
    return number.size();
}

// Numbers the distinct verdicts of a jury of at most 64, one row of results a pair, in their order; returns how many
// there are. `example[u]` is a pair with verdicts u.
size_t jury_patterns(const Array<const int8_t>& results, size_t annotators, OutInts pattern, Array<int64_t> example,
                     int threads) {
    const size_t pairs = pattern.size();
    require(annotators >= 1 && annotators <= 64, "a jury has 1 to 64 annotators");
    require(results.size() == pairs * annotators && example.size() == pairs, "one entry a pair");
    nb::gil_scoped_release release;
    return number_jury(results.data(), annotators, pairs, pattern.data(), example.data(), threads);
}

// A byte pointer may alias anything: loops that write bytes get their arguments by value, so that these stay in registers.
void mark_rows(const int8_t* said, size_t size, size_t annotators, Span span, uint8_t* seen) {
    for (size_t row = span.begin; row < span.end; ++row) seen[pack_row(said, size, row * annotators, annotators)] = 1;
}

template <typename Code>
bool number_rows(const int8_t* said, size_t size, size_t annotators, Span span, const int32_t* numbers, Code* pattern) {
    int32_t all = 0;
    for (size_t row = span.begin; row < span.end; ++row) {
        const int32_t number = numbers[pack_row(said, size, row * annotators, annotators)];
        pattern[row] = static_cast<Code>(number);
        all |= number;
    }
    return all >= 0;
}

// The side that most votes of a row are for: by code, or by the share of votes for the first item.
template <typename Code>
inline uint8_t winner(Code code, const uint8_t* side) {
    return side[code];
}
inline uint8_t winner(double share, const uint8_t*) { return share == 0.5 ? 2 : share > 0.5; }

template <typename Code>
void mark_items(const int32_t* first, const int32_t* second, const Code* codes, const uint8_t* side, Span span,
                uint8_t* seen) {
    constexpr uint8_t kOfFirst[] = {1, 2, 3}, kOfSecond[] = {2, 1, 3};
    for (size_t row = span.begin; row < span.end;) {
        // Rows of one first item follow each other.
        const int32_t item = first[row];
        uint8_t mark = 0;
        for (; row < span.end && first[row] == item; ++row) {
            const uint8_t won = winner(codes[row], side);
            mark |= kOfFirst[won];
            seen[second[row]] |= kOfSecond[won];
        }
        seen[item] |= mark;
    }
}

// Marks which of the possible verdicts of at most eight annotators occur.
void mark_verdicts(const Array<const int8_t>& results, size_t annotators, Array<uint8_t> seen, int threads) {
    require(annotators >= 1 && annotators <= 8 && seen.size() == size_t{1} << (2 * annotators), "a mark for each verdict");
    const size_t pairs = results.size() / annotators, blocks = block_count(pairs, 1);
    const size_t size = results.size();
    const int8_t* said = results.data();
    nb::gil_scoped_release release;
    std::vector<std::vector<uint8_t>> marks(blocks);
    for_blocks(blocks, threads, [&](size_t block) {
        marks[block].assign(seen.size(), 0);
        mark_rows(said, size, annotators, span_of(block, blocks, pairs), marks[block].data());
    });
    std::fill_n(seen.data(), seen.size(), 0);
    for (const auto& own : marks)
        for (size_t kind = 0; kind < own.size(); ++kind) seen.data()[kind] |= own[kind];
}

// Gives each row the number of its verdicts; returns whether none of them is below 0.
template <typename Code>
bool number_verdicts(const Array<const int8_t>& results, size_t annotators, const Ints& numbers, Array<Code> pattern,
                     int threads) {
    const size_t pairs = pattern.size(), blocks = block_count(pairs, 1);
    require(annotators >= 1 && annotators <= 8 && numbers.size() == size_t{1} << (2 * annotators), "a number a verdict");
    require(results.size() == pairs * annotators, "one entry a pair");
    const int8_t* said = results.data();
    const int32_t* number = numbers.data();
    Code* code = pattern.data();
    nb::gil_scoped_release release;
    std::atomic<bool> known{true};
    for_blocks(blocks, threads, [&](size_t block) {
        if (!number_rows(said, pairs * annotators, annotators, span_of(block, blocks, pairs), number, code)) known = false;
    });
    return known;
}

// Marks what items did on their pairs: bit 1 where an item did not win one, bit 2 where it did not lose one. `side[code]` is 0 for rows that the
// second item won, 1 for those that the first did, 2 for those without a winner; where codes are shares, they say it themselves.
template <typename Code>
void mark_sides(const Ints& first, const Ints& second, Array<const Code> codes, const Array<const uint8_t>& side,
                Array<uint8_t> seen, int threads) {
    const size_t rows = codes.size(), items = seen.size(), blocks = block_count(rows, items);
    require(first.size() == rows && second.size() == rows, "one entry a row");
    const int32_t *one = first.data(), *other = second.data();
    const Code* code = codes.data();
    const uint8_t* won = side.data();
    nb::gil_scoped_release release;
    std::vector<std::vector<uint8_t>> marks(blocks);
    for_blocks(blocks, threads, [&](size_t block) {
        marks[block].assign(items, 0);
        mark_items(one, other, code, won, span_of(block, blocks, rows), marks[block].data());
    });
    std::fill_n(seen.data(), items, 0);
    for (const auto& own : marks)
        for (size_t item = 0; item < items; ++item) seen.data()[item] |= own[item];
}

// By item, of the pairs where it is the first and of those where it is the second: wins of the first item, and votes.
template <typename Code>
void sum_patterns(const Ints& first, const Ints& second, const Array<const Code>& pattern, const Doubles& wins,
                  const Doubles& votes, OutDoubles as_first, OutDoubles as_second, int threads) {
    const size_t n = pattern.size(), sums = as_first.size(), patterns = wins.size();
    const size_t blocks = block_count(n, 2 * sums);
    require(first.size() == n && second.size() == n && votes.size() == patterns, "one entry a row, or a pattern");
    require(as_second.size() == sums && sums % 2 == 0, "two sums an item");
    std::vector<double> table(2 * patterns);
    for (size_t p = 0; p < patterns; ++p) {
        table[2 * p] = wins.data()[p];
        table[2 * p + 1] = votes.data()[p];
    }
    nb::gil_scoped_release release;
    std::vector<double> parts(blocks * 2 * sums, 0.0);
    for_blocks(blocks, threads, [&](size_t block) {
        double *of_first = parts.data() + block * 2 * sums, *of_second = of_first + sums;
        const Span span = span_of(block, blocks, n);
        for (size_t row = span.begin; row < span.end; ++row) {
            const double* known = table.data() + 2 * static_cast<size_t>(pattern.data()[row]);
            double* one = of_first + 2 * static_cast<size_t>(first.data()[row]);
            double* other = of_second + 2 * static_cast<size_t>(second.data()[row]);
            one[0] += known[0];
            one[1] += known[1];
            other[0] += known[0];
            other[1] += known[1];
        }
    });
    std::fill_n(as_first.data(), sums, 0.0);
    std::fill_n(as_second.data(), sums, 0.0);
    for (size_t block = 0; block < blocks; ++block) {
        const double* own = parts.data() + block * 2 * sums;
        for (size_t k = 0; k < sums; ++k) as_first.data()[k] += own[k];
        for (size_t k = 0; k < sums; ++k) as_second.data()[k] += own[sums + k];
    }
}

}  // namespace

void bind_patterns(nb::module_& m) {
    m.def("patterns", &patterns);
    m.def("list_votes", &list_votes);
    m.def("sum_patterns", &sum_patterns<uint8_t>);
    m.def("sum_patterns", &sum_patterns<int32_t>);
    m.def("list_likelihoods", &list_likelihoods);
    m.def("mark_ballots", &mark_ballots);
    m.def("jury_patterns", &jury_patterns);
    m.def("mark_verdicts", &mark_verdicts);
    m.def("number_verdicts", &number_verdicts<uint8_t>);
    m.def("number_verdicts", &number_verdicts<int32_t>);
    m.def("mark_sides", &mark_sides<uint8_t>);
    m.def("mark_sides", &mark_sides<int32_t>);
    m.def("mark_sides", &mark_sides<double>);
}

}  // namespace jamrank
