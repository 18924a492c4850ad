// Weights over several files, whole and damaged: each damage has one code at one place.
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "tests/core/formats_folder.hpp"
#include "tests/core/model_checks.hpp"

using namespace relata;
using namespace relata::test;

namespace {

const std::string kIndex = "model.safetensors.index.json";
const std::string kFirst = "a.safetensors";
const std::string kSecond = "b.safetensors";

std::string file_of(const std::vector<FileTensor>& tensors) {
  const WeightsFile file = write_weights(tensors);
  return file.head() + file.data;
}

/// A small T5 in two files: every other tensor in each.
struct Sharded {
  std::vector<FileTensor> first, second;
  nlohmann::json map;
  FolderFiles files;

  Sharded() {
    const Folder folder = t5_folder();
    files.config = folder.config;
    files.generation_config = folder.generation_config;
    for (const FileTensor& tensor : folder.tensors) {
      const bool even = (first.size() + second.size()) % 2 == 0;
      (even ? first : second).push_back(tensor);
      map[tensor.name] = even ? kFirst : kSecond;
    }
    write();
  }
  void write() {
    files.shards = {{kFirst, file_of(first)}, {kSecond, file_of(second)}};
    files.index = nlohmann::json{{"metadata", {{"total_size", 1}}}, {"weight_map", map}}.dump();
  }
  std::string error() const {
    const auto model = try_load(files);
    return model.ok() ? "loads"
                      : std::string(to_string(model.error().code)) + ": " + model.error().where;
  }
};

}  // namespace

TEST_CASE("a folder as transformers shards it") {
  const FolderFiles whole = read_folder("mt5");
  FolderFiles sharded = read_folder("mt5-sharded");
  REQUIRE_EQ(sharded.shards.size(), 3);
  REQUIRE(sharded.weights.empty());
  const auto golden = read_cases("mt5");
  const auto a = load(whole);
  const auto b = load(sharded);
  const Matrix left = encode_case(*a, golden->cases[1]);
  const Matrix right = encode_case(*b, golden->cases[1]);
  CHECK(same_bits(left.view(), right.view()));
  const auto names = shard_names(sharded.index);
  REQUIRE(names.ok());
  CHECK_EQ(names.value(), std::vector<std::string>{"model-00001-of-00003.safetensors",
                                                   "model-00002-of-00003.safetensors",
                                                   "model-00003-of-00003.safetensors"});
}

TEST_CASE("shards in any order, and what each tensor lies in") {
  const Sharded good;
  const auto names = shard_names(good.files.index);
  REQUIRE(names.ok());
  CHECK_EQ(names.value(), std::vector<std::string>{kFirst, kSecond});
  for (const bool turned : {false, true}) {
    std::vector<std::string> order = {kFirst, kSecond};
    if (turned) {
      std::swap(order[0], order[1]);
    }
    std::vector<ShardHeader> shards;
    for (const std::string& name : order) {
      const auto bytes = std::as_bytes(std::span(good.files.shards.at(name)));
      const auto size = safetensors_header_size(bytes.first(8), bytes.size(), name);
      REQUIRE(size.ok());
      shards.push_back({name, bytes.first(static_cast<std::size_t>(size.value())), bytes.size()});
    }
    FolderHeader folder;
    folder.config = good.files.config;
    folder.index = good.files.index;
    folder.shards = shards;
    auto loader = ModelLoader::open(folder);
    REQUIRE(loader.ok());
    std::size_t file = 0;
    std::uint64_t end = 0;
    while (const TensorInfo* tensor = loader.value().next()) {
      // One file after the other, each front to back.
      REQUIRE_GE(tensor->file, file);
      end = tensor->file == file ? end : 0;
      file = tensor->file;
      REQUIRE_GE(tensor->offset, end);
      end = tensor->offset + tensor->bytes;
      const auto bytes = std::as_bytes(std::span(good.files.shards.at(order[file])));
      REQUIRE(loader.value()
                  .accept(bytes.subspan(static_cast<std::size_t>(tensor->offset),
                                        static_cast<std::size_t>(tensor->bytes)))
                  .ok());
    }
    CHECK_EQ(file, 1);
    CHECK(loader.value().finish().ok());
  }
}

TEST_CASE("copies of the embedding in different shards") {
  Sharded folder;
  const FileTensor shared{"shared.weight", {5, 4}, std::vector<float>(20, 0.5F)};
  for (auto* file : {&folder.first, &folder.second}) {
    std::erase_if(*file, [](const FileTensor& tensor) { return tensor.name == "shared.weight"; });
  }
  folder.map.erase("shared.weight");
  const auto add = [&](std::vector<FileTensor>& file, const std::string& name, float value) {
    file.push_back(shared);
    file.back().name = name;
    file.back().values[7] = value;
    folder.map[name] = &file == &folder.first ? kFirst : kSecond;
    folder.write();
  };
  add(folder.first, "encoder.embed_tokens.weight", 0.25F);
  CHECK_EQ(folder.error(), "loads");
  add(folder.second, "decoder.embed_tokens.weight", 0.25F);
  CHECK_EQ(folder.error(), "loads");
  folder.second.pop_back();
  add(folder.second, "decoder.embed_tokens.weight", 0.125F);
  CHECK_EQ(folder.error(), "tensor_invalid: b.safetensors: decoder.embed_tokens.weight");
  add(folder.second, "shared.weight", 1);  // wins over copies, whatever they hold
  CHECK_EQ(folder.error(), "loads");
}

