#include "src/base/result.hpp"

#include <cstring>

namespace relata {

namespace {

template <class Number>
Number read(const void* at) {
  Number number;
  std::memcpy(&number, at, sizeof number);
  return number;
}

void append_number(std::uint64_t magnitude, bool is_negative, std::string& text) {
  char digits[20];  // of 2^64 - 1
  char* const end = digits + sizeof digits;
  char* first = end;
  do {
    *--first = static_cast<char>('0' + magnitude % 10);
    magnitude /= 10;
  } while (magnitude > 0);
  text.append(is_negative ? "-" : "").append(first, end);
}

}  // namespace

void Words::append_to(std::string& text) const {
  const auto kind = static_cast<Kind>(tag_ >> kSizeBits);
  const std::size_t size = tag_ & kMaxSize;
  if (kind == Kind::text) {
    text.append(static_cast<const char*>(at_), size);
  } else if (kind == Kind::pieces) {
    for (std::size_t i = 0; i < size; ++i) {
      static_cast<const Words*>(at_)[i].append_to(text);
    }
  } else if (kind == Kind::natural) {
    append_number(size == 8 ? read<std::uint64_t>(at_) : read<std::uint32_t>(at_), false, text);
  } else {
    const std::int64_t number = size == 8 ? read<std::int64_t>(at_) : read<std::int32_t>(at_);
    const auto bits = static_cast<std::uint64_t>(number);
    append_number(number < 0 ? 0 - bits : bits, number < 0, text);
  }
}

Handed fail(ErrorCode code, const Words& where, const Words& message) {
  auto* const error = new Error{code, {}, {}};
  where.append_to(error->where);
  message.append_to(error->message);
  return {error};
}

void destroy(Handed handed) { delete handed.error; }

const char* to_string(ErrorCode code) {
  switch (code) {
    case ErrorCode::file_missing:
      return "file_missing";
    case ErrorCode::file_damaged:
      return "file_damaged";
    case ErrorCode::config_invalid:
      return "config_invalid";
    case ErrorCode::unsupported:
      return "unsupported";
    case ErrorCode::tensor_missing:
      return "tensor_missing";
    case ErrorCode::tensor_invalid:
      return "tensor_invalid";
    case ErrorCode::input_invalid:
      return "input_invalid";
    case ErrorCode::option_invalid:
      return "option_invalid";
    case ErrorCode::out_of_memory:
      return "out_of_memory";
  }
  return "internal";
}

}  // namespace relata
