// The fields of a delimited text file, coded as they are read: the text may be dropped after each part.
#include "bindings.hpp"

#include <nanobind/stl/vector.h>

#if defined(__SSE2__) && defined(__GNUC__)
#include <emmintrin.h>
#endif

#include <cstring>
#include <vector>

#include "blocks.hpp"
#include "words.hpp"

namespace jamrank {
namespace {

class FieldCodes {
  public:
    // kinds: Which columns share their codes; one number for each column, from 0, or -1 for one that is passed over.
    FieldCodes(int delimiter, std::vector<int> kinds)
        : delimiter_(static_cast<uint8_t>(delimiter)), kinds_(std::move(kinds)), n_kinds_(0) {
        for (const int kind : kinds_) n_kinds_ = std::max(n_kinds_, static_cast<size_t>(kind + 1));
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
            for (size_t kind = 0; kind < n_kinds_; ++kind) met_[part][kind].merge(all_[kind]);
        return static_cast<int64_t>(n_codes / kinds_.size());
    }

    // Writes the codes of one column of the lines that were scanned last.
    void column(size_t column, OutInts codes, int threads) const {
        const size_t width = kinds_.size();
        require(column < width && kinds_[column] >= 0, "a column that is coded");
        std::vector<size_t> begin(1, 0);
        for (const auto& own : codes_) begin.push_back(begin.back() + own.size() / width);
        require(codes.size() == begin.back(), "one code a line");
        nb::gil_scoped_release release;
        for_blocks(codes_.size(), threads, [&](size_t part) {
            const std::vector<int32_t>& own = codes_[part];
            const Met& met = met_[part][kinds_[column]];
            int32_t* out = codes.data() + begin[part];
            for (size_t at = column; at < own.size(); at += width) *out++ = own[at] < 0 ? -1 : met.common(own[at]);
        });
    }

    // The distinct words of a kind, by code.
    nb::list words(size_t kind) const {
        require(kind < n_kinds_, "a kind");
        return as_list(all_[kind].keys());
    }

  private:
    static constexpr size_t kMostParts = 16, kLines = 16;
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
        const size_t width = kinds_.size();
        codes.reserve(static_cast<size_t>(end - at) / 8);
        // Words are looked up some lines later, when their places in the tables have been fetched.
        std::vector<Hashed> line(kLines * width);
        std::vector<std::vector<uint8_t>> plain;
        while (at < end) {
            size_t n = 0;
            for (; at < end && n < line.size(); ++n) {
                const bool last = n % width + 1 == width;
                const uint8_t* begin = at;
                Word word;
                if (at < end && *at == kQuote) {
                    std::vector<uint8_t> text;
                    at = closing(at + 1, end, text);
                    if (at == nullptr) return false;
                    word = text.empty() ? Word{begin + 1, static_cast<size_t>(at - begin - 2)} : Word{text.data(), text.size()};
                    if (!text.empty()) plain.push_back(std::move(text));
                } else {
                    at = stop(at, end);
                    word = {begin, static_cast<size_t>(at - begin)};
                }
                if (last && at < end && *at == kReturn) ++at;
                if (at >= end || *at != (last ? kNewline : delimiter_)) return false;
                ++at;
                const int kind = kinds_[n % width];
                line[n] = kind < 0 ? Hashed{{nullptr, 0}, 0} : met[kind].hashed(word);
            }
            if (n % width) return false;
            for (size_t k = 0; k < n; ++k) codes.push_back(line[k].word.size ? met[kinds_[k % width]].code(line[k]) : -1);
            plain.clear();
        }
        return true;
    }

    // The next byte that ends a field or is not allowed in one without quotes.
    const uint8_t* stop(const uint8_t* at, const uint8_t* end) const {
        return next_of(at, end, delimiter_, kNewline, kReturn, kQuote);
    }

    // The next byte that is one of four.
    static const uint8_t* next_of(const uint8_t* at, const uint8_t* end, uint8_t a, uint8_t b, uint8_t c, uint8_t d) {
#if defined(__SSE2__) && defined(__GNUC__)
        const auto all = [](uint8_t byte) { return _mm_set1_epi8(static_cast<char>(byte)); };
        for (; end - at >= 16; at += 16) {
            const __m128i text = _mm_loadu_si128(reinterpret_cast<const __m128i*>(at));
            const __m128i one = _mm_or_si128(_mm_cmpeq_epi8(text, all(a)), _mm_cmpeq_epi8(text, all(b)));
            const __m128i other = _mm_or_si128(_mm_cmpeq_epi8(text, all(c)), _mm_cmpeq_epi8(text, all(d)));
            const int found = _mm_movemask_epi8(_mm_or_si128(one, other));
            if (found) return at + __builtin_ctz(static_cast<unsigned>(found));
        }
#endif
        while (at < end && *at != a && *at != b && *at != c && *at != d) ++at;
        return at;
    }

    // Returns what follows the closing quote, none where there is none; `plain` gets the text if quotes in it are
    // doubled.
    static const uint8_t* closing(const uint8_t* at, const uint8_t* end, std::vector<uint8_t>& plain) {
        plain.clear();
        for (const uint8_t* begin = at; at < end; ++at) {
            at = next_of(at, end, kQuote, kReturn, kQuote, kReturn);
            if (at == end || (*at == kReturn && (at + 1 == end || at[1] != kNewline))) return nullptr;
            if (*at != kQuote) continue;
            const bool doubled = at + 1 < end && at[1] == kQuote;
            if (doubled || !plain.empty()) plain.insert(plain.end(), begin, at + doubled);
            if (!doubled) return at + 1;
            begin = ++at + 1;
        }
        return nullptr;
    }

    uint8_t delimiter_;
    std::vector<int> kinds_;
    size_t n_kinds_;
    std::vector<std::vector<Met>> met_;
    std::vector<Numbering<Word>> all_;
    std::vector<std::vector<int32_t>> codes_;
};

}  // namespace

void bind_fields(nb::module_& m) {
    nb::class_<FieldCodes>(m, "FieldCodes")
        .def(nb::init<int, std::vector<int>>())
        .def("scan", &FieldCodes::scan)
        .def("column", &FieldCodes::column)
        .def("words", &FieldCodes::words);
}

}  // namespace jamrank
