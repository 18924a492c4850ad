#include "src/base/result.hpp"

namespace relata {

Error::Error(ErrorCode error_code, std::string place, std::string sentence)
    : code(error_code), where(std::move(place)), message(std::move(sentence)) {}
Error::Error(const Error&) = default;
Error::Error(Error&&) noexcept = default;
Error& Error::operator=(const Error&) = default;
Error& Error::operator=(Error&&) noexcept = default;
Error::~Error() = default;

Handed hand_on(Error error) { return {new Error(std::move(error))}; }

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
