// How a model wants to be searched: the options of generation_config.json (else of config.json), as
// transformers' GenerationConfig names and means them. An option that would change what is
// generated and that this engine does not have is refused by name; at its neutral value it is
// passed over.
#include <climits>

#include "src/formats/config_file.hpp"

namespace relata::formats {
namespace {

constexpr std::size_t kMaxSequences = 1 << 16;
constexpr double kHuge = 1e9;

class SearchReader {
 public:
  SearchReader(const JsonObject& file, const JsonObject* generation, int vocab_size)
      : file_(file), generation_(generation), vocab_size_(vocab_size) {}

  /// The object that has a field; the configuration where neither has.
  const JsonObject& at(std::string_view key) const {
    return generation_ != nullptr && generation_->has(key) ? *generation_ : file_;
  }
  bool has(std::string_view key) const { return at(key).has(key); }
  Result<int> integer(std::string_view key, int low, int high, int fallback) const {
    return at(key).integer_or(key, low, high, fallback);
  }
  Result<float> number(std::string_view key, double low, double high, float fallback) const {
    RELATA_TRY_ASSIGN(const double value,
                      at(key).number_or(key, low, high, static_cast<double>(fallback)));
    return static_cast<float>(value);
  }
  /// One id or a list; none where the field is absent.
  Result<std::vector<int>> ids(std::string_view key) const {
    if (!has(key)) {
      return std::vector<int>();
    }
    RELATA_TRY_ASSIGN(const Json* value, at(key).value(key));
    return ids_of(key, *value);
  }
  Result<std::vector<std::vector<int>>> sequences(std::string_view key) const {
    std::vector<std::vector<int>> result;
    if (!has(key)) {
      return result;
    }
    RELATA_TRY_ASSIGN(const Json* value, at(key).value(key));
    const auto* list = value->items();
    if (list == nullptr || list->size() > kMaxSequences) {
      return at(key).invalid(key, "must be a list of lists of ids");
    }
    for (const Json& element : *list) {
      if (element.items() == nullptr || element.items()->empty()) {
        return at(key).invalid(key, "must be a list of lists of ids, none empty");
      }
      RELATA_TRY_ASSIGN(auto sequence, ids_of(key, element));
      result.push_back(std::move(sequence));
    }
    return result;
  }
  Result<EarlyStopping> early_stopping() const {
    constexpr std::string_view kKey = "early_stopping";
    if (!has(kKey)) {
      return EarlyStopping::no;
    }
    RELATA_TRY_ASSIGN(const Json* value, at(kKey).value(kKey));
    if (const auto* flag = value->boolean()) {
      return *flag ? EarlyStopping::yes : EarlyStopping::no;
    }
    const auto* word = value->text();
    if (word == nullptr || *word != "never") {
      return at(kKey).invalid(kKey, "must be true, false or \"never\"");
    }
    return EarlyStopping::never;
  }
  /// Refuses a number other than the neutral one.
  Result<void> refuse_number(std::string_view key, double neutral) const {
    RELATA_TRY_ASSIGN(const double value, at(key).number_or(key, -kHuge, kHuge, neutral));
    return value == neutral ? Result<void>() : refuse(key);
  }
  Result<void> refuse_present(std::string_view key) const {
    return has(key) ? refuse(key) : Result<void>();
  }

 private:
  Handed refuse(std::string_view key) const {
    return fail(ErrorCode::unsupported, at(key).place(key),
                {"generating with ", key, " is not supported"});
  }
  Result<std::vector<int>> ids_of(std::string_view key, const Json& value) const {
    std::vector<int> result;
    const auto add = [&](const Json& element) {
      const auto* id = element.whole();
      if (id == nullptr || *id >= static_cast<std::uint64_t>(vocab_size_)) {
        return false;
      }
      result.push_back(static_cast<int>(*id));
      return true;
    };
    bool good = true;
    if (const auto* list = value.items()) {
      good = list->size() <= kMaxSequences;
      for (std::size_t i = 0; good && i < list->size(); ++i) {
        good = add((*list)[i]);
      }
    } else {
      good = add(value);
    }
    if (!good) {
      return at(key).invalid(key, "must hold ids from 0 to vocab_size - 1");
    }
    return result;
  }

