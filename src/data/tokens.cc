#include "data/tokens.h"

#include <algorithm>
#include <array>
#include <span>
#include <unordered_map>
#include <unordered_set>

#include <fmt/core.h>

#include "base/hash.h"
#include "base/text.h"

namespace kw::data {
namespace {

using Names = std::unordered_set<std::string_view>;

bool begins_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
         static_cast<unsigned char>(c) >= 0x80;
}
bool goes_on_name(char c) {
  return begins_name(c) || is_digit(c);
}

// Reads one token after the other.
class Scanner {
 public:
  Scanner(std::string_view source, Syntax syntax) : source_(source), syntax_(syntax) {}

  std::vector<Token> run() {
    while (at_ < source_.size()) {
      if (skip_blank() || skip_comment()) continue;
      const std::size_t begin = at_;
      const Token::Kind kind = take();
      const bool statement = kind == Token::Kind::kText && fresh_line_ && ends_line();
      fresh_line_ = false;
      if (statement && syntax_ == Syntax::kPython && depth_ == 0) continue;
      out_.push_back({kind, source_.substr(begin, at_ - begin)});
    }
    return std::move(out_);
  }

 private:
  char peek(std::size_t ahead = 0) const {
    return at_ + ahead < source_.size() ? source_[at_ + ahead] : '\0';
  }
  bool starts(std::string_view text) const { return source_.substr(at_).starts_with(text); }

  bool skip_blank() {
    const char c = peek();
    if (c == '\n') fresh_line_ = true;
    const bool continued = c == '\\' && (peek(1) == '\n' || (peek(1) == '\r' && peek(2) == '\n'));
    if (continued) {
      at_ += peek(1) == '\n' ? 2 : 3;
      return true;
    }
    if (c != ' ' && c != '\t' && c != '\n' && c != '\r' && c != '\f' && c != '\v') return false;
    ++at_;
    return true;
  }

  bool skip_comment() {
    const bool line = syntax_ == Syntax::kPython ? peek() == '#' : starts("//");
    if (line) {
      at_ = std::min(source_.find('\n', at_), source_.size());
      return true;
    }
    if (syntax_ == Syntax::kPython || !starts("/*")) return false;
    const std::size_t end = source_.find("*/", at_ + 2);
    at_ = end == std::string_view::npos ? source_.size() : end + 2;
    return true;
  }

  // True where only blanks and a comment follow on the line.
  bool ends_line() const {
    std::size_t i = at_;
    while (i < source_.size() && (source_[i] == ' ' || source_[i] == '\t' || source_[i] == '\r'))
      ++i;
    return i >= source_.size() || source_[i] == '\n' || source_[i] == '#' || source_[i] == ';';
  }

  Token::Kind take() {
    if (text_prefix()) return Token::Kind::kText;
    if (begins_name(peek())) {
      while (goes_on_name(peek())) ++at_;
      return Token::Kind::kName;
    }
    if (is_digit(peek()) || (peek() == '.' && is_digit(peek(1)))) {
      take_number();
      return Token::Kind::kNumber;
    }
    take_sign();
    return Token::Kind::kSign;
  }

  // A text with the letters before it.
  bool text_prefix() {
    std::size_t letters = 0;
    while (letters < 3 && begins_name(peek(letters))) ++letters;
    const char quote = peek(letters);
    if (quote != '"' && quote != '\'') return false;
    const std::string_view prefix = source_.substr(at_, letters);
    if (syntax_ == Syntax::kC && prefix.ends_with('R')) return raw_text(letters);
    at_ += letters;
    const bool triple = syntax_ == Syntax::kPython && peek(1) == quote && peek(2) == quote;
    at_ += triple ? 3 : 1;
    while (at_ < source_.size()) {
      if (peek() == '\\') {
        at_ += 2;
      } else if (peek() == quote && (!triple || (peek(1) == quote && peek(2) == quote))) {
        at_ += triple ? 3 : 1;
        break;
      } else if (peek() == '\n' && !triple) {
        break;
      } else {
        ++at_;
      }
    }
    at_ = std::min(at_, source_.size());
    return true;
  }

