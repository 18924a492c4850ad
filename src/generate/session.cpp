#include "src/generate/session.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "src/model/encoder.hpp"

namespace relata {
namespace {

/// Target tokens fed at once in a teacher-forced pass: bounds the logits held at a time to this
/// many rows.
constexpr int kScoreRows = 16;

float log_probability(MatrixView<const float> logits, int row, int token_id) {
  return logits.row(row)[token_id] - kernels::log_sum_exp(logits.row(row), logits.cols);
}

}  // namespace

Result<Session> Session::start(const Model& model, std::span<const int> source_ids,
                               MatrixView<const int> labels, const GenerateOptions& options) {
  const int max_new_tokens =
      options.max_new_tokens == 0 ? model.config.max_new_tokens : options.max_new_tokens;
  if (max_new_tokens < 0 || max_new_tokens > kMaxTargetLength) {
    return Error{ErrorCode::option_invalid, "max_new_tokens",
                 "max_new_tokens must be from 1 to " + std::to_string(kMaxTargetLength)};
  }
  Session session;
  session.model_ = &model;
  session.next_input_ = model.config.decoder_start_token_id;
  session.remaining_ = max_new_tokens;
  RELATA_TRY_ASSIGN(session.trace_,
                    AttentionTrace::allocate(model.config, options.trace,
                                             static_cast<int>(source_ids.size()), max_new_tokens));
  AttentionTrace* trace = session.trace_or_null();
  RELATA_TRY_ASSIGN(auto encoded, encode(model, source_ids, labels, trace));
  session.encoder_runs_ += 1;
  RELATA_TRY_ASSIGN(session.decoder_,
                    Decoder::start(model, encoded.view(), max_new_tokens, 1, trace != nullptr));
  RELATA_TRY_ASSIGN(session.logits_, Matrix::allocate(1, model.config.vocab_size, "logits"));
  return session;
}

Result<GeneratedToken> Session::step() {
  if (finish_reason_ != FinishReason::none) {
    return Error{ErrorCode::option_invalid, "session", "this generation has already finished"};
  }
  RELATA_TRY(decoder_.forward({&next_input_, 1}, logits_.view(), trace_or_null()));
  const auto logits = std::as_const(logits_).view();
  const int token_id = kernels::argmax(logits.row(0), logits.cols);
  const GeneratedToken token{token_id, log_probability(logits, 0, token_id)};
  next_input_ = token_id;
  remaining_ -= 1;
  const auto& eos = model_->config.eos_token_ids;
  if (std::find(eos.begin(), eos.end(), token_id) != eos.end()) {
    finish_reason_ = FinishReason::eos;
  } else if (remaining_ == 0) {
    finish_reason_ = FinishReason::length;
  }
  return token;
}

Result<TeacherForced> teacher_force(const Model& model, std::span<const int> source_ids,
                                    std::span<const int> target_ids, MatrixView<const int> labels,
                                    const TraceRequest& trace_request) {
  const Config& config = model.config;
  if (target_ids.empty() || target_ids.size() > static_cast<std::size_t>(kMaxTargetLength)) {
    return Error{ErrorCode::input_invalid, "target",
                 "a target has from 1 to " + std::to_string(kMaxTargetLength) + " tokens"};
  }
  const int length = static_cast<int>(target_ids.size());
  std::vector<int> input_ids = {config.decoder_start_token_id};
  input_ids.insert(input_ids.end(), target_ids.begin(), target_ids.end() - 1);

  TeacherForced result;
  RELATA_TRY_ASSIGN(
      result.trace,
      AttentionTrace::allocate(config, trace_request, static_cast<int>(source_ids.size()), length));
  AttentionTrace* trace = result.trace.empty() ? nullptr : &result.trace;
  RELATA_TRY_ASSIGN(auto encoded, encode(model, source_ids, labels, trace));
  const int max_rows = std::min(kScoreRows, length);
  RELATA_TRY_ASSIGN(auto decoder,
                    Decoder::start(model, encoded.view(), length, max_rows, trace != nullptr));
  RELATA_TRY_ASSIGN(auto logits, Matrix::allocate(max_rows, config.vocab_size, "logits"));
  for (int first = 0; first < length; first += max_rows) {
    const int rows = std::min(max_rows, length - first);
    const auto chunk = std::span<const int>(input_ids).subspan(static_cast<std::size_t>(first),
                                                               static_cast<std::size_t>(rows));
    RELATA_TRY(decoder.forward(chunk, logits.view().slice_rows(0, rows), trace));
    for (int i = 0; i < rows; ++i) {
      const int target = target_ids[static_cast<std::size_t>(first + i)];
      if (target < 0 || target >= config.vocab_size) {
        return Error{ErrorCode::input_invalid, "target token " + std::to_string(first + i),
                     "token id " + std::to_string(target) + " is not below the vocabulary size " +
                         std::to_string(config.vocab_size)};
      }
      result.log_probabilities.push_back(log_probability(logits.view(), i, target));
    }
  }
  return result;
}

}  // namespace relata
