// Parents' order, and METR's distribution.
#include "search/method.h"

#include <cmath>
#include <deque>
#include <map>

#include <gtest/gtest.h>

namespace kw::search {
namespace {

using runlog::Attempt;
using task::Progress;

// Finished attempts with these results, and pointers to them.
class Attempts {
 public:
  Attempts& add(Progress progress, double speedup = 0, std::optional<double> error = std::nullopt) {
    Attempt attempt;
    attempt.id = static_cast<int>(attempts_.size());
    attempt.answered = runlog::Answered{};
    attempt.extracted = runlog::Extracted{};
    if (progress != Progress::kNothing) {
      attempt.extracted->candidate = "c";
      attempt.judged = runlog::Judged{};
      attempt.judged->progress = progress;
      attempt.judged->error = error;
      if (speedup > 0)
        attempt.judged->speedup = task::Speedup{speedup, speedup * 0.9, speedup * 1.1};
    }
    attempts_.push_back(std::move(attempt));
    return *this;
  }
  std::vector<const Attempt*> seen() const {
    std::vector<const Attempt*> out;
    for (const Attempt& attempt : attempts_) out.push_back(&attempt);
    return out;
  }

 private:
  std::deque<Attempt> attempts_;
};

std::unique_ptr<Method> made(std::string_view method, MethodOptions options = {}) {
  return std::move(make_method(method, options)).value();
}

int parent(const Method& of, const Attempts& attempts, int next) {
  Rng rng(1);
  return of.next_step(attempts.seen(), next, rng).parent;
}

TEST(Method, UnknownMethodsGetASuggestion) {
  auto error = make_method("metro", {}).error();
  EXPECT_EQ(error.message(), "unknown method \"metro\" (did you mean metr?)");
}

TEST(Method, BaseAndBestOfN) {
  Rng rng(1);
  auto base = made("base", {.samples = 9});
  EXPECT_EQ(base->most_attempts(), 1);
  EXPECT_FALSE(base->next_step({}, 0, rng).stop);
  EXPECT_TRUE(base->next_step({}, 1, rng).stop);
  auto best = made("best_of_n", {.samples = 3});
  for (int next = 0; next < 3; ++next) {
    EXPECT_EQ(best->visible(next), 0);
    EXPECT_EQ(best->next_step({}, next, rng).parent, runlog::kNoParent);
    EXPECT_FALSE(best->next_step({}, next, rng).stop);
  }
  EXPECT_TRUE(best->next_step({}, 3, rng).stop);
}

TEST(Method, RefineGoesOnFromTheFurthest) {
  auto refine = made("refine", {.samples = 20});
  Attempts attempts;
  EXPECT_EQ(parent(*refine, attempts, 0), runlog::kNoParent);
  // Each comes further than all before it, and what follows it does not come further.
  EXPECT_EQ(parent(*refine, attempts.add(Progress::kNothing), 1), runlog::kNoParent);
  EXPECT_EQ(parent(*refine, attempts.add(Progress::kExtracted), 2), 1);
  EXPECT_EQ(parent(*refine, attempts.add(Progress::kCompiled), 3), 2);
  EXPECT_EQ(parent(*refine, attempts.add(Progress::kExtracted), 4), 2);
  EXPECT_EQ(parent(*refine, attempts.add(Progress::kRan), 5), 4);
  EXPECT_EQ(parent(*refine, attempts.add(Progress::kRightShape), 6), 5);
  EXPECT_EQ(parent(*refine, attempts.add(Progress::kRightShape, 0, 50), 7), 6);
  EXPECT_EQ(parent(*refine, attempts.add(Progress::kRightShape, 0, 3), 8), 7);
  EXPECT_EQ(parent(*refine, attempts.add(Progress::kRightShape, 0, 4), 9), 7);
  EXPECT_EQ(parent(*refine, attempts.add(Progress::kCorrect, 0.5), 10), 9);
  EXPECT_EQ(parent(*refine, attempts.add(Progress::kCorrect, 0.4), 11), 9);  // not the slowest
  EXPECT_EQ(parent(*refine, attempts.add(Progress::kCorrect, 2), 12), 11);
  EXPECT_EQ(parent(*refine, attempts.add(Progress::kCorrect, 2), 13), 11);  // the earlier of equals
}

TEST(Method, WhatADecisionSees) {
  auto refine = made("refine", {.parallel = 3});
  EXPECT_EQ(refine->visible(0), 0);
  EXPECT_EQ(refine->visible(2), 0);
  EXPECT_EQ(refine->visible(3), 1);
  auto metr = made("metr", {.parallel = 1, .first = 4});
  EXPECT_EQ(metr->visible(3), 0);
  EXPECT_EQ(metr->visible(4), 4);
}

// Pearson's statistic of the parents drawn against speedup^alpha; the reference has speedup 1, the
// incorrect one is never drawn.
double chi_square(double alpha, double tested_alpha) {
  Attempts attempts;
  attempts.add(Progress::kCorrect, 2).add(Progress::kRightShape, 0, 2).add(Progress::kCorrect, 0.5);
  attempts.add(Progress::kCorrect, 3).add(Progress::kCorrect);  // the last is not timed
  auto metr = made("metr", {.samples = 100000, .first = 4, .alpha = alpha});
  std::map<int, int> counts;
  constexpr int kDraws = 20000;
  for (int next = 5; next < 5 + kDraws; ++next) {
    Rng rng(static_cast<std::uint64_t>(next) * 77);
    ++counts[metr->next_step(attempts.seen(), next, rng).parent];
  }
  EXPECT_EQ(counts[1], 0);
  const std::map<int, double> speedups = {
      {runlog::kReferenceParent, 1}, {0, 2}, {2, 0.5}, {3, 3}, {4, 1}};
  double total = 0, out = 0;
  for (const auto& [id, speedup] : speedups) total += std::pow(speedup, tested_alpha);
  for (const auto& [id, speedup] : speedups) {
    const double expected = kDraws * std::pow(speedup, tested_alpha) / total;
    out += (counts[id] - expected) * (counts[id] - expected) / expected;
  }
  return out;
}

TEST(Method, MetrDrawsBySpeedup) {
  constexpr double kCritical = 18.47;  // 4 degrees of freedom, p = 0.001
  for (double alpha : {0.0, 1.0, 2.0}) EXPECT_LT(chi_square(alpha, alpha), kCritical) << alpha;
  EXPECT_GT(chi_square(1, 1.2), kCritical);  // the test tells them apart
}

TEST(Method, MetrBeginsFromTheBasePrompt) {
  auto metr = made("metr", {.samples = 6, .first = 2});
  Attempts attempts;
  attempts.add(Progress::kRan).add(Progress::kNothing);
  Rng rng(5);
  EXPECT_EQ(metr->next_step({}, 1, rng).parent, runlog::kNoParent);
  EXPECT_FALSE(metr->next_step({}, 1, rng).draw);
  // Nothing is correct: the reference.
  const Step step = metr->next_step(attempts.seen(), 2, rng);
  EXPECT_EQ(step.parent, runlog::kReferenceParent);
  EXPECT_TRUE(step.draw);
  EXPECT_TRUE(metr->next_step(attempts.seen(), 6, rng).stop);
}

TEST(Method, TheSameSeedDrawsTheSame) {
  Attempts attempts;
  attempts.add(Progress::kCorrect, 2).add(Progress::kCorrect, 3);
  auto metr = made("metr", {.samples = 100, .first = 1});
  for (int next = 2; next < 50; ++next) {
    Rng one(static_cast<std::uint64_t>(next)), two(static_cast<std::uint64_t>(next));
    const Step a = metr->next_step(attempts.seen(), next, one);
    const Step b = metr->next_step(attempts.seen(), next, two);
    EXPECT_EQ(a.parent, b.parent);
    EXPECT_EQ(*a.draw, *b.draw);
  }
}

}  // namespace
}  // namespace kw::search
