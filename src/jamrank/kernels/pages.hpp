// Memory for long arrays.
#pragma once

#if defined(__linux__)
#include <sys/mman.h>
#endif

#include <cstddef>
#include <cstdlib>
#include <new>

namespace jamrank {

// An array that is not cleared, in huge pages where there are such: places all over it are then found much faster.
template <typename Entry>
class Pages {
  public:
    explicit Pages(size_t count) {
#if defined(__linux__)
        const size_t size = (count * sizeof(Entry) + kHuge - 1) / kHuge * kHuge;
        if (size > kHuge && (memory_ = std::aligned_alloc(kHuge, size))) madvise(memory_, size, MADV_HUGEPAGE);
#endif
        if (!memory_) memory_ = std::malloc(count ? count * sizeof(Entry) : 1);
        if (!memory_) throw std::bad_alloc();
    }
    ~Pages() { std::free(memory_); }
    Pages(const Pages&) = delete;
    Pages& operator=(const Pages&) = delete;

    Entry* data() const { return static_cast<Entry*>(memory_); }

  private:
    static constexpr size_t kHuge = size_t{1} << 21;
    void* memory_ = nullptr;
};

}  // namespace jamrank
