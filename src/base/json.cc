// Bounded JSON parsing and field readers.
#include "base/json.h"

#include <algorithm>
#include <set>
#include <utility>

#include "base/text.h"

namespace kw {
namespace {

// Builds the value with depth and duplicate keys checked while parsing, so that hostile text costs
// no more than its length.
class BoundedBuilder : public nlohmann::json_sax<Json> {
 public:
  explicit BoundedBuilder(Json& root) : root_(root) {}

  bool null() override { return put(Json(nullptr)); }
  bool boolean(bool value) override { return put(Json(value)); }
  bool number_integer(number_integer_t value) override { return put(Json(value)); }
  bool number_unsigned(number_unsigned_t value) override { return put(Json(value)); }
  bool number_float(number_float_t value, const string_t&) override { return put(Json(value)); }
  bool string(string_t& value) override { return put(Json(std::move(value))); }
  bool binary(binary_t&) override { return false; }
  bool start_object(std::size_t) override {
    if (!open(Json::object())) return false;
    // Keys are const: a list that grows copies them.
    object().reserve(kFewKeys / 2);
    return true;
  }
  bool end_object() override {
    stack_.pop_back();
    return true;
  }
  bool start_array(std::size_t) override { return open(Json::array()); }
  bool end_array() override {
    stack_.pop_back();
    return true;
  }
  bool key(string_t& name) override {
    if (!is_new(name)) {
      problem = fmt::format("key \"{}\" is given twice", printable(name, 80));
      return false;
    }
    key_ = std::move(name);
    return true;
  }
  bool parse_error(std::size_t, const std::string&, const nlohmann::detail::exception& e) override {
    problem = e.what();
    return false;
  }

  std::string problem;

 private:
  static constexpr std::size_t kFewKeys = 16;  // that are compared one by one
  struct Open {
    Json* value;
    std::set<std::string> keys = {};  // of an object with more than a few
  };

  Json::object_t& object() { return stack_.back().value->get_ref<Json::object_t&>(); }

  bool is_new(const std::string& name) {
    const Json::object_t& known = object();
    std::set<std::string>& keys = stack_.back().keys;
    if (known.size() < kFewKeys)
      return std::ranges::none_of(known, [&](const auto& pair) { return pair.first == name; });
    if (keys.empty())
      for (const auto& [key, value] : known) keys.insert(key);
    return keys.insert(name).second;
  }

  Json* place(Json value) {
    if (stack_.empty()) {
      root_ = std::move(value);
      return &root_;
    }
    Json& top = *stack_.back().value;
    if (top.is_array()) {
      top.push_back(std::move(value));
      return &top.back();
    }
    // Known to be new: operator[] would compare it with every key before it.
    return &object().emplace_back(std::move(key_), std::move(value)).second;
  }
  bool put(Json value) {
    place(std::move(value));
    return true;
  }
  bool open(Json value) {
    if (stack_.size() >= static_cast<std::size_t>(kMaxJsonDepth)) {
      problem = fmt::format("nested deeper than {} levels", kMaxJsonDepth);
      return false;
    }
    stack_.push_back({place(std::move(value))});
    return true;
  }

