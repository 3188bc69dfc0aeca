// Kernels on a GPU, judged end to end by the real gym: compiler, checker, executors, all in their
// sandboxes.
#include <algorithm>
#include <string>

#include <gmock/gmock.h>

#include "cuda_gym_test.h"

namespace kw::gym {
namespace {

using task::Outcome;
using testing::HasSubstr;

constexpr const char* kHead =
    "// launch: {\"kernel\": \"line\", \"grid\": [\"ceil_div(N, 256)\"], \"block\": [256]}\n"
    "extern \"C\" __global__ void line(const float* x, float* y, long long n) {\n"
    "  const long long i = blockIdx.x * 256LL + threadIdx.x;\n";

class CudaVerdicts : public CudaGymTest {
 protected:
  // The verdict on a kernel with this body.
  task::Verdict judge(const std::string& body) { return judge_source(kHead + body + "}\n"); }
};

constexpr const char* kRight = "  if (i < n) y[i] = 3.0f * x[i] + 1.0f;\n";

TEST_F(CudaVerdicts, ARightKernelPasses) {
  EXPECT_EQ(judge(kRight).outcome, Outcome::kPassed);
}

TEST_F(CudaVerdicts, WrongKernelsAreFound) {
  EXPECT_EQ(judge("  if (i < n) y[i] = 3.0f * x[i] + 1.001f;\n").outcome, Outcome::kWrongValue);
  EXPECT_EQ(judge("  if (i < n - 1) y[i] = 3.0f * x[i] + 1.0f;\n").outcome, Outcome::kWrongValue);
  EXPECT_EQ(judge("").outcome, Outcome::kWrongValue);
}

// Only parts of outputs of this size are compared with float64.
TEST_F(CudaVerdicts, KernelsThatAreWrongOnHardInputsOfALargeSizeAreFound) {
  std::string workloads = kLineWorkloads;
  workloads.replace(workloads.find("16777216"), 8, "67108867");
  write("long_line/definition.json", kLineDefinition);
  write("long_line/workloads.jsonl", workloads);
  write("long_line/policy.toml", kLinePolicy);
  request_.problem = task::load_problem(folder_->path() / "long_line", {}).value();
  task::Verdict verdict = judge("  if (i < n) y[i] = fabsf(x[i]) > 20 ? 0.0f : 3 * x[i] + 1;\n");
  EXPECT_EQ(verdict.outcome, Outcome::kWrongValue);
  EXPECT_THAT(described(verdict), HasSubstr("hard inputs"));
  verdict = judge("  if (i < n) y[i] = 3 * x[i] + 1; // of a long line\n");
  EXPECT_EQ(verdict.outcome, Outcome::kPassed) << described(verdict);
  const auto& hard = verdict.workloads.back().hard_inputs;
  EXPECT_TRUE(std::ranges::any_of(hard, [](const auto& one) { return one.calls > 0; }));
}

TEST_F(CudaVerdicts, ACompileErrorHasItsLine) {
  const task::Verdict verdict = judge("  if (i < n) y[i] = 3.0f * z[i];\n");
  EXPECT_EQ(verdict.outcome, Outcome::kCompileError);
  EXPECT_THAT(described(verdict), HasSubstr("z"));
}

TEST_F(CudaVerdicts, AWriteBesideTheOutputIsAViolation) {
  const task::Verdict verdict = judge(std::string(kRight) + "  if (i == 0) y[n] = 7;\n");
  EXPECT_EQ(verdict.outcome, Outcome::kViolation);
  EXPECT_EQ(verdict.violation, "out_of_bounds");
}

TEST_F(CudaVerdicts, WhatIsReadBesideScratchShows) {
  const auto source = [](const std::string& read) {
    return "// scratch: {\"name\": \"part\", \"bytes\": \"4 * N\"}\n"
           "// launch: {\"kernel\": \"line\", \"grid\": [\"ceil_div(N, 256)\"], \"block\": [256], "
           "\"arguments\": [\"x\", \"y\", \"part\", {\"int64\": \"N\"}]}\n"
           "extern \"C\" __global__ void line(const float* x, float* y, float* part, long long n) "
           "{\n"
           "  const long long i = blockIdx.x * 256LL + threadIdx.x;\n"
           "  if (i >= n) return;\n"
           "  part[i] = 3 * x[i];\n"
           "  y[i] = part[i] + 1" +
           read + ";\n}\n";
  };
  task::Verdict verdict = judge_source(source(""));
  EXPECT_EQ(verdict.outcome, Outcome::kPassed) << described(verdict);
  for (const std::string beside : {"part[n]", "part[-1]", "part[n + 1000]"}) {
    verdict = judge_source(source(" + 0 * " + beside));
    EXPECT_EQ(verdict.outcome, Outcome::kWrongValue) << beside;
  }
}

// Each kind of fault is an outcome of its own, and the next candidate is judged as if nothing had
// been.
TEST_F(CudaVerdicts, FaultsAreOutcomesAndLeaveNothingBehind) {
  task::Verdict verdict = judge("  if (i < n) const_cast<float*>(x)[i] = y[i];\n");
  EXPECT_EQ(verdict.outcome, Outcome::kRuntimeError);
  EXPECT_THAT(described(verdict), HasSubstr("a kernel faulted"));
  verdict = judge("  if (i < n) reinterpret_cast<float*>(8)[i] = 1;\n");
  EXPECT_EQ(verdict.outcome, Outcome::kRuntimeError);
  verdict = judge("  asm volatile(\"trap;\");\n");
  EXPECT_EQ(verdict.outcome, Outcome::kRuntimeError);
  // It ends by itself after 20 s.
  verdict = judge(
      "  unsigned long long begun, now;\n"
      "  asm volatile(\"mov.u64 %0, %globaltimer;\" : \"=l\"(begun));\n"
      "  do { asm volatile(\"mov.u64 %0, %globaltimer;\" : \"=l\"(now)); }\n"
      "  while (now - begun < 20000000000ull);\n");
  EXPECT_EQ(verdict.outcome, Outcome::kTimeout);
  EXPECT_EQ(judge(kRight).outcome, Outcome::kPassed);
}

TEST_F(CudaVerdicts, CandidatesShareAContextUntilOneFaults) {
  const auto context = [&](const std::string& body, Outcome outcome) {
    const task::Verdict verdict = judge(body);
    EXPECT_EQ(verdict.outcome, outcome) << described(verdict);
    const auto& gpu = verdict.workloads.at(0).gpu;
    return gpu ? std::string(task::to_string(gpu->context)) : "none";
  };
  judge("  if (i < n) y[i] = 3 * x[i] + 1; // opens the sessions\n");
  EXPECT_EQ(context("  if (i < n) y[i] = 3 * x[i] + 1; // 2\n", Outcome::kPassed), "resident");
  EXPECT_EQ(context("  if (i < n) y[i] = 3 * x[i];\n", Outcome::kWrongValue), "resident");
  // A fault is confirmed in a context of its own.
  EXPECT_EQ(context("  asm(\"trap;\"); // 2\n", Outcome::kRuntimeError), "fresh");
  EXPECT_EQ(context("  if (i < n) y[i] = 3 * x[i] + 1; // 3\n", Outcome::kPassed), "fresh");
  request_.options.gpu_context = "fresh";
  EXPECT_EQ(context("  if (i < n) y[i] = 3 * x[i] + 1; // 4\n", Outcome::kPassed), "fresh");
}

// A global variable of a plan is its own, whatever the plan before left there.
TEST_F(CudaVerdicts, APlansVariablesAreItsOwn) {
  const std::string head = "__device__ float kept[1 << 20];\n";
  const auto source = [&](const std::string& body) { return head + kHead + body + "}\n"; };
  judge_source(source("  if (i < n) { y[i] = 3 * x[i] + 1; kept[i & 0xFFFFF] = 1; }\n"));
  const task::Verdict verdict =
      judge_source(source("  if (i < n) y[i] = kept[i & 0xFFFFF] == 0 ? 3 * x[i] + 1 : 0;\n"));
  EXPECT_EQ(verdict.outcome, Outcome::kPassed) << described(verdict);
}

TEST_F(CudaVerdicts, WhatTheGpuRefusesIsSaid) {
  std::string source = kHead + std::string(kRight) + "}\n";
  source.replace(source.find("[256]"), 5, "[2048]");
  task::Verdict verdict = judge_source(source);
  EXPECT_NE(verdict.outcome, Outcome::kPassed);
  EXPECT_TRUE(task::is_candidates_fault(verdict.outcome));
  verdict = judge_source(
      "// scratch: {\"name\": \"huge\", \"bytes\": \"N * 1000000000\"}\n"
      "// launch: {\"kernel\": \"line\", \"grid\": [1], \"block\": [256], "
      "\"arguments\": [\"x\", \"y\", \"huge\"]}\n"
      "extern \"C\" __global__ void line(const float* x, float* y, float* z) {}\n");
  EXPECT_NE(verdict.outcome, Outcome::kPassed);
  EXPECT_TRUE(task::is_candidates_fault(verdict.outcome));
}

// The same kernel on both sides.
TEST_F(CudaVerdicts, AKernelIsAsFastAsItself) {
  request_.options.timing = true;
  request_.options.baseline = load(kHead + std::string(kRight) + "}\n");
  const task::Verdict verdict = judge(kRight);
  ASSERT_EQ(verdict.outcome, Outcome::kPassed);
  ASSERT_TRUE(verdict.times);
  show(verdict, "itself");
  // 128 MiB cannot be moved in less than 30 us by any GPU of today.
  EXPECT_GT(verdict.times->candidate_ms, 0.03);
}

// torch makes a tensor between the two operators, so that a kernel of both is faster.
TEST_F(CudaVerdicts, TorchIsTheBaseline) {
  request_.options.timing = true;
  request_.options.rivals = {"compile", "max-autotune"};
  const task::Verdict verdict = judge(kRight);
  ASSERT_EQ(verdict.outcome, Outcome::kPassed);
  ASSERT_TRUE(verdict.times);
  show(verdict, "torch");
  ASSERT_TRUE(verdict.speedup);
  EXPECT_GT(verdict.speedup->low, 1.2);
  const auto& rivals = verdict.workloads.back().rivals;
  ASSERT_EQ(rivals.size(), 2U);
  for (const task::Rival& rival : rivals) {
    ASSERT_TRUE(rival.over_baseline) << rival.baseline << ": " << rival.failure;
    EXPECT_GT(rival.over_baseline->median, 1.2) << rival.baseline;  // one kernel too
  }
  ASSERT_TRUE(verdict.strongest);
  std::printf("[ strongest ] %.4f over %s\n", verdict.strongest->speedup.median,
              verdict.strongest->baseline.c_str());
  EXPECT_LT(verdict.strongest->speedup.median, verdict.speedup->median);
}

// 16 million numbers of 4 bytes, read and written.
TEST_F(CudaVerdicts, AVerdictTellsWhatACallDoes) {
  request_.options.timing = true;
  const task::Verdict verdict = judge(kRight);
  ASSERT_EQ(verdict.outcome, Outcome::kPassed);
  ASSERT_TRUE(verdict.workloads.back().gpu);
  const task::GpuFacts& facts = *verdict.workloads.back().gpu;
  std::printf("%s\n", to_json(facts, verdict.times->candidate_ms).dump().c_str());
  ASSERT_TRUE(facts.call);
  ASSERT_EQ(facts.call->kernels.size(), 1U);
  EXPECT_EQ(facts.call->kernels[0].name, "line");
  EXPECT_EQ(facts.call->kernels[0].launches, 1);
  EXPECT_NEAR(facts.call->kernels[0].ms, verdict.times->candidate_ms,
              0.2 * verdict.times->candidate_ms);
  ASSERT_TRUE(verdict.coverage);
  EXPECT_EQ(verdict.coverage->time, 1);
  EXPECT_EQ(facts.candidate_bytes, 16777216 * 4);
  // x * 3.0 lives while its sum with 1.0 is made.
  EXPECT_EQ(facts.baseline_bytes, 2 * 16777216 * 4);
  ASSERT_TRUE(facts.roofline);
  EXPECT_EQ(facts.roofline->bytes, 2 * 16777216 * 4);
  EXPECT_EQ(facts.roofline->flops, 0);
  const double share = facts.roofline->least_ms() / verdict.times->candidate_ms;
  EXPECT_GT(share, 0.5);
  EXPECT_LT(share, 1.15);
}

}  // namespace
}  // namespace kw::gym
