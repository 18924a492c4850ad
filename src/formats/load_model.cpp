#include "src/formats/load_model.hpp"

#include <algorithm>
#include <bit>
#include <climits>
#include <cmath>
#include <map>
#include <utility>

#include "src/formats/block_formats.hpp"
#include "src/formats/config_file.hpp"
#include "src/formats/ctranslate2.hpp"
#include "src/formats/gguf.hpp"
#include "src/formats/safetensors.hpp"
#include "src/formats/tensor_plan.hpp"

namespace relata {
namespace {

using formats::ConfigFile;
using formats::TensorSlot;

static_assert(std::endian::native == std::endian::little, "files are little-endian and read as is");

constexpr int kUnused = -1;

using TensorsByName = std::map<std::string_view, std::size_t>;

/// Errors about tensors name the file they are in.
struct TensorFile {
  const char* name;
  Error error(ErrorCode code, std::string_view tensor, std::string message) const {
    return Error{code, std::string(name) + ": " + std::string(tensor), std::move(message)};
  }
};

std::string to_text(const std::vector<std::uint64_t>& shape) {
  std::string text = "[";
  for (const std::uint64_t size : shape) {
    text += (text.size() > 1 ? ", " : "") + std::to_string(size);
  }
  return text + "]";
}

/// Names the embedding as the file has it. Where only copies of it are there, the first in the file
/// is loaded and the others have to equal it; their names are returned.
std::vector<std::string_view> choose_embedding(ConfigFile& file,
                                               const std::vector<TensorInfo>& tensors,
                                               const TensorsByName& by_name) {
  const auto& names = file.embedding_copies;
  std::vector<std::string_view> copies;  // in file order
  for (const TensorInfo& tensor : tensors) {
    if (const auto copy = std::find(names.begin(), names.end(), tensor.name); copy != names.end()) {
      copies.push_back(*copy);
    }
  }
  if (by_name.contains(file.names.embedding) || copies.empty()) {
    // Tied weights of the same name win over their copies, as in the reference.
    file.ignored.insert(file.ignored.end(), copies.begin(), copies.end());
    return {};
  }
  file.names.embedding = copies.front();
  copies.erase(copies.begin());
  return copies;
}

bool is_integer(const std::string& dtype) { return dtype == "I8" || dtype == "I16"; }

/// Gives each tensor of the file its slot. Every slot has to find its tensor, and every tensor its
/// slot.
Result<std::vector<int>> match(const TensorFile& file, const std::vector<TensorInfo>& tensors,
                               const TensorsByName& by_name, const std::vector<TensorSlot>& slots,
                               const std::vector<std::string_view>& ignored) {
  std::vector<int> slot_of(tensors.size(), kUnused);
  for (std::size_t i = 0; i < slots.size(); ++i) {
    const TensorSlot& slot = slots[i];
    const auto found = by_name.find(slot.name);
    if (found == by_name.end()) {
      return file.error(ErrorCode::tensor_missing, slot.name,
                        "the configuration calls for this tensor, but the file does not have it");
    }
    const TensorInfo& tensor = tensors[found->second];
    if (tensor.shape != slot.shape) {
      return file.error(ErrorCode::tensor_invalid, slot.name,
                        "has shape " + to_text(tensor.shape) +
                            ", but the configuration calls for " + to_text(slot.shape));
    }
    if (formats::find_block_format(tensor.dtype) == nullptr ||
        is_integer(tensor.dtype) == tensor.scales.empty()) {
      return file.error(ErrorCode::tensor_invalid, slot.name,
                        "has type " + tensor.dtype + "; weights are F32, F16 or BF16");
    }
    if (std::any_of(slot.shape.begin(), slot.shape.end(),
                    [](std::uint64_t size) { return size > INT_MAX; })) {
      return file.error(ErrorCode::unsupported, slot.name,
                        "a dimension of " + to_text(slot.shape) + " is beyond 32 bits");
    }
    slot_of[found->second] = static_cast<int>(i);
  }
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    if (slot_of[i] == kUnused &&
        std::find(ignored.begin(), ignored.end(), tensors[i].name) == ignored.end()) {
      return file.error(ErrorCode::tensor_invalid, tensors[i].name,
                        "the configuration calls for no such tensor");
    }
  }
  return slot_of;
}

}  // namespace

