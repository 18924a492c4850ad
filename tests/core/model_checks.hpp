// Runs golden cases through a model, whatever file it comes from, and says how far it is from what
// its oracle found.
#pragma once

#include <string>
#include <vector>

#include "src/model/attention_trace.hpp"
#include "src/model/weights.hpp"
#include "tests/core/support.hpp"

namespace relata::test {

Matrix encode_case(const Model& model, const GoldenCase& golden, AttentionTrace* trace = nullptr);
/// Logits of the case's decoder input, fed in pieces of the given lengths (the last repeats).
Matrix decode_case(const Model& model, const GoldenCase& golden, const Matrix& encoded,
                   const std::vector<int>& pieces = {1 << 20}, AttentionTrace* trace = nullptr);
/// A trace of every head of the case.
AttentionTrace trace_of_all(const Model& model, const GoldenCase& golden);
/// "encoder_self.0." as golden tensors name it.
std::string name_of(const HeadTrace& head);

/// As many greedy steps as the golden case has, never one of `banned`.
std::vector<int> greedy(const Model& model, const GoldenCase& golden,
                        const std::vector<int>& banned = {});

struct Differences {
  double encoder = 0;
  double logits = 0;
};
/// From a case's golden values.
Differences differences(const Model& model, const GoldenCase& golden);
/// The largest of all cases.
Differences differences(const Model& model, const Golden& golden);

/// A model cut short: its hidden states behind some of its blocks and, where it has one, the final
/// norm. The model is whole again when this is gone.
class CutModel {
 public:
  explicit CutModel(const Model& model) : model_(const_cast<Model&>(model)), whole_(model.config) {}
  ~CutModel() { model_.config = whole_; }
  CutModel(const CutModel&) = delete;
  CutModel& operator=(const CutModel&) = delete;

  /// [source_length, d_model]
  Matrix encoder(int num_layers, const GoldenCase& golden);
  /// [rows, d_model] for the first rows of the decoder's input. Read off logits through output
  /// matrices of unit vectors.
  Matrix decoder(int num_layers, const GoldenCase& golden, int rows);

 private:
  Model& model_;
  Config whole_;
};

}  // namespace relata::test
