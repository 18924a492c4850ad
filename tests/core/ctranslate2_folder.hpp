// CTranslate2 folders for tests: the golden ones, taken apart and put together again by a reader
// and a writer of their own, so that a test can change one thing, and loaded as a caller loads
// them.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "src/formats/ctranslate2.hpp"

namespace relata::test {

struct BinVariable {
  std::string name;
  std::vector<std::uint32_t> shape;
  std::uint8_t type = 0;  // 0 float32, 1 int8, 2 int16, 3 int32, 4 float16, 5 bfloat16
  std::string data;
};

struct BinFile {
  std::uint32_t version = 6;
  std::string specification = "TransformerSpec";
  std::uint32_t revision = 7;
  std::vector<BinVariable> variables;
  std::vector<std::pair<std::string, std::string>> aliases;

  static BinFile read(const std::string& bytes);
  std::string write() const;
  BinVariable& at(const std::string& name);
  void remove(const std::string& name);
};

struct Ctranslate2Folder {
  BinFile model;
  std::string config;
  std::string source_file, source;
  std::string target_file, target;
};
Ctranslate2Folder read_ctranslate2_folder(const std::string& name);

/// Shows a scanner what it asks for. `asked`, if not null, receives the ranges.
Result<formats::Ctranslate2Index> scan(const std::string& bytes,
                                       std::vector<formats::ByteRange>* asked = nullptr);
Result<std::unique_ptr<const Model>> load(const Ctranslate2Folder& folder,
                                          const std::string& model_bin);
Result<std::unique_ptr<const Model>> load(const Ctranslate2Folder& folder);

}  // namespace relata::test
