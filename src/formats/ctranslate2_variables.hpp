// The variables of a model.bin as the configuration and the tensors are read from them: every one
// has to be asked for; one that is not belongs to a feature that this program does not have.
#pragma once

#include <initializer_list>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "src/formats/ctranslate2.hpp"
#include "src/formats/json_value.hpp"

namespace relata::formats {

Handed ctranslate2_error(ErrorCode code, const Words& name, const Words& message);
/// unsupported: "WHAT are not supported".
Handed ctranslate2_unsupported(const Words& name, const Words& what);

class Ctranslate2Variables {
 public:
  explicit Ctranslate2Variables(const Ctranslate2Index& index) : index_(index) {}

  /// Null where there is none.
  const Ctranslate2Variable* find(const std::string& name);
  /// Errors: tensor_missing.
  Result<const TensorInfo*> tensor(const std::string& name);
  /// Errors: tensor_missing, tensor_invalid.
  Result<const TensorInfo*> matrix(const std::string& name);
  /// A scalar of any type but half-width floats; none where it is absent. Errors: tensor_invalid.
  Result<std::optional<double>> number(const std::string& name);
  /// An attribute of a stack; old files have one for both.
  Result<std::optional<double>> attribute(const std::string& stack, const std::string& key);
  /// Names that may be there and mean nothing here.
  void pass_over(std::initializer_list<const char*> names);
  /// Errors: unsupported, naming a variable that nobody asked for.
  Result<void> check_all_asked() const;

 private:
  Result<void> check_asked(const std::string& name) const;

  const Ctranslate2Index& index_;
  std::set<std::string, std::less<>> asked_;
};

/// Where the encoder's embedding is.
std::string ctranslate2_encoder_embedding(Ctranslate2Variables& variables);
/// "relative_position_keys", or its form with a limit for each side, of one self-attention.
std::string ctranslate2_relation_keys(Ctranslate2Variables& variables,
                                      const std::string& attention);

/// What the relation of one self-attention is; default: none.
struct Ctranslate2Relation {
  bool is_there = false;
  std::uint64_t left = 0;
  std::uint64_t right = 0;
  bool values = false;
  bool operator==(const Ctranslate2Relation&) const = default;
};
/// A table of 2k + 1 rows is clipped at k on both sides; the asymmetric one says where. Errors:
/// config_invalid, unsupported, tensor_invalid, naming the variable.
Result<Ctranslate2Relation> read_ctranslate2_relation(Ctranslate2Variables& variables,
                                                      const std::string& attention);
/// The `relation` of a stack in our own schema.
void write_ctranslate2_relation(const Ctranslate2Relation& form, Json& relation);

/// All of our configuration but the ids. layer_norm_epsilon: 0 where config.json has none. Errors:
/// config_invalid, unsupported, tensor_missing, tensor_invalid, naming the variable.
Result<Json> read_ctranslate2_config(Ctranslate2Variables& variables, double layer_norm_epsilon);

}  // namespace relata::formats
