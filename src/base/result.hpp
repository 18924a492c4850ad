// Errors as values: a code from a closed list, the place, and a sentence. The core never throws or
// aborts.
#pragma once

#include <memory>
#include <string>
#include <utility>

// A class whose only member is a pointer travels as that pointer, destructor or not.
#ifdef __clang__
#define RELATA_IN_REGISTERS [[clang::trivial_abi]]
#else
#define RELATA_IN_REGISTERS
#endif

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

/// An Error that is handed on, by a plain pointer: whoever takes it owns it. Only RELATA_TRY makes
/// one.
struct [[nodiscard]] Handed {
  Error* error = nullptr;
};

/// An Error that has been made, or none: one pointer, so that a Result costs next to nothing.
class RELATA_IN_REGISTERS [[nodiscard]] Fault {
 public:
  Fault() = default;
  Fault(Error error);
  Fault(Handed handed) : error_(handed.error) {}
  Fault(Fault&& other) noexcept : error_(std::exchange(other.error_, nullptr)) {}
  Fault& operator=(Fault&& other) noexcept {
    std::swap(error_, other.error_);
    return *this;
  }
  ~Fault() {
    if (error_ != nullptr) {
      destroy(error_);
    }
  }

  const Error* get() const { return error_; }
  Handed hand_on() { return {std::exchange(error_, nullptr)}; }

 private:
  static void destroy(Error* error);

  Error* error_ = nullptr;
};

/// Either a value or an Error. `Result<void>` carries no value.
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : has_value_(true), value_(std::move(value)) {}
  Result(Error error) : fault_(std::move(error)) {}
  Result(Handed handed) : fault_(handed) {}
  Result(Result&& other) noexcept : fault_(std::move(other.fault_)), has_value_(other.has_value_) {
    if (has_value_) {
      std::construct_at(&value_, std::move(other.value_));
    }
  }
  Result& operator=(Result&&) = delete;
  ~Result() {
    if (has_value_) {
      std::destroy_at(&value_);
    }
  }

  bool ok() const { return has_value_; }
  T& value() { return value_; }
  const T& value() const { return value_; }
  const Error& error() const { return *fault_.get(); }
  /// The error, to be handed on; not ok() only.
  Handed hand_on() { return fault_.hand_on(); }

 private:
  Fault fault_;
  bool has_value_ = false;
  union {
    T value_;  // while has_value_
  };
};

template <>
class RELATA_IN_REGISTERS [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Error error) : fault_(std::move(error)) {}
  Result(Handed handed) : fault_(handed) {}
  bool ok() const { return fault_.get() == nullptr; }
  const Error& error() const { return *fault_.get(); }
  Handed hand_on() { return fault_.hand_on(); }

 private:
  Fault fault_;
};

}  // namespace relata

// Evaluates a Result and returns its error from the enclosing function; the second form also binds
// the value.
#define RELATA_TRY(expression)                                    \
  do {                                                            \
    if (auto relata_result = (expression); !relata_result.ok()) { \
      return relata_result.hand_on();                             \
    }                                                             \
  } while (false)
#define RELATA_CONCAT_(a, b) a##b
#define RELATA_CONCAT(a, b) RELATA_CONCAT_(a, b)
#define RELATA_TRY_ASSIGN(declaration, expression)             \
  auto RELATA_CONCAT(relata_result_, __LINE__) = (expression); \
  if (!RELATA_CONCAT(relata_result_, __LINE__).ok()) {         \
    return RELATA_CONCAT(relata_result_, __LINE__).hand_on();  \
  }                                                            \
  declaration = std::move(RELATA_CONCAT(relata_result_, __LINE__).value())
