// Names and paths from files that nobody vouches for.
#include "text/names.h"

#include <algorithm>
#include <array>

#include "base/text.h"

namespace kw::text {
namespace {

constexpr std::size_t kMaxIdentifier = 128;
constexpr std::size_t kMaxTitle = 256;

constexpr auto kPythonKeywords = std::to_array<std::string_view>(
    {"False", "None",     "True",  "and",    "as",   "assert", "async",  "await",    "break",
     "class", "continue", "def",   "del",    "elif", "else",   "except", "finally",  "for",
     "from",  "global",   "if",    "import", "in",   "is",     "lambda", "nonlocal", "not",
     "or",    "pass",     "raise", "return", "try",  "while",  "with",   "yield"});

constexpr auto kCppKeywords = std::to_array<std::string_view>(
    {"alignas",     "alignof",   "and_eq",     "asm",      "auto",      "bitand",
     "bitor",       "bool",      "case",       "catch",    "char",      "char8_t",
     "char16_t",    "char32_t",  "compl",      "concept",  "const",     "consteval",
     "constexpr",   "constinit", "const_cast", "co_await", "co_return", "co_yield",
     "decltype",    "default",   "delete",     "do",       "double",    "dynamic_cast",
     "enum",        "explicit",  "export",     "extern",   "false",     "float",
     "friend",      "goto",      "inline",     "int",      "long",      "mutable",
     "namespace",   "new",       "noexcept",   "not_eq",   "nullptr",   "operator",
     "or_eq",       "private",   "protected",  "public",   "register",  "reinterpret_cast",
     "requires",    "short",     "signed",     "sizeof",   "static",    "static_assert",
     "static_cast", "struct",    "switch",     "template", "this",      "thread_local",
     "throw",       "true",      "typedef",    "typeid",   "typename",  "union",
     "unsigned",    "using",     "virtual",    "void",     "volatile",  "wchar_t",
     "xor",         "xor_eq"});

// Control characters, or bytes that are not UTF-8 (file names can be any bytes).
bool unprintable(std::string_view text) {
  return !is_valid_utf8(text) || std::any_of(text.begin(), text.end(),
                                             [](unsigned char c) { return c < 0x20 || c == 0x7F; });
}

template <typename List>
bool contains(const List& list, std::string_view word) {
  return std::find(list.begin(), list.end(), word) != list.end();
}

}  // namespace

bool is_identifier(std::string_view name) {
  auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  if (name.empty() || name.size() > kMaxIdentifier || !letter(name[0])) return false;
  return std::all_of(name.begin(), name.end(),
                     [&](char c) { return letter(c) || (c >= '0' && c <= '9'); });
}

bool is_python_keyword(std::string_view name) {
  return contains(kPythonKeywords, name);
}

Status check_parameter_name(std::string_view name, const std::string& where) {
  if (!is_identifier(name)) {
    return fail(ErrorCode::kInvalidArgument,
                "{}: \"{}\" is not a name (letters, digits and _, not starting with a digit)",
                where, printable(name, 80));
  }
  if (is_python_keyword(name)) {
    return fail(ErrorCode::kInvalidArgument, "{}: \"{}\" is a keyword of Python", where, name);
  }
  if (contains(kCppKeywords, name)) {
    return fail(ErrorCode::kInvalidArgument, "{}: \"{}\" is a keyword of C++", where, name);
  }
  if (name.starts_with("kw_")) {
    return fail(ErrorCode::kInvalidArgument, "{}: \"{}\": names with kw_ in front are ours", where,
                name);
  }
  return {};
}

Status check_title(std::string_view name, const std::string& where) {
  if (name.empty()) return fail(ErrorCode::kInvalidArgument, "{}: empty", where);
  if (name.size() > kMaxTitle) {
    return fail(ErrorCode::kInvalidArgument, "{}: longer than {} bytes", where, kMaxTitle);
  }
  if (unprintable(name) || name.find_first_of("/\\") != std::string_view::npos || name == "." ||
      name == "..") {
    return fail(ErrorCode::kInvalidArgument,
                "{}: \"{}\" cannot be a name (no / or \\, no control characters, UTF-8)", where,
                printable(name, 80));
  }
  return {};
}

Status check_relative_path(std::string_view path, const std::string& where) {
  if (path.empty()) return fail(ErrorCode::kInvalidArgument, "{}: empty", where);
  if (path.size() > kMaxTitle) {
    return fail(ErrorCode::kInvalidArgument, "{}: longer than {} bytes", where, kMaxTitle);
  }
  if (unprintable(path) || path.find('\\') != std::string_view::npos) {
    return fail(ErrorCode::kInvalidArgument,
                "{}: \"{}\" has control characters, backslashes or is not UTF-8", where,
                printable(path, 80));
  }
  for (const std::string& part : split(path, '/')) {
    if (part.empty() || part == "." || part == "..") {
      return fail(ErrorCode::kInvalidArgument,
                  "{}: \"{}\" must be a relative path without empty, \".\" or \"..\" parts", where,
                  printable(path, 80));
    }
  }
  return {};
}

std::string below(const std::string& where, std::string_view key) {
  return where.empty() ? std::string(key) : fmt::format("{}.{}", where, key);
}

std::string suggestion(std::string_view word, const std::vector<std::string>& known) {
  std::string hint = nearest(word, known);
  return hint.empty() ? "" : fmt::format(" (did you mean \"{}\"?)", hint);
}

}  // namespace kw::text
