#include "src/generate/teacher_force.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "src/model/decoder.hpp"
#include "src/model/encoder.hpp"

namespace relata {

float log_probability(MatrixView<const float> logits, int row, int token_id) {
  return logits.row(row)[token_id] - kernels::log_sum_exp(logits.row(row), logits.cols);
}

Result<TeacherForced> teacher_force(const Model& model, std::span<const int> source_ids,
                                    std::span<const int> target_ids, MatrixView<const int> labels,
                                    const TraceRequest& trace_request, int decoder_start_token_id,
                                    const AlteredRelations* altered) {
  const Config& config = model.config;
  if (target_ids.empty() || target_ids.size() > static_cast<std::size_t>(kMaxTargetLength)) {
    return fail(ErrorCode::input_invalid, "target",
                {"a target has from 1 to ", kMaxTargetLength, " tokens"});
  }
  RELATA_TRY(check_token_ids(config, target_ids, "target"));
  const int length = static_cast<int>(target_ids.size());
  std::vector<int> input_ids = {decoder_start_token_id < 0 ? config.decoder_start_token_id
                                                           : decoder_start_token_id};
  input_ids.insert(input_ids.end(), target_ids.begin(), target_ids.end() - 1);

  TeacherForced result;
  RELATA_TRY_ASSIGN(
      result.trace,
      AttentionTrace::allocate(config, trace_request, static_cast<int>(source_ids.size()), length));
  AttentionTrace* trace = result.trace.empty() ? nullptr : &result.trace;
  RELATA_TRY_ASSIGN(auto encoded, encode(model, source_ids, labels, trace, altered));
  const int max_rows = std::min(kForcedRows, length);
  RELATA_TRY_ASSIGN(auto decoder, Decoder::start(model, encoded.view(), length, max_rows,
                                                 trace != nullptr, altered));
  RELATA_TRY_ASSIGN(auto logits, Matrix::allocate(max_rows, config.vocab_size, "logits"));
  for (int first = 0; first < length; first += max_rows) {
    const int rows = std::min(max_rows, length - first);
    const auto chunk = std::span<const int>(input_ids).subspan(static_cast<std::size_t>(first),
                                                               static_cast<std::size_t>(rows));
    RELATA_TRY(decoder.forward(chunk, logits.view().slice_rows(0, rows), trace));
    for (int i = 0; i < rows; ++i) {
      const int target = target_ids[static_cast<std::size_t>(first + i)];
      result.log_probabilities.push_back(log_probability(logits.view(), i, target));
    }
  }
  return result;
}

}  // namespace relata
