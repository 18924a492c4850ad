// Relations altered for a pass: against the reference in double precision, which reads the relation
// of every pair otherwise; as trained where nothing is altered; and refused where they mean
// nothing.
#include <doctest/doctest.h>

#include <algorithm>
#include <string>

#include "src/generate/session.hpp"
#include "src/model/decoder.hpp"
#include "src/model/encoder.hpp"
#include "tests/core/support.hpp"

using namespace relata;
using namespace relata::test;

namespace {

constexpr double kTolerance = 1e-4;
constexpr double kFarBeyond = 1e-2;

RelationSwitch read_switch(const nlohmann::json& json) {
  const std::map<std::string, Alteration> kinds = {{"off", Alteration::off},
                                                   {"keys", Alteration::keys_only},
                                                   {"values", Alteration::values_only},
                                                   {"clip", Alteration::clipped},
                                                   {"mirrored", Alteration::mirrored}};
  RelationSwitch result;
  result.alteration = {kinds.at(json.at("switch")), json.value("clip", 0)};
  for (const std::string& kind : json.value("kinds", std::vector<std::string>())) {
    result.kinds.push_back(kind == "encoder_self" ? AttentionKind::encoder_self
                                                  : AttentionKind::decoder_self);
  }
  result.layers = json.value("layers", std::vector<int>());
  result.heads = json.value("heads", std::vector<int>());
  return result;
}

AlteredRelations altered(const Model& model, const RelationSwitch& wanted) {
  auto result = alter_relations(model, wanted);
  REQUIRE(result.ok());
  return std::move(result.value());
}

struct Pass {
  Matrix encoded;
  Matrix logits;
  AttentionTrace trace;
};

/// A pass of a case with every self-attention recorded, the decoder fed in pieces.
Pass run(const Model& model, const GoldenCase& golden, const AlteredRelations* relations) {
  const int length = static_cast<int>(golden.decoder_input_ids.size());
  Pass pass;
  auto trace = AttentionTrace::allocate(
      model.config, {{AttentionKind::encoder_self, AttentionKind::decoder_self}, {}, {}},
      static_cast<int>(golden.source_ids.size()), length);
  REQUIRE(trace.ok());
  pass.trace = std::move(trace.value());
  auto encoded = encode(model, golden.source_ids, golden.labels(), &pass.trace, relations);
  REQUIRE(encoded.ok());
  pass.encoded = std::move(encoded.value());
  auto decoder = Decoder::start(model, pass.encoded.view(), length, length, true, relations);
  REQUIRE(decoder.ok());
  pass.logits = std::move(Matrix::allocate(length, model.config.vocab_size, "test").value());
  for (int fed = 0; fed < length;) {
    const int count = fed == 0 ? std::min(3, length) : 1;
    const auto ids = std::span(golden.decoder_input_ids)
                         .subspan(static_cast<std::size_t>(fed), static_cast<std::size_t>(count));
    const auto rows = pass.logits.view().slice_rows(fed, count);
    REQUIRE(decoder.value().forward(ids, rows, &pass.trace).ok());
    fed += count;
  }
  return pass;
}

MatrixView<const float> last_rows(const Matrix& all, int count) {
  return all.view().slice_rows(all.rows() - count, count);
}

std::string refusal(const Model& model, const RelationSwitch& wanted) {
  const auto result = alter_relations(model, wanted);
  REQUIRE_FALSE(result.ok());
  CHECK(result.error().code == ErrorCode::option_invalid);
  return result.error().where;
}

RelationSwitch switched(Alteration kind, int clip = 0) { return {{kind, clip}}; }

}  // namespace

