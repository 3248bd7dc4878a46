// The lines of a delimited text file.
#include "bindings.hpp"

#include <algorithm>
#include <vector>

#include "blocks.hpp"

namespace jamrank {
namespace {

// A text of lines with `width` fields each, some of which may be quoted; the scan of one block of it.
class Lines {
  public:
    Lines(const uint8_t* text, size_t size, uint8_t delimiter, size_t width)
        : text_(text), size_(size), delimiter_(delimiter), width_(width) {}

    static constexpr uint8_t kQuote = '"', kNewline = '\n', kReturn = '\r';

    size_t quotes(size_t begin, size_t end) const { return std::count(text_ + begin, text_ + end, kQuote); }

    // Counts the lines that begin in a block; -1 where one is irregular. `inside` is whether the block begins inside
    // a quoted field.
    int64_t count(size_t begin, size_t end, bool inside) const {
        size_t at = begin;
        if (begin > 0) {
            // A line that began earlier belongs to the block before.
            const bool fresh = !inside && text_[begin - 1] == kNewline;
            for (; !fresh && at < size_; ++at) {
                if (text_[at] == kQuote) inside = !inside;
                if (!inside && text_[at] == kNewline) break;
            }
            at += !fresh;
        }
        int64_t lines = 0;
        for (size_t fields = 1; at < size_; ++at) {
            if (at >= end && fields == 1 && !inside && (at == 0 || text_[at - 1] == kNewline)) break;
            const uint8_t c = text_[at];
            if (c == kQuote) {
                inside = !inside;
                if (!fits(at, inside)) return -1;
            } else if (c == kReturn && (at + 1 == size_ || text_[at + 1] != kNewline)) {
                return -1;
            } else if (!inside && c == delimiter_) {
                ++fields;
            } else if (!inside && c == kNewline) {
                if (fields != width_) return -1;
                fields = 1;
                ++lines;
            }
        }
        return lines;
    }

  private:
    bool edge(size_t at) const {
        const uint8_t c = text_[at];
        return c == delimiter_ || c == kNewline || c == kReturn || c == kQuote;
    }
    // A quote that opens must begin a field and one that closes must end it; two in a row stand for one.
    bool fits(size_t at, bool opens) const {
        return opens ? at == 0 || edge(at - 1) : at + 1 == size_ || edge(at + 1);
    }
    const uint8_t* text_;
    size_t size_;
    uint8_t delimiter_;
    size_t width_;
};

// Counts the lines of a text, which ends with a newline; -1 unless every one has `width` fields.
int64_t regular_lines(const Array<const uint8_t>& text, int delimiter, size_t width, int threads) {
    const size_t size = text.size();
    nb::gil_scoped_release release;
    const Lines lines(text.data(), size, static_cast<uint8_t>(delimiter), width);
    const size_t blocks = block_count(size, 1);
    std::vector<size_t> quotes(blocks + 1, 0);
    for_blocks(blocks, threads, [&](size_t block) {
        const Span span = span_of(block, blocks, size);
        quotes[block + 1] = lines.quotes(span.begin, span.end);
    });
    for (size_t block = 0; block < blocks; ++block) quotes[block + 1] += quotes[block];
    if (size == 0 || quotes[blocks] % 2 || text.data()[size - 1] != Lines::kNewline) return -1;
    std::vector<int64_t> counts(blocks);
    for_blocks(blocks, threads, [&](size_t block) {
        const Span span = span_of(block, blocks, size);
        counts[block] = lines.count(span.begin, span.end, quotes[block] % 2);
    });
    int64_t total = 0;
    for (const int64_t count : counts) {
        if (count < 0) return -1;
        total += count;
    }
    return total;
}

}  // namespace

void bind_text(nb::module_& m) { m.def("regular_lines", &regular_lines); }

}  // namespace jamrank
