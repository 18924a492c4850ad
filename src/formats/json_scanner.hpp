// The words of JSON: strings, numbers, literals and the blanks between them, by RFC 8259.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "src/formats/json_value.hpp"

namespace relata::formats {

/// Goes through a text from front to back. What returns false leaves position() at the fault.
class JsonScanner {
 public:
  explicit JsonScanner(std::string_view text) : text_(text) {}

  std::size_t position() const { return at_; }
  bool at_end() const { return at_ == text_.size(); }
  /// The next character; 0 at the end. skip() goes past it.
  char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  void skip() { ++at_; }
  void skip_blanks();
  /// Whether this comes next; then it is behind us.
  bool take(char wanted);
  bool take(std::string_view word);
  /// A string in its quotes; its UTF-8 is appended to `result`.
  bool string(std::string& result);
  /// Numbers that 53 bits and a power of ten up to 22 hold (all that configurations have) are
  /// exact; others may be off by their last digits.
  bool number(Json& value);

 private:
  bool whole_character(std::size_t length) const;
  bool escape(std::string& result);
  bool hexadecimal(std::uint32_t& code);
  bool digits(std::uint64_t& mantissa, int& taken, int& dropped);

  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace relata::formats
