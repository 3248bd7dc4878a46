// Numbers of distinct keys, by hashing.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

namespace jamrank {

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

inline uint64_t hash_bytes(const uint8_t* bytes, size_t width) {
    uint64_t hash = width;
    const auto mix = [&hash](uint64_t word) {
        hash = (hash ^ word) * 0x9E3779B97F4A7C15u;
        hash ^= hash >> 29;
    };
    const auto word = [](const uint8_t* from) {
        uint64_t found;
        std::memcpy(&found, from, 8);
        return found;
    };
    if (width < 8) {
        uint64_t last = 0;
        for (size_t k = 0; k < width; ++k) last |= uint64_t{bytes[k]} << (8 * k);
        mix(last);
        return hash;
    }
    for (size_t at = 0; at + 8 < width; at += 8) mix(word(bytes + at));
    mix(word(bytes + width - 8));
    return hash;
}

}  // namespace jamrank
