// Kernels on a GPU, judged end to end by the real gym: compiler, checker, executors, all in their
// sandboxes. The tests skip themselves, saying so, where there is no GPU.
#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cuda/device_facts.h"
#include "gym/gym.h"
#include "os/file.h"
#include "task/candidate_source.h"
#include "task/problem_source.h"

namespace kw::gym {
namespace {

namespace fs = std::filesystem;
using task::Outcome;
using testing::HasSubstr;

constexpr const char* kDefinition = R"({
  "name": "line", "op_type": "elementwise", "axes": {"N": {"type": "var"}},
  "inputs": {"x": {"shape": ["N"], "dtype": "float32"}},
  "outputs": {"y": {"shape": ["N"], "dtype": "float32"}},
  "reference": "def run(x):\n    return x * 3.0 + 1.0\n"})";
constexpr const char* kWorkloads =
    R"({"definition": "line", "solution": null, "workload": {"uuid": "small", "axes": {"N": 100003}, "inputs": {"x": {"type": "random"}}}, "evaluation": null}
{"definition": "line", "solution": null, "workload": {"uuid": "large", "axes": {"N": 16777216}, "inputs": {"x": {"type": "random"}}}, "evaluation": null}
)";
constexpr const char* kPolicy = R"(schema = 1
[workloads.small]
targets = ["cuda"]
timed = false
[workloads.large]
targets = ["cuda"]
)";
constexpr const char* kHead =
    "// launch: {\"kernel\": \"line\", \"grid\": [\"ceil_div(N, 256)\"], \"block\": [256]}\n"
    "extern \"C\" __global__ void line(const float* x, float* y, long long n) {\n"
    "  const long long i = blockIdx.x * 256LL + threadIdx.x;\n";

class CudaVerdicts : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = new os::TempDir(os::TempDir::make("kw-cuda-").value());
    if (!cuda::list_devices()) return;
    GymOptions options;
    options.programs_folder = fs::path(KW_BINARY_DIR) / "bin";
    options.cache_folder = folder_->path() / "cache";
    options.evidence_folder = folder_->path() / "evidence";
    gym_ = Gym::start(options).value().release();
    write("line/definition.json", kDefinition);
    write("line/workloads.jsonl", kWorkloads);
    write("line/policy.toml", kPolicy);
  }
  static void TearDownTestSuite() {
    delete gym_;
    delete folder_;
  }
  void SetUp() override {
    if (auto found = cuda::list_devices(); !found)
      GTEST_SKIP() << "no GPU: " << found.error().message();
    request_.options.target = "cuda";
    request_.options.timing = false;
    request_.options.timeout_seconds = 2;
    request_.problem = task::load_problem(folder_->path() / "line", {}).value();
  }
  // The verdict on a kernel with this body.
  task::Verdict judge(const std::string& body) { return judge_source(kHead + body + "}\n"); }
  task::Verdict judge_source(const std::string& source) {
    request_.candidate = load(source);
    const auto begun = std::chrono::steady_clock::now();
    auto judged = gym_->submit(request_, std::chrono::steady_clock::time_point::max(), {}).get();
    std::printf("[ %.2f s ] %s\n",
                std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count(),
                judged ? described(*judged).c_str() : judged.error().message().c_str());
    if (judged) return *judged;
    ADD_FAILURE() << judged.error().message();
    return {};
  }
  static task::Candidate load(const std::string& source) {
    const bool is_python = source.starts_with("import");
    return task::load_candidate(write(is_python ? "candidate.py" : "candidate.cu", source)).value();
  }
  // A Triton candidate whose kernel has this body.
  static std::string triton(const std::string& body,
                            const std::string& result = "    y = torch.empty_like(x)\n") {
    return "import torch\nimport triton\nimport triton.language as tl\n\n"
           "@triton.jit\n"
           "def line(x, y, n, BLOCK: tl.constexpr):\n"
           "    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)\n" +
           body + "\ndef run(x):\n" + result +
           "    line[(triton.cdiv(x.numel(), 1024),)](x, y, x.numel(), BLOCK=1024)\n"
           "    return y\n";
  }
  bool has_triton() const {
    const auto languages = gym_->capabilities("cuda").value().languages;
    return std::ranges::find(languages, "triton") != languages.end();
  }
  static std::string described(const task::Verdict& verdict) {
    std::string text(task::to_string(verdict.outcome));
    if (!verdict.violation.empty()) text += " " + verdict.violation;
    for (const auto& workload : verdict.workloads)
      for (const auto& diagnostic : workload.diagnostics) text += "; " + diagnostic.message;
    for (const auto& diagnostic : verdict.diagnostics) text += "; " + diagnostic.message;
    return text;
  }
  static void show(const task::Verdict& verdict, const char* against) {
    std::printf("[ times ] %.4f ms, %s %.4f ms: %s\n", verdict.times->candidate_ms, against,
                verdict.times->reference_ms,
                verdict.speedup ? fmt::format("{:.4f} ({:.4f} to {:.4f})", verdict.speedup->median,
                                              verdict.speedup->low, verdict.speedup->high)
                                      .c_str()
                                : "none");
  }
  static fs::path write(const std::string& name, const std::string& text) {
    const fs::path path = folder_->path() / name;
    fs::create_directories(path.parent_path());
    std::ofstream(path) << text;
    return path;
  }

  static os::TempDir* folder_;
  static Gym* gym_;
  EvalRequest request_;
};

