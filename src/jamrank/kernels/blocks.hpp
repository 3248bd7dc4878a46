// Work in blocks, shared among threads.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <thread>
#include <vector>

namespace jamrank {

constexpr size_t kBlockRows = 32768, kMostBlocks = 64, kMostAccumulators = size_t{1} << 22;

// The number of blocks depends on the data alone, never on the threads: that fixes the order of every sum.
inline size_t block_count(size_t rows, size_t accumulators) {
    const size_t by_rows = (rows + kBlockRows - 1) / kBlockRows;
    const size_t by_memory = std::max<size_t>(1, kMostAccumulators / std::max<size_t>(1, accumulators));
    return std::max<size_t>(1, std::min({by_rows, by_memory, kMostBlocks}));
}

template <typename Work>
void for_blocks(size_t blocks, int threads, const Work& work) {
    std::atomic<size_t> next{0};
    const auto drain = [&] {
        for (size_t block = next++; block < blocks; block = next++) work(block);
    };
    std::vector<std::thread> helpers;
    const size_t wanted = std::min<size_t>(std::max(threads, 1), blocks);
    for (size_t t = 1; t < wanted; ++t) helpers.emplace_back(drain);
    drain();
    for (auto& helper : helpers) helper.join();
}

struct Span {
    size_t begin, end;
};

inline Span span_of(size_t block, size_t blocks, size_t rows) {
    return {rows * block / blocks, rows * (block + 1) / blocks};
}

}  // namespace jamrank
