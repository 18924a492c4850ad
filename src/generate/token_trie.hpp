#pragma once

#include <map>
#include <span>
#include <vector>

namespace relata {

/// A set of token sequences, asked from their beginning.
class TokenTrie {
 public:
  bool empty() const { return nodes_.size() == 1; }
  void add(std::span<const int> sequence);

  /// What may follow `path`.
  struct Continuations {
    std::vector<int> token_ids;  // ascending
    bool complete = false;       // path itself is one of the sequences
  };
  Continuations after(std::span<const int> path) const;

 private:
  struct Node {
    std::map<int, int> children;  // token id to index of node
    bool complete = false;
  };
  std::vector<Node> nodes_ = std::vector<Node>(1);
};

}  // namespace relata
