// What is special about each published family, that getting it wrong moves the result, and what is
// refused.
#include <doctest/doctest.h>

#include <algorithm>
#include <functional>
#include <string>
#include <utility>

#include "src/generate/session.hpp"
#include "src/generate/teacher_force.hpp"
#include "src/model/decoder.hpp"
#include "tests/core/model_checks.hpp"

using namespace relata;
using namespace relata::test;

namespace {

constexpr double kFarBeyond = 1e-2;  // a hundred times the tolerance of the golden comparisons

struct Wrong {
  const char* family;
  const char* what;
  std::function<void(Model&)> change;
};

void unscale(Model& model) { model.config.logits_scale = 1; }
void scale(Model& model) { model.config.logits_scale = 0.25F; }  // 16^-1/2
void tie(Model& model) { model.weights.lm_head = {}; }
void use_relu(Model& model) { model.config.activation = kernels::Activation::relu; }
void use_gelu(Model& model) { model.config.activation = kernels::Activation::gelu; }
void drop_gate(Model& model) { model.config.gated = false; }

}  // namespace

TEST_CASE("a family's peculiarity, set wrongly, moves the result") {
  const std::vector<Wrong> cases = {
      {"t5-relu-tied", "output not scaled", unscale},
      {"t5-relu-tied", "gelu for relu", use_gelu},
      {"flan-t5", "output scaled", scale},
      {"flan-t5", "tied", tie},
      {"flan-t5", "relu for gelu", use_relu},
      {"flan-t5", "no gate", drop_gate},
      {"flan-t5-int8", "tied", tie},
      {"mt5", "output scaled, as T5's would be by its config", scale},
      {"mt5", "tied, as its config says", tie},
      {"byt5", "as many encoder layers as decoder layers",
       [](Model& model) { model.config.num_encoder_layers = 1; }},
      {"byt5", "tied", tie},
      {"umt5", "output not scaled", unscale},
      {"umt5", "the first layer's table everywhere",
       [](Model& model) { model.weights.encoder.relations.resize(1); }},
      {"umt5", "the first layer's table everywhere in the decoder",
       [](Model& model) { model.weights.decoder.relations.resize(1); }},
      {"madlad-400", "output scaled", scale},
      {"madlad-400", "tied", tie},
      {"codet5", "output not scaled", unscale},
      {"codet5", "gelu for relu", use_gelu},
  };
  for (const Wrong& wrong : cases) {
    CAPTURE(wrong.family);
    CAPTURE(wrong.what);
    const auto model = load(read_folder(wrong.family));
    const auto golden = read_cases(wrong.family);
    wrong.change(const_cast<Model&>(*model));
    const Differences found = differences(*model, golden->cases.at(1));
    CHECK_GE(std::max(found.encoder, found.logits), kFarBeyond);
  }
}

TEST_CASE("mT5 read as T5, and UMT5 as mT5, do not pass") {
  const auto as = [](const char* folder, const char* type) {
    FolderFiles files = read_folder(folder);
    files.edit_config([&](nlohmann::json& config) { config["model_type"] = type; });
    const auto model = try_load(files);
    return model.ok() ? differences(*model.value(), read_cases(folder)->cases.at(1)).logits : -1;
  };
  CHECK_LE(as("mt5", "mt5"), 1e-4);
  CHECK_GE(as("mt5", "t5"), kFarBeyond);
  CHECK_EQ(as("mt5", "umt5"), -1);  // tables of the upper layers are missing
  CHECK_EQ(as("umt5", "mt5"), -1);  // and here there are too many
}

TEST_CASE("the decoder starts with the start token, not with the pad or the end") {
  for (const std::string folder : {"madlad-400", "codet5", "flan-t5"}) {
    CAPTURE(folder);
    const auto model = load(read_folder(folder));
    const auto golden = read_cases(folder);
    const auto ids_from = [&](int start) {
      const_cast<Model&>(*model).config.decoder_start_token_id = start;
      std::vector<std::vector<int>> ids;
      for (const GoldenCase& example : golden->cases) {
        ids.push_back(greedy(*model, example));
      }
      return ids;
    };
    const int start = model->config.decoder_start_token_id;
    CHECK_EQ(start, 0);
    const auto right = ids_from(start);
    CHECK_EQ(right.front(), golden->cases.front().greedy_ids);
    for (const int wrong : {1, model->config.eos_token_ids.front()}) {
      CHECK(ids_from(wrong) != right);
    }
  }
  const auto madlad = load(read_folder("madlad-400"));
  CHECK_EQ(madlad->config.pad_token_id, 1);
  CHECK_EQ(madlad->config.eos_token_ids, std::vector<int>{2});
}

TEST_CASE("the language tag in front of the source decides what MADLAD writes") {
  const auto model = load(read_folder("madlad-400"));
  const auto expected = read_json(golden_path("madlad-400/expected.json"));
  const Tensors none;
  for (const auto& text : expected.at("texts")) {
    GoldenCase example{"text", text.at("ids"), {}, text.at("generated_ids"), &none};
    CAPTURE(text.dump());
    const int tag = example.source_ids.front();
    CHECK((tag == 38 || tag == 39));
    CHECK_EQ(greedy(*model, example), example.greedy_ids);
    example.source_ids.front() = tag == 38 ? 39 : 38;
    CHECK(greedy(*model, example) != example.greedy_ids);
  }
}

