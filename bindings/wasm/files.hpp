// What both modules have: buffers of their heaps, and the headers of safetensors.
#pragma once

#include <string>
#include <vector>

#include "bindings/wasm/values.hpp"
#include "src/formats/load_model.hpp"

namespace relata::bindings {

template <class T>
val allocate(double count) {
  return handle(T::allocate(size(count), "input"));
}
// clang-format off
inline val tensor(const TensorInfo& info) {
  return object({{"name", info.name}, {"dtype", info.dtype}, {"shape", list(info.shape, number)},
                 {"offset", number(info.offset)}, {"bytes", number(info.bytes)}, {"scales", copy(info.scales)},
                 {"file", number(info.file)}});
}
/// Headers that came as lists of names, buffers and sizes; the names are kept by the caller.
inline std::vector<ShardHeader> shards(const val& names, const val& headers, const val& sizes, std::vector<std::string>& kept) {
  kept = emscripten::vecFromJSArray<std::string>(names);
  std::vector<ShardHeader> result;
  for (std::size_t i = 0; i < kept.size(); ++i) {
    const auto* header = headers[i].as<Bytes*>(emscripten::allow_raw_pointers());
    result.push_back({kept[i], span(*header), size(sizes[i].as<double>())});
  }
  return result;
}
/// Called once, in the bindings of a module.
inline void bind_files() {
  using emscripten::class_, emscripten::function, std::string;
  class_<Bytes>("Bytes").class_function("allocate", &allocate<Bytes>).function("view", &view<Bytes>);
  class_<Ints>("Ints").class_function("allocate", &allocate<Ints>).function("view", &view<Ints>);
  function("headerSize", +[](const Bytes& prefix, double file_size, const string& file) {
    return checked(safetensors_header_size(span(prefix), size(file_size), file), number); });
  function("shardNames", +[](const string& index) {
    return checked(shard_names(index), [](auto& names) { return list(names, [](const string& name) { return val(name); }); }); });
}
// clang-format on

}  // namespace relata::bindings
