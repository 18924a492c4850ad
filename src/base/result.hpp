// Errors as values: a code from a closed list, the place, and a sentence. The core never throws or
// aborts.
#pragma once

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
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

/// What went wrong and where.
struct Error {
  ErrorCode code;
  std::string where;    // file, tensor, field, option or byte offset
  std::string message;  // one sentence in plain words
};

/// A text, a whole number, or pieces of those: {"byte ", position, " is wrong"}. Borrowed, like a
/// view: for a call's arguments only. (Put together in place, the texts of errors are a tenth of
/// the WebAssembly module.)
class Words {
 public:
  Words(const char* text) : Words(std::string_view(text)) {}
  Words(const std::string& text) : Words(std::string_view(text)) {}
  Words(std::string_view text) : at_(text.data()), tag_(tag(Kind::text, text.size())) {}
  Words(std::initializer_list<Words> pieces)
      : at_(pieces.begin()), tag_(tag(Kind::pieces, pieces.size())) {}
  template <std::integral Number>
    requires(sizeof(Number) >= 4)
  Words(const Number& number)
      : at_(&number),
        tag_(tag(std::signed_integral<Number> ? Kind::whole : Kind::natural, sizeof(Number))) {}

  void append_to(std::string& text) const;

 private:
  enum class Kind : std::uint32_t { text, pieces, whole, natural };
  static constexpr std::uint32_t kSizeBits = 30;
  static constexpr std::uint32_t kMaxSize = (1U << kSizeBits) - 1;
  static constexpr std::uint32_t tag(Kind kind, std::size_t size) {
    return static_cast<std::uint32_t>(kind) << kSizeBits |
           static_cast<std::uint32_t>(size < kMaxSize ? size : kMaxSize);
  }

  const void* at_;
  std::uint32_t tag_;  // the kind, and how many characters, pieces or bytes
};

/// An Error that is handed on, by a plain pointer: whoever takes it owns it.
struct Handed {
  const Error* error = nullptr;
};
/// Makes one.
Handed fail(ErrorCode code, const Words& where, const Words& message);
/// Frees it.
void destroy(Handed handed);
/// Stands where an error was that has been handed on.
inline constexpr char kGoneMark = 0;
inline Handed gone() { return {reinterpret_cast<const Error*>(&kGoneMark)}; }

/// Either a value or an Error. `Result<void>` carries no value.
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : value_(std::move(value)) {}
  Result(Handed handed) : fault_(handed) {}
  /// A copy of another's error.
  Result(const Error& error) : fault_(fail(error.code, error.where, error.message)) {}
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
  Result(Handed handed) : fault_(handed) {}
  /// A copy of another's error.
  Result(const Error& error) : fault_(fail(error.code, error.where, error.message)) {}
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
