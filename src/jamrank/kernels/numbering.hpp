// Numbers of distinct keys, by hashing.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

namespace jamrank {

inline void fetch_early(const void* address) {
#if defined(__GNUC__)
    __builtin_prefetch(address);
#else
    (void)address;
#endif
}

// Distinct keys in the order in which they are first met; at least half of the table is empty.
template <typename Key>
class Numbering {
  public:
    Numbering() : slots_(kFirst) {}

    // The number of a key, given its hash; `same` compares keys whose hashes agree.
    template <typename Same>
    int32_t number(uint64_t hash, Key key, const Same& same) {
        size_t at = place(hash);
        for (; slots_[at].number >= 0; at = (at + 1) & (slots_.size() - 1))
            if (slots_[at].hash == hash && same(keys_[slots_[at].number], key)) return slots_[at].number;
        const int32_t fresh = static_cast<int32_t>(keys_.size());
        slots_[at] = {hash, fresh};
        keys_.push_back(key);
        if (2 * keys_.size() > slots_.size()) grow();
        return fresh;
    }
    const std::vector<Key>& keys() const { return keys_; }
    // Brings the place of a hash into the cache.
    void fetch(uint64_t hash) const { fetch_early(&slots_[place(hash)]); }
    // Puts an equal key, which stays, in the place of the newest one.
    void move_last(Key key) { keys_.back() = key; }

  private:
    struct Slot {
        uint64_t hash = 0;
        int32_t number = -1;
    };
    static constexpr size_t kFirst = 1 << 10;

    size_t place(uint64_t hash) const { return (hash ^ (hash >> 32)) & (slots_.size() - 1); }
    void grow() {
        std::vector<Slot> old(2 * slots_.size());
        old.swap(slots_);
        for (const Slot& slot : old) {
            if (slot.number < 0) continue;
            size_t at = place(slot.hash);
            while (slots_[at].number >= 0) at = (at + 1) & (slots_.size() - 1);
            slots_[at] = slot;
        }
    }
    std::vector<Slot> slots_;
    std::vector<Key> keys_;
};

// Fewer than eight bytes as one number, which together with their count says all.
inline uint64_t short_word(const uint8_t* bytes, size_t width) {
    if (width < 4) return width ? bytes[0] | uint64_t{bytes[width / 2]} << 8 | uint64_t{bytes[width - 1]} << 16 : 0;
    uint32_t first, last;
    std::memcpy(&first, bytes, 4);
    std::memcpy(&last, bytes + width - 4, 4);
    return first | uint64_t{last} << 32;
}

// Every bit of a word must reach the lowest bits: names often differ in their last characters alone.
inline uint64_t hash_bytes(const uint8_t* bytes, size_t width) {
    uint64_t hash = width;
    const auto mix = [&hash](uint64_t word) {
        hash = (hash ^ word) * 0x9E3779B97F4A7C15u;
        hash = (hash ^ (hash >> 32)) * 0xD6E8FEB86659FD93u;
    };
    const auto word = [](const uint8_t* from) {
        uint64_t found;
        std::memcpy(&found, from, 8);
        return found;
    };
    if (width < 8) {
        mix(short_word(bytes, width));
        return hash;
    }
    for (size_t at = 0; at + 8 < width; at += 8) mix(word(bytes + at));
    mix(word(bytes + width - 8));
    return hash;
}

}  // namespace jamrank
