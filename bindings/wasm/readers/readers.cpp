// The module of readers: what files hold, said in our own terms. It is fetched for files that are
// not of our own kind, and to inspect and convert; models are loaded and run by the other module.
#include "bindings/wasm/files.hpp"
#include "src/formats/block_formats.hpp"
#include "src/formats/ctranslate2.hpp"
#include "src/formats/gguf.hpp"
#include "src/formats/safetensors.hpp"
#include "src/formats/tensor_match.hpp"
#include "src/formats/tensor_store.hpp"

namespace {
using namespace relata;
using namespace relata::bindings;
using formats::Ctranslate2Index, formats::Ctranslate2Scanner, std::string;

// clang-format off
val plain(const formats::Json& json) {
  if (const auto* fields = json.fields()) {
    val result = val::object();
    for (const auto& [key, value] : *fields) {
      result.set(key, plain(value));
    }
    return result;
  }
  if (json.whole() != nullptr) return val(number(*json.whole()));
  if (json.negative() != nullptr) return val(static_cast<double>(*json.negative()));
  if (json.real() != nullptr) return val(*json.real());
  if (json.boolean() != nullptr) return val(*json.boolean());
  return json.text() != nullptr ? val(*json.text()) : json.items() != nullptr ? list(*json.items(), plain) : val::null();
}
/// What a model holds, checked as if it were loaded.
val contents(formats::ConfigFile& file, const formats::TensorFiles& files) {
  formats::Unfinished unfinished;
  std::vector<formats::TensorSlot> slots;
  return checked(formats::match_tensors(file, files, unfinished, slots), [&](const formats::TensorMatch& match) {
    val tensors = list(files.tensors, tensor);
    for (std::size_t i = 0; i < files.tensors.size(); ++i) {
      const bool is_used = match.slot_of[i] != formats::kUnused;
      const auto* place = is_used ? &slots[static_cast<std::size_t>(match.slot_of[i])].destination : nullptr;
      tensors[i].set("isWeight", is_used && std::holds_alternative<kernels::WeightMatrix*>(*place));
      tensors[i].set("isNeeded", is_used && !std::holds_alternative<formats::SameAs>(*place));
    }
    return object({{"config", plain(file.json)}, {"tensors", tensors}});
  });
}
/// What a matrix becomes in 8 bits, by the very rounding of a load: { values, scales, reach }, or null where no weights have the
/// type. scales, reach: what its integers are multiplied by, or nothing. Those in range stay as they are.
val round_matrix(const string& file, const string& name, const string& dtype, const Bytes& bytes, int rows, int cols, const val& scales,
                 const val& reach) {
  if (formats::find_block_format(dtype) == nullptr) {
    return val::null();
  }
  const TensorInfo info{name, dtype, {bindings::size(rows), bindings::size(cols)}, 0, bytes.size()};
  const auto by_row = emscripten::convertJSArrayToNumberVector<float>(scales);
  const auto by_col = emscripten::convertJSArrayToNumberVector<float>(reach);
  kernels::WeightMatrix matrix;
  const formats::TensorSlot slot{name, info.shape, &matrix};
  formats::TensorStore store;
  AlignedBuffer<std::int8_t> values;
  const formats::TensorFiles files{{file}, file, {}};
  const auto work = [&]() -> Result<void> {
    RELATA_TRY(slot.allocate(kernels::WeightType::int8, name.c_str()));
    RELATA_TRY(store.allocate(cols, name.c_str()));
    RELATA_TRY(store.store(files, info, slot, {by_row, by_col}, 0, rows, span(bytes).data()));
    return values.reset(bindings::size(rows) * bindings::size(cols), name.c_str());
  };
  if (const auto done = work(); !done.ok()) {
    return failure(done.error());
  }
  for (int i = 0; i < rows; ++i) {
    matrix.copy_integers(i, values.data() + static_cast<std::ptrdiff_t>(i) * cols);
  }
  const kernels::RoundedView kept = matrix.int8();
  return object({{"values", copy(values)}, {"scales", copy(std::span(kept.column_scales, static_cast<std::size_t>(rows)))},
                 {"reach", copy(std::span(kept.reach, static_cast<std::size_t>(cols)))}});
}
/// Rows do not matter to formats: a row is whole blocks.
val decode(const string& dtype, const Bytes& bytes) {
  const formats::BlockFormat* format = formats::find_block_format(dtype);
  if (format == nullptr) {
    return val::null();
  }
  const auto count = static_cast<int>(bytes.size() / static_cast<std::size_t>(format->block_bytes)) * format->block_values;
  auto values = AlignedBuffer<float>::allocate(static_cast<std::size_t>(count), "tensor");
  if (!values.ok()) {
    return failure(values.error());
  }
  formats::decode_row(*format, span(bytes).data(), count, values.value().data());
  return copy(values.value());
}
val vocabulary(const formats::GgufVocabulary& gguf) {
  const auto text = [](const string& piece) { return val(piece); };
  return object({{"pieces", list(gguf.pieces, text)}, {"scores", copy(gguf.scores)}, {"types", copy(gguf.types)},
                 {"charsmap", copy(gguf.charsmap)}, {"addSpacePrefix", gguf.add_space_prefix},
                 {"removeExtraWhitespaces", gguf.remove_extra_whitespaces}, {"addEos", gguf.add_eos}});
}
val tokens(const formats::Ctranslate2Tokens& tokens) {
  return object({{"unk", tokens.unk}, {"bos", tokens.bos}, {"eos", tokens.eos}, {"decoderStart", tokens.decoder_start},
                 {"addSourceBos", tokens.add_source_bos}, {"addSourceEos", tokens.add_source_eos}});
}
}  // namespace