  const JsonObject& file_;
  const JsonObject* generation_;
  int vocab_size_;
};

Result<void> refuse_unsupported(const SearchReader& reader) {
  RELATA_TRY(reader.refuse_number("num_beam_groups", 1));
  RELATA_TRY(reader.refuse_number("diversity_penalty", 0));
  RELATA_TRY(reader.refuse_number("encoder_repetition_penalty", 1));
  RELATA_TRY(reader.refuse_number("encoder_no_repeat_ngram_size", 0));
  RELATA_TRY(reader.refuse_number("guidance_scale", 1));
  RELATA_TRY(reader.refuse_number("epsilon_cutoff", 0));
  RELATA_TRY(reader.refuse_number("eta_cutoff", 0));
  RELATA_TRY(reader.refuse_number("penalty_alpha", 0));
  for (const std::string_view key :
       {"top_h", "exponential_decay_length_penalty", "sequence_bias", "constraints",
        "force_words_ids", "watermarking_config", "dola_layers", "stop_strings"}) {
    RELATA_TRY(reader.refuse_present(key));
  }
  return {};
}

}  // namespace

Result<void> read_search(const JsonObject& file, const JsonObject* generation, Config& config) {
  const SearchReader reader(file, generation, config.vocab_size);
  RELATA_TRY(refuse_unsupported(reader));
  // max_length and min_length count the start token, too; the newer fields come first.
  if (reader.has("max_new_tokens") || reader.has("max_length")) {
    RELATA_TRY_ASSIGN(const int longest, reader.integer("max_length", 2, kMaxTargetLength + 1,
                                                        config.max_new_tokens + 1));
    RELATA_TRY_ASSIGN(config.max_new_tokens,
                      reader.integer("max_new_tokens", 1, kMaxTargetLength, longest - 1));
  }
  SearchOptions& search = config.search;
  RELATA_TRY_ASSIGN(const int shortest, reader.integer("min_length", 0, kMaxTargetLength, 0));
  RELATA_TRY_ASSIGN(search.min_new_tokens, reader.integer("min_new_tokens", 0, kMaxTargetLength,
                                                          shortest > 0 ? shortest - 1 : 0));
  RELATA_TRY_ASSIGN(search.num_beams, reader.integer("num_beams", 1, INT_MAX, 1));
  RELATA_TRY_ASSIGN(search.num_return_sequences,
                    reader.integer("num_return_sequences", 1, INT_MAX, 1));
  RELATA_TRY_ASSIGN(search.length_penalty, reader.number("length_penalty", -kHuge, kHuge, 1));
  RELATA_TRY_ASSIGN(search.early_stopping, reader.early_stopping());
  RELATA_TRY_ASSIGN(search.repetition_penalty, reader.number("repetition_penalty", 0, kHuge, 1));
  RELATA_TRY_ASSIGN(search.no_repeat_ngram_size,
                    reader.integer("no_repeat_ngram_size", 0, INT_MAX, 0));
  RELATA_TRY_ASSIGN(search.bad_words_ids, reader.sequences("bad_words_ids"));
  RELATA_TRY_ASSIGN(search.suppress_tokens, reader.ids("suppress_tokens"));
  RELATA_TRY_ASSIGN(search.begin_suppress_tokens, reader.ids("begin_suppress_tokens"));
  RELATA_TRY_ASSIGN(search.forced_bos_token_id,
                    reader.integer("forced_bos_token_id", 0, config.vocab_size - 1, -1));
  RELATA_TRY_ASSIGN(search.forced_eos_token_ids, reader.ids("forced_eos_token_id"));
  RELATA_TRY_ASSIGN(search.do_sample, reader.at("do_sample").boolean_or("do_sample", false));
  RELATA_TRY_ASSIGN(search.temperature, reader.number("temperature", 0, kHuge, 1));
  RELATA_TRY_ASSIGN(search.top_k, reader.integer("top_k", 0, INT_MAX, 0));
  RELATA_TRY_ASSIGN(search.top_p, reader.number("top_p", 0, 1, 1));
  RELATA_TRY_ASSIGN(search.min_p, reader.number("min_p", 0, 1, 0));
  RELATA_TRY_ASSIGN(search.typical_p, reader.number("typical_p", 0, 1, 1));
  return {};
}

}  // namespace relata::formats
