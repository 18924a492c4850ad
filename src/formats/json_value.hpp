// A JSON value: what the parser gives, and what a file that is not JSON is put into, so that one
// reader checks every configuration.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace relata::formats {

class Json {
 public:
  using List = std::vector<Json>;
  using Object = std::map<std::string, Json, std::less<>>;

  Json() {}  // null
  explicit Json(bool value);
  explicit Json(std::uint64_t value);
  explicit Json(std::int64_t value);  // whole() where it is not negative
  explicit Json(double value);
  explicit Json(std::string value);
  static Json list();
  static Json object();
  Json(Json&& other) noexcept { swap(other); }
  Json& operator=(Json&& other) noexcept {
    swap(other);
    return *this;
  }
  ~Json();

  bool is_null() const { return kind_ == Kind::null; }
  /// A list or an object without elements.
  bool is_empty() const {
    return kind_ == Kind::list ? items_->empty() : kind_ == Kind::object && fields_->empty();
  }
  /// Each is null where the value is of another kind. A whole number that is not negative is
  /// whole(), one below zero negative(), any other number real().
  const bool* boolean() const { return kind_ == Kind::boolean ? &boolean_ : nullptr; }
  const std::uint64_t* whole() const { return kind_ == Kind::whole ? &whole_ : nullptr; }
  const std::int64_t* negative() const { return kind_ == Kind::negative ? &negative_ : nullptr; }
  const double* real() const { return kind_ == Kind::real ? &real_ : nullptr; }
  const std::string* text() const { return kind_ == Kind::text ? text_ : nullptr; }
  const List* items() const { return kind_ == Kind::list ? items_ : nullptr; }
  List* items() { return kind_ == Kind::list ? items_ : nullptr; }
  const Object* fields() const { return kind_ == Kind::object ? fields_ : nullptr; }
  Object* fields() { return kind_ == Kind::object ? fields_ : nullptr; }

  /// A field of an object, made where it is not there; null becomes an object.
  Json& operator[](std::string_view key);

 private:
  void swap(Json& other) noexcept {
    std::swap(kind_, other.kind_);
    std::swap(whole_, other.whole_);
  }

  enum class Kind : std::uint8_t { null, boolean, whole, negative, real, text, list, object };

  Kind kind_ = Kind::null;
  union {
    bool boolean_;
    std::uint64_t whole_ = 0;
    std::int64_t negative_;
    double real_;
    std::string* text_;  // owned, as what follows
    List* items_;
    Object* fields_;
  };
};

}  // namespace relata::formats
