// The languages of candidates, and what every part of the program knows of each: one table.
#pragma once
#include <optional>
#include <span>
#include <string_view>

namespace kw::task {

enum class Language { kCpp, kCuda, kPtx, kCubin, kTriton, kPython, kTilelang };

enum class Syntax { kC, kPython, kAssembly, kBinary };

struct LanguageFacts {
  Language language;
  std::string_view name;   // in files and on the command line: "cpp"
  std::string_view title;  // in prompts: "C++20"
  Syntax syntax;
  // The extensions of its files; the first is that of files that we write. Triton and Python share
  // theirs: the content decides (candidate_source.cc).
  std::span<const std::string_view> extensions;
  // The tags of fenced blocks in answers; the first is the one to ask for. Empty: not text.
  std::span<const std::string_view> fence_tags;
  // Its source is device code alone, so every launch is described beside it (launch.h).
  bool is_device_code = false;
};

const LanguageFacts& facts_of(Language language);
std::span<const LanguageFacts> all_languages();

std::string_view to_string(Language language);
std::optional<Language> language_from_string(std::string_view name);

}  // namespace kw::task
