#include "kernelwright/service/worker_fitness.h"

#include <gtest/gtest.h>

#include "gym/testing/fake_judge.h"
#include "os/file.h"

namespace kw::front {
namespace {

TEST(WorkerFitness, AFullDiskIsUnfit) {
  const auto folder = os::TempDir::make("kw-fitness-").value();
  EXPECT_TRUE(look_at_disk(folder.path() / "not" / "there", 1));
  const Status full = look_at_disk(folder.path(), ~std::uintmax_t{0});
  ASSERT_FALSE(full);
  EXPECT_EQ(full.error().code(), ErrorCode::kResourceExhausted);
}

TEST(WorkerFitness, TheProbeTellsAJudgeThatPassesOrRefusesEverything) {
  gym::FakeJudge judge;
  const auto verdict_of = [](task::Outcome outcome) {
    task::Verdict out;
    out.outcome = outcome;
    return out;
  };
  judge.on_judge = [&](const gym::EvalRequest& request, const std::stop_token&) {
    EXPECT_FALSE(request.options.timing || request.options.store_evidence);
    const bool is_right =
        request.candidate.sources.at(0).content.find("2 * x") != std::string::npos;
    return verdict_of(is_right ? task::Outcome::kPassed : task::Outcome::kWrongValue);
  };
  EXPECT_TRUE(probe_judge(judge, {}));
  EXPECT_EQ(judge.judged, 2);
  judge.on_judge = [&](const auto&, const auto&) { return verdict_of(task::Outcome::kPassed); };
  EXPECT_EQ(probe_judge(judge, {}).error().message(),
            "the probe's verdict is passed, and should be wrong_value");
  judge.on_judge = [&](const auto&, const auto&) { return verdict_of(task::Outcome::kWrongValue); };
  EXPECT_FALSE(probe_judge(judge, {}));
}

}  // namespace
}  // namespace kw::front
