// Weights over several files: model.safetensors.index.json maps every tensor to its file, as
// huggingface_hub writes it (split_torch_state_dict_into_shards).
#include <algorithm>

#include "src/formats/json.hpp"
#include "src/formats/limits.hpp"
#include "src/formats/safetensors.hpp"

namespace relata {
namespace formats {
namespace {

Handed damaged(const Words& key, const Words& message) {
  return fail(ErrorCode::file_damaged, {kIndexFile, ": ", key}, message);
}

/// A name of a file in this folder.
bool is_file_name(const std::string& name) {
  constexpr std::string_view kEnding = ".safetensors";
  return name.size() > kEnding.size() && name.size() <= kMaxFileName && name.ends_with(kEnding) &&
         name.front() != '.' && std::all_of(name.begin(), name.end(), [](char c) {
           return static_cast<unsigned char>(c) >= 0x20 && c != '/' && c != '\\' && c != ':';
         });
}

/// The parsed index. Its weight_map is there, and holds names of files.
Result<Json> read_index(std::string_view text) {
  if (text.size() > kMaxHeaderBytes) {
    return fail(ErrorCode::file_damaged, kIndexFile,
                {"the file is longer than the limit of ", kMaxHeaderBytes});
  }
  RELATA_TRY_ASSIGN(Json root, parse_json(text, kIndexFile));
  auto* fields = root.fields();
  auto* map = fields == nullptr ? nullptr : root["weight_map"].fields();
  if (map == nullptr || map->empty() || map->size() > kMaxTensors) {
    return damaged("weight_map", "has to be an object that names the file of every tensor");
  }
  for (const auto& [tensor, file] : *map) {
    const auto* name = file.text();
    if (name == nullptr || !is_file_name(*name)) {
      return damaged({"weight_map.", tensor},
                     "has to be the name of a .safetensors file beside it");
    }
  }
  return std::move(root["weight_map"]);
}

Json::Object& entries(Json& map) { return *map.fields(); }
const std::string& name_of(const Json& file) { return *file.text(); }

Result<std::vector<std::string>> files_of(Json& map) {
  std::vector<std::string> names;
  for (const auto& [tensor, file] : entries(map)) {
    const auto place = std::lower_bound(names.begin(), names.end(), name_of(file));
    if (place == names.end() || *place != name_of(file)) {
      if (names.size() == kMaxShards) {
        return damaged("weight_map", {"names more than ", kMaxShards, " files"});
      }
      names.insert(place, name_of(file));
    }
  }
  return names;
}

}  // namespace

Handed TensorFiles::error(ErrorCode code, const TensorInfo& tensor, const Words& message) const {
  return fail(code, {names[tensor.file], ": ", tensor.name}, message);
}

Result<TensorFiles> read_shards(std::string_view index, std::span<const ShardHeader> shards) {
  RELATA_TRY_ASSIGN(Json map, read_index(index));
  RELATA_TRY_ASSIGN(std::vector<std::string> missing, files_of(map));
  TensorFiles result{{}, kIndexFile};
  for (const ShardHeader& shard : shards) {
    const std::string name(shard.name);
    const auto place = std::find(missing.begin(), missing.end(), name);
    if (place == missing.end()) {
      return fail(ErrorCode::file_damaged, name, "the index names no such file, or it came twice");
    }
    missing.erase(place);
    result.names.push_back(name);
    RELATA_TRY_ASSIGN(auto tensors, read_header(name, shard.header, shard.file_size));
    for (TensorInfo& tensor : tensors) {
      tensor.file = result.names.size() - 1;
      const auto entry = entries(map).find(tensor.name);
      if (entry == entries(map).end() || name_of(entry->second) != name) {
        return result.error(ErrorCode::tensor_invalid, tensor,
                            "the index does not say that this tensor is in this file");
      }
      entries(map).erase(entry);
      result.tensors.push_back(std::move(tensor));
    }
  }
  if (!missing.empty()) {
    return fail(ErrorCode::file_missing, missing.front(),
                "the index names this file, but the folder does not have it");
  }
  if (!entries(map).empty()) {
    const auto& [tensor, file] = *entries(map).begin();
    return fail(ErrorCode::tensor_missing, {name_of(file), ": ", tensor},
                "the index says that this tensor is in this file");
  }
  return result;
}

}  // namespace formats

Result<std::vector<std::string>> shard_names(std::string_view index) {
  RELATA_TRY_ASSIGN(formats::Json map, formats::read_index(index));
  return formats::files_of(map);
}

}  // namespace relata
