#include "src/formats/load_model.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>

#include "src/formats/block_formats.hpp"
#include "src/formats/config_file.hpp"
#include "src/formats/ctranslate2.hpp"
#include "src/formats/gguf.hpp"
#include "src/formats/safetensors.hpp"
#include "src/formats/tensor_match.hpp"

namespace relata {
namespace {

using formats::ConfigFile;
using formats::TensorFiles;
using formats::TensorMatch;
using formats::TensorSlot;

static_assert(std::endian::native == std::endian::little, "files are little-endian and read as is");

}  // namespace

struct ModelLoader::State {
  TensorFiles files;
  formats::Unfinished unfinished;
  std::vector<TensorSlot> slots;  // point into unfinished and match
  TensorMatch match;
  std::size_t cursor = 0;  // the next tensor wanted, or their number
  AlignedBuffer<float> row;
  bool finished = false;

  const TensorInfo* next() const {
    return cursor < files.tensors.size() ? &files.tensors[cursor] : nullptr;
  }
  /// Stores the tensor at the cursor.
  Result<void> store(std::span<const std::byte> bytes);
  /// What the integers of the tensor at the cursor are multiplied by; empty for floats.
  Result<std::span<const float>> scales() const;

  void skip_unused() {
    while (cursor < files.tensors.size() && match.slot_of[cursor] == formats::kUnused) {
      ++cursor;
    }
  }
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

Result<ModelLoader> ModelLoader::open(const FolderHeader& folder, kernels::WeightType type) {
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
                                           std::uint64_t file_size, kernels::WeightType type) {
  RELATA_TRY_ASSIGN(auto gguf, formats::read_gguf(header, file_size));
  RELATA_TRY_ASSIGN(ConfigFile file, formats::read_gguf_t5(gguf));
  const std::string name = formats::kGgufFile;
  return plan(std::move(file), {{name}, name, std::move(gguf.tensors)}, type);
}

Result<ModelLoader> ModelLoader::open_ctranslate2(const formats::Ctranslate2Index& index,
                                                  const formats::Ctranslate2Texts& texts,
                                                  kernels::WeightType type) {
  RELATA_TRY_ASSIGN(auto model, formats::read_ctranslate2(index, texts));
  const std::string name = formats::kCtranslate2File;
  return plan(std::move(model.file), {{name}, name, std::move(model.tensors)}, type);
}

Result<ModelLoader> ModelLoader::open_tensors(std::string_view config, const std::string& file,
                                              std::vector<TensorInfo> tensors,
                                              kernels::WeightType type) {
  RELATA_TRY_ASSIGN(const formats::Json json, formats::parse_json(config, file));
  RELATA_TRY_ASSIGN(const formats::JsonObject object, formats::JsonObject::top(json, file));
  RELATA_TRY_ASSIGN(ConfigFile read, formats::read_config(object, nullptr));
  return plan(std::move(read), {{file}, file, std::move(tensors)}, type);
}

Result<ModelLoader> ModelLoader::plan(ConfigFile file, TensorFiles files,
                                      kernels::WeightType type) {
  auto state = std::make_unique<State>();
  state->files = std::move(files);
  RELATA_TRY_ASSIGN(state->match,
                    match_tensors(file, state->files, state->unfinished, state->slots));

  // Only now are the files known to be long enough for what is allocated.
  const char* where = state->files.where.c_str();
  int widest = 0;
  for (const TensorSlot& slot : state->slots) {
    RELATA_TRY(slot.allocate(type, where));
    widest = std::max(widest, slot.cols());
  }
  const auto count = static_cast<std::uint64_t>(widest);
  RELATA_TRY(state->row.reset(count, where));
  state->skip_unused();
  return ModelLoader(std::move(state));
}

const std::vector<TensorInfo>& ModelLoader::tensors() const { return state_->files.tensors; }

const TensorInfo* ModelLoader::next() const { return state_->next(); }

Result<void> ModelLoader::accept(std::span<const std::byte> bytes) {
  const TensorInfo* tensor = next();
  if (tensor == nullptr) {
    return fail(ErrorCode::file_damaged, state_->files.where, "more bytes than tensors wanted");
  }
  if (bytes.size() != tensor->bytes) {
    return state_->files.error(ErrorCode::file_damaged, *tensor,
                               {bytes.size(), " bytes where ", tensor->bytes, " were due"});
  }
  const std::size_t file = tensor->file;
  const std::uint64_t first = tensor->offset;
  const std::uint64_t end = first + tensor->bytes;
  do {
    RELATA_TRY(state_->store(bytes.subspan(static_cast<std::size_t>(tensor->offset - first),
                                           static_cast<std::size_t>(tensor->bytes))));
    ++state_->cursor;
    state_->skip_unused();
    tensor = next();
  } while (tensor != nullptr && tensor->file == file && tensor->offset >= first &&
           tensor->offset + tensor->bytes <= end);
  return {};
}

Result<std::span<const float>> ModelLoader::State::scales() const {
  const TensorInfo& tensor = files.tensors[cursor];
  const int own = match.scale_of[cursor];
  if (own == formats::kUnused) {
    return std::span<const float>(tensor.scales);
  }
  const AlignedBuffer<float>& found = match.scales[static_cast<std::size_t>(own)];
  const std::string name = tensor.name + "_scale";
  for (std::size_t i = 0; i < cursor; ++i) {
    if (files.tensors[i].name == name) {
      return std::span<const float>(found.data(), found.size());
    }
  }
  return files.error(ErrorCode::unsupported, tensor,
                     "its scales come after it; writers of this format put them first");
}

Result<void> ModelLoader::State::store(std::span<const std::byte> bytes) {
  const TensorInfo& tensor = files.tensors[cursor];
  const TensorSlot& slot = slots[static_cast<std::size_t>(match.slot_of[cursor])];
  RELATA_TRY_ASSIGN(const std::span<const float> factors, scales());
  const int rows = slot.rows();
  const int cols = slot.cols();
  const std::size_t row_bytes = bytes.size() / static_cast<std::size_t>(rows);
  float* const values = row.data();
  const formats::BlockFormat& format = *formats::find_block_format(tensor.dtype);
  const auto read_row = [&](int i) {
    formats::decode_row(format, bytes.data() + static_cast<std::size_t>(i) * row_bytes, cols,
                        values);
    if (!factors.empty()) {
      kernels::scale(values, factors[factors.size() == 1 ? 0 : static_cast<std::size_t>(i)], cols);
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
        return files.error(ErrorCode::tensor_invalid, tensor,
                           {"the value at [", place, col, "] is not finite"});
      }
    }
    if (!slot.store_row(i, values)) {
      return files.error(ErrorCode::tensor_invalid, tensor,
                         {"row ", i, " differs from the embedding, of which it has to be a copy"});
    }
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
