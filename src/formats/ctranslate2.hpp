// A CTranslate2 folder: model.bin (binary versions 4 to 6, "TransformerSpec"), config.json and the
// vocabularies, as python/ctranslate2/specs writes them and src/models reads them. model.bin mixes
// names with data, so its index is read first, step by step, past the data; what comes out is our
// own configuration and our own names over the file's bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "src/formats/config_file.hpp"
#include "src/formats/load_model.hpp"

namespace relata::formats {

inline constexpr const char* kCtranslate2File = "model.bin";

struct Ctranslate2Variable {
  TensorInfo info;               // dtype: F32, I8, I16, I32, F16 or BF16
  std::vector<std::byte> value;  // of scalars, scales and texts, else empty
};

struct Ctranslate2Index {
  int version = 0;
  int revision = 0;
  std::map<std::string, Ctranslate2Variable, std::less<>> variables;
  std::map<std::string, std::string, std::less<>> aliases;  // to the name of a variable

  /// The variable of a name or an alias, or null. The alias of a weight is also one of its scale.
  const Ctranslate2Variable* find(std::string_view name) const;
};

struct ByteRange {
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
};

/// Reads the index of a model.bin: asks for ranges, each further on than the last (an item cut off
/// by a range's end is asked for again, whole), and skips the weights between them. All of the file
/// is accounted for, byte by byte.
class Ctranslate2Scanner {
 public:
  explicit Ctranslate2Scanner(std::uint64_t file_size) : file_size_(file_size) {}

  /// The range wanted next; of 0 bytes once the index is complete.
  ByteRange next() const;
  /// The bytes of next(). Errors: file_damaged, unsupported (a version, a model, a type),
  /// tensor_invalid (a name twice), naming the variable or the byte.
  Result<void> accept(std::span<const std::byte> bytes);
  /// Once next() has 0 bytes. Errors: file_damaged if called early.
  Result<Ctranslate2Index> finish();

 private:
  enum class Part { head, variables, aliases, done };
  struct Cursor;
  Result<bool> read_head(Cursor& cursor);
  Result<bool> read_variable(Cursor& cursor);
  Result<bool> read_alias(Cursor& cursor);
  Result<bool> read_step(Cursor& cursor);

  std::uint64_t file_size_;
  std::uint64_t position_ = 0;  // what lies before it is read
  std::uint64_t wanted_ = 0;    // bytes the next item is known to need
  Part part_ = Part::head;
  std::uint64_t left_ = 0;  // variables or aliases still to come
  Ctranslate2Index index_;
};

/// A vocabulary file: NAME.json is a list of tokens, NAME.txt has one per line.
struct Ctranslate2Vocabulary {
  std::string_view file;  // "shared_vocabulary.json"; empty where the folder has none
  std::string_view text;
};

/// The text files of the folder.
struct Ctranslate2Texts {
  std::string_view config;  // config.json; empty for versions before 6, whose model.bin holds it
  Ctranslate2Vocabulary source;  // source_vocabulary, or shared_vocabulary
  Ctranslate2Vocabulary target;  // target_vocabulary, or shared_vocabulary
};

/// What the package's tokenizer has to do around a source, and the words that are special.
struct Ctranslate2Tokens {
  std::string unk, bos, eos, decoder_start;
  bool add_source_bos = false;
  bool add_source_eos = false;
  double layer_norm_epsilon = 0;  // 0: not given
};
/// Errors: file_damaged, config_invalid, unsupported, naming the field.
Result<Ctranslate2Tokens> read_ctranslate2_tokens(const Ctranslate2Index& index,
                                                  std::string_view config);

/// Tokens by id. Errors: file_missing, file_damaged, naming the file.
Result<std::vector<std::string>> read_ctranslate2_vocabulary(const Ctranslate2Vocabulary& file);

/// A folder in our own terms. Tensors are ordered by first byte, longer ones first; several may lie
/// in the same bytes (aliases, and the parts of stacked projections).
struct Ctranslate2Model {
  ConfigFile file;
  std::vector<TensorInfo> tensors;
};
/// Errors: file_missing, file_damaged, config_invalid, unsupported (naming the variable of the
/// feature), tensor_missing, tensor_invalid.
Result<Ctranslate2Model> read_ctranslate2(const Ctranslate2Index& index,
                                          const Ctranslate2Texts& texts);

}  // namespace relata::formats
