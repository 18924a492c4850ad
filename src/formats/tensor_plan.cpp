#include "src/formats/tensor_plan.hpp"

#include <algorithm>
#include <utility>

namespace relata::formats {
namespace {

std::string join(std::string_view first, std::string_view second) {
  std::string name(first);
  if (!first.empty() && !second.empty()) {
    name += '.';
  }
  return name += second;
}

std::uint64_t size(int value) { return static_cast<std::uint64_t>(value); }

class Planner {
 public:
  Planner(const Config& config, const TensorNames& names) : config_(config), names_(names) {}

  /// Sizes are multiplied in 64 bits and compared with the file's before anything is narrowed.
  void add(std::string name, Shape shape, Destination destination) {
    slots_.push_back({std::move(name), std::move(shape), destination});
  }

  /// What belongs to no layer. The embedding comes first.
  void add_tables(bool tied, Weights& weights) {
    const std::uint64_t d_model = size(config_.d_model);
    const std::uint64_t vocab_size = size(config_.vocab_size);
    const bool shared = config_.source_vocab_size == 0;
    add(std::string(names_.embedding),
        {shared ? vocab_size : size(config_.source_vocab_size), d_model}, &weights.embedding);
    if (!shared) {
      add(std::string(names_.decoder_embedding), {vocab_size, d_model}, &weights.decoder_embedding);
    }
    if (!tied) {
      add(std::string(names_.lm_head), {vocab_size, d_model}, &weights.lm_head);
    }
    if (config_.logits_bias) {
      const Shape flat = {vocab_size};
      const Shape row = {1, vocab_size};
      add(std::string(names_.logits_bias), names_.logits_bias_in_row ? row : flat,
          &weights.logits_bias);
    }
    if (config_.positions.kind == PositionKind::table) {
      const Shape positions = {size(config_.positions.max_positions), d_model};
      add(std::string(names_.positions), positions, &weights.positions);
      if (config_.positions.per_stack) {
        add(std::string(names_.decoder_positions), positions, &weights.decoder_positions);
      }
    }
  }

  void add_stack(bool decoder, bool per_layer, const RelationConfig& relation, int num_relations,
                 StackWeights& stack, std::vector<RelationTables>& tables) {
    const std::string name = join(names_.stacks, decoder ? "decoder" : "encoder");
    const int num_layers = decoder ? config_.num_decoder_layers : config_.num_encoder_layers;
    stack.layers.resize(static_cast<std::size_t>(num_layers));
    if (relation.effect.kind != EffectKind::none) {
      tables.resize(per_layer ? stack.layers.size() : 1);
    }
    if (!per_layer && !tables.empty()) {
      add_relation(join(name, names_.shared_relation), relation, num_relations, tables[0]);
    }
    for (std::size_t i = 0; i < stack.layers.size(); ++i) {
      LayerWeights& layer = stack.layers[i];
      const std::string prefix = join(join(name, names_.layers), std::to_string(i));
      add_attention(join(prefix, names_.self_attention), layer.self_attention);
      if (per_layer) {
        add_relation(join(prefix, names_.self_attention), relation, num_relations, tables[i]);
      }
      add_norm(join(prefix, names_.self_attention_norm), layer.self_attention_norm);
      if (decoder) {
        add_attention(join(prefix, names_.cross_attention), layer.cross_attention);
        add_norm(join(prefix, names_.cross_attention_norm), layer.cross_attention_norm);
      }
      add_feed_forward(join(prefix, names_.feed_forward[decoder]), layer.feed_forward);
      add_norm(join(prefix, names_.feed_forward_norm[decoder]), layer.feed_forward_norm);
    }
    if (config_.norm_position == NormPosition::pre) {
      add_norm(join(name, names_.final_norm), stack.final_norm);
    }
  }

  std::vector<TensorSlot> finish() { return std::move(slots_); }

 private:
  void add_linear(const std::string& name, std::uint64_t out, std::uint64_t in, bool bias,
                  Linear& linear) {
    add(name + ".weight", {out, in}, &linear.weight);
    if (bias) {
      add(name + ".bias", {out}, &linear.bias);
    }
  }

  void add_norm(const std::string& name, Norm& norm) {
    add(name + ".weight", {size(config_.d_model)}, &norm.weight);
    if (config_.norm == NormKind::layer_norm) {
      add(name + ".bias", {size(config_.d_model)}, &norm.bias);
    }
  }

  void add_attention(const std::string& name, AttentionWeights& attention) {
    const std::uint64_t inner = size(config_.num_heads) * size(config_.head_dim);
    const std::uint64_t d_model = size(config_.d_model);
    const bool bias = config_.attention_bias;
    add_linear(join(name, names_.query), inner, d_model, bias, attention.query);
    add_linear(join(name, names_.key), inner, d_model, bias, attention.key);
    add_linear(join(name, names_.value), inner, d_model, bias, attention.value);
    add_linear(join(name, names_.output), d_model, inner, bias, attention.output);
  }

  void add_feed_forward(const std::string& name, FeedForwardWeights& feed_forward) {
    const std::uint64_t d_model = size(config_.d_model);
    const std::uint64_t d_ff = size(config_.d_ff);
    const bool bias = config_.feed_forward_bias;
    add_linear(join(name, names_.hidden_input), d_ff, d_model, bias, feed_forward.input);
    if (config_.gated) {
      add_linear(join(name, names_.hidden_gate), d_ff, d_model, bias, feed_forward.gate);
    }
    add_linear(join(name, names_.hidden_output), d_model, d_ff, bias, feed_forward.output);
  }

