#include "src/formats/json_scanner.hpp"

#include <algorithm>
#include <limits>

namespace relata::formats {
namespace {

std::size_t utf8_length(unsigned char first) {
  return first < 0x80   ? 1
         : first < 0xC2 ? 0
         : first < 0xE0 ? 2
         : first < 0xF0 ? 3
         : first < 0xF5 ? 4
                        : 0;
}

void append_utf8(std::uint32_t code, std::string& result) {
  const auto add = [&](std::uint32_t byte) { result += static_cast<char>(byte); };
  if (code < 0x80) {
    add(code);
    return;
  }
  if (code < 0x800) {
    add(0xC0 | code >> 6);
  } else {
    if (code < 0x10000) {
      add(0xE0 | code >> 12);
    } else {
      add(0xF0 | code >> 18);
      add(0x80 | (code >> 12 & 0x3F));
    }
    add(0x80 | (code >> 6 & 0x3F));
  }
  add(0x80 | (code & 0x3F));
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// value * 10^exponent; one exact step where |exponent| <= 22.
double scaled(double value, int exponent) {
  const bool below = exponent < 0;
  for (int left = below ? -exponent : exponent;
       left > 0 && value != 0 && value <= std::numeric_limits<double>::max();) {
    const int step = std::min(left, 22);
    double power = 1;
    for (int i = 0; i < step; ++i) {
      power *= 10;
    }
    value = below ? value / power : value * power;
    left -= step;
  }
  return value;
}

}  // namespace

void JsonScanner::skip_blanks() {
  while (peek() == ' ' || peek() == '\n' || peek() == '\r' || peek() == '\t') {
    ++at_;
  }
}

bool JsonScanner::take(char wanted) {
  if (at_end() || text_[at_] != wanted) {
    return false;
  }
  ++at_;
  return true;
}

bool JsonScanner::take(std::string_view word) {
  if (!text_.substr(at_).starts_with(word)) {
    return false;
  }
  at_ += word.size();
  return true;
}

bool JsonScanner::string(std::string& result) {
  if (!take('"')) {
    return false;
  }
  while (at_ < text_.size()) {
    const auto byte = static_cast<unsigned char>(text_[at_]);
    if (byte == '"') {
      ++at_;
      return true;
    }
    if (byte == '\\') {
      ++at_;
      if (!escape(result)) {
        return false;
      }
    } else if (const std::size_t length = utf8_length(byte);
               byte < 0x20 || length == 0 || !whole_character(length)) {
      return false;
    } else {
      result.append(text_.substr(at_, length));
      at_ += length;
    }
  }
  return false;
}

/// Continuation bytes are there, and the character is neither too long a form, nor a surrogate,
/// nor past U+10FFFF.
bool JsonScanner::whole_character(std::size_t length) const {
  if (length > text_.size() - at_) {
    return false;
  }
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text_[at_ + i]); };
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0U) != 0x80U) {
      return false;
    }
  }
  return length < 3 ||
         !((byte(0) == 0xE0 && byte(1) < 0xA0) || (byte(0) == 0xED && byte(1) > 0x9F) ||
           (byte(0) == 0xF0 && byte(1) < 0x90) || (byte(0) == 0xF4 && byte(1) > 0x8F));
}

bool JsonScanner::escape(std::string& result) {
  constexpr std::string_view kNames = "\"\\/bfnrt";
  constexpr std::string_view kMeanings = "\"\\/\b\f\n\r\t";
  const std::size_t name = at_ < text_.size() ? kNames.find(text_[at_]) : std::string_view::npos;
  if (name != std::string_view::npos) {
    ++at_;
    result += kMeanings[name];
    return true;
  }
  std::uint32_t code = 0;
  if (!take('u') || !hexadecimal(code)) {
    return false;
  }
  if (code >= 0xD800 && code < 0xDC00) {  // the first half of a pair
    std::uint32_t second = 0;
    if (!take('\\') || !take('u') || !hexadecimal(second) || second < 0xDC00 || second > 0xDFFF) {
      return false;
    }
    code = 0x10000 + ((code - 0xD800) << 10) + (second - 0xDC00);
  } else if (code >= 0xDC00 && code <= 0xDFFF) {
    return false;
  }
  append_utf8(code, result);
  return true;
}

bool JsonScanner::hexadecimal(std::uint32_t& code) {
  code = 0;
  for (int i = 0; i < 4; ++i, ++at_) {
    const char digit = peek();
    if (digit >= '0' && digit <= '9') {
      code = code * 16 + static_cast<std::uint32_t>(digit - '0');
    } else if ((digit | 0x20) >= 'a' && (digit | 0x20) <= 'f') {
      code = code * 16 + static_cast<std::uint32_t>((digit | 0x20) - 'a' + 10);
    } else {
      return false;
    }
  }
  return true;
}

/// Digits with their value in `mantissa` as far as 64 bits hold them; how many did not fit goes
/// to `dropped`.
bool JsonScanner::digits(std::uint64_t& mantissa, int& taken, int& dropped) {
  if (!is_digit(peek())) {
    return false;
  }
  for (; is_digit(peek()); ++at_) {
    if (mantissa < UINT64_MAX / 10 - 1) {
      mantissa = mantissa * 10 + static_cast<std::uint64_t>(peek() - '0');
      ++taken;
    } else {
      ++dropped;
    }
  }
  return true;
}

bool JsonScanner::number(Json& value) {
  const bool negative = take('-');
  std::uint64_t mantissa = 0;
  int taken = 0;
  int dropped = 0;
  const bool leading_zero = peek() == '0';
  const std::size_t start = at_;
  if (!digits(mantissa, taken, dropped) || (leading_zero && at_ > start + 1)) {
    return false;
  }
  int exponent = dropped;
  bool whole = dropped == 0;
  if (take('.')) {
    whole = false;
    int decimals = 0;
    int ignored = 0;
    if (!digits(mantissa, decimals, ignored)) {
      return false;
    }
    exponent -= decimals;
  }
  if (take('e') || take('E')) {
    whole = false;
    const bool below = take('-');
    if (!below) {
      take('+');
    }
    std::uint64_t power = 0;
    if (!digits(power, taken, dropped)) {
      return false;
    }
    const int bounded = static_cast<int>(std::min<std::uint64_t>(power, 100'000));
    exponent += below ? -bounded : bounded;
  }
  if (whole && !negative) {
    value = Json(mantissa);
    return true;
  }
  if (whole && mantissa <= static_cast<std::uint64_t>(INT64_MAX)) {
    value = Json(-static_cast<std::int64_t>(mantissa));
    return true;
  }
  const double magnitude = scaled(static_cast<double>(mantissa), exponent);
  value = Json(negative ? -magnitude : magnitude);
  return magnitude <= std::numeric_limits<double>::max();
}

}  // namespace relata::formats
