// model.bin, little-endian: u32 version; name of the specification; u32 its revision; u32 number of
// variables; per variable its name, u8 rank, u32 dimensions, u8 type, u32 bytes, the bytes; u32
// number of aliases; per alias its name and a variable's. A name is u16 length and as many bytes,
// the last of them 0.
#include <algorithm>
#include <cstring>
#include <limits>
#include <optional>
#include <utility>

#include "src/formats/ctranslate2.hpp"
#include "src/formats/limits.hpp"

namespace relata::formats {
namespace {

constexpr std::uint64_t kChunk = 1 << 17;           // longer than any entry without its data
constexpr std::uint64_t kMaxText = 1 << 12;         // of a text in model.bin
constexpr std::uint64_t kMaxScaleBytes = 16 << 20;  // four million rows
constexpr int kFirstVersion = 4;
constexpr int kLastVersion = 6;
constexpr int kFirstRevision = 3;  // from here on the number of heads is in the file
constexpr int kLastRevision = 7;

struct TypeOf {
  const char* name;
  std::uint64_t bytes;
};
constexpr TypeOf kTypes[] = {{"F32", 4}, {"I8", 1},  {"I16", 2},
                             {"I32", 4}, {"F16", 2}, {"BF16", 2}};

Handed damaged(const Words& place, const Words& message) {
  return fail(ErrorCode::file_damaged, {kCtranslate2File, ": ", place}, message);
}
Handed unsupported(const Words& place, const Words& message) {
  return fail(ErrorCode::unsupported, {kCtranslate2File, ": ", place}, message);
}

bool is_scale(std::string_view name) { return name.ends_with("weight_scale"); }

/// Whether a value is part of the configuration and not of the weights.
bool is_kept(const TensorInfo& info) {
  const bool text = info.name.find('/') == std::string::npos && info.bytes <= kMaxText;
  return info.shape.empty() || text || (is_scale(info.name) && info.bytes <= kMaxScaleBytes);
}

}  // namespace

/// Reads items out of one chunk. An item that does not end within it is none: `needed` then says
/// how far it reaches at least.
struct Ctranslate2Scanner::Cursor {
  std::span<const std::byte> bytes;
  std::uint64_t start;  // of the chunk in the file
  std::uint64_t at = 0;
  std::uint64_t needed = 0;

  std::uint64_t position() const { return start + at; }
  std::string place() const { return "byte " + std::to_string(position()); }

