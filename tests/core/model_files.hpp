// Model files of every kind as a caller holds them, loaded as they are or after a change.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "src/formats/load_model.hpp"

namespace relata::test {

/// A folder's files, to be loaded as they are or after a change.
struct FolderFiles {
  std::string config;
  std::string generation_config;
  std::string weights;
  std::string index = {};                          // in the place of weights, with
  std::map<std::string, std::string> shards = {};  // the files it names

  /// Changes config.json.
  void edit_config(const std::function<void(nlohmann::json&)>& edit);
  /// Zeroes every tensor whose name contains `part`; the number of tensors.
  int zero_tensors(const std::string& part);
  /// Sets every value of an F32 tensor, signs alternating.
  void fill_tensor(const std::string& name, float value);
};
FolderFiles read_folder(const std::string& name);

/// Through ModelLoader, as a user's folder.
Result<std::unique_ptr<const Model>> try_load(const FolderFiles& files);
/// Through ModelLoader, as a user's GGUF file.
Result<std::unique_ptr<const Model>> load_gguf(const std::string& file);
/// Fails the test where the folder does not load.
std::unique_ptr<const Model> load(const FolderFiles& files);

}  // namespace relata::test
