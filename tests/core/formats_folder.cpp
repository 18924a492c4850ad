#include "tests/core/formats_folder.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>
#include <span>

namespace relata::test {
namespace {

std::span<const std::byte> bytes_of(const std::string& text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

/// The upper bits of an f32; our values have few enough bits that nothing is lost.
void append_value(const std::string& dtype, float value, std::string& data) {
  std::uint32_t bits = 0;
  std::memcpy(&bits, &value, sizeof bits);
  if (dtype == "F32") {
    data.append(reinterpret_cast<const char*>(&bits), 4);
    return;
  }
  if (dtype == "I8") {
    data += static_cast<char>(static_cast<std::int8_t>(value));
    return;
  }
  std::uint32_t narrow = bits >> 16;
  if (dtype == "F16") {
    const std::uint32_t exponent = bits >> 23 & 0xFF;
    narrow = (bits >> 16 & 0x8000U) |
             (exponent == 0 ? 0 : (exponent - 112) << 10 | (bits >> 13 & 0x3FFU));
  }
  data.append(reinterpret_cast<const char*>(&narrow), 2);
}

class Tensors {
 public:
  void add(const std::string& name, std::vector<std::uint64_t> shape) {
    FileTensor tensor{name, shape, {}};
    std::size_t count = 1;
    for (const std::uint64_t size : shape) {
      count *= static_cast<std::size_t>(size);
    }
    for (std::size_t i = 0; i < count; ++i) {
      tensor.values.push_back(value_of(name, i));
    }
    tensors_.push_back(std::move(tensor));
  }
  void linear(const std::string& name, std::uint64_t out, std::uint64_t in) {
    add(name + ".weight", {out, in});
    add(name + ".bias", {out});
  }
  void layer_norm(const std::string& name) {
    add(name + ".weight", {4});
    add(name + ".bias", {4});
  }
  std::vector<FileTensor> take() { return std::move(tensors_); }

 private:
  std::vector<FileTensor> tensors_;
};

}  // namespace

float value_of(const std::string& name, std::size_t i) {
  std::size_t seed = 7;
  for (const char letter : name) {
    seed = (seed * 31 + static_cast<unsigned char>(letter)) % 1009;
  }
  return static_cast<float>(static_cast<int>((seed + i * 37) % 127) - 63) / 32;
}

FileTensor& Folder::tensor(const std::string& name) {
  const auto found = std::find_if(tensors.begin(), tensors.end(),
                                  [&](const FileTensor& tensor) { return tensor.name == name; });
  REQUIRE(found != tensors.end());
  return *found;
}

void Folder::remove(const std::string& name) {
  REQUIRE(std::erase_if(tensors, [&](const FileTensor& tensor) { return tensor.name == name; }) ==
          1);
}

std::string WeightsFile::head() const {
  const std::uint64_t length = header.size();
  return std::string(reinterpret_cast<const char*>(&length), sizeof length) + header;
}

WeightsFile write_weights(const std::vector<FileTensor>& tensors) {
  WeightsFile file;
  file.header = "{\"__metadata__\":{\"format\":\"pt\"}";
  for (const FileTensor& tensor : tensors) {
    const std::size_t start = file.data.size();
    for (const float value : tensor.values) {
      append_value(tensor.dtype, value, file.data);
    }
    std::string shape;
    for (const std::uint64_t size : tensor.shape) {
      shape += (shape.empty() ? "" : ",") + std::to_string(size);
    }
    file.header += ",\"" + tensor.name + "\":{\"dtype\":\"" + tensor.dtype + "\",\"shape\":[" +
                   shape + "],\"data_offsets\":[" + std::to_string(start) + "," +
                   std::to_string(file.data.size()) + "]}";
  }
  file.header += "}";
  return file;
}

std::string replaced(const std::string& text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  CAPTURE(from);
  REQUIRE(at != std::string::npos);
  REQUIRE(text.find(from, at + 1) == std::string::npos);
  return text.substr(0, at) + to + text.substr(at + from.size());
}

Loaded load(const std::string& config, const std::string& generation_config,
            const WeightsFile& weights, const Loading& loading) {
  Loaded loaded;
  const std::string head = weights.head();
  auto opened =
      ModelLoader::open({config, generation_config, bytes_of(head), weights.size()}, loading.type);
  if (!opened.ok()) {
    loaded.error = opened.error();
    return loaded;
  }
  ModelLoader& loader = opened.value();
  while (const TensorInfo* tensor = loader.next()) {
    const FileRange range =
        loading.most > 0 ? loader.want(loading.most) : FileRange{0, tensor->offset, tensor->bytes};
    REQUIRE(range.bytes > 0);
    // The header was accepted, so every range it names has to lie inside the file.
    REQUIRE(range.offset >= head.size());
    const std::uint64_t start = range.offset - head.size();
    REQUIRE(start <= weights.data.size());
    REQUIRE(range.bytes <= weights.data.size() - start);
    // A copy of exactly these bytes: a sanitizer sees a read past them.
    const std::string bytes =
        weights.data.substr(static_cast<std::size_t>(start), static_cast<std::size_t>(range.bytes));
    const std::vector<char> exact(bytes.begin(), bytes.end());
    if (const auto accepted = loader.accept(std::as_bytes(std::span(exact))); !accepted.ok()) {
      loaded.error = accepted.error();
      return loaded;
    }
  }
  auto finished = loader.finish();
  if (!finished.ok()) {
    loaded.error = finished.error();
    return loaded;
  }
  loaded.model = std::move(finished.value());
  return loaded;
}

Loaded load(const Folder& folder, const Loading& loading) {
  return load(folder.config, folder.generation_config, write_weights(folder.tensors), loading);
}

std::vector<const kernels::WeightMatrix*> matrices_of(const Model& model) {
  std::vector<const kernels::WeightMatrix*> all = {&model.weights.embedding};
  for (const StackWeights* stack : {&model.weights.encoder, &model.weights.decoder}) {
    for (const LayerWeights& layer : stack->layers) {
      for (const AttentionWeights* attention : {&layer.self_attention, &layer.cross_attention}) {
        all.insert(all.end(), {&attention->query.weight, &attention->key.weight,
                               &attention->value.weight, &attention->output.weight});
      }
      all.insert(all.end(), {&layer.feed_forward.input.weight, &layer.feed_forward.output.weight});
    }
  }
  return all;
}

Folder relata_folder() {
  Folder folder;
  folder.config = R"({
  "model_type": "relata",
  "schema_version": 1,
  "vocab_size": 5,
  "d_model": 4,
  "num_heads": 2,
  "head_dim": 3,
  "d_ff": 6,
  "num_encoder_layers": 1,
  "num_decoder_layers": 1,
  "norm": {"type": "layer_norm", "position": "pre", "epsilon": 1e-5},
  "activation": "relu",
  "gated": false,
  "attention_bias": true,
  "feed_forward_bias": true,
  "scale_attention": true,
  "scale_embeddings": true,
  "scale_decoder_outputs": false,
  "tie_word_embeddings": false,
  "positions": {"type": "none"},
  "relation": {
    "encoder_self": {
      "index": {"type": "clipped_distance", "left": 1, "right": 2},
      "effect": {"type": "vectors", "keys": true, "values": true}
    },
    "decoder_self": {
      "index": {"type": "bucketed_distance", "num_buckets": 8, "max_distance": 16, "bidirectional": false},
      "effect": {"type": "bias"}
    }
  },
  "pad_token_id": 0,
  "bos_token_id": null,
  "eos_token_id": 2,
  "unk_token_id": 3,
  "decoder_start_token_id": 1
})";
  Tensors tensors;
  tensors.add("embedding.weight", {5, 4});
  tensors.add("lm_head.weight", {5, 4});
  for (const std::string stack : {"encoder", "decoder"}) {
    const std::string layer = stack + ".layers.0.";
    std::vector<std::string> attentions = {"self_attention"};
    if (stack == "decoder") {
      attentions.push_back("cross_attention");
    }
    for (const std::string& attention : attentions) {
      tensors.linear(layer + attention + ".query", 6, 4);
      tensors.linear(layer + attention + ".key", 6, 4);
      tensors.linear(layer + attention + ".value", 6, 4);
      tensors.linear(layer + attention + ".output", 4, 6);
      tensors.layer_norm(layer + attention + "_norm");
    }
    tensors.linear(layer + "feed_forward.input", 6, 4);
    tensors.linear(layer + "feed_forward.output", 4, 6);
    tensors.layer_norm(layer + "feed_forward_norm");
    tensors.layer_norm(stack + ".final_norm");
  }
  tensors.add("encoder.layers.0.self_attention.relation_keys", {4, 3});
  tensors.add("encoder.layers.0.self_attention.relation_values", {4, 3});
  tensors.add("decoder.relation_bias", {2, 8});
  folder.tensors = tensors.take();
  return folder;
}

