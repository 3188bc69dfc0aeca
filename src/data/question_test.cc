// The questions of generated and imported samples: golden files by version, and how often each
// template comes.
#include <cmath>
#include <map>
#include <set>

#include <gtest/gtest.h>

#include "data/generate.h"
#include "data/generate_prompt.h"
#include "data/generator_origin.h"
#include "data/import.h"
#include "prompt/testing/problems.h"

namespace kw::data {
namespace {

using task::Language;

TEST(Questions, Golden) {
  std::map<std::string, std::string> texts;
  const task::Problem softmax = prompt::scaled_softmax();
  for (const Language language : {Language::kCpp, Language::kTriton}) {
    const auto chat = implement_prompt(
        softmax, prompt::softmax_signature(softmax), language,
        "1. Scale `x` by `scale` and add `bias`.\n2. Take the softmax along each row.\n", {});
    ASSERT_TRUE(chat) << chat.error().message();
    texts[fmt::format("{}_{}.md", chat->template_id, to_string(language))] =
        chat->messages[0].content;
  }
  for (const Language language : {Language::kTriton, Language::kPython, Language::kCuda}) {
    ImportOptions options;
    options.language = language;
    const auto sample = question_about(prompt::linear_module(), options);
    ASSERT_TRUE(sample) << sample.error().message();
    texts[fmt::format("{}_{}.md", sample->labels.other["template"].get<std::string>(),
                      to_string(language))] = sample->messages[0].content;
  }
  EXPECT_EQ(texts.size(), 5U);
  prompt::expect_versioned_goldens("src/data/testdata/prompts", texts);
}

// The word is in some line of the question.
bool asks(const Sample& sample, std::string_view word) {
  return sample.messages[0].content.find(word) != std::string::npos;
}

// A small model of one's own is taught on few operators, one way to write them, and short prompts.
TEST(Questions, OneTemplateStrategyAndFewOperators) {
  GenerateOptions options;
  options.seed = 5;
  options.problems.max_elements = 4096;
  options.problems.max_depth = 2;
  options.problems.only_operators = {"relu", "square", "sum"};
  options.mix = *mix_from_text("convert=1,definition=1");
  options.question_template = "compact";
  options.strategy = "naive";
  std::set<std::string> seen;
  for (std::uint64_t i = 0; i < 40; ++i) {
    const auto sample = generate_sample(options, i);
    ASSERT_TRUE(sample) << sample.error().message();
    EXPECT_EQ(sample->labels.other["template"], "compact-1");
    EXPECT_EQ(sample->labels.strategy, "naive");
    EXPECT_TRUE(asks(*sample, "\nstrategy: naive\n") && asks(*sample, "\nreturn %"));
    EXPECT_FALSE(asks(*sample, "# line"));
    for (const Json& one : sample->labels.other["made_of"]) seen.insert(one.get<std::string>());
    EXPECT_EQ(misfit_of_plan(*sample).value(), "");
  }
  EXPECT_EQ(seen, (std::set<std::string>{"relu", "square", "sum"}));
}

TEST(Questions, EveryTemplateIsDrawnWithAMachineOfTheLanguage) {
  for (const Language language : {Language::kCpp, Language::kTriton}) {
    GenerateOptions options;
    options.seed = 11;
    options.language = language;
    options.problems.max_elements = 4096;
    options.problems.max_depth = 2;
    options.mix = *mix_from_text("convert=1,definition=1");
    constexpr int kSamples = 200;
    std::map<std::string, int> counts;
    for (std::uint64_t i = 0; i < kSamples; ++i) {
      const auto sample = generate_sample(options, i);
      ASSERT_TRUE(sample) << sample.error().message();
      const std::string name = sample->labels.other["template"].get<std::string>();
      ++counts[name];
      const bool hardware = name == "hardware-2" || name == "full-3";
      EXPECT_EQ(asks(*sample, "\n# Machine\n"), hardware) << name;
      EXPECT_EQ(asks(*sample, "\n# Machine\n- processor: NVIDIA"),
                hardware && language == Language::kTriton);
      EXPECT_EQ(asks(*sample, "plan of exactly four lines"),
                name == "plan_first-3" || name == "full-3");
    }
    const std::map<std::string, double> shares = {{"zero_shot-2", 0.40},
                                                  {"one_shot-2", 0.15},
                                                  {"plan_first-3", 0.20},
                                                  {"hardware-2", 0.15},
                                                  {"full-3", 0.10}};
    EXPECT_EQ(counts.size(), shares.size());
    for (const auto& [name, share] : shares) {
      // Four standard deviations.
      EXPECT_NEAR(counts[name], kSamples * share, 4 * std::sqrt(kSamples * share * (1 - share)))
          << name;
    }
  }
}

TEST(Questions, PendingSamplesAskForTheTemplateThatTheyName) {
  GenerateOptions options;
  options.seed = 12;
  options.problems.max_elements = 4096;
  options.problems.max_depth = 2;
  options.mix = *mix_from_text("repair=1,speedup=1");
  std::map<std::string, int> counts;
  for (std::uint64_t i = 0; i < 60; ++i) {
    const auto sample = generate_sample(options, i);
    ASSERT_TRUE(sample) << sample.error().message();
    ++counts[sample->pending->prompt_template];
    EXPECT_EQ(asks(*sample, "plan of exactly four lines"),
              sample->pending->prompt_template == "plan_first");
  }
  EXPECT_EQ(counts.size(), 2U);
  EXPECT_EQ(counts["zero_shot"] + counts["plan_first"], 60);
}

}  // namespace
}  // namespace kw::data
