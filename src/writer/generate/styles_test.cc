// Modules as people write them: how often each style occurs, of some hundred that were generated.
#include <algorithm>
#include <cctype>
#include <functional>
#include <regex>
#include <set>
#include <span>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/check.h"
#include "base/text.h"
#include "writer/generate/docstrings.h"
#include "writer/generate/generate.h"

namespace kw::writer {
namespace {

constexpr std::uint64_t kStylesSeed = 5;
constexpr std::uint64_t kModules = 800;

const std::vector<std::string>& modules() {
  static const std::vector<std::string> all = [] {
    std::vector<std::string> out;
    for (std::uint64_t index = 0; index < kModules; ++index) {
      const auto problem = generate_problem(kStylesSeed, index);
      KW_CHECK(problem.has_value());
      out.push_back(problem->module.problem.module().source);
    }
    return out;
  }();
  return all;
}

double share_of(const std::function<bool(const std::string&)>& has) {
  const auto found = std::count_if(modules().begin(), modules().end(), has);
  return static_cast<double>(found) / static_cast<double>(kModules);
}

struct Band {
  const char* style;
  double least, most;
  const char* pattern;
};

void expect(const Band& band) {
  const std::regex pattern(band.pattern);
  const double share =
      share_of([&](const std::string& text) { return std::regex_search(text, pattern); });
  EXPECT_GE(share, band.least) << band.style;
  EXPECT_LE(share, band.most) << band.style;
}

bool contains_any(const std::string& text, std::span<const std::string_view> lines) {
  return std::any_of(lines.begin(), lines.end(),
                     [&](std::string_view line) { return text.find(line) != std::string::npos; });
}

// Lines of the class Model, or those outside it.
std::vector<std::string> lines_of(const std::string& source, bool in_class) {
  std::vector<std::string> out;
  bool inside = false;
  for (const std::string& line : split(source, '\n')) {
    if (!line.empty() && line[0] != ' ') inside = line.starts_with("class ");
    if (inside == in_class) out.push_back(line);
  }
  return out;
}

std::vector<std::string> globals_of(const std::string& source) {
  const std::regex global(R"(^([A-Za-z_]\w*) = .*)");
  std::vector<std::string> out;
  for (const std::string& line : lines_of(source, false)) {
    std::smatch found;
    if (std::regex_match(line, found, global)) out.push_back(found[1]);
  }
  return out;
}

bool has_unused_global(const std::string& source) {
  for (const std::string& name : globals_of(source)) {
    const std::regex word("\\b" + name + "\\b");
    if (std::distance(std::sregex_iterator(source.begin(), source.end(), word),
                      std::sregex_iterator()) == 1)
      return true;
  }
  return false;
}

TEST(Styles, Docstrings) {
  expect({"none at all", 0.1, 0.35, "^(?![\\s\\S]*\"\"\")"});
  expect({"of the class, one line", 0.15, 0.5,
          "class Model\\(nn.Module\\):\n    \"\"\"[^\n]*\"\"\"\n"});
  expect({"of the class, none", 0.25, 0.45, "class Model\\(nn.Module\\):\n    def"});
  expect({"Args of the constructor", 0.05, 0.3, "\n    (Args|Parameters):\n"});
  expect({"Args of forward", 0.1, 0.3, "\n        Args:\n"});
  expect({"params of the constructor", 0.03, 0.2, "\n        :param \\w+: \\S"});
  const double irrelevant = share_of(
      [](const std::string& text) { return contains_any(text, generate::irrelevant_lines()); });
  EXPECT_GE(irrelevant, 0.05);
  EXPECT_LE(irrelevant, 0.25);
  const double misleading = share_of(
      [](const std::string& text) { return contains_any(text, generate::misleading_words()); });
  EXPECT_GE(misleading, 0.05);
  EXPECT_LE(misleading, 0.25);
}

// A line an argument, which says what it is in other words than its name.
TEST(Styles, ArgumentsAreDescribed) {
  const std::regex line(R"(^    +(\w+)( \([\w, ]+\))?: (.+)$)");
  std::set<std::string> texts;
  int arguments = 0;
  for (const std::string& source : modules()) {
    bool listed = false;
    for (const std::string& one : lines_of(source, true)) {
      if (one == "    Args:" || one == "    Parameters:") {
        listed = true;
        continue;
      }
      std::smatch found;
      if (!listed || !std::regex_match(one, found, line)) {
        listed = false;
        continue;
      }
      ++arguments;
      texts.insert(found[3]);
      EXPECT_NE(found[1].str(), found[3].str());
      EXPECT_EQ(one.find("see the constants"), std::string::npos);
    }
  }
  EXPECT_GE(arguments, 150);
  EXPECT_GE(texts.size(), 100U);
}

TEST(Styles, Constants) {
  expect({"super() of Python 3", 0.4, 0.6, R"(super\(\).__init__\(\))"});
  expect({"super() with the class", 0.4, 0.6, R"(super\(Model, self\).__init__\(\))"});
  expect({"arguments of the constructor", 0.3, 0.7, R"(class Model[\s\S]*def __init__\(self, )"});
  expect({"arguments with defaults", 0.03, 0.3, R"(class Model[\s\S]*def __init__\(self[^)]*=)"});
  expect({"arguments with types", 0.1, 0.3, R"(class Model[\s\S]*def __init__\(self, \w+: )"});
  expect({"numbers in the constructor", 0.1, 0.5, R"(self\.\w+ = (torch\.)?nn\.\w+\(\d)"});
  expect({"an expression as a global", 0.05, 0.4, R"(\n\w+ = (\d+ \* \d+|2 \*\* \d+|1 << \d+))"});
  expect({"an expression in a constructor's call", 0.01, 0.15,
          R"(\n        self\.\w+ = [^\n]*\((|[^\n]*, |\w+=)(\d+ \* \d+|2 \*\* \d+|1 << \d+)[,)])"});
  expect({"an expression in get_init_inputs", 0.003, 0.1,
          R"(return \[(|[^\n]*, )(\d+ \* \d+|2 \*\* \d+|1 << \d+)[,\]][^\n]*\n$)"});
  const double with_globals =
      share_of([](const std::string& text) { return !globals_of(text).empty(); });
  EXPECT_GE(with_globals, 0.6);
  EXPECT_LE(with_globals, 0.95);
  const double unused = share_of(has_unused_global);
  EXPECT_GE(unused, 0.05);
  EXPECT_LE(unused, 0.25);
}

TEST(Styles, Idioms) {
  expect({"nn.Sequential", 0.02, 0.2, R"(nn\.Sequential\()"});
  expect({"nn.Parameter", 0.1, 0.5, R"(nn\.Parameter\()"});
  expect({"layers", 0.3, 0.8, R"(self\.\w+ = (torch\.)?nn\.[A-Z])"});
  expect({"functions", 0.3, 0.8, R"(\bF\.\w+\()"});
  expect({"torch.nn.functional in full", 0.02, 0.3, R"(torch\.nn\.functional\.\w+\()"});
  expect({"methods", 0.2, 0.8, R"([a-z0-9)\]]\.(mean|sum|pow|view|reshape|relu|exp|add|mul)\()"});
  expect({"einsum", 0.02, 0.2, R"(torch\.einsum\()"});
  expect({"flip", 0.004, 0.1, R"([.]flip(ud)?\()"});
  expect({"cat", 0.02, 0.2, R"(torch\.(cat|concat|concatenate)\()"});
  expect({"narrow", 0.003, 0.1, R"([.]narrow\()"});
  expect({"tril or triu", 0.01, 0.12, R"([.]tri[lu]\()"});
  expect({"diag", 0.001, 0.05, R"([.]diag(_embed)?\()"});
  expect({"integer targets", 0.01, 0.1, R"(torch\.randint\((0, )?\w+, \([^)]*\)\)(?!\.))"});
  expect({"boolean masks", 0.01, 0.15, R"(torch\.rand\([^\n]*\) > 0\.5|\.bool\(\))"});
  expect({"a class of its own", 0.002, 0.1, R"(class (?!Model)\w+\(nn\.Module\))"});
}

}  // namespace
}  // namespace kw::writer
