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
    return one.size == other.size && (one.size == 0 || std::memcmp(one.begin, other.begin, one.size) == 0);
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

// A word as two numbers and its size: its bytes where they are few, else a hash of them.
struct KeyedWord {
    static constexpr size_t kFew = 16;

    // end: Of the memory that may be read.
    KeyedWord(Word given, const uint8_t* end) : word(given) {
        static constexpr uint8_t kKept[2 * kFew] = {255, 255, 255, 255, 255, 255, 255, 255,
                                                    255, 255, 255, 255, 255, 255, 255, 255};
        if (given.size > kFew) {
            low = hash_bytes(given.begin, given.size);
            high = 0;
        } else if (end - given.begin >= static_cast<std::ptrdiff_t>(kFew)) {
            const uint8_t* kept = kKept + kFew - given.size;
            low = eight(given.begin) & eight(kept);
            high = eight(given.begin + 8) & eight(kept + 8);
        } else {
            uint8_t bytes[kFew] = {};
            if (given.size) std::memcpy(bytes, given.begin, given.size);
            low = eight(bytes);
            high = eight(bytes + 8);
        }
        // Every bit must reach the highest ones, which say the place: names often differ in their last characters alone.
        hash = (low ^ given.size) * 0x9E3779B97F4A7C15u;
        hash = ((hash ^ (hash >> 32)) + high) * 0xD6E8FEB86659FD93u;
    }
    KeyedWord() = default;
    static KeyedWord empty() {
        static constexpr uint8_t kNothing = 0;
        return {{&kNothing, 0}, &kNothing};
    }

    Word word;
    uint64_t low, high, hash;

  private:
    static uint64_t eight(const uint8_t* from) {
        uint64_t found;
        std::memcpy(&found, from, 8);
        return found;
    }
};

// The distinct words that one thread has met, and the common code of each.
class Met {
  public:
    Met() : slots_(size_t{1} << kFirstBits) {}

    // Brings the place of a word in the table into the cache, to be looked up some words later.
    void fetch(const KeyedWord& key) const { fetch_early(&slots_[place(key.hash)]); }

    int32_t code(const KeyedWord& key) {
        size_t at = place(key.hash);
        for (; slots_[at].number >= 0; at = (at + 1) & (slots_.size() - 1))
            if (slots_[at].holds(key) && (key.word.size <= KeyedWord::kFew || same_word(words_[slots_[at].number], key.word)))
                return slots_[at].number;
        const auto fresh = static_cast<int32_t>(words_.size());
        slots_[at] = {key.low, key.high, static_cast<uint32_t>(key.word.size), fresh, key.hash};
        words_.push_back(memory_.keep(key.word));
        if (2 * words_.size() > slots_.size()) grow();
        return fresh;
    }
    int32_t common(int32_t code) const { return common_[code]; }
    // Gives words that are new since the last time their common codes.
    void merge(Numbering<Word>& all) {
        for (size_t own = common_.size(); own < words_.size(); ++own)
            common_.push_back(all.number(hash_bytes(words_[own].begin, words_[own].size), words_[own], same_word));
    }

  private:
    // 32 bytes, so that none lies across two lines of the cache; at least half of the table is empty.
    struct Slot {
        uint64_t low = 0, high = 0;
        uint32_t size = 0;
        int32_t number = -1;
        uint64_t hash = 0;

        bool holds(const KeyedWord& key) const {
            return ((low ^ key.low) | (high ^ key.high) | (size ^ static_cast<uint32_t>(key.word.size))) == 0;
        }
    };
    static constexpr int kFirstBits = 10;

    size_t place(uint64_t hash) const { return static_cast<size_t>(hash >> shift_); }
    void grow() {
        std::vector<Slot> old(2 * slots_.size());
        old.swap(slots_);
        --shift_;
        for (const Slot& slot : old) {
            if (slot.number < 0) continue;
            size_t at = place(slot.hash);
            while (slots_[at].number >= 0) at = (at + 1) & (slots_.size() - 1);
            slots_[at] = slot;
        }
    }
    std::vector<Slot> slots_;
    int shift_ = 64 - kFirstBits;
    std::vector<Word> words_;
    Words memory_;
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
