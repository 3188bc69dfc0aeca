// The doctor's checks on this machine.
#include "sandbox/doctor.h"

#include "testing/sandboxes.h"

namespace kw::sandbox {
namespace {

const HealthCheck* find(const std::vector<HealthCheck>& checks, const std::string& name) {
  for (const HealthCheck& check : checks) {
    if (check.name == name) return &check;
  }
  return nullptr;
}

TEST(Doctor, NamesTheLevelAndPricesWhatIsMissing) {
  auto checks = inspect(binary("kernelwright-launcher"));
  const HealthCheck* level = find(checks, "isolation level");
  ASSERT_NE(level, nullptr);
  EXPECT_EQ(level->detail[0], static_cast<char>('0' + static_cast<int>(expected_level())));
  EXPECT_EQ(level->state == HealthCheck::State::kOk, expected_level() == Level::kFull);
  const HealthCheck* freezer = find(checks, "freezer");
  ASSERT_NE(freezer, nullptr);
  EXPECT_NE(freezer->state, HealthCheck::State::kMissing) << freezer->detail;
  EXPECT_THAT(freezer->detail, ::testing::HasSubstr("median"));
  for (const HealthCheck& check : checks) {
    EXPECT_FALSE(check.detail.empty()) << check.name;
    // Refusals of stronger walls carry their reason in the detail; everything else that is not fine
    // has a price.
    if (check.name != "not available") {
      EXPECT_EQ(check.cost.empty(), check.state == HealthCheck::State::kOk) << check.name;
    }
  }
  for (const char* name :
       {"namespaces", "own uid", "Landlock", "memory limit", "process limit", "CPU pinning",
        "cores", "SMT", "other load", "steal time", "virtual machine"}) {
    EXPECT_NE(find(checks, name), nullptr) << name;
  }
}

TEST(Doctor, WithoutALauncherItSaysSo) {
  auto checks = inspect("/no/such/launcher");
  const HealthCheck* level = find(checks, "isolation level");
  ASSERT_NE(level, nullptr);
  EXPECT_EQ(level->state, HealthCheck::State::kMissing);
  EXPECT_THAT(level->detail, ::testing::HasSubstr("/no/such/launcher"));
}

}  // namespace
}  // namespace kw::sandbox
