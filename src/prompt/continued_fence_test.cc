// Answers behind a fence that the prompt opened, and answers that only look like them.
#include "prompt/continued_fence.h"

#include <gtest/gtest.h>

#include "prompt/extract.h"

namespace kw::prompt {
namespace {

constexpr std::string_view kPython =
    "import torch\n\n\ndef run(a, b):\n    return torch.add(a, b)\n";
constexpr std::string_view kCpp =
    "static float twice(float x) { return 2 * x; }\n"
    "extern \"C\" void run(const float* x, float* y) { *y = twice(*x); }\n";

Extraction extracted(const std::string& answer, task::Language language = task::Language::kPython) {
  return extract_code(answer, language, {.entry = "run", .finish = text::Finish::kStop});
}

void expect_code(const std::string& answer, std::string_view code,
                 task::Language language = task::Language::kPython) {
  Extraction found = extracted(answer, language);
  EXPECT_EQ(found.outcome, Extracted::kCode) << found.why_not << "\n" << answer;
  EXPECT_EQ(found.code(), code) << answer;
}

TEST(ContinuedFence, IsClosedByTheFirstFence) {
  const std::string python(kPython);
  expect_code(python + "```\n\nThis adds.\n", kPython);
  expect_code(python + "```", kPython);
  expect_code(python + "```<|im_end|>\n", kPython);
  expect_code("\n" + python + "````\n\nThis adds.\n", kPython);
  expect_code(std::string(kCpp) + "```\nDone.\n", kCpp, task::Language::kCpp);
  std::string glued = python.substr(0, python.size() - 1);
  expect_code(glued + "```\nThis adds.\n", kPython);
}

TEST(ContinuedFence, LeavesTheFencesBehindItInStep) {
  const std::string python(kPython);
  expect_code(python + "```\nInstall it:\n```\npip install torch\n```\n", kPython);
  const std::string better = "def run(a, b):\n    return a + b\n";
  expect_code(python + "```\nShorter:\n```python\n" + better + "```\n", better);
}

TEST(ContinuedFence, IsNotSeenWhereAnswersOpenTheirOwn) {
  auto same = [](std::string_view answer) {
    EXPECT_EQ(with_opening_fence(answer, "run", task::Language::kPython), answer);
  };
  same("It adds:\n```\nimport torch\ndef run(a): return a\n```\n");
  same("```python\ndef run(a): return a\n```\n");
  same("def run(a): return a\n\n```python\ndef run(a): return -a\n```\n");
  same("<think>\ndef run(a): return a\n```\n");
  same("def run(a): return a\n</think>\n```\ndef run(a): return -a\n```\n");
  same("no fence, def run(a): return a\n");
  same("def other(a): return a\n```\n");
}

TEST(ContinuedFence, BeginsBehindASentence) {
  expect_code("Here it is\n\n" + std::string(kPython) + "```\n", kPython);
}

}  // namespace
}  // namespace kw::prompt
