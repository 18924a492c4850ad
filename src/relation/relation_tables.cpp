// A relation's tables as its file had them, out of the forms they are kept in.
#include "src/relation/relation_effect.hpp"

namespace relata {
namespace {

/// The copies of a table, one below the other; nothing of none. packed: [num_relations columns], or
/// where `turned` [head_dim columns, depth num_relations].
Result<void> unpack(const std::vector<kernels::PackedMatrix>& copies, bool turned, Matrix& table) {
  const int count = static_cast<int>(copies.size());
  if (count == 0) {
    return {};
  }
  const int columns = copies[0].cols();
  const int depth = copies[0].depth();
  const int rows = turned ? depth : columns;
  Matrix column;
  RELATA_TRY(table.reset(count * rows, turned ? columns : depth, "relation table"));
  RELATA_TRY(column.reset(1, depth, "relation table"));
  float* const values = column.view().row(0);
  for (int copy = 0; copy < count; ++copy) {
    for (int col = 0; col < columns; ++col) {
      copies[static_cast<std::size_t>(copy)].copy_column(col, values);
      for (int k = 0; k < depth; ++k) {
        table.view().row(copy * rows + (turned ? k : col))[turned ? col : k] = values[k];
      }
    }
  }
  return {};
}

}  // namespace

Result<RelationTables> Relation::tables() const {
  RelationTables tables;
  if (vectors_ != nullptr) {
    RELATA_TRY(unpack(vectors_->keys, false, tables.keys));
    RELATA_TRY(unpack(vectors_->values, true, tables.values));
  }
  const MatrixView<const float> bias = bias_.view();
  if (bias.rows > 0) {
    RELATA_TRY(tables.bias.reset(bias.rows, index_.num_relations(), "relation table"));
    for (int entry = 0; entry < bias.cols; ++entry) {
      const int id = index_.by_distance() ? index_.ids()[static_cast<std::size_t>(entry)] : entry;
      for (int head = 0; head < bias.rows; ++head) {
        tables.bias.view().row(head)[id] = bias.row(head)[entry];
      }
    }
  }
  return tables;
}

}  // namespace relata
