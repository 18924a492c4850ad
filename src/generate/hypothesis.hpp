#pragma once

#include <vector>

namespace relata {

/// eos: the model's end token. length: max_new_tokens. stop_token: one of stop_token_ids. loop: see
/// GenerateOptions::max_repeats. stopped: Session::stop.
enum class FinishReason { none, eos, length, stop_token, loop, stopped };

/// A target, finished or growing.
struct Hypothesis {
  std::vector<int> token_ids;  // target prefix first, end token included, start token not
  /// Of each token, natural: what the model itself says, before penalties, bans and temperature.
  std::vector<float> log_probabilities;
  /// Beams: the sum over the new tokens of the log-probabilities searched with (after penalties,
  /// bans and forced tokens), once finished divided by the length penalty. Else the sum of the new
  /// tokens' log_probabilities.
  float score = 0;
  FinishReason finish_reason = FinishReason::none;
};

}  // namespace relata
