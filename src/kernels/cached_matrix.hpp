// What attention keeps of the positions it has seen, one head's keys or values.
#pragma once

#include <cstdint>

#include "src/kernels/rounded.hpp"
#include "src/kernels/weight_matrix.hpp"

namespace relata::kernels {

/// Keys are the columns of a product with queries, values the depth of a product with weights.
enum class CachedRole { keys, values };

/// The keys or values of one head, packed as the products read them: in f32, or beside int8 weights
/// in integers of 12 or 13 bits with a scale for every position, which are half as large and whose
/// products are the same to the bit in every build.
class CachedMatrix {
 public:
  CachedMatrix() = default;
  /// Errors: out_of_memory.
  static Result<CachedMatrix> allocate(CachedRole role, WeightType type, int capacity, int head_dim,
                                       const char* where);
  /// Sets the key or value [head_dim] of a position.
  void set(int position, const float* values);
  /// The first `length` positions = those of source, which has the same role, type and head_dim.
  void copy_from(const CachedMatrix& source, int length);

  CachedRole role() const { return role_; }
  WeightType type() const { return type_; }
  int head_dim() const { return head_dim_; }
  /// The first `length` positions as second operand; keys in whole vectors, of which those past
  /// `length` are to be computed and never read.
  PackedView f32(int length) const;
  RoundedView rounded(int length) const;

 private:
  CachedRole role_ = CachedRole::keys;
  WeightType type_ = WeightType::f32;
  int head_dim_ = 0;
  PackedMatrix f32_;
  AlignedBuffer<std::int16_t> rounded_;  // panels of keys or of head_dim, see RoundedView
  AlignedBuffer<float> scales_;          // [capacity, padded to a panel]
  std::ptrdiff_t panel_stride_ = 0;
};

/// output = start + input * the first `length` positions; start: the output itself, or null data
/// for zero. Keys: input [n, head_dim], output [n, length in whole vectors]. Values: input [n,
/// length], output [n, head_dim]. scratch is used beside int8 weights only: n rows of as many
/// values as input has.
void matmul(MatrixView<const float> input, const CachedMatrix& cached, int length,
            MatrixView<const float> start, RoundedRows& scratch, MatrixView<float> output);

}  // namespace relata::kernels
