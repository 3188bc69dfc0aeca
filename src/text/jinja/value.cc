#include "text/jinja/value.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace kw::text::jinja {
namespace {

constexpr int kMaxDepth = 64;

std::size_t length_of(unsigned char first) {
  if (first >= 0xF0) return 4;
  if (first >= 0xE0) return 3;
  return first >= 0xC0 ? 2 : 1;
}

char32_t code_of(std::string_view character) {
  static constexpr unsigned kMasks[] = {0, 0x7F, 0x1F, 0x0F, 0x07};
  char32_t code =
      static_cast<unsigned char>(character[0]) & kMasks[std::min<std::size_t>(character.size(), 4)];
  for (char byte : character.substr(1))
    code = (code << 6U) | (static_cast<unsigned char>(byte) & 0x3FU);
  return code;
}

std::string_view first_of(std::string_view text) {
  return text.substr(0, length_of(static_cast<unsigned char>(text[0])));
}

Result<std::string> number_text(double value) {
  const double size = std::fabs(value);
  if (!std::isfinite(value) || size >= 1e16 || (size < 1e-4 && size != 0))
    return fail(ErrorCode::kUnsupported, "the number {} is not written", value);
  std::string out = fmt::format("{}", value);
  if (out.find('.') == std::string::npos) out += ".0";
  return out;
}

void append_json_string(std::string_view text, std::string& out) {
  out += '"';
  for (char c : text) {
    switch (c) {
      case '"':
        out += "\\\"";
        break;
      case '\\':
        out += "\\\\";
        break;
      case '\n':
        out += "\\n";
        break;
      case '\r':
        out += "\\r";
        break;
      case '\t':
        out += "\\t";
        break;
      case '\b':
        out += "\\b";
        break;
      case '\f':
        out += "\\f";
        break;
      default:
        if (static_cast<unsigned char>(c) < 0x20)
          out += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
        else
          out += c;
    }
  }
  out += '"';
}

// json.dumps, with the layout that `indent` asks for.
class JsonWriter {
 public:
  explicit JsonWriter(int indent) : indent_(indent) {}

  Status write(const Value& value, int depth) {
    if (depth > kMaxDepth) return fail(ErrorCode::kUnsupported, "tojson: nested too deeply");
    if (const auto* text = value.string()) {
      append_json_string(*text, out);
    } else if (const auto* flag = value.boolean()) {
      out += *flag ? "true" : "false";
    } else if (const auto* integer = value.integer()) {
      out += std::to_string(*integer);
    } else if (const auto* real = value.real()) {
      KW_TRY(std::string written, number_text(*real));
      out += written;
    } else if (value.is_none()) {
      out += "null";
    } else if (const List* items = value.items()) {
      return sequence('[', ']', items->size(), depth,
                      [&](std::size_t at) { return write((*items)[at], depth + 1); });
    } else if (const Dict* entries = value.entries()) {
      return sequence('{', '}', entries->size(), depth, [&](std::size_t at) {
        append_json_string((*entries)[at].first, out);
        out += ": ";
        return write((*entries)[at].second, depth + 1);
      });
    } else {
      return fail(ErrorCode::kInvalidArgument, "tojson: {} has no JSON", value.type());
    }
    return {};
  }

  std::string out;

 private:
  template <typename Item>
  Status sequence(char begin, char end, std::size_t count, int depth, Item item) {
    out += begin;
    for (std::size_t at = 0; at < count; ++at) {
      if (at > 0) out += indent_ < 0 ? ", " : ",";
      line(depth + 1);
      KW_TRY_STATUS(item(at));
    }
    if (count > 0) line(depth);
    out += end;
    return {};
  }

  void line(int depth) {
    if (indent_ < 0) return;
    out += '\n';
    out.append(static_cast<std::size_t>(indent_) * static_cast<std::size_t>(depth), ' ');
  }

  int indent_;
};

}  // namespace

bool Value::as_integer(std::int64_t& out) const {
  if (const auto* flag = boolean())
    out = *flag ? 1 : 0;
  else if (const auto* value = integer())
    out = *value;
  else
    return false;
  return true;
}

bool Value::as_number(double& out) const {
  std::int64_t whole = 0;
  if (const auto* value = real())
    out = *value;
  else if (as_integer(whole))
    out = static_cast<double>(whole);
  else
    return false;
  return true;
}