  std::optional<std::span<const std::byte>> take(std::uint64_t count) {
    if (count > bytes.size() - at) {
      needed = at + count;
      return std::nullopt;
    }
    const auto taken = bytes.subspan(static_cast<std::size_t>(at), static_cast<std::size_t>(count));
    at += count;
    return taken;
  }
  template <class T>
  std::optional<T> number() {
    const auto source = take(sizeof(T));
    if (!source) {
      return std::nullopt;
    }
    T value;
    std::memcpy(&value, source->data(), sizeof value);
    return value;
  }
  /// Names are words of the converters: printable ASCII.
  Result<std::optional<std::string>> name() {
    const std::string where = place();
    const auto length = number<std::uint16_t>();
    if (!length) {
      return std::optional<std::string>();
    }
    if (*length == 0) {
      return damaged(where, "a name has at least the byte that ends it");
    }
    const auto source = take(*length);
    if (!source) {
      return std::optional<std::string>();
    }
    std::string text(reinterpret_cast<const char*>(source->data()), source->size());
    const char last = text.back();
    text.pop_back();
    if (last != '\0' ||
        std::any_of(text.begin(), text.end(), [](char c) { return c < 0x20 || c > 0x7E; })) {
      return damaged(where, "a name has to be printable ASCII ended by a zero byte");
    }
    return std::optional(std::move(text));
  }
};

ByteRange Ctranslate2Scanner::next() const {
  if (part_ == Part::done) {
    return {position_, 0};
  }
  return {position_, std::min(std::max(kChunk, wanted_), file_size_ - position_)};
}

Result<void> Ctranslate2Scanner::accept(std::span<const std::byte> bytes) {
  const ByteRange range = next();
  if (bytes.size() != range.bytes) {
    return damaged({"byte ", range.offset},
                   {bytes.size(), " bytes where ", range.bytes, " were due"});
  }
  Cursor cursor{bytes, position_};
  while (part_ != Part::done && cursor.at < bytes.size()) {
    const std::uint64_t before = cursor.at;
    RELATA_TRY_ASSIGN(const bool complete, read_step(cursor));
    if (!complete) {
      cursor.at = before;
      break;
    }
    // A step may end past the chunk, behind data that is not wanted.
    cursor.needed = 0;
  }
  wanted_ = cursor.needed > cursor.at ? cursor.needed - cursor.at : 0;
  position_ += cursor.at;
  if (part_ != Part::done && (wanted_ > file_size_ - position_ || position_ == file_size_)) {
    return damaged({"byte ", position_}, "the file ends within its index");
  }
  return {};
}

Result<bool> Ctranslate2Scanner::read_step(Cursor& cursor) {
  if (part_ == Part::head) {
    return read_head(cursor);
  }
  if (part_ == Part::variables && left_ > 0) {
    return read_variable(cursor);
  }
  if (part_ == Part::variables) {
    const auto count = cursor.number<std::uint32_t>();
    if (!count) {
      return false;
    }
    constexpr std::uint64_t kLeast = 6;  // two empty names
    if (*count > kMaxTensors || *count > (file_size_ - cursor.position()) / kLeast) {
      return damaged(cursor.place(), {*count, " aliases are too many"});
    }
    part_ = Part::aliases;
    left_ = *count;
  } else {
    RELATA_TRY_ASSIGN(const bool complete, read_alias(cursor));
    if (!complete) {
      return false;
    }
  }
  if (left_ == 0) {
    if (cursor.position() != file_size_) {
      return damaged(cursor.place(), {file_size_ - cursor.position(), " bytes belong to nothing"});
    }
    part_ = Part::done;
  }
  return true;
}

Result<bool> Ctranslate2Scanner::read_head(Cursor& cursor) {
  const auto version = cursor.number<std::uint32_t>();
  if (!version) {
    return false;
  }
  if (*version < kFirstVersion || *version > kLastVersion) {
    return unsupported("binary version", {"version ", *version, " is not one of 4, 5 and 6"});
  }
  RELATA_TRY_ASSIGN(const auto specification, cursor.name());
  if (!specification) {
    return false;
  }
  if (*specification != "TransformerSpec") {
    return unsupported("specification", {"models of \"", specification->substr(0, 80),
                                         "\" are not supported, only TransformerSpec"});
  }
  const auto revision = cursor.number<std::uint32_t>();
  const auto count = cursor.number<std::uint32_t>();
  if (!revision || !count) {
    return false;
  }
  if (*revision < kFirstRevision || *revision > kLastRevision) {
    return unsupported("revision",
                       {"revision ", *revision, " of the specification is not one of 3 to 7"});
  }
  constexpr std::uint64_t kLeast = 9;  // an empty name, no dimension, no data
  if (*count == 0 || *count > kMaxTensors || *count > (file_size_ - cursor.position()) / kLeast) {
    return damaged(cursor.place(), {*count, " variables are none or too many"});
  }
  index_.version = static_cast<int>(*version);
  index_.revision = static_cast<int>(*revision);
  part_ = Part::variables;
  left_ = *count;
  return true;
}

Result<bool> Ctranslate2Scanner::read_variable(Cursor& cursor) {
  Ctranslate2Variable variable;
  RELATA_TRY_ASSIGN(auto name, cursor.name());
  const auto rank = name ? cursor.number<std::uint8_t>() : std::nullopt;
  if (!rank) {
    return false;
  }
  if (*rank > kMaxRank) {
    return damaged(*name, {"has more than ", kMaxRank, " dimensions"});
  }
  TensorInfo& info = variable.info;
  info.name = std::move(*name);
  for (int i = 0; i < *rank; ++i) {
    const auto size = cursor.number<std::uint32_t>();
    if (!size) {
      return false;
    }
    info.shape.push_back(*size);
  }
  const auto type = cursor.number<std::uint8_t>();
  const auto bytes = cursor.number<std::uint32_t>();
  if (!type || !bytes) {
    return false;
  }
  if (*type >= std::size(kTypes)) {
    return unsupported(info.name, {"the type ", int{*type}, " is not known"});
  }
  info.dtype = kTypes[*type].name;
  info.offset = cursor.position();
  info.bytes = *bytes;
  std::uint64_t expected = kTypes[*type].bytes;
  for (const std::uint64_t size : info.shape) {
    // Both factors are below 2^32 until the product is beyond what `bytes` can be.
    expected = std::min<std::uint64_t>(expected * size, std::uint64_t{1} << 32);
  }
  if (expected != info.bytes) {
    return damaged(info.name,
                   {"announces ", info.bytes, " bytes, which is not what shape and type need"});
  }
  if (info.bytes > file_size_ - info.offset) {
    return damaged(info.name, "reaches past the end of the file");
  }
  if (is_kept(info)) {
    const auto value = cursor.take(info.bytes);
    if (!value) {
      return false;
    }
    variable.value.assign(value->begin(), value->end());
  } else {
    cursor.at += info.bytes;
  }
  if (index_.variables.contains(info.name)) {
    return fail(ErrorCode::tensor_invalid, {kCtranslate2File, ": ", info.name}, "is there twice");
  }
  std::string key = info.name;
  index_.variables.emplace(std::move(key), std::move(variable));
  --left_;
  return true;
}

Result<bool> Ctranslate2Scanner::read_alias(Cursor& cursor) {
  RELATA_TRY_ASSIGN(auto alias, cursor.name());
  if (!alias) {
    return false;
  }
  RELATA_TRY_ASSIGN(auto name, cursor.name());
  if (!name) {
    return false;
  }
  if (!index_.variables.contains(*name)) {
    return damaged(*alias, {"stands for \"", *name, "\", which is no variable of the file"});
  }
  if (index_.variables.contains(*alias) || index_.aliases.contains(*alias)) {
    return fail(ErrorCode::tensor_invalid, {kCtranslate2File, ": ", *alias}, "is there twice");
  }
  index_.aliases.emplace(std::move(*alias), std::move(*name));
  --left_;
  return true;
}

Result<Ctranslate2Index> Ctranslate2Scanner::finish() {
  if (part_ != Part::done) {
    return damaged({"byte ", position_}, "the index has not been read to its end");
  }
  return std::move(index_);
}

}  // namespace relata::formats
