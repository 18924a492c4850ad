// Errors as values: a code from a closed list, the place, and a sentence. The core never throws or
// aborts.
#pragma once

#include <string>
#include <utility>
#include <variant>

namespace relata {

enum class ErrorCode {
  file_missing,    // a needed file or header is not there
  file_damaged,    // sizes, offsets or syntax of a file contradict themselves
  config_invalid,  // a configuration field is absent, of the wrong type or out of range
  unsupported,     // well-formed, but a feature this engine does not have
  tensor_missing,  // a tensor the configuration calls for is not in the file
  tensor_invalid,  // a tensor has the wrong shape or type, or is there twice
  input_invalid,   // token ids, labels or positions outside their range
  option_invalid,  // a call's option contradicts the model or another option
  out_of_memory,   // an allocation was refused; the message says how many bytes
};

/// The code's name as users see it, for example "file_damaged".
const char* to_string(ErrorCode code);

/// What went wrong and where. Its members are defined out of line: an Error leaves almost every
/// function, and inlined they would be a good part of the module.
struct Error {
  Error(ErrorCode code, std::string where, std::string message);
  Error(const Error&);
  Error(Error&&) noexcept;
  Error& operator=(const Error&);
  Error& operator=(Error&&) noexcept;
  ~Error();

  ErrorCode code;
  std::string where;    // file, tensor, field, option or byte offset
  std::string message;  // one sentence in plain words
};

/// Either a value or an Error. `Result<void>` carries no value.
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}
  bool ok() const { return state_.index() == 0; }
  T& value() { return *std::get_if<0>(&state_); }
  const T& value() const { return *std::get_if<0>(&state_); }
  const Error& error() const { return *std::get_if<1>(&state_); }

 private:
  std::variant<T, Error> state_;
};

template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Error error) : state_(std::move(error)) {}
  bool ok() const { return state_.index() == 0; }
  const Error& error() const { return *std::get_if<1>(&state_); }

 private:
  std::variant<std::monostate, Error> state_;
};

}  // namespace relata

// Evaluates a Result and returns its error from the enclosing function; the second form also binds
// the value.
#define RELATA_TRY(expression)                                    \
  do {                                                            \
    if (auto relata_result = (expression); !relata_result.ok()) { \
      return relata_result.error();                               \
    }                                                             \
  } while (false)
#define RELATA_CONCAT_(a, b) a##b
#define RELATA_CONCAT(a, b) RELATA_CONCAT_(a, b)
#define RELATA_TRY_ASSIGN(declaration, expression)             \
  auto RELATA_CONCAT(relata_result_, __LINE__) = (expression); \
  if (!RELATA_CONCAT(relata_result_, __LINE__).ok()) {         \
    return RELATA_CONCAT(relata_result_, __LINE__).error();    \
  }                                                            \
  declaration = std::move(RELATA_CONCAT(relata_result_, __LINE__).value())
