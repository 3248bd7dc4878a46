// The fields of a delimited text file, coded as they are read: the text may be dropped after each part.
#include "bindings.hpp"

#include <nanobind/stl/vector.h>

#if defined(__SSE2__) && defined(__GNUC__)
#include <emmintrin.h>
#endif

#include <cstring>
#include <memory>
#include <vector>

#include "blocks.hpp"
#include "numbering.hpp"

namespace jamrank {
namespace {

struct Word {
    const uint8_t* begin;
    size_t size;
};

bool same_word(Word one, Word other) {
    if (one.size != other.size) return false;
    if (one.size < 8 || one.size > 16) return std::memcmp(one.begin, other.begin, one.size) == 0;
    const auto differ = [&](size_t at) {
        uint64_t a, b;
        std::memcpy(&a, one.begin + at, 8);
        std::memcpy(&b, other.begin + at, 8);
        return a ^ b;
    };
    return (differ(0) | differ(one.size - 8)) == 0;
}

// Memory for words, which stay where they are.
class Words {
  public:
    Words() = default;
    Words(Words&&) = default;
    Words& operator=(Words&&) = default;

    Word keep(Word word) {
        if (kPage - used_ < word.size || pages_.empty()) {
            pages_.emplace_back(new uint8_t[std::max(kPage, word.size)]);
            used_ = 0;
        }
        uint8_t* begin = pages_.back().get() + used_;
        std::memcpy(begin, word.begin, word.size);
        used_ = std::min(used_ + word.size, kPage);
        return {begin, word.size};
    }

  private:
    static constexpr size_t kPage = 1 << 16;
    std::vector<std::unique_ptr<uint8_t[]>> pages_;
    size_t used_ = 0;
};

// The distinct words that one thread has met in the columns of one kind, and the common code of each.
struct Met {
    Numbering<Word> numbering;
    Words words;
    std::vector<int32_t> common;
};

class FieldCodes {
  public:
    // kinds: Which columns share their codes; one number for each column, from 0.
    FieldCodes(int delimiter, std::vector<size_t> kinds)
        : delimiter_(static_cast<uint8_t>(delimiter)), kinds_(std::move(kinds)), n_kinds_(0) {
        for (const size_t kind : kinds_) n_kinds_ = std::max(n_kinds_, kind + 1);
        all_.resize(n_kinds_);
    }

    FieldCodes(const FieldCodes&) = delete;
    FieldCodes& operator=(const FieldCodes&) = delete;

    // Codes the fields of whole lines, -1 for empty ones; returns how many lines, or -1 where one is irregular.
    int64_t scan(const Array<const uint8_t>& text, int threads) {
        const size_t size = text.size(), parts = std::min<size_t>(std::max(threads, 1), kMostParts);
        require(size == 0 || text.data()[size - 1] == kNewline, "whole lines");
        nb::gil_scoped_release release;
        const std::vector<size_t> begin = line_starts(text.data(), size, parts);
        while (met_.size() < parts) met_.emplace_back(n_kinds_);
        codes_.assign(parts, {});
        std::vector<char> whole(parts);
        for_blocks(parts, threads, [&](size_t part) {
            whole[part] = read(text.data() + begin[part], text.data() + begin[part + 1], met_[part], codes_[part]);
        });
        size_t n_codes = 0;
        for (size_t part = 0; part < parts; ++part) {
            if (!whole[part]) return -1;
            n_codes += codes_[part].size();
        }
        for (size_t part = 0; part < parts; ++part)
            for (size_t kind = 0; kind < n_kinds_; ++kind) merge(met_[part][kind], all_[kind]);
        return static_cast<int64_t>(n_codes / kinds_.size());
    }

    // Writes the codes of one column of the lines that were scanned last.
    void column(size_t column, OutInts codes, int threads) const {
        const size_t width = kinds_.size();
        require(column < width, "a column");
        std::vector<size_t> begin(1, 0);
        for (const auto& own : codes_) begin.push_back(begin.back() + own.size() / width);
        require(codes.size() == begin.back(), "one code a line");
        nb::gil_scoped_release release;
        for_blocks(codes_.size(), threads, [&](size_t part) {
            const std::vector<int32_t>&own = codes_[part], &common = met_[part][kinds_[column]].common;
            int32_t* out = codes.data() + begin[part];
            for (size_t at = column; at < own.size(); at += width) *out++ = own[at] < 0 ? -1 : common[own[at]];
        });
    }

    // The distinct words of a kind, by code.
    nb::list words(size_t kind) const {
        require(kind < n_kinds_, "a kind");
        nb::list found;
        for (const Word word : all_[kind].keys())
            found.append(nb::steal(PyUnicode_DecodeUTF8(
                reinterpret_cast<const char*>(word.begin), static_cast<Py_ssize_t>(word.size), nullptr)));
        return found;
    }

  private:
    static constexpr size_t kMostParts = 16;
    static constexpr uint8_t kQuote = '"', kNewline = '\n', kReturn = '\r';

