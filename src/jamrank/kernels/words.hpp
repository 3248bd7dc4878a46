// Distinct words of texts that are dropped after they were read, numbered by threads.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

#include "bindings.hpp"
#include "numbering.hpp"

namespace jamrank {

struct Word {
    const uint8_t* begin;
    size_t size;
};

inline bool same_word(Word one, Word other) {
    if (one.size != other.size) return false;
    if (one.size < 8) return short_word(one.begin, one.size) == short_word(other.begin, other.size);
    if (one.size > 16) return std::memcmp(one.begin, other.begin, one.size) == 0;
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
        if (word.size == 0) return word;
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

// A word with its hash, to be looked up when its place in the table has been fetched.
struct Hashed {
    Word word;
    uint64_t hash;
};

// The distinct words that one thread has met, and the common code of each.
class Met {
  public:
    Hashed hashed(Word word) const {
        const Hashed found = {word, hash_bytes(word.begin, word.size)};
        numbering_.fetch(found.hash);
        return found;
    }
    int32_t code(const Hashed& found) {
        const size_t before = numbering_.keys().size();
        const int32_t number = numbering_.number(found.hash, found.word, same_word);
        if (numbering_.keys().size() > before) numbering_.move_last(words_.keep(found.word));
        return number;
    }
    int32_t common(int32_t code) const { return common_[code]; }
    // Gives words that are new since the last time their common codes.
    void merge(Numbering<Word>& all) {
        const std::vector<Word>& words = numbering_.keys();
        for (size_t own = common_.size(); own < words.size(); ++own)
            common_.push_back(all.number(hash_bytes(words[own].begin, words[own].size), words[own], same_word));
    }

  private:
    Numbering<Word> numbering_;
    Words words_;
    std::vector<int32_t> common_;
};

inline nb::list as_list(const std::vector<Word>& words) {
    nb::list found;
    for (const Word word : words)
        found.append(nb::steal(PyUnicode_DecodeUTF8(
            reinterpret_cast<const char*>(word.begin), static_cast<Py_ssize_t>(word.size), nullptr)));
    return found;
}

}  // namespace jamrank
