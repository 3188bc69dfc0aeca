// Simulations of measuring with early stopping: coverage under every kind of noise that machines
// show, power, planted speedups.
#include "gym/measure/sequential_interval.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/random.h"

namespace kw::gym {
namespace {

constexpr double kReward = 0.03, kPrecise = 0.005;

// Log times of consecutive calls.
using Noise = std::function<double(Rng&)>;

Noise normal_noise() {
  return [](Rng& rng) { return 0.02 * rng.normal(); };
}
// Half a percent, and one call in twenty is interrupted for up to its own length.
Noise heavy_noise() {
  return [](Rng& rng) { return 0.005 * rng.normal() + (rng.uniform() < 0.05 ? rng.uniform() : 0); };
}
// Student's t with two degrees of freedom, one-sided.
Noise student_noise() {
  return [](Rng& rng) {
    return std::abs(0.01 * rng.normal() / std::sqrt(-std::log(1 - rng.uniform())));
  };
}
// Frequency and neighbours drift: an autoregressive level with a memory of twenty calls.
Noise drifting_noise() {
  return [level = 0.0](Rng& rng) mutable {
    level = 0.95 * level + 0.03 * std::sqrt(1 - 0.95 * 0.95) * rng.normal();
    return level + 0.005 * rng.normal();
  };
}
Noise walking_noise() {
  return [level = 0.0](Rng& rng) mutable {
    return (level += 0.004 * rng.normal()) + 0.01 * rng.normal();
  };
}
// Calm and noisy spells of forty calls.
Noise spells_noise() {
  return [calls = 0, scale = 0.0](Rng& rng) mutable {
    if (calls++ % 40 == 0) scale = 0.01 * std::exp(rng.normal());
    return std::abs(scale * rng.normal());
  };
}

struct Measured {
  task::Speedup speedup;
  std::size_t samples;
  bool covers(double truth) const { return speedup.low <= truth && truth <= speedup.high; }
};

// Two process pairs with their memory exchanged, by which one side is slower by so much.
constexpr int kPairs = 2;
constexpr double kPlacement = 0.03;

// Blocks A B B A or B A A B at random until done, each half a sample; the reference takes `speedup`
// times the candidate's time.
Measured measure(Rng& rng, const Noise& make_noise, double speedup, double goal) {
  std::vector<double> candidate, reference;
  std::vector<std::size_t> pair_samples;
  for (double placement : {std::exp(kPlacement), std::exp(-kPlacement)}) {
    Noise noise = make_noise;
    SequentialInterval interval(goal, kPairs);
    while (!interval.done()) {
      bool candidate_first = rng.below(2) == 0;
      for (int half = 0; half < 2; ++half, candidate_first = !candidate_first) {
        double first = std::exp(noise(rng)), second = std::exp(noise(rng));
        candidate.push_back(placement * (candidate_first ? first : second));
        reference.push_back(speedup * (candidate_first ? second : first));
        interval.add(std::log(reference.back() / candidate.back()));
      }
    }
    pair_samples.push_back(interval.samples());
  }
  return {interval_of_samples(candidate, reference, pair_samples),
          *std::max_element(pair_samples.begin(), pair_samples.end())};
}

struct Coverage {
  std::int64_t missed = 0;
  double samples = 0;
};

Coverage coverage(const Noise& noise, double speedup, double goal, std::int64_t runs) {
  Rng rng(42);
  Coverage result;
  for (std::int64_t run = 0; run < runs; ++run) {
    Measured measured = measure(rng, noise, speedup, goal);
    result.missed += measured.covers(speedup) ? 0 : 1;
    result.samples += static_cast<double>(measured.samples) / static_cast<double>(runs);
  }
  return result;
}

struct NamedNoise {
  const char* name;
  Noise (*make)();
};
void PrintTo(const NamedNoise& noise, std::ostream* out) {
  *out << noise.name;
}

class Simulated : public ::testing::TestWithParam<NamedNoise> {};

TEST_P(Simulated, CoversInAtLeastNinetyFivePercentOfRuns) {
  Noise noise = GetParam().make();
  for (double speedup : {1.0, 2.0}) {
    Coverage reward = coverage(noise, speedup, kReward, 2000);
    EXPECT_GT(binomial_upper_tail(reward.missed, 2000, 0.05), 1e-3)
        << reward.missed << " of 2000 missed " << speedup;
  }
  Coverage precise = coverage(noise, 1, kPrecise, 150);
  EXPECT_GT(binomial_upper_tail(precise.missed, 150, 0.05), 1e-3)
      << precise.missed << " of 150 missed";
}

INSTANTIATE_TEST_SUITE_P(
    Noises, Simulated,
    ::testing::Values(NamedNoise{"normal", normal_noise}, NamedNoise{"heavy", heavy_noise},
                      NamedNoise{"student", student_noise}, NamedNoise{"drifting", drifting_noise},
                      NamedNoise{"walking", walking_noise}, NamedNoise{"spells", spells_noise}),
    [](const auto& noise) { return std::string(noise.param.name); });

TEST(SequentialInterval, FindsFivePercent) {
  Rng rng(7);
  int found = 0;
  for (int run = 0; run < 300; ++run)
    found += measure(rng, normal_noise(), 1.05, kReward).speedup.low > 1 ? 1 : 0;
  EXPECT_GT(found, 285);
}

TEST(SequentialInterval, StopsWhenNarrowAndNotBefore) {
  Rng rng(9);
  Measured quiet = measure(rng, [](Rng& r) { return 0.001 * r.normal(); }, 1.3, kReward);
  EXPECT_EQ(quiet.samples, SequentialInterval::kFirstLook);
  Measured loud = measure(rng, [](Rng& r) { return 0.5 * r.normal(); }, 1.3, kReward);
  EXPECT_EQ(loud.samples, SequentialInterval::kMaxSamples);
  EXPECT_GT(loud.speedup.high / loud.speedup.low, 1.06);
  for (int run = 0; run < 100; ++run) {
    Measured measured = measure(rng, normal_noise(), 1, kReward);
    bool stopped_early = measured.samples < SequentialInterval::kMaxSamples;
    EXPECT_TRUE(!stopped_early ||
                std::log(measured.speedup.high / measured.speedup.low) / 2 < 0.0305);
  }
}

TEST(SequentialInterval, WanderingOfOneSideWidensTheInterval) {
  std::vector<double> calm, wandering;
  Rng rng(11);
  double level = 0;
  for (int i = 0; i < 160; ++i) {
    level = 0.9 * level + 0.01 * rng.normal();
    wandering.push_back(level);
  }
  calm = wandering;
  for (std::size_t i = calm.size(); i > 1; --i) std::swap(calm[i - 1], calm[rng.below(i)]);
  Interval narrow = look_interval(calm), wide = look_interval(wandering);
  EXPECT_EQ(narrow.estimate, wide.estimate);
  EXPECT_GT(wide.high - wide.low, 1.8 * (narrow.high - narrow.low));
}

// Neighbours in time do not show a slow drift: one side gets slower by a few percent in all.
TEST(SequentialInterval, SlowDriftWidensTheInterval) {
  Rng rng(13);
  std::vector<double> calm, drifting;
  for (int i = 0; i < 640; ++i) {
    calm.push_back(0.13 * rng.normal());
    drifting.push_back(calm.back() - 0.09 * i / 640);
  }
  EXPECT_EQ(drift_factor(calm), 1);
  EXPECT_GT(drift_factor(drifting), 2.5);
  Interval narrow = look_interval(calm), wide = look_interval(drifting);
  EXPECT_GT(wide.high - wide.low, 1.5 * (narrow.high - narrow.low));
}

// Processes that differ by three percent beside what exchanging cancels, as on a virtual machine.
TEST(SequentialInterval, CoversWhatDiffersBetweenProcesses) {
  constexpr int kManyPairs = 8, kRuns = 600;
  Rng rng(17);
  std::int64_t missed = 0;
  for (int run = 0; run < kRuns; ++run) {
    std::vector<double> candidate, reference;
    std::vector<std::size_t> pair_samples;
    for (int pair = 0; pair < kManyPairs; ++pair) {
      double level = (pair % 2 == 0 ? 0.06 : -0.06) + 0.03 * rng.normal();
      for (int i = 0; i < 20; ++i) {
        candidate.push_back(std::exp(level + 0.05 * rng.normal()));
        reference.push_back(std::exp(0.05 * rng.normal()));
      }
      pair_samples.push_back(20);
    }
    task::Speedup speedup = interval_of_samples(candidate, reference, pair_samples);
    missed += speedup.low <= 1 && 1 <= speedup.high ? 0 : 1;
  }
  EXPECT_GT(binomial_upper_tail(missed, kRuns, 0.05), 1e-3) << missed;
}

TEST(SequentialInterval, EachPairCountsAlike) {
  std::vector<double> candidate(40, 1.02), reference(60, 1.0);
  candidate.resize(60, 1 / 1.02);
  const std::size_t pairs[] = {40, 20};
  task::Speedup joined = interval_of_samples(candidate, reference, pairs);
  EXPECT_NEAR(joined.median, 1, 1e-12);
  EXPECT_NEAR(std::log(joined.high), 2 * process_error(2), 1e-12);
}

TEST(ProcessError, WidensAndShrinksWithProcesses) {
  std::vector<double> same(40, 1.0);
  const std::size_t all[] = {40}, quarters[] = {10, 10, 10, 10};
  task::Speedup one = interval_of_samples(same, same, all),
                four = interval_of_samples(same, same, quarters);
  EXPECT_LT(one.low, 1);
  EXPECT_NEAR(std::log(one.high), 2 * process_error(1), 1e-12);
  EXPECT_NEAR(std::log(four.high), std::log(one.high) / 2, 1e-12);
}

TEST(GeometricMean, CoversTheMeanOfTheTruths) {
  EXPECT_EQ(geometric_mean({}).median, 1);
  task::Speedup two{2, 1.9, 2.1}, half{0.5, 0.45, 0.55};
  const task::Speedup of = quotient(two, two);
  EXPECT_NEAR(of.median, 1, 1e-12);
  EXPECT_NEAR(std::log(of.high),
              std::hypot(std::log(two.high / two.median), std::log(two.median / two.low)), 1e-12);
  task::Speedup mean = geometric_mean(std::vector<task::Speedup>{two, half});
  EXPECT_NEAR(mean.median, 1, 1e-12);
  Rng rng(3);
  std::int64_t missed = 0;
  for (int run = 0; run < 400; ++run) {
    std::vector<task::Speedup> speedups;
    for (double truth : {0.5, 1.0, 2.0, 4.0})
      speedups.push_back(measure(rng, normal_noise(), truth, kReward).speedup);
    task::Speedup all = geometric_mean(speedups);
    missed += all.low <= std::sqrt(2.0) && std::sqrt(2.0) <= all.high ? 0 : 1;
  }
  EXPECT_GT(binomial_upper_tail(missed, 400, 0.05), 1e-3) << missed;
}

}  // namespace
}  // namespace kw::gym
