// From the scores of a next token to one drawn at random.
#pragma once

#include <span>
#include <vector>

#include "src/generate/random.hpp"
#include "src/model/search_options.hpp"

namespace relata {

struct Candidate {
  int token_id = 0;
  float score = 0;
};

/// The tokens that temperature, top-k, top-p, min-p and typical-p leave over, in that order, each
/// acting on what the one before left; score divided by the temperature. The best token always
/// stays; on ties the lower id is the better. As Hugging Face's warpers, but that top-k keeps
/// exactly k. Scores of -infinity are left out; empty if there is no other.
std::vector<Candidate> sampling_candidates(const SearchOptions& search,
                                           std::span<const float> scores);

/// A token id with the probability of the candidates' softmax. candidates must not be empty.
int draw(std::span<const Candidate> candidates, Random& random);

}  // namespace relata