  bool raw_text(std::size_t letters) {
    const std::size_t open = source_.find('(', at_ + letters);
    if (open == std::string_view::npos) {
      at_ = source_.size();
      return true;
    }
    const std::string end =
        ")" + std::string(source_.substr(at_ + letters + 1, open - at_ - letters - 1)) + "\"";
    const std::size_t close = source_.find(end, open);
    at_ = close == std::string_view::npos ? source_.size() : close + end.size();
    return true;
  }

  void take_number() {
    while (goes_on_name(peek()) || peek() == '.' ||
           (syntax_ == Syntax::kC && peek() == '\'' && goes_on_name(peek(1)))) {
      const bool exponent = (peek() == 'e' || peek() == 'E') && !starts("0x");
      ++at_;
      if (exponent && (peek() == '-' || peek() == '+')) ++at_;
    }
  }

  void take_sign() {
    static constexpr std::array<std::string_view, 14> kSigns = {
        "->", "::", "**", "//", "==", "!=", "<=", ">=", "+=", "-=", "*=", "/=", ":=", "@="};
    for (std::string_view sign : kSigns) {
      if (starts(sign)) {
        at_ += sign.size();
        return;
      }
    }
    const char c = peek();
    if (c == '(' || c == '[' || c == '{') ++depth_;
    if (c == ')' || c == ']' || c == '}') depth_ = std::max(depth_ - 1, 0);
    ++at_;
  }

  const std::string_view source_;
  const Syntax syntax_;
  std::size_t at_ = 0;
  int depth_ = 0;
  bool fresh_line_ = true;
  std::vector<Token> out_;
};

const Names& python_words() {
  static const Names words = {
      "False", "None",     "True",  "and",    "as",   "assert", "async",  "await",    "break",
      "class", "continue", "def",   "del",    "elif", "else",   "except", "finally",  "for",
      "from",  "global",   "if",    "import", "in",   "is",     "lambda", "nonlocal", "not",
      "or",    "pass",     "raise", "return", "try",  "while",  "with",   "yield",    "self"};
  return words;
}

const Names& c_words() {
  static const Names words = {
      "auto",      "bool",    "break",    "case",    "char",     "class",    "const", "constexpr",
      "continue",  "default", "delete",   "do",      "double",   "else",     "enum",  "extern",
      "false",     "float",   "for",      "goto",    "if",       "inline",   "int",   "long",
      "namespace", "new",     "noexcept", "nullptr", "operator", "return",   "short", "signed",
      "sizeof",    "static",  "struct",   "switch",  "template", "this",     "throw", "true",
      "typename",  "union",   "unsigned", "using",   "void",     "volatile", "while", "include",
      "define",    "pragma",  "omp"};
  return words;
}

// The places where names are bound, and those of the names of self's attributes.
struct Bound {
  Names names, attributes;
};

class PythonBindings {
 public:
  explicit PythonBindings(std::span<const Token> tokens) : tokens_(tokens) {}

  Bound run() {
    for (i_ = 0; i_ < tokens_.size(); ++i_) step();
    return std::move(out_);
  }

 private:
  std::string_view at(std::size_t i) const { return i < tokens_.size() ? tokens_[i].text : ""; }
  bool is_name(std::size_t i) const {
    return i < tokens_.size() && tokens_[i].kind == Token::Kind::kName &&
           !python_words().contains(tokens_[i].text);
  }

  void step() {
    const std::string_view text = at(i_);
    const std::string_view before = i_ > 0 ? at(i_ - 1) : "";
    track_depth(text);
    if (!is_name(i_)) return;
    if (before == "def" || before == "class" || before == "as" || before == "for") bind(text);
    if (before == "def") in_parameters_ = depth_ + 1;
    if (before == "lambda") bind(text);
    if (before == "." && i_ > 1 && at(i_ - 2) == "self" && assigned(i_ + 1))
      out_.attributes.insert(text);
    if (before == ".") return;
    const bool parameter = in_parameters_ > 0 && depth_ == in_parameters_ &&
                           (before == "(" || before == "," || before == "*" || before == "**");
    if (parameter || (depth_ == 0 && target(i_ + 1))) bind(text);
  }

  void track_depth(std::string_view text) {
    if (text == "(" || text == "[" || text == "{") ++depth_;
    if (text == ")" || text == "]" || text == "}") {
      if (depth_ == in_parameters_) in_parameters_ = 0;
      depth_ = std::max(depth_ - 1, 0);
    }
  }

