#include "src/model/config.hpp"

#include <cmath>
#include <string>

namespace relata {
namespace {

// Limits far above any published model, low enough that products of two stay inside int and a
// hostile file cannot make the loader build absurd tables.
constexpr int kMaxVocab = 1 << 22;
constexpr int kMaxWidth = 1 << 17;  // d_model, d_ff, num_heads * head_dim
constexpr int kMaxLayers = 1024;
constexpr int kMaxHeads = 1024;

Handed invalid(const char* field, const Words& expected) {
  return fail(ErrorCode::config_invalid, field, {field, " must be ", expected});
}

Result<void> check_range(const char* field, int value, int low, int high) {
  if (value < low || value > high) {
    return invalid(field, {"from ", low, " to ", high, ", not ", value});
  }
  return {};
}

Result<void> check_scale(const char* field, float value) {
  if (!std::isfinite(value) || value <= 0) {
    return invalid(field, "a positive number");
  }
  return {};
}

Result<void> check_ids(int vocab_size, std::span<const int> ids, const char* what) {
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (ids[i] < 0 || ids[i] >= vocab_size) {
      return fail(ErrorCode::input_invalid, {what, " token ", i},
                  {"token id ", ids[i], " is not below the vocabulary size ", vocab_size});
    }
  }
  return {};
}

}  // namespace

Result<void> check(const Config& config) {
  RELATA_TRY(check_range("vocab_size", config.vocab_size, 1, kMaxVocab));
  RELATA_TRY(check_range("source_vocab_size", config.source_vocab_size, 0, kMaxVocab));
  RELATA_TRY(check_range("d_model", config.d_model, 1, kMaxWidth));
  RELATA_TRY(check_range("d_ff", config.d_ff, 1, kMaxWidth));
  RELATA_TRY(check_range("num_heads", config.num_heads, 1, kMaxHeads));
  RELATA_TRY(check_range("head_dim", config.head_dim, 1, kMaxWidth / config.num_heads));
  RELATA_TRY(check_range("num_encoder_layers", config.num_encoder_layers, 1, kMaxLayers));
  RELATA_TRY(check_range("num_decoder_layers", config.num_decoder_layers, 1, kMaxLayers));
  RELATA_TRY(check_scale("norm.epsilon", config.norm_epsilon));
  RELATA_TRY(check_scale("attention_scale", config.attention_scale));
  RELATA_TRY(check_scale("embedding_scale", config.embedding_scale));
  RELATA_TRY(check_scale("logits_scale", config.logits_scale));
  if (config.decoder_relation.index.kind == IndexKind::labels) {
    return invalid(
        "relation.decoder_self.index",
        "a distance: labels describe the source, which the decoder's own positions are not");
  }
  if (config.positions.kind == PositionKind::sinusoidal) {
    if (config.d_model % 2 != 0) {
      return invalid("d_model", "even for sinusoidal positions");
    }
    RELATA_TRY(check_scale("positions.divisor", config.positions.divisor));
    RELATA_TRY(
        check_range("positions.first_position", config.positions.first_position, 0, 1 << 20));
  }
  if (config.positions.kind == PositionKind::table) {
    RELATA_TRY(check_range("positions.max_positions", config.positions.max_positions, 1,
                           kMaxSourceLength));
  }
  const int last_id = config.vocab_size - 1;
  RELATA_TRY(check_range("decoder_start_token_id", config.decoder_start_token_id, 0, last_id));
  RELATA_TRY(check_range("pad_token_id", config.pad_token_id, -1, last_id));
  if (config.eos_token_ids.empty()) {
    return invalid("eos_token_id", "given");
  }
  for (const int id : config.eos_token_ids) {
    RELATA_TRY(check_range("eos_token_id", id, 0, last_id));
  }
  RELATA_TRY(check_range("max_new_tokens", config.max_new_tokens, 1, kMaxTargetLength));
  return {};
}

Result<void> check_token_ids(const Config& config, std::span<const int> ids, const char* what) {
  return check_ids(config.vocab_size, ids, what);
}

Result<void> check_source_ids(const Config& config, std::span<const int> ids, const char* what) {
  return check_ids(config.source_vocab_size > 0 ? config.source_vocab_size : config.vocab_size, ids,
                   what);
}

}  // namespace relata