TEST_CASE("damaged indexes") {
  const auto with = [](const std::string& index) {
    Sharded folder;
    folder.files.index = index;
    const auto names = shard_names(index);
    REQUIRE_FALSE(names.ok());
    CHECK(names.error().code == ErrorCode::file_damaged);
    return folder.error();
  };
  CHECK_EQ(with("{"), "file_damaged: " + kIndex + ": byte 1");
  CHECK_EQ(with("[]"), "file_damaged: " + kIndex + ": weight_map");
  CHECK_EQ(with("{}"), "file_damaged: " + kIndex + ": weight_map");
  CHECK_EQ(with(R"({"weight_map": {}})"), "file_damaged: " + kIndex + ": weight_map");
  CHECK_EQ(with(R"({"weight_map": ["a.safetensors"]})"),
           "file_damaged: " + kIndex + ": weight_map");
  CHECK_EQ(with(R"({"weight_map": {"x": "a.safetensors", "x": "b.safetensors"}})"),
           "file_damaged: " + kIndex);
  CHECK_EQ(with(std::string(5 << 20, ' ')), "file_damaged: " + kIndex);
  for (const std::string name :
       {"1", "null", "[\"a.safetensors\"]", "\"\"", "\".safetensors\"", "\"a.bin\"",
        "\"../a.safetensors\"", "\"/a.safetensors\"", "\"x/a.safetensors\"",
        "\"x\\\\a.safetensors\"", "\"..safetensors\"", "\"a\\u0000.safetensors\"",
        "\"C:a.safetensors\"", "\"http://a.safetensors\""}) {
    CAPTURE(name);
    CHECK_EQ(with("{\"weight_map\": {\"x\": " + name + "}}"),
             "file_damaged: " + kIndex + ": weight_map.x");
  }
  CHECK_EQ(with("{\"weight_map\": {\"x\": \"" + std::string(300, 'a') + ".safetensors\"}}"),
           "file_damaged: " + kIndex + ": weight_map.x");
  std::string many = "{\"weight_map\": {";
  for (int i = 0; i < 1025; ++i) {
    const std::string number = std::to_string(i);
    many += (i == 0 ? "\"" : ",\"") + number + "\": \"" + number + ".safetensors\"";
  }
  CHECK_EQ(with(many + "}}"), "file_damaged: " + kIndex + ": weight_map");
}

TEST_CASE("shards against their index") {
  Sharded folder;
  SUBCASE("a shard is missing") {
    folder.files.shards.erase(kSecond);
    CHECK_EQ(folder.error(), "file_missing: b.safetensors");
    folder.files.shards[kSecond];
    CHECK_EQ(folder.error(), "file_damaged: b.safetensors");
  }
  SUBCASE("a shard that the index does not name") {
    folder.files.shards["c.safetensors"] = folder.files.shards.at(kSecond);
    CHECK_EQ(folder.error(), "file_damaged: c.safetensors");
  }
  SUBCASE("a tensor in the wrong shard") {
    folder.map[folder.first.front().name] = kSecond;
    folder.write();
    CHECK_EQ(folder.error(), "tensor_invalid: a.safetensors: " + folder.first.front().name);
  }
  SUBCASE("a tensor in both shards") {
    folder.second.push_back(folder.first.front());
    folder.write();
    CHECK_EQ(folder.error(), "tensor_invalid: b.safetensors: " + folder.first.front().name);
  }
  SUBCASE("a tensor that no file has") {
    folder.map["zzz"] = kSecond;
    folder.write();
    CHECK_EQ(folder.error(), "tensor_missing: b.safetensors: zzz");
  }
  SUBCASE("a tensor that the index does not have") {
    folder.second.push_back({"zzz", {1}, {0}});
    folder.write();
    CHECK_EQ(folder.error(), "tensor_invalid: b.safetensors: zzz");
  }
  SUBCASE("a tensor that the model does not have") {
    folder.second.push_back({"zzz", {1}, {0}});
    folder.map["zzz"] = kSecond;
    folder.write();
    CHECK_EQ(folder.error(), "tensor_invalid: b.safetensors: zzz");
  }
  SUBCASE("a tensor that neither has") {
    folder.map.erase(folder.second.back().name);
    const std::string name = folder.second.back().name;
    folder.second.pop_back();
    folder.write();
    CHECK_EQ(folder.error(), "tensor_missing: " + kIndex + ": " + name);
  }
  SUBCASE("a value that is not finite, in the second shard") {
    folder.second.front().values[1] = INFINITY;
    folder.write();
    CHECK_EQ(folder.error(), "tensor_invalid: b.safetensors: " + folder.second.front().name);
  }
}

TEST_CASE("shards and indexes cut or changed anywhere load or fail with a place") {
  const Sharded good;
  for (const std::string& name : {kFirst, kSecond}) {
    const std::string whole = good.files.shards.at(name);
    for (std::size_t length = 0; length < whole.size(); length += 13) {
      Sharded cut;
      cut.files.shards[name] = whole.substr(0, length);
      CHECK(cut.error().starts_with("file_damaged: " + name));
    }
  }
  int loaded = 0;
  for (std::size_t at = 0; at < good.files.index.size(); ++at) {
    Sharded changed;
    changed.files.index[at] = static_cast<char>(changed.files.index[at] ^ 0x01);
    loaded += changed.error() == "loads" ? 1 : 0;
    changed.files.index = good.files.index.substr(0, at);
    if (at > 0) {
      CHECK(changed.error().starts_with("file_damaged: " + kIndex));
    }
  }
  CHECK_GT(loaded, 0);  // the metadata are not looked at
  CHECK_LT(loaded, 60);
}