    // Where each part begins: at a line, outside quotes.
    static std::vector<size_t> line_starts(const uint8_t* text, size_t size, size_t parts) {
        std::vector<size_t> quotes(parts + 1, 0), begin(parts + 1, size);
        for_blocks(parts, static_cast<int>(parts), [&](size_t part) {
            const Span span = span_of(part, parts, size);
            quotes[part + 1] = std::count(text + span.begin, text + span.end, kQuote);
        });
        begin[0] = 0;
        for (size_t part = 1; part < parts; ++part) {
            quotes[part] += quotes[part - 1];
            bool inside = quotes[part] % 2;
            size_t at = span_of(part, parts, size).begin;
            for (; at < size && (inside || text[at] != kNewline); ++at) inside ^= text[at] == kQuote;
            begin[part] = std::max(std::min(at + 1, size), begin[part - 1]);
        }
        return begin;
    }

    // The rules of `regular_lines`: quotes enclose whole fields, and a return comes only before a newline.
    bool read(const uint8_t* at, const uint8_t* end, std::vector<Met>& met, std::vector<int32_t>& codes) const {
        std::vector<uint8_t> plain;
        const size_t width = kinds_.size();
        codes.reserve(static_cast<size_t>(end - at) / 8);
        while (at < end) {
            for (size_t column = 0; column < width; ++column) {
                const uint8_t* begin = at;
                Word word;
                if (at < end && *at == kQuote) {
                    at = closing(at + 1, end, plain);
                    if (at == nullptr) return false;
                    word = plain.empty() ? Word{begin + 1, static_cast<size_t>(at - begin - 2)}
                                         : Word{plain.data(), plain.size()};
                } else {
                    at = stop(at, end);
                    word = {begin, static_cast<size_t>(at - begin)};
                }
                const bool last = column + 1 == width;
                if (last && at < end && *at == kReturn) ++at;
                if (at >= end || *at != (last ? kNewline : delimiter_)) return false;
                ++at;
                codes.push_back(word.size ? code(word, met[kinds_[column]]) : -1);
            }
        }
        return true;
    }

    // The next byte that ends a field or is not allowed in one without quotes.
    const uint8_t* stop(const uint8_t* at, const uint8_t* end) const {
#if defined(__SSE2__) && defined(__GNUC__)
        const auto all = [](uint8_t c) { return _mm_set1_epi8(static_cast<char>(c)); };
        for (; end - at >= 16; at += 16) {
            const __m128i text = _mm_loadu_si128(reinterpret_cast<const __m128i*>(at));
            const __m128i ends = _mm_or_si128(_mm_cmpeq_epi8(text, all(delimiter_)), _mm_cmpeq_epi8(text, all(kNewline)));
            const __m128i odd = _mm_or_si128(_mm_cmpeq_epi8(text, all(kReturn)), _mm_cmpeq_epi8(text, all(kQuote)));
            const int found = _mm_movemask_epi8(_mm_or_si128(ends, odd));
            if (found) return at + __builtin_ctz(static_cast<unsigned>(found));
        }
#endif
        while (at < end && *at != delimiter_ && *at != kNewline && *at != kReturn && *at != kQuote) ++at;
        return at;
    }

    // Returns what follows the closing quote, none where there is none; `plain` gets the text if quotes in it are
    // doubled.
    static const uint8_t* closing(const uint8_t* at, const uint8_t* end, std::vector<uint8_t>& plain) {
        plain.clear();
        for (const uint8_t* begin = at; at < end; ++at) {
            if (*at == kReturn && (at + 1 == end || at[1] != kNewline)) return nullptr;
            if (*at != kQuote) continue;
            const bool doubled = at + 1 < end && at[1] == kQuote;
            if (doubled || !plain.empty()) plain.insert(plain.end(), begin, at + doubled);
            if (!doubled) return at + 1;
            begin = ++at + 1;
        }
        return nullptr;
    }

    static int32_t code(Word word, Met& met) {
        const size_t before = met.numbering.keys().size();
        const int32_t number = met.numbering.number(hash_bytes(word.begin, word.size), word, same_word);
        if (met.numbering.keys().size() > before) met.numbering.move_last(met.words.keep(word));
        return number;
    }

    static void merge(Met& met, Numbering<Word>& all) {
        const std::vector<Word>& words = met.numbering.keys();
        for (size_t own = met.common.size(); own < words.size(); ++own)
            met.common.push_back(all.number(hash_bytes(words[own].begin, words[own].size), words[own], same_word));
    }

    uint8_t delimiter_;
    std::vector<size_t> kinds_;
    size_t n_kinds_;
    std::vector<std::vector<Met>> met_;
    std::vector<Numbering<Word>> all_;
    std::vector<std::vector<int32_t>> codes_;
};

}  // namespace

void bind_fields(nb::module_& m) {
    nb::class_<FieldCodes>(m, "FieldCodes")
        .def(nb::init<int, std::vector<size_t>>())
        .def("scan", &FieldCodes::scan)
        .def("column", &FieldCodes::column)
        .def("words", &FieldCodes::words);
}

}  // namespace jamrank
