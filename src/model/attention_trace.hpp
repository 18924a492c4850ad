// What an observer may ask to see of the attention: an ordinary nullable argument, never a mode of
// the arithmetic.
#pragma once

#include <span>
#include <vector>

#include "src/base/aligned_buffer.hpp"
#include "src/model/config.hpp"

namespace relata {

enum class AttentionKind { encoder_self, decoder_self, cross };

/// Empty layers or heads mean all of them; empty kinds mean nothing is recorded.
struct TraceRequest {
  std::vector<AttentionKind> kinds;
  std::vector<int> layers;
  std::vector<int> heads;
};

/// One head's attention; rows are queries in order of position, columns keys. Cells a causal query
/// does not see are 0.
struct HeadTrace {
  AttentionKind kind = AttentionKind::encoder_self;
  int layer = 0;
  int head = 0;
  int num_queries = 0;     // rows recorded so far
  Matrix weights;          // [queries, keys] after softmax
  Matrix content_scores;   // [queries, keys] scale * q . k
  Matrix relation_scores;  // [queries, keys] what the relation added; empty without a relation
};

class AttentionTrace {
 public:
  AttentionTrace() = default;
  /// Storage for every asked head: encoder_self [source, source], decoder_self [target, target],
  /// cross [target, source]. Errors: option_invalid for a layer or head the model does not have (a
  /// layer has to exist in at least one asked kind), out_of_memory.
  static Result<AttentionTrace> allocate(const Config& config, const TraceRequest& request,
                                         int source_length, int max_target_length);

  bool empty() const { return heads_.empty(); }
  /// Null where that head was not asked for.
  HeadTrace* find(AttentionKind kind, int layer, int head);
  /// In order of kind, layer, head.
  std::span<const HeadTrace> heads() const { return heads_; }

 private:
  std::vector<HeadTrace> heads_;
};

}  // namespace relata
