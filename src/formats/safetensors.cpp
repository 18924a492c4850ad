// Follows the rules of huggingface/safetensors: `validate` in safetensors/src/tensor.rs and the
// format's README.
#include "src/formats/safetensors.hpp"

#include <algorithm>
#include <limits>
#include <string_view>
#include <utility>

#include "src/base/sort.hpp"
#include "src/formats/json.hpp"
#include "src/formats/limits.hpp"

namespace relata {

using formats::kMaxHeaderBytes;

namespace {

constexpr std::uint64_t kPrefixBytes = 8;

Handed damaged(std::string_view file, const Words& place, const Words& message) {
  return fail(ErrorCode::file_damaged, {file, ": ", place}, message);
}

}  // namespace

Result<std::uint64_t> safetensors_header_size(std::span<const std::byte> prefix,
                                              std::uint64_t file_size, std::string_view file) {
  if (prefix.size() < kPrefixBytes || file_size < kPrefixBytes) {
    return fail(ErrorCode::file_damaged, file,
                "the file is shorter than the 8 bytes it has to begin with");
  }
  std::uint64_t length = 0;
  for (std::size_t i = kPrefixBytes; i-- > 0;) {
    length = length << 8 | static_cast<std::uint64_t>(prefix[i]);
  }
  if (length > kMaxHeaderBytes) {
    return damaged(
        file, "byte 0",
        {"a header of ", length, " bytes is longer than the limit of ", kMaxHeaderBytes});
  }
  if (length > file_size - kPrefixBytes) {
    return damaged(file, "byte 0",
                   {"a header of ", length, " bytes does not fit into a file of ", file_size});
  }
  return kPrefixBytes + length;
}

namespace formats {
namespace {

/// Bits of one value of every type the format knows, ours or not: all of a file has to add up. 0:
/// unknown.
std::uint64_t bits_of(std::string_view dtype) {
  constexpr std::pair<std::string_view, std::uint64_t> kTypes[] = {
      {"F32", 32},    {"F16", 16},    {"BF16", 16},   {"F64", 64},    {"I64", 64},
      {"I32", 32},    {"I16", 16},    {"I8", 8},      {"U64", 64},    {"U32", 32},
      {"U16", 16},    {"U8", 8},      {"BOOL", 8},    {"F8_E4M3", 8}, {"F8_E5M2", 8},
      {"F8_E8M0", 8}, {"F6_E2M3", 6}, {"F6_E3M2", 6}, {"F4", 4},      {"C64", 64},
  };
  for (const auto& [name, bits] : kTypes) {
    if (name == dtype) {
      return bits;
    }
  }
  return 0;
}

/// a * b, or false where the product does not fit into 64 bits.
bool multiply(std::uint64_t a, std::uint64_t b, std::uint64_t& product) {
  if (b != 0 && a > std::numeric_limits<std::uint64_t>::max() / b) {
    return false;
  }
  product = a * b;
  return true;
}

/// An array of at most `limit` whole numbers that are not negative, or false.
bool read_sizes(const Json& value, std::size_t limit, std::vector<std::uint64_t>& sizes) {
  const auto* elements = value.items();
  if (elements == nullptr || elements->size() > limit) {
    return false;
  }
  for (const Json& element : *elements) {
    if (element.whole() == nullptr) {
      return false;
    }
    sizes.push_back(*element.whole());
  }
  return true;
}

/// One entry of the header; its offset still counts from the end of the header.
Result<TensorInfo> read_entry(const std::string& file, const std::string& name, const Json& value) {
  const auto* fields = value.fields();
  const auto find = [&](const char* key) {
    const auto found = fields->find(key);
    return found == fields->end() ? nullptr : &found->second;
  };
  if (fields == nullptr || fields->size() != 3 || find("dtype") == nullptr ||
      find("shape") == nullptr || find("data_offsets") == nullptr) {
    return damaged(file, name,
                   "an entry has to hold dtype, shape and data_offsets and nothing else");
  }

  TensorInfo tensor;
  tensor.name = name;
  const auto* dtype = find("dtype")->text();
  if (dtype == nullptr) {
    return damaged(file, name, "dtype has to be a string");
  }
  tensor.dtype = *dtype;
  if (!read_sizes(*find("shape"), kMaxRank, tensor.shape)) {
    return damaged(file, name,
                   {"shape has to be at most ", kMaxRank, " whole numbers that are not negative"});
  }
  std::vector<std::uint64_t> range;
  if (!read_sizes(*find("data_offsets"), 2, range) || range.size() != 2 || range[0] > range[1]) {
    return damaged(file, name, "data_offsets have to be a first byte and an end not before it");
  }
  tensor.offset = range[0];
  tensor.bytes = range[1] - range[0];

  const std::uint64_t bits = bits_of(tensor.dtype);
  if (bits == 0) {
    return fail(ErrorCode::unsupported, {file, ": ", name},
                {"the type \"", tensor.dtype.substr(0, 32), "\" is not known"});
  }
  std::uint64_t total = bits;
  for (const std::uint64_t size : tensor.shape) {
    if (!multiply(total, size, total)) {
      return damaged(file, name, "the product of the shape does not fit into 64 bits");
    }
  }
  if (total % 8 != 0 || total / 8 != tensor.bytes) {
    return damaged(
        file, name,
        {"data_offsets span ", tensor.bytes, " bytes, but shape and type need ", total / 8});
  }
  return tensor;
}

Result<void> check_metadata(const std::string& file, const Json& value) {
  const auto* fields = value.fields();
  if (fields == nullptr) {
    return damaged(file, "__metadata__", "has to be an object");
  }
  for (const auto& [key, text] : *fields) {
    if (text.text() == nullptr) {
      return damaged(file, "__metadata__", "has to hold strings only");
    }
  }
  return {};
}

/// Puts the tensors in file order, their offsets from the start of the file. No byte may belong to
/// none or to two.
Result<void> arrange(const std::string& file, std::vector<TensorInfo>& tensors,
                     std::uint64_t data_start, std::uint64_t file_size) {
  sort_stably(tensors, [](const TensorInfo& a, const TensorInfo& b) {
    return a.offset != b.offset ? a.offset < b.offset : a.bytes < b.bytes;
  });
  const std::uint64_t data_bytes = file_size - data_start;
  std::uint64_t end = 0;
  for (TensorInfo& tensor : tensors) {
    if (tensor.offset != end) {
      return damaged(file, tensor.name,
                     {"starts at byte ", tensor.offset,
                      " of the data, but the tensor before it ends at ", end});
    }
    if (tensor.bytes > data_bytes - end) {
      return damaged(file, tensor.name, "reaches past the end of the file");
    }
    end += tensor.bytes;
    tensor.offset += data_start;
  }
  if (end != data_bytes) {
    return damaged(file, {"byte ", data_start + end},
                   {data_bytes - end, " bytes belong to no tensor"});
  }
  return {};
}

}  // namespace

Result<std::vector<TensorInfo>> read_header(const std::string& file,
                                            std::span<const std::byte> header,
                                            std::uint64_t file_size) {
  if (header.empty()) {
    return fail(ErrorCode::file_missing, file, "the folder has no such file");
  }
  RELATA_TRY_ASSIGN(const std::uint64_t size, safetensors_header_size(header, file_size, file));
  if (header.size() != size) {
    return damaged(file, {"byte ", header.size()},
                   {"the header should be ", size, " bytes with its length"});
  }
  const std::string_view text(reinterpret_cast<const char*>(header.data()) + kPrefixBytes,
                              header.size() - kPrefixBytes);
  RELATA_TRY_ASSIGN(const Json root, parse_json(text, file + ": header"));
  const auto* entries = root.fields();
  if (entries == nullptr || text.front() != '{') {
    return damaged(file, "header", "has to begin with an object");
  }
  if (entries->size() > kMaxTensors) {
    return damaged(file, "header", {"holds more than ", kMaxTensors, " tensors"});
  }

  std::vector<TensorInfo> tensors;
  for (const auto& [name, value] : *entries) {
    if (name == "__metadata__") {
      RELATA_TRY(check_metadata(file, value));
      continue;
    }
    RELATA_TRY_ASSIGN(TensorInfo tensor, read_entry(file, name, value));
    tensors.push_back(std::move(tensor));
  }
  RELATA_TRY(arrange(file, tensors, size, file_size));
  return tensors;
}

}  // namespace formats
}  // namespace relata
