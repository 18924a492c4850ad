#include "src/generate/sampler.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "src/base/elementary.hpp"
#include "src/base/sort.hpp"

namespace relata {
namespace {

bool better(const Candidate& a, const Candidate& b) {
  return a.score > b.score || (a.score == b.score && a.token_id < b.token_id);
}

std::vector<double> softmax(std::span<const Candidate> candidates) {
  float largest = -std::numeric_limits<float>::infinity();
  for (const Candidate& candidate : candidates) {
    largest = std::max(largest, candidate.score);
  }
  std::vector<double> probabilities;
  double sum = 0;
  for (const Candidate& candidate : candidates) {
    probabilities.push_back(natural_exp(static_cast<double>(candidate.score) - largest));
    sum += probabilities.back();
  }
  for (double& probability : probabilities) {
    probability /= sum;
  }
  return probabilities;
}

/// The fewest best candidates whose probabilities reach top_p. candidates are sorted.
void keep_top_p(double top_p, std::vector<Candidate>& candidates) {
  const std::vector<double> probabilities = softmax(candidates);
  double rest = 0;  // of a candidate and all worse ones
  std::size_t kept = candidates.size();
  while (kept > 1) {
    rest += probabilities[kept - 1];
    if (rest > 1 - top_p) {
      break;
    }
    --kept;
  }
  candidates.resize(kept);
}

void keep_min_p(double min_p, std::vector<Candidate>& candidates) {
  const std::vector<double> probabilities = softmax(candidates);
  const double least = min_p * *std::max_element(probabilities.begin(), probabilities.end());
  std::size_t kept = 0;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    if (probabilities[i] >= least) {
      candidates[kept++] = candidates[i];
    }
  }
  candidates.resize(kept);
}

/// Locally typical sampling (Meister et al. 2023): those whose surprise is nearest to the entropy,
/// until their mass reaches typical_p.
void keep_typical(double typical_p, std::vector<Candidate>& candidates) {
  const std::vector<double> probabilities = softmax(candidates);
  double entropy = 0;
  for (const double probability : probabilities) {
    entropy -= probability > 0 ? probability * natural_log(probability) : 0;
  }
  struct Entry {
    double distance;
    double probability;
    Candidate candidate;
  };
  std::vector<Entry> entries;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    entries.push_back(
        {std::abs(-natural_log(probabilities[i]) - entropy), probabilities[i], candidates[i]});
  }
  sort_stably(entries, [](const Entry& a, const Entry& b) { return a.distance < b.distance; });
  double mass = 0;
  std::size_t last = 0;
  while (last + 1 < entries.size() && (mass += entries[last].probability) < typical_p) {
    ++last;
  }
  candidates.clear();
  for (const Entry& entry : entries) {
    if (entry.distance <= entries[last].distance) {
      candidates.push_back(entry.candidate);
    }
  }
}

}  // namespace

std::vector<Candidate> sampling_candidates(const SearchOptions& search,
                                           std::span<const float> scores) {
  std::vector<Candidate> candidates;
  for (std::size_t id = 0; id < scores.size(); ++id) {
    if (scores[id] > -std::numeric_limits<float>::infinity()) {
      candidates.push_back({static_cast<int>(id), scores[id] / search.temperature});
    }
  }
  if (candidates.empty()) {
    return candidates;
  }
  const auto top_k = static_cast<std::size_t>(search.top_k);
  const bool cuts = top_k > 0 && top_k < candidates.size();
  if (cuts || search.top_p < 1 || search.typical_p < 1) {
    const std::size_t best = cuts ? top_k : candidates.size();
    std::partial_sort(candidates.begin(), candidates.begin() + static_cast<std::ptrdiff_t>(best),
                      candidates.end(), better);
    candidates.resize(best);
  }
  if (search.top_p < 1) {
    keep_top_p(search.top_p, candidates);
  }
  if (search.min_p > 0) {
    keep_min_p(search.min_p, candidates);
  }
  if (search.typical_p < 1) {
    keep_typical(search.typical_p, candidates);
  }
  return candidates;
}

int draw(std::span<const Candidate> candidates, Random& random) {
  const std::vector<double> probabilities = softmax(candidates);
  double left = random.uniform();
  for (std::size_t i = 0; i + 1 < candidates.size(); ++i) {
    left -= probabilities[i];
    if (left < 0) {
      return candidates[i].token_id;
    }
  }
  return candidates.back().token_id;
}

}  // namespace relata
