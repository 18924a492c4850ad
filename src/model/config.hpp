// What a model is: every size and switch, checked once, constant afterwards.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "src/base/result.hpp"
#include "src/kernels/kernels.hpp"
#include "src/model/search_options.hpp"
#include "src/relation/relation_effect.hpp"
#include "src/relation/relation_index.hpp"

namespace relata {

enum class NormKind { layer_norm, rms_norm };
enum class NormPosition { pre, post };
enum class PositionKind { none, sinusoidal, table };

/// One stack's self-attention relation.
struct RelationConfig {
  RelationIndexConfig index;
  RelationEffectConfig effect;
};

/// What is added to the embedding: a learned table's row, or sinusoids (Vaswani et al. 2017,
/// section 3.5). With
/// angle(p, i) = (p + first_position) * 10000^(-i / divisor), i = 0 .. d_model / 2 - 1:
/// interleaved puts sin at column 2i and cos at 2i + 1, halves puts all sines first, then all
/// cosines.
struct PositionConfig {
  PositionKind kind = PositionKind::none;
  bool interleaved = true;
  int first_position = 0;
  float divisor = 0;  // d_model / 2 in the paper; d_model / 2 - 1 in tensor2tensor and its heirs
  int max_positions = 0;   // table: its rows; no sequence can be longer
  bool per_stack = false;  // table: the decoder has one of its own
};

struct Config {
  std::string model_type;
  int vocab_size = 0;
  int source_vocab_size = 0;  // 0: the stacks share one embedding; else the encoder's has this size
  int d_model = 0;
  int d_ff = 0;
  int num_heads = 0;
  int head_dim = 0;  // num_heads * head_dim need not be d_model
  int num_encoder_layers = 0;
  int num_decoder_layers = 0;  // 0 once loaded: an encoder alone

  NormKind norm = NormKind::layer_norm;
  NormPosition norm_position = NormPosition::pre;
  float norm_epsilon = 1e-5F;
  kernels::Activation activation = kernels::Activation::relu;
  bool gated = false;
  bool attention_bias = true;
  bool feed_forward_bias = true;

  float attention_scale = 1;  // 1/sqrt(head_dim), or 1 for T5
  float embedding_scale = 1;  // sqrt(d_model), or 1
  float logits_scale = 1;     // d_model^-1/2 for T5's tied output, or 1
  bool logits_bias = false;   // a learned number per token is added to the logits

  RelationConfig encoder_relation;
  RelationConfig decoder_relation;
  PositionConfig positions;

  int decoder_start_token_id = 0;
  std::vector<int> eos_token_ids;  // never empty
  int pad_token_id = -1;           // -1: the model has none
  int max_new_tokens = 64;         // from generation_config
  SearchOptions search;            // from generation_config
};

/// Positions are ints and caches are sized by them: far beyond what memory allows, far from
/// overflow.
inline constexpr int kMaxSourceLength = 1 << 20;
inline constexpr int kMaxTargetLength = 1 << 20;

/// Tokens that one target can have, start token counted and last one not.
inline int max_target_length(const Config& config) {
  return config.positions.kind == PositionKind::table ? config.positions.max_positions
                                                      : kMaxTargetLength;
}

/// Every limit and contradiction between fields. Errors: config_invalid naming the field,
/// unsupported.
Result<void> check(const Config& config);

/// Errors: input_invalid naming the first id outside the vocabulary as `what` and its position.
Result<void> check_token_ids(const Config& config, std::span<const int> ids, const char* what);
/// The same for the encoder's vocabulary.
Result<void> check_source_ids(const Config& config, std::span<const int> ids, const char* what);

}  // namespace relata
