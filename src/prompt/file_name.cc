// Recognition by shape only: nothing here looks at files.
#include "prompt/file_name.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

#include "base/text.h"

namespace kw::prompt {
namespace {

constexpr std::size_t kMaxFileName = 100, kMaxHeading = 80;

constexpr std::array<std::pair<std::string_view, FileFamily>, 12> kEndings = {
    {{"h", FileFamily::kC},
     {"hh", FileFamily::kC},
     {"hpp", FileFamily::kC},
     {"cuh", FileFamily::kC},
     {"inl", FileFamily::kC},
     {"c", FileFamily::kC},
     {"cc", FileFamily::kC},
     {"cpp", FileFamily::kC},
     {"cxx", FileFamily::kC},
     {"cu", FileFamily::kC},
     {"py", FileFamily::kPython},
     {"ptx", FileFamily::kPtx}}};

bool is_path_char(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '-' || c == '.' ||
         c == '/';
}

std::string_view without_dot_slash(std::string_view path) {
  return path.starts_with("./") ? path.substr(2) : path;
}

// Words of path characters; a full stop at the end of one is the sentence's.
template <typename Visit>
void each_path_word(std::string_view text, Visit visit) {
  for (std::size_t at = 0; at < text.size();) {
    if (!is_path_char(text[at])) {
      ++at;
      continue;
    }
    std::size_t end = at;
    while (end < text.size() && is_path_char(text[end])) ++end;
    std::string_view word = text.substr(at, end - at);
    while (word.ends_with('.')) word.remove_suffix(1);
    visit(without_dot_slash(word));
    at = end;
  }
}

// Words that headings have beside the name.
bool is_filler(std::string_view word) {
  constexpr std::array<std::string_view, 10> kFiller = {"file", "filename", "name", "path", "title",
                                                        "the",  "here",     "is",   "and",  "code"};
  if (std::all_of(word.begin(), word.end(), [](char c) { return is_digit(c) || c == '.'; }))
    return true;
  if (std::all_of(word.begin(), word.end(), [](char c) { return c == '-' || c == '/'; }))
    return true;
  return std::any_of(kFiller.begin(), kFiller.end(), [&](std::string_view filler) {
    return std::equal(word.begin(), word.end(), filler.begin(), filler.end(), [](char a, char b) {
      return std::tolower(static_cast<unsigned char>(a)) == b;
    });
  });
}

std::string only_file_name(std::string_view text) {
  if (text.size() > kMaxHeading) return {};
  std::string found;
  bool other = false;
  each_path_word(text, [&](std::string_view word) {
    if (is_file_name(word) && (found.empty() || found == word)) {
      found = word;
    } else if (!is_filler(word)) {
      other = true;
    }
  });
  return other ? std::string() : found;
}

}  // namespace

FileFamily family_of(std::string_view file_name) {
  std::size_t dot = file_name.rfind('.');
  if (dot == std::string_view::npos || dot == 0) return FileFamily::kNone;
  std::string_view ending = file_name.substr(dot + 1);
  const auto* found = std::find_if(kEndings.begin(), kEndings.end(),
                                   [&](const auto& entry) { return entry.first == ending; });
  return found == kEndings.end() ? FileFamily::kNone : found->second;
}

bool is_file_name(std::string_view word) {
  bool path =
      !word.empty() && word.size() <= kMaxFileName &&
      std::all_of(word.begin(), word.end(), is_path_char) && word.front() != '/' &&
      word.front() != '.' && word.front() != '-' && word.find("..") == std::string_view::npos &&
      word.find("//") == std::string_view::npos && word.find("/.") == std::string_view::npos;
  return path && family_of(word) != FileFamily::kNone;
}

std::string file_name_in(std::string_view text) {
  std::string found;
  bool several = false;
  each_path_word(text, [&](std::string_view word) {
    if (!is_file_name(word)) return;
    several = several || (!found.empty() && found != word);
    found = word;
  });
  return several ? std::string() : found;
}

std::string file_name_of_heading(std::string_view line) {
  return only_file_name(trim(line));
}

std::string file_name_of_code(std::string_view code) {
  std::size_t begin = code.find_first_not_of(" \t\r\n");
  if (begin == std::string_view::npos) return {};
  std::string_view line = code.substr(begin, code.find('\n', begin) - begin);
  bool comment = line.starts_with("//") || line.starts_with("/*") || line.starts_with("# ") ||
                 line.starts_with("#=") || line.starts_with("\"\"\"");
  return comment ? only_file_name(line) : std::string();
}

}  // namespace kw::prompt
