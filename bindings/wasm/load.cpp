// From files to a model: the loader.
#include <algorithm>

#include "bindings/wasm/files.hpp"

namespace {
using namespace relata;
using namespace relata::bindings;
using std::string;

/// null: as the file has it.
KeptType kept_type(const val& int8) {
  return int8.isNull() ? KeptType::as_stored : int8.as<bool>() ? KeptType::int8 : KeptType::f32;
}
/// The tensors of a file as the module of readers tells them.
std::vector<TensorInfo> tensors(const val& read) {
  std::vector<TensorInfo> result;
  for (const val& one : emscripten::vecFromJSArray<val>(read)) {
    TensorInfo tensor;
    tensor.name = one["name"].as<string>();
    tensor.dtype = one["dtype"].as<string>();
    for (const double length : emscripten::vecFromJSArray<double>(one["shape"])) {
      tensor.shape.push_back(bindings::size(length));
    }
    tensor.offset = bindings::size(one["offset"].as<double>());
    tensor.bytes = bindings::size(one["bytes"].as<double>());
    tensor.scales = emscripten::convertJSArrayToNumberVector<float>(one["scales"]);
    result.push_back(std::move(tensor));
  }
  return result;
}
}  // namespace

// clang-format off
EMSCRIPTEN_BINDINGS(load) {
  using emscripten::class_;
  bind_files();
  class_<ModelLoader>("ModelLoader")
      .class_function("open", +[](const string& config, const string& generation, const Bytes& header, double file_size, const val& int8) {
        return handle(ModelLoader::open({config, generation, span(header), bindings::size(file_size)}, kept_type(int8))); })
      .class_function("openShards", +[](const string& config, const string& generation, const string& index, const val& names,
                                        const val& headers, const val& sizes, const val& int8) {
        std::vector<string> kept;
        const auto given = shards(names, headers, sizes, kept);
        return handle(ModelLoader::open({config, generation, {}, 0, index, given}, kept_type(int8))); })
      .class_function("openTensors", +[](const string& config, const string& file, const val& read, const val& int8) {
        return handle(ModelLoader::open_tensors(config, file, tensors(read), kept_type(int8))); })
      .function("tensors", +[](const ModelLoader& loader) { return list(loader.tensors(), tensor); })
      .function("want", +[](ModelLoader& loader, double most) {
        const FileRange range = loader.want(bindings::size(most));
        return object({{"file", number(range.file)}, {"offset", number(range.offset)}, {"bytes", number(range.bytes)}}); })
      .function("accept", +[](ModelLoader& loader, const Bytes& buffer, double bytes) {
        return checked(loader.accept(span(buffer).first(std::min(buffer.size(), static_cast<std::size_t>(bytes))))); })
      .function("finish", +[](ModelLoader& loader, int num_threads) {
        return checked(loader.finish(num_threads), [](auto& model) { return owned(model.release()); }); });
}