TEST_CASE("an encoder alone encodes, and says that it cannot generate") {
  const auto model = load(read_folder("t5-encoder"));
  CHECK_EQ(model->config.num_decoder_layers, 0);
  const auto golden = read_cases("t5-relu-tied");
  const GoldenCase& example = golden->cases.at(1);
  CHECK_LE(differences(*model, example).encoder, 1e-4);
  const auto refused = [](const auto& result) {
    REQUIRE_FALSE(result.ok());
    CHECK(result.error().code == ErrorCode::unsupported);
    CHECK_EQ(result.error().where, "decoder");
    CHECK(result.error().message.find("encoder alone") != std::string::npos);
  };
  refused(Session::start(*model, example.source_ids, {}, default_options(model->config)));
  refused(teacher_force(*model, example.source_ids, example.decoder_input_ids, {}, {}));
  const Matrix encoded = encode_case(*model, example);
  refused(Decoder::start(*model, encoded.view(), 4, 4, false));
}

TEST_CASE("only a configuration of an encoder alone may lack the decoder") {
  const auto error = [](const char* folder, const std::function<void(nlohmann::json&)>& edit) {
    FolderFiles files = read_folder(folder);
    files.edit_config(edit);
    const auto model = try_load(files);
    return model.ok() ? std::string("loads")
                      : std::string(to_string(model.error().code)) + ": " + model.error().where;
  };
  const auto whole = [](nlohmann::json& config) {
    config["is_encoder_decoder"] = true;
    config["architectures"] = {"T5ForConditionalGeneration"};
  };
  CHECK(error("t5-encoder", whole).starts_with("tensor_missing: model.safetensors: decoder."));
  CHECK_EQ(error("t5-encoder",
                 [](nlohmann::json& config) {
                   config["is_encoder_decoder"] = true;  // the class still says so
                 }),
           "loads");
  CHECK_EQ(error("t5-encoder", [](nlohmann::json& config) { config.erase("architectures"); }),
           "loads");
  CHECK_EQ(
      error("t5-relu-tied", [](nlohmann::json& config) { config["is_encoder_decoder"] = false; }),
      "unsupported: config.json: is_encoder_decoder");
  // A whole file under the class of an encoder is whole.
  CHECK_EQ(error("t5-relu-tied",
                 [](nlohmann::json& config) { config["architectures"] = {"T5EncoderModel"}; }),
           "loads");
  CHECK_EQ(error("t5-encoder", [](nlohmann::json& config) { config["architectures"] = 7; }),
           "loads");
}

TEST_CASE("configurations of other architectures, as transformers writes them, are refused") {
  const std::string weights = read_folder("t5-relu-tied").weights;
  for (const std::string name :
       {"bart", "gpt2", "longt5-local", "longt5-transient-global", "m2m_100", "marian-quick_gelu",
        "pegasus", "prophetnet", "switch_transformers", "t5-gated-mish", "t5-tanh", "t5gemma"}) {
    CAPTURE(name);
    FolderFiles files;
    files.config = read_file(golden_path("refused/" + name + ".json"));
    files.weights = weights;
    const auto model = try_load(files);
    REQUIRE_FALSE(model.ok());
    const Error& error = model.error();
    CHECK(error.code == ErrorCode::unsupported);
    const bool activation = name == "t5-gated-mish" || name == "t5-tanh";
    CHECK_EQ(error.where, activation                    ? "config.json: feed_forward_proj"
                          : name == "marian-quick_gelu" ? "config.json: activation_function"
                                                        : "config.json: model_type");
    const std::string named = name == "longt5-local"              ? "local"
                              : name == "longt5-transient-global" ? "transient-global"
                              : name == "switch_transformers"     ? "mixtures of experts"
                              : activation                        ? name.substr(name.rfind('-') + 1)
                              : name == "marian-quick_gelu"       ? "quick_gelu"
                                                                  : name;
    CHECK_MESSAGE(error.message.find(named) != std::string::npos, error.message);
  }
}

TEST_CASE("ids of the config are checked even where the generation config replaces them") {
  for (const char* key :
       {"eos_token_id", "pad_token_id", "bos_token_id", "decoder_start_token_id"}) {
    for (const nlohmann::json& wrong :
         {nlohmann::json(40), nlohmann::json(-1), nlohmann::json("</s>"), nlohmann::json(1.5)}) {
      FolderFiles files = read_folder("t5-relu-tied");
      REQUIRE(files.generation_config.find("eos_token_id") != std::string::npos);
      files.edit_config([&](nlohmann::json& config) { config[key] = wrong; });
      const auto model = try_load(files);
      CAPTURE(key);
      CAPTURE(wrong.dump());
      REQUIRE_FALSE(model.ok());
      CHECK(model.error().code == ErrorCode::config_invalid);
      CHECK_EQ(model.error().where, std::string("config.json: ") + key);
    }
  }
}
