// Tests of the hard cases of a workload, and of the choice that a judgement makes among them.
#include "gym/checker/hard_cases.h"

#include <algorithm>
#include <set>
#include <string>

#include <gtest/gtest.h>

#include "gym/checker/testing/fake_workload.h"

namespace kw::gym {
namespace {

task::Argument tensor_of(const std::string& name, task::Role role, tensor::DType dtype,
                         std::vector<std::int64_t> shape) {
  task::Argument out;
  out.name = name;
  out.role = role;
  out.dtype = dtype;
  out.shape = std::move(shape);
  return out;
}

// The cases of a workload of one input and one output.
class HardCasesTest : public ::testing::Test {
 protected:
  HardCases& make(task::Argument input, task::Argument output, task::InputPolicy policy = {},
                  const std::map<std::string, task::OutputPolicy>& outputs = {}) {
    signature_.inputs = {std::move(input)};
    signature_.outputs = {std::move(output)};
    InputPlan plan = testing::input_plan("x");
    plan.policy = policy;
    ReceivedFds none;
    inputs_ =
        std::make_unique<InputSource>(InputSource::of_definition(signature_, {plan}, none).value());
    checker_ = std::make_unique<OutputChecker>(OutputChecker::make(signature_, outputs).value());
    cases_ = HardCases(signature_, *inputs_, *checker_, seeds_);
    return cases_;
  }
  HardCases& matrices(task::InputPolicy policy = {}) {
    return make(tensor_of("x", task::Role::kInput, tensor::DType::kFloat32, {64, 128}),
                tensor_of("y", task::Role::kOutput, tensor::DType::kFloat32, {64, 128}), policy);
  }
  std::set<std::string> names() {
    std::set<std::string> out;
    for (std::size_t i = 0; i < cases_.size(); ++i) out.insert(cases_.at(i).name());
    return out;
  }

