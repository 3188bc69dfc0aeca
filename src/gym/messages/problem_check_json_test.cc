// Findings about a problem as they travel.
#include "gym/messages/problem_check_json.h"

#include <gtest/gtest.h>

namespace kw::gym {
namespace {

ProblemCheck sample_check() {
  ProblemCheck check;
  AdmissionFindings findings;
  findings.passing = {"zeros"};
  findings.inert = {"x"};
  check.workloads = {{"u", findings}};
  check.targets.resize(2);
  check.targets[0].quarantine =
      Quarantine{QuarantineCause::kTrivialCandidate, {"zeros"}, "zeros pass"};
  check.not_checked = {"w"};
  return check;
}

TEST(ProblemCheckJson, IsReadAsItWasWritten) {
  const Json before = to_json(sample_check());
  const auto after = problem_check_from_json(before, "c");
  ASSERT_TRUE(after) << after.error().message();
  EXPECT_EQ(to_json(*after), before);
  EXPECT_EQ(after->workloads.at(0).findings.passing, std::vector<std::string>{"zeros"});
  ASSERT_TRUE(after->targets.at(0).quarantine);
  EXPECT_EQ(after->targets[0].quarantine->cause, QuarantineCause::kTrivialCandidate);
  EXPECT_FALSE(after->targets.at(1).quarantine);
  EXPECT_EQ(after->not_checked, std::vector<std::string>{"w"});
}

TEST(ProblemCheckJson, EveryCauseHasAName) {
  for (const auto& [cause, name] :
       {std::pair{QuarantineCause::kReferenceFailed, "reference_failed"},
        std::pair{QuarantineCause::kReferenceUnfit, "unfit_reference"},
        std::pair{QuarantineCause::kTrivialCandidate, "trivial_candidate"},
        std::pair{QuarantineCause::kInertInput, "inert_input"}}) {
    EXPECT_EQ(to_string(cause), name);
    ProblemCheck check = sample_check();
    check.targets[0].quarantine->cause = cause;
    EXPECT_EQ(problem_check_from_json(to_json(check), "c")->targets[0].quarantine->cause, cause);
  }
}

TEST(ProblemCheckJson, NothingElseIsRead) {
  Json check = to_json(sample_check());
  check["targets"][0]["quarantine"]["cause"] = 9;
  EXPECT_FALSE(problem_check_from_json(check, "c"));
  check = to_json(sample_check());
  check["more"] = 1;
  EXPECT_FALSE(problem_check_from_json(check, "c"));
  check = to_json(sample_check());
  check.erase("not_checked");
  EXPECT_FALSE(problem_check_from_json(check, "c"));
}

}  // namespace
}  // namespace kw::gym
