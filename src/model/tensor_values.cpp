#include "src/model/tensor_values.hpp"

#include <algorithm>
#include <iterator>
#include <string_view>
#include <utility>

namespace relata {
namespace {

using kernels::WeightMatrix;

/// Where a tensor is; nowhere where the model has none of that name.
struct Found {
  const WeightMatrix* matrix = nullptr;
  MatrixView<const float> rows;        // or plain rows
  const Relation* relation = nullptr;  // or one of its tables
  Matrix RelationTables::* table = nullptr;
};

/// The words of names. Looked up in one place and then told apart by number: compared one by one
/// where they are expected, they take twice the space in the WebAssembly module.
enum class Part {
  encoder,
  decoder,
  embedding,
  decoder_embedding,
  lm_head,
  positions,
  decoder_positions,
  layers,
  final_norm,
  self_attention_norm,
  cross_attention_norm,
  feed_forward_norm,
  self_attention,
  cross_attention,
  feed_forward,
  query,
  key,
  value,
  output,
  input,
  gate,
  relation_keys,
  relation_values,
  relation_bias,
  weight,
  bias,
  none
};
constexpr std::string_view kWords =
    "encoder decoder embedding decoder_embedding lm_head positions decoder_positions layers "
    "final_norm self_attention_norm cross_attention_norm feed_forward_norm self_attention "
    "cross_attention feed_forward query key value output input gate relation_keys relation_values "
    "relation_bias weight bias ";

/// Neighbours among the words; `place` is where a word stands in its row, far beyond it for others.
constexpr Norm LayerWeights::* kNorms[] = {&LayerWeights::self_attention_norm,
                                           &LayerWeights::cross_attention_norm,
                                           &LayerWeights::feed_forward_norm};
constexpr Linear AttentionWeights::* kAttentionMaps[] = {
    &AttentionWeights::query, &AttentionWeights::key, &AttentionWeights::value,
    &AttentionWeights::output};
constexpr Linear FeedForwardWeights::* kFeedForwardMaps[] = {
    &FeedForwardWeights::output, &FeedForwardWeights::input, &FeedForwardWeights::gate};
constexpr Matrix RelationTables::* kTables[] = {&RelationTables::keys, &RelationTables::values,
                                                &RelationTables::bias};
constexpr unsigned place(Part part, Part first) {
  return static_cast<unsigned>(part) - static_cast<unsigned>(first);
}

/// The way through a model by the parts of a name, one after the other.
class Search {
 public:
  Search(const Weights& weights, std::string_view name) : rest_(name) {
    const Part part = next();
    if (part == Part::encoder || part == Part::decoder) {
      in_stack(part == Part::encoder ? weights.encoder : weights.decoder);
    } else {
      in_tables(weights, part, next());
    }
    if (!ended_) {
      found_ = {};
    }
  }

  const Found& found() const { return found_; }

 private:
  /// Empty behind the last.
  [[gnu::noinline]] std::string_view next_text() {
    const std::size_t dot = rest_.find('.');
    const std::string_view text = rest_.substr(0, dot);
    ended_ = dot == std::string_view::npos;
    rest_.remove_prefix(ended_ ? rest_.size() : dot + 1);
    return text;
  }

  [[gnu::noinline]] Part next() {
    const std::string_view text = next_text();
    std::string_view words = kWords;
    int part = 0;
    for (; !words.empty(); ++part) {
      const std::size_t end = words.find(' ');
      if (words.substr(0, end) == text) {
        break;
      }
      words.remove_prefix(end + 1);
    }
    return static_cast<Part>(part);
  }

  void take(const WeightMatrix& matrix) { found_.matrix = matrix.cols() > 0 ? &matrix : nullptr; }
  void take(const Matrix& matrix) { found_.rows = matrix.view(); }
  void take(const AlignedBuffer<float>& values) {
    found_.rows = {values.data(), 1, static_cast<int>(values.size()), 0};
  }

