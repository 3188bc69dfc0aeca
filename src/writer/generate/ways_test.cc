// Every operator can be written in many ways, whatever its settings.
#include <cctype>
#include <map>
#include <set>
#include <string>

#include <gtest/gtest.h>

#include "base/text.h"
#include "writer/generate/body_text.h"
#include "writer/generate/python_text.h"
#include "writer/generate/sample_plan.h"

namespace kw::writer::generate {
namespace {

constexpr std::uint64_t kWaysSeed = 31;
constexpr std::uint64_t kPlans = 120;  // of each operator; its rarest setting comes in some of them
constexpr std::size_t kWays = 5, kDefinitionWays = 3;

void replace_all(std::string& text, std::string_view from, std::string_view to) {
  for (std::size_t at = text.find(from); at != std::string::npos;
       at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
}

// A way without what does not make it another one: spaces, quotes, names of modules, arguments and
// variables, and how a number is spelled.
std::string plain(std::string_view given) {
  std::string text(given);
  for (const char* nothing : {" ", "\n", "[[", "]]"}) replace_all(text, nothing, "");
  replace_all(text, "'", "\"");
  replace_all(text, "torch.nn.functional.", "F.");
  replace_all(text, "torch.nn.", "nn.");
  const auto is_word = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
  };
  std::string out;
  for (std::size_t i = 0; i < text.size();) {
    if (text.compare(i, 3, "{t:") == 0) {  // a local variable
      out += "{t}";
      i = text.find('}', i) + 1;
      continue;
    }
    std::size_t end = i;
    while (end < text.size() && is_word(text[end])) ++end;
    const bool opens = i > 0 && (text[i - 1] == '(' || text[i - 1] == ',');
    if (opens && end > i && end + 1 < text.size() && text[end] == '=' && text[end + 1] != '=') {
      i = end + 1;  // the name of an argument
      continue;
    }
    if (text.compare(i, 2, ".0") == 0 && i > 0 && std::isdigit(text[i - 1]) != 0 &&
        (i + 2 == text.size() || !is_word(text[i + 2]))) {
      i += 2;
      continue;
    }
    out += text[i++];
  }
  return out;
}

// Its flags, as the conditions of ways read them.
std::string setting_of(const Step& step) {
  std::set<std::string> flags;
  for (const Rendering& way : step.spec->ways) {
    for (std::string flag : split(std::string(way.when), ' ')) {
      if (flag.starts_with('!')) flag.erase(0, 1);
      if (!flag.empty()) flags.insert(flag);
    }
  }
  std::string out;
  for (const std::string& flag : flags) out += (step.is(flag) ? "" : "!") + flag + " ";
  return out;
}

struct Ways {
  std::set<std::string> in_modules, in_definitions;
};

std::string text_of(const Step& step, std::string_view text) {
  const auto place = [&](std::string_view name) {
    const Param* param = step.param(name);
    const auto* raw = param == nullptr ? nullptr : std::get_if<std::string>(&param->value);
    return raw != nullptr ? *raw : "{" + std::string(name) + "}";
  };
  return plain(fill(text, place, {}));
}

Ways ways_of_step(const Step& step) {
  Ways out;
  for (const Way& way : ways_of(step, true)) {
    const std::string text = text_of(step, way.layer) + "|" + text_of(step, way.forward);
    out.in_modules.insert(text);
    if (!way.is_layer()) out.in_definitions.insert(text);
  }
  return out;
}

TEST(Ways, PlainTextsDifferInWhatTheyCall) {
  EXPECT_EQ(plain("F.gelu({x}, approximate='tanh')"),
            plain("torch.nn.functional.gelu({x}, \"tanh\")"));
  EXPECT_EQ(plain("{t:a} = {x} * 2.0\n{t:a}"), plain("{t:b} = {x} * 2\n{t:b}"));
  EXPECT_NE(plain("{x}.sum(dim=1)"), plain("torch.sum({x}, dim=1)"));
  EXPECT_NE(plain("{x} * 2.05"), plain("{x} * 25"));
  EXPECT_NE(plain("({x} == 1)"), plain("(1)"));
}

TEST(Ways, EverySettingOfEveryOperatorHasFive) {
  GeneratorOptions options;
  options.max_elements = 4096;
  options.max_work = 1 << 18;
  options.max_depth = 4;
  std::map<std::string, std::map<std::string, Ways>> seen;  // by operator and setting
  const auto look = [&](const Plan& plan) {
    for (const Step& step : plan.steps) {
      auto& settings = seen[std::string(step.spec->name)];
      const auto [found, is_new] = settings.try_emplace(setting_of(step));
      if (is_new) found->second = ways_of_step(step);
    }
  };
  std::size_t count = 0;
  for (const OpSpec& spec : all_operators()) {
    options.only_first = spec.name;
    for (std::uint64_t index = 0; index < kPlans; ++index) {
      Rng rng = Rng::at(kWaysSeed, ++count);
      const auto plan = sample_plan(rng, options);
      ASSERT_TRUE(plan) << plan.error().message();
      look(*plan);
    }
  }
  for (const OpSpec& spec : all_operators()) {
    const auto& settings = seen[std::string(spec.name)];
    ASSERT_FALSE(settings.empty()) << spec.name << " never came";
    std::set<std::string> drawn;
    for (const auto& [setting, ways] : settings) {
      for (const std::string& flag : split(setting, ' ')) drawn.insert(flag);
      EXPECT_GE(ways.in_modules.size(), kWays) << spec.name << ": " << setting;
      EXPECT_GE(ways.in_definitions.size(), kDefinitionWays) << spec.name << ": " << setting;
    }
    for (const Rendering& way : spec.ways) {
      for (std::string flag : split(std::string(way.when), ' ')) {
        if (flag.starts_with('!')) flag.erase(0, 1);
        for (const std::string& either : {flag, "!" + flag})
          EXPECT_TRUE(flag.empty() || either == "!small" || drawn.contains(either))
              << spec.name << " never has the setting " << either;
      }
    }
  }
}

}  // namespace
}  // namespace kw::writer::generate
