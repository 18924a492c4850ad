#include "src/formats/tensor_match.hpp"

#include <algorithm>
#include <climits>
#include <string>
#include <utility>

#include "src/formats/block_formats.hpp"

namespace relata::formats {
namespace {

// Behind the name of integers.
constexpr std::string_view kScale = "_scale";
constexpr std::string_view kReach = "_reach";

std::string to_text(const Shape& shape) {
  std::string text = "[";
  for (const std::uint64_t size : shape) {
    text += (text.size() > 1 ? ", " : "") + std::to_string(size);
  }
  return text + "]";
}

bool is_integer(const TensorInfo& tensor) { return tensor.dtype == "I8" || tensor.dtype == "I16"; }

class Matcher {
 public:
  Matcher(ConfigFile& file, const TensorFiles& files, std::vector<TensorSlot>& slots)
      : file_(file), files_(files), slots_(slots) {
    for (std::size_t i = 0; i < files.tensors.size(); ++i) {
      by_name_.emplace(files.tensors[i].name, i);
    }
    result_.slot_of.assign(files.tensors.size(), kUnused);
    result_.factors_of = result_.slot_of;
  }

  Result<TensorMatch> run(Unfinished& unfinished) {
    RELATA_TRY(drop_decoder());
    const auto copies = choose_embedding();
    const bool tied = file_.tied_by_file ? !has(file_.names.lm_head) : file_.tied;
    slots_ = plan_tensors(file_, tied, unfinished);
    const Shape embedding_shape = slots_.front().shape;
    for (const std::string_view copy : copies) {
      slots_.push_back(
          {std::string(copy), embedding_shape, SameAs{&unfinished.model.weights.embedding}});
    }
    add_factors();
    for (std::size_t i = 0; i < slots_.size(); ++i) {
      RELATA_TRY(match(i));
    }
    RELATA_TRY(check_all_used());
    return std::move(result_);
  }

 private:
  bool has(std::string_view name) const { return by_name_.contains(name); }
  bool is_ignored(std::string_view name) const {
    const auto& ignored = file_.ignored;
    return std::find(ignored.begin(), ignored.end(), name) != ignored.end();
  }

  bool is_factor_of_ignored(std::string_view name, std::string_view ending) const {
    return name.ends_with(ending) && is_ignored(name.substr(0, name.size() - ending.size()));
  }

  /// A configuration of an encoder alone is believed where the file has nothing else either.
  Result<void> drop_decoder() {
    if (!file_.encoder_only.possible) {
      return {};
    }
    for (const TensorInfo& tensor : files_.tensors) {
      if (tensor.name.starts_with("decoder.")) {
        if (file_.encoder_only.required) {
          return fail(ErrorCode::unsupported, file_.encoder_only.where,
                      "models of one stack are not supported where the file has two");
        }
        return {};
      }
    }
    file_.config.num_decoder_layers = 0;
    file_.config.decoder_relation = {};
    file_.decoder_index = {};
    return {};
  }

  /// Names the embedding as the file has it. Where only copies of it are there, the first in the
  /// file is loaded and the others have to equal it; their names are returned.
  std::vector<std::string_view> choose_embedding() {
    const auto& names = file_.embedding_copies;
    std::vector<std::string_view> copies;  // in file order
    for (const TensorInfo& tensor : files_.tensors) {
      if (const auto copy = std::find(names.begin(), names.end(), tensor.name);
          copy != names.end()) {
        copies.push_back(*copy);
      }
    }
    if (has(file_.names.embedding) || copies.empty()) {
      // Tied weights of the same name win over their copies, as in the reference.
      file_.ignored.insert(file_.ignored.end(), copies.begin(), copies.end());
      return {};
    }
    file_.names.embedding = copies.front();
    copies.erase(copies.begin());
    return copies;
  }

  /// Slots for the factors of each matrix of integers.
  void add_factors() {
    if (file_.scales == ScaleShape::none) {
      return;
    }
    const std::size_t count = slots_.size();
    result_.factors.reserve(count);  // slots point at them
    for (std::size_t i = 0; i < count; ++i) {
      const std::string name = slots_[i].name;
      const Shape shape = slots_[i].shape;
      const auto found = by_name_.find(name);
      if (shape.size() == 2 && found != by_name_.end() &&
          is_integer(files_.tensors[found->second])) {
        result_.factors_of[found->second] = static_cast<int>(result_.factors.size());
        ReadFactors& factors = result_.factors.emplace_back();
        const bool whole = file_.scales == ScaleShape::tensor;
        add_factor(name, kScale, whole ? Shape{1} : Shape{shape.front(), 1}, factors.scales,
                   factors);
        if (file_.scales == ScaleShape::levelled) {
          add_factor(name, kReach, Shape{1, shape.back()}, factors.reach, factors);
        }
      }
    }
  }

  void add_factor(const std::string& name, std::string_view ending, Shape shape,
                  AlignedBuffer<float>& values, ReadFactors& factors) {
    slots_.push_back({name + std::string(ending), std::move(shape), Factor{&values}});
    // One that is missing is noticed later.
    if (const auto found = by_name_.find(slots_.back().name); found != by_name_.end()) {
      factors.last = std::max(factors.last, found->second);
    }
  }

  Result<void> match(std::size_t i) {
    const TensorSlot& slot = slots_[i];
    const auto found = by_name_.find(slot.name);
    if (found == by_name_.end()) {
      return fail(ErrorCode::tensor_missing, {files_.where, ": ", slot.name},
                  "the configuration calls for this tensor, but the file does not have it");
    }
    const TensorInfo& tensor = files_.tensors[found->second];
    if (tensor.shape != slot.shape) {
      return files_.error(ErrorCode::tensor_invalid, tensor,
                          {"has shape ", to_text(tensor.shape),
                           ", but the configuration calls for ", to_text(slot.shape)});
    }
    const bool scaled = !tensor.scales.empty() || result_.factors_of[found->second] != kUnused;
    if (find_block_format(tensor.dtype) == nullptr || is_integer(tensor) != scaled) {
      return files_.error(ErrorCode::tensor_invalid, tensor,
                          {"has type ", tensor.dtype, "; weights are F32, F16 or BF16"});
    }
    if (std::any_of(slot.shape.begin(), slot.shape.end(),
                    [](std::uint64_t size) { return size > INT_MAX; })) {
      return files_.error(ErrorCode::unsupported, tensor,
                          {"a dimension of ", to_text(slot.shape), " is beyond 32 bits"});
    }
    result_.slot_of[found->second] = static_cast<int>(i);
    return {};
  }

  Result<void> check_all_used() const {
    for (std::size_t i = 0; i < files_.tensors.size(); ++i) {
      const std::string_view name = files_.tensors[i].name;
      if ((file_.scales != ScaleShape::none && is_factor_of_ignored(name, kScale)) ||
          (file_.scales == ScaleShape::levelled && is_factor_of_ignored(name, kReach))) {
        continue;
      }
      if (result_.slot_of[i] == kUnused && !is_ignored(name)) {
        return files_.error(ErrorCode::tensor_invalid, files_.tensors[i],
                            "the configuration calls for no such tensor");
      }
    }
    return {};
  }

  ConfigFile& file_;
  const TensorFiles& files_;
  std::vector<TensorSlot>& slots_;
  std::map<std::string_view, std::size_t> by_name_;
  TensorMatch result_;
};

}  // namespace

Result<TensorMatch> match_tensors(ConfigFile& file, const TensorFiles& files,
                                  Unfinished& unfinished, std::vector<TensorSlot>& slots) {
  return Matcher(file, files, slots).run(unfinished);
}

}  // namespace relata::formats
