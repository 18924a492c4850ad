// Writes small valid folders in memory, and drives the loader over them as a caller does. It knows
// the file formats from their descriptions and nothing of src/formats but its public header.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "src/formats/load_model.hpp"

namespace relata::test {

struct FileTensor {
  std::string name;
  std::vector<std::uint64_t> shape;
  std::vector<float> values;  // exact in every dtype
  std::string dtype = "F32";
};

struct Folder {
  std::string config;
  std::string generation_config;
  std::vector<FileTensor> tensors;

  FileTensor& tensor(const std::string& name);
  void remove(const std::string& name);
};

/// A model.safetensors: its JSON header as text, so that a test can damage it, and the data behind
/// it.
struct WeightsFile {
  std::string header;
  std::string data;

  /// The 8 length bytes and the header.
  std::string head() const;
  std::uint64_t size() const { return head().size() + data.size(); }
};

WeightsFile write_weights(const std::vector<FileTensor>& tensors);

/// text with its one occurrence of `from` replaced; fails the test if there is not exactly one.
std::string replaced(const std::string& text, const std::string& from, const std::string& to);

/// What came of loading: a model, or the error.
struct Loaded {
  std::unique_ptr<const Model> model;
  Error error{ErrorCode::input_invalid, "", ""};

  bool ok() const { return model != nullptr; }
};

/// How a caller goes about it.
struct Loading {
  KeptType type = KeptType::f32;
  std::uint64_t most = 0;  // bytes asked for at once; 0: tensor by tensor
};
Loaded load(const std::string& config, const std::string& generation_config,
            const WeightsFile& weights, const Loading& loading = {});
Loaded load(const Folder& folder, const Loading& loading = {});

/// Shaw vectors in the encoder, one shared two-sided bias in the decoder; layer norm, biases,
/// separate output matrix.
Folder relata_folder();
/// T5 as transformers 5.12.1 saves it: tied, not gated, two encoder layers and one decoder layer.
Folder t5_folder();

/// The matrices that products are made with, of the folders above.
std::vector<const kernels::WeightMatrix*> matrices_of(const Model& model);

/// The value of the file's row-major element i of tensor `name`, as the folders above are filled.
float value_of(const std::string& name, std::size_t i);

}  // namespace relata::test
