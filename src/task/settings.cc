// Settings of module problems.
#include "task/settings.h"

#include <algorithm>
#include <map>
#include <set>

#include "base/text.h"
#include "text/literal.h"
#include "text/names.h"
#include "text/python_scan.h"

namespace kw::task {
namespace {

// Each once, in the order of the source.
std::vector<std::string> constants_of(const text::PythonScan& scan) {
  std::vector<std::string> out;
  std::set<std::string_view> seen;
  for (const text::PythonAssignment& assignment : scan.assignments()) {
    if (seen.insert(assignment.name).second) out.push_back(assignment.name);
  }
  return out;
}

Status check_known(const std::string& name, const std::vector<std::string>& constants) {
  if (std::find(constants.begin(), constants.end(), name) != constants.end()) return {};
  std::string existing = constants.empty() ? "it has none" : "it has " + join(constants, ", ");
  return fail(ErrorCode::kInvalidArgument, "--set {}: the problem has no such constant; {}{}",
              printable(name, 80), printable(existing, 600), text::suggestion(name, constants));
}

}  // namespace

Result<Settings> parse_settings(const std::vector<std::string>& words) {
  std::map<std::string, std::string> out;
  for (const std::string& word : words) {
    auto equals = word.find('=');
    std::string name(trim(word.substr(0, equals)));
    if (equals == std::string::npos || !text::is_identifier(name)) {
      return fail(ErrorCode::kInvalidArgument, "--set {}: expected NAME=VALUE",
                  printable(word, 80));
    }
    auto literal = text::parse_literal(word.substr(equals + 1));
    if (!literal) return tl::unexpected(std::move(literal).error().with_context("--set " + name));
    auto [known, is_new] = out.emplace(name, repr(*literal));
    if (!is_new && known->second != repr(*literal)) {
      return fail(ErrorCode::kInvalidArgument, "--set {}: given twice, as {} and {}", name,
                  printable(known->second, 80), printable(repr(*literal), 80));
    }
  }
  return Settings(out.begin(), out.end());
}

Result<std::string> apply_settings(std::string_view source, const Settings& settings) {
  if (settings.empty()) return std::string(source);
  text::PythonScan scan(source);
  std::vector<std::string> constants = constants_of(scan);
  for (const auto& [name, value] : settings) KW_TRY_STATUS(check_known(name, constants));
  std::string out;
  std::size_t copied = 0;  // of source
  for (const text::PythonAssignment& assignment : scan.assignments()) {
    auto set = std::find_if(settings.begin(), settings.end(),
                            [&](const auto& s) { return s.first == assignment.name; });
    if (set == settings.end()) continue;
    if (assignment.augmented) {
      return fail(ErrorCode::kInvalidArgument,
                  "--set {}: the problem changes it again with an augmented assignment",
                  set->first);
    }
    // Line numbers in messages stay those of the file.
    std::string_view replaced =
        source.substr(assignment.value_begin, assignment.value_end - assignment.value_begin);
    auto lines = static_cast<std::size_t>(std::count(replaced.begin(), replaced.end(), '\n'));
    out += source.substr(copied, assignment.value_begin - copied);
    out += lines == 0 ? set->second : "(" + set->second + std::string(lines, '\n') + ")";
    copied = assignment.value_end;
  }
  out += source.substr(copied);
  return out;
}

}  // namespace kw::task
