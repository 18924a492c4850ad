// Conversions between the core and JavaScript, for the tables of this folder; only here
// Emscripten's headers come in. What can fail gives its value or { code, where, message }. Bytes
// and ids come in through buffers of this heap, whose views die when it grows; arrays go out as
// copies.
#pragma once

#include <emscripten/bind.h>
#include <emscripten/val.h>

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <utility>

#include "src/base/aligned_buffer.hpp"
#include "src/base/result.hpp"

namespace relata::bindings {
using emscripten::val;
using Bytes = AlignedBuffer<std::uint8_t>;
using Ints = AlignedBuffer<int>;

struct Field {
  const char* name;
  val value;
  template <class T>
  Field(const char* field, const T& plain) : name(field), value(plain) {}
};
inline val object(std::initializer_list<Field> fields) {
  val result = val::object();
  for (const Field& field : fields) {
    result.set(field.name, field.value);
  }
  return result;
}

template <class T>
val view(const T& array) {
  return val(emscripten::typed_memory_view(array.size(), array.data()));
}
template <class T>
val copy(const T& array) {
  return view(array).template call<val>("slice");
}
template <class T, class Convert>
val list(const T& items, Convert convert) {
  val result = val::array();
  for (const auto& item : items) {
    result.call<void>("push", convert(item));
  }
  return result;
}
inline double number(std::uint64_t value) { return static_cast<double>(value); }
inline std::uint64_t size(double value) { return static_cast<std::uint64_t>(value); }
inline std::span<const int> ids(const Ints& ints) { return {ints.data(), ints.size()}; }
inline std::span<const std::byte> span(const Bytes& bytes) {
  return std::as_bytes(std::span(bytes.data(), bytes.size()));
}

inline val failure(const Error& error) {
  return object(
      {{"code", to_string(error.code)}, {"where", error.where}, {"message", error.message}});
}
template <class T, class Convert>
val checked(Result<T> result, Convert convert) {
  return result.ok() ? val(convert(result.value())) : failure(result.error());
}
/// null, or the failure.
inline val checked(const Result<void>& result) {
  return result.ok() ? val::null() : failure(result.error());
}
/// JavaScript deletes it; Embind takes no handle of a const object.
template <class T>
val owned(const T* value) {
  return val(const_cast<T*>(value), emscripten::return_value_policy::take_ownership());
}
template <class T>
val handle(Result<T> result) {
  return checked(std::move(result), [](T& value) { return owned(new T(std::move(value))); });
}
}  // namespace relata::bindings