TEST_CASE("altered relations: encoder output, logits and relation scores are the reference's") {
  const auto expected = read_json(golden_path("alterations/expected.json"));
  const Tensors tensors = read_tensors(golden_path("alterations/expected.safetensors"));
  std::string folder;
  std::unique_ptr<const Golden> golden;
  std::unique_ptr<const Model> model;
  int scores = 0;
  for (const auto& item : expected.at("alterations")) {
    CAPTURE(item.dump());
    if (folder != item.at("folder").get<std::string>()) {
      folder = item.at("folder");
      golden = read_golden(folder);
      model = load(golden->files);
    }
    const std::string name = item.at("name").get<std::string>() + ".";
    const AlteredRelations relations = altered(*model, read_switch(item));
    GoldenCase near = golden->cases.at(1);
    near.decoder_input_ids.resize(static_cast<std::size_t>(tensors.at(name + "logits").dim(0)));
    const GoldenCase& far = golden->cases.at(2);
    REQUIRE_EQ(near.name, "source_7");
    REQUIRE_EQ(far.name, "source_40");
    const Pass pass = run(*model, near, &relations);
    CHECK_LE(max_difference(pass.encoded.view(), tensors.at(name + "encoder").matrix()),
             kTolerance);
    CHECK_LE(max_difference(pass.logits.view(), tensors.at(name + "logits").matrix()), kTolerance);
    for (const HeadTrace& head : pass.trace.heads()) {
      const std::string kind =
          head.kind == AttentionKind::encoder_self ? "encoder_self" : "decoder_self";
      const auto found = tensors.find(name + kind + ".relation_scores");
      if (head.layer == 0 && found != tensors.end()) {
        CHECK_LE(max_difference(head.relation_scores.view(), found->second.matrix(head.head)),
                 kTolerance);
        scores += 1;
      }
    }
    const Pass distant = run(*model, far, &relations);
    const auto& far_encoder = tensors.at(name + "far_encoder");
    const auto& far_logits = tensors.at(name + "far_logits");
    CHECK_LE(max_difference(last_rows(distant.encoded, far_encoder.dim(0)), far_encoder.matrix()),
             kTolerance);
    CHECK_LE(max_difference(last_rows(distant.logits, far_logits.dim(0)), far_logits.matrix()),
             kTolerance);
    // It could have failed: the relation as trained is far from this.
    const Pass trained = run(*model, far, nullptr);
    CHECK_GE(max_difference(trained.logits.view(), distant.logits.view()), kFarBeyond);
  }
  CHECK_GE(scores, 3 * 60);
}

TEST_CASE("nothing altered gives the bits of the model as trained") {
  for (const std::string folder : {"shaw", "shaw-per-head", "bucketed-bias", "bucketed-vectors",
                                   "labels-vectors", "fixed-slope", "sinusoidal-halves"}) {
    CAPTURE(folder);
    const auto golden = read_golden(folder);
    const auto model = load(golden->files);
    const AlteredRelations relations = altered(*model, {});
    const Pass pass = run(*model, golden->cases.at(2), &relations);
    const Pass trained = run(*model, golden->cases.at(2), nullptr);
    CHECK(same_bits(pass.encoded.view(), trained.encoded.view()));
    CHECK(same_bits(pass.logits.view(), trained.logits.view()));
  }
}

TEST_CASE("off is a model with tables of zeros") {
  for (const std::string folder : {"shaw", "bucketed-bias"}) {
    CAPTURE(folder);
    auto golden = read_golden(folder);
    const auto model = load(golden->files);
    FolderFiles zeroed = golden->files;
    REQUIRE_GE(zeroed.zero_tensors("relation_"), 2);
    const auto without = load(zeroed);
    const AlteredRelations relations = altered(*model, switched(Alteration::off));
    const Pass pass = run(*model, golden->cases.at(2), &relations);
    const Pass zeros = run(*without, golden->cases.at(2), nullptr);
    CHECK_LE(max_difference(pass.logits.view(), zeros.logits.view()), kTolerance);
    for (const HeadTrace& head : pass.trace.heads()) {
      const auto scores = head.relation_scores.view();
      for (int i = 0; i < scores.rows; ++i) {
        CHECK(std::all_of(scores.row(i), scores.row(i) + scores.cols,
                          [](float value) { return value == 0; }));
      }
    }
  }
}

TEST_CASE("a mirrored T5 and a clipped one are the reference's biases, distance by distance") {
  // Hugging Face's T5: the altered bias at a distance is the trained one at the distance it is read
  // as, which the trace of the model as trained shows.
  const auto golden = read_golden("t5-relu-tied");
  const auto model = load(golden->files);
  const auto& example = golden->cases.back();
  const Pass trained = run(*model, example, nullptr);
  const auto check = [&](const RelationSwitch& wanted, auto&& read) {
    const AlteredRelations relations = altered(*model, wanted);
    const Pass pass = run(*model, example, &relations);
    for (std::size_t at = 0; at < pass.trace.heads().size(); ++at) {
      const HeadTrace& head = pass.trace.heads()[at];
      const HeadTrace& original = trained.trace.heads()[at];
      if (head.kind != AttentionKind::encoder_self) {
        continue;
      }
      const auto scores = head.relation_scores.view();
      for (int i = 0; i < scores.rows; ++i) {
        for (int j = 0; j < scores.cols; ++j) {
          const int distance = read(j - i);
          const int query = std::max(0, -distance);
          CHECK_EQ(scores.row(i)[j], original.relation_scores.view().row(query)[query + distance]);
        }
      }
    }
  };
  check(switched(Alteration::mirrored), [](int distance) { return -distance; });
  check(switched(Alteration::clipped, 3), [](int distance) { return std::clamp(distance, -3, 3); });
}

