// Triton candidates without a GPU: judged by the real gym through interpreter and compiler.
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gym/compile/triton_toolchain.h"
#include "gym/gym.h"
#include "os/file.h"
#include "task/candidate_source.h"
#include "task/problem_source.h"

namespace kw::gym {
namespace {

namespace fs = std::filesystem;
using task::Outcome;
using testing::HasSubstr;

constexpr std::string_view kImports = "import torch\nimport triton\nimport triton.language as tl\n";

// y = x * x + x over N numbers, with one workload for the interpreter.
constexpr const char* kSquares = R"({"name": "squares", "op_type": "elementwise",
  "axes": {"N": {"type": "var"}},
  "inputs": {"x": {"shape": ["N"], "dtype": "float32"}},
  "outputs": {"y": {"shape": ["N"], "dtype": "float32"}},
  "reference": "def run(x):\n    return x * x + x\n"})";
constexpr const char* kSquaresWorkload =
    R"({"uuid": "w", "axes": {"N": 1003}, "inputs": {"x": {"type": "random"}}})";

constexpr const char* kMatmul = R"({"name": "product", "op_type": "matmul",
  "axes": {"M": {"type": "var"}, "N": {"type": "var"}, "K": {"type": "var"}},
  "inputs": {"a": {"shape": ["M", "K"], "dtype": "float16"},
             "b": {"shape": ["K", "N"], "dtype": "float16"}},
  "outputs": {"c": {"shape": ["M", "N"], "dtype": "float16"}},
  "reference": "def run(a, b):\n    return a @ b\n"})";
constexpr const char* kMatmulWorkload =
    R"({"uuid": "w", "axes": {"M": 40, "N": 33, "K": 70},
        "inputs": {"a": {"type": "random"}, "b": {"type": "random"}}})";

constexpr const char* kKernel = R"(
@triton.jit
def squares(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n)
    tl.store(y_ptr + at, x * x + x, mask=at < n)
)";

class Triton : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = new os::TempDir(os::TempDir::make("kw-triton-").value());
    GymOptions options;
    options.programs_folder = fs::path(KW_BINARY_DIR) / "bin";
    options.cache_folder = folder_->path() / "cache";
    options.evidence_folder = folder_->path() / "evidence";
    gym_ = Gym::start(options).value().release();
  }
  static void TearDownTestSuite() {
    delete gym_;
    delete folder_;
  }
  void SetUp() override {
    auto languages = gym_->capabilities(task::Target::kCpu).value().languages;
    if (std::find(languages.begin(), languages.end(), "triton") != languages.end()) return;
    ASSERT_EQ(std::getenv("KW_REQUIRE_TRITON"), nullptr) << "triton is not installed";
    GTEST_SKIP() << "triton is not installed";
  }

  static task::Verdict judge(const std::string& candidate, const std::string& library = "",
                             const char* definition = kSquares,
                             const char* workload = kSquaresWorkload) {
    fs::path problem = folder_->path() / "problem";
    fs::create_directories(problem);
    std::ofstream(problem / "definition.json") << definition;
    std::ofstream(problem / "workloads.jsonl") << Json::parse(workload).dump() << "\n";
    std::ofstream(problem / "policy.toml")
        << "schema = 1\n"
        << (library.empty() ? "" : "library = \"" + library + "\"\n")
        << "[workloads.w]\ntargets = [\"interpret\"]\ntimed = false\n";
    fs::path file = folder_->path() / "candidate.py";
    std::ofstream(file) << kImports << candidate;
    EvalRequest request;
    request.problem = task::load_problem(problem, {}).value();
    request.candidate = task::load_candidate(file).value();
    EXPECT_EQ(request.candidate.language, task::Language::kTriton);
    auto judged = gym_->submit(request, std::chrono::steady_clock::time_point::max(), {}).get();
    if (judged) return *judged;
    ADD_FAILURE() << judged.error().message();
    return {};
  }

 private:
  static os::TempDir* folder_;
  static Gym* gym_;
};

os::TempDir* Triton::folder_ = nullptr;
Gym* Triton::gym_ = nullptr;

std::string story(const task::Verdict& verdict) {
  std::string text(task::to_string(verdict.outcome));
  if (!verdict.violation.empty()) text += " " + verdict.violation;
  for (const auto& workload : verdict.workloads)
    for (const auto& diagnostic : workload.diagnostics)
      text += "\n" + diagnostic.kind + ": " + diagnostic.message;
  for (const auto& diagnostic : verdict.diagnostics)
    text += "\n" + diagnostic.kind + ": " + diagnostic.message;
  return text;
}

