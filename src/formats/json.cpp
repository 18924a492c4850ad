#include "src/formats/json.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <vector>

#include "src/formats/limits.hpp"

namespace relata::formats {
namespace {

// Error messages quote what a file says; a hostile file says it at length.
constexpr std::size_t kMaxQuoted = 80;

std::size_t edits(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i + 1;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t substituted = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({substituted, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row[b.size()];
}

/// Limits are whole numbers, or so small or large that their power of ten says enough.
std::string plain(double limit) {
  constexpr double kExact = 1e9;
  if (std::abs(limit) < kExact && std::trunc(limit) == limit) {
    return std::to_string(static_cast<std::int64_t>(limit));
  }
  double size = std::abs(limit);
  int power = 0;
  for (; size > 5; size /= 10) {
    ++power;
  }
  for (; size < 0.5; size *= 10) {
    --power;
  }
  return (limit < 0 ? "-10^" : "10^") + std::to_string(power);
}

std::string range(double low, double high) { return "from " + plain(low) + " to " + plain(high); }

}  // namespace

std::string in_quotes(std::string_view word) {
  const bool cut = word.size() > kMaxQuoted;
  return "\"" + std::string(word.substr(0, kMaxQuoted)) + (cut ? "...\"" : "\"");
}

std::string_view nearest(std::string_view word, std::span<const std::string_view> candidates) {
  word = word.substr(0, kMaxQuoted);
  std::string_view best;
  std::size_t fewest = SIZE_MAX;
  for (const std::string_view candidate : candidates) {
    if (const std::size_t count = edits(word, candidate); count < fewest) {
      fewest = count;
      best = candidate;
    }
  }
  return best;
}

Result<JsonObject> JsonObject::top(const Json& value, const std::string& file) {
  const auto* fields = value.fields();
  if (fields == nullptr) {
    return fail(ErrorCode::file_damaged, file, "the file has to hold one JSON object");
  }
  return JsonObject(fields, file + ": ");
}

const Json* JsonObject::find(std::string_view key) const {
  const auto found = fields_->find(key);
  return found == fields_->end() ? nullptr : &found->second;
}

std::vector<std::string_view> JsonObject::keys() const {
  std::vector<std::string_view> names;
  for (const auto& [key, value] : *fields_) {
    names.push_back(key);
  }
  return names;
}

bool JsonObject::has(std::string_view key) const {
  const Json* found = find(key);
  return found != nullptr && !found->is_null();
}

Result<const Json*> JsonObject::value(std::string_view key) const {
  const Json* found = find(key);
  if (found == nullptr) {
    return invalid(key, "this field is required");
  }
  return found;
}

Result<int> JsonObject::integer(std::string_view key, int low, int high) const {
  RELATA_TRY_ASSIGN(const Json* found, value(key));
  std::int64_t number = INT64_MAX;
  if (const auto* whole = found->whole(); whole != nullptr && *whole <= INT32_MAX) {
    number = static_cast<std::int64_t>(*whole);
  } else if (const auto* negative = found->negative()) {
    number = *negative;
  }
  if (number < low || number > high) {
    return invalid(key, {"must be a whole number ", range(low, high)});
  }
  return static_cast<int>(number);
}

Result<int> JsonObject::integer_or(std::string_view key, int low, int high, int fallback) const {
  if (!has(key)) {
    return fallback;
  }
  return integer(key, low, high);
}

Result<double> JsonObject::number(std::string_view key, double low, double high) const {
  RELATA_TRY_ASSIGN(const Json* found, value(key));
  double number = 0;
  if (const auto* real = found->real()) {
    number = *real;
  } else if (const auto* whole = found->whole()) {
    number = static_cast<double>(*whole);
  } else if (const auto* negative = found->negative()) {
    number = static_cast<double>(*negative);
  } else {
    return invalid(key, "must be a number");
  }
  if (!(number >= low && number <= high)) {
    return invalid(key, {"must be ", range(low, high)});
  }
  return number;
}

Result<double> JsonObject::number_or(std::string_view key, double low, double high,
                                     double fallback) const {
  if (!has(key)) {
    return fallback;
  }
  return number(key, low, high);
}

Result<bool> JsonObject::boolean(std::string_view key) const {
  RELATA_TRY_ASSIGN(const Json* found, value(key));
  const auto* flag = found->boolean();
  if (flag == nullptr) {
    return invalid(key, "must be true or false");
  }
  return *flag;
}

Result<bool> JsonObject::boolean_or(std::string_view key, bool fallback) const {
  if (!has(key)) {
    return fallback;
  }
  return boolean(key);
}

Result<std::string> JsonObject::text(std::string_view key) const {
  RELATA_TRY_ASSIGN(const Json* found, value(key));
  const auto* word = found->text();
  if (word == nullptr) {
    return invalid(key, "must be a string");
  }
  return *word;
}

Result<JsonObject> JsonObject::object(std::string_view key) const {
  RELATA_TRY_ASSIGN(const Json* found, value(key));
  const auto* fields = found->fields();
  if (fields == nullptr) {
    return invalid(key, "must be an object");
  }
  return JsonObject(fields, place(key) + ".");
}

Result<void> JsonObject::allow_only(std::initializer_list<std::string_view> keys) const {
  for (const auto& [key, value] : *fields_) {
    if (std::find(keys.begin(), keys.end(), key) == keys.end()) {
      const auto known = nearest(key, std::span(keys.begin(), keys.size()));
      return invalid(std::string_view(key).substr(0, kMaxQuoted),
                     {"no such field here; the nearest one is ", in_quotes(known)});
    }
  }
  return {};
}

Handed JsonObject::unknown_word(std::string_view key, std::string_view word,
                                std::span<const std::string_view> words) const {
  return invalid(
      key, {in_quotes(word), " is not known; the nearest is ", in_quotes(nearest(word, words))});
}

}  // namespace relata::formats
