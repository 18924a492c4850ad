// What a loaded model does: descriptions, passes and sessions.
#include <array>

#include "bindings/wasm/values.hpp"
#include "src/generate/session.hpp"
#include "src/model/tensor_values.hpp"

namespace {
using namespace relata;
using namespace relata::bindings;
using emscripten::vecFromJSArray;

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

RelationSwitch alteration(const val& given) {
  TraceRequest where = request(given);
  return {{static_cast<Alteration>(given["kind"].as<int>()), given["clip"].as<int>()},
          std::move(where.kinds),
          std::move(where.layers),
          std::move(where.heads)};
}

// An option that is not given keeps the model's own value.
struct Given {
  const val& options;
  template <class T>
  void take(const char* name, T& field) const {
    if (const val value = options[name]; !value.isUndefined()) read(value, field);
  }
  template <class T>
  static void read(const val& value, T& field) {
    if constexpr (std::is_enum_v<T>)
      field = static_cast<T>(value.as<int>());
    else
      field = value.as<T>();
  }
  static void read(const val& value, std::vector<int>& field) {
    field = vecFromJSArray<int>(value);
  }
  static void read(const val& value, std::vector<std::vector<int>>& field) {
    field.clear();
    for (const val& row : vecFromJSArray<val>(value)) field.push_back(vecFromJSArray<int>(row));
  }
};
GenerateOptions options(const Model& model, const val& given, const val& trace) {
  GenerateOptions result = default_options(model.config);
  SearchOptions& search = result.search;
  const Given all{given};
  all.take("max_new_tokens", result.max_new_tokens);
  all.take("decoder_start_token_id", result.decoder_start_token_id);
  all.take("stop_token_ids", result.stop_token_ids);
  all.take("max_repeats", result.max_repeats);
  all.take("max_repeat_ngram", result.max_repeat_ngram);
  all.take("allowed_sequences", result.allowed_sequences);
  all.take("constrained", result.constrained);
  all.take("seed", result.seed);
  all.take("batch_size", result.batch_size);
  all.take("num_beams", search.num_beams);
  all.take("num_return_sequences", search.num_return_sequences);
  all.take("length_penalty", search.length_penalty);
  all.take("length_penalty_form", search.length_penalty_form);
  all.take("early_stopping", search.early_stopping);
  all.take("min_new_tokens", search.min_new_tokens);
  all.take("repetition_penalty", search.repetition_penalty);
  all.take("no_repeat_ngram_size", search.no_repeat_ngram_size);
  all.take("bad_words_ids", search.bad_words_ids);
  all.take("suppress_tokens", search.suppress_tokens);
  all.take("begin_suppress_tokens", search.begin_suppress_tokens);
  all.take("forced_bos_token_id", search.forced_bos_token_id);
  all.take("forced_eos_token_ids", search.forced_eos_token_ids);
  all.take("do_sample", search.do_sample);
  all.take("temperature", search.temperature);
  all.take("top_k", search.top_k);
  all.take("top_p", search.top_p);
  all.take("min_p", search.min_p);
  all.take("typical_p", search.typical_p);
  result.trace = request(trace);
  result.relation = alteration(given["relation"]);
  return result;
}

// clang-format off
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
val network(const Model& model) {  // in the order of RawNetwork
  const Config& config = model.config;
  const PositionConfig& positions = config.positions;
  const std::array values{float(config.norm), float(config.norm_position), config.norm_epsilon, float(config.activation),
                         float(config.gated), config.attention_scale, config.embedding_scale,
                         float(model.weights.lm_head.cols() == 0), config.logits_scale, float(positions.kind),
                         float(positions.interleaved), float(positions.first_position), positions.divisor};
  return copy(std::span<const float>(values));
}
val describe(const Model& model) {
  const Config& config = model.config;
  return object({{"modelType", config.model_type}, {"vocabSize", config.vocab_size},
                 {"sourceVocabSize", config.source_vocab_size > 0 ? config.source_vocab_size : config.vocab_size},
                 {"dModel", config.d_model}, {"dFf", config.d_ff},
                 {"numHeads", config.num_heads}, {"headDim", config.head_dim},
                 {"numEncoderLayers", config.num_encoder_layers},
                 {"numDecoderLayers", config.num_decoder_layers},
                 {"encoderRelation", relation(config.encoder_relation, model.weights.encoder)},
                 {"decoderRelation", relation(config.decoder_relation, model.weights.decoder)},
                 {"network", network(model)}, {"weightBytes", number(weight_bytes(model.weights))},
                 {"decoderStartTokenId", config.decoder_start_token_id},
                 {"eosTokenIds", copy(config.eos_token_ids)}, {"numBeams", config.search.num_beams},
                 {"numReturnSequences", config.search.num_return_sequences},
                 {"doSample", config.search.do_sample}, {"maxNewTokens", config.max_new_tokens}});
}
val traces(const AttentionTrace& trace) { return list(trace.heads(), head); }
val token(const GeneratedToken& token) {
  return object({{"tokenId", token.token_id}, {"logProbability", token.log_probability},
                 {"item", token.item}, {"index", token.index}});
}
val prefix(const OpenPrefix& open) { return object({{"item", open.item}, {"tokenIds", copy(open.token_ids)}}); }
val hypothesis(const Hypothesis& one) {
  return object({{"tokenIds", copy(one.token_ids)}, {"logProbabilities", copy(one.log_probabilities)},
                 {"score", one.score}, {"finishReason", int(one.finish_reason)}});
}
val hidden(const Matrix& rows) {
  return copy(std::span(rows.view().data, std::size_t(rows.rows()) * std::size_t(rows.cols())));
}
val tensor(const Matrix& read) { return object({{"rows", read.rows()}, {"values", hidden(read)}}); }
template <class Pass>
val altered(const Model& model, const val& relation, Pass pass) {
  return checked(alter_relations(model, alteration(relation)), pass);
}
val forced(const TeacherForced& target) {
  return object({{"logProbabilities", copy(target.log_probabilities)}, {"trace", traces(target.trace)}});
}
Result<Session> start(const Model& model, const val& inputs, const val& given, const val& trace) {
  std::vector<SessionInput> all;
  for (const val& input : vecFromJSArray<val>(inputs)) {
    const auto ints = [&input](const char* name) { return input[name].as<Ints*>(emscripten::allow_raw_pointers()); };
    all.push_back({ids(*ints("source")), matrix(*ints("labels"), *ints("source")), ids(*ints("prefix"))});
  }
  return Session::start(model, all, options(model, given, trace));
}
}  // namespace

