#pragma once

#include <memory>
#include <span>
#include <vector>

#include "src/model/attention.hpp"
#include "src/model/attention_trace.hpp"
#include "src/model/kv_cache.hpp"
#include "src/model/weights.hpp"
#include "src/model/workspace.hpp"

namespace relata {

/// What a decoder makes room for.
struct DecoderLimits {
  int max_source_length = 0;
  int max_target_length = 0;  // tokens fed to one hypothesis in all
  int max_rows = 0;           // tokens fed in one pass
  bool with_trace = false;
};

/// The next tokens of one hypothesis, possibly none: one row of the pass each.
struct DecoderRun {
  std::span<const int> token_ids;
  AttentionTrace* trace = nullptr;  // records decoder_self and cross if not null
};

/// The decoder over any number of hypotheses, each the continuation of one encoded source. One pass
/// reads every weight once for all rows. Feeding several tokens at once gives what feeding them one
/// by one gives, and a hypothesis the logits it has alone, to the bit.
class Decoder {
 public:
  /// Without hypotheses. altered: relations to use instead of those trained, or null. They and the
  /// model must outlive the decoder. Errors: unsupported (the model is an encoder alone),
  /// out_of_memory.
  static Result<Decoder> start(const Model& model, const DecoderLimits& limits,
                               const AlteredRelations* altered = nullptr);
  /// With one hypothesis over one source [n, d_model].
  static Result<Decoder> start(const Model& model, MatrixView<const float> encoded,
                               int max_target_length, int max_rows, bool with_trace,
                               const AlteredRelations* altered = nullptr);

  /// Projects a source [n, d_model] to every layer's cross keys and values, once, and adds a
  /// hypothesis over it behind the others, to which nothing has been fed. Errors: out_of_memory.
  Result<void> add_source(MatrixView<const float> encoded);
  /// Hypothesis i is from now on a continuation of what was parents[i]; those without a child are
  /// dropped, and sources without a hypothesis with them. A parent's first child takes over its
  /// keys and values, only further children copy them. Errors: out_of_memory; then the decoder is
  /// not to be used.
  Result<void> reorder(std::span<const int> parents);

  int num_hypotheses() const { return static_cast<int>(hypotheses_.size()); }
  /// Tokens fed to a hypothesis so far: the position of its next one.
  int length(int hypothesis = 0) const {
    return hypotheses_[static_cast<std::size_t>(hypothesis)].self.length();
  }
  /// Feeds runs[i] to hypothesis i, one run for each and not all empty, and writes the logits of
  /// every token [tokens of all runs, vocab_size], in that order. Errors: input_invalid for an id
  /// outside the vocabulary or more tokens than there is room for, out_of_memory; nothing has been
  /// fed then.
  Result<void> forward(std::span<const DecoderRun> runs, MatrixView<float> logits);
  /// The same for the only hypothesis.
  Result<void> forward(std::span<const int> token_ids, MatrixView<float> logits,
                       AttentionTrace* trace);

 private:
  struct Hypothesis {
    std::shared_ptr<KvCache> source;
    KvCache self;
  };

  Result<int> check(std::span<const DecoderRun> runs);
  Result<void> make_room(Hypothesis& hypothesis, int length);

  const Model* model_ = nullptr;
  const AlteredStack* relations_ = nullptr;  // null: as trained
  DecoderLimits limits_;
  std::vector<Hypothesis> hypotheses_;
  std::vector<KvCache> spare_;  // caches of dropped hypotheses, for copies to come
  Workspace workspace_;
  Matrix hidden_;  // [max_rows, d_model]
};

}  // namespace relata
