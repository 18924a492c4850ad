// JSON without exceptions: parsed with bounded nesting and no key twice, read field by field with
// the type checked, so that every fault names the file and the field.
#pragma once

#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "src/base/result.hpp"
#include "src/formats/json_value.hpp"

namespace relata::formats {

/// Parses a whole text. Errors: file_damaged naming `file` and the byte of a syntax error, a key
/// that is there twice, or nesting beyond kMaxJsonDepth.
Result<Json> parse_json(std::string_view text, const std::string& file);

/// A word as an error quotes it: in quotes, and cut where it is long.
std::string in_quotes(std::string_view word);

/// The candidate with the fewest edits to `word`; empty if there are none.
std::string_view nearest(std::string_view word, std::span<const std::string_view> candidates);

/// A borrowed JSON object of a configuration file. Every error is config_invalid unless said
/// otherwise.
class JsonObject {
 public:
  /// The object at the top of a file. Errors: file_damaged if the file holds something else.
  static Result<JsonObject> top(const Json& value, const std::string& file);

  /// The place of a field as errors name it: "config.json: norm.epsilon".
  std::string place(std::string_view key) const { return prefix_ + std::string(key); }
  Handed invalid(std::string_view key, const Words& message) const {
    return fail(ErrorCode::config_invalid, place(key), message);
  }
  std::vector<std::string_view> keys() const;
  /// Present, and not null.
  bool has(std::string_view key) const;

  /// A whole number from `low` to `high`; 3.0 is none.
  Result<int> integer(std::string_view key, int low, int high) const;
  /// As above, or `fallback` where the field is absent or null.
  Result<int> integer_or(std::string_view key, int low, int high, int fallback) const;
  /// Any number from `low` to `high`.
  Result<double> number(std::string_view key, double low, double high) const;
  Result<double> number_or(std::string_view key, double low, double high, double fallback) const;
  Result<bool> boolean(std::string_view key) const;
  Result<bool> boolean_or(std::string_view key, bool fallback) const;
  Result<std::string> text(std::string_view key) const;
  Result<JsonObject> object(std::string_view key) const;
  /// The field itself, whatever its type, null included. Errors: absent.
  Result<const Json*> value(std::string_view key) const;

  /// Refuses every key that is not named, with the nearest one that is.
  Result<void> allow_only(std::initializer_list<std::string_view> keys) const;

  /// The value that belongs to one of a few words. Errors: another word, with the nearest known
  /// one.
  template <class T>
  Result<T> choice(std::string_view key,
                   std::initializer_list<std::pair<std::string_view, T>> choices) const {
    RELATA_TRY_ASSIGN(const std::string word, text(key));
    std::vector<std::string_view> words;
    for (const auto& [name, value] : choices) {
      if (name == word) {
        return value;
      }
      words.push_back(name);
    }
    return unknown_word(key, word, words);
  }

 private:
  JsonObject(const Json::Object* fields, std::string prefix)
      : fields_(fields), prefix_(std::move(prefix)) {}
  const Json* find(std::string_view key) const;
  Handed unknown_word(std::string_view key, std::string_view word,
                      std::span<const std::string_view> words) const;

  const Json::Object* fields_;
  std::string prefix_;  // "config.json: " or "config.json: norm."
};

}  // namespace relata::formats