EMSCRIPTEN_BINDINGS(generate) {
  using emscripten::class_;
  class_<Model>("Model").function("describe", &describe)
      .function("tensor", +[](const Model& model, const std::string& name, const Ints& rows) {
        return checked(read_tensor(model, name, ids(rows)), tensor); })
      .function("encode", +[](const Model& model, const Ints& source, const Ints& labels, const val& relation) {
        return altered(model, relation, [&](const AlteredRelations& all) {
          return checked(encode(model, ids(source), matrix(labels, source), nullptr, &all), hidden); }); })
      .function("teacherForce", +[](const Model& model, const Ints& source, const Ints& target, const Ints& labels, const val& trace, const val& relation, int start) {
        return altered(model, relation, [&](const AlteredRelations& all) {
          return checked(teacher_force(model, ids(source), ids(target), matrix(labels, source), request(trace), start, &all), forced); }); });
  class_<Session>("Session")
      .class_function("start", +[](const Model& model, const val& inputs, const val& given, const val& trace) {
        return handle(start(model, inputs, given, trace)); })
      .function("done", &Session::done)
      .function("step", +[](Session& session) {
        return checked(session.step(), [](const auto& tokens) { return list(tokens, token); }); })
      .function("openPrefixes", +[](const Session& session) { return list(session.open_prefixes(), prefix); })
      .function("allow", +[](Session& session, int open, const Ints& allowed) { return checked(session.allow(open, ids(allowed))); })
      .function("stop", +[](Session& session, int item) { return checked(session.stop(item)); })
      .function("error", +[](const Session& session, int item) {
        return session.error(item) ? failure(*session.error(item)) : val::null(); })
      .function("finishReason", +[](const Session& session, int item) { return int(session.finish_reason(item)); })
      .function("hypotheses", +[](const Session& session, int item) { return list(session.hypotheses(item), hypothesis); })
      .function("encoderRuns", &Session::encoder_runs)
      .function("trace", +[](const Session& session, int item) { return traces(session.trace(item)); });
}