  task::Signature signature_;
  std::unique_ptr<InputSource> inputs_;
  std::unique_ptr<OutputChecker> checker_;
  SessionSeeds seeds_{SecretSeeds(7)};
  HardCases cases_;
};

TEST_F(HardCasesTest, MixesAlongEachAxisAndEachKindAlone) {
  EXPECT_EQ(matrices().size(), 2U * 2 + 10);
  EXPECT_TRUE(names().contains("spikes, one-hot along axis 1"));
  EXPECT_TRUE(names().contains("large mean"));
}

TEST_F(HardCasesTest, OnlyWhatTheDomainAllows) {
  const task::InputPolicy limits{task::Distribution::kUniform, 1.0, 2.0, {}};
  EXPECT_EQ(matrices(limits).size(), 2U + 3);
  EXPECT_TRUE(names().contains("constant rows, sorted, ties along axis 0"));
  task::InputPolicy freed = limits;
  freed.domain = task::InputDomain::kPositive;
  EXPECT_EQ(matrices(freed).size(), 2U + 7);
  EXPECT_EQ(matrices({task::Distribution::kProbabilities, {}, {}}).size(), 0U);
}

// Argmax of equal values has more than one right answer.
TEST_F(HardCasesTest, NoTiesWhereTheyDecideWholeNumbers) {
  const auto input = tensor_of("x", task::Role::kInput, tensor::DType::kFloat32, {64, 128});
  const auto output = tensor_of("y", task::Role::kOutput, tensor::DType::kInt64, {64});
  make(input, output);
  EXPECT_FALSE(names().contains("ties"));
  EXPECT_TRUE(names().contains("scaled up"));
  make(input, output, {}, {{"y", {.check = task::CheckKind::kArgmaxOf, .of = "x"}}});
  EXPECT_TRUE(names().contains("ties"));
}

TEST_F(HardCasesTest, JudgementsInTurnGetAllCases) {
  matrices();
  EXPECT_EQ(cases_.choose(32).size(), cases_.size());
  std::set<std::size_t> seen;
  for (int judgement = 0; judgement < 12; ++judgement) {
    const auto chosen = cases_.choose(3);
    EXPECT_EQ(chosen.size(), 3U);
    EXPECT_EQ(chosen[0], 0U);  // the mixes along the first axis show all kinds
    EXPECT_EQ(chosen[1], 1U);
    seen.insert(chosen.begin(), chosen.end());
  }
  EXPECT_EQ(seen.size(), cases_.size());
}

TEST_F(HardCasesTest, TheProcessPairsOfAMeasurementShareThem) {
  matrices();
  std::set<std::size_t> seen;
  for (int pair = 0; pair < 4; ++pair) {
    const auto chosen = cases_.choose(32, 4, pair);
    EXPECT_EQ(chosen.size(), cases_.size() / 4);
    EXPECT_EQ(chosen[0], pair % 2 == 0 ? 0U : 1U);  // any two have both mixes that show all kinds
    seen.insert(chosen.begin(), chosen.end());
  }
  EXPECT_GT(seen.size(), 6U);
}

TEST_F(HardCasesTest, APairWithOneCaseHasAMixOrAnother) {
  matrices();
  std::set<std::size_t> seen;
  for (int measurement = 0; measurement < 4; ++measurement)
    for (int pair = 0; pair < 8; ++pair) {
      const auto chosen = cases_.choose(5, 8, pair);
      ASSERT_EQ(chosen.size(), 1U);
      if (pair % 4 < 2) {
        EXPECT_EQ(chosen[0], pair % 2 == 0 ? 0U : 1U);
      } else {
        EXPECT_GT(chosen[0], 1U);
      }
      seen.insert(chosen[0]);
    }
  EXPECT_EQ(seen.size(), cases_.size());
}

// A mix over a whole sum would be a sum of its largest part.
TEST_F(HardCasesTest, WhereAllIsReducedEachKindComesAlone) {
  make(tensor_of("x", task::Role::kInput, tensor::DType::kFloat32, {64, 128}),
       tensor_of("y", task::Role::kOutput, tensor::DType::kFloat32, {}));
  std::set<std::size_t> seen;
  for (int judgement = 0; judgement < 7; ++judgement) {
    for (std::size_t i : cases_.choose(2)) seen.insert(i);
  }
  EXPECT_EQ(seen.size(), cases_.size());
  EXPECT_EQ(cases_.certain().size(), cases_.size());
}

TEST_F(HardCasesTest, WornInputsAreReplaced) {
  matrices();
  const std::uint64_t seed = cases_.at(0).seed;
  for (int candidate = 0; candidate < 32; ++candidate) cases_.choose(32);
  EXPECT_EQ(cases_.at(0).seed, seed);
  cases_.choose(32);
  EXPECT_NE(cases_.at(0).seed, seed);
}

TEST_F(HardCasesTest, CasesThatWereLeftOutAreNotCalled) {
  matrices();
  cases_.at(2).left_out = "why";
  const auto chosen = cases_.choose(32);
  EXPECT_EQ(std::ranges::find(chosen, std::size_t{2}), chosen.end());
  EXPECT_EQ(cases_.report({5})[0].calls, 5);
  EXPECT_EQ(cases_.report({})[2].left_out, "why");
}

// The second time they are copied; other inputs under the same number are made.
TEST_F(HardCasesTest, KeptInputsAreCopiedUntilTheyChange) {
  matrices();
  testing::VectorAllocator memory;
  testing::VectorTensors set(Layout::for_reading(tensors_of(signature_.inputs)));
  const std::uint64_t one = set.layout().total_bytes();
  cases_.keep_inputs(memory, 2 * one);  // of more than two cases
  auto bytes = [&](std::size_t i) {
    EXPECT_TRUE(cases_.fill(cases_.at(i), *inputs_, set).value().ok);
    return std::vector<std::byte>(set.tensor(0).begin(), set.tensor(0).end());
  };
  const auto first = bytes(0), second = bytes(1), third = bytes(2);
  EXPECT_EQ(memory.allocations, 2);
  EXPECT_EQ(bytes(0), first);
  EXPECT_EQ(bytes(1), second);
  EXPECT_EQ(bytes(2), third);
  EXPECT_EQ(memory.allocations, 2);
  ASSERT_TRUE(cases_.at(0).kept->clear());
  EXPECT_NE(bytes(0), first);  // they came from there
  for (int candidate = 0; candidate < 33; ++candidate) cases_.choose(32);
  EXPECT_EQ(cases_.at(1).kept, nullptr);
  EXPECT_NE(bytes(1), second);
}

TEST_F(HardCasesTest, TheSameInputsEveryTime) {
  matrices();
  testing::VectorTensors set(Layout::for_reading(tensors_of(signature_.inputs)));
  auto bytes = [&] {
    EXPECT_TRUE(cases_.fill(cases_.at(0), *inputs_, set).value().ok);
    return std::vector<std::byte>(set.tensor(0).begin(), set.tensor(0).end());
  };
  const auto first = bytes();
  EXPECT_EQ(bytes(), first);
  ASSERT_TRUE(inputs_->fill(set, cases_.at(0).seed).value().ok);
  EXPECT_FALSE(std::ranges::equal(set.tensor(0), first));
}

}  // namespace
}  // namespace kw::gym
