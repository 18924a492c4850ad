// `npm run parity`: every family and every kind of file against an oracle that is not ours, part by
// part. One row each with the largest absolute errors, and whether greedy ids and the choices of a
// teacher-forced pass are identical.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdio>
#include <string>
#include <utility>

#include "src/model/linear.hpp"
#include "tests/core/ctranslate2_folder.hpp"
#include "tests/core/model_checks.hpp"

using namespace relata;
using namespace relata::test;

namespace {

constexpr double kTolerance = 1e-4;

struct Row {
  const char* family;
  const char* file;
  std::string folder;
  std::string expected = {};  // the folder that holds the oracle's values, if it is another
};

const std::vector<Row> kRows = {
    {"T5 1.0", "safetensors f32", "t5-relu-tied"},
    {"T5 1.0", "safetensors f16", "t5-float16-overflow"},
    {"T5 1.0", "GGUF 32", "gguf/t5-q32"},
    {"T5 1.0 encoder", "safetensors f32", "t5-encoder", "t5-relu-tied"},
    {"T5 1.1", "safetensors f32", "t5-gated-untied"},
    {"T5 gated SiLU", "safetensors bf16", "t5-bfloat16"},
    {"Flan-T5", "safetensors f32", "flan-t5"},
    {"Flan-T5", "safetensors int8", "flan-t5-int8"},
    {"mT5", "safetensors bf16", "mt5"},
    {"mT5", "sharded bf16", "mt5-sharded", "mt5"},
    {"ByT5", "safetensors f16", "byt5"},
    {"UMT5", "safetensors f16", "umt5"},
    {"UMT5", "GGUF K", "gguf/umt5-k"},
    {"MADLAD-400", "safetensors f16", "madlad-400"},
    {"CodeT5", "safetensors bf16", "codet5"},
    {"Shaw", "safetensors f32", "shaw"},
    {"Shaw, keys", "safetensors f16", "shaw-keys"},
    {"Shaw, values", "safetensors f16", "shaw-values"},
    {"Shaw, per head", "safetensors bf16", "shaw-per-head"},
    {"Shaw, one table", "safetensors f16", "shaw-shared-tables"},
    {"Shaw", "CTranslate2 f16", "ctranslate2/shaw-float16"},
    {"Shaw, aliased", "CTranslate2 int8", "ctranslate2/shaw-one-table-int8"},
    {"Shaw, asymmetric", "CTranslate2 bf16", "ctranslate2/shaw-asymmetric-bfloat16"},
    {"buckets, bias", "safetensors f16", "bucketed-bias"},
    {"buckets, per layer", "safetensors bf16", "bucketed-bias-per-layer"},
    {"buckets, vectors", "safetensors f16", "bucketed-vectors"},
    {"labels, vectors", "safetensors bf16", "labels-vectors"},
    {"labels, bias", "safetensors f16", "labels-bias"},
    {"ALiBi", "safetensors f16", "fixed-slope"},
    {"sinusoids", "safetensors f16", "sinusoidal-interleaved"},
    {"sinusoids, halves", "safetensors f16", "sinusoidal-halves"},
    {"sinusoids", "CTranslate2 f32", "ctranslate2/sinusoidal"},
    {"position table", "CTranslate2 int16", "ctranslate2/encodings-int16"},
    {"Marian", "safetensors f32", "marian/shared"},
    {"Marian, separate", "safetensors f16", "marian/separate"},
};

Result<std::unique_ptr<const Model>> load_row(const std::string& folder) {
  if (folder.starts_with("gguf/")) {
    return load_gguf(read_file(golden_path(folder + ".gguf")));
  }
  constexpr std::string_view kCtranslate2 = "ctranslate2/";
  if (folder.starts_with(kCtranslate2)) {
    return load(read_ctranslate2_folder(folder.substr(kCtranslate2.size())));
  }
  return try_load(read_folder(folder));
}

/// The largest error of each part; negative where the model has no such part.
struct Errors {
  double embeddings = -1;
  double relation = -1;
  double blocks = -1;
  double encoder = -1;
  double logits = -1;
  bool greedy = true;
  bool forced = true;
};

void keep(double& largest, double error) { largest = std::max(largest, error); }

Matrix embeddings(const Model& model, Side side, std::span<const int> ids) {
  auto hidden = Matrix::allocate(static_cast<int>(ids.size()), model.config.d_model, "test");
  REQUIRE(hidden.ok());
  REQUIRE(embed(model, side, ids, 0, hidden.value().view()).ok());
  return std::move(hidden.value());
}

/// Embeddings, relation scores and every block, for one case.
void compare_parts(const Model& model, const GoldenCase& example, const Tensors& parts,
                   Errors& errors) {
  GoldenCase shortened = example;
  if (const auto found = parts.find("source_ids"); found != parts.end()) {
    shortened.source_ids = found->second.ids;
  }
  const int rows = parts.at("decoder.embeddings").dim(0);
  shortened.decoder_input_ids.resize(static_cast<std::size_t>(rows));
  const bool has_decoder = model.config.num_decoder_layers > 0;
  const auto compare = [&](double& largest, const Matrix& found, const std::string& name) {
    keep(largest, max_difference(found.view(), parts.at(name).matrix()));
  };
  compare(errors.embeddings, embeddings(model, Side::source, shortened.source_ids),
          "encoder.embeddings");
  CutModel cut(model);
  for (int i = 0; i < model.config.num_encoder_layers; ++i) {
    compare(errors.blocks, cut.encoder(i + 1, shortened), "encoder.block." + std::to_string(i));
  }
  const int layers = model.config.num_decoder_layers;
  for (int i = 0; i < layers; ++i) {
    compare(errors.blocks, cut.decoder(i + 1, shortened, rows),
            "decoder.block." + std::to_string(i));
  }
  if (has_decoder) {
    compare(errors.embeddings, embeddings(model, Side::target, shortened.decoder_input_ids),
            "decoder.embeddings");
  }

  // Where the folder's own case has relation scores, they are of its whole target.
  const bool own = parts.contains("encoder_self.0.relation_scores");
  const GoldenCase& traced = own ? shortened : example;
  auto trace = trace_of_all(model, traced);
  const Matrix encoded = encode_case(model, traced, &trace);
  if (has_decoder) {
    decode_case(model, traced, encoded, {1 << 20}, &trace);
  }
  for (const HeadTrace& head : trace.heads()) {
    const std::string name = name_of(head) + "relation_scores";
    if (head.relation_scores.rows() > 0) {
      const Tensor& expected = own ? parts.at(name) : example.at(name);
      keep(errors.relation,
           max_difference(head.relation_scores.view(), expected.matrix(head.head)));
    }
  }
}

/// Whether the likeliest token of every row is the oracle's, or one the oracle holds as likely.
bool same_choices(MatrixView<const float> logits, MatrixView<const float> expected) {
  for (int i = 0; i < logits.rows; ++i) {
    const float* row = expected.row(i);
    const auto chosen = std::max_element(logits.row(i), logits.row(i) + logits.cols);
    const float best = *std::max_element(row, row + expected.cols);
    if (row[chosen - logits.row(i)] < best - static_cast<float>(kTolerance)) {
      return false;
    }
  }
  return true;
}

Errors compare(const Model& model, const Golden& golden, const Tensors& parts) {
  Errors errors;
  for (const GoldenCase& example : golden.cases) {
    const Matrix encoded = encode_case(model, example);
    keep(errors.encoder, max_difference(encoded.view(), example.at("encoder").matrix()));
    if (model.config.num_decoder_layers > 0) {
      const Matrix logits = decode_case(model, example, encoded);
      const auto expected = example.at("logits").matrix();
      keep(errors.logits, max_difference(logits.view(), expected));
      errors.forced = errors.forced && same_choices(logits.view(), expected);
      errors.greedy = errors.greedy && greedy(model, example) == example.greedy_ids;
    }
    if (example.name == "source_7" || golden.cases.size() == 1) {
      compare_parts(model, example, parts, errors);
    }
  }
  return errors;
}

std::string cell(double error) {
  char text[16] = "-";
  if (error >= 0) {
    std::snprintf(text, sizeof text, "%.1e", error);
  }
  return text;
}

}  // namespace

