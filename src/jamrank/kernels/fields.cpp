// The fields of a delimited text file, coded as they are read: the text may be dropped after each part.
#include "bindings.hpp"

#include <nanobind/stl/pair.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <limits>
#include <vector>

#include "blocks.hpp"
#include "separators.hpp"
#include "words.hpp"

namespace jamrank {
namespace {

// What is to be known of a span of text before it is read.
struct Survey {
    bool odd_quotes, ascii, zeros;
};

Survey survey(const uint8_t* at, const uint8_t* end) {
    constexpr size_t kLanes = 64;
    uint8_t odd[kLanes] = {}, all[kLanes] = {}, zero[kLanes] = {};
    const auto look = [&](uint8_t byte, size_t lane) {
        odd[lane] ^= byte == kQuote;
        all[lane] |= byte;
        zero[lane] |= byte == 0;
    };
    for (; static_cast<size_t>(end - at) >= kLanes; at += kLanes)
        for (size_t lane = 0; lane < kLanes; ++lane) look(at[lane], lane);
    for (; at < end; ++at) look(*at, 0);
    uint8_t quotes = 0, bits = 0, empty = 0;
    for (size_t lane = 0; lane < kLanes; ++lane) {
        quotes ^= odd[lane];
        bits |= all[lane];
        empty |= zero[lane];
    }
    return {quotes != 0, bits < 128, empty != 0};
}

// A part of the text: how many lines it has, and the codes of each column that is coded.
struct Part {
    size_t n_lines = 0;
    std::vector<std::vector<int32_t>> codes;
};

// Reads whole lines of one part of the text. The rules are those of `regular_lines`: quotes enclose whole fields, and a
// return comes only before a newline.
class Reader {
  public:
    Reader(const std::vector<int>& kinds, uint8_t delimiter, std::vector<Met>& met, Part& part)
        : width_(kinds.size()), delimiter_(delimiter), met_(met), part_(part) {
        for (size_t column = 0; column < width_; ++column)
            if (kinds[column] >= 0) coded_.push_back({column, static_cast<size_t>(kinds[column])});
        keys_.resize(kLines * coded_.size());
        part_.n_lines = 0;
        part_.codes.resize(coded_.size());
        for (auto& codes : part_.codes) codes.clear();
    }

    // Returns false where a line is irregular.
    bool read(const uint8_t* at, const uint8_t* end) {
        while (at < end)
            if (!read_plain(at, end) || !read_any(at, end)) return false;
        return true;
    }

  private:
    struct Coded {
        size_t column, kind;
    };
    static constexpr size_t kLines = 32, kFewLines = 64;

    // Reads lines up to one with quotes within a field.
    bool read_plain(const uint8_t*& at, const uint8_t* end) {
        // Where fields begin, and what follows the last one.
        std::vector<const uint8_t*> begins(1 + kLines * width_ + 64);
        const uint8_t **const first = begins.data(), **const full = first + 1 + kLines * width_, **out = first;
        *out++ = at;
        Separators separators(at, end, delimiter_);
        for (bool plain = true; plain && !separators.done();) {
            while (plain && !separators.done() && out < full) {
                const uint8_t** next = out;
                plain = separators.next(next);
                if (plain) out = next;
            }
            const uint8_t** line = first;
            while (const size_t count = std::min(static_cast<size_t>(out - line - 1) / width_, kLines)) {
                if (!take(line, count, end)) return false;
                line += count * width_;
            }
            at = *line;
            out = std::copy(line, out, first);
        }
        return true;
    }

    // Codes lines, given where their fields begin. Returns false where a line has more or fewer of them.
    bool take(const uint8_t* const* begins, size_t n_lines, const uint8_t* end) {
        bool wrong = false;
        for (size_t line = 0; line < n_lines; ++line)
            for (size_t column = 0; column < width_; ++column)
                wrong |= (begins[line * width_ + column + 1][-1] == kNewline) != (column + 1 == width_);
        if (wrong) return false;
        for (size_t k = 0; k < coded_.size(); ++k) {
            const Met& met = met_[coded_[k].kind];
            const uint8_t* const* own = begins + coded_[k].column;
            for (size_t line = 0; line < n_lines; ++line, own += width_) {
                const uint8_t *first = own[0], *last = own[1] - 1;
                last -= last > first && last[-1] == kReturn;
                const bool quoted = *first == kQuote;
                first += quoted;
                last -= quoted;
                keys_[k * kLines + line] = KeyedWord({first, static_cast<size_t>(last - first)}, end);
                met.fetch(keys_[k * kLines + line]);
            }
        }
        look_up(n_lines);
        return true;
    }

