// Looks for the definition of a function in C++ text: a tokeniser for comments, literals and
// brackets, no preprocessor.
#include "text/cpp_scan.h"

#include <cctype>
#include <string>
#include <string_view>
#include <vector>

namespace kw::text {
namespace {

bool is_name_char(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

// Names, one-character punctuation, and literals as `"`: enough to see where functions begin.
class Tokens {
 public:
  explicit Tokens(std::string_view text) : text_(text) {}

  // "" at the end. A string literal is returned as its text with quotes; comments, character
  // literals and preprocessor lines are skipped.
  std::string_view next() {
    while (at_ < text_.size()) {
      char c = text_[at_];
      if (c == '\n') {
        line_start_ = true;
        ++at_;
      } else if (std::isspace(static_cast<unsigned char>(c)) != 0) {
        ++at_;
      } else if (starts_with("//") || (c == '#' && line_start_)) {
        skip_line();
      } else if (starts_with("/*")) {
        skip_past("*/", at_ + 2);
      } else {
        line_start_ = false;
        if (c == '\'') {
          quoted('\'');
          continue;
        }
        return token(c);
      }
    }
    return {};
  }

 private:
  bool starts_with(std::string_view prefix) const { return text_.substr(at_).starts_with(prefix); }

  std::string_view token(char c) {
    std::size_t from = at_;
    if (c == '"') return quoted('"');
    if (!is_name_char(c)) {
      ++at_;
      return text_.substr(from, 1);
    }
    while (at_ < text_.size() && (is_name_char(text_[at_]) || digit_separator(from))) ++at_;
    std::string_view name = text_.substr(from, at_ - from);
    if (at_ < text_.size() && text_[at_] == '"' && is_raw_prefix(name)) return raw(from);
    return name;
  }

  // 1'000 is a number, not the start of a character literal.
  bool digit_separator(std::size_t from) const {
    return text_[at_] == '\'' && std::isdigit(static_cast<unsigned char>(text_[from])) != 0;
  }

  static bool is_raw_prefix(std::string_view name) {
    return name == "R" || name == "LR" || name == "uR" || name == "UR" || name == "u8R";
  }

  std::string_view quoted(char quote) {
    std::size_t from = at_++;
    while (at_ < text_.size() && text_[at_] != quote && text_[at_] != '\n') {
      at_ += text_[at_] == '\\' ? 2 : 1;
    }
    at_ = std::min(at_ + 1, text_.size());
    return text_.substr(from, at_ - from);
  }

  std::string_view raw(std::size_t from) {
    std::size_t open = text_.find('(', at_);
    if (open == std::string_view::npos) open = text_.size();
    std::string end = ")" + std::string(text_.substr(at_ + 1, open - at_ - 1)) + "\"";
    skip_past(end, open);
    return text_.substr(from, at_ - from);
  }

  void skip_past(std::string_view end, std::size_t from) {
    std::size_t found = text_.find(end, from);
    at_ = found == std::string_view::npos ? text_.size() : found + end.size();
  }

  // To the end of the line; a backslash at its end continues it.
  void skip_line() {
    while (at_ < text_.size() && text_[at_] != '\n') at_ += text_[at_] == '\\' ? 2 : 1;
    at_ = std::min(at_, text_.size());
  }

  std::string_view text_;
  std::size_t at_ = 0;
  bool line_start_ = true;
};

std::vector<std::string_view> all_tokens(std::string_view source) {
  std::vector<std::string_view> out;
  Tokens tokens(source);
  for (std::string_view t = tokens.next(); !t.empty(); t = tokens.next()) out.push_back(t);
  return out;
}

// For each opening parenthesis the index after the one that closes it (all at once: looking from
// each by itself would take a time quadratic in the source); for one left open the number of
// tokens.
std::vector<std::size_t> after_parentheses(const std::vector<std::string_view>& tokens) {
  std::vector<std::size_t> after(tokens.size(), tokens.size());
  std::vector<std::size_t> open;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    if (tokens[i] == "(") open.push_back(i);
    if (tokens[i] != ")" || open.empty()) continue;
    after[open.back()] = i + 1;
    open.pop_back();
  }
  return after;
}

// A name at i, followed by parameters and a body, possibly with noexcept or a trailing type.
bool is_definition(const std::vector<std::string_view>& tokens,
                   const std::vector<std::size_t>& after, std::size_t i) {
  if (i == 0 || i + 1 >= tokens.size() || tokens[i + 1] != "(") return false;
  std::string_view before = tokens[i - 1];
  if (before != "*" && !is_name_char(before[0])) return false;
  for (std::size_t j = after[i + 1]; j < tokens.size(); ++j) {
    if (tokens[j] == "{") return true;
    bool between =
        tokens[j] == "-" || tokens[j] == ">" || tokens[j] == "*" || is_name_char(tokens[j][0]);
    if (!between) return false;
  }
  return false;
}

}  // namespace

bool defines_prepare(std::string_view source) {
  return defines_function(source, "prepare");
}

bool defines_function(std::string_view source, std::string_view name) {
  std::vector<std::string_view> tokens = all_tokens(source);
  std::vector<std::size_t> after = after_parentheses(tokens);
  int depth = 0;              // of braces that are not extern "C"
  std::vector<bool> linkage;  // of each open brace
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    if (tokens[i] == "{") {
      linkage.push_back(i >= 2 && tokens[i - 1] == "\"C\"" && tokens[i - 2] == "extern");
      depth += linkage.back() ? 0 : 1;
    } else if (tokens[i] == "}" && !linkage.empty()) {
      depth -= linkage.back() ? 0 : 1;
      linkage.pop_back();
    } else if (depth == 0 && tokens[i] == name && is_definition(tokens, after, i)) {
      return true;
    }
  }
  return false;
}

}  // namespace kw::text
