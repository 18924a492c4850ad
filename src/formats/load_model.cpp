#include "src/formats/load_model.hpp"

#include <algorithm>
#include <bit>
#include <climits>
#include <cmath>
#include <cstring>
#include <map>
#include <utility>

#include "src/formats/config_file.hpp"
#include "src/formats/safetensors.hpp"
#include "src/formats/tensor_plan.hpp"
#include "src/formats/widen.hpp"

namespace relata {
namespace {

using formats::ConfigFile;
using formats::TensorSlot;

static_assert(std::endian::native == std::endian::little, "files are little-endian and read as is");

constexpr int kUnused = -1;

using TensorsByName = std::map<std::string_view, std::size_t>;

Error tensor_error(ErrorCode code, std::string_view name, std::string message) {
  return Error{code, std::string(formats::kWeightsFile) + ": " + std::string(name),
               std::move(message)};
}

std::string to_text(const std::vector<std::uint64_t>& shape) {
  std::string text = "[";
  for (const std::uint64_t size : shape) {
    text += (text.size() > 1 ? ", " : "") + std::to_string(size);
  }
  return text + "]";
}

bool is_weight_type(const std::string& dtype) {
  return dtype == "F32" || dtype == "F16" || dtype == "BF16";
}

/// Names the embedding as the file has it. Where only copies of it are there, the first in the file
/// is loaded and the others have to equal it; their names are returned.
std::vector<std::string_view> choose_embedding(ConfigFile& file, const TensorsByName& by_name) {
  std::vector<std::string_view> copies;
  for (const std::string_view copy : file.embedding_copies) {
    if (by_name.contains(copy)) {
      copies.push_back(copy);
    }
  }
  if (by_name.contains(file.names.embedding) || copies.empty()) {
    // Tied weights of the same name win over their copies, as in the reference.
    file.ignored.insert(file.ignored.end(), copies.begin(), copies.end());
    return {};
  }
  std::sort(copies.begin(), copies.end(), [&](std::string_view a, std::string_view b) {
    return by_name.find(a)->second < by_name.find(b)->second;
  });
  file.names.embedding = copies.front();
  copies.erase(copies.begin());
  return copies;
}

/// Gives each tensor of the file its slot. Every slot has to find its tensor, and every tensor its
/// slot.
Result<std::vector<int>> match(const std::vector<TensorInfo>& tensors, const TensorsByName& by_name,
                               const std::vector<TensorSlot>& slots,
                               const std::vector<std::string_view>& ignored) {
  std::vector<int> slot_of(tensors.size(), kUnused);
  for (std::size_t i = 0; i < slots.size(); ++i) {
    const TensorSlot& slot = slots[i];
    const auto found = by_name.find(slot.name);
    if (found == by_name.end()) {
      return tensor_error(ErrorCode::tensor_missing, slot.name,
                          "the configuration calls for this tensor, but the file does not have it");
    }
    const TensorInfo& tensor = tensors[found->second];
    if (tensor.shape != slot.shape) {
      return tensor_error(ErrorCode::tensor_invalid, slot.name,
                          "has shape " + to_text(tensor.shape) +
                              ", but the configuration calls for " + to_text(slot.shape));
    }
    if (!is_weight_type(tensor.dtype)) {
      return tensor_error(ErrorCode::tensor_invalid, slot.name,
                          "has type " + tensor.dtype + "; weights are F32, F16 or BF16");
    }
    if (std::any_of(slot.shape.begin(), slot.shape.end(),
                    [](std::uint64_t size) { return size > INT_MAX; })) {
      return tensor_error(ErrorCode::unsupported, slot.name,
                          "a dimension of " + to_text(slot.shape) + " is beyond 32 bits");
    }
    slot_of[found->second] = static_cast<int>(i);
  }
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    if (slot_of[i] == kUnused &&
        std::find(ignored.begin(), ignored.end(), tensors[i].name) == ignored.end()) {
      return tensor_error(ErrorCode::tensor_invalid, tensors[i].name,
                          "the configuration calls for no such tensor");
    }
  }
  return slot_of;
}

void widen_row(const std::string& dtype, const std::byte* source, int count, float* row) {
  if (dtype == "F32") {
    std::memcpy(row, source, static_cast<std::size_t>(count) * sizeof(float));
    return;
  }
  const auto widen = dtype == "F16" ? formats::widen_f16 : formats::widen_bf16;
  for (int i = 0; i < count; ++i) {
    std::uint16_t bits = 0;
    std::memcpy(&bits, source + std::ptrdiff_t{2} * i, sizeof bits);
    row[i] = widen(bits);
  }
}

}  // namespace