  void in_tables(const Weights& weights, Part part, Part what) {
    if (part == Part::lm_head && what == Part::bias) {
      return take(weights.logits_bias);
    }
    if (what != Part::weight) {
      return;
    }
    switch (part) {
      case Part::embedding:
        return take(weights.embedding);
      case Part::decoder_embedding:
        return take(weights.decoder_embedding);
      case Part::lm_head:
        return take(weights.lm_head);
      case Part::positions:
        return take(weights.positions);
      case Part::decoder_positions:
        return take(weights.decoder_positions);
      default:
        return;
    }
  }

  void in_stack(const StackWeights& stack) {
    const Part part = next();
    if (part == Part::final_norm) {
      return in_part(stack.final_norm);
    }
    const std::string_view number = part == Part::layers ? next_text() : std::string_view();
    int layer = number.empty() ? -1 : 0;
    for (const char digit : number) {
      if (digit < '0' || digit > '9' || layer > 99999) {
        return;
      }
      layer = 10 * layer + digit - '0';
    }
    if (layer >= 0 && layer < static_cast<int>(stack.layers.size())) {
      in_layer(stack.layers[static_cast<std::size_t>(layer)], stack.relation_of(layer));
    }
  }

  void in_layer(const LayerWeights& layer, const Relation* relation) {
    const Part part = next();
    if (const unsigned at = place(part, Part::self_attention_norm); at < std::size(kNorms)) {
      in_part(layer.*kNorms[at]);
    } else if (part == Part::feed_forward) {
      if (const unsigned map = place(next(), Part::output); map < std::size(kFeedForwardMaps)) {
        in_part(layer.feed_forward.*kFeedForwardMaps[map]);
      }
    } else if (part == Part::self_attention) {
      in_attention(layer.self_attention, relation);
    } else if (part == Part::cross_attention) {
      in_attention(layer.cross_attention, nullptr);
    }
  }

  [[gnu::noinline]] void in_attention(const AttentionWeights& weights, const Relation* relation) {
    const Part part = next();
    if (const unsigned at = place(part, Part::query); at < std::size(kAttentionMaps)) {
      in_part(weights.*kAttentionMaps[at]);
    } else if (const unsigned of = place(part, Part::relation_keys); of < std::size(kTables)) {
      found_.relation = relation;
      found_.table = kTables[of];
    }
  }

  /// What a linear map or a norm is made of.
  template <class Of>
  [[gnu::noinline]] void in_part(const Of& of) {
    const Part what = next();
    if (what == Part::weight) {
      take(of.weight);
    } else if (what == Part::bias) {
      take(of.bias);
    }
  }

  std::string_view rest_;
  bool ended_ = false;
  Found found_;
};

}  // namespace

Result<Matrix> read_tensor(const Model& model, const std::string& name, std::span<const int> rows) {
  Found found = Search(model.weights, name).found();
  RelationTables tables;
  if (found.relation != nullptr) {
    RELATA_TRY_ASSIGN(tables, found.relation->tables());
    found.rows = std::as_const(tables.*found.table).view();
  }
  const WeightMatrix* matrix = found.matrix;
  const int count = matrix != nullptr ? matrix->cols() : found.rows.rows;
  const int cols = matrix != nullptr ? matrix->depth() : found.rows.cols;
  if (count == 0 || cols == 0) {
    return fail(ErrorCode::tensor_missing, name, "this model has no such tensor");
  }
  Matrix result;
  const int asked = rows.empty() ? count : static_cast<int>(rows.size());
  RELATA_TRY(result.reset(asked, cols, name.c_str()));
  for (int i = 0; i < asked; ++i) {
    const int row = rows.empty() ? i : rows[static_cast<std::size_t>(i)];
    if (row < 0 || row >= count) {
      return fail(ErrorCode::input_invalid, "rows",
                  {"this tensor has ", count, " rows and no row ", row});
    }
    float* const values = result.view().row(i);
    if (matrix != nullptr) {
      matrix->copy_row(row, values);
    } else {
      std::copy_n(found.rows.row(row), cols, values);
    }
  }
  return result;
}

}  // namespace relata
