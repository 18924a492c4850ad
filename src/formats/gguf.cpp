// Follows ggml's docs/gguf.md.
#include "src/formats/gguf.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <set>
#include <type_traits>
#include <utility>

#include "src/base/sort.hpp"
#include "src/formats/block_formats.hpp"
#include "src/formats/limits.hpp"

namespace relata::formats {
namespace {

constexpr std::uint64_t kMaxKeys = 1 << 12;      // llama.cpp writes about 50
constexpr std::uint64_t kMaxKeyBytes = 1 << 16;  // the format's own limit
constexpr std::uint64_t kMaxTextBytes =
    16 << 20;  // a chat template or a licence is the longest text seen
constexpr std::uint64_t kMaxAlignment = 1 << 16;
constexpr std::uint64_t kDefaultAlignment = 32;

enum class Kind : std::uint32_t {
  u8,
  i8,
  u16,
  i16,
  u32,
  i32,
  f32,
  boolean,
  text,
  array,
  u64,
  i64,
  f64
};

/// ggml's numbers for the types of tensors that have a decoder here.
constexpr std::pair<std::uint32_t, std::string_view> kTypes[] = {
    {0, "F32"},  {1, "F16"},   {2, "Q4_0"},  {3, "Q4_1"},  {6, "Q5_0"},  {7, "Q5_1"},
    {8, "Q8_0"}, {12, "Q4_K"}, {13, "Q5_K"}, {14, "Q6_K"}, {30, "BF16"},
};

Handed damaged(const Words& place, const Words& message) {
  return fail(ErrorCode::file_damaged, {kGgufFile, ": ", place}, message);
}

/// Reads forward through the part of the file that is there.
class Cursor {
 public:
  Cursor(std::span<const std::byte> bytes, std::uint64_t file_size)
      : bytes_(bytes), file_size_(file_size) {}

  std::uint64_t position() const { return position_; }

  template <class T>
  Result<T> number() {
    RELATA_TRY_ASSIGN(const std::span<const std::byte> source, take(sizeof(T)));
    T value;
    std::memcpy(&value, source.data(), sizeof value);
    return value;
  }

  Result<std::string> text(std::uint64_t limit) {
    RELATA_TRY_ASSIGN(const std::uint64_t length, number<std::uint64_t>());
    if (length > limit) {
      return damaged({"byte ", position_}, {"a text of ", length, " bytes is too long"});
    }
    RELATA_TRY_ASSIGN(const std::span<const std::byte> source, take(length));
    return std::string(reinterpret_cast<const char*>(source.data()), source.size());
  }

  /// Refuses a count of which even the smallest items would not fit into the file.
  Result<std::uint64_t> count(std::uint64_t least_bytes_each, std::uint64_t limit,
                              const char* what) {
    RELATA_TRY_ASSIGN(const std::uint64_t value, number<std::uint64_t>());
    if (value > limit || value > (file_size_ - position_) / least_bytes_each) {
      return damaged({"byte ", position_},
                     {value, " ", what, " are too many for a file of ", file_size_, " bytes"});
    }
    return value;
  }

 private:
  Result<std::span<const std::byte>> take(std::uint64_t count) {
    if (count > file_size_ - position_) {
      return damaged({"byte ", position_}, "the header reaches past the end of the file");
    }
    if (count > bytes_.size() - position_) {
      return damaged("prefix", {"the header is longer than ", bytes_.size(), " bytes"});
    }
    const auto source =
        bytes_.subspan(static_cast<std::size_t>(position_), static_cast<std::size_t>(count));
    position_ += count;
    return source;
  }

