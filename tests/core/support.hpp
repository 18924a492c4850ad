// What the core tests share: golden folders, readers that do not use src/formats, comparison,
// random numbers.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "src/base/matrix_view.hpp"
#include "tests/core/model_files.hpp"

namespace relata::test {

/// Rounding of one f32 operation relative to its result.
inline constexpr double kEpsilon = 0x1p-24;

std::string golden_path(const std::string& relative);
std::string read_file(const std::string& path);
nlohmann::json read_json(const std::string& path);

/// A tensor of a golden file, widened to f32; integers keep their values in `ids`.
struct Tensor {
  std::vector<int> shape;
  std::vector<float> values;
  std::vector<int> ids;

  int dim(int axis) const { return shape.at(static_cast<std::size_t>(axis)); }
  /// Of a matrix [rows, cols], or of the matrix at `index` of a stack [n, rows, cols].
  MatrixView<const float> matrix(int index = 0) const;
  MatrixView<const int> id_matrix() const;
};
using Tensors = std::map<std::string, Tensor>;

/// A reader of .safetensors that shares nothing with the one under test (F32, F16, BF16, I32).
Tensors read_tensors(const std::string& path);

/// One golden case of a folder: ids from expected.json, tensors from expected.safetensors.
struct GoldenCase {
  std::string name;
  std::vector<int> source_ids;
  std::vector<int> decoder_input_ids;
  std::vector<int> greedy_ids;
  const Tensors* tensors = nullptr;

  bool has(const std::string& tensor) const { return tensors->contains(name + "." + tensor); }
  const Tensor& at(const std::string& tensor) const { return tensors->at(name + "." + tensor); }
  /// Empty where the case has no labels.
  MatrixView<const int> labels() const;
};
struct Golden {
  FolderFiles files;
  Tensors tensors;
  std::vector<GoldenCase> cases;
};
/// Kept where it is made: cases point at its tensors.
std::unique_ptr<const Golden> read_golden(const std::string& name);
/// The same without the folder's files.
std::unique_ptr<const Golden> read_cases(const std::string& name);

/// Largest |a - b|; infinity where shapes differ or a value is not finite.
double max_difference(MatrixView<const float> a, MatrixView<const float> b);
bool same_bits(MatrixView<const float> a, MatrixView<const float> b);

/// A matrix for tests with values in [-1, 1) and a row stride of its own. What lies between rows,
/// before the first and after the last holds guard values.
class GuardedMatrix {
 public:
  GuardedMatrix(int rows, int cols, int stride);
  MatrixView<float> view() { return {values_.data() + kGuard, rows_, cols_, stride_}; }
  MatrixView<const float> view() const { return {values_.data() + kGuard, rows_, cols_, stride_}; }
  float* row(int i) { return view().row(i); }
  void fill(std::mt19937& random, float scale = 1);
  void fill_constant(float value);
  bool guards_intact() const;

 private:
  static constexpr int kGuard = 32;
  static constexpr float kGuardValue = 12345.5F;
  int rows_, cols_, stride_;
  std::vector<float> values_;
};

inline float random_float(std::mt19937& random, float scale = 1) {
  // Not std::uniform_real_distribution: its values differ between libraries.
  return scale * (static_cast<float>(random() >> 8) * 0x1p-23F - 1.0F);
}
inline int random_int(std::mt19937& random, int below) {
  return static_cast<int>(random() % static_cast<unsigned>(below));
}

}  // namespace relata::test
