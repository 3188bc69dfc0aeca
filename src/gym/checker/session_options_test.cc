// Names of mechanisms: each switches off its own, and no others are accepted.
#include "gym/checker/session_options.h"

#include <iterator>
#include <string>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kw::gym {
namespace {

using ::testing::HasSubstr;

using Switch = bool Mechanisms::*;
constexpr std::pair<const char*, Switch> kMechanismSwitches[] = {
    {"freeze", &Mechanisms::freeze},
    {"poison", &Mechanisms::poison},
    {"rehash", &Mechanisms::rehash},
    {"moving_addresses", &Mechanisms::moving_addresses},
    {"fresh_inputs", &Mechanisms::fresh_inputs},
    {"canaries", &Mechanisms::canaries},
    {"seal", &Mechanisms::seal},
    {"interleaving", &Mechanisms::interleaving},
    {"snapshot", &Mechanisms::snapshot},
    {"check_timed", &Mechanisms::check_timed},
    {"audit", &Mechanisms::audit},
    {"clear", &Mechanisms::clear},
    {"cpu_witness", &Mechanisms::cpu_witness},
    {"mixed_inputs", &Mechanisms::mixed_inputs},
    {"edges", &Mechanisms::edges}};

int mechanisms_on(const Mechanisms& mechanisms) {
  int on = 0;
  for (const auto& [name, flag] : kMechanismSwitches) on += mechanisms.*flag ? 1 : 0;
  return on;
}

TEST(Mechanisms, EachNameSwitchesOffItsOwn) {
  constexpr int kAll = static_cast<int>(std::size(kMechanismSwitches));
  EXPECT_EQ(mechanisms_on(Mechanisms::without({}).value()), kAll);
  for (const auto& [name, flag] : kMechanismSwitches) {
    const Mechanisms without = Mechanisms::without({name}).value();
    EXPECT_FALSE(without.*flag) << name;
    EXPECT_EQ(mechanisms_on(without), kAll - 1) << name;
  }
  EXPECT_EQ(mechanisms_on(Mechanisms::without({"poison", "audit", "poison"}).value()), kAll - 2);
}

TEST(Mechanisms, ThoseOfTheEvaluationChangeNothingHere) {
  const Mechanisms without = Mechanisms::without({"admission", "hidden_shape"}).value();
  EXPECT_EQ(mechanisms_on(without), static_cast<int>(std::size(kMechanismSwitches)));
}

TEST(Mechanisms, AnUnknownNameIsRefusedWithTheNamesThereAre) {
  const auto refused = Mechanisms::without({"poison", "luck"});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), ErrorCode::kInvalidArgument);
  EXPECT_THAT(refused.error().message(), HasSubstr("--disable luck"));
  for (const auto& [name, flag] : kMechanismSwitches)
    EXPECT_THAT(refused.error().message(), HasSubstr(name));
}

}  // namespace
}  // namespace kw::gym
