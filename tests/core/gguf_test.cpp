// GGUF files as gguf's own writer makes them, whole and damaged, against gguf's dequantiser. Whole
// models are judged in parity_test.cpp.
#include <doctest/doctest.h>

#include <cstring>
#include <string>
#include <utility>

#include "src/formats/block_formats.hpp"
#include "src/formats/gguf.hpp"
#include "tests/core/support.hpp"

namespace relata::test {
namespace {

std::span<const std::byte> bytes_of(const std::string& text) {
  return std::as_bytes(std::span(text));
}

/// A GGUF file written here by hand, byte by byte, to be damaged at a named place.
struct Writer {
  std::string bytes = "GGUF";

  template <class T>
  Writer& number(T value) {
    bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
    return *this;
  }
  Writer& text(const std::string& value) {
    number<std::uint64_t>(value.size());
    bytes += value;
    return *this;
  }
  Writer& head(std::uint64_t tensors, std::uint64_t keys) {
    return number<std::uint32_t>(3).number(tensors).number(keys);
  }
  Writer& tensor(const std::string& name, std::uint64_t cols, std::uint32_t type,
                 std::uint64_t offset) {
    return text(name).number<std::uint32_t>(1).number(cols).number(type).number(offset);
  }
  Writer& pad(std::size_t data) {
    bytes.resize((bytes.size() + 31) / 32 * 32 + data);
    return *this;
  }
};

ErrorCode code_of(const std::string& file) {
  const auto header = formats::read_gguf(bytes_of(file), file.size());
  REQUIRE_FALSE(header.ok());
  return header.error().code;
}

}  // namespace

TEST_CASE("every block format decodes to what gguf's dequantiser gives") {
  const Tensors blocks = read_tensors(golden_path("gguf/blocks.safetensors"));
  for (const char* name : {"Q8_0", "Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q4_K", "Q5_K", "Q6_K"}) {
    CAPTURE(name);
    const formats::BlockFormat* format = formats::find_block_format(name);
    REQUIRE(format != nullptr);
    const Tensor& bytes = blocks.at(std::string(name) + ".bytes");
    const Tensor& values = blocks.at(std::string(name) + ".values");
    REQUIRE(bytes.dim(1) == format->block_bytes);
    REQUIRE(values.dim(1) == format->block_values);
    std::vector<std::byte> raw;
    for (const int byte : bytes.ids) {
      raw.push_back(static_cast<std::byte>(byte));
    }
    std::vector<float> decoded(values.values.size());
    formats::decode_row(*format, raw.data(), static_cast<int>(decoded.size()), decoded.data());
    for (std::size_t i = 0; i < decoded.size(); ++i) {
      // The reference multiplies in another order: one rounding of its terms.
      REQUIRE(decoded[i] == doctest::Approx(values.values[i]).epsilon(1e-6));
    }
  }
}

TEST_CASE("the vocabulary of a GGUF file") {
  const std::string file = read_file(golden_path("gguf/t5-q32.gguf"));
  const auto header = formats::read_gguf(bytes_of(file), file.size());
  REQUIRE(header.ok());
  const auto vocabulary = formats::read_gguf_vocabulary(header.value());
  REQUIRE(vocabulary.ok());
  REQUIRE(vocabulary.value().pieces.size() == 40);
  CHECK(vocabulary.value().pieces[7] == "piece7");
  CHECK(vocabulary.value().scores[7] == -3.5F);
  CHECK(vocabulary.value().types[2] == 2);
}

TEST_CASE("a damaged GGUF header is refused by name") {
  const std::string good = Writer().head(1, 0).tensor("t", 8, 0, 0).pad(32).bytes;
  REQUIRE(formats::read_gguf(bytes_of(good), good.size()).ok());
  CHECK(code_of("GGUX" + good.substr(4)) == ErrorCode::file_damaged);
  CHECK(code_of(Writer().number<std::uint32_t>(1).bytes) == ErrorCode::unsupported);
  CHECK(code_of(Writer().head(1, 0).tensor("t", 8, 99, 0).pad(32).bytes) == ErrorCode::unsupported);
  CHECK(code_of(Writer().head(1, 0).tensor("t", 8, 0, 32).pad(64).bytes) ==
        ErrorCode::file_damaged);
  CHECK(code_of(Writer().head(2, 0).tensor("a", 8, 0, 0).tensor("b", 8, 0, 0).pad(64).bytes) ==
        ErrorCode::file_damaged);
  CHECK(code_of(Writer().head(2, 0).tensor("a", 8, 0, 0).tensor("a", 8, 0, 32).pad(64).bytes) ==
        ErrorCode::file_damaged);
  CHECK(code_of(Writer().head(1, 0).tensor("t", 8, 8, 0).pad(32).bytes) == ErrorCode::file_damaged);
  CHECK(code_of(Writer().head(1, 0).tensor("t", ~0ULL, 0, 0).pad(32).bytes) ==
        ErrorCode::file_damaged);
  CHECK(code_of(Writer().head(~0ULL, 0).bytes) == ErrorCode::file_damaged);
  CHECK(code_of(Writer().head(0, ~0ULL).bytes) == ErrorCode::file_damaged);
  CHECK(code_of(Writer().head(0, 1).text("k").number<std::uint32_t>(77).bytes) ==
        ErrorCode::file_damaged);
  const auto array = [] { return Writer().head(0, 1).text("k").number<std::uint32_t>(9); };
  CHECK(code_of(array().number<std::uint32_t>(9).number<std::uint64_t>(1).bytes) ==
        ErrorCode::file_damaged);
  CHECK(code_of(array().number<std::uint32_t>(8).number<std::uint64_t>(1ULL << 60).bytes) ==
        ErrorCode::file_damaged);
  CHECK(code_of(good + std::string(64, '\0')) == ErrorCode::file_damaged);
}

TEST_CASE("a GGUF file cut anywhere, or with any byte changed, is loaded or refused, never more") {
  const std::string file = read_file(golden_path("gguf/t5-q32.gguf"));
  const auto header = formats::read_gguf(bytes_of(file), file.size());
  REQUIRE(header.ok());
  const auto header_bytes = static_cast<std::size_t>(header.value().bytes);
  for (std::size_t length = 0; length < file.size(); length += length < 400 ? 1 : 97) {
    CHECK_FALSE(load_gguf(file.substr(0, length)).ok());
  }
  int refused = 0;
  for (std::size_t at = 0; at < header_bytes; at += 7) {
    std::string changed = file;
    changed[at] = static_cast<char>(changed[at] ^ 0x41);
    refused += load_gguf(changed).ok() ? 0 : 1;
  }
  CHECK(refused > 0);
}

}  // namespace relata::test