struct ModelLoader::State {
  TensorFile file;
  formats::Unfinished unfinished;
  std::vector<TensorInfo> tensors;
  std::vector<TensorSlot> slots;  // point into unfinished
  std::vector<int> slot_of;       // by tensor, kUnused where none
  std::size_t cursor = 0;         // the next tensor wanted, or tensors.size()
  AlignedBuffer<float> row;
  bool finished = false;

  Result<void> store(const TensorInfo& tensor, const TensorSlot& slot,
                     std::span<const std::byte> bytes);

  void skip_unused() {
    while (cursor < tensors.size() && slot_of[cursor] == kUnused) {
      ++cursor;
    }
  }
};

Result<std::uint64_t> gguf_header_size(std::span<const std::byte> prefix, std::uint64_t file_size) {
  const auto header = formats::read_gguf(prefix, file_size);
  if (header.ok()) {
    return header.value().bytes;
  }
  if (header.error().where == formats::kCutOff && prefix.size() < file_size) {
    return std::min<std::uint64_t>(file_size, std::max<std::uint64_t>(4 * prefix.size(), 1 << 16));
  }
  return header.error();
}

ModelLoader::ModelLoader(std::unique_ptr<State> state) : state_(std::move(state)) {}
ModelLoader::ModelLoader(ModelLoader&&) noexcept = default;
ModelLoader& ModelLoader::operator=(ModelLoader&&) noexcept = default;
ModelLoader::~ModelLoader() = default;

Result<ModelLoader> ModelLoader::open(const FolderHeader& folder, kernels::WeightType type) {
  RELATA_TRY_ASSIGN(ConfigFile file, formats::read_config(folder.config, folder.generation_config));
  RELATA_TRY_ASSIGN(auto tensors, formats::read_header(folder.header, folder.file_size));
  return plan(std::move(file), formats::kWeightsFile, std::move(tensors), type);
}

Result<ModelLoader> ModelLoader::open_gguf(std::span<const std::byte> header,
                                           std::uint64_t file_size, kernels::WeightType type) {
  RELATA_TRY_ASSIGN(auto gguf, formats::read_gguf(header, file_size));
  RELATA_TRY_ASSIGN(ConfigFile file, formats::read_gguf_t5(gguf));
  return plan(std::move(file), formats::kGgufFile, std::move(gguf.tensors), type);
}

Result<ModelLoader> ModelLoader::open_ctranslate2(const formats::Ctranslate2Index& index,
                                                  const formats::Ctranslate2Texts& texts,
                                                  kernels::WeightType type) {
  RELATA_TRY_ASSIGN(auto model, formats::read_ctranslate2(index, texts));
  return plan(std::move(model.file), formats::kCtranslate2File, std::move(model.tensors), type);
}

Result<ModelLoader> ModelLoader::plan(ConfigFile file, const char* file_name,
                                      std::vector<TensorInfo> tensors, kernels::WeightType type) {
  auto state = std::make_unique<State>();
  state->file = {file_name};
  state->tensors = std::move(tensors);
  TensorsByName by_name;
  for (std::size_t i = 0; i < state->tensors.size(); ++i) {
    by_name.emplace(state->tensors[i].name, i);
  }

  const auto copies = choose_embedding(file, state->tensors, by_name);
  const bool tied = file.tied_by_file ? !by_name.contains(file.names.lm_head) : file.tied;
  state->slots = formats::plan_tensors(file, tied, state->unfinished);
  const std::vector<std::uint64_t> embedding_shape = state->slots.front().shape;
  for (const std::string_view copy : copies) {
    state->slots.push_back({std::string(copy), embedding_shape,
                            formats::SameAs{&state->unfinished.model.weights.embedding}});
  }
  RELATA_TRY_ASSIGN(state->slot_of,
                    match(state->file, state->tensors, by_name, state->slots, file.ignored));

  // Only now is the file known to be long enough for what is allocated.
  int widest = 0;
  for (const TensorSlot& slot : state->slots) {
    RELATA_TRY(slot.allocate(type, state->file.name));
    widest = std::max(widest, slot.cols());
  }
  const auto count = static_cast<std::uint64_t>(widest);
  RELATA_TRY_ASSIGN(state->row, AlignedBuffer<float>::allocate(count, state->file.name));
  state->skip_unused();
  return ModelLoader(std::move(state));
}