struct ModelLoader::State {
  formats::Unfinished unfinished;
  std::vector<TensorInfo> tensors;
  std::vector<TensorSlot> slots;  // point into unfinished
  std::vector<int> slot_of;       // by tensor, kUnused where none
  std::size_t cursor = 0;         // the next tensor wanted, or tensors.size()
  AlignedBuffer<float> row;
  bool finished = false;

  void skip_unused() {
    while (cursor < tensors.size() && slot_of[cursor] == kUnused) {
      ++cursor;
    }
  }
};

ModelLoader::ModelLoader(std::unique_ptr<State> state) : state_(std::move(state)) {}
ModelLoader::ModelLoader(ModelLoader&&) noexcept = default;
ModelLoader& ModelLoader::operator=(ModelLoader&&) noexcept = default;
ModelLoader::~ModelLoader() = default;

Result<ModelLoader> ModelLoader::open(const FolderHeader& folder, kernels::WeightType type) {
  RELATA_TRY_ASSIGN(ConfigFile file, formats::read_config(folder.config, folder.generation_config));
  auto state = std::make_unique<State>();
  RELATA_TRY_ASSIGN(state->tensors, formats::read_header(folder.header, folder.file_size));
  TensorsByName by_name;
  for (std::size_t i = 0; i < state->tensors.size(); ++i) {
    by_name.emplace(state->tensors[i].name, i);
  }

  const auto copies = choose_embedding(file, by_name);
  const bool tied = file.tied_by_file ? !by_name.contains(file.names.lm_head) : file.tied;
  state->slots = formats::plan_tensors(file, tied, state->unfinished);
  const std::vector<std::uint64_t> embedding_shape = state->slots.front().shape;
  for (const std::string_view copy : copies) {
    state->slots.push_back({std::string(copy), embedding_shape,
                            formats::SameAs{&state->unfinished.model.weights.embedding}});
  }
  RELATA_TRY_ASSIGN(state->slot_of, match(state->tensors, by_name, state->slots, file.ignored));

  // Only now is the file known to be long enough for what is allocated.
  int widest = 0;
  for (const TensorSlot& slot : state->slots) {
    RELATA_TRY(slot.allocate(type));
    widest = std::max(widest, slot.cols());
  }
  const auto count = static_cast<std::uint64_t>(widest);
  RELATA_TRY_ASSIGN(state->row, AlignedBuffer<float>::allocate(count, formats::kWeightsFile));
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
    return Error{ErrorCode::file_damaged, formats::kWeightsFile, "more bytes than tensors wanted"};
  }
  if (bytes.size() != tensor->bytes) {
    return tensor_error(ErrorCode::file_damaged, tensor->name,
                        std::to_string(bytes.size()) + " bytes where " +
                            std::to_string(tensor->bytes) + " were due");
  }
  const auto slot_index = static_cast<std::size_t>(state_->slot_of[state_->cursor]);
  const TensorSlot& slot = state_->slots[slot_index];
  const int rows = slot.rows();
  const int cols = slot.cols();
  const std::size_t row_bytes = bytes.size() / static_cast<std::size_t>(rows);
  float* const values = state_->row.data();
  const auto read_row = [&](int row) {
    widen_row(tensor->dtype, bytes.data() + static_cast<std::size_t>(row) * row_bytes, cols,
              values);
  };
  if (slot.needs_levelling()) {
    for (int row = 0; row < rows; ++row) {
      read_row(row);
      slot.level_row(values);
    }
  }
  for (int row = 0; row < rows; ++row) {
    read_row(row);
    for (int col = 0; col < cols; ++col) {
      if (!std::isfinite(values[col])) {
        const std::string place = slot.shape.size() == 1 ? "" : std::to_string(row) + ", ";
        return tensor_error(ErrorCode::tensor_invalid, tensor->name,
                            "the value at [" + place + std::to_string(col) + "] is not finite");
      }
    }
    if (!slot.store_row(row, values)) {
      return tensor_error(ErrorCode::tensor_invalid, tensor->name,
                          "row " + std::to_string(row) +
                              " differs from the embedding, of which it has to be a copy");
    }
  }
  ++state_->cursor;
  state_->skip_unused();
  return {};
}

Result<std::unique_ptr<const Model>> ModelLoader::finish() {
  if (const TensorInfo* missing = next()) {
    return tensor_error(ErrorCode::file_damaged, missing->name, "its bytes have not been read");
  }
  if (std::exchange(state_->finished, true)) {
    return Error{ErrorCode::option_invalid, "finish", "a loader gives its model once"};
  }
  RELATA_TRY(state_->unfinished.make_relations());
  return std::unique_ptr<const Model>(std::make_unique<Model>(std::move(state_->unfinished.model)));
}

}  // namespace relata
