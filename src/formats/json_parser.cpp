// A parser of our own: with their number and message code, those of libraries weigh a tenth of the
// WebAssembly module.
#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "src/formats/json.hpp"
#include "src/formats/limits.hpp"

namespace relata::formats {
namespace {

/// Receives the parser's events and builds the value: the one place where depth and doubled keys
/// can be seen.
class Builder {
 public:
  explicit Builder(const std::string& file) : file_(file) {}

  bool add(Json value) {
    insert(std::move(value));
    return true;
  }

  // A container's address holds while it is open: only its own last element grows.
  bool open(Json container) {
    if (stack_.size() == kMaxJsonDepth) {
      return wrong(file_, {"nested deeper than ", kMaxJsonDepth, " levels"});
    }
    stack_.push_back(insert(std::move(container)));
    return true;
  }

  bool close() {
    stack_.pop_back();
    return true;
  }

  bool key(std::string name) {
    const auto* fields = stack_.back()->fields();
    if (fields->find(name) != fields->end()) {
      return wrong(file_, {"the key ", in_quotes(name), " is there twice"});
    }
    key_ = std::move(name);
    return true;
  }

  bool syntax_error(std::size_t position) {
    return wrong({file_, ": byte ", position}, "this is not valid JSON");
  }

  Result<Json> finish(bool complete) {
    if (!complete) {
      return error_.hand_on();
    }
    return std::move(root_);
  }

 private:
  Json* insert(Json value) {
    if (stack_.empty()) {
      root_ = std::move(value);
      return &root_;
    }
    if (auto* elements = stack_.back()->items()) {
      return &elements->emplace_back(std::move(value));
    }
    auto* fields = stack_.back()->fields();
    return &fields->emplace(std::move(key_), std::move(value)).first->second;
  }

  bool wrong(const Words& where, const Words& message) {
    error_ = relata::fail(ErrorCode::file_damaged, where, message);
    return false;
  }

  const std::string& file_;
  Json root_;
  std::vector<Json*> stack_;
  std::string key_;
  Result<void> error_;
};

/// The grammar of RFC 8259. Numbers that 53 bits and a power of ten up to 22 hold
/// (all that configurations have) are exact; others may be off by their last digits.
class Parser {
 public:
  Parser(std::string_view text, Builder& builder) : text_(text), builder_(builder) {}

  bool run() {
    skip_blanks();
    if (!value()) {
      return false;
    }
    skip_blanks();
    return at_ == text_.size() || wrong();
  }

 private:
  char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  bool wrong() { return builder_.syntax_error(at_); }
  bool take(char wanted) {
    if (at_ == text_.size() || text_[at_] != wanted) {
      return false;
    }
    ++at_;
    return true;
  }
  void skip_blanks() {
    while (peek() == ' ' || peek() == '\n' || peek() == '\r' || peek() == '\t') {
      ++at_;
    }
  }

  bool value() {
    switch (peek()) {
      case '{':
        return object();
      case '[':
        return array();
      case '"': {
        std::string text;
        return string(text) && builder_.add(Json(std::move(text)));
      }
      case 't':
        return literal("true", Json(true));
      case 'f':
        return literal("false", Json(false));
      case 'n':
        return literal("null", Json());
      default:
        return number();
    }
  }

  bool literal(std::string_view word, Json meaning) {
    if (!text_.substr(at_).starts_with(word)) {
      return wrong();
    }
    at_ += word.size();
    return builder_.add(std::move(meaning));
  }

  bool object() {
    ++at_;
    if (!builder_.open(Json::object())) {
      return false;
    }
    skip_blanks();
    if (take('}')) {
      return builder_.close();
    }
    do {
      skip_blanks();
      std::string name;
      if (!string(name)) {
        return false;
      }
      skip_blanks();
      if (!take(':')) {
        return wrong();
      }
      skip_blanks();
      if (!builder_.key(std::move(name)) || !value()) {
        return false;
      }
      skip_blanks();
    } while (take(','));
    return take('}') ? builder_.close() : wrong();
  }

  bool array() {
    ++at_;
    if (!builder_.open(Json::list())) {
      return false;
    }
    skip_blanks();
    if (take(']')) {
      return builder_.close();
    }
    do {
      skip_blanks();
      if (!value()) {
        return false;
      }
      skip_blanks();
    } while (take(','));
    return take(']') ? builder_.close() : wrong();
  }

  bool string(std::string& result) {
    if (!take('"')) {
      return wrong();
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
          return wrong();
        }
      } else if (const std::size_t length = utf8_length(byte);
                 byte < 0x20 || length == 0 || !whole_character(length)) {
        return wrong();
      } else {
        result.append(text_.substr(at_, length));
        at_ += length;
      }
    }
    return wrong();
  }

  static std::size_t utf8_length(unsigned char first) {
    return first < 0x80   ? 1
           : first < 0xC2 ? 0
           : first < 0xE0 ? 2
           : first < 0xF0 ? 3
           : first < 0xF5 ? 4
                          : 0;
  }
  /// Continuation bytes are there, and the character is neither too long a form, nor a surrogate,
  /// nor past U+10FFFF.
  bool whole_character(std::size_t length) const {
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

  bool escape(std::string& result) {
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

  bool hexadecimal(std::uint32_t& code) {
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

  static void append_utf8(std::uint32_t code, std::string& result) {
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

  static bool is_digit(char c) { return c >= '0' && c <= '9'; }

  /// Digits with their value in `mantissa` as far as 64 bits hold them; how many did not fit goes
  /// to `dropped`.
  bool digits(std::uint64_t& mantissa, int& taken, int& dropped) {
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

  bool number() {
    const bool negative = take('-');
    std::uint64_t mantissa = 0;
    int taken = 0;
    int dropped = 0;
    const bool leading_zero = peek() == '0';
    const std::size_t start = at_;
    if (!digits(mantissa, taken, dropped) || (leading_zero && at_ > start + 1)) {
      return wrong();
    }
    int exponent = dropped;
    bool whole = dropped == 0;
    if (take('.')) {
      whole = false;
      int decimals = 0;
      int ignored = 0;
      if (!digits(mantissa, decimals, ignored)) {
        return wrong();
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
        return wrong();
      }
      const int bounded = static_cast<int>(std::min<std::uint64_t>(power, 100'000));
      exponent += below ? -bounded : bounded;
    }
    if (whole && !negative) {
      return builder_.add(Json(mantissa));
    }
    if (whole && mantissa <= static_cast<std::uint64_t>(INT64_MAX)) {
      return builder_.add(Json(-static_cast<std::int64_t>(mantissa)));
    }
    const double magnitude = scaled(static_cast<double>(mantissa), exponent);
    return magnitude <= std::numeric_limits<double>::max()
               ? builder_.add(Json(negative ? -magnitude : magnitude))
               : wrong();
  }

  /// value * 10^exponent; one exact step where |exponent| <= 22.
  static double scaled(double value, int exponent) {
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

  std::string_view text_;
  Builder& builder_;
  std::size_t at_ = 0;
};

}  // namespace

Result<Json> parse_json(std::string_view text, const std::string& file) {
  Builder builder(file);
  return builder.finish(Parser(text, builder).run());
}

}  // namespace relata::formats