TEST_F(Triton, AnHonestKernelPasses) {
  task::Verdict verdict = judge(std::string(kKernel) + R"(
def run(x):
    assert x.is_cuda and x.device.type == "cuda"
    y = torch.empty_like(x)
    squares[(triton.cdiv(x.numel(), 256),)](x, y, x.numel(), BLOCK=256)
    return y
)",
                                "kernel_only");
  EXPECT_EQ(verdict.outcome, Outcome::kPassed) << story(verdict);
  EXPECT_EQ(verdict.evidence_level, task::EvidenceLevel::kInterpreted);
  EXPECT_FALSE(verdict.speedup);
  EXPECT_THAT(story(verdict), HasSubstr("squares: 3 launches, 12 programs, 4 warps"));
}

TEST_F(Triton, DestinationPassing) {
  task::Verdict verdict = judge(std::string(kKernel) + R"(
def run(x, y):
    squares[lambda meta: (triton.cdiv(x.shape[0], meta["BLOCK"]),)](x, y, x.shape[0], BLOCK=128)
)");
  EXPECT_EQ(verdict.outcome, Outcome::kPassed) << story(verdict);
}

TEST_F(Triton, AutotuneHeuristicsAndHelpers) {
  task::Verdict verdict = judge(R"(
@triton.jit
def helper(x):
    return x * x + x

@triton.autotune(configs=[triton.Config({"BLOCK": b}, num_warps=w) for b, w in ((64, 2), (128, 4), (512, 8))], key=["n"])
@triton.heuristics({"EVEN": lambda args: args["n"] % args["BLOCK"] == 0})
@triton.jit
def squares(x_ptr, y_ptr, n, BLOCK: tl.constexpr, EVEN: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    if EVEN:
        tl.store(y_ptr + at, helper(tl.load(x_ptr + at)))
    else:
        tl.store(y_ptr + at, helper(tl.load(x_ptr + at, mask=at < n)), mask=at < n)

def run(x):
    y = torch.empty_like(x)
    squares[lambda meta: (triton.cdiv(x.numel(), meta["BLOCK"]),)](x, y, x.numel())
    return y
)",
                                "kernel_only");
  EXPECT_EQ(verdict.outcome, Outcome::kPassed) << story(verdict);
}

TEST_F(Triton, DotBlockPointersAndAConfigurationThatDoesNotFit) {
  // The first configuration needs more shared memory than a block has: tuning passes it by.
  task::Verdict verdict = judge(R"(
@triton.autotune(configs=[triton.Config({"B": 64}, num_stages=20), triton.Config({"B": 32})], key=["M"])
@triton.jit
def product(a, b, c, M, N, K, B: tl.constexpr):
    rows, columns = tl.program_id(0), tl.program_id(1)
    a_block = tl.make_block_ptr(a, (M, K), (K, 1), (rows * B, 0), (B, B), (1, 0))
    b_block = tl.make_block_ptr(b, (K, N), (N, 1), (0, columns * B), (B, B), (1, 0))
    sums = tl.zeros((B, B), dtype=tl.float32)
    for k in range(0, K, B):
        left = tl.load(a_block, boundary_check=(0, 1), padding_option="zero")
        right = tl.load(b_block, boundary_check=(0, 1), padding_option="zero")
        sums = tl.dot(left, right, sums)
        a_block = tl.advance(a_block, (0, B))
        b_block = tl.advance(b_block, (B, 0))
    c_block = tl.make_block_ptr(c, (M, N), (N, 1), (rows * B, columns * B), (B, B), (1, 0))
    tl.store(c_block, sums.to(tl.float16), boundary_check=(0, 1))

def run(a, b):
    (M, K), N = a.shape, b.shape[1]
    c = torch.empty((M, N), device=a.device, dtype=a.dtype)
    product[lambda meta: (triton.cdiv(M, meta["B"]), triton.cdiv(N, meta["B"]))](a, b, c, M, N, K)
    return c
)",
                                "kernel_only", kMatmul, kMatmulWorkload);
  EXPECT_EQ(verdict.outcome, Outcome::kPassed) << story(verdict);
}

TEST_F(Triton, CompileErrorsNameTheLine) {
  task::Verdict verdict = judge(R"(
@triton.jit
def squares(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n)
    tl.store(y_ptr + at, tl.no_such_function(x), mask=at < n)

def run(x):
    y = torch.empty_like(x)
    squares[(triton.cdiv(x.numel(), 256),)](x, y, x.numel(), BLOCK=256)
    return y
)");
  EXPECT_EQ(verdict.outcome, Outcome::kCompileError) << story(verdict);
  EXPECT_THAT(story(verdict), HasSubstr("tl.no_such_function(x)"));
}

