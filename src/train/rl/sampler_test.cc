// Against an engine whose next token is a hash of all tokens before it: an answer that has lost,
// repeated or exchanged one differs.
#include "train/rl/sampler.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "lm/testing/fake_engine.h"
#include "train/rl/testing/sample_answers.h"

namespace kw::train {
namespace {

using Tokens = std::vector<std::int32_t>;

constexpr std::int64_t kVocabulary = 23;

std::shared_ptr<const Tokens> prompt(std::int32_t first, int size) {
  Tokens out;
  for (int i = 0; i < size; ++i) out.push_back((first + 3 * i) % 23);
  return std::make_shared<const Tokens>(out);
}

// The answer to a job, token by token.
SampledAnswer expected(const lm::FakeEngine& engine, const SampleJob& job) {
  const SamplerSettings& settings = *job.settings;
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

std::vector<SampleJob> jobs_of(int prompts, int samples, const SamplerSettings& settings) {
  const auto kept = std::make_shared<const SamplerSettings>(settings);
  std::vector<SampleJob> out;
  for (int p = 0; p < prompts; ++p) {
    const auto shared = prompt(p, 5 + 3 * p);
    for (int s = 0; s < samples; ++s) out.push_back({shared, out.size() + 100, kept});
  }
  return out;
}

TEST(Sampler, AnswersAreThoseOfEachPromptAlone) {
  const SamplerSettings settings{.seed = 9, .answer_tokens = 12, .ends = {7, 11}};
  const std::vector<SampleJob> jobs = jobs_of(3, 5, settings);
  for (const lm::EngineLimits limits : {lm::EngineLimits{1, 20, 1}, lm::EngineLimits{2, 20, 3},
                                        lm::EngineLimits{4, 64, 6}, lm::EngineLimits{32, 64, 64}}) {
    lm::FakeEngine engine(limits, kVocabulary);
    engine.weights_changed(4);
    const auto answers = sample_answers(engine, jobs);
    ASSERT_EQ(answers.size(), jobs.size());
    int ended = 0;
    for (std::size_t i = 0; i < jobs.size(); ++i) {
      const SampledAnswer want = expected(engine, jobs[i]);
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
  lm::FakeEngine engine({8, 64, 64}, kVocabulary);
  const auto shared = prompt(1, 30);
  // An answer of two tokens keeps the first slot for those that copy it.
  const auto settings =
      std::make_shared<const SamplerSettings>(SamplerSettings{.answer_tokens = 3, .ends = {}});
  std::vector<SampleJob> jobs;
  for (std::uint64_t i = 0; i < 4; ++i) jobs.push_back({shared, i, settings});
  ASSERT_EQ(sample_answers(engine, jobs).size(), 4U);
  std::size_t rows = 0;
  for (const std::size_t size : engine.step_sizes) rows += size;
  EXPECT_EQ(rows, 30 + 3 * 1 + 4 * 2U);
}

TEST(Sampler, PromptsAreComputedTogether) {
  lm::FakeEngine engine({6, 64, 64}, kVocabulary);
  const SamplerSettings settings{.answer_tokens = 2, .ends = {}};
  ASSERT_EQ(sample_answers(engine, jobs_of(3, 2, settings)).size(), 6U);
  ASSERT_FALSE(engine.step_sizes.empty());
  EXPECT_EQ(engine.step_sizes.front(), 5 + 8 + 11U);
}

// Answers come as soon as they are done, and others join while some are on their way.
TEST(Sampler, AnswersComeAndGoWhileOthersAreDrawn) {
  lm::FakeEngine engine({2, 64, 16}, kVocabulary);
  std::vector<SampleJob> jobs = jobs_of(2, 3, {.seed = 5, .answer_tokens = 4});
  const auto longer =
      std::make_shared<const SamplerSettings>(SamplerSettings{.seed = 6, .answer_tokens = 9});
  jobs[1].settings = jobs[4].settings = longer;
  Sampler sampler(engine);
  std::vector<std::size_t> order;
  std::size_t added = 0, steps = 0;
  while (added < jobs.size() || !sampler.done()) {
    if (added < jobs.size() && steps % 3 == 0) {
      EXPECT_EQ(sampler.add(jobs[added]), added);
      ++added;
    }
    ++steps;
    for (const FinishedSample& one : sampler.step()) {
      EXPECT_EQ(one.answer.tokens, expected(engine, jobs[one.job]).tokens) << one.job;
      order.push_back(one.job);
    }
  }
  EXPECT_EQ(order.size(), jobs.size());
  EXPECT_FALSE(std::ranges::is_sorted(order));
}

}  // namespace
}  // namespace kw::train
