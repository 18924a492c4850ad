// The configuration decides which tensors there are: every tensor of a model with the name and
// shape it has to have in the file and the place it is loaded to.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "src/formats/config_file.hpp"
#include "src/model/weights.hpp"

namespace relata::formats {

/// A matrix whose file rows are the columns of the destination.
struct Transposed {
  Matrix* matrix;
};
/// What integers are multiplied by, in any shape; no value may be negative. Zeros may come: a row
/// or a column of zeros has them.
struct Factor {
  AlignedBuffer<float>* values;
};
/// A tensor that has to equal one already there.
struct SameAs {
  const kernels::WeightMatrix* matrix;
};

using Shape = std::vector<std::uint64_t>;
using Destination = std::variant<kernels::WeightMatrix*, AlignedBuffer<float>*, Matrix*, Transposed,
                                 Factor, SameAs>;

struct TensorSlot {
  std::string name;
  Shape shape;  // in the file: [values] or [rows, cols]
  Destination destination;

  int rows() const { return shape.size() == 1 ? 1 : static_cast<int>(shape.front()); }
  int cols() const { return static_cast<int>(shape.back()); }
  /// About as much memory as the tensor takes.
  std::uint64_t bytes(kernels::WeightType type) const;
  /// Room for the tensor of `file`, matrices of weights in `type`. Errors: out_of_memory.
  Result<void> allocate(kernels::WeightType type, const char* file) const;
  /// Stores rows [n, cols()] of the file from `first` on. Returns the first row in which SameAs
  /// finds a difference, or -1.
  int store_rows(int first, MatrixView<const float> rows) const;
};

/// A model being loaded: the relations' tables wait here until they can be packed.
struct Unfinished {
  Model model;
  RelationIndex encoder_index;
  RelationIndex decoder_index;
  std::vector<RelationTables> encoder_tables;  // none, one shared by all layers, or one per layer
  std::vector<RelationTables> decoder_tables;

  /// Packs the tables into model.weights. Errors: out_of_memory, tensor_invalid.
  Result<void> make_relations();
};

/// Shapes `unfinished` after a checked configuration and lists its tensors, which point into it; it
/// may not move.
std::vector<TensorSlot> plan_tensors(const ConfigFile& file, bool tied, Unfinished& unfinished);

}  // namespace relata::formats
