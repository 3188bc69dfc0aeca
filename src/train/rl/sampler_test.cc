// Against an engine whose next token is a hash of all tokens before it: an answer that has lost,
// repeated or exchanged one differs.
#include "train/rl/sampler.h"

#include <gtest/gtest.h>

#include "lm/testing/fake_engine.h"

namespace kw::train {
namespace {

using Tokens = std::vector<std::int32_t>;

constexpr std::int64_t kVocabulary = 23;
const auto kNever = [] { return false; };

std::shared_ptr<const Tokens> prompt(std::int32_t first, int size) {
  Tokens out;
  for (int i = 0; i < size; ++i) out.push_back((first + 3 * i) % 23);
  return std::make_shared<const Tokens>(out);
}

// The answer to a job, token by token.
SampledAnswer expected(const lm::FakeEngine& engine, const SampleJob& job,
                       const SamplerSettings& settings) {
  Tokens all = *job.prompt;
  SampledAnswer out;
  while (!out.ended && static_cast<std::int64_t>(out.tokens.size()) < settings.answer_tokens &&
         static_cast<std::int64_t>(all.size()) < engine.limits().context) {
    const std::int32_t token = engine.next(all, settings.seed, job.sequence);
    all.push_back(token);
    out.tokens.push_back(token);
    out.ended = std::find(settings.ends.begin(), settings.ends.end(), token) != settings.ends.end();
  }
  return out;
}

std::vector<SampleJob> jobs_of(int prompts, int samples) {
  std::vector<SampleJob> out;
  for (int p = 0; p < prompts; ++p) {
    const auto shared = prompt(p, 5 + 3 * p);
    for (int s = 0; s < samples; ++s) out.push_back({shared, out.size() + 100});
  }
  return out;
}

TEST(Sampler, AnswersAreThoseOfEachPromptAlone) {
  const SamplerSettings settings{.seed = 9, .answer_tokens = 12, .ends = {7, 11}};
  const std::vector<SampleJob> jobs = jobs_of(3, 5);
  for (const lm::EngineLimits limits : {lm::EngineLimits{1, 20, 1}, lm::EngineLimits{2, 20, 3},
                                        lm::EngineLimits{4, 64, 6}, lm::EngineLimits{32, 64, 64}}) {
    lm::FakeEngine engine(limits, kVocabulary);
    engine.weights_changed(4);
    const auto answers = sample_answers(engine, jobs, settings, kNever).value();
    ASSERT_EQ(answers.size(), jobs.size());
    int ended = 0;
    for (std::size_t i = 0; i < jobs.size(); ++i) {
      const SampledAnswer want = expected(engine, jobs[i], settings);
      EXPECT_EQ(answers[i].tokens, want.tokens) << i << " of " << limits.slots << " slots";
      EXPECT_EQ(answers[i].ended, want.ended);
      EXPECT_EQ(answers[i].logprobs.size(), want.tokens.size());
      EXPECT_EQ(answers[i].versions, Tokens(want.tokens.size(), 4));
      ended += want.ended ? 1 : 0;
    }
    EXPECT_GT(ended, 0);
    EXPECT_LT(ended, 15);
  }
}

TEST(Sampler, APromptIsComputedOnceForItsSamples) {
  const SamplerSettings settings{.answer_tokens = 1, .ends = {}};
  lm::FakeEngine engine({8, 64, 64}, kVocabulary);
  const auto shared = prompt(1, 30);
  std::vector<SampleJob> jobs;
  for (std::uint64_t i = 0; i < 4; ++i) jobs.push_back({shared, i});
  // An answer of two tokens keeps the first slot for those that copy it.
  SamplerSettings longer = settings;
  longer.answer_tokens = 3;
  ASSERT_TRUE(sample_answers(engine, jobs, longer, kNever).has_value());
  std::size_t rows = 0;
  for (const std::size_t size : engine.step_sizes) rows += size;
  EXPECT_EQ(rows, 30 + 3 * 1 + 4 * 2U);
}

TEST(Sampler, PromptsAreComputedTogether) {
  lm::FakeEngine engine({6, 64, 64}, kVocabulary);
  const std::vector<SampleJob> jobs = jobs_of(3, 2);
  const SamplerSettings settings{.answer_tokens = 2, .ends = {}};
  ASSERT_TRUE(sample_answers(engine, jobs, settings, kNever).has_value());
  ASSERT_FALSE(engine.step_sizes.empty());
  EXPECT_EQ(engine.step_sizes.front(), 5 + 8 + 11U);
}

TEST(Sampler, AStopEndsIt) {
  lm::FakeEngine engine({2, 64, 8}, kVocabulary);
  int asked = 0;
  const auto answers =
      sample_answers(engine, jobs_of(1, 2), {.answer_tokens = 50}, [&] { return ++asked > 3; });
  ASSERT_FALSE(answers.has_value());
  EXPECT_EQ(answers.error().code(), ErrorCode::kCancelled);
  EXPECT_EQ(engine.step_sizes.size(), 3U);
}

}  // namespace
}  // namespace kw::train
