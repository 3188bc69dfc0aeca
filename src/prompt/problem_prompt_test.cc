// Prompts against golden files (KW_ACCEPT=1 records them anew), and what must never or always be in
// them.
#include "prompt/problem_prompt.h"

#include <gtest/gtest.h>

#include "prompt/testing/problems.h"

namespace kw::prompt {
namespace {

using task::Language;

std::string prompt(const task::Problem& problem, const task::Signature& signature,
                   Language language, const PromptOptions& options = {}) {
  auto text = problem_prompt(problem, signature, language, options);
  EXPECT_TRUE(text) << text.error().message();
  return text ? *text : "";
}

TEST(ProblemPrompt, Golden) {
  task::Problem softmax = scaled_softmax();
  PromptOptions options;
  options.machine = "a CPU, 2 cores";
  options.build_flags = {"-O3", "-march=native"};
  options.optional_flags = {"-ffast-math", "-funroll-loops"};
  expect_golden("softmax_cpp.md",
                prompt(softmax, softmax_signature(softmax), Language::kCpp, options));
  expect_golden("softmax_python.md",
                prompt(softmax, softmax_signature(softmax), Language::kPython));
  expect_golden("linear_cpp.md", prompt(linear_module(), linear_signature(), Language::kCpp));
  expect_golden("linear_triton.md", prompt(linear_module(), linear_signature(), Language::kTriton));
}

TEST(ProblemPrompt, HidesWhatIsTested) {
  task::Problem softmax = scaled_softmax();
  for (Language language : {Language::kCpp, Language::kPython, Language::kTriton}) {
    std::string text = prompt(softmax, softmax_signature(softmax), language);
    EXPECT_EQ(text.find("spikes"), std::string::npos);
    EXPECT_EQ(text.find("secret label"), std::string::npos);
    EXPECT_EQ(text.find("odd-uuid"), std::string::npos);
  }
}

TEST(ProblemPrompt, RulesFollowThePolicy) {
  task::Problem softmax = scaled_softmax();
  auto text = [&] { return prompt(softmax, softmax_signature(softmax), Language::kCpp); };
  EXPECT_NE(text().find("no library of kernels"), std::string::npos);
  EXPECT_NE(text().find("Any values of the variable axes"), std::string::npos);
  EXPECT_EQ(text().find("equal bits"), std::string::npos);
  softmax.policy.library = task::Library::kAnything;
  softmax.policy.any_shape = false;
  softmax.policy.deterministic = true;
  EXPECT_NE(text().find("Any installed library"), std::string::npos);
  EXPECT_NE(text().find("Only the workloads listed"), std::string::npos);
  EXPECT_NE(text().find("equal bits"), std::string::npos);
}

TEST(ProblemPrompt, SaysWhichLanguagesThereAre) {
  task::Problem softmax = scaled_softmax();
  auto text = problem_prompt(softmax, softmax_signature(softmax), Language::kCubin);
  ASSERT_FALSE(text);
  EXPECT_EQ(text.error().code(), ErrorCode::kUnsupported);
}

TEST(ProblemPrompt, EntryByKind) {
  EXPECT_EQ(entry_of(linear_module(), Language::kPython), "ModelNew");
  EXPECT_EQ(entry_of(linear_module(), Language::kCpp), "run");
  EXPECT_EQ(entry_of(scaled_softmax(), Language::kPython), "run");
}

}  // namespace
}  // namespace kw::prompt
