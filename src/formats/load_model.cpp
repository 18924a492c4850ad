#include "src/formats/load_model.hpp"

#include <algorithm>
#include <bit>
#include <utility>

#include "src/formats/config_file.hpp"
#include "src/formats/ctranslate2.hpp"
#include "src/formats/gguf.hpp"
#include "src/formats/safetensors.hpp"
#include "src/formats/tensor_match.hpp"
#include "src/formats/tensor_store.hpp"

namespace relata {
namespace {

using formats::ConfigFile;
using formats::TensorFiles;
using formats::TensorMatch;
using formats::TensorSlot;

static_assert(std::endian::native == std::endian::little, "files are little-endian and read as is");

constexpr std::uint64_t kMaxGap = 4096;  // bytes between two tensors that are read over

}  // namespace

struct ModelLoader::State {
  TensorFiles files;
  formats::Unfinished unfinished;
  std::vector<TensorSlot> slots;  // point into unfinished and match
  TensorMatch match;
  formats::TensorStore store;
  std::size_t cursor = 0;   // the next tensor wanted, or their number
  int first_row = 0;        // of it, not read yet
  std::uint64_t asked = 0;  // bytes by want(), 0 where nobody called it
  bool finished = false;

  const TensorInfo* next() const {
    return cursor < files.tensors.size() ? &files.tensors[cursor] : nullptr;
  }
  const TensorSlot& slot() const { return slots[static_cast<std::size_t>(match.slot_of[cursor])]; }
  /// The next wanted tensor from i on, or their number.
  std::size_t wanted_from(std::size_t i) const {
    while (i < files.tensors.size() && match.slot_of[i] == formats::kUnused) {
      ++i;
    }
    return i;
  }
  /// Whether a later tensor has bytes of this one.
  bool overlaps(std::size_t i) const {
    const TensorInfo& tensor = files.tensors[i];
    const std::size_t after = wanted_from(i + 1);
    return after < files.tensors.size() && files.tensors[after].file == tensor.file &&
           files.tensors[after].offset < tensor.offset + tensor.bytes;
  }
  std::uint64_t row_bytes() const {
    return files.tensors[cursor].bytes / static_cast<std::uint64_t>(slot().rows());
  }
  /// Where in the file reading goes on.
  std::uint64_t position() const {
    return files.tensors[cursor].offset + static_cast<std::uint64_t>(first_row) * row_bytes();
  }
  std::uint64_t rest() const {
    return files.tensors[cursor].offset + files.tensors[cursor].bytes - position();
  }
  /// What the integers of the tensor at the cursor are multiplied by.
  formats::Factors factors() const {
    const int own = match.factors_of[cursor];
    if (own == formats::kUnused) {
      return {files.tensors[cursor].scales, {}};
    }
    const formats::ReadFactors& read = match.factors[static_cast<std::size_t>(own)];
    return {{read.scales.data(), read.scales.size()}, {read.reach.data(), read.reach.size()}};
  }
  /// Stores the next rows of the tensor at the cursor, `size` bytes.
  Result<void> take(const std::byte* bytes, std::uint64_t size);
};

Result<std::uint64_t> gguf_header_size(std::span<const std::byte> prefix, std::uint64_t file_size) {
  auto header = formats::read_gguf(prefix, file_size);
  if (header.ok()) {
    return header.value().bytes;
  }
  if (header.error().where == formats::kCutOff && prefix.size() < file_size) {
    return std::min<std::uint64_t>(file_size, std::max<std::uint64_t>(4 * prefix.size(), 1 << 16));
  }
  return header.hand_on();
}

ModelLoader::ModelLoader(std::unique_ptr<State> state) : state_(std::move(state)) {}
ModelLoader::ModelLoader(ModelLoader&&) noexcept = default;
ModelLoader& ModelLoader::operator=(ModelLoader&&) noexcept = default;
ModelLoader::~ModelLoader() = default;

Result<ModelLoader> ModelLoader::open(const FolderHeader& folder, KeptType type) {
  RELATA_TRY_ASSIGN(ConfigFile file, formats::read_config(folder.config, folder.generation_config));
  if (!folder.index.empty()) {
    RELATA_TRY_ASSIGN(TensorFiles shards, formats::read_shards(folder.index, folder.shards));
    return plan(std::move(file), std::move(shards), type);
  }
  const std::string name = formats::kWeightsFile;
  RELATA_TRY_ASSIGN(auto tensors, formats::read_header(name, folder.header, folder.file_size));
  return plan(std::move(file), {{name}, name, std::move(tensors)}, type);
}

Result<ModelLoader> ModelLoader::open_gguf(std::span<const std::byte> header,
                                           std::uint64_t file_size, KeptType type) {
  RELATA_TRY_ASSIGN(auto gguf, formats::read_gguf(header, file_size));
  RELATA_TRY_ASSIGN(ConfigFile file, formats::read_gguf_t5(gguf));
  const std::string name = formats::kGgufFile;
  return plan(std::move(file), {{name}, name, std::move(gguf.tensors)}, type);
}

Result<ModelLoader> ModelLoader::open_ctranslate2(const formats::Ctranslate2Index& index,
                                                  const formats::Ctranslate2Texts& texts,
                                                  KeptType type) {
  RELATA_TRY_ASSIGN(auto model, formats::read_ctranslate2(index, texts));
  const std::string name = formats::kCtranslate2File;
  return plan(std::move(model.file), {{name}, name, std::move(model.tensors)}, type);
}

Result<ModelLoader> ModelLoader::open_tensors(std::string_view config, const std::string& file,
                                              std::vector<TensorInfo> tensors, KeptType type) {
  RELATA_TRY_ASSIGN(const formats::Json json, formats::parse_json(config, file));
  RELATA_TRY_ASSIGN(const formats::JsonObject object, formats::JsonObject::top(json, file));
  RELATA_TRY_ASSIGN(ConfigFile read, formats::read_config(object, nullptr));
  return plan(std::move(read), {{file}, file, std::move(tensors)}, type);
}

Result<ModelLoader> ModelLoader::plan(ConfigFile file, TensorFiles files, KeptType type) {
  auto state = std::make_unique<State>();
  state->files = std::move(files);
  RELATA_TRY_ASSIGN(state->match,
                    match_tensors(file, state->files, state->unfinished, state->slots));

  // Only now are the files known to be long enough for what is allocated.
  const char* where = state->files.where.c_str();
  const auto type_of = [&](std::size_t i) {
    const bool stored = state->files.tensors[i].dtype == "I8";
    return type == KeptType::int8 || (type == KeptType::as_stored && stored)
               ? kernels::WeightType::int8
               : kernels::WeightType::f32;
  };
  int widest = 0;
  for (const bool allocates : {false, true}) {
    std::uint64_t sum = 0;
    for (std::size_t i = state->wanted_from(0); i < state->files.tensors.size();
         i = state->wanted_from(i + 1)) {
      const TensorSlot& slot = state->slots[static_cast<std::size_t>(state->match.slot_of[i])];
      if (allocates) {
        RELATA_TRY(slot.allocate(type_of(i), where));
      }
      sum += slot.bytes(type_of(i));
      widest = std::max(widest, slot.cols());
    }
    if (!allocates) {
      make_room(sum);
    }
  }
  RELATA_TRY(state->store.allocate(widest, where));
  state->cursor = state->wanted_from(0);
  return ModelLoader(std::move(state));
}

const std::vector<TensorInfo>& ModelLoader::tensors() const { return state_->files.tensors; }

const TensorInfo* ModelLoader::next() const { return state_->next(); }

FileRange ModelLoader::want(std::uint64_t most) {
  State& state = *state_;
  const TensorInfo* first = next();
  if (first == nullptr) {
    return {};
  }
  const std::uint64_t begin = state.position();
  std::uint64_t bytes = state.rest();
  const bool apart = !state.overlaps(state.cursor);
  if (apart && bytes > most && formats::takes_parts(state.slot(), state.factors())) {
    // Whole panels of rows.
    const std::uint64_t rows = std::max<std::uint64_t>(most / state.row_bytes(), 1);
    constexpr std::uint64_t kPanel = kernels::kPanelWidth;
    bytes = std::min(bytes, std::max(rows / kPanel, std::uint64_t{1}) * kPanel * state.row_bytes());
  }
  // As many tensors behind it as there is room for.
  if (apart && bytes == state.rest()) {
    for (std::size_t i = state.wanted_from(state.cursor + 1); i < state.files.tensors.size();
         i = state.wanted_from(i + 1)) {
      const TensorInfo& tensor = state.files.tensors[i];
      if (tensor.file != first->file || tensor.offset - begin - bytes > kMaxGap ||
          tensor.offset - begin + tensor.bytes > most || state.overlaps(i)) {
        break;
      }
      bytes = tensor.offset - begin + tensor.bytes;
    }
  }
  state.asked = bytes;
  return {first->file, begin, bytes};
}

Result<void> ModelLoader::accept(std::span<const std::byte> bytes) {
  State& state = *state_;
  const TensorInfo* tensor = next();
  if (tensor == nullptr) {
    return fail(ErrorCode::file_damaged, state.files.where, "more bytes than tensors wanted");
  }
  const std::uint64_t asked = std::exchange(state.asked, 0);
  const std::uint64_t due = asked > 0 ? asked : state.rest();
  if (bytes.size() != due) {
    return state.files.error(ErrorCode::file_damaged, *tensor,
                             {bytes.size(), " bytes where ", due, " were due"});
  }
  const std::size_t file = tensor->file;
  const std::uint64_t first = state.position();
  const std::uint64_t end = first + due;
  do {
    const std::uint64_t at = state.position();
    RELATA_TRY(state.take(bytes.data() + static_cast<std::size_t>(at - first),
                          std::min(end - at, state.rest())));
    tensor = next();
  } while (state.first_row == 0 && tensor != nullptr && tensor->file == file &&
           tensor->offset >= first && tensor->offset + tensor->bytes <= end);
  return {};
}

Result<void> ModelLoader::State::take(const std::byte* bytes, std::uint64_t size) {
  const TensorInfo& tensor = files.tensors[cursor];
  const int own = match.factors_of[cursor];
  if (own != formats::kUnused && match.factors[static_cast<std::size_t>(own)].last > cursor) {
    return files.error(ErrorCode::unsupported, tensor,
                       "its scales come after it; writers of this format put them first");
  }
  const auto count = static_cast<int>(size / row_bytes());
  RELATA_TRY(store.store(files, tensor, slot(), factors(), first_row, count, bytes));
  first_row += count;
  if (first_row == slot().rows()) {
    cursor = wanted_from(cursor + 1);
    first_row = 0;
  }
  return {};
}

Result<std::unique_ptr<const Model>> ModelLoader::finish(int num_threads) {
  if (const TensorInfo* missing = next()) {
    return state_->files.error(ErrorCode::file_damaged, *missing, "its bytes have not been read");
  }
  if (std::exchange(state_->finished, true)) {
    return fail(ErrorCode::option_invalid, "finish", "a loader gives its model once");
  }
  RELATA_TRY(state_->unfinished.make_relations());
  auto model = std::make_unique<Model>(std::move(state_->unfinished.model));
  if (num_threads > 1) {
    model->parallel = std::make_unique<Parallel>(num_threads);
  }
  return std::unique_ptr<const Model>(std::move(model));
}

}  // namespace relata
