// Where the fields of a delimited text end, 64 bytes at a time.
#pragma once

#if defined(__SSE2__) && defined(__GNUC__)
#include <emmintrin.h>
#endif

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace jamrank {

constexpr uint8_t kQuote = '"', kNewline = '\n', kReturn = '\r';

// The lowest bit that is set.
inline unsigned lowest_bit(uint64_t bits) {
#if defined(__GNUC__)
    return static_cast<unsigned>(__builtin_ctzll(bits));
#else
    unsigned at = 0;
    for (; !(bits & 1); bits >>= 1) ++at;
    return at;
#endif
}

// 64 bytes of text, in which bytes are looked for: bit k of what is found is byte k.
class Bytes64 {
  public:
#if defined(__SSE2__) && defined(__GNUC__)
    explicit Bytes64(const uint8_t* text) {
        for (int part = 0; part < 4; ++part) part_[part] = _mm_loadu_si128(reinterpret_cast<const __m128i*>(text) + part);
    }
    uint64_t equal(uint8_t byte) const {
        const __m128i wanted = _mm_set1_epi8(static_cast<char>(byte));
        uint64_t found = 0;
        for (int part = 0; part < 4; ++part) {
            const int bits = _mm_movemask_epi8(_mm_cmpeq_epi8(part_[part], wanted));
            found |= static_cast<uint64_t>(static_cast<uint32_t>(bits)) << (16 * part);
        }
        return found;
    }

  private:
    __m128i part_[4];
#else
    explicit Bytes64(const uint8_t* text) : text_(text) {}
    uint64_t equal(uint8_t byte) const {
        uint64_t found = 0;
        for (int k = 0; k < 64; ++k) found |= static_cast<uint64_t>(text_[k] == byte) << k;
        return found;
    }

  private:
    const uint8_t* text_;
#endif
};

// The delimiters and newlines outside quotes of a text, from the beginning of a line on.
class Separators {
  public:
    Separators(const uint8_t* begin, const uint8_t* end, uint8_t delimiter) : at_(begin), end_(end), delimiter_(delimiter) {}

    bool done() const { return at_ == end_; }

    // Appends where what follows each of those in the next 64 bytes begins. False where quotes do not plainly enclose whole fields, or a
    // return comes before anything but a newline.
    bool next(const uint8_t**& out) {
        const size_t left = static_cast<size_t>(end_ - at_);
        if (left >= sizeof last_) return look(at_, sizeof last_, out);
        std::memcpy(last_, at_, left);
        return look(last_, left, out);
    }

  private:
    bool look(const uint8_t* bytes, size_t count, const uint8_t**& out) {
        const Bytes64 text(bytes);
        const uint64_t quotes = text.equal(kQuote), returns = text.equal(kReturn), newlines = text.equal(kNewline);
        const uint64_t inside = within(quotes) ^ (uint64_t{0} - inside_);
        uint64_t found = (newlines | text.equal(delimiter_)) & ~inside;
        const uint64_t opening = quotes & inside, closing = quotes & ~inside;
        const uint64_t odd = (opening & ~(found << 1 | found_)) | ((closing << 1 | closing_) & ~(found | (returns & ~inside))) |
                             ((returns << 1 | return_) & ~newlines);
        inside_ = inside >> 63;
        found_ = found >> 63;
        closing_ = closing >> 63;
        return_ = returns >> 63;
        for (; found; found &= found - 1) *out++ = at_ + lowest_bit(found) + 1;
        at_ += count;
        return !odd && !(at_ == end_ && inside_);
    }
    // From each quote with an even number before it up to the next one, without that one.
    static uint64_t within(uint64_t quotes) {
        if (quotes)
            for (int shift = 1; shift < 64; shift *= 2) quotes ^= quotes << shift;
        return quotes;
    }

    const uint8_t *at_, *end_;
    uint8_t delimiter_;
    uint8_t last_[64] = {};  // the last bytes of the text, and zeros
    // What the last byte of those before was: whether inside quotes, a separator, a closing quote, a return.
    uint64_t inside_ = 0, found_ = 1, closing_ = 0, return_ = 0;
};

}  // namespace jamrank
