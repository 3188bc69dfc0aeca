#include "serving/generator.h"

#include <memory>

#include <gtest/gtest.h>

#include "base/random.h"
#include "lm/testing/fake_engine.h"

namespace kw::serving {
namespace {

constexpr std::int64_t kVocabulary = 1000;

struct Recorder : SequenceListener {
  bool token(const lm::Sample& sample) override {
    tokens.push_back(sample.token);
    return tokens.size() < stop_after;
  }
  void finished(text::Finish how) override {
    EXPECT_FALSE(end.has_value());
    end = how;
  }

  std::vector<std::int32_t> tokens;
  std::optional<text::Finish> end;
  std::size_t stop_after = 1000;
};

// What the fake engine must give, one token after the other.
std::vector<std::int32_t> expected(const lm::FakeEngine& engine, std::vector<std::int32_t> tokens,
                                   const SequenceSettings& settings) {
  std::vector<std::int32_t> out;
  for (std::int64_t i = 0; i < settings.max_tokens; ++i) {
    tokens.push_back(engine.next(tokens, settings.seed, settings.sequence));
    out.push_back(tokens.back());
  }
  return out;
}

SequenceSettings settings_of(std::uint64_t sequence, std::int64_t most) {
  SequenceSettings out;
  out.seed = 7;
  out.sequence = sequence;
  out.max_tokens = most;
  return out;
}

void run_all(Generator& generator) {
  int steps = 0;
  while (generator.step()) ASSERT_LT(++steps, 100000);
}

TEST(Generator, ManyRequestsOfManyLengths) {
  lm::FakeEngine engine({5, 200, 24}, kVocabulary);
  Generator generator(engine);
  Rng rng(1);
  struct Case {
    std::vector<std::int32_t> prompt;
    std::vector<SequenceSettings> settings;
    std::vector<std::unique_ptr<Recorder>> recorders;
  };
  std::vector<Case> cases(60);
  for (Case& one : cases) {
    for (std::uint64_t i = 0, n = 1 + rng.below(70); i < n; ++i)
      one.prompt.push_back(static_cast<std::int32_t>(rng.below(kVocabulary)));
    std::vector<SequenceListener*> listeners;
    for (std::uint64_t i = 0, n = 1 + rng.below(9); i < n; ++i) {
      one.settings.push_back(
          settings_of(rng.next() % 100, 1 + static_cast<std::int64_t>(rng.below(40))));
      one.recorders.push_back(std::make_unique<Recorder>());
      listeners.push_back(one.recorders.back().get());
    }
    ASSERT_TRUE(generator.submit(one.prompt, one.settings, listeners));
    for (std::uint64_t i = rng.below(4); i > 0; --i) generator.step();
  }
  run_all(generator);
  std::int64_t sampled = 0, sequences = 0;
  for (const Case& one : cases) {
    for (std::size_t i = 0; i < one.settings.size(); ++i) {
      sampled += one.settings[i].max_tokens;
      ++sequences;
      EXPECT_EQ(one.recorders[i]->tokens, expected(engine, one.prompt, one.settings[i]));
      EXPECT_EQ(one.recorders[i]->end, text::Finish::kLength);
    }
  }
  for (std::size_t size : engine.step_sizes) EXPECT_LE(size, 24U);
  // The first sample of each follows its prompt, however that was cut; the last is not computed.
  EXPECT_EQ(engine.decoded_rows, sampled - sequences);
}

TEST(Generator, APromptIsComputedOnce) {
  lm::FakeEngine engine({8, 200, 64}, kVocabulary);
  Generator generator(engine);
  std::vector<std::int32_t> prompt(50, 3);
  std::vector<Recorder> recorders(16);  // more than slots
  std::vector<SequenceSettings> settings;
  std::vector<SequenceListener*> listeners;
  for (std::uint64_t i = 0; i < 16; ++i) {
    settings.push_back(settings_of(i, 10));
    listeners.push_back(&recorders[i]);
  }
  ASSERT_TRUE(generator.submit(prompt, settings, listeners));
  run_all(generator);
  EXPECT_EQ(generator.statistics().prompt_tokens, 50 + 15);  // the last token, by each
  for (std::size_t i = 0; i < 16; ++i)
    EXPECT_EQ(recorders[i].tokens, expected(engine, prompt, settings[i]));
}

TEST(Generator, NobodyWaitsForAnothersPrompt) {
  lm::FakeEngine engine({4, 2000, 16}, kVocabulary);
  Generator generator(engine);
  Recorder quick, slow;
  ASSERT_TRUE(generator.submit({1, 2}, {settings_of(0, 20)}, {&quick}));
  generator.step();
  ASSERT_TRUE(generator.submit(std::vector<std::int32_t>(1000, 5), {settings_of(1, 2)}, {&slow}));
  for (std::size_t i = 1; i < 20; ++i) {
    EXPECT_EQ(quick.tokens.size(), i);
    generator.step();
  }
  EXPECT_TRUE(quick.end.has_value());
  EXPECT_TRUE(slow.tokens.empty());
  run_all(generator);
  EXPECT_EQ(slow.tokens.size(), 2U);
}

TEST(Generator, StopsAtTokensAndAtTheListenersWish) {
  lm::FakeEngine engine({2, 100, 16}, kVocabulary);
  Generator generator(engine);
  SequenceSettings settings = settings_of(0, 50);
  const std::vector<std::int32_t> all = expected(engine, {9}, settings);
  settings.stop_tokens = {all[4]};
  Recorder by_token, by_wish;
  by_wish.stop_after = 3;
  ASSERT_TRUE(generator.submit({9}, {settings, settings_of(0, 50)}, {&by_token, &by_wish}));
  run_all(generator);
  EXPECT_EQ(by_token.tokens, std::vector(all.begin(), all.begin() + 5));
  EXPECT_EQ(by_token.end, text::Finish::kStop);
  EXPECT_EQ(by_wish.tokens, std::vector(all.begin(), all.begin() + 3));
  EXPECT_EQ(by_wish.end, text::Finish::kStop);
}

TEST(Generator, EndsAtTheContext) {
  lm::FakeEngine engine({1, 10, 16}, kVocabulary);
  Generator generator(engine);
  Recorder recorder;
  ASSERT_TRUE(generator.submit({1, 2, 3, 4}, {settings_of(0, 50)}, {&recorder}));
  run_all(generator);
  EXPECT_EQ(recorder.tokens.size(), 6U);
  EXPECT_EQ(recorder.end, text::Finish::kLength);
}

TEST(Generator, GoesOnAfterParkingWithoutComputingAgain) {
  lm::FakeEngine engine({2, 300, 16}, kVocabulary);
  Generator generator(engine);
  SequenceSettings keep = settings_of(3, 8);
  keep.keep = true;
  Recorder first, second, third;
  auto ids = generator.submit({4, 5, 6}, {keep}, {&first});
  ASSERT_TRUE(ids);
  run_all(generator);
  std::vector<std::int32_t> history = {4, 5, 6};
  history.insert(history.end(), first.tokens.begin(), first.tokens.end());
  const auto computed = generator.statistics().prompt_tokens;
  ASSERT_TRUE(generator.resume(ids->front(), {70, 71}, keep, &second));
  run_all(generator);
  EXPECT_EQ(generator.statistics().prompt_tokens,
            computed + 3);  // the last sample and the new ones
  history.insert(history.end(), {70, 71});
  EXPECT_EQ(second.tokens, expected(engine, history, keep));

  // Its slot is needed by others: then its tokens are computed again.
  history.insert(history.end(), second.tokens.begin(), second.tokens.end());
  std::vector<Recorder> others(2);
  for (Recorder& one : others) ASSERT_TRUE(generator.submit({8}, {settings_of(9, 5)}, {&one}));
  run_all(generator);
  EXPECT_EQ(generator.statistics().evictions, 1);
  ASSERT_TRUE(generator.resume(ids->front(), {72}, settings_of(3, 4), &third));
  run_all(generator);
  history.push_back(72);
  EXPECT_EQ(third.tokens, expected(engine, history, settings_of(3, 4)));
  EXPECT_FALSE(generator.resume(ids->front(), {72}, keep, &third));
}

// The fake engine aborts where a step goes on with what other weights have computed.
TEST(Generator, ComputesAgainWhatEarlierWeightsComputed) {
  lm::FakeEngine engine({3, 300, 16}, kVocabulary);
  Generator generator(engine);
  SequenceSettings keep = settings_of(3, 8);
  keep.keep = true;
  Recorder first, second;
  const auto parked = generator.submit({4, 5, 6}, {keep}, {&first});
  ASSERT_TRUE(parked);
  run_all(generator);

  const std::vector<std::int32_t> prompt(20, 9);
  std::vector<SequenceSettings> settings;
  std::vector<Recorder> recorders(4);
  std::vector<SequenceListener*> listeners;
  for (std::uint64_t i = 0; i < 4; ++i) {
    settings.push_back(settings_of(10 + i, 12));
    listeners.push_back(&recorders[i]);
  }
  settings[0].keep = true;  // it ends before others of its prompt have a slot
  settings[0].max_tokens = 2;
  ASSERT_TRUE(generator.submit(prompt, settings, listeners));
  for (int steps = 1; generator.step(); ++steps) {
    ASSERT_LT(steps, 1000);
    if (steps == 2 || steps == 9 || steps == 20) engine.weights_changed(steps);
  }
  for (std::size_t i = 0; i < 4; ++i)
    EXPECT_EQ(recorders[i].tokens, expected(engine, prompt, settings[i])) << i;

  ASSERT_TRUE(generator.resume(parked->front(), {70}, keep, &second));
  run_all(generator);
  std::vector<std::int32_t> history = {4, 5, 6};
  history.insert(history.end(), first.tokens.begin(), first.tokens.end());
  history.push_back(70);
  EXPECT_EQ(second.tokens, expected(engine, history, keep));
}

TEST(Generator, OnlyASampledTokenByItselfIsDecoded) {
  lm::FakeEngine engine({1, 300, 4}, kVocabulary);
  Generator generator(engine);
  SequenceSettings keep = settings_of(0, 3);
  keep.keep = true;
  Recorder recorder;
  // The second piece of the prompt is one token.
  auto ids = generator.submit({1, 2, 3, 4, 5}, {keep}, {&recorder});
  run_all(generator);
  EXPECT_EQ(engine.decoded_rows, 2);
  // The last sample, and what it leads to.
  recorder.end.reset();
  ASSERT_TRUE(generator.resume(ids->front(), {}, keep, &recorder));
  run_all(generator);
  EXPECT_EQ(engine.decoded_rows, 5);
  // It is part of a prompt when tokens follow it.
  recorder.end.reset();
  ASSERT_TRUE(generator.resume(ids->front(), {6, 7, 8, 9}, keep, &recorder));
  run_all(generator);
  EXPECT_EQ(engine.decoded_rows, 7);
  // After an eviction all are; the last piece of these 18 is two tokens, of 21 one.
  for (std::int64_t decoded : {9, 11}) {
    Recorder other;
    ASSERT_TRUE(generator.submit({8}, {settings_of(1, 1)}, {&other}));
    run_all(generator);
    recorder.end.reset();
    ASSERT_TRUE(generator.resume(ids->front(), {}, keep, &recorder));
    run_all(generator);
    EXPECT_EQ(engine.decoded_rows, decoded);
  }
  EXPECT_EQ(generator.statistics().evictions, 2);
}

TEST(Generator, CancelsAndReusesSlots) {
  lm::FakeEngine engine({1, 100, 16}, kVocabulary);
  Generator generator(engine);
  Recorder first, second, third;
  auto running = generator.submit({1}, {settings_of(0, 50)}, {&first});
  auto waiting = generator.submit({2}, {settings_of(0, 50)}, {&second});
  ASSERT_TRUE(generator.submit({3}, {settings_of(0, 5)}, {&third}));
  generator.step();
  generator.cancel(running->front());
  generator.cancel(waiting->front());
  generator.cancel(waiting->front());
  EXPECT_EQ(first.end, text::Finish::kCancelled);
  EXPECT_EQ(second.end, text::Finish::kCancelled);
  run_all(generator);
  EXPECT_EQ(third.tokens, expected(engine, {3}, settings_of(0, 5)));
}

TEST(Generator, CancelledLeadersLeaveTheirFollowersRight) {
  for (int steps = 0; steps < 6; ++steps) {
    lm::FakeEngine engine({2, 100, 4}, kVocabulary);
    Generator generator(engine);
    std::vector<Recorder> recorders(4);
    std::vector<SequenceSettings> settings;
    std::vector<SequenceListener*> listeners;
    for (std::uint64_t i = 0; i < 4; ++i) {
      settings.push_back(settings_of(i, 6));
      listeners.push_back(&recorders[i]);
    }
    const std::vector<std::int32_t> prompt = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
    auto ids = generator.submit(prompt, settings, listeners);
    for (int i = 0; i < steps; ++i) generator.step();
    generator.cancel(ids->front());
    run_all(generator);
    for (std::size_t i = 1; i < 4; ++i)
      EXPECT_EQ(recorders[i].tokens, expected(engine, prompt, settings[i])) << steps << " " << i;
  }
}

TEST(Generator, RefusesWhatCannotBe) {
  lm::FakeEngine engine({1, 10, 16}, kVocabulary);
  Generator generator(engine);
  Recorder recorder;
  auto message = [&](const std::vector<std::int32_t>& prompt, const SequenceSettings& settings) {
    auto got = generator.submit(prompt, {settings}, {&recorder});
    return got ? std::string() : got.error().message();
  };
  EXPECT_NE(message({}, settings_of(0, 1)).find("empty prompt"), std::string::npos);
  EXPECT_NE(message(std::vector<std::int32_t>(10, 1), settings_of(0, 1)).find("context of 10"),
            std::string::npos);
  EXPECT_NE(message({1000}, settings_of(0, 1)).find("vocabulary"), std::string::npos);
  EXPECT_NE(message({1}, settings_of(0, 0)).find("max_tokens"), std::string::npos);
  SequenceSettings hot = settings_of(0, 1);
  hot.sampling.temperature = -1;
  EXPECT_NE(message({1}, hot).find("temperature"), std::string::npos);
  EXPECT_FALSE(generator.step());
}

}  // namespace
}  // namespace kw::serving
