// Sorting by one piece of code for whatever is sorted: a library's sort is a copy of two kilobytes
// for every type.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

namespace relata {

/// The indices 0 .. count - 1 in order, equal ones as they were (merge sort).
std::vector<std::size_t> sorted_order(std::size_t count, const void* items,
                                      bool (*less)(const void* items, std::size_t a,
                                                   std::size_t b));

/// Sorts, equal items as they were. Less: without state.
template <class T, class Less>
void sort_stably(std::vector<T>& items, Less) {
  const auto less = [](const void* all, std::size_t a, std::size_t b) {
    const T* const each = static_cast<const T*>(all);
    return Less()(each[a], each[b]);
  };
  std::vector<T> sorted;
  sorted.reserve(items.size());
  for (const std::size_t at : sorted_order(items.size(), items.data(), less)) {
    sorted.push_back(std::move(items[at]));
  }
  items = std::move(sorted);
}

}  // namespace relata
