// What the JSON files of a folder say: the model's Config, and how its tensors are called and
// stored.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "src/formats/json.hpp"
#include "src/model/config.hpp"

namespace relata::formats {

inline constexpr const char* kConfigFile = "config.json";
inline constexpr const char* kGenerationConfigFile = "generation_config.json";

/// The words from which a family composes the names of its tensors; tensor_plan.cpp composes them.
struct TensorNames {
  std::string_view embedding;
  std::string_view decoder_embedding;
  std::string_view lm_head;
  std::string_view logits_bias;
  std::string_view positions;
  std::string_view decoder_positions;
  std::string_view stacks;  // before the stack's name
  std::string_view layers;  // between the stack's name and the layer's number
  std::string_view self_attention;
  std::string_view self_attention_norm;
  std::string_view cross_attention;
  std::string_view cross_attention_norm;
  std::array<std::string_view, 2> feed_forward;  // encoder, decoder
  std::array<std::string_view, 2> feed_forward_norm;
  std::string_view query;
  std::string_view key;
  std::string_view value;
  std::string_view output;
  std::string_view hidden_input;  // the activated half when gated
  std::string_view hidden_gate;
  std::string_view hidden_output;
  std::string_view final_norm;
  std::string_view shared_relation;  // after the stack's name: where a relation of all layers lives
  std::string_view relation_keys;
  std::string_view relation_values;
  std::string_view relation_bias;
  bool bias_by_relation = false;    // the bias is stored [num_relations, num_heads]
  bool logits_bias_in_row = false;  // the bias of the logits is stored [1, vocab_size]
};

/// Whether weights may be integers, and of which shape the scales beside them are.
enum class ScaleShape {
  none,     // all weights are floats
  channel,  // [rows, 1]
  tensor,   // [1]
  levelled  // [rows, 1], and what levels the inputs besides, [1, cols]
};

struct ConfigFile {
  Config config;
  Json json;  // what config.json would hold, where the model has no such file
  TensorNames names;
  RelationIndex encoder_index;
  RelationIndex decoder_index;
  bool encoder_relation_per_layer = false;
  bool decoder_relation_per_layer = false;
  bool tied = false;          // the output projection is the embedding
  bool tied_by_file = false;  // the file decides: tied exactly where it has no lm_head
  std::vector<std::string_view>
      embedding_copies;  // names under which the embedding may be there again, or alone
  std::vector<std::string_view>
      ignored;  // tensors that the family's models may carry and never use
  ScaleShape scales = ScaleShape::none;
  struct {
    bool possible = false;  // the configuration is that of an encoder alone, which the file decides
    bool required = false;  // a decoder in the file contradicts it
    std::string where = {};  // the field that says so
  } encoder_only;
};

/// Reads config.json and, unless empty, generation_config.json by the model type they name, and
/// checks the result. Errors: file_missing, file_damaged, config_invalid, unsupported.
Result<ConfigFile> read_config(std::string_view config, std::string_view generation_config);
/// The same from parsed objects. generation: null where there is none.
Result<ConfigFile> read_config(const JsonObject& file, const JsonObject* generation);

/// `model_type: "relata"`, the schema at the top of config_relata.cpp. generation: null where there
/// is no such file.
Result<ConfigFile> read_relata(const JsonObject& file, const JsonObject* generation);
/// One stack's relation in that schema. Returns whether every layer has tables of its own.
Result<bool> read_relata_relation(const JsonObject& relation, bool labels_allowed,
                                  RelationConfig& config);
/// `model_type`: "t5", "mt5" or "umt5", as transformers 5 saves and reads them.
Result<ConfigFile> read_t5(const JsonObject& file, const JsonObject* generation);
/// `model_type`: "marian", as transformers 5 saves and reads MarianMTModel.
Result<ConfigFile> read_marian(const JsonObject& file, const JsonObject* generation);
/// quantization_config: int8 in the convention of compressed-tensors, else refused. Errors:
/// config_invalid, unsupported, naming the field.
Result<ScaleShape> read_quantization(const JsonObject& file);
/// What a Marian file calls a field of our own configuration, for errors.
std::string_view marian_field(std::string_view field);
/// What a T5 file calls a field of our own configuration, for errors.
std::string_view t5_field(std::string_view field);

/// The ids generation needs and max_new_tokens, from the generation config first, then from the
/// config. Needs vocab_size. Start id: decoder_start_token_id, else bos_token_id, else the pad id
/// where `start_with_pad`.
Result<void> read_generation(const JsonObject& file, const JsonObject* generation,
                             bool start_with_pad, Config& config);

/// The options of the search and max_new_tokens, likewise. Needs vocab_size. Errors besides:
/// unsupported for an option that would change the result and is not there.
Result<void> read_search(const JsonObject& file, const JsonObject* generation, Config& config);

}  // namespace relata::formats
