// The small verbs every layer is made of: apply a linear map, normalise, add.
#pragma once

#include <span>

#include "src/model/weights.hpp"
#include "src/model/workspace.hpp"

namespace relata {

/// output = input * weight^T + bias. input [n, in], output [n, out].
void apply(const Linear& linear, MatrixView<const float> input, Workspace& workspace,
           MatrixView<float> output);

/// What a sublayer reads. Pre-norm: the normalised hidden state, in the workspace; post-norm: the
/// hidden state itself.
MatrixView<const float> before_sublayer(const Config& config, const Norm& norm,
                                        MatrixView<const float> hidden, Workspace& workspace);
/// hidden += output of the sublayer; post-norm normalises the sum.
void after_sublayer(const Config& config, const Norm& norm, MatrixView<const float> output,
                    MatrixView<float> hidden);

/// output = norm(input), row by row [n, d_model]; input and output may be the same.
void normalise(const Config& config, const Norm& norm, MatrixView<const float> input,
               MatrixView<float> output);

/// Whose tokens are embedded: the encoder's or the decoder's.
enum class Side { source, target };

/// Errors: tensor_invalid where a value has left the range of f32, which only weights far out of
/// the usual can bring about. `what` names the values.
Result<void> check_finite(MatrixView<const float> values, const char* what);

/// hidden = scaled embeddings of the tokens, plus what the model adds for positions first_position
/// onwards. [n, d_model]. Errors: input_invalid for an id outside the vocabulary or a position past
/// the end of a table; then hidden is not to be used.
Result<void> embed(const Model& model, Side side, std::span<const int> token_ids,
                   int first_position, MatrixView<float> hidden);

}  // namespace relata
