// Generation, pulled step by step: a Session owns every mutable byte of its texts; the Model is
// shared and constant. Many texts are worked on together, so that each weight is read once for all
// of them in a step; as soon as one ends, the next takes its place. Nothing is padded: every text
// gets what it would get alone, to the bit.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "src/generate/generate_options.hpp"
#include "src/generate/search.hpp"
#include "src/generate/teacher_force.hpp"
#include "src/model/decoder.hpp"
#include "src/model/encoder.hpp"

namespace relata {

/// One text. labels as in `encode`. The target begins with target_prefix.
struct SessionInput {
  std::span<const int> source_ids;
  MatrixView<const int> labels = {};
  std::span<const int> target_prefix = {};
};

/// A token that the result is certain to have, with its natural-log probability (of the model
/// itself, see Hypothesis).
struct GeneratedToken {
  int token_id = 0;
  float log_probability = 0;
  int item = 0;   // which text
  int index = 0;  // which token of its target, counted from the target prefix on
};

/// A hypothesis that waits for its allowed tokens.
struct OpenPrefix {
  int item = 0;
  std::span<const int> token_ids;  // its target so far; valid until the next step
};

class Session {
 public:
  /// Prepares one text; runs the encoder. The model must outlive the session. Errors:
  /// input_invalid, option_invalid (see `check`, trace, relation), out_of_memory.
  static Result<Session> start(const Model& model, std::span<const int> source_ids,
                               MatrixView<const int> labels, const GenerateOptions& options);
  /// Prepares many, and encodes the first of them. A text that cannot be taken does not concern the
  /// others: its error is at its place, see `error`. Errors: option_invalid, out_of_memory.
  static Result<Session> start(const Model& model, std::span<const SessionInput> inputs,
                               const GenerateOptions& options);

  int num_items() const { return static_cast<int>(items_.size()); }
  /// Whether every text is finished or failed.
  bool done() const { return active_.empty(); }
  /// Moves every text that is worked on one token further. Gives what became certain with it:
  /// greedily or sampling, the next token of each (of the first sample); with beams, whatever all
  /// hypotheses that may still win agree on, which may be no token or several; the target prefix
  /// once, in front. Errors: option_invalid when already done or when constrained and not told what
  /// is allowed, out_of_memory.
  Result<std::vector<GeneratedToken>> step();

  /// Constrained only: all hypotheses that wait, in the order that `allow` counts.
  std::vector<OpenPrefix> open_prefixes() const;
  /// Constrained only: what may follow open_prefixes()[open] in the next step. Errors:
  /// option_invalid.
  Result<void> allow(int open, std::span<const int> token_ids);
  /// Ends a text where it stands, between two steps. Errors: option_invalid with beams.
  Result<void> stop(int item);

  /// none while it goes on or where it has failed; of the best hypothesis.
  FinishReason finish_reason(int item = 0) const;
  /// Null where there is none. input_invalid, out_of_memory, or option_invalid where bans and
  /// constraints left nothing to continue with.
  const Error* error(int item) const;
  /// Once finished. Beams: best first; samples: in the order of their random streams.
  std::span<const Hypothesis> hypotheses(int item = 0) const;
  /// Of the first hypothesis, once finished: what teacher_force on it records. Queries are the
  /// start token, then all of its tokens but the last. (Of a single hypothesis it grows with it.)
  const AttentionTrace& trace(int item = 0) const;
  /// How often the encoder ran for a text: 1 once it has been taken up.
  int encoder_runs(int item = 0) const;

 private:
  struct Item {
    std::vector<int> source_ids;
    std::vector<int> labels;
    std::vector<int> target_prefix;
    std::optional<Error> error;
    Search search;
    std::vector<Hypothesis> results;
    AttentionTrace trace;
    int emitted = 0;
    int encoder_runs = 0;

    Source source();
  };

  Result<void> prepare(std::span<const SessionInput> inputs, const GenerateOptions& options);
  Result<void> admit();
  Result<void> take_up(std::span<const int> group);
  Result<void> open(int at, MatrixView<const float> encoded);
  Result<void> feed_prefix(Item& item, Hypothesis& prefix);
  Result<void> finish(Item& item);
  void emit(int at, std::vector<GeneratedToken>& tokens);
  Item& item_at(int at) { return items_[static_cast<std::size_t>(at)]; }
  const Item& item_at(int at) const { return items_[static_cast<std::size_t>(at)]; }
  /// A trace that grows with its only hypothesis; null where there is none.
  AttentionTrace* growing_trace(Item& item);

  const Model* model_ = nullptr;
  std::unique_ptr<const AlteredRelations> altered_;  // null: as trained
  SearchRules rules_;
  TraceRequest trace_request_;
  std::vector<Item> items_;
  std::vector<int> active_;  // items worked on, in the order of their rows in the decoder
  int next_item_ = 0;        // first one not yet taken up
  int batch_size_ = 0;
  Decoder decoder_;
  Matrix logits_;                          // [rows, vocab_size]
  AlignedBuffer<float> scores_;            // [vocab_size]
  std::vector<std::vector<int>> allowed_;  // of each open prefix
  std::vector<bool> is_allowed_;           // whether it has been given
};

}  // namespace relata
