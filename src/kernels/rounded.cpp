#include "src/kernels/rounded.hpp"

namespace relata::kernels {

Result<RoundedRows> RoundedRows::allocate(int rows, int max_depth, const char* where) {
  const auto count = static_cast<std::uint64_t>(rows);
  const auto depth = static_cast<std::uint64_t>(max_depth);
  RoundedRows scratch;
  RELATA_TRY(scratch.values.reset(count * (depth + depth % 2), where));
  RELATA_TRY(scratch.scales.reset(count, where));
  return scratch;
}

}  // namespace relata::kernels
