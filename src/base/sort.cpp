#include "src/base/sort.hpp"

#include <algorithm>

namespace relata {

std::vector<std::size_t> sorted_order(std::size_t count, const void* items,
                                      bool (*less)(const void* items, std::size_t a,
                                                   std::size_t b)) {
  std::vector<std::size_t> order(count);
  std::vector<std::size_t> merged(count);
  for (std::size_t i = 0; i < count; ++i) {
    order[i] = i;
  }
  for (std::size_t width = 1; width < count; width *= 2) {
    for (std::size_t first = 0; first < count; first += 2 * width) {
      const std::size_t middle = std::min(first + width, count);
      const std::size_t end = std::min(middle + width, count);
      std::size_t left = first;
      std::size_t right = middle;
      for (std::size_t at = first; at < end; ++at) {
        const bool from_right =
            left == middle || (right < end && less(items, order[right], order[left]));
        merged[at] = order[from_right ? right++ : left++];
      }
    }
    order.swap(merged);
  }
  return order;
}

}  // namespace relata