Folder t5_folder() {
  Folder folder;
  folder.config = R"({
  "architectures": ["T5ForConditionalGeneration"],
  "classifier_dropout": 0.0,
  "d_ff": 6,
  "d_kv": 3,
  "d_model": 4,
  "decoder_start_token_id": 0,
  "dense_act_fn": "relu",
  "dropout_rate": 0.1,
  "dtype": "float32",
  "eos_token_id": 1,
  "feed_forward_proj": "relu",
  "initializer_factor": 1.0,
  "is_decoder": false,
  "is_encoder_decoder": true,
  "is_gated_act": false,
  "layer_norm_epsilon": 1e-06,
  "model_type": "t5",
  "num_decoder_layers": 1,
  "num_heads": 2,
  "num_layers": 2,
  "pad_token_id": 0,
  "relative_attention_max_distance": 16,
  "relative_attention_num_buckets": 8,
  "scale_decoder_outputs": true,
  "tie_word_embeddings": true,
  "transformers_version": "5.12.1",
  "use_cache": true,
  "vocab_size": 5
})";
  folder.generation_config = R"({
  "_from_model_config": true,
  "decoder_start_token_id": 0,
  "eos_token_id": 1,
  "pad_token_id": 0,
  "transformers_version": "5.12.1",
  "use_cache": true
})";
  Tensors tensors;
  const auto attention = [&](const std::string& name) {
    tensors.add(name + ".k.weight", {6, 4});
    tensors.add(name + ".o.weight", {4, 6});
    tensors.add(name + ".q.weight", {6, 4});
    tensors.add(name + ".v.weight", {6, 4});
  };
  const auto feed_forward = [&](const std::string& name) {
    tensors.add(name + ".DenseReluDense.wi.weight", {6, 4});
    tensors.add(name + ".DenseReluDense.wo.weight", {4, 6});
    tensors.add(name + ".layer_norm.weight", {4});
  };
  attention("decoder.block.0.layer.0.SelfAttention");
  tensors.add("decoder.block.0.layer.0.SelfAttention.relative_attention_bias.weight", {8, 2});
  tensors.add("decoder.block.0.layer.0.layer_norm.weight", {4});
  attention("decoder.block.0.layer.1.EncDecAttention");
  tensors.add("decoder.block.0.layer.1.layer_norm.weight", {4});
  feed_forward("decoder.block.0.layer.2");
  tensors.add("decoder.final_layer_norm.weight", {4});
  for (const std::string layer : {"0", "1"}) {
    const std::string block = "encoder.block." + layer;
    attention(block + ".layer.0.SelfAttention");
    if (layer == "0") {
      tensors.add(block + ".layer.0.SelfAttention.relative_attention_bias.weight", {8, 2});
    }
    tensors.add(block + ".layer.0.layer_norm.weight", {4});
    feed_forward(block + ".layer.1");
  }
  tensors.add("encoder.final_layer_norm.weight", {4});
  tensors.add("shared.weight", {5, 4});
  folder.tensors = tensors.take();
  return folder;
}

}  // namespace relata::test