EMSCRIPTEN_BINDINGS(readers) {
  using emscripten::class_, emscripten::function;
  bind_files();
  function("ggufHeaderSize", +[](const Bytes& prefix, double file_size) {
    return checked(gguf_header_size(span(prefix), bindings::size(file_size)), number); });
  function("ggufVocabulary", +[](const Bytes& header, double file_size) {
    const auto read = formats::read_gguf(span(header), bindings::size(file_size));
    return read.ok() ? checked(formats::read_gguf_vocabulary(read.value()), vocabulary) : failure(read.error()); });
  function("safetensorsContents", +[](const string& config, const string& generation, const Bytes& header, double file_size) {
    const string name = formats::kWeightsFile;
    return checked(formats::read_config(config, generation), [&](auto& file) {
      return checked(formats::read_header(name, span(header), bindings::size(file_size)),
                     [&](auto& tensors) { return contents(file, {{name}, name, tensors}); }); }); });
  function("shardsContents", +[](const string& config, const string& generation, const string& index, const val& names,
                                 const val& headers, const val& sizes) {
    std::vector<string> kept;
    const auto given = shards(names, headers, sizes, kept);
    return checked(formats::read_config(config, generation), [&](auto& file) {
      return checked(formats::read_shards(index, given), [&](auto& files) { return contents(file, files); }); }); });
  function("ggufContents", +[](const Bytes& header, double file_size) {
    auto read = formats::read_gguf(span(header), bindings::size(file_size));
    if (!read.ok()) {
      return failure(read.error());
    }
    return checked(formats::read_gguf_t5(read.value()), [&](auto& file) {
      return contents(file, {{formats::kGgufFile}, formats::kGgufFile, read.value().tensors}); }); });
  function("ctranslate2Contents", +[](const Ctranslate2Index& index, const string& config, const string& source_file,
                                      const string& source, const string& target_file, const string& target) {
    return checked(formats::read_ctranslate2(index, {config, {source_file, source}, {target_file, target}}),
                   [](auto& model) { return contents(model.file, {{formats::kCtranslate2File}, formats::kCtranslate2File, model.tensors}); }); });
  function("decode", &decode);
  function("round", &round_matrix);
  class_<Ctranslate2Index>("Ctranslate2Index")
      .function("tokens", +[](const Ctranslate2Index& index, const string& config) {
        return checked(formats::read_ctranslate2_tokens(index, config), tokens); });
  class_<Ctranslate2Scanner>("Ctranslate2Scanner")
      .class_function("open", +[](double file_size) { return owned(new Ctranslate2Scanner(bindings::size(file_size))); })
      .function("next", +[](const Ctranslate2Scanner& scanner) {
        return object({{"offset", number(scanner.next().offset)}, {"bytes", number(scanner.next().bytes)}}); })
      .function("accept", +[](Ctranslate2Scanner& scanner, const Bytes& bytes) { return checked(scanner.accept(span(bytes))); })
      .function("finish", +[](Ctranslate2Scanner& scanner) { return handle(scanner.finish()); });
}
