// The rule that joins the findings of all workloads, and what is stored of them.
#include "gym/evaluation/admission_cache.h"

#include <gtest/gtest.h>

#include "os/file.h"

namespace kw::gym {
namespace {

using Names = std::vector<std::string>;

AdmissionFindings findings(bool timed, Names passing, Names inert = {}) {
  AdmissionFindings out;
  out.timed = timed;
  out.passing = std::move(passing);
  out.inert = std::move(inert);
  return out;
}

Names trivial(const std::vector<AdmissionFindings>& workloads) {
  const auto quarantine = quarantine_of(workloads);
  if (!quarantine) return {};
  EXPECT_EQ(quarantine->cause, QuarantineCause::kTrivialCandidate);
  return quarantine->names;
}

TEST(Admission, ATrivialCandidateMustFailOnEveryTimedWorkload) {
  EXPECT_EQ(trivial({findings(true, {"zeros"}), findings(false, {}), findings(true, {})}),
            Names{"zeros"});
  EXPECT_EQ(trivial({findings(true, {}), findings(false, {"zeros"})}), Names{});
}

TEST(Admission, OfUntimedWorkloadsOneIsEnough) {
  EXPECT_EQ(trivial({findings(false, {"zeros", "ones"}), findings(false, {"zeros"})}),
            Names{"zeros"});
  EXPECT_EQ(trivial({findings(false, {"zeros"}), findings(false, {"ones"})}), Names{});
}

TEST(Admission, AnInputNeedsToMatterOnOneWorkload) {
  EXPECT_EQ(quarantine_reason({findings(true, {}, {"x"}), findings(true, {})}), "");
  EXPECT_EQ(quarantine_reason({findings(true, {}, {"x"}), findings(true, {}, {"x"})}),
            "inputs that change nothing: x");
}

TEST(Admission, FindingsAreStoredWithTheirKindOfWorkload) {
  const os::TempDir folder = os::TempDir::make("kw-admission-").value();
  const AdmissionCache cache(folder.path());
  cache.store("hash", "uuid", findings(true, {"zeros"}, {"x"}));
  const auto found = cache.find("hash", "uuid");
  ASSERT_TRUE(found);
  EXPECT_TRUE(found->timed);
  EXPECT_EQ(found->passing, Names{"zeros"});
  EXPECT_EQ(found->inert, Names{"x"});
  EXPECT_FALSE(cache.find("hash", "other"));
}

}  // namespace
}  // namespace kw::gym
