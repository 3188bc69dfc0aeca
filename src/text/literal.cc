// Parser and printer of Python literals.
#include "text/literal.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/text.h"
#include "text/utf8.h"

namespace kw::text {
namespace {

constexpr std::size_t kMaxLength = 64U << 10U;
constexpr int kMaxDepth = 32;

bool is_word(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  Result<Literal> whole() {
    KW_TRY(Literal literal, value(0));
    skip_space();
    if (at_ < text_.size()) return unexpected("the end");
    return literal;
  }

 private:
  void skip_space() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\n'))
      ++at_;
  }
  bool take(char c) {
    skip_space();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  tl::unexpected<Error> problem(std::string_view what) const {
    return fail(ErrorCode::kInvalidArgument, "not a Python literal: column {}: {}", at_ + 1, what);
  }
  tl::unexpected<Error> unexpected(std::string_view wanted) const {
    std::string found =
        at_ < text_.size() ? fmt::format("\"{}\"", printable(text_.substr(at_, 1), 8)) : "the end";
    return problem(fmt::format("expected {}, found {}", wanted, found));
  }

  Result<Literal> value(int depth) {
    if (depth > kMaxDepth) return problem(fmt::format("nested deeper than {} levels", kMaxDepth));
    skip_space();
    if (at_ >= text_.size()) return unexpected("a value");
    char c = text_[at_];
    if (c == '(') return tuple(depth);
    if (c == '[') {
      ++at_;
      bool comma = false;
      KW_TRY(auto items, sequence(']', depth, comma));
      return Literal{Literal::List{std::move(items)}};
    }
    if (c == '{') return dict(depth);
    if (c == '"' || c == '\'') return string();
    if (is_digit(c) || c == '.' || c == '-' || c == '+') return number();
    return word();
  }

  // Values and commas up to the closing bracket; comma: whether there was any.
  Result<std::vector<Literal>> sequence(char closing, int depth, bool& comma) {
    std::vector<Literal> items;
    while (!take(closing)) {
      if (!items.empty() && !take(',')) return unexpected(fmt::format("\",\" or \"{}\"", closing));
      comma = comma || !items.empty();
      if (!items.empty() && take(closing)) return items;
      KW_TRY(Literal item, value(depth + 1));
      items.push_back(std::move(item));
    }
    return items;
  }

  // Without a comma, parentheses only group.
  Result<Literal> tuple(int depth) {
    ++at_;
    bool comma = false;
    KW_TRY(auto items, sequence(')', depth, comma));
    if (items.size() == 1 && !comma) return std::move(items[0]);
    return Literal{Literal::Tuple{std::move(items)}};
  }

  Result<Literal> dict(int depth) {
    ++at_;
    Literal::Dict out;
    while (!take('}')) {
      if (!out.items.empty() && !take(',')) return unexpected("\",\" or \"}\"");
      if (!out.items.empty() && take('}')) break;
      KW_TRY(Literal key, value(depth + 1));
      if (!hashable(key)) return problem("a list or dict cannot be a key");
      if (!take(':')) return unexpected("\":\"");
      KW_TRY(Literal item, value(depth + 1));
      for (const auto& [known, other] : out.items) {
        if (known == key) return problem("the key " + printable(repr(key), 80) + " is given twice");
      }
      out.items.emplace_back(std::move(key), std::move(item));
    }
    return Literal{std::move(out)};
  }

  static bool hashable(const Literal& key) {
    if (const auto* tuple = std::get_if<Literal::Tuple>(&key.value)) {
      return std::all_of(tuple->items.begin(), tuple->items.end(), hashable);
    }
    return !std::holds_alternative<Literal::List>(key.value) &&
           !std::holds_alternative<Literal::Dict>(key.value);
  }

  Result<Literal> word() {
    std::size_t begin = at_;
    std::size_t end = at_;
    while (end < text_.size() && is_word(text_[end])) ++end;
    std::string_view name = text_.substr(begin, end - begin);
    if (name.empty()) return unexpected("a value");
    if (name != "True" && name != "False" && name != "None") {
      return problem(
          fmt::format("\"{}\" is not a value (strings need quotes)", printable(name, 60)));
    }
    at_ = end;
    if (name == "None") return Literal{Literal::None{}};
    return Literal{name == "True"};
  }

  Result<Literal> number() {
    bool negative = text_[at_] == '-';
    if (text_[at_] == '-' || text_[at_] == '+') ++at_;
    std::string digits = negative ? "-" : "";
    std::size_t begin = at_;
    bool exponent = false;
    for (; at_ < text_.size(); ++at_) {
      char c = text_[at_];
      bool sign =
          (c == '+' || c == '-') && exponent && (text_[at_ - 1] == 'e' || text_[at_ - 1] == 'E');
      if (!is_word(c) && c != '.' && !sign) break;
      if (c == 'e' || c == 'E')
        exponent = text_.substr(begin, 2) != "0x" && text_.substr(begin, 2) != "0X";
      bool between = c == '_' && at_ > begin && is_word(text_[at_ - 1]) && text_[at_ - 1] != '_' &&
                     at_ + 1 < text_.size() && is_word(text_[at_ + 1]);
      if (!between) digits += c;
    }
    if (digits.size() == (negative ? 1U : 0U)) return unexpected("a number");
    return number_from(digits, negative, begin);
  }

  Result<Literal> number_from(const std::string& digits, bool negative, std::size_t begin) {
    auto bad = [&](std::string_view why) {
      at_ = begin;
      return problem(fmt::format("\"{}\" {}", printable(digits, 60), why));
    };
    std::string_view body = std::string_view(digits).substr(negative ? 1 : 0);
    int base = 10;
    if (body.size() > 2 && body[0] == '0') {
      char mark = static_cast<char>(body[1] | 0x20);
      base = mark == 'x' ? 16 : mark == 'o' ? 8 : mark == 'b' ? 2 : 10;
    }
    std::string integer = (negative ? "-" : "") + std::string(base == 10 ? body : body.substr(2));
    std::int64_t whole = 0;
    auto parsed = std::from_chars(integer.data(), integer.data() + integer.size(), whole, base);
    if (parsed.ptr == integer.data() + integer.size()) {
      if (parsed.ec == std::errc::result_out_of_range) return bad("does not fit 64 bits");
      bool padded = base == 10 && body.size() > 1 && body[0] == '0' && whole != 0;
      if (parsed.ec == std::errc() && !padded) return Literal{whole};
      return bad("is not a number");
    }
    double real = 0;
    auto decimal = std::from_chars(digits.data(), digits.data() + digits.size(), real);
    bool looks_decimal =
        is_digit(body[0]) || (body.size() > 1 && body[0] == '.' && is_digit(body[1]));
    if (base != 10 || !looks_decimal || decimal.ptr != digits.data() + digits.size())
      return bad("is not a number");
    if (decimal.ec != std::errc() || !std::isfinite(real)) return bad("does not fit a float");
    return Literal{real};
  }

  Result<Literal> string() {
    char quote = text_[at_++];
    std::string out;
    while (at_ < text_.size() && text_[at_] != quote) {
      char c = text_[at_++];
      if (c == '\n') return problem("the string does not end on its line");
      if (c != '\\') {
        out += c;
        continue;
      }
      KW_TRY_STATUS(escape(out));
    }
    if (!take(quote)) return unexpected("the closing quote");
    return Literal{std::move(out)};
  }

  Status escape(std::string& out) {
    constexpr std::string_view kNames = "\\'\"nrtabfv";
    constexpr std::string_view kValues = "\\'\"\n\r\t\a\b\f\v";
    if (at_ >= text_.size()) return unexpected("an escape");
    char c = text_[at_++];
    if (auto known = kNames.find(c); known != std::string_view::npos) {
      out += kValues[known];
      return {};
    }
    std::size_t length = c == 'x' ? 2 : c == 'u' ? 4 : c == 'U' ? 8 : 0;
    std::string_view hex = text_.substr(at_, length);
    std::uint32_t code = 0;
    auto parsed = std::from_chars(hex.data(), hex.data() + hex.size(), code, 16);
    bool whole = length > 0 && hex.size() == length && parsed.ptr == hex.data() + hex.size();
    if (!whole || parsed.ec != std::errc() || code > 0x10FFFF ||
        (code >= 0xD800 && code <= 0xDFFF)) {
      return problem(fmt::format("unknown escape \"\\{}\"", printable(std::string(1, c), 4)));
    }
    append_utf8(out, code);
    at_ += length;
    return {};
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

std::string repr_of(double value) {
  std::string text = fmt::format("{}", value);
  return text.find_first_of(".en") == std::string::npos ? text + ".0" : text;
}

std::string repr_of(const std::string& value) {
  bool has_single = value.find('\'') != std::string::npos;
  char quote = has_single && value.find('"') == std::string::npos ? '"' : '\'';
  std::string out(1, quote);
  for (char c : value) {
    auto byte = static_cast<unsigned char>(c);
    if (c == quote || c == '\\') {
      out += '\\';
      out += c;
    } else if (c == '\n' || c == '\r' || c == '\t') {
      out += c == '\n' ? "\\n" : c == '\r' ? "\\r" : "\\t";
    } else if (byte < 0x20 || byte == 0x7F) {
      out += fmt::format("\\x{:02x}", static_cast<unsigned>(byte));
    } else {
      out += c;
    }
  }
  return out + quote;
}

std::string repr_of(const std::vector<Literal>& items) {
  std::string out;
  for (const Literal& item : items) out += (out.empty() ? "" : ", ") + repr(item);
  return out;
}

}  // namespace

bool Literal::List::operator==(const List& other) const {
  return items == other.items;
}
bool Literal::Tuple::operator==(const Tuple& other) const {
  return items == other.items;
}
bool Literal::Dict::operator==(const Dict& other) const {
  return items == other.items;
}

Result<Literal> parse_literal(std::string_view text) {
  if (text.size() > kMaxLength)
    return fail(ErrorCode::kInvalidArgument, "longer than {} bytes", kMaxLength);
  return Parser(text).whole();
}

std::string repr(const Literal& literal) {
  struct Print {
    std::string operator()(Literal::None) const { return "None"; }
    std::string operator()(bool value) const { return value ? "True" : "False"; }
    std::string operator()(std::int64_t value) const { return std::to_string(value); }
    std::string operator()(double value) const { return repr_of(value); }
    std::string operator()(const std::string& value) const { return repr_of(value); }
    std::string operator()(const Literal::List& list) const {
      return "[" + repr_of(list.items) + "]";
    }
    std::string operator()(const Literal::Tuple& tuple) const {
      return "(" + repr_of(tuple.items) + (tuple.items.size() == 1 ? ",)" : ")");
    }
    std::string operator()(const Literal::Dict& dict) const {
      std::string out;
      for (const auto& [key, value] : dict.items)
        out += (out.empty() ? "" : ", ") + repr(key) + ": " + repr(value);
      return "{" + out + "}";
    }
  };
  return std::visit(Print{}, literal.value);
}

}  // namespace kw::text
