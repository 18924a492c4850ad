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
// Inlined, nearly all of it turns out to do nothing; compilers that save space do not look.
#define RELATA_INLINE [[gnu::always_inline]]

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
struct Handed {
  const Error* error = nullptr;
};
/// Stands where an error was that has been handed on.
inline constexpr char kGoneMark = 0;
inline Handed gone() { return {reinterpret_cast<const Error*>(&kGoneMark)}; }

/// An Error on the heap, from a value.
Handed hand_on(Error error);
/// Frees it.
void destroy(Handed handed);

/// Either a value or an Error. `Result<void>` carries no value.
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : value_(std::move(value)) {}
  Result(Error error) : fault_(relata::hand_on(std::move(error))) {}
  Result(Handed handed) : fault_(handed) {}
  Result(Result&& other) noexcept {
    if (other.ok()) {
      std::construct_at(&value_, std::move(other.value_));
    } else {
      fault_ = other.hand_on();
    }
  }
  Result& operator=(Result&&) = delete;
  RELATA_INLINE ~Result() {
    if (ok()) {
      std::destroy_at(&value_);
    } else if (fault_.error != gone().error) {
      destroy(fault_);
    }
  }

  RELATA_INLINE bool ok() const { return fault_.error == nullptr; }
  T& value() { return value_; }
  const T& value() const { return value_; }
  const Error& error() const { return *fault_.error; }
  /// Gives the error away; what is left is neither a value nor an error. Not for ok().
  RELATA_INLINE Handed hand_on() { return std::exchange(fault_, gone()); }

 private:
  Handed fault_;
  union {
    T value_;  // while ok()
  };
};

/// One pointer, so it travels as one.
template <>
class RELATA_IN_REGISTERS [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Error error) : fault_(relata::hand_on(std::move(error))) {}
  Result(Handed handed) : fault_(handed) {}
  Result(Result&& other) noexcept : fault_(other.ok() ? Handed() : other.hand_on()) {}
  Result& operator=(Result&& other) noexcept {
    std::swap(fault_, other.fault_);
    return *this;
  }
  RELATA_INLINE ~Result() {
    if (!ok() && fault_.error != gone().error) {
      destroy(fault_);
    }
  }

  RELATA_INLINE bool ok() const { return fault_.error == nullptr; }
  const Error& error() const { return *fault_.error; }
  RELATA_INLINE Handed hand_on() { return std::exchange(fault_, gone()); }

 private:
  Handed fault_;
};

}  // namespace relata

// Evaluates a Result and returns its error from the enclosing function; the second form also binds
// the value. (A statement expression, which GCC and Clang have: the Result is gone at once, where
// it is plain that it holds no error.)
#define RELATA_TRY(expression)                                    \
  do {                                                            \
    if (auto relata_result = (expression); !relata_result.ok()) { \
      return relata_result.hand_on();                             \
    }                                                             \
  } while (false)
#define RELATA_TRY_ASSIGN(declaration, expression) \
  declaration = ({                                 \
    auto relata_result = (expression);             \
    if (!relata_result.ok()) {                     \
      return relata_result.hand_on();              \
    }                                              \
    std::move(relata_result.value());              \
  })
