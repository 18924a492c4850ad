#include "src/model/weights.hpp"

namespace relata {
namespace {

std::uint64_t bytes(const AlignedBuffer<float>& buffer) { return buffer.size() * sizeof(float); }
std::uint64_t bytes(const Matrix& matrix) {
  return static_cast<std::uint64_t>(matrix.rows()) * static_cast<std::uint64_t>(matrix.cols()) *
         sizeof(float);
}
std::uint64_t bytes(const Linear& linear) { return linear.weight.bytes() + bytes(linear.bias); }
std::uint64_t bytes(const Norm& norm) { return bytes(norm.weight) + bytes(norm.bias); }
std::uint64_t bytes(const AttentionWeights& attention) {
  return bytes(attention.query) + bytes(attention.key) + bytes(attention.value) +
         bytes(attention.output);
}
std::uint64_t bytes(const FeedForwardWeights& feed_forward) {
  return bytes(feed_forward.input) + bytes(feed_forward.gate) + bytes(feed_forward.output);
}
std::uint64_t bytes(const LayerWeights& layer) {
  return bytes(layer.self_attention) + bytes(layer.self_attention_norm) +
         bytes(layer.cross_attention) + bytes(layer.cross_attention_norm) +
         bytes(layer.feed_forward) + bytes(layer.feed_forward_norm);
}
std::uint64_t bytes(const StackWeights& stack) {
  std::uint64_t total = bytes(stack.final_norm);
  for (const LayerWeights& layer : stack.layers) {
    total += bytes(layer);
  }
  for (const Relation& relation : stack.relations) {
    total += relation.bytes();
  }
  return total;
}

}  // namespace

std::uint64_t weight_bytes(const Weights& weights) {
  return weights.embedding.bytes() + weights.decoder_embedding.bytes() + weights.lm_head.bytes() +
         bytes(weights.logits_bias) + bytes(weights.positions) + bytes(weights.decoder_positions) +
         bytes(weights.encoder) + bytes(weights.decoder);
}

}  // namespace relata