TEST_SUITE_BEGIN("parity");

TEST_CASE("every family and kind of file, part by part") {
  constexpr const char* kFormat = "%-19s %-17s %10s %9s %7s %8s %7s %7s %7s\n";
  std::printf(kFormat, "family", "file", "embeddings", "relation", "blocks", "encoder", "logits",
              "greedy", "forced");
  for (const Row& row : kRows) {
    CAPTURE(row.folder);
    const std::string expected = row.expected.empty() ? row.folder : row.expected;
    const bool gguf = row.folder.starts_with("gguf/");
    const auto model = load_row(row.folder);
    if (!model.ok()) {
      FAIL(model.error().where << ": " << model.error().message);
    }
    const Errors errors =
        compare(*model.value(), *read_cases(expected),
                read_tensors(golden_path(expected + (gguf ? "." : "/") + "blocks.safetensors")));
    const bool decodes = model.value()->config.num_decoder_layers > 0;
    const auto verdict = [&](bool same) { return !decodes ? "-" : same ? "same" : "DIFFER"; };
    std::printf(kFormat, row.family, row.file, cell(errors.embeddings).c_str(),
                cell(errors.relation).c_str(), cell(errors.blocks).c_str(),
                cell(errors.encoder).c_str(), cell(errors.logits).c_str(), verdict(errors.greedy),
                verdict(errors.forced));
    CHECK_GE(errors.embeddings, 0);
    CHECK_LE(errors.embeddings, kTolerance);
    CHECK_EQ(errors.relation >= 0,
             model.value()->config.encoder_relation.effect.kind != EffectKind::none);
    CHECK_LE(errors.relation, kTolerance);
    CHECK_GE(errors.blocks, 0);
    CHECK_LE(errors.blocks, kTolerance);
    CHECK_GE(errors.encoder, 0);
    CHECK_LE(errors.encoder, kTolerance);
    CHECK_EQ(errors.logits >= 0, decodes);
    CHECK_LE(errors.logits, kTolerance);
    CHECK(errors.greedy);
    CHECK(errors.forced);
  }
}

TEST_SUITE_END();
