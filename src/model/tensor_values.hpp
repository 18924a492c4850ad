// The learned tensors of a loaded model, to be looked at.
#pragma once

#include <span>
#include <string>

#include "src/model/weights.hpp"

namespace relata {

/// One tensor [rows, cols] as 32-bit floats (of int8 what the rounded numbers stand for), by the
/// name it has in the schema of model_type "relata", whatever its file called it: README, "The
/// schema". A vector is one row. rows: those of a matrix, in this order; all where empty. A table
/// of relations that serves all layers is every layer's. Errors: tensor_missing where the model has
/// no such tensor, input_invalid where that has no such row, out_of_memory.
Result<Matrix> read_tensor(const Model& model, const std::string& name, std::span<const int> rows);

}  // namespace relata