  Json& root_;
  std::vector<Open> stack_;
  std::string key_;
};

// nlohmann's messages carry its own name and code in front.
std::string readable(std::string message) {
  if (auto at = message.find("] "); at != std::string::npos) message.erase(0, at + 2);
  return printable(message, 300);
}

std::string plain_dump(const Json& value) {
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

void append_text(std::string& out, const std::string& text) {
  const bool is_plain = std::ranges::all_of(
      text, [](char c) { return c >= ' ' && c < 0x7F && c != '"' && c != '\\'; });
  if (is_plain) {
    out.append(1, '"').append(text).append(1, '"');
  } else {
    out += plain_dump(Json(text));
  }
}

void append_canonical(std::string& out, const Json& value) {
  if (value.is_object()) {
    std::vector<const Json::object_t::value_type*> items;
    for (const auto& item : value.get_ref<const Json::object_t&>()) items.push_back(&item);
    std::ranges::sort(items, {},
                      [](const auto* item) -> const std::string& { return item->first; });
    char before = '{';
    for (const auto* item : items) {
      out += std::exchange(before, ',');
      append_text(out, item->first);
      out += ':';
      append_canonical(out, item->second);
    }
    out += items.empty() ? "{}" : "}";
  } else if (value.is_array()) {
    char before = '[';
    for (const Json& item : value) {
      out += std::exchange(before, ',');
      append_canonical(out, item);
    }
    out += value.empty() ? "[]" : "]";
  } else if (value.is_string()) {
    append_text(out, value.get_ref<const std::string&>());
  } else {
    out += plain_dump(value);
  }
}

tl::unexpected<Error> expected_kind(const std::string& path, std::string_view kind,
                                    const Json& value) {
  return fail(ErrorCode::kInvalidArgument, "{}: expected {}, found {}", path, kind,
              printable(plain_dump(value), 60));
}

}  // namespace

Result<Json> parse_json(std::string_view text) {
  // nlohmann's lexer takes it for the end and would leave out what is behind it.
  if (auto at = text.find('\0'); at != std::string_view::npos)
    return fail(ErrorCode::kInvalidArgument, "not valid JSON: byte {} is NUL", at + 1);
  Json root;
  BoundedBuilder builder(root);
  if (!Json::sax_parse(text.begin(), text.end(), &builder)) {
    return fail(ErrorCode::kInvalidArgument, "not valid JSON: {}", readable(builder.problem));
  }
  return root;
}

std::string canonical_json(const Json& value) {
  std::string out;
  append_canonical(out, value);
  return out;
}

Result<ObjectReader> ObjectReader::make(const Json& value, std::string where) {
  if (!value.is_object())
    return expected_kind(where.empty() ? "document" : where, "an object", value);
  ObjectReader out(value, std::move(where));
  out.asked_.reserve(value.size());
  return out;
}

bool ObjectReader::has(std::string_view key) const {
  return value_->contains(key);
}

const Json* ObjectReader::find(std::string_view key) {
  asked_.emplace_back(key);
  auto it = value_->find(key);
  return it == value_->end() || it->is_null() ? nullptr : &*it;
}

Result<const Json*> ObjectReader::get(std::string_view key) {
  const Json* value = find(key);
  if (value == nullptr) return fail(ErrorCode::kInvalidArgument, "{}: missing", path(key));
  return value;
}

Result<std::string> ObjectReader::string(std::string_view key) {
  KW_TRY(const Json* value, get(key));
  if (!value->is_string()) return expected_kind(path(key), "a string", *value);
  return value->get<std::string>();
}

Result<std::int64_t> ObjectReader::integer(std::string_view key) {
  KW_TRY(const Json* value, get(key));
  if (!value->is_number_integer() ||
      (value->is_number_unsigned() &&
       value->get<std::uint64_t>() > static_cast<std::uint64_t>(INT64_MAX))) {
    return expected_kind(path(key), "an integer", *value);
  }
  return value->get<std::int64_t>();
}

Result<double> ObjectReader::number(std::string_view key) {
  KW_TRY(const Json* value, get(key));
  if (!value->is_number()) return expected_kind(path(key), "a number", *value);
  return value->get<double>();
}

Result<bool> ObjectReader::boolean(std::string_view key) {
  KW_TRY(const Json* value, get(key));
  if (!value->is_boolean()) return expected_kind(path(key), "true or false", *value);
  return value->get<bool>();
}

Result<std::string> ObjectReader::string_or(std::string_view key, std::string fallback) {
  if (find(key) == nullptr) return fallback;
  return string(key);
}

Result<std::int64_t> ObjectReader::integer_or(std::string_view key, std::int64_t fallback) {
  if (find(key) == nullptr) return fallback;
  return integer(key);
}

Result<double> ObjectReader::number_or(std::string_view key, double fallback) {
  if (find(key) == nullptr) return fallback;
  return number(key);
}

Result<bool> ObjectReader::boolean_or(std::string_view key, bool fallback) {
  if (find(key) == nullptr) return fallback;
  return boolean(key);
}

Result<std::vector<std::string>> ObjectReader::strings_or_empty(std::string_view key) {
  std::vector<std::string> out;
  const Json* value = find(key);
  if (value == nullptr) return out;
  if (!value->is_array()) return expected_kind(path(key), "a list of strings", *value);
  for (const auto& item : *value) {
    if (!item.is_string()) return expected_kind(path(key), "a list of strings", item);
    out.push_back(item.get<std::string>());
  }
  return out;
}

Status ObjectReader::no_other_keys() const {
  for (const auto& [key, item] : value_->items()) {
    if (std::find(asked_.begin(), asked_.end(), key) != asked_.end()) continue;
    std::string hint = nearest(key, asked_);
    return fail(ErrorCode::kInvalidArgument, "{}: unknown key{}", printable(path(key), 120),
                hint.empty() ? "" : fmt::format(" (did you mean \"{}\"?)", hint));
  }
  return {};
}

}  // namespace kw
