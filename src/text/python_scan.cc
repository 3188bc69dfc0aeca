// A scanner for the outline of Python source.
#include "text/python_scan.h"

#include <algorithm>

#include "base/text.h"
#include "text/names.h"

namespace kw::text {
namespace {

constexpr std::string_view kOpening = "([{";
constexpr std::string_view kClosing = ")]}";

bool in(char c, std::string_view set) {
  return set.find(c) != std::string_view::npos;
}

// Past the string literal whose quote stands at `at`; the end of the source (or line, for short
// strings) when it is not closed.
std::size_t skip_string(std::string_view source, std::size_t at) {
  char quote = source[at];
  std::string triple(3, quote);
  bool is_triple = source.substr(at, 3) == triple;
  at += is_triple ? 3 : 1;
  while (at < source.size()) {
    if (source[at] == '\\') {
      at += 2;
    } else if (is_triple && source.substr(at, 3) == triple) {
      return at + 3;
    } else if (!is_triple && source[at] == quote) {
      return at + 1;
    } else if (!is_triple && source[at] == '\n') {
      return at;
    } else {
      ++at;
    }
  }
  return source.size();
}

std::size_t skip_comment(std::string_view source, std::size_t at) {
  return std::min(source.find('\n', at), source.size());
}

// Past spaces and continued line ends. Another backslash is part of what follows.
std::size_t skip_blank(std::string_view source, std::size_t at) {
  while (at < source.size()) {
    std::string_view rest = source.substr(at);
    if (in(rest[0], " \t\r\n"))
      at += 1;
    else if (rest.starts_with("\\\n"))
      at += 2;
    else if (rest.starts_with("\\\r\n"))
      at += 3;
    else
      break;
  }
  return at;
}

// One step of a walk over source outside strings and comments, with the bracket depth.
struct Walk {
  std::string_view source;
  std::size_t at;
  std::size_t depth = 0;

  // Moves past one character, string, comment (inside brackets) or continued line end.
  void step() {
    char c = source[at];
    if (c == '"' || c == '\'') {
      at = skip_string(source, at);
    } else if (c == '#') {
      at = skip_comment(source, at);
    } else if (c == '\\') {
      at = std::min(at + 2, source.size());
    } else {
      if (in(c, kOpening)) ++depth;
      if (in(c, kClosing) && depth > 0) --depth;
      ++at;
    }
  }
};

std::string_view name_at(std::string_view text) {
  std::size_t length = 0;
  while (length < text.size() && is_identifier(text.substr(0, length + 1))) ++length;
  return text.substr(0, length);
}

// The name after a keyword and spaces: name_after("def  f(x)", "def") is "f".
std::string_view name_after(std::string_view text, std::string_view keyword) {
  if (!text.starts_with(keyword)) return {};
  text.remove_prefix(keyword.size());
  std::string_view rest = trim(text);
  return rest.size() == text.size() ? std::string_view{} : name_at(rest);
}

}  // namespace

PythonScan::PythonScan(std::string_view source) {
  // Behind a byte order mark; offsets count it.
  Walk walk{source, source.starts_with("\xEF\xBB\xBF") ? std::size_t{3} : std::size_t{0}};
  bool top_level = false;
  std::size_t begin = walk.at;
  bool at_line_start = true;
  while (walk.at < source.size()) {
    char c = source[walk.at];
    if (at_line_start) {
      top_level = c != ' ' && c != '\t';
      begin = walk.at;
      at_line_start = false;
    }
    bool ends = walk.depth == 0 && (c == '\n' || c == ';' || c == '#');
    if (!ends) {
      walk.step();
      continue;
    }
    if (top_level) statement(source, begin, walk.at);
    if (c == '#') walk.at = skip_comment(source, walk.at);
    if (walk.at < source.size()) at_line_start = source[walk.at] == '\n';
    ++walk.at;
    begin = walk.at;
  }
  if (top_level && begin < source.size()) statement(source, begin, source.size());
}

void PythonScan::statement(std::string_view source, std::size_t begin, std::size_t end) {
  while (begin < end && in(source[begin], " \t\r")) ++begin;
  std::string_view text = source.substr(begin, end - begin);
  std::string_view plain = text;
  if (name_after(text, "async") == "def") plain = trim(text.substr(5));
  if (auto name = name_after(plain, "def"); !name.empty()) {
    functions_.emplace_back(name);
  } else if (auto class_name = name_after(text, "class"); !class_name.empty()) {
    classes_.emplace_back(class_name);
  } else {
    assignment(source, begin, end);
  }
}

void PythonScan::assignment(std::string_view source, std::size_t begin, std::size_t end) {
  std::string_view name = name_at(source.substr(begin, end - begin));
  // "else: N = 1" would look like an annotation.
  if (name.empty() || is_python_keyword(name)) return;
  Walk walk{source.substr(0, end), begin + name.size()};
  auto rest = [&] { return source.substr(walk.at, end - walk.at); };
  while (walk.at < end && in(source[walk.at], " \t")) ++walk.at;
  PythonAssignment found;
  found.name = name;
  if (rest().starts_with(":")) {  // an annotation: up to "=" outside brackets
    while (walk.at < end && !(walk.depth == 0 && source[walk.at] == '=')) walk.step();
  }
  for (std::string_view sign :
       {"+=", "-=", "*=", "/=", "//=", "%=", "**=", "@=", "&=", "|=", "^=", ">>=", "<<="}) {
    if (rest().starts_with(sign)) {
      found.augmented = true;
      walk.at += sign.size() - 1;
    }
  }
  if (!rest().starts_with("=") || rest().starts_with("==")) return;
  ++walk.at;
  found.value_begin = walk.at;
  // "A = B = 1" would change B as well, so neither is a constant that can be set.
  while (walk.at < end) {
    char c = source[walk.at];
    char next = walk.at + 1 < end ? source[walk.at + 1] : '\0';
    if (walk.depth == 0 && c == '=' && next != '=' && !in(source[walk.at - 1], "=!<>:")) return;
    walk.step();
  }
  found.value_end = end;
  found.value_begin = skip_blank(source.substr(0, end), found.value_begin);
  while (found.value_end > found.value_begin && in(source[found.value_end - 1], " \t\\\r\n"))
    --found.value_end;
  assignments_.push_back(std::move(found));
}

bool PythonScan::defines(std::string_view name) const {
  auto has = [&](const std::vector<std::string>& names) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  return has(functions_) || has(classes_) ||
         std::any_of(assignments_.begin(), assignments_.end(),
                     [&](const auto& a) { return a.name == name; });
}

std::string expression_problem(std::string_view text) {
  if (trim(text).empty()) return "empty";
  if (text.size() > 1000) return "longer than 1000 characters";
  if (text.find('\n') != std::string_view::npos) return "more than one line";
  std::string open;
  for (Walk walk{text, 0}; walk.at < text.size(); walk.step()) {
    char c = text[walk.at];
    if (in(c, kOpening)) open.push_back(kClosing[kOpening.find(c)]);
    if (!in(c, kClosing)) continue;
    if (open.empty() || open.back() != c) return "brackets do not match";
    open.pop_back();
  }
  return open.empty() ? "" : "brackets do not match";
}

}  // namespace kw::text
