// Tests of the admission battery: a sound problem passes, degenerate ones are caught by the right
// trivial candidate.
#include "gym/correctness/battery.h"

#include <cmath>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gym/correctness/compare.h"
#include "gym/correctness/testing/random_case.h"

namespace kw::gym {
namespace {

using tensor::DType;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::RandomCase;

struct Problem {
  explicit Problem(double (*f)(double), const std::vector<std::int64_t>& shape = {32, 64})
      : ours(DType::kFloat32, shape, 1, f), other(DType::kFloat32, shape, 2, f) {
    for (float x : ours.inputs)
      narrow.push_back(f(static_cast<double>(round_to(DType::kBFloat16, x))));
    for (double& y : narrow)
      y = static_cast<double>(round_to(DType::kBFloat16, static_cast<float>(y)));
    lower = ours.stored(narrow);
  }
  BatteryReport run() const {
    std::vector<BatteryOutput> outputs = {
        {ours.view(ours.trusted), other.view(other.trusted), ours.view(lower)}};
    std::vector<TensorView> inputs = {
        {DType::kFloat32, ours.shape, std::as_bytes(std::span(ours.inputs))}};
    return run_battery(outputs, inputs, accepts());
  }
  Accepts accepts() const {
    return [this](std::size_t, const TensorView& bytes) {
      return check_against_oracle(bytes, ours.budget().value()).passed;
    };
  }
  RandomCase ours, other;
  std::vector<double> narrow;
  std::vector<std::byte> lower;
};

TEST(Battery, SoundProblemsAreAdmitted) {
  for (auto f : {+[](double x) { return std::exp(x); }, +[](double x) { return x > 0 ? x : 0.0; },
                 +[](double x) { return std::tanh(x); }}) {
    BatteryReport report = Problem(f).run();
    EXPECT_TRUE(report.reference_passes);
    EXPECT_THAT(report.wrongly_passing, ElementsAre());
  }
}

TEST(Battery, DegenerateProblemsAreNamed) {
  EXPECT_THAT(Problem([](double) { return 0.0; }).run().wrongly_passing, Contains("zeros"));
  EXPECT_THAT(Problem([](double) { return 1.0; }).run().wrongly_passing, Contains("ones"));
  EXPECT_THAT(Problem([](double) { return 0.3; }).run().wrongly_passing,
              Contains("every row its mean"));
  EXPECT_THAT(Problem([](double) { return 0.3; }).run().wrongly_passing,
              Contains("another seed's output"));
  EXPECT_THAT(Problem([](double x) { return x; }).run().wrongly_passing,
              ElementsAre("input 0 passed through"));
  EXPECT_THAT(Problem([](double x) { return x > 0 ? 1.0 : -1.0; }).run().wrongly_passing,
              ElementsAre("computed in lower precision"));
}

TEST(Battery, AReferenceThatFailsItself) {
  Problem problem([](double x) { return std::exp(x); });
  BatteryReport report = run_battery(
      std::vector<BatteryOutput>{
          {problem.ours.view(problem.lower), problem.other.view(problem.other.trusted), {}}},
      {}, problem.accepts());
  EXPECT_FALSE(report.reference_passes);
}

TEST(Battery, ScalarsHaveNoHalvesAndNoRows) {
  int asked = 0;
  RandomCase c(DType::kFloat32, {}, 1, [](double x) { return x; });
  run_battery(
      std::vector<BatteryOutput>{
          {c.view(c.trusted), c.view(c.trusted), {DType::kFloat32, c.shape, {}}}},
      {}, [&](std::size_t, const TensorView&) {
        ++asked;
        return false;
      });
  EXPECT_EQ(asked, 4);  // itself, zeros, ones, another seed's
}

TEST(Battery, WeakOutputsAreListedApart) {
  Problem problem([](double x) { return std::exp(x); });
  std::vector<BatteryOutput> outputs(
      2, {problem.ours.view(problem.ours.trusted), problem.other.view(problem.other.trusted),
          problem.ours.view(problem.lower)});
  BatteryReport report = run_battery(outputs, {}, [&](std::size_t j, const TensorView& bytes) {
    return j == 1 || problem.accepts()(j, bytes);
  });
  EXPECT_THAT(report.wrongly_passing, ElementsAre());
  EXPECT_THAT(report.weak_outputs, Contains(HasSubstr("zeros as output 1")));
}

TEST(Battery, Influence) {
  Problem problem([](double x) { return std::exp(x); });
  std::vector<TensorView> same = {problem.ours.view(problem.ours.trusted)},
                          changed = {problem.other.view(problem.other.trusted)};
  EXPECT_FALSE(has_influence(same, problem.accepts()));
  EXPECT_TRUE(has_influence(changed, problem.accepts()));
}

}  // namespace
}  // namespace kw::gym
