// Fresh inputs by plan, from files and from get_inputs().
#include "gym/checker/input_source.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "gym/checker/testing/fake_workload.h"

namespace kw::gym {
namespace {

using testing::VectorTensors;

// x [256] and k [256], both f32.
class InputSourceTest : public ::testing::Test {
 protected:
  InputSourceTest() {
    signature_.inputs = {testing::float_tensor("x", task::Role::kInput),
                         testing::float_tensor("k", task::Role::kInput)};
    memory_ = std::make_unique<VectorTensors>(Layout::for_reading(tensors_of(signature_.inputs)));
  }
  Result<InputSource> of_plans(const std::vector<InputPlan>& plans,
                               const std::string& stored = "") {
    os::Message message;
    message.body["fds"] = {"stored"};
    message.fds.push_back(os::make_sealed_file("stored", stored).value());
    auto fds = ReceivedFds::of(message).value();
    return InputSource::of_definition(signature_, plans, fds);
  }
  std::vector<std::byte> bytes(std::size_t i) {
    auto view = memory_->view(i).value();
    return {view.begin(), view.end()};
  }

  task::Signature signature_;
  std::unique_ptr<VectorTensors> memory_;
  const std::vector<InputPlan> ordinary_ = {testing::input_plan("x"), testing::input_plan("k")};
};

TEST_F(InputSourceTest, FreshBySeedAndTensor) {
  InputSource source = of_plans(ordinary_).value();
  ASSERT_TRUE(source.fill(*memory_, 1));
  const auto x = bytes(0), k = bytes(1);
  EXPECT_NE(x, k);
  ASSERT_TRUE(source.fill(*memory_, 2));
  EXPECT_NE(bytes(0), x);
  ASSERT_TRUE(source.fill(*memory_, 1));
  EXPECT_EQ(bytes(0), x);
  ASSERT_TRUE(source.refill(*memory_, 1, 9));
  EXPECT_EQ(bytes(0), x);
  EXPECT_NE(bytes(1), k);
  EXPECT_FALSE(source.fixed());
  EXPECT_FALSE(source.uneven());
}

TEST_F(InputSourceTest, EveryInputNeedsAPlan) {
  auto source = of_plans({testing::input_plan("x")});
  ASSERT_FALSE(source);
  EXPECT_EQ(source.error().message(), "no plan for input k");
}

TEST_F(InputSourceTest, StoredTensorsAreTheSameInAllCallsAndOfTheRightSize) {
  std::vector<InputPlan> plans = ordinary_;
  plans[1].fixed = "stored";
  std::string stored(1024, 'k');
  InputSource source = of_plans(plans, stored).value();
  ASSERT_TRUE(source.fill(*memory_, 1));
  EXPECT_EQ(std::memcmp(bytes(1).data(), stored.data(), stored.size()), 0);
  EXPECT_FALSE(source.fixed());  // x is drawn
  auto cut = of_plans(plans, stored.substr(1));
  ASSERT_FALSE(cut);
  EXPECT_EQ(cut.error().code(), ErrorCode::kInvalidArgument);
}

TEST_F(InputSourceTest, SpikesHaveOrdinaryValuesInTheirPlace) {
  std::vector<InputPlan> plans = ordinary_;
  plans[0].policy.distribution = plans[0].ordinary.distribution = task::Distribution::kSpikes;
  signature_.inputs[0].shape = {16, 16};
  InputSource source = of_plans(plans).value();
  EXPECT_TRUE(source.uneven());
  auto largest = [&] {
    float most = 0;
    const auto held = bytes(0);
    for (std::size_t i = 0; i < held.size(); i += sizeof(float)) {
      float value = 0;
      std::memcpy(&value, held.data() + i, sizeof value);
      most = std::max(most, std::abs(value));
    }
    return most;
  };
  float with_spikes = 0;
  for (std::uint64_t seed = 1; seed < 40; ++seed) {
    ASSERT_TRUE(source.fill(*memory_, seed));
    with_spikes = std::max(with_spikes, largest());
    ASSERT_TRUE(source.fill_ordinary(*memory_, seed));
    EXPECT_LT(largest(), 10);
  }
  EXPECT_GT(with_spikes, 100);
}

TEST_F(InputSourceTest, ModulesAskGetInputs) {
  testing::ScriptedOracle oracle(testing::workload_function);
  ASSERT_TRUE(oracle.attach_exchange(signature_).value().ok);
  InputSource source = InputSource::of_oracle(signature_, {}, oracle).value();
  ASSERT_TRUE(source.fill(*memory_, 1).value().ok);
  EXPECT_TRUE(std::ranges::equal(bytes(1), oracle.input(1)));
  const auto x = bytes(0);
  ASSERT_TRUE(source.refill(*memory_, 1, 2).value().ok);
  EXPECT_EQ(bytes(0), x);
  oracle.die();
  EXPECT_FALSE(source.fill(*memory_, 3).value().ok);
  EXPECT_EQ(bytes(0), x);
}

TEST_F(InputSourceTest, AModulesPolicySaysWhatItsInputsMayBe) {
  testing::ScriptedOracle oracle(testing::workload_function);
  ASSERT_TRUE(oracle.attach_exchange(signature_).value().ok);
  InputPlan plan = testing::input_plan(tensors_of(signature_.inputs)[1]->name);
  plan.policy.domain = task::InputDomain::kFixed;
  InputSource source = InputSource::of_oracle(signature_, {plan}, oracle).value();
  EXPECT_TRUE(source.is_possible(0, HardKind::kNegative));
  EXPECT_FALSE(source.is_possible(1, HardKind::kNegative));
  plan.name = "no input";
  const auto refused = InputSource::of_oracle(signature_, {plan}, oracle);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), ErrorCode::kInvalidArgument);
}

}  // namespace
}  // namespace kw::gym
