#include "tests/core/ctranslate2_folder.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>
#include <filesystem>

#include "tests/core/support.hpp"

namespace relata::test {
namespace {

template <class T>
T take(const std::string& bytes, std::size_t& at) {
  T value;
  REQUIRE_LE(at + sizeof value, bytes.size());
  std::memcpy(&value, bytes.data() + at, sizeof value);
  at += sizeof value;
  return value;
}

std::string take_name(const std::string& bytes, std::size_t& at) {
  const std::size_t length = take<std::uint16_t>(bytes, at);
  std::string name = bytes.substr(at, length - 1);
  at += length;
  return name;
}

template <class T>
void put(std::string& bytes, T value) {
  bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
}

void put_name(std::string& bytes, const std::string& name) {
  put(bytes, static_cast<std::uint16_t>(name.size() + 1));
  bytes += name + '\0';
}

}  // namespace

BinFile BinFile::read(const std::string& bytes) {
  BinFile file;
  std::size_t at = 0;
  file.version = take<std::uint32_t>(bytes, at);
  file.specification = take_name(bytes, at);
  file.revision = take<std::uint32_t>(bytes, at);
  const auto count = take<std::uint32_t>(bytes, at);
  for (std::uint32_t i = 0; i < count; ++i) {
    BinVariable variable;
    variable.name = take_name(bytes, at);
    const int rank = take<std::uint8_t>(bytes, at);
    for (int axis = 0; axis < rank; ++axis) {
      variable.shape.push_back(take<std::uint32_t>(bytes, at));
    }
    variable.type = take<std::uint8_t>(bytes, at);
    const std::size_t size = take<std::uint32_t>(bytes, at);
    variable.data = bytes.substr(at, size);
    at += size;
    file.variables.push_back(std::move(variable));
  }
  const auto aliases = take<std::uint32_t>(bytes, at);
  for (std::uint32_t i = 0; i < aliases; ++i) {
    std::string alias = take_name(bytes, at);
    file.aliases.emplace_back(std::move(alias), take_name(bytes, at));
  }
  REQUIRE_EQ(at, bytes.size());
  return file;
}

std::string BinFile::write() const {
  std::string bytes;
  put(bytes, version);
  put_name(bytes, specification);
  put(bytes, revision);
  put(bytes, static_cast<std::uint32_t>(variables.size()));
  for (const BinVariable& variable : variables) {
    put_name(bytes, variable.name);
    put(bytes, static_cast<std::uint8_t>(variable.shape.size()));
    for (const std::uint32_t size : variable.shape) {
      put(bytes, size);
    }
    put(bytes, variable.type);
    put(bytes, static_cast<std::uint32_t>(variable.data.size()));
    bytes += variable.data;
  }
  put(bytes, static_cast<std::uint32_t>(aliases.size()));
  for (const auto& [alias, name] : aliases) {
    put_name(bytes, alias);
    put_name(bytes, name);
  }
  return bytes;
}

BinVariable& BinFile::at(const std::string& name) {
  const auto found =
      std::find_if(variables.begin(), variables.end(),
                   [&](const BinVariable& variable) { return variable.name == name; });
  REQUIRE_MESSAGE(found != variables.end(), name);
  return *found;
}

void BinFile::remove(const std::string& name) {
  BinVariable& variable = at(name);
  variables.erase(variables.begin() + (&variable - variables.data()));
}

Ctranslate2Folder read_ctranslate2_folder(const std::string& name) {
  const std::string path = golden_path("ctranslate2/" + name + "/");
  const auto exists = [&](const std::string& file) { return std::filesystem::exists(path + file); };
  Ctranslate2Folder folder;
  folder.model = BinFile::read(read_file(path + "model.bin"));
  folder.config = exists("config.json") ? read_file(path + "config.json") : "";
  const std::string ending = exists("shared_vocabulary.json") ? ".json" : ".txt";
  const bool shared = exists("shared_vocabulary" + ending);
  folder.source_file = (shared ? "shared" : "source") + ("_vocabulary" + ending);
  folder.target_file = (shared ? "shared" : "target") + ("_vocabulary" + ending);
  folder.source = read_file(path + folder.source_file);
  folder.target = read_file(path + folder.target_file);
  return folder;
}

Result<formats::Ctranslate2Index> scan(const std::string& bytes,
                                       std::vector<formats::ByteRange>* asked) {
  formats::Ctranslate2Scanner scanner(bytes.size());
  const auto all = std::as_bytes(std::span(bytes));
  while (scanner.next().bytes > 0) {
    const formats::ByteRange range = scanner.next();
    if (asked != nullptr) {
      asked->push_back(range);
    }
    REQUIRE_LE(range.offset + range.bytes, bytes.size());
    const auto accepted = scanner.accept(
        all.subspan(static_cast<std::size_t>(range.offset), static_cast<std::size_t>(range.bytes)));
    if (!accepted.ok()) {
      return accepted.error();
    }
  }
  return scanner.finish();
}

Result<std::unique_ptr<const Model>> load(const Ctranslate2Folder& folder,
                                          const std::string& model_bin) {
  const auto index = scan(model_bin);
  if (!index.ok()) {
    return index.error();
  }
  const formats::Ctranslate2Texts texts{
      folder.config, {folder.source_file, folder.source}, {folder.target_file, folder.target}};
  auto loader = ModelLoader::open_ctranslate2(index.value(), texts);
  if (!loader.ok()) {
    return loader.error();
  }
  const auto bytes = std::as_bytes(std::span(model_bin));
  std::uint64_t end = 0;
  while (const TensorInfo* tensor = loader.value().next()) {
    REQUIRE_GE(tensor->offset, end);  // no byte is asked for twice
    end = tensor->offset + tensor->bytes;
    REQUIRE_LE(end, bytes.size());
    const auto accepted = loader.value().accept(bytes.subspan(
        static_cast<std::size_t>(tensor->offset), static_cast<std::size_t>(tensor->bytes)));
    if (!accepted.ok()) {
      return accepted.error();
    }
  }
  return loader.value().finish();
}

Result<std::unique_ptr<const Model>> load(const Ctranslate2Folder& folder) {
  return load(folder, folder.model.write());
}

}  // namespace relata::test