  void add_relation(const std::string& name, const RelationConfig& relation, int num_relations,
                    RelationTables& tables) {
    const std::uint64_t heads = size(config_.num_heads);
    const std::uint64_t relations = size(num_relations);
    if (relation.effect.kind == EffectKind::bias) {
      if (names_.bias_by_relation) {
        add(join(name, names_.relation_bias), {relations, heads}, Transposed{&tables.bias});
      } else {
        add(join(name, names_.relation_bias), {heads, relations}, &tables.bias);
      }
    }
    if (relation.effect.kind == EffectKind::vectors) {
      const std::uint64_t rows = (relation.effect.per_head ? heads : 1) * relations;
      if (relation.effect.keys) {
        add(join(name, names_.relation_keys), {rows, size(config_.head_dim)}, &tables.keys);
      }
      if (relation.effect.values) {
        add(join(name, names_.relation_values), {rows, size(config_.head_dim)}, &tables.values);
      }
    }
  }

  const Config& config_;
  const TensorNames& names_;
  std::vector<TensorSlot> slots_;
};

Result<void> make_stack_relations(const Config& config, const RelationIndex& index,
                                  const RelationEffectConfig& effect,
                                  std::vector<RelationTables>& tables, StackWeights& stack) {
  for (RelationTables& table : tables) {
    RELATA_TRY_ASSIGN(Relation relation, Relation::make(index, effect, config.num_heads,
                                                        config.head_dim, std::move(table)));
    stack.relations.push_back(std::move(relation));
  }
  return {};
}

struct Allocate {
  const TensorSlot& slot;
  kernels::WeightType type;
  const char* where;

  Result<void> operator()(kernels::WeightMatrix* matrix) const {
    RELATA_TRY_ASSIGN(*matrix,
                      kernels::WeightMatrix::allocate(type, slot.rows(), slot.cols(), where));
    return {};
  }
  Result<void> operator()(AlignedBuffer<float>* values) const {
    return values->reset(slot.shape.back(), where);
  }
  Result<void> operator()(Matrix* matrix) const {
    return matrix->reset(slot.rows(), slot.cols(), where);
  }
  Result<void> operator()(Transposed transposed) const {
    return transposed.matrix->reset(slot.cols(), slot.rows(), where);
  }
  Result<void> operator()(Factor factor) const {
    return factor.values->reset(size(slot.rows()) * size(slot.cols()), where);
  }
  Result<void> operator()(SameAs) const { return {}; }
};

struct StoreRow {
  int row;
  int cols;
  const float* values;

  bool operator()(kernels::WeightMatrix*) const { return true; }  // takes whole panels
  bool operator()(AlignedBuffer<float>* buffer) const {
    std::copy_n(values, cols, buffer->data());
    return true;
  }
  bool operator()(Matrix* matrix) const {
    std::copy_n(values, cols, matrix->view().row(row));
    return true;
  }
  bool operator()(Transposed transposed) const {
    for (int col = 0; col < cols; ++col) {
      transposed.matrix->view().row(col)[row] = values[col];
    }
    return true;
  }
  bool operator()(Factor factor) const {
    std::copy_n(values, cols, factor.values->data() + static_cast<std::ptrdiff_t>(row) * cols);
    return true;
  }
  bool operator()(SameAs same) const { return same.matrix->holds_row(row, values); }
};

}  // namespace

std::uint64_t TensorSlot::bytes(kernels::WeightType type) const {
  const bool small = type == kernels::WeightType::int8 &&
                     std::holds_alternative<kernels::WeightMatrix*>(destination);
  constexpr std::uint64_t kBesides = 4096;  // padding, factors, the allocator's own
  return kBesides + size(rows()) * size(cols()) * (small ? 1 : sizeof(float));
}

Result<void> TensorSlot::allocate(kernels::WeightType type, const char* file) const {
  const std::string where = std::string(file) + ": " + name;
  return std::visit(Allocate{*this, type, where.c_str()}, destination);
}

int TensorSlot::store_rows(int first, MatrixView<const float> rows) const {
  if (const auto* matrix = std::get_if<kernels::WeightMatrix*>(&destination)) {
    (*matrix)->set_rows(first, rows);
    return -1;
  }
  for (int i = 0; i < rows.rows; ++i) {
    if (!std::visit(StoreRow{first + i, rows.cols, rows.row(i)}, destination)) {
      return first + i;
    }
  }
  return -1;
}

Result<void> Unfinished::make_relations() {
  const Config& config = model.config;
  RELATA_TRY(make_stack_relations(config, encoder_index, config.encoder_relation.effect,
                                  encoder_tables, model.weights.encoder));
  return make_stack_relations(config, decoder_index, config.decoder_relation.effect, decoder_tables,
                              model.weights.decoder);
}

std::vector<TensorSlot> plan_tensors(const ConfigFile& file, bool tied, Unfinished& unfinished) {
  const Config& config = unfinished.model.config = file.config;
  unfinished.encoder_index = file.encoder_index;
  unfinished.decoder_index = file.decoder_index;
  Weights& weights = unfinished.model.weights;

  Planner planner(config, file.names);
  planner.add_tables(tied, weights);
  planner.add_stack(false, file.encoder_relation_per_layer, config.encoder_relation,
                    file.encoder_index.num_relations(), weights.encoder, unfinished.encoder_tables);
  if (config.num_decoder_layers == 0) {
    return planner.finish();
  }
  planner.add_stack(true, file.decoder_relation_per_layer, config.decoder_relation,
                    file.decoder_index.num_relations(), weights.decoder, unfinished.decoder_tables);
  return planner.finish();
}

}  // namespace relata::formats
