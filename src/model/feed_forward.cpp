#include "src/model/feed_forward.hpp"

#include "src/model/linear.hpp"

namespace relata {

void feed_forward(const Config& config, const FeedForwardWeights& weights,
                  MatrixView<const float> input, Workspace& workspace, MatrixView<float> output) {
  const auto hidden = workspace.hidden.view().slice_rows(0, input.rows);
  apply(weights.input, input, workspace, hidden);
  for (int i = 0; i < hidden.rows; ++i) {
    kernels::activate(config.activation, hidden.row(i), hidden.cols);
  }
  if (config.gated) {
    const auto gate = workspace.gate.view().slice_rows(0, input.rows);
    apply(weights.gate, input, workspace, gate);
    for (int i = 0; i < hidden.rows; ++i) {
      kernels::multiply(hidden.row(i), gate.row(i), hidden.cols);
    }
  }
  apply(weights.output, hidden, workspace, output);
}

}  // namespace relata
