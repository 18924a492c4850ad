#pragma once

#include "src/model/weights.hpp"
#include "src/model/workspace.hpp"

namespace relata {

/// output = activation(input W_in) W_out, or (activation(input W_in) * input W_gate) W_out when
/// gated. [n, d_model]. Vaswani et al. 2017, section 3.3; Shazeer 2020 for the gate.
void feed_forward(const Config& config, const FeedForwardWeights& weights,
                  MatrixView<const float> input, Workspace& workspace, MatrixView<float> output);

}  // namespace relata