TEST_F(Triton, WhatOnlyTheInterpreterTakesIsNoKernel) {
  // 100 is no power of two: numpy does not mind.
  task::Verdict verdict = judge(std::string(kKernel) + R"(
def run(x):
    y = torch.empty_like(x)
    squares[(triton.cdiv(x.numel(), 100),)](x, y, x.numel(), BLOCK=100)
    return y
)");
  EXPECT_EQ(verdict.outcome, Outcome::kCompileError) << story(verdict);
  EXPECT_THAT(story(verdict), HasSubstr("power of 2"));
}

TEST_F(Triton, AWrongKernelIsWrong) {
  task::Verdict verdict = judge(R"(
@triton.jit
def squares(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n)
    tl.store(y_ptr + at, x * x, mask=at < n)

def run(x):
    y = torch.empty_like(x)
    squares[(triton.cdiv(x.numel(), 256),)](x, y, x.numel(), BLOCK=256)
    return y
)");
  EXPECT_EQ(verdict.outcome, Outcome::kWrongValue) << story(verdict);
}

constexpr const char* kGhost = R"(
def run(x):
    return x * x + x
)";

TEST_F(Triton, GhostTokenAndFallbackAreToldApart) {
  EXPECT_EQ(judge(std::string(kKernel) + kGhost).violation, "ghost_kernel");
  EXPECT_EQ(judge(std::string(kKernel) + kGhost, "anything").outcome, Outcome::kPassed);
  const std::string token = std::string(kKernel) + R"(
def run(x):
    y = torch.empty_like(x)
    squares[(1,)](x, y, x.numel(), BLOCK=256)
    return x * x + x
)";
  EXPECT_EQ(judge(token).violation, "token_kernel");
  EXPECT_EQ(judge(token, "kernel_only").violation, "library_fallback");
  const std::string half = std::string(R"(
@triton.jit
def add(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = at < n
    tl.store(y_ptr + at, tl.load(y_ptr + at, mask=mask) + tl.load(x_ptr + at, mask=mask), mask=mask)

def run(x):
    y = x * x
    add[(triton.cdiv(x.numel(), 256),)](x, y, x.numel(), BLOCK=256)
    return y
)");
  EXPECT_EQ(judge(half).outcome, Outcome::kPassed);
  EXPECT_EQ(judge(half, "kernel_only").violation, "library_fallback");
}

TEST_F(Triton, AnotherKernelInTheInterpreterIsFound) {
  task::Verdict verdict = judge(std::string(kKernel) + R"(
def run(x):
    y = torch.empty_like(x)
    block = 256 if triton.knobs.runtime.interpret else 512
    squares[(triton.cdiv(x.numel(), block),)](x, y, x.numel(), BLOCK=block)
    return y
)");
  EXPECT_EQ(verdict.violation, "uncompiled_kernel") << story(verdict);
}

TEST_F(Triton, ComputingInNumpyIsALibrary) {
  task::Verdict verdict = judge(std::string(R"(
@triton.jit
def copy(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + at, tl.load(x_ptr + at, mask=at < n), mask=at < n)

def run(x):
    y, z = torch.empty_like(x), torch.empty_like(x)
    a = x.numpy()
    z.numpy()[:] = a * a + a
    copy[(triton.cdiv(x.numel(), 256),)](z, y, x.numel(), BLOCK=256)
    return y
)"),
                                "kernel_only");
  EXPECT_EQ(verdict.violation, "library_fallback") << story(verdict);
}

TEST_F(Triton, MaskedLanesAreZeroAndTheVerdictSaysThatTheyCount) {
  task::Verdict verdict = judge(R"(
@triton.jit
def squares(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n)
    rest = tl.sum(tl.load(x_ptr + at, mask=at < 0), 0)
    tl.store(y_ptr + at, x * x + x + rest, mask=at < n)

def run(x):
    y = torch.empty_like(x)
    squares[(triton.cdiv(x.numel(), 256),)](x, y, x.numel(), BLOCK=256)
    return y
)",
                                "kernel_only");
  EXPECT_EQ(verdict.outcome, Outcome::kPassed) << story(verdict);
  EXPECT_THAT(story(verdict), HasSubstr("risk: the outputs rely on zeros"));
}

