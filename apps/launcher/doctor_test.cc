// The doctor's findings on this machine.
#include "sandbox/doctor.h"

#include "testing/sandboxes.h"

namespace kw::sandbox {
namespace {

const Finding* find(const std::vector<Finding>& findings, const std::string& name) {
  for (const Finding& finding : findings) {
    if (finding.name == name) return &finding;
  }
  return nullptr;
}

TEST(Doctor, NamesTheLevelAndPricesWhatIsMissing) {
  auto findings = inspect(binary("kernelwright-launcher"));
  const Finding* level = find(findings, "isolation level");
  ASSERT_NE(level, nullptr);
  EXPECT_EQ(level->detail[0], static_cast<char>('0' + static_cast<int>(expected_level())));
  EXPECT_EQ(level->state == Finding::State::kOk, expected_level() == Level::kFull);
  const Finding* freezer = find(findings, "freezer");
  ASSERT_NE(freezer, nullptr);
  EXPECT_NE(freezer->state, Finding::State::kMissing) << freezer->detail;
  EXPECT_THAT(freezer->detail, ::testing::HasSubstr("median"));
  for (const Finding& finding : findings) {
    EXPECT_FALSE(finding.detail.empty()) << finding.name;
    // Refusals of stronger walls carry their reason in the detail; everything else that is not fine
    // has a price.
    if (finding.name != "not available") {
      EXPECT_EQ(finding.cost.empty(), finding.state == Finding::State::kOk) << finding.name;
    }
  }
  for (const char* name :
       {"namespaces", "own uid", "Landlock", "memory limit", "process limit", "CPU pinning",
        "cores", "SMT", "other load", "steal time", "virtual machine"}) {
    EXPECT_NE(find(findings, name), nullptr) << name;
  }
}

TEST(Doctor, WithoutALauncherItSaysSo) {
  auto findings = inspect("/no/such/launcher");
  const Finding* level = find(findings, "isolation level");
  ASSERT_NE(level, nullptr);
  EXPECT_EQ(level->state, Finding::State::kMissing);
  EXPECT_THAT(level->detail, ::testing::HasSubstr("/no/such/launcher"));
}

}  // namespace
}  // namespace kw::sandbox
