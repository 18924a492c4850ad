#include "tests/core/support.hpp"

#include <doctest/doctest.h>

#include <bit>
#include <cstring>
#include <fstream>
#include <sstream>
#include <utility>

#ifndef RELATA_GOLDEN_DIR
#define RELATA_GOLDEN_DIR "tests/golden"
#endif

namespace relata::test {
namespace {

float from_half(std::uint16_t bits) {
  const int exponent = (bits >> 10) & 31;
  const float fraction = static_cast<float>(bits & 1023) / 1024.0F;
  const float magnitude =
      exponent == 0 ? std::ldexp(fraction, -14) : std::ldexp(1 + fraction, exponent - 15);
  return (bits & 0x8000) != 0 ? -magnitude : magnitude;
}

std::uint64_t header_length(const std::string& file) {
  std::uint64_t length = 0;
  std::memcpy(&length, file.data(), sizeof length);
  return length;
}

template <class T>
T value_at(const char* bytes, std::size_t index) {
  T value;
  std::memcpy(&value, bytes + index * sizeof value, sizeof value);
  return value;
}

Tensor parse_tensor(const nlohmann::json& entry, const char* data) {
  Tensor tensor;
  tensor.shape = entry.at("shape").get<std::vector<int>>();
  std::size_t count = 1;
  for (const int dim : tensor.shape) {
    count *= static_cast<std::size_t>(dim);
  }
  const std::string dtype = entry.at("dtype");
  const char* bytes = data + entry.at("data_offsets").at(0).get<std::size_t>();
  for (std::size_t i = 0; i < count; ++i) {
    if (dtype == "F32") {
      tensor.values.push_back(value_at<float>(bytes, i));
    } else if (dtype == "F16") {
      tensor.values.push_back(from_half(value_at<std::uint16_t>(bytes, i)));
    } else if (dtype == "BF16") {
      tensor.values.push_back(std::bit_cast<float>(
          static_cast<std::uint32_t>(value_at<std::uint16_t>(bytes, i)) << 16));
    } else if (dtype == "U8") {
      tensor.ids.push_back(value_at<std::uint8_t>(bytes, i));
    } else {
      REQUIRE(dtype == "I32");
      tensor.ids.push_back(value_at<std::int32_t>(bytes, i));
    }
  }
  return tensor;
}

}  // namespace

std::string golden_path(const std::string& relative) {
  return std::string(RELATA_GOLDEN_DIR) + "/" + relative;
}

std::string read_file(const std::string& path) {
  std::ifstream stream(path, std::ios::binary);
  REQUIRE_MESSAGE(stream.good(), path);
  std::ostringstream content;
  content << stream.rdbuf();
  return content.str();
}

nlohmann::json read_json(const std::string& path) { return nlohmann::json::parse(read_file(path)); }

MatrixView<const float> Tensor::matrix(int index) const {
  const int rows = shape.at(shape.size() - 2);
  const int cols = shape.back();
  return {values.data() + static_cast<std::ptrdiff_t>(index) * rows * cols, rows, cols, cols};
}

MatrixView<const int> Tensor::id_matrix() const { return {ids.data(), dim(0), dim(1), dim(1)}; }

Tensors read_tensors(const std::string& path) {
  const std::string file = read_file(path);
  const auto length = static_cast<std::size_t>(header_length(file));
  const auto header = nlohmann::json::parse(file.substr(8, length));
  Tensors tensors;
  for (const auto& [name, entry] : header.items()) {
    if (name != "__metadata__") {
      tensors.emplace(name, parse_tensor(entry, file.data() + 8 + length));
    }
  }
  return tensors;
}

MatrixView<const int> GoldenCase::labels() const {
  return has("labels") ? at("labels").id_matrix() : MatrixView<const int>{};
}

std::unique_ptr<const Golden> read_golden(const std::string& name) {
  auto golden = std::make_unique<Golden>(*read_cases(name));
  golden->files = read_folder(name);
  for (GoldenCase& example : golden->cases) {
    example.tensors = &golden->tensors;
  }
  return golden;
}

std::unique_ptr<const Golden> read_cases(const std::string& name) {
  auto golden = std::make_unique<Golden>();
  if (name.starts_with("gguf/")) {  // one case, all of it in tensors
    Tensors found = read_tensors(golden_path(name + ".safetensors"));
    golden->cases.push_back(
        {"whole", found.at("source_ids").ids, found.at("decoder_input_ids").ids,
         read_tensors(golden_path(name + ".blocks.safetensors")).at("greedy_ids").ids,
         &golden->tensors});
    for (const std::string part : {"encoder", "logits"}) {
      golden->tensors["whole." + part] = std::move(found.at(part));
    }
    return golden;
  }
  golden->tensors = read_tensors(golden_path(name + "/expected.safetensors"));
  const auto expected = read_json(golden_path(name + "/expected.json"));
  for (const auto& entry : expected.at("cases")) {
    golden->cases.push_back({entry.at("name"), entry.at("source_ids"),
                             entry.at("decoder_input_ids"), entry.at("greedy_ids"),
                             &golden->tensors});
  }
  REQUIRE_FALSE(golden->cases.empty());
  return golden;
}

double max_difference(MatrixView<const float> a, MatrixView<const float> b) {
  if (a.rows != b.rows || a.cols != b.cols) {
    return INFINITY;
  }
  double largest = 0;
  for (int i = 0; i < a.rows; ++i) {
    for (int j = 0; j < a.cols; ++j) {
      const double difference = std::abs(static_cast<double>(a.row(i)[j]) - b.row(i)[j]);
      if (!std::isfinite(difference)) {
        return INFINITY;
      }
      largest = std::max(largest, difference);
    }
  }
  return largest;
}

bool same_bits(MatrixView<const float> a, MatrixView<const float> b) {
  bool same = a.rows == b.rows && a.cols == b.cols;
  for (int i = 0; same && i < a.rows; ++i) {
    same = std::memcmp(a.row(i), b.row(i), static_cast<std::size_t>(a.cols) * sizeof(float)) == 0;
  }
  return same;
}

GuardedMatrix::GuardedMatrix(int rows, int cols, int stride)
    : rows_(rows),
      cols_(cols),
      stride_(stride),
      values_(static_cast<std::size_t>(2 * kGuard + rows * stride), kGuardValue) {}

void GuardedMatrix::fill(std::mt19937& random, float scale) {
  for (int i = 0; i < rows_; ++i) {
    for (int j = 0; j < cols_; ++j) {
      row(i)[j] = random_float(random, scale);
    }
  }
}

void GuardedMatrix::fill_constant(float value) {
  for (int i = 0; i < rows_; ++i) {
    std::fill_n(row(i), cols_, value);
  }
}

bool GuardedMatrix::guards_intact() const {
  for (std::size_t at = 0; at < values_.size(); ++at) {
    const int inside = static_cast<int>(at) - kGuard;
    const bool cell = inside >= 0 && inside < rows_ * stride_ && inside % stride_ < cols_;
    if (!cell && values_[at] != kGuardValue) {
      return false;
    }
  }
  return true;
}

}  // namespace relata::test
