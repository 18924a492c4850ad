#include "src/generate/token_trie.hpp"

namespace relata {

void TokenTrie::add(std::span<const int> sequence) {
  int at = 0;
  for (const int id : sequence) {
    const int next = static_cast<int>(nodes_.size());
    const auto [child, is_new] = nodes_[static_cast<std::size_t>(at)].children.emplace(id, next);
    at = child->second;
    if (is_new) {
      nodes_.emplace_back();
    }
  }
  nodes_[static_cast<std::size_t>(at)].complete = true;
}

TokenTrie::Continuations TokenTrie::after(std::span<const int> path) const {
  const Node* node = &nodes_.front();
  for (const int id : path) {
    const auto child = node->children.find(id);
    if (child == node->children.end()) {
      return {};
    }
    node = &nodes_[static_cast<std::size_t>(child->second)];
  }
  Continuations result;
  result.complete = node->complete;
  for (const auto& [id, child] : node->children) {
    result.token_ids.push_back(id);
  }
  return result;
}

}  // namespace relata
