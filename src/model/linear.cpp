#include "src/model/linear.hpp"

#include <string>

#include "src/base/elementary.hpp"

namespace relata {
namespace {

constexpr double kLn10000 = 9.210340371976182736;

void add_sinusoids(const Config& config, int position, float* row) {
  const int half = config.d_model / 2;
  const double place = static_cast<double>(position) + config.positions.first_position;
  for (int i = 0; i < half; ++i) {
    const double exponent = -i / static_cast<double>(config.positions.divisor);
    const auto [of_sine, of_cosine] = sine_cosine(place * natural_exp(exponent * kLn10000));
    const int sine = config.positions.interleaved ? 2 * i : i;
    const int cosine = config.positions.interleaved ? 2 * i + 1 : half + i;
    row[sine] += static_cast<float>(of_sine);
    row[cosine] += static_cast<float>(of_cosine);
  }
}

}  // namespace

void apply(const Linear& linear, MatrixView<const float> input, Workspace& workspace,
           MatrixView<float> output) {
  kernels::matmul(workspace.parallel, input, linear.weight, linear.bias.data(), workspace.rounded,
                  output);
}

void normalise(const Config& config, const Norm& norm, MatrixView<const float> input,
               MatrixView<float> output) {
  if (config.norm == NormKind::rms_norm) {
    kernels::rms_norm(input, norm.weight.data(), config.norm_epsilon, output);
  } else {
    kernels::layer_norm(input, norm.weight.data(), norm.bias.data(), config.norm_epsilon, output);
  }
}

MatrixView<const float> before_sublayer(const Config& config, const Norm& norm,
                                        MatrixView<const float> hidden, Workspace& workspace) {
  if (config.norm_position == NormPosition::post) {
    return hidden;
  }
  const auto normalised = workspace.normalised.view().slice_rows(0, hidden.rows);
  normalise(config, norm, hidden, normalised);
  return normalised;
}

void after_sublayer(const Config& config, const Norm& norm, MatrixView<const float> output,
                    MatrixView<float> hidden) {
  for (int i = 0; i < hidden.rows; ++i) {
    kernels::add(hidden.row(i), output.row(i), hidden.cols);
  }
  if (config.norm_position == NormPosition::post) {
    normalise(config, norm, hidden, hidden);
  }
}

Result<void> check_finite(MatrixView<const float> values, const char* what) {
  for (int i = 0; i < values.rows; ++i) {
    if (!kernels::all_finite(values.row(i), values.cols)) {
      return fail(ErrorCode::tensor_invalid, what,
                  "the values leave the range of f32: some weights of the model are too large");
    }
  }
  return {};
}

Result<void> embed(const Model& model, Side side, std::span<const int> token_ids,
                   int first_position, MatrixView<float> hidden) {
  const Config& config = model.config;
  const Weights& weights = model.weights;
  const bool source = side == Side::source;
  const auto& embedding = source ? weights.embedding : weights.target_embedding();
  const Matrix& positions = source ? weights.positions : weights.target_positions();
  if (config.positions.kind == PositionKind::table &&
      hidden.rows > positions.rows() - first_position) {
    return fail(ErrorCode::input_invalid, source ? "source" : "target",
                {"this model has positions for ", positions.rows(), " tokens and no more"});
  }
  for (int i = 0; i < hidden.rows; ++i) {
    const int id = token_ids[static_cast<std::size_t>(i)];
    if (id < 0 || id >= embedding.cols()) {
      return fail(ErrorCode::input_invalid, {"token ", first_position + i},
                  {"token id ", id, " is not below the vocabulary size ", embedding.cols()});
    }
    embedding.copy_row(id, hidden.row(i));
    kernels::scale(hidden.row(i), config.embedding_scale, config.d_model);
    if (config.positions.kind == PositionKind::table) {
      kernels::add(hidden.row(i), positions.view().row(first_position + i), config.d_model);
    }
    if (config.positions.kind == PositionKind::sinusoidal) {
      add_sinusoids(config, first_position + i, hidden.row(i));
    }
  }
  return {};
}

}  // namespace relata
