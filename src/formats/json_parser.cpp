// A parser of our own: with their number and message code, those of libraries weigh a tenth of the
// WebAssembly module.
#include <vector>

#include "src/formats/json.hpp"
#include "src/formats/json_scanner.hpp"
#include "src/formats/limits.hpp"

namespace relata::formats {
namespace {

/// Receives the parser's events and builds the value: the one place where depth and doubled keys
/// can be seen.
class Builder {
 public:
  explicit Builder(const std::string& file) : file_(file) {}

  bool add(Json value) {
    insert(std::move(value));
    return true;
  }

  // A container's address holds while it is open: only its own last element grows.
  bool open(Json container) {
    if (stack_.size() == kMaxJsonDepth) {
      return wrong(file_, {"nested deeper than ", kMaxJsonDepth, " levels"});
    }
    stack_.push_back(insert(std::move(container)));
    return true;
  }

  bool close() {
    stack_.pop_back();
    return true;
  }

  bool key(std::string name) {
    const auto* fields = stack_.back()->fields();
    if (fields->find(name) != fields->end()) {
      return wrong(file_, {"the key ", in_quotes(name), " is there twice"});
    }
    key_ = std::move(name);
    return true;
  }

  bool syntax_error(std::size_t position) {
    return wrong({file_, ": byte ", position}, "this is not valid JSON");
  }

  Result<Json> finish(bool complete) {
    if (!complete) {
      return error_.hand_on();
    }
    return std::move(root_);
  }

 private:
  Json* insert(Json value) {
    if (stack_.empty()) {
      root_ = std::move(value);
      return &root_;
    }
    if (auto* elements = stack_.back()->items()) {
      return &elements->emplace_back(std::move(value));
    }
    auto* fields = stack_.back()->fields();
    return &fields->emplace(std::move(key_), std::move(value)).first->second;
  }

  bool wrong(const Words& where, const Words& message) {
    error_ = relata::fail(ErrorCode::file_damaged, where, message);
    return false;
  }

  const std::string& file_;
  Json root_;
  std::vector<Json*> stack_;
  std::string key_;
  Result<void> error_;
};

/// The grammar of RFC 8259.
class Parser {
 public:
  Parser(std::string_view text, Builder& builder) : scan_(text), builder_(builder) {}

  bool run() {
    scan_.skip_blanks();
    if (!value()) {
      return false;
    }
    scan_.skip_blanks();
    return scan_.at_end() || wrong();
  }

 private:
  bool wrong() { return builder_.syntax_error(scan_.position()); }

  bool value() {
    Json item;
    bool right = false;
    switch (scan_.peek()) {
      case '{':
        return object();
      case '[':
        return array();
      case '"': {
        std::string text;
        right = scan_.string(text);
        item = Json(std::move(text));
        break;
      }
      case 't':
        right = scan_.take("true");
        item = Json(true);
        break;
      case 'f':
        right = scan_.take("false");
        item = Json(false);
        break;
      case 'n':
        right = scan_.take("null");
        break;
      default:
        right = scan_.number(item);
    }
    return right ? builder_.add(std::move(item)) : wrong();
  }

  bool object() {
    scan_.skip();
    if (!builder_.open(Json::object())) {
      return false;
    }
    scan_.skip_blanks();
    if (scan_.take('}')) {
      return builder_.close();
    }
    do {
      scan_.skip_blanks();
      std::string name;
      if (!scan_.string(name)) {
        return wrong();
      }
      scan_.skip_blanks();
      if (!scan_.take(':')) {
        return wrong();
      }
      scan_.skip_blanks();
      if (!builder_.key(std::move(name)) || !value()) {
        return false;
      }
      scan_.skip_blanks();
    } while (scan_.take(','));
    return scan_.take('}') ? builder_.close() : wrong();
  }

  bool array() {
    scan_.skip();
    if (!builder_.open(Json::list())) {
      return false;
    }
    scan_.skip_blanks();
    if (scan_.take(']')) {
      return builder_.close();
    }
    do {
      scan_.skip_blanks();
      if (!value()) {
        return false;
      }
      scan_.skip_blanks();
    } while (scan_.take(','));
    return scan_.take(']') ? builder_.close() : wrong();
  }

  JsonScanner scan_;
  Builder& builder_;
};

}  // namespace

Result<Json> parse_json(std::string_view text, const std::string& file) {
  Builder builder(file);
  return builder.finish(Parser(text, builder).run());
}

}  // namespace relata::formats