TEST_CASE("sessions and teacher forcing agree under an altered relation, greedily and with beams") {
  const auto golden = read_golden("shaw");
  const auto model = load(golden->files);
  const auto& example = golden->cases.at(1);
  GenerateOptions options = default_options(model->config);
  options.max_new_tokens = 12;
  options.trace = {{AttentionKind::encoder_self, AttentionKind::decoder_self}, {}, {}};
  for (const int beams : {1, 3}) {
    options.search.num_beams = beams;
    options.relation = {};
    auto trained = Session::start(*model, example.source_ids, {}, options);
    options.relation = switched(Alteration::off);
    auto off = Session::start(*model, example.source_ids, {}, options);
    REQUIRE(trained.ok());
    REQUIRE(off.ok());
    // A session may be moved: what it has altered goes with it.
    Session session = std::move(off.value());
    for (Session* each : {&trained.value(), &session}) {
      while (!each->done()) {
        REQUIRE(each->step().ok());
      }
    }
    const Hypothesis& best = session.hypotheses()[0];
    CHECK(best.log_probabilities != trained.value().hypotheses()[0].log_probabilities);
    const AlteredRelations relations = altered(*model, options.relation);
    const auto forced = teacher_force(*model, example.source_ids, best.token_ids, {}, options.trace,
                                      -1, &relations);
    REQUIRE(forced.ok());
    for (std::size_t i = 0; i < best.token_ids.size(); ++i) {
      CHECK_EQ(best.log_probabilities[i],
               doctest::Approx(forced.value().log_probabilities[i]).epsilon(1e-4));
    }
    for (const HeadTrace& head : session.trace().heads()) {
      CHECK_EQ(head.relation_scores.view().row(0)[0], 0);
    }
  }
}

TEST_CASE("alterations that mean nothing are refused by name") {
  const auto load_folder = [](const char* folder) { return load(read_folder(folder)); };
  const auto shaw = load_folder("shaw");
  const auto keys = load_folder("shaw-keys");
  const auto biases = load_folder("bucketed-bias");
  const auto labels = load_folder("labels-bias");
  const auto slope = load_folder("fixed-slope");
  const auto sinusoids = load_folder("sinusoidal-halves");
  const std::string by_switch = "relation.switch";
  for (const Alteration kind : {Alteration::off, Alteration::keys_only, Alteration::values_only,
                                Alteration::clipped, Alteration::mirrored}) {
    CHECK_EQ(refusal(*sinusoids, switched(kind)), by_switch);
  }
  for (const Alteration kind : {Alteration::keys_only, Alteration::values_only}) {
    CHECK_EQ(refusal(*keys, switched(kind)), by_switch);
    CHECK_EQ(refusal(*biases, switched(kind)), by_switch);
    CHECK_EQ(refusal(*slope, switched(kind)), by_switch);
  }
  CHECK_EQ(refusal(*labels, switched(Alteration::mirrored)), by_switch);
  CHECK_EQ(refusal(*labels, switched(Alteration::clipped, 1)), by_switch);
  CHECK_EQ(refusal(*slope, switched(Alteration::mirrored)), by_switch);
  CHECK_EQ(refusal(*shaw, switched(Alteration::clipped, 4)), by_switch);
  CHECK_EQ(refusal(*shaw, switched(Alteration::clipped, 1 << 30)), by_switch);
  CHECK_EQ(refusal(*shaw, switched(Alteration::clipped, -1)), by_switch);
  CHECK(alter_relations(*shaw, switched(Alteration::clipped, 3)).ok());

  RelationSwitch wanted = switched(Alteration::off);
  wanted.kinds = {AttentionKind::encoder_self, AttentionKind::cross};
  CHECK_EQ(refusal(*shaw, wanted), "relation.kinds");
  // Asked for by name, what cannot be altered is an error.
  wanted.kinds = {AttentionKind::encoder_self, AttentionKind::decoder_self};
  CHECK_EQ(refusal(*labels, wanted), by_switch);
  wanted.kinds = {};
  CHECK(alter_relations(*labels, wanted).ok());
  wanted.layers = {0, 2};
  CHECK_EQ(refusal(*shaw, wanted), "relation.layers[1]");
  wanted.layers = {-1};
  CHECK_EQ(refusal(*shaw, wanted), "relation.layers[0]");
  wanted.layers = {};
  wanted.heads = {3};
  CHECK_EQ(refusal(*shaw, wanted), "relation.heads[0]");

  GenerateOptions options = default_options(shaw->config);
  options.relation = wanted;
  const std::vector<int> source = {5, 2};
  const auto session = Session::start(*shaw, source, {}, options);
  REQUIRE_FALSE(session.ok());
  CHECK_EQ(session.error().where, "relation.heads[0]");
}
