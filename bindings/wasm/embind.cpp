// Everything JavaScript sees of the core: conversions, then the table. What can fail gives its
// value or { code, where, message }. Bytes and ids come in through buffers of this heap, whose
// views die when it grows; arrays go out as copies. Only this file includes Emscripten's headers.
#include <emscripten/bind.h>
#include <emscripten/val.h>

#include "src/formats/load_model.hpp"
#include "src/generate/session.hpp"

namespace {
using namespace relata;
using emscripten::val, emscripten::vecFromJSArray;
using Bytes = AlignedBuffer<std::uint8_t>;
using Ints = AlignedBuffer<int>;

struct Field {
  const char* name;
  val value;
  template <class T>
  Field(const char* field, const T& plain) : name(field), value(plain) {}
};
val object(std::initializer_list<Field> fields) {
  val result = val::object();
  for (const Field& field : fields) result.set(field.name, field.value);
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
  for (const auto& item : items) result.call<void>("push", convert(item));
  return result;
}
double number(std::uint64_t value) { return static_cast<double>(value); }
std::uint64_t size(double value) { return static_cast<std::uint64_t>(value); }
std::span<const int> ids(const Ints& ints) { return {ints.data(), ints.size()}; }
std::span<const std::byte> span(const Bytes& bytes) {
  return std::as_bytes(std::span(bytes.data(), bytes.size()));
}
val failure(const Error& error) {
  return object(
      {{"code", to_string(error.code)}, {"where", error.where}, {"message", error.message}});
}
template <class T, class Convert>
val checked(Result<T> result, Convert convert) {
  return result.ok() ? val(convert(result.value())) : failure(result.error());
}
template <class T>
val owned(const T* value) {  // JavaScript deletes it; Embind takes no handle of a const object
  return val(const_cast<T*>(value), emscripten::return_value_policy::take_ownership());
}
template <class T>
val handle(Result<T> result) {
  return checked(std::move(result), [](T& value) { return owned(new T(std::move(value))); });
}
template <class T>
val allocate(double count) {
  return handle(T::allocate(size(count), "input"));
}
MatrixView<const int> matrix(const Ints& labels, const Ints& source) {
  if (labels.empty() || source.empty()) return {};
  const int rows = static_cast<int>(source.size()), cols = static_cast<int>(labels.size()) / rows;
  return {labels.data(), rows, cols, cols};
}
TraceRequest request(const val& trace) {
  TraceRequest result{
      {}, vecFromJSArray<int>(trace["layers"]), vecFromJSArray<int>(trace["heads"])};
  for (const int kind : vecFromJSArray<int>(trace["kinds"])) {
    result.kinds.push_back(static_cast<AttentionKind>(kind));
  }
  return result;
}

// clang-format off
val tensor(const TensorInfo& info) {
  return object({{"name", info.name}, {"dtype", info.dtype}, {"shape", list(info.shape, number)},
                 {"offset", number(info.offset)}, {"bytes", number(info.bytes)}});
}
val head(const HeadTrace& trace) {  // whole rows, as long as the target might have become
  const auto rows = [&trace](const Matrix& all) {
    return copy(std::span(all.view().data, std::size_t(trace.num_queries) * std::size_t(all.cols())));
  };
  return object({{"kind", int(trace.kind)}, {"layer", trace.layer}, {"head", trace.head},
                 {"numQueries", trace.num_queries}, {"rowLength", trace.weights.cols()},
                 {"weights", rows(trace.weights)}, {"contentScores", rows(trace.content_scores)},
                 {"relationScores", rows(trace.relation_scores)}});
}
val relation(const RelationConfig& config, const StackWeights& stack) {
  const RelationIndex index = stack.relations.empty() ? RelationIndex() : stack.relations[0].index();
  return object({{"index", int(config.index.kind)}, {"effect", int(config.effect.kind)},
                 {"keys", config.effect.keys}, {"values", config.effect.values},
                 {"numRelations", index.num_relations()},
                 {"firstDistance", index.first_distance()}, {"ids", copy(index.ids())}});
}
val describe(const Model& model) {
  const Config& config = model.config;
  return object({{"modelType", config.model_type}, {"vocabSize", config.vocab_size},
                 {"dModel", config.d_model}, {"dFf", config.d_ff},
                 {"numHeads", config.num_heads}, {"headDim", config.head_dim},
                 {"numEncoderLayers", config.num_encoder_layers},
                 {"numDecoderLayers", config.num_decoder_layers},
                 {"encoderRelation", relation(config.encoder_relation, model.weights.encoder)},
                 {"decoderRelation", relation(config.decoder_relation, model.weights.decoder)},
                 {"weightBytes", number(weight_bytes(model.weights))},
                 {"decoderStartTokenId", config.decoder_start_token_id},
                 {"eosTokenIds", copy(config.eos_token_ids)}});
}
val traces(const AttentionTrace& trace) { return list(trace.heads(), head); }
val token(const GeneratedToken& token) {
  return object({{"tokenId", token.token_id}, {"logProbability", token.log_probability}});
}
val forced(const TeacherForced& target) {
  return object({{"logProbabilities", copy(target.log_probabilities)}, {"trace", traces(target.trace)}});
}
}  // namespace

EMSCRIPTEN_BINDINGS(relata) {
  using emscripten::class_, emscripten::function, std::string;
  class_<Bytes>("Bytes").class_function("allocate", &allocate<Bytes>).function("view", &view<Bytes>);
  class_<Ints>("Ints").class_function("allocate", &allocate<Ints>).function("view", &view<Ints>);
  function("headerSize", +[](const Bytes& prefix, double file_size) {
    return checked(safetensors_header_size(span(prefix), size(file_size)), number); });
  class_<ModelLoader>("ModelLoader")
      .class_function("open", +[](const string& config, const string& generation, const Bytes& header, double file_size) {
        return handle(ModelLoader::open({config, generation, span(header), size(file_size)})); })
      .function("tensors", +[](const ModelLoader& loader) { return list(loader.tensors(), tensor); })
      .function("next", +[](const ModelLoader& loader) { return loader.next() ? tensor(*loader.next()) : val::null(); })
      .function("accept", +[](ModelLoader& loader, const Bytes& bytes) {
        const Result<void> accepted = loader.accept(span(bytes));
        return accepted.ok() ? val::null() : failure(accepted.error()); })
      .function("finish", +[](ModelLoader& loader) {
        return checked(loader.finish(), [](auto& model) { return owned(model.release()); }); });
  class_<Model>("Model").function("describe", &describe)
      .function("teacherForce", +[](const Model& model, const Ints& source, const Ints& target, const Ints& labels, const val& trace) {
        return checked(teacher_force(model, ids(source), ids(target), matrix(labels, source), request(trace)), forced); });
  class_<Session>("Session")
      .class_function("start", +[](const Model& model, const Ints& source, const Ints& labels, int max_new_tokens, const val& trace) {
        return checked(Session::start(model, ids(source), matrix(labels, source), {max_new_tokens, request(trace)}),
                       [](Session& session) { return session.error(0) ? failure(*session.error(0)) : owned(new Session(std::move(session))); }); })
      .function("step", +[](Session& session) {
        const auto tokens = session.step();
        if (!tokens.ok()) return failure(tokens.error());
        return tokens.value().empty() ? failure(*session.error(0)) : token(tokens.value().front()); })
      .function("finishReason", +[](const Session& session) { return int(session.finish_reason()); })
      .function("encoderRuns", &Session::encoder_runs)
      .function("trace", +[](const Session& session) { return traces(session.trace()); });
}
