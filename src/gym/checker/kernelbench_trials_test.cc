// KernelBench's trials: five inputs under known seeds, all of which must be close.
#include "gym/checker/kernelbench_trials.h"

#include <utility>

#include <gtest/gtest.h>

#include "gym/checker/testing/fake_workload.h"

namespace kw::gym {
namespace {

using testing::compute_workload;
using testing::ExecutorScript;
using testing::ScriptedCall;
using testing::ScriptedExecutor;

class KernelBenchTrialsTest : public ::testing::Test {
 protected:
  void make() {
    signature_ = testing::workload_signature();
    ASSERT_TRUE(oracle_.attach_exchange(signature_).value().ok);
    ASSERT_TRUE(KernelBenchTrials::make(signature_, oracle_, allocator_, trials_).value().ok);
    output_ =
        OutputMemory::make(allocator_, signature_, KernelBenchTrials::kInputSeeds.size()).value();
  }
  bool is_correct(ExecutorScript script) {
    Side candidate(
        std::make_unique<ScriptedExecutor>(std::move(script), trials_->memory(output_), clock_),
        output_, signature_, Compiles::kNothing, clock_);
    return trials_->run(candidate).value();
  }

  task::Signature signature_;
  testing::ScriptedOracle oracle_{testing::workload_function};
  testing::VectorAllocator allocator_;
  testing::FakeClock clock_;
  std::unique_ptr<KernelBenchTrials> trials_;
  OutputMemory output_;
};

TEST_F(KernelBenchTrialsTest, FiveDeclaredRuns) {
  make();
  ASSERT_EQ(oracle_.runs().size(), 5U);
  for (const Oracle::Run& run : oracle_.runs()) EXPECT_EQ(run.precision, Precision::kDeclared);
  EXPECT_EQ(trials_->memory(output_).inputs.size(), 5U);
}

TEST_F(KernelBenchTrialsTest, EveryTrialCounts) {
  make();
  ExecutorScript script;
  script.kernel = compute_workload;
  EXPECT_TRUE(is_correct(script));
  for (int wrong : {0, 2, 4}) {
    script.kernel = [wrong](const ScriptedCall& call) {
      compute_workload(call);
      if (call.launch == wrong) call.y()[0] += 0.001F;
    };
    EXPECT_FALSE(is_correct(script)) << wrong;
  }
  // Within its tolerance of float32, 1e-4.
  script.kernel = [](const ScriptedCall& call) {
    compute_workload(call);
    call.y()[0] += 0.00005F;
  };
  EXPECT_TRUE(is_correct(script));
}

TEST_F(KernelBenchTrialsTest, ACandidateThatEndsIsNotCorrect) {
  make();
  ExecutorScript script;
  script.kernel = compute_workload;
  script.load = LaunchEnd::kExited;
  EXPECT_FALSE(is_correct(script));
  script.load = LaunchEnd::kDone;
  script.on_launch = [](int launch, LaunchResult& result) {
    if (launch == 4) result.end = LaunchEnd::kTimeout;
  };
  EXPECT_FALSE(is_correct(script));
}

TEST_F(KernelBenchTrialsTest, AReferenceThatFailsMakesNone) {
  signature_ = testing::workload_signature();
  ASSERT_TRUE(oracle_.attach_exchange(signature_).value().ok);
  oracle_.die();
  EXPECT_FALSE(KernelBenchTrials::make(signature_, oracle_, allocator_, trials_).value().ok);
  EXPECT_EQ(trials_, nullptr);
}

}  // namespace
}  // namespace kw::gym
