#include "kernelwright/cli/settings.h"

#include <array>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <utility>

#include "base/text.h"

namespace kw::front {
namespace {

tl::unexpected<Error> unknown(std::string_view what, std::string_view word,
                              const std::vector<std::string>& known) {
  std::string hint = nearest(word, known);
  return fail(ErrorCode::kInvalidArgument, "unknown {} \"{}\"{}", what, printable(word, 80),
              hint.empty() ? fmt::format("; there are {}", join(known, ", "))
                           : fmt::format(" (did you mean \"{}\"?)", hint));
}

Result<bool> parse_boolean(std::string_view text) {
  if (text == "true" || text == "True") return true;
  if (text == "false" || text == "False") return false;
  return fail(ErrorCode::kInvalidArgument, "expected true or false, found \"{}\"",
              printable(text, 80));
}

// A Python string literal or a bare word.
std::string unquoted(std::string_view text) {
  bool quoted = text.size() >= 2 && (text.front() == '\'' || text.front() == '"') &&
                text.back() == text.front();
  return std::string(quoted ? text.substr(1, text.size() - 2) : text);
}

Status read(std::string_view text, std::string& out) {
  out = unquoted(text);
  return {};
}
Status read(std::string_view text, bool& out) {
  KW_TRY(out, parse_boolean(text));
  return {};
}
Status read(std::string_view text, double& out) {
  KW_TRY(out, parse_number(text));
  return {};
}
Status read(std::string_view text, int& out) {
  KW_TRY(out, parse_whole_number(text));
  return {};
}
Status read(std::string_view text, std::uint64_t& out) {
  KW_TRY(out, parse_bytes(unquoted(text)));
  return {};
}

Status read(std::string_view text, task::Target& out) {
  KW_TRY(out, task::parse_target(unquoted(text)));
  return {};
}
Status read(std::string_view text, gym::Baseline& out) {
  KW_TRY(out, gym::baseline_from_word(unquoted(text)));
  return {};
}
// Lists have flags, which may be given again.
Status read(std::string_view, std::vector<std::string>&) {
  return fail(ErrorCode::kInvalidArgument, "there is a flag for it");
}

Status set(gym::EvalOptions& options, std::string_view name, std::string_view value) {
  std::vector<std::string> known;
  Status status;
  bool found = false;
  gym::describe(options, [&](const char* key, auto& member, const OptionFacts&) {
    known.push_back(fmt::format("eval.{}", key));
    if (name != known.back()) return;
    found = true;
    status = read(value, member);
  });
  if (!found) return unknown("setting", name, known);
  if (!status)
    return tl::unexpected(std::move(status).error().with_context(fmt::format("--set {}", name)));
  return {};
}

}  // namespace

Result<double> parse_number(std::string_view text) {
  std::string copy(trim(text));
  char* end = nullptr;
  double value = std::strtod(copy.c_str(), &end);
  if (copy.empty() || end != copy.data() + copy.size())
    return fail(ErrorCode::kInvalidArgument, "expected a number, found \"{}\"",
                printable(text, 80));
  return value;
}

Result<int> parse_whole_number(std::string_view text) {
  int value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc() && end == text.data() + text.size()) return value;
  return fail(ErrorCode::kInvalidArgument, "expected {}, found \"{}\"",
              error == std::errc::result_out_of_range ? "a smaller whole number" : "a whole number",
              printable(text, 80));
}

Status check_range(std::string_view flag, double value, double low, double high) {
  if (value >= low && value <= high) return {};  // false for NaN
  return fail(ErrorCode::kInvalidArgument, "{}: {} is not between {} and {}", flag, value, low,
              high);
}

Result<std::uint64_t> parse_bytes(std::string_view text) {
  std::string_view digits = trim(text);
  std::size_t end = digits.find_first_not_of("0123456789.");
  std::string_view unit = end == std::string_view::npos ? "" : trim(digits.substr(end));
  constexpr std::array<std::string_view, 5> kUnits = {"", "K", "M", "G", "T"};
  for (std::size_t i = 0; i < kUnits.size(); ++i) {
    bool same = unit == kUnits[i] ||
                (i > 0 && (unit == fmt::format("{}iB", kUnits[i]) ||
                           unit == fmt::format("{}B", kUnits[i]))) ||
                (i == 0 && unit == "B");
    if (!same) continue;
    KW_TRY(double value, parse_number(digits.substr(0, end)));
    value = std::ldexp(value, static_cast<int>(10 * i));
    if (value < std::ldexp(1.0, 60)) return static_cast<std::uint64_t>(value);
    return fail(ErrorCode::kInvalidArgument, "{} is more than any machine has",
                printable(text, 80));
  }
  return fail(ErrorCode::kInvalidArgument, "expected a size such as 512MiB or 4GiB, found \"{}\"",
              printable(text, 80));
}

Result<sandbox::Level> parse_level(std::string_view name) {
  if (const auto level = sandbox::level_from_string(name)) return *level;
  std::vector<std::string> known;
  for (const auto& each : sandbox::kLevels) known.emplace_back(each.name);
  return unknown("isolation level", name, known);
}

Status take_settings(std::vector<std::string>& words, gym::EvalOptions& options) {
  std::vector<std::string> constants;
  for (const std::string& word : words) {
    std::string_view name = std::string_view(word).substr(0, word.find('='));
    if (name.find('.') == std::string_view::npos || name.size() == word.size()) {
      constants.push_back(word);
      continue;
    }
    KW_TRY_STATUS(set(options, trim(name), trim(std::string_view(word).substr(name.size() + 1))));
  }
  words = std::move(constants);
  return {};
}

Status complete_options(const std::optional<std::string>& baseline, std::vector<std::string>& set,
                        gym::EvalOptions& options) {
  if (baseline) {
    auto read = gym::baseline_from_word(*baseline);
    if (!read) return tl::unexpected(std::move(read).error().with_context("--baseline"));
    options.baseline = *std::move(read);
  }
  KW_TRY_STATUS(take_settings(set, options));
  return gym::check(options, OptionNames::kFlags);
}

}  // namespace kw::front