  bool assigned(std::size_t i) const {
    const std::string_view sign = at(i);
    return sign == "=" || sign == "+=" || sign == "-=" || sign == "*=" || sign == "/=";
  }

  // NAME = or NAME, OTHER, ... =
  bool target(std::size_t i) const {
    while (at(i) == "," && is_name(i + 1)) i += 2;
    return assigned(i) || at(i) == ":=";
  }

  void bind(std::string_view name) { out_.names.insert(name); }

  std::span<const Token> tokens_;
  std::size_t i_ = 0;
  int depth_ = 0, in_parameters_ = 0;
  Bound out_;
};

// A name behind a type: declared here.
Bound c_bindings(std::span<const Token> tokens) {
  Bound out;
  const auto text = [&](std::size_t i) {
    return i < tokens.size() ? tokens[i].text : std::string_view();
  };
  static const Names types = {"auto",  "bool",   "char",     "const",  "double",    "float",
                              "int",   "long",   "short",    "signed", "unsigned",  "void",
                              "class", "struct", "typename", "using",  "namespace", "enum"};
  for (std::size_t i = 1; i < tokens.size(); ++i) {
    if (tokens[i].kind != Token::Kind::kName || c_words().contains(tokens[i].text)) continue;
    const std::string_view before = text(i - 1), after = text(i + 1);
    const bool pointed = (before == "*" || before == "&" || before == ">") && after != "(";
    const bool typed = types.contains(before) ||
                       (tokens[i - 1].kind == Token::Kind::kName && !c_words().contains(before));
    const bool ends = after == "=" || after == ";" || after == "," || after == ")" ||
                      after == "(" || after == "[" || after == "{" || after == ":";
    if ((pointed || typed) && ends) out.names.insert(tokens[i].text);
  }
  return out;
}

std::uint64_t hash_of(std::string_view text, std::uint64_t seed) {
  return keyed_hash(std::as_bytes(std::span(text)), seed);
}

std::uint64_t mixed(std::uint64_t x) {  // SplitMix64's finaliser
  x = (x ^ (x >> 30U)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27U)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31U);
}

}  // namespace

std::vector<Token> tokens_of(std::string_view source, Syntax syntax) {
  return Scanner(source, syntax).run();
}

std::vector<std::string> normalised(std::string_view source, Syntax syntax) {
  const std::vector<Token> tokens = tokens_of(source, syntax);
  const Bound bound = syntax == Syntax::kPython ? PythonBindings(tokens).run() : c_bindings(tokens);
  std::unordered_map<std::string, std::size_t> numbers;
  std::vector<std::string> out;
  out.reserve(tokens.size());
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    const std::string_view text = tokens[i].text;
    const std::string_view before = i > 0 ? tokens[i - 1].text : "";
    const bool member = before == "." || before == "->" || before == "::";
    const bool own_attribute = syntax == Syntax::kPython && before == "." && i > 1 &&
                               tokens[i - 2].text == "self" && bound.attributes.contains(text);
    const bool renamed = tokens[i].kind == Token::Kind::kName &&
                         (own_attribute || (!member && bound.names.contains(text)));
    if (!renamed) {
      out.emplace_back(text);
      continue;
    }
    auto [number, added] =
        numbers.emplace((own_attribute ? "." : "") + std::string(text), numbers.size());
    out.push_back(fmt::format("${}", number->second));
  }
  return out;
}

std::string normalised_digest(const std::vector<std::string>& tokens) {
  std::string text;
  for (const std::string& token : tokens) {
    text += token;
    text += '\n';
  }
  return sha256_hex(text).substr(0, 32);
}

std::vector<std::uint64_t> shingles(const std::vector<std::string>& tokens, std::size_t length) {
  std::vector<std::uint64_t> hashes;
  hashes.reserve(tokens.size());
  for (const std::string& token : tokens) hashes.push_back(hash_of(token, 1));
  std::vector<std::uint64_t> out;
  const std::size_t runs = hashes.size() > length ? hashes.size() - length + 1 : 1;
  out.reserve(runs);
  for (std::size_t i = 0; i < runs && !hashes.empty(); ++i) {
    std::uint64_t value = 0;
    for (std::size_t j = i; j < std::min(i + length, hashes.size()); ++j)
      value = mixed(value + hashes[j]);
    out.push_back(value);
  }
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

}  // namespace kw::data
