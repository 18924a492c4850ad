#include "tests/core/model_files.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <span>
#include <utility>
#include <vector>

#include "tests/core/support.hpp"

namespace relata::test {
namespace {

std::uint64_t header_length(const std::string& file) {
  std::uint64_t length = 0;
  std::memcpy(&length, file.data(), sizeof length);
  return length;
}

}  // namespace

void FolderFiles::edit_config(const std::function<void(nlohmann::json&)>& edit) {
  auto parsed = nlohmann::json::parse(config);
  edit(parsed);
  config = parsed.dump();
}

int FolderFiles::zero_tensors(const std::string& part) {
  const auto length = static_cast<std::size_t>(header_length(weights));
  const auto header = nlohmann::json::parse(weights.substr(8, length));
  int zeroed = 0;
  for (const auto& [name, entry] : header.items()) {
    if (name.find(part) != std::string::npos) {
      const auto begin = entry.at("data_offsets").at(0).get<std::size_t>();
      const auto end = entry.at("data_offsets").at(1).get<std::size_t>();
      std::memset(weights.data() + 8 + length + begin, 0, end - begin);
      zeroed += 1;
    }
  }
  return zeroed;
}

void FolderFiles::fill_tensor(const std::string& name, float value) {
  const auto length = static_cast<std::size_t>(header_length(weights));
  const auto entry = nlohmann::json::parse(weights.substr(8, length)).at(name);
  REQUIRE(entry.at("dtype") == "F32");
  const auto begin = entry.at("data_offsets").at(0).get<std::size_t>();
  const auto end = entry.at("data_offsets").at(1).get<std::size_t>();
  for (std::size_t at = begin; at < end; at += sizeof value) {
    std::memcpy(weights.data() + 8 + length + at, &value, sizeof value);
    value = -value;
  }
}

FolderFiles read_folder(const std::string& name) {
  const auto optional = [&](const std::string& file) {
    const std::string path = golden_path(name + "/" + file);
    return std::filesystem::exists(path) ? read_file(path) : std::string();
  };
  FolderFiles files{read_file(golden_path(name + "/config.json")),
                    optional("generation_config.json"), optional("model.safetensors")};
  files.index = optional("model.safetensors.index.json");
  if (!files.index.empty()) {
    const auto index = nlohmann::json::parse(files.index);
    for (const auto& [tensor, file] : index.at("weight_map").items()) {
      files.shards[file] = optional(file);
    }
  }
  return files;
}

Result<std::unique_ptr<const Model>> try_load(const FolderFiles& files) {
  std::vector<ShardHeader> shards;
  std::vector<std::span<const std::byte>> bytes;
  const auto add = [&](const std::string& name, const std::string& file) -> Result<void> {
    bytes.push_back(std::as_bytes(std::span(file)));
    RELATA_TRY_ASSIGN(
        const std::uint64_t size,
        safetensors_header_size(bytes.back().first(std::min<std::size_t>(8, file.size())),
                                file.size(), name));
    shards.push_back({name, bytes.back().first(static_cast<std::size_t>(size)), file.size()});
    return {};
  };
  FolderHeader folder;
  folder.config = files.config;
  folder.generation_config = files.generation_config;
  if (files.index.empty()) {
    RELATA_TRY(add("model.safetensors", files.weights));
    folder.header = shards[0].header;
    folder.file_size = shards[0].file_size;
  } else {
    for (const auto& [name, file] : files.shards) {
      RELATA_TRY(add(name, file));
    }
    folder.index = files.index;
    folder.shards = shards;
  }
  RELATA_TRY_ASSIGN(ModelLoader loader, ModelLoader::open(folder));
  while (const TensorInfo* tensor = loader.next()) {
    RELATA_TRY(loader.accept(bytes[tensor->file].subspan(static_cast<std::size_t>(tensor->offset),
                                                         static_cast<std::size_t>(tensor->bytes))));
  }
  return loader.finish();
}

std::unique_ptr<const Model> load(const FolderFiles& files) {
  auto model = try_load(files);
  if (!model.ok()) {
    FAIL(model.error().where << ": " << model.error().message);
  }
  return std::move(model.value());
}

Result<std::unique_ptr<const Model>> load_gguf(const std::string& file) {
  const auto whole = std::as_bytes(std::span(file));
  std::uint64_t header_bytes = std::min<std::uint64_t>(64, file.size());
  while (true) {
    RELATA_TRY_ASSIGN(
        const std::uint64_t needed,
        gguf_header_size(whole.subspan(0, static_cast<std::size_t>(header_bytes)), file.size()));
    if (needed <= header_bytes) {
      header_bytes = needed;
      break;
    }
    header_bytes = needed;
  }
  RELATA_TRY_ASSIGN(ModelLoader loader,
                    ModelLoader::open_gguf(whole.subspan(0, static_cast<std::size_t>(header_bytes)),
                                           file.size()));
  while (const TensorInfo* tensor = loader.next()) {
    RELATA_TRY(loader.accept(whole.subspan(static_cast<std::size_t>(tensor->offset),
                                           static_cast<std::size_t>(tensor->bytes))));
  }
  return loader.finish();
}

}  // namespace relata::test