bool Value::is_true() const {
  if (is_undefined() || is_none()) return false;
  double number = 0;
  if (as_number(number)) return number != 0;
  if (const auto* text = string()) return !text->empty();
  if (const List* list = items()) return !list->empty();
  if (const Dict* dict = entries()) return !dict->empty();
  return true;
}

std::string_view Value::type() const {
  static constexpr std::string_view kNames[] = {
      "undefined", "none",         "a boolean",   "a whole number", "a number",  "a string",
      "a list",    "a dictionary", "a namespace", "a loop",         "a function"};
  return kNames[data_.index()];
}

const Value* find(const Dict& dict, std::string_view key) {
  for (const auto& [name, value] : dict) {
    if (name == key) return &value;
  }
  return nullptr;
}

Result<bool> equal(const Value& a, const Value& b) {
  std::int64_t i = 0, j = 0;
  if (a.as_integer(i) && b.as_integer(j)) return i == j;
  double x = 0, y = 0;
  if (a.as_number(x) && b.as_number(y)) return x == y;
  if (a.string() != nullptr && b.string() != nullptr) return *a.string() == *b.string();
  if (a.is_none() || b.is_none()) return a.is_none() && b.is_none();
  if (a.is_undefined() || b.is_undefined()) return a.is_undefined() && b.is_undefined();
  if (a.items() != nullptr && b.items() != nullptr) {
    if (a.items()->size() != b.items()->size()) return false;
    for (std::size_t at = 0; at < a.items()->size(); ++at) {
      KW_TRY(bool same, equal((*a.items())[at], (*b.items())[at]));
      if (!same) return false;
    }
    return true;
  }
  if (a.entries() != nullptr && b.entries() != nullptr) {
    if (a.entries()->size() != b.entries()->size()) return false;
    for (const auto& [key, value] : *a.entries()) {
      const Value* other = find(*b.entries(), key);
      if (other == nullptr) return false;
      KW_TRY(bool same, equal(value, *other));
      if (!same) return false;
    }
    return true;
  }
  if (a.as_namespace() != nullptr || a.as_callable() != nullptr || a.as_loop() != nullptr)
    return fail(ErrorCode::kUnsupported, "{} is compared", a.type());
  return false;
}

Result<bool> less(const Value& a, const Value& b) {
  double x = 0, y = 0;
  if (a.as_number(x) && b.as_number(y)) return x < y;
  // UTF-8 sorts as its code points do.
  if (a.string() != nullptr && b.string() != nullptr) return *a.string() < *b.string();
  return fail(ErrorCode::kInvalidArgument, "{} and {} have no order", a.type(), b.type());
}

Result<std::string> to_text(const Value& value) {
  if (const auto* text = value.string()) return *text;
  if (value.is_undefined()) return std::string();
  if (value.is_none()) return std::string("None");
  if (const auto* flag = value.boolean()) return std::string(*flag ? "True" : "False");
  if (const auto* integer = value.integer()) return std::to_string(*integer);
  if (const auto* real = value.real()) return number_text(*real);
  return fail(ErrorCode::kUnsupported, "{} is written as text", value.type());
}

Result<std::string> to_json_text(const Value& value, int indent) {
  JsonWriter writer(indent);
  KW_TRY_STATUS(writer.write(value, 0));
  return std::move(writer.out);
}

bool is_space(char32_t code) {
  return (code >= 9 && code <= 13) || (code >= 0x1C && code <= 0x20) || code == 0x85 ||
         code == 0xA0 || code == 0x1680 || (code >= 0x2000 && code <= 0x200A) || code == 0x2028 ||
         code == 0x2029 || code == 0x202F || code == 0x205F || code == 0x3000;
}

std::vector<std::string_view> characters(std::string_view text) {
  std::vector<std::string_view> out;
  while (!text.empty()) {
    out.push_back(first_of(text));
    text.remove_prefix(out.back().size());
  }
  return out;
}

std::string_view strip_left(std::string_view text) {
  while (!text.empty() && is_space(code_of(first_of(text))))
    text.remove_prefix(first_of(text).size());
  return text;
}

std::string_view strip_right(std::string_view text) {
  while (!text.empty()) {
    std::size_t begin = text.size() - 1;
    while (begin > 0 && (static_cast<unsigned char>(text[begin]) & 0xC0U) == 0x80U) --begin;
    if (!is_space(code_of(text.substr(begin)))) break;
    text = text.substr(0, begin);
  }
  return text;
}

}  // namespace kw::text::jinja