    void look_up(size_t n_lines) {
        for (size_t k = 0; k < coded_.size(); ++k) {
            Met& met = met_[coded_[k].kind];
            std::vector<int32_t>& codes = part_.codes[k];
            codes.resize(codes.size() + n_lines);
            int32_t* code = &codes.back() + 1 - n_lines;
            const KeyedWord* key = &keys_[k * kLines];
            for (size_t line = 0; line < n_lines; ++line)
                code[line] = key[line].word.size ? met.code(key[line]) : -1;
        }
        part_.n_lines += n_lines;
    }

    // Reads a few lines of any kind.
    bool read_any(const uint8_t*& at, const uint8_t* end) {
        std::vector<uint8_t> text;
        for (size_t line = 0; line < kFewLines && at < end; ++line) {
            size_t k = 0;
            for (size_t column = 0; column < width_; ++column) {
                const bool last = column + 1 == width_;
                Word word;
                at = field(at, end, word, text);
                if (at == nullptr) return false;
                if (last && at < end && *at == kReturn) ++at;
                if (at >= end || *at != (last ? kNewline : delimiter_)) return false;
                ++at;
                if (k == coded_.size() || coded_[k].column != column) continue;
                // The text of a field with doubled quotes is gone when the next one is read.
                part_.codes[k].push_back(word.size ? met_[coded_[k].kind].code(KeyedWord(word, word.begin)) : -1);
                ++k;
            }
            ++part_.n_lines;
        }
        return true;
    }

    // Returns what follows a field, none where a quote is not closed; `text` gets its text if quotes in it are doubled.
    const uint8_t* field(const uint8_t* at, const uint8_t* end, Word& word, std::vector<uint8_t>& text) const {
        const uint8_t* begin = at;
        if (*at != kQuote) {
            while (at < end && *at != delimiter_ && *at != kNewline && *at != kReturn && *at != kQuote) ++at;
            word = {begin, static_cast<size_t>(at - begin)};
            return at;
        }
        at = closing(at + 1, end, text);
        if (at == nullptr) return nullptr;
        word = text.empty() ? Word{begin + 1, static_cast<size_t>(at - begin - 2)} : Word{text.data(), text.size()};
        return at;
    }

    static const uint8_t* closing(const uint8_t* at, const uint8_t* end, std::vector<uint8_t>& text) {
        text.clear();
        for (const uint8_t* begin = at; at < end; ++at) {
            while (at < end && *at != kQuote && *at != kReturn) ++at;
            if (at == end || (*at == kReturn && (at + 1 == end || at[1] != kNewline))) return nullptr;
            if (*at != kQuote) continue;
            const bool doubled = at + 1 < end && at[1] == kQuote;
            if (doubled || !text.empty()) text.insert(text.end(), begin, at + doubled);
            if (!doubled) return at + 1;
            begin = ++at + 1;
        }
        return nullptr;
    }

    size_t width_;
    uint8_t delimiter_;
    std::vector<Met>& met_;
    Part& part_;
    std::vector<Coded> coded_;
    std::vector<KeyedWord> keys_;
};

class FieldCodes {
  public:
    // kinds: Which columns share their codes; one number for each column, from 0, or -1 for one that is passed over.
    FieldCodes(int delimiter, std::vector<int> kinds) : delimiter_(static_cast<uint8_t>(delimiter)), kinds_(std::move(kinds)) {
        size_t n_kinds = 0;
        for (const int kind : kinds_) {
            places_.push_back(kind < 0 ? -1 : static_cast<int>(n_coded_++));
            n_kinds = std::max(n_kinds, static_cast<size_t>(kind + 1));
        }
        all_.resize(n_kinds);
    }

    FieldCodes(const FieldCodes&) = delete;
    FieldCodes& operator=(const FieldCodes&) = delete;

    // Codes the fields of the whole lines at the beginning of a text, -1 for empty ones. Returns how many bytes these lines
    // have; -1 where one is irregular, or a byte is zero.
    int64_t scan(const Array<const uint8_t>& given, int threads) {
        const size_t parts = std::min<size_t>(std::max(threads, 1), kMostParts);
        const uint8_t* text = given.data();
        nb::gil_scoped_release release;
        std::vector<size_t> begin;
        const int64_t size = find_lines(text, given.size(), parts, begin);
        while (met_.size() < parts) met_.emplace_back(all_.size());
        parts_.resize(parts);
        n_lines_ = 0;
        if (size <= 0) return size;
        std::vector<char> whole(parts);
        for_blocks(parts, threads, [&](size_t part) {
            Reader reader(kinds_, delimiter_, met_[part], parts_[part]);
            whole[part] = reader.read(text + begin[part], text + begin[part + 1]);
        });
        for (size_t part = 0; part < parts; ++part) {
            if (!whole[part]) return -1;
            n_lines_ += parts_[part].n_lines;
            for (size_t kind = 0; kind < all_.size(); ++kind) met_[part][kind].merge(all_[kind]);
        }
        return size;
    }

