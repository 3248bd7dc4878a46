// Votes as integers that sort by pair, question and annotator.
#include "bindings.hpp"

#include <vector>

#include "blocks.hpp"

namespace jamrank {
namespace {

// A vote is packed into the bits of one integer, from the highest: the items of its pair in order, its question, its
// annotator, whether it was shown the other way round, and its result seen from the pair's order.
constexpr uint64_t kDecided = 2;  // results below this have a side

void pack_votes(const Ints& left, const Ints& right, const Ints& annotator, const Ints& question,
                const Array<const int8_t>& result, int item_bits, int question_bits, int annotator_bits,
                Array<int64_t> keys, int threads) {
    const size_t n = keys.size();
    require(left.size() == n && right.size() == n && annotator.size() == n && result.size() == n, "one entry a vote");
    require(question.size() == 0 || question.size() == n, "question must be empty or one a vote");
    require(2 * item_bits + question_bits + annotator_bits + 3 <= 63, "too many bits");
    nb::gil_scoped_release release;
    const size_t blocks = block_count(n, 1);
    const int32_t *lefts = left.data(), *rights = right.data(), *who = annotator.data();
    const int32_t* asked = question.size() ? question.data() : nullptr;
    const int8_t* results = result.data();
    int64_t* packed = keys.data();
    for_blocks(blocks, threads, [=](size_t block) {
        const Span span = span_of(block, blocks, n);
        for (size_t v = span.begin; v < span.end; ++v) {
            // Without branches: the side of the first item is unpredictable.
            const int64_t a = lefts[v], b = rights[v];
            const uint64_t swapped = static_cast<uint64_t>(b - a) >> 63, turn = (a ^ b) & -swapped;
            const auto said = static_cast<uint64_t>(results[v]);
            uint64_t key = (a ^ turn) << item_bits | (b ^ turn);
            key = key << question_bits | (asked ? static_cast<uint64_t>(asked[v]) : 0);
            key = key << annotator_bits | static_cast<uint64_t>(who[v]);
            key = key << 3 | swapped << 2 | (said ^ (swapped & (said < kDecided)));
            packed[v] = static_cast<int64_t>(key);
        }
    });
}

// Where the pairs of sorted keys begin; `begins[block]` counts those of the blocks before.
std::vector<size_t> pairs_before(const int64_t* keys, size_t n, int inner, size_t blocks, int threads) {
    std::vector<size_t> begins(blocks + 1, 0);
    for_blocks(blocks, threads, [&](size_t block) {
        const Span span = span_of(block, blocks, n);
        size_t count = 0;
        for (size_t v = span.begin; v < span.end; ++v) count += v == 0 || keys[v] >> inner != keys[v - 1] >> inner;
        begins[block + 1] = count;
    });
    for (size_t block = 0; block < blocks; ++block) begins[block + 1] += begins[block];
    return begins;
}

size_t count_pairs(const Array<const int64_t>& keys, int inner_bits, int threads) {
    nb::gil_scoped_release release;
    return pairs_before(keys.data(), keys.size(), inner_bits, block_count(keys.size(), 1), threads).back();
}

// Sorted keys to votes and pairs; `start` has one entry more than there are pairs.
void unpack_votes(const Array<const int64_t>& keys, int item_bits, int question_bits, int annotator_bits, OutInts first,
                  OutInts second, OutInts question, Array<int64_t> start, OutInts annotator, Array<int8_t> result,
                  Array<bool> swapped, int threads) {
    const size_t n = keys.size(), pairs = first.size();
    const int inner = annotator_bits + 3;
    require(second.size() == pairs && start.size() == pairs + 1, "one entry a pair");
    require(question.size() == 0 || question.size() == pairs, "question must be empty or one a pair");
    require(annotator.size() == n && result.size() == n && swapped.size() == n, "one entry a vote");
    nb::gil_scoped_release release;
    const size_t blocks = block_count(n, 1);
    const std::vector<size_t> begins = pairs_before(keys.data(), n, inner, blocks, threads);
    require(begins.back() == pairs, "the keys have another number of pairs");
    const auto low = [](int bits) { return (uint64_t{1} << bits) - 1; };
    const int64_t* packed = keys.data();
    int32_t *firsts = first.data(), *seconds = second.data(), *asked = question.size() ? question.data() : nullptr;
    int32_t* who = annotator.data();
    int64_t* starts = start.data();
    int8_t* results = result.data();
    bool* turned = swapped.data();
    // By value: a byte pointer may alias anything.
    for_blocks(blocks, threads, [=, &begins](size_t block) {
        const Span span = span_of(block, blocks, n);
        const auto own_pair = [=](size_t v) { return static_cast<uint64_t>(packed[v]) >> inner; };
        const auto vote = [=](size_t v) {
            const auto key = static_cast<uint64_t>(packed[v]);
            who[v] = static_cast<int32_t>(key >> 3 & low(annotator_bits));
            results[v] = static_cast<int8_t>(key & 3);
            turned[v] = key >> 2 & 1;
        };
        size_t v = span.begin;
        // Votes on the last pair of the block before.
        for (; v < span.end && v > 0 && own_pair(v) == own_pair(v - 1); ++v) vote(v);
        uint64_t before = ~uint64_t{0};
        size_t pair = begins[block], begin = v;
        for (; v < span.end; ++v) {
            vote(v);
            // Without branches: where a pair ends is unpredictable. Further votes write the same for theirs once more.
            const uint64_t own = own_pair(v), both = own >> question_bits;
            const bool fresh = own != before;
            before = own;
            pair += fresh;
            begin = fresh ? v : begin;
            firsts[pair - 1] = static_cast<int32_t>(both >> item_bits);
            seconds[pair - 1] = static_cast<int32_t>(both & low(item_bits));
            if (asked) asked[pair - 1] = static_cast<int32_t>(own & low(question_bits));
            starts[pair - 1] = static_cast<int64_t>(begin);
        }
    });
    start.data()[pairs] = static_cast<int64_t>(n);
}

// Votes as words: the kind of each (twice its annotator plus 1 if it is for the first item), which takes `kind_bits`, and
// above it how often the vote is counted. Returns how often all are; -1 where a weight is no whole number or too large.
template <typename Word>
int64_t pack_kinds(const Ints& annotator, const Array<const int8_t>& result, const Doubles& weight, int kind_bits,
                   Array<Word> words) {
    const size_t n = words.size();
    require(annotator.size() == n && result.size() == n, "one entry a vote");
    require(weight.size() == 0 || weight.size() == n, "weight must be empty or one a vote");
    require(kind_bits > 0 && kind_bits < static_cast<int>(8 * sizeof(Word)), "bits for kinds and for numbers");
    const double most = (uint64_t{1} << (8 * sizeof(Word) - kind_bits)) - 1;
    const int32_t* who = annotator.data();
    const int8_t* results = result.data();
    const double* weights = weight.size() ? weight.data() : nullptr;
    Word* out = words.data();
    nb::gil_scoped_release release;
    int64_t total = 0;
    bool fits = true;
    for (size_t v = 0; v < n; ++v) {
        const double own = weights ? weights[v] : 1.0;
        const auto times = static_cast<int32_t>(own <= most ? own : -1.0);
        const uint32_t counted = results[v] < static_cast<int8_t>(kDecided) ? static_cast<uint32_t>(times) : 0u;
        fits &= static_cast<double>(times) == own;
        total += counted;
        out[v] = static_cast<Word>(counted << kind_bits | static_cast<uint32_t>(2 * who[v] + (results[v] & 1)));
    }
    return fits ? total : -1;
}

// How long runs are, given where each begins and, at last, where all end; returns whether a byte holds every length.
bool run_lengths(const Array<const int64_t>& start, Array<uint8_t> lengths) {
    require(start.size() == lengths.size() + 1, "one length a run");
    const int64_t* begin = start.data();
    uint8_t* out = lengths.data();
    nb::gil_scoped_release release;
    bool fits = true;
    for (size_t k = 0; k < lengths.size(); ++k) {
        const int64_t length = begin[k + 1] - begin[k];
        fits &= length <= 255;
        out[k] = static_cast<uint8_t>(length);
    }
    return fits;
}

}  // namespace

void bind_packing(nb::module_& m) {
    m.def("pack_votes", &pack_votes);
    m.def("pack_kinds", &pack_kinds<uint16_t>);
    m.def("pack_kinds", &pack_kinds<uint32_t>);
    m.def("run_lengths", &run_lengths);
    m.def("count_pairs", &count_pairs);
    m.def("unpack_votes", &unpack_votes);
}

}  // namespace jamrank
