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
/// A vector stored as a matrix of one column.
struct Column {
  AlignedBuffer<float>* values;
};
/// A tensor that has to equal one already there.
struct SameAs {
  const kernels::WeightMatrix* matrix;
};

using Shape = std::vector<std::uint64_t>;
using Destination = std::variant<kernels::WeightMatrix*, AlignedBuffer<float>*, Matrix*, Transposed,
                                 Column, SameAs>;

struct TensorSlot {
  std::string name;
  Shape shape;  // in the file: [values] or [rows, cols]
  Destination destination;

  int rows() const { return shape.size() == 1 ? 1 : static_cast<int>(shape.front()); }
  int cols() const { return static_cast<int>(shape.back()); }
  /// Room for the tensor of `file`, matrices of weights in `type`. Errors: out_of_memory.
  Result<void> allocate(kernels::WeightType type, const char* file) const;
  /// Whether level_row has to see every row before one is stored.
  bool needs_levelling() const;
  void level_row(const float* values) const;
  /// Stores values[0 .. cols()) of one file row. False where SameAs finds a difference.
  bool store_row(int row, const float* values) const;
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