os::TempDir* CudaVerdicts::folder_ = nullptr;
Gym* CudaVerdicts::gym_ = nullptr;

constexpr const char* kRight = "  if (i < n) y[i] = 3.0f * x[i] + 1.0f;\n";

TEST_F(CudaVerdicts, ARightKernelPasses) {
  EXPECT_EQ(judge(kRight).outcome, Outcome::kPassed);
}

TEST_F(CudaVerdicts, WrongKernelsAreFound) {
  EXPECT_EQ(judge("  if (i < n) y[i] = 3.0f * x[i] + 1.001f;\n").outcome, Outcome::kWrongValue);
  EXPECT_EQ(judge("  if (i < n - 1) y[i] = 3.0f * x[i] + 1.0f;\n").outcome, Outcome::kWrongValue);
  EXPECT_EQ(judge("").outcome, Outcome::kWrongValue);
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

constexpr const char* kRightInTriton =
    "    tl.store(y + at, tl.load(x + at, mask=at < n) * 3 + 1, mask=at < n)\n";

TEST_F(CudaVerdicts, RecordedTritonIsJudgedAsAnyOtherPlan) {
  if (!has_triton()) GTEST_SKIP() << "triton is not installed";
  EXPECT_EQ(judge_source(triton(kRightInTriton)).outcome, Outcome::kPassed);
  // Wrong numbers, a tail that is left out, nothing at all.
  EXPECT_EQ(judge_source(triton("    tl.store(y + at, tl.load(x + at, mask=at < n) * 3, mask=at < "
                                "n)\n"))
                .outcome,
            Outcome::kWrongValue);
  EXPECT_EQ(
      judge_source(triton("    tl.store(y + at, tl.load(x + at, mask=at < n) * 3 + 1, mask=at "
                          "< n - 1)\n"))
          .outcome,
      Outcome::kWrongValue);
  EXPECT_EQ(judge_source(triton("    pass\n")).outcome, Outcome::kWrongValue);
  // A write to an input, and one beside the output.
  const task::Verdict fault =
      judge_source(triton("    tl.store(x + at, tl.load(y + at, mask=at < n), mask=at < n)\n"));
  EXPECT_EQ(fault.outcome, Outcome::kRuntimeError);
  EXPECT_THAT(described(fault), HasSubstr("a kernel faulted"));
  const task::Verdict beside =
      judge_source(triton(std::string(kRightInTriton) + "    tl.store(y + n, 7.0)\n"));
  EXPECT_EQ(beside.violation, "out_of_bounds");
  EXPECT_EQ(judge_source(triton(kRightInTriton)).outcome, Outcome::kPassed);
}

TEST_F(CudaVerdicts, FillsCopiesAndScratchOfTritonAreReplayed) {
  if (!has_triton()) GTEST_SKIP() << "triton is not installed";
  const std::string adds =
      "    tl.atomic_add(y + at, tl.load(x + at, mask=at < n) * 3 + 1, mask=at < n)\n";
  EXPECT_EQ(judge_source(triton(adds, "    y = torch.zeros_like(x)\n")).outcome, Outcome::kPassed);
  EXPECT_NE(judge_source(triton(adds)).outcome, Outcome::kPassed);
  EXPECT_EQ(judge_source(triton(kRightInTriton,
                                "    x = x.clone()\n    y = torch.empty(2 * x.numel(), "
                                "device='cuda')[x.numel():]\n"))
                .outcome,
            Outcome::kPassed);
}

TEST_F(CudaVerdicts, TritonThatCannotBeReplayedIsUnsupported) {
  if (!has_triton()) GTEST_SKIP() << "triton is not installed";
  const task::Verdict verdict =
      judge_source(triton(kRightInTriton, "    y = torch.empty_like(x) if x.sum() else x\n"));
  EXPECT_EQ(verdict.outcome, Outcome::kUnsupported);
  EXPECT_THAT(described(verdict), HasSubstr("aten.sum"));
}

TEST_F(CudaVerdicts, TritonIsTimedAgainstTorch) {
  if (!has_triton()) GTEST_SKIP() << "triton is not installed";
  request_.options.timing = true;
  const task::Verdict verdict = judge_source(triton(kRightInTriton));
  ASSERT_EQ(verdict.outcome, Outcome::kPassed);
  ASSERT_TRUE(verdict.times);
  show(verdict, "torch");
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
