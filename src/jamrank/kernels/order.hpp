// Whether pairs of ids are sorted.
#pragma once

#include <algorithm>
#include <cstddef>

namespace jamrank {

// Whether pairs `begin` to `end` are not sorted and distinct, or name a higher id first; the first is compared with the one
// before it. Comparisons are numbers of the width of an id, which the compiler can turn into vector instructions.
template <typename Id>
bool out_of_order(const Id* a, const Id* b, size_t begin, size_t end) {
    Id wrong = begin < end && a[begin] >= b[begin];
    for (size_t k = std::max<size_t>(begin, 1); k < end; ++k) {
        const Id falls = a[k] < a[k - 1], same = a[k] == a[k - 1], behind = b[k] <= b[k - 1], turned = a[k] >= b[k];
        wrong |= falls | (same & behind) | turned;
    }
    return wrong != 0;
}

}  // namespace jamrank
