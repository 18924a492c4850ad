#include "src/formats/json_value.hpp"

#include <utility>

namespace relata::formats {

Json::Json(bool value) : kind_(Kind::boolean), boolean_(value) {}
Json::Json(std::uint64_t value) : kind_(Kind::whole), whole_(value) {}
Json::Json(std::int64_t value)
    : kind_(value < 0 ? Kind::negative : Kind::whole), negative_(value) {}
Json::Json(double value) : kind_(Kind::real), real_(value) {}
Json::Json(std::string value) : kind_(Kind::text), text_(new std::string(std::move(value))) {}
Json Json::list() {
  Json result;
  result.kind_ = Kind::list;
  result.items_ = new List();
  return result;
}
Json Json::object() {
  Json result;
  result.kind_ = Kind::object;
  result.fields_ = new Object();
  return result;
}
Json::~Json() {
  if (kind_ == Kind::text) {
    delete text_;
  } else if (kind_ == Kind::list) {
    delete items_;
  } else if (kind_ == Kind::object) {
    delete fields_;
  }
}

Json& Json::operator[](std::string_view key) {
  if (is_null()) {
    *this = object();
  }
  const auto found = fields_->find(key);
  return found != fields_->end() ? found->second
                                 : fields_->emplace(std::string(key), Json()).first->second;
}

}  // namespace relata::formats