    size_t n_lines() const { return n_lines_; }
    bool ascii() const { return ascii_; }
    size_t n_words(size_t kind) const {
        require(kind < all_.size(), "a kind");
        return all_[kind].keys().size();
    }

    // Writes the codes of one column of the lines that were scanned last; returns the lowest and the highest.
    template <typename Code>
    std::pair<int, int> column(size_t column, Array<Code> codes, int threads) const {
        require(column < kinds_.size() && kinds_[column] >= 0, "a column that is coded");
        require(codes.size() == n_lines_, "one code a line");
        require(n_words(kinds_[column]) <= static_cast<size_t>(std::numeric_limits<Code>::max()), "codes that fit");
        nb::gil_scoped_release release;
        const size_t place = static_cast<size_t>(places_[column]), parts = n_lines_ ? parts_.size() : 0;
        std::vector<size_t> begin(1, 0);
        for (size_t part = 0; part < parts; ++part) begin.push_back(begin.back() + parts_[part].n_lines);
        std::vector<std::pair<int, int>> bounds(parts, {0, -1});
        for_blocks(parts, threads, [&](size_t part) {
            const Met& met = met_[part][kinds_[column]];
            Code* out = codes.data() + begin[part];
            int32_t low = 0, high = -1;
            for (const int32_t own : parts_[part].codes[place]) {
                const int32_t code = own < 0 ? -1 : met.common(own);
                low = std::min(low, code);
                high = std::max(high, code);
                *out++ = static_cast<Code>(code);
            }
            bounds[part] = {low, high};
        });
        std::pair<int, int> found{0, -1};
        for (const auto& own : bounds) found = {std::min(found.first, own.first), std::max(found.second, own.second)};
        return found;
    }

    // The distinct words of a kind, by code.
    nb::list words(size_t kind) const {
        require(kind < all_.size(), "a kind");
        return as_list(all_[kind].keys());
    }

  private:
    static constexpr size_t kMostParts = 16;

    // Finds how many bytes whole lines have, and where those of each part begin: at a line, outside quotes.
    int64_t find_lines(const uint8_t* text, size_t size, size_t parts, std::vector<size_t>& begin) {
        std::vector<Survey> found(parts);
        for_blocks(parts, static_cast<int>(parts), [&](size_t part) {
            const Span span = span_of(part, parts, size);
            found[part] = survey(text + span.begin, text + span.end);
        });
        bool inside = false;
        ascii_ = true;
        for (const Survey& own : found) {
            if (own.zeros) return -1;
            ascii_ &= own.ascii;
            inside ^= own.odd_quotes;
        }
        size_t end = size;
        for (; end > 0 && (inside || text[end - 1] != kNewline); --end) inside ^= text[end - 1] == kQuote;
        begin.assign(parts + 1, end);
        begin[0] = 0;
        inside = false;
        for (size_t part = 1; part < parts; ++part) {
            inside ^= found[part - 1].odd_quotes;
            bool within = inside;
            size_t at = span_of(part, parts, size).begin;
            for (; at < end && (within || text[at] != kNewline); ++at) within ^= text[at] == kQuote;
            begin[part] = std::max(std::min(at + 1, end), begin[part - 1]);
        }
        return static_cast<int64_t>(end);
    }

    uint8_t delimiter_;
    std::vector<int> kinds_, places_;
    size_t n_coded_ = 0, n_lines_ = 0;
    bool ascii_ = true;
    std::vector<std::vector<Met>> met_;
    std::vector<Numbering<Word>> all_;
    std::vector<Part> parts_;
};

}  // namespace

void bind_fields(nb::module_& m) {
    nb::class_<FieldCodes>(m, "FieldCodes")
        .def(nb::init<int, std::vector<int>>())
        .def("scan", &FieldCodes::scan)
        .def("column", &FieldCodes::column<int8_t>)
        .def("column", &FieldCodes::column<int16_t>)
        .def("column", &FieldCodes::column<int32_t>)
        .def("words", &FieldCodes::words)
        .def("n_words", &FieldCodes::n_words)
        .def_prop_ro("n_lines", &FieldCodes::n_lines)
        .def_prop_ro("ascii", &FieldCodes::ascii);
}

}  // namespace jamrank