  std::span<const std::byte> bytes_;
  std::uint64_t file_size_;
  std::uint64_t position_ = 0;
};

template <class Number>
Result<Json> read_as(Cursor& cursor) {
  RELATA_TRY_ASSIGN(const Number value, cursor.number<Number>());
  if constexpr (std::is_floating_point_v<Number>) {
    return Json(static_cast<double>(value));
  } else {
    return Json(static_cast<std::int64_t>(value));
  }
}

/// Anything but an array.
Result<Json> read_single(Cursor& cursor, Kind kind) {
  switch (kind) {
    case Kind::u8:
      return read_as<std::uint8_t>(cursor);
    case Kind::i8:
      return read_as<std::int8_t>(cursor);
    case Kind::u16:
      return read_as<std::uint16_t>(cursor);
    case Kind::i16:
      return read_as<std::int16_t>(cursor);
    case Kind::u32:
      return read_as<std::uint32_t>(cursor);
    case Kind::i32:
      return read_as<std::int32_t>(cursor);
    case Kind::i64:
      return read_as<std::int64_t>(cursor);
    case Kind::f32:
      return read_as<float>(cursor);
    case Kind::f64:
      return read_as<double>(cursor);
    case Kind::boolean: {
      RELATA_TRY_ASSIGN(const std::uint8_t value, cursor.number<std::uint8_t>());
      return Json(value != 0);
    }
    case Kind::text: {
      RELATA_TRY_ASSIGN(std::string text, cursor.text(kMaxTextBytes));
      return Json(std::move(text));
    }
    case Kind::array:
      return damaged({"byte ", cursor.position()}, "arrays of arrays are not supported");
    default: {
      RELATA_TRY_ASSIGN(const std::uint64_t value, cursor.number<std::uint64_t>());
      if (value > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
        return damaged({"byte ", cursor.position()}, "a number beyond 63 bits");
      }
      return Json(value);
    }
  }
}

Result<Kind> read_kind(Cursor& cursor) {
  RELATA_TRY_ASSIGN(const std::uint32_t number, cursor.number<std::uint32_t>());
  if (number > static_cast<std::uint32_t>(Kind::f64)) {
    return damaged({"byte ", cursor.position()}, {"there is no type ", number});
  }
  return static_cast<Kind>(number);
}

Result<Json> read_value(Cursor& cursor) {
  RELATA_TRY_ASSIGN(const Kind kind, read_kind(cursor));
  if (kind != Kind::array) {
    return read_single(cursor, kind);
  }
  RELATA_TRY_ASSIGN(const Kind element, read_kind(cursor));
  RELATA_TRY_ASSIGN(const std::uint64_t count,
                    cursor.count(element == Kind::text ? 8 : 1,
                                 std::numeric_limits<std::uint32_t>::max(), "elements"));
  Json list = Json::list();
  for (std::uint64_t i = 0; i < count; ++i) {
    RELATA_TRY_ASSIGN(Json value, read_single(cursor, element));
    list.items()->push_back(std::move(value));
  }
  return list;
}

/// One tensor's info; its offset still counts from the start of the data.
Result<TensorInfo> read_tensor(Cursor& cursor) {
  TensorInfo tensor;
  RELATA_TRY_ASSIGN(tensor.name, cursor.text(kMaxKeyBytes));
  RELATA_TRY_ASSIGN(const std::uint32_t rank, cursor.number<std::uint32_t>());
  if (rank == 0 || rank > 4) {
    return damaged(tensor.name, {"has ", rank, " dimensions; from 1 to 4 are allowed"});
  }
  for (std::uint32_t i = 0; i < rank; ++i) {
    RELATA_TRY_ASSIGN(const std::uint64_t size, cursor.number<std::uint64_t>());
    tensor.shape.insert(tensor.shape.begin(), size);  // the file names the fastest dimension first
  }
  RELATA_TRY_ASSIGN(const std::uint32_t type, cursor.number<std::uint32_t>());
  const auto* known = std::find_if(std::begin(kTypes), std::end(kTypes),
                                   [&](const auto& entry) { return entry.first == type; });
  if (known == std::end(kTypes)) {
    return fail(ErrorCode::unsupported, {kGgufFile, ": ", tensor.name},
                {"the tensor type ", type, " is not supported"});
  }
  tensor.dtype = known->second;
  RELATA_TRY_ASSIGN(tensor.offset, cursor.number<std::uint64_t>());

  const BlockFormat& format = *find_block_format(tensor.dtype);
  const auto block_values = static_cast<std::uint64_t>(format.block_values);
  if (tensor.shape.back() % block_values != 0) {
    return damaged(tensor.name,
                   {"a row of ", tensor.shape.back(), " values is not a multiple of the ",
                    block_values, " in a block of ", tensor.dtype});
  }
  tensor.bytes = static_cast<std::uint64_t>(format.block_bytes);
  std::uint64_t blocks = tensor.shape.back() / block_values;
  for (std::size_t i = 0; i < tensor.shape.size(); ++i) {
    const std::uint64_t size = i + 1 == tensor.shape.size() ? blocks : tensor.shape[i];
    if (size == 0 || tensor.bytes > std::numeric_limits<std::uint64_t>::max() / size) {
      return damaged(tensor.name, "its shape is empty or beyond 64 bits");
    }
    tensor.bytes *= size;
  }
  return tensor;
}

/// Puts the tensors in file order, offsets from the start of the file: each starts at the first
/// aligned byte after the one before, so that no byte belongs to two and the file cannot hide
/// others.
Result<void> arrange(GgufHeader& header, std::uint64_t alignment, std::uint64_t file_size) {
  sort_stably(header.tensors,
              [](const TensorInfo& a, const TensorInfo& b) { return a.offset < b.offset; });
  const auto aligned = [alignment](std::uint64_t position) {
    return (position + alignment - 1) / alignment * alignment;
  };
  header.bytes = aligned(header.bytes);
  std::uint64_t end = header.bytes;
  for (TensorInfo& tensor : header.tensors) {
    if (tensor.offset > file_size || tensor.offset + header.bytes != aligned(end)) {
      return damaged(tensor.name, "does not start where the tensor before it ends");
    }
    tensor.offset += header.bytes;
    if (tensor.offset > file_size || tensor.bytes > file_size - tensor.offset) {
      return damaged(tensor.name, "reaches past the end of the file");
    }
    end = tensor.offset + tensor.bytes;
  }
  if (file_size > aligned(end)) {
    return damaged({"byte ", end}, "bytes at the end belong to no tensor");
  }
  return {};
}

}  // namespace

Result<GgufHeader> read_gguf(std::span<const std::byte> prefix, std::uint64_t file_size) {
  Cursor cursor(prefix, file_size);
  RELATA_TRY_ASSIGN(const std::uint32_t magic, cursor.number<std::uint32_t>());
  if (magic != 0x46554747U) {
    return damaged("byte 0", "the file does not begin with GGUF");
  }
  RELATA_TRY_ASSIGN(const std::uint32_t version, cursor.number<std::uint32_t>());
  if (version != 2 && version != 3) {
    return fail(ErrorCode::unsupported, {kGgufFile, ": byte 4"},
                {"version ", version, " of GGUF is not supported; 2 and 3 are"});
  }
  RELATA_TRY_ASSIGN(const std::uint64_t num_tensors, cursor.count(24, kMaxTensors, "tensors"));
  RELATA_TRY_ASSIGN(const std::uint64_t num_keys, cursor.count(13, kMaxKeys, "keys"));
  GgufHeader header;
  for (std::uint64_t i = 0; i < num_keys; ++i) {
    RELATA_TRY_ASSIGN(std::string key, cursor.text(kMaxKeyBytes));
    RELATA_TRY_ASSIGN(Json value, read_value(cursor));
    if (!header.metadata.fields()->emplace(key, std::move(value)).second) {
      return damaged(key, "the key is there twice");
    }
  }
  std::set<std::string> names;
  for (std::uint64_t i = 0; i < num_tensors; ++i) {
    RELATA_TRY_ASSIGN(TensorInfo tensor, read_tensor(cursor));
    if (!names.insert(tensor.name).second) {
      return damaged(tensor.name, "the tensor is there twice");
    }
    header.tensors.push_back(std::move(tensor));
  }
  header.bytes = cursor.position();
  std::uint64_t alignment = kDefaultAlignment;
  if (const Json* given = header.find("general.alignment")) {
    const std::uint64_t* bytes = given->whole();
    if (bytes == nullptr || *bytes < 1 || *bytes > kMaxAlignment) {
      return damaged("general.alignment", {"must be a whole number from 1 to ", kMaxAlignment});
    }
    alignment = *bytes;
  }
  RELATA_TRY(arrange(header, alignment, file_size));
  return header;
}

}  // namespace relata::formats
