// Triton candidates on a GPU: recorded in the recorder's sandbox, replayed and judged by the real
// gym.
#include <algorithm>
#include <string>

#include <gmock/gmock.h>

#include "cuda_gym_test.h"

namespace kw::gym {
namespace {

using task::Outcome;
using testing::HasSubstr;
using testing::Not;

class CudaTriton : public CudaGymTest {
 protected:
  void SetUp() override {
    CudaGymTest::SetUp();
    if (!IsSkipped() && !has_triton()) GTEST_SKIP() << "triton is not installed";
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
    const auto languages = gym_->capabilities(task::Target::kCuda).value().languages;
    return std::ranges::find(languages, "triton") != languages.end();
  }
};

constexpr const char* kRightInTriton =
    "    tl.store(y + at, tl.load(x + at, mask=at < n) * 3 + 1, mask=at < n)\n";

TEST_F(CudaTriton, RecordedTritonIsJudgedAsAnyOtherPlan) {
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

TEST_F(CudaTriton, FillsCopiesAndScratchOfTritonAreReplayed) {
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

TEST_F(CudaTriton, TritonThatCannotBeReplayedIsUnsupported) {
  const task::Verdict verdict =
      judge_source(triton(kRightInTriton, "    y = torch.empty_like(x) if x.sum() else x\n"));
  EXPECT_EQ(verdict.outcome, Outcome::kUnsupported);
  EXPECT_THAT(described(verdict), HasSubstr("aten.sum"));
}

TEST_F(CudaTriton, TritonIsTimedAgainstTorch) {
  request_.options.timing = true;
  const task::Verdict verdict = judge_source(triton(kRightInTriton));
  ASSERT_EQ(verdict.outcome, Outcome::kPassed);
  ASSERT_TRUE(verdict.times);
  show(verdict, "torch");
}

// With the first configuration each program has 32 elements. wrong_for: blocks of this size leave
// the last element of theirs out.
TEST_F(CudaTriton, AutotunersChooseByTime) {
  request_.options.timing = true;
  auto tuned = [](int wrong_for) {
    return fmt::format(
        "import torch\nimport triton\nimport triton.language as tl\n\n"
        "@triton.autotune([triton.Config({{'BLOCK': b}}) for b in (32, 64, 2048)], key=['n'])\n"
        "@triton.jit\n"
        "def line(x, y, n, BLOCK: tl.constexpr):\n"
        "    lane = tl.arange(0, BLOCK)\n"
        "    at = tl.program_id(0) * BLOCK + lane\n"
        "    is_in = (at < n) & ((BLOCK != {}) | (lane < BLOCK - 1))\n"
        "    tl.store(y + at, tl.load(x + at, mask=is_in) * 3 + 1, mask=is_in)\n"
        "def run(x):\n"
        "    y = torch.empty_like(x)\n"
        "    line[lambda meta: (triton.cdiv(x.numel(), meta['BLOCK']),)](x, y, x.numel())\n"
        "    return y\n",
        wrong_for);
  };
  const task::Verdict right = judge_source(tuned(0));
  ASSERT_EQ(right.outcome, Outcome::kPassed) << described(right);
  EXPECT_THAT(described(right), HasSubstr("line takes BLOCK: 2048"));
  EXPECT_THAT(described(right), Not(HasSubstr("are wrong")));
  ASSERT_TRUE(right.times);
  show(right, "torch");
  const task::Verdict slow_is_wrong = judge_source(tuned(64));
  EXPECT_EQ(slow_is_wrong.outcome, Outcome::kPassed) << described(slow_is_wrong);
  EXPECT_THAT(described(slow_is_wrong), HasSubstr("1 of 2 other configurations tried are wrong"));
  EXPECT_EQ(judge_source(tuned(2048)).outcome, Outcome::kWrongValue);
  // By rule the first is taken.
  request_.options.timing = false;
  const task::Verdict by_rule = judge_source(tuned(2048));
  EXPECT_EQ(by_rule.outcome, Outcome::kPassed);
  EXPECT_THAT(described(by_rule), HasSubstr("made by rule"));
}

// Parameters and buffers that the problem names are its statics, others constants of the plan.
TEST_F(CudaTriton, AModulesStateIsThePlansStaticsAndConstants) {
  request_.problem =
      task::load_problem(write("scaled.py",
                               "import torch\nimport torch.nn as nn\n\n"
                               "class Model(nn.Module):\n"
                               "    def __init__(self, size):\n"
                               "        super().__init__()\n"
                               "        self.weight = nn.Parameter(torch.randn(size))\n"
                               "    def forward(self, x):\n"
                               "        return torch.relu(x * self.weight + torch.arange(1000.0, "
                               "device=x.device))\n\n"
                               "def get_inputs():\n    return [torch.randn(512, 1000)]\n\n"
                               "def get_init_inputs():\n    return [1000]\n"),
                         {})
          .value();
  auto candidate = [](const std::string& table) {
    return "import torch\nimport triton\nimport triton.language as tl\n\n"
           "@triton.jit\n"
           "def scaled(x, w, t, y, N, BLOCK: tl.constexpr):\n"
           "    lane = tl.arange(0, BLOCK)\n"
           "    at, is_in = tl.program_id(0) * N + lane, lane < N\n"
           "    value = tl.load(x + at, mask=is_in) * tl.load(w + lane, mask=is_in)\n"
           "    value += tl.load(t + lane, mask=is_in)\n"
           "    tl.store(y + at, tl.maximum(value, 0.0), mask=is_in)\n\n"
           "class ModelNew(torch.nn.Module):\n"
           "    def __init__(self, size):\n"
           "        super().__init__()\n"
           "        self.weight = torch.nn.Parameter(torch.randn(size))\n"
           "        self.table = " +
           table +
           "\n"
           "    def forward(self, x):\n"
           "        y = torch.empty_like(x)\n"
           "        scaled[(512,)](x, self.weight, self.table, y, 1000, BLOCK=1024)\n"
           "        return y\n";
  };
  const task::Verdict right = judge_source(candidate("torch.arange(1000.0, device='cuda')"));
  EXPECT_EQ(right.outcome, Outcome::kPassed) << described(right);
  EXPECT_EQ(judge_source(candidate("torch.ones(1000, device='cuda')")).outcome,
            Outcome::kWrongValue);
}

// Tensor maps of the host's descriptors, without clusters and with two blocks each.
TEST_F(CudaTriton, HostDescriptorsAndClustersAreReplayed) {
  write("matmul/definition.json", R"({
    "name": "matmul", "op_type": "matmul", "axes": {"N": {"type": "const", "value": 512}},
    "inputs": {"a": {"shape": ["N", "N"], "dtype": "float16"},
               "b": {"shape": ["N", "N"], "dtype": "float16"}},
    "outputs": {"c": {"shape": ["N", "N"], "dtype": "float16"}},
    "reference": "def run(a, b):\n    return a @ b\n"})");
  write(
      "matmul/workloads.jsonl",
      R"({"definition": "matmul", "solution": null, "workload": {"uuid": "square", "axes": {}, "inputs": {"a": {"type": "random"}, "b": {"type": "random"}}}, "evaluation": null})"
      "\n");
  write("matmul/policy.toml", "schema = 1\n[workloads.square]\ntargets = [\"cuda\"]\n");
  request_.problem = task::load_problem(folder_->path() / "matmul", {}).value();
  auto candidate = [](const std::string& options, const std::string& last) {
    return "import torch\nimport triton\nimport triton.language as tl\n"
           "from triton.tools.tensor_descriptor import TensorDescriptor\n\n"
           "@triton.jit\n"
           "def matmul(a, b, c, K, BLOCK: tl.constexpr):\n"
           "    m, n = tl.program_id(0) * BLOCK, tl.program_id(1) * BLOCK\n"
           "    sums = tl.zeros((BLOCK, BLOCK), tl.float32)\n"
           "    for at in range(0, " +
           last +
           ", 64):\n"
           "        sums = tl.dot(a.load([m, at]), b.load([at, n]), sums)\n"
           "    c.store([m, n], sums.to(tl.float16))\n\n"
           "def run(a, b):\n"
           "    c = torch.empty_like(a)\n"
           "    given = [TensorDescriptor.from_tensor(t, list(block)) for t, block in ((a, (128, "
           "64)), (b, (64, 128)), (c, (128, 128)))]\n"
           "    matmul[(4, 4)](*given, 512, BLOCK=128, num_warps=8" +
           options +
           ")\n"
           "    return c\n";
  };
  for (const std::string options : {"", ", num_ctas=2"}) {
    const task::Verdict right = judge_source(candidate(options, "K"));
    EXPECT_EQ(right.outcome, Outcome::kPassed) << options << described(right);
    EXPECT_EQ(judge_source(candidate(options, "K - 64")).outcome, Outcome::kWrongValue) << options;
  }
}

}  // namespace
}  // namespace kw::gym