std::string tuned(const std::string& configs, const std::string& options) {
  return R"(
@triton.autotune(configs=[triton.Config({"BLOCK": 128, "WRONG": w}) for w in )" +
         configs + R"(], key=["n"])" + options + R"()
@triton.jit
def squares(x_ptr, y_ptr, n, WRONG: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(y_ptr + at, mask=at < n)
    tl.store(y_ptr + at, x * x + (0.0 if WRONG else x), mask=at < n)

def run(x):
    y = x.clone()
    squares[lambda meta: (triton.cdiv(x.numel(), meta["BLOCK"]),)](y, y, x.numel())
    return y
)";
}

TEST_F(Triton, TheFirstConfigurationIsJudgedAndWrongOnesAreARisk) {
  const std::string restore = R"(, restore_value=["y_ptr"])";
  task::Verdict first = judge(tuned("(0, 1, 0, 1)", restore), "kernel_only");
  EXPECT_EQ(first.outcome, Outcome::kPassed) << story(first);
  EXPECT_THAT(story(first), HasSubstr("risk: 2 of 3 other configurations tried are wrong"));
  task::Verdict wrong = judge(tuned("(1, 0)", restore), "kernel_only");
  EXPECT_EQ(wrong.outcome, Outcome::kWrongValue) << story(wrong);
}

TEST_F(Triton, TuningsTrialLaunchesChangeMemory) {
  EXPECT_EQ(judge(tuned("(0, 0)", "")).outcome, Outcome::kWrongValue);
  EXPECT_EQ(judge(tuned("(0, 0)", R"(, reset_to_zero=["y_ptr"])")).outcome, Outcome::kWrongValue);
  EXPECT_EQ(judge(tuned("(0,)", "")).outcome, Outcome::kPassed);
}

TEST_F(Triton, ASmallLastReductionAndLabelChecksAreNoFallback) {
  const std::string kernel = R"(
@triton.jit
def partial(x, parts, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + at, mask=at < n, other=0.0)
    tl.store(parts + tl.program_id(0), tl.sum(value * value, 0))
)";
  constexpr const char* kMean = R"({"name": "mean_of_squares", "op_type": "reduction",
    "axes": {"N": {"type": "var"}},
    "inputs": {"x": {"shape": ["N"], "dtype": "float32"}},
    "outputs": {"y": {"shape": [], "dtype": "float32"}},
    "reference": "def run(x):\n    return (x * x).mean()\n"})";
  const std::string run = R"(
def run(x):
    parts = torch.empty(8, device=x.device)
    assert parts.untyped_storage().nbytes() == 32
    partial[(8,)](x, parts, x.numel(), BLOCK=128)
    return )";
  EXPECT_EQ(judge(kernel + run + "parts.sum() / x.numel()\n", "kernel_only", kMean).outcome,
            Outcome::kPassed);
  task::Verdict whole = judge(kernel + run + "(x * x).sum() / x.numel()\n", "kernel_only", kMean);
  EXPECT_EQ(whole.violation, "library_fallback") << story(whole);
  // As many parts as elements: torch does the reduction.
  const std::string copies = R"(
@triton.jit
def square(x, y, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + at, mask=at < n, other=0.0)
    tl.store(y + at, value * value, mask=at < n)

def run(x):
    y = torch.empty_like(x)
    square[(8,)](x, y, x.numel(), BLOCK=128)
    return y.mean()
)";
  EXPECT_EQ(judge(copies, "kernel_only", kMean).violation, "library_fallback");
}

TEST_F(Triton, WhatAGpuRefusesFailsAndWhatOnlyAGpuHasIsUnsupported) {
  task::Verdict wide = judge(R"(
@triton.jit
def squares(x_ptr, y_ptr, n):
    at = tl.program_id(1)
    x = tl.load(x_ptr + at, mask=at < n)
    tl.store(y_ptr + at, x * x + x, mask=at < n)

def run(x):
    y = torch.empty_like(x)
    squares[(1, 65536)](x, y, x.numel())
    return y
)");
  EXPECT_EQ(wide.outcome, Outcome::kRuntimeError) << story(wide);
  task::Verdict waits = judge(R"(
@triton.jit
def squares(x_ptr, y_ptr, flag, n, BLOCK: tl.constexpr):
    if tl.program_id(0) == 0:
        while tl.load(flag, volatile=True) == 0:
            pass
    else:
        tl.store(flag, 1)
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n)
    tl.store(y_ptr + at, x * x + x, mask=at < n)

def run(x):
    y, flag = torch.empty_like(x), torch.zeros(1, dtype=torch.int32)
    squares[(4,)](x, y, flag, x.numel(), BLOCK=256)
    return y
)");
  EXPECT_EQ(waits.outcome, Outcome::kUnsupported) << story(waits);
  EXPECT_THAT(story(waits), HasSubstr("programs that wait for each other"));
}

TEST_F(Triton, WritingToAnInputIsAViolation) {
  task::Verdict verdict = judge(std::string(kKernel) + R"(
def run(x):
    squares[(triton.cdiv(x.numel(), 256),)](x, x, x.numel(), BLOCK=256)
    return x.clone()
)");
  EXPECT_EQ(verdict.violation, "input_write") << story(verdict);
}

}  // namespace
}  // namespace kw::gym