const std::vector<TensorInfo>& ModelLoader::tensors() const { return state_->tensors; }

const TensorInfo* ModelLoader::next() const {
  return state_->cursor < state_->tensors.size() ? &state_->tensors[state_->cursor] : nullptr;
}

Result<void> ModelLoader::accept(std::span<const std::byte> bytes) {
  const TensorInfo* tensor = next();
  if (tensor == nullptr) {
    return Error{ErrorCode::file_damaged, state_->file.name, "more bytes than tensors wanted"};
  }
  if (bytes.size() != tensor->bytes) {
    return state_->file.error(ErrorCode::file_damaged, tensor->name,
                              std::to_string(bytes.size()) + " bytes where " +
                                  std::to_string(tensor->bytes) + " were due");
  }
  const std::uint64_t first = tensor->offset;
  const std::uint64_t end = first + tensor->bytes;
  do {
    const auto slot = static_cast<std::size_t>(state_->slot_of[state_->cursor]);
    const auto part = bytes.subspan(static_cast<std::size_t>(tensor->offset - first),
                                    static_cast<std::size_t>(tensor->bytes));
    RELATA_TRY(state_->store(*tensor, state_->slots[slot], part));
    ++state_->cursor;
    state_->skip_unused();
    tensor = next();
  } while (tensor != nullptr && tensor->offset >= first && tensor->offset + tensor->bytes <= end);
  return {};
}

Result<void> ModelLoader::State::store(const TensorInfo& tensor, const TensorSlot& slot,
                                       std::span<const std::byte> bytes) {
  const int rows = slot.rows();
  const int cols = slot.cols();
  const std::size_t row_bytes = bytes.size() / static_cast<std::size_t>(rows);
  float* const values = row.data();
  const formats::BlockFormat& format = *formats::find_block_format(tensor.dtype);
  const auto read_row = [&](int i) {
    formats::decode_row(format, bytes.data() + static_cast<std::size_t>(i) * row_bytes, cols,
                        values);
    if (!tensor.scales.empty()) {
      kernels::scale(
          values, tensor.scales[tensor.scales.size() == 1 ? 0 : static_cast<std::size_t>(i)], cols);
    }
  };
  if (slot.needs_levelling()) {
    for (int i = 0; i < rows; ++i) {
      read_row(i);
      slot.level_row(values);
    }
  }
  for (int i = 0; i < rows; ++i) {
    read_row(i);
    for (int col = 0; col < cols; ++col) {
      if (!std::isfinite(values[col])) {
        const std::string place = slot.shape.size() == 1 ? "" : std::to_string(i) + ", ";
        return file.error(ErrorCode::tensor_invalid, tensor.name,
                          "the value at [" + place + std::to_string(col) + "] is not finite");
      }
    }
    if (!slot.store_row(i, values)) {
      return file.error(
          ErrorCode::tensor_invalid, tensor.name,
          "row " + std::to_string(i) + " differs from the embedding, of which it has to be a copy");
    }
  }
  return {};
}

Result<std::unique_ptr<const Model>> ModelLoader::finish() {
  if (const TensorInfo* missing = next()) {
    return state_->file.error(ErrorCode::file_damaged, missing->name,
                              "its bytes have not been read");
  }
  if (std::exchange(state_->finished, true)) {
    return Error{ErrorCode::option_invalid, "finish", "a loader gives its model once"};
  }
  RELATA_TRY(state_->unfinished.make_relations());
  return std::unique_ptr<const Model>(std::make_unique<Model>(std::move(state_->unfinished.model)));
}

}  // namespace relata
