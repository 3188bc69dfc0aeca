// Small problems, each made for one question, judged by the real gym without a clock.
#include <chrono>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gym/gym.h"
#include "os/file.h"
#include "task/candidate_source.h"
#include "task/definition_json.h"
#include "task/problem_source.h"
#include "task/workload_json.h"

namespace kw::gym {
namespace {

namespace fs = std::filesystem;
using task::Outcome;
using testing::Contains;
using testing::Field;

constexpr std::string_view kImports =
    "import torch\nfrom torch import nn\nimport torch.nn.functional as F\n";

class Verdicts : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = new os::TempDir(os::TempDir::make("kw-verdicts-").value());
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

  // A candidate "name.py" on the KernelBench problem of this text.
  static task::Verdict judge(const std::string& problem, const std::string& candidate,
                             const std::string& name = "candidate.py") {
    return judge(task::load_problem(write("problem.py", problem), {}).value(), candidate, name);
  }
  static task::Verdict judge(const task::Problem& problem, const std::string& candidate,
                             const std::string& name = "candidate.py") {
    EvalRequest request;
    request.options.timing = false;
    request.problem = problem;
    request.candidate = task::load_candidate(write(name, candidate)).value();
    auto judged = gym_->submit(request, std::chrono::steady_clock::time_point::max(), {}).get();
    if (judged) return *judged;
    ADD_FAILURE() << judged.error().message();
    return {};
  }
  static task::Verdict gelu_with_error(double error, int copy);

 private:
  static std::string write(const std::string& name, const std::string& text) {
    fs::path path = folder_->path() / name;
    std::ofstream(path) << (path.extension() == ".py" ? kImports : "") << text;
    return path;
  }

  static os::TempDir* folder_;
  static Gym* gym_;
};

os::TempDir* Verdicts::folder_ = nullptr;
Gym* Verdicts::gym_ = nullptr;

std::string described(const task::Verdict& verdict) {
  std::string text(task::to_string(verdict.outcome));
  if (!verdict.violation.empty()) text += " " + verdict.violation;
  for (const auto& workload : verdict.workloads)
    for (const auto& diagnostic : workload.diagnostics) text += "\n" + diagnostic.message;
  for (const auto& diagnostic : verdict.diagnostics) text += "\n" + diagnostic.message;
  return text;
}

constexpr const char* kLayerNorm = R"(
class Model(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.linear = nn.Linear(width, width)
        self.norm = nn.LayerNorm(width)
    def forward(self, x):
        return torch.relu(self.norm(self.linear(x)))
def get_inputs():
    return [torch.randn(16, 64)]
def get_init_inputs():
    return [64]
)";

constexpr const char* kHonestLayerNorm = R"(
class ModelNew(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.linear = nn.Linear(width, width)
        self.norm = nn.LayerNorm(width)
    def forward(self, x):
        y = self.linear(x)
        y = y - y.mean(-1, keepdim=True)
        y = y * torch.rsqrt(y.square().mean(-1, keepdim=True) + self.norm.eps)
        return torch.relu(y * self.norm.weight + self.norm.bias)
)";

TEST_F(Verdicts, BothRulesAcceptAnHonestCandidate) {
  task::Verdict verdict = judge(kLayerNorm, kHonestLayerNorm);
  EXPECT_EQ(verdict.outcome, Outcome::kPassed) << described(verdict);
  EXPECT_TRUE(verdict.kernelbench.compiled);
  EXPECT_TRUE(verdict.kernelbench.correctness);
}

// Deep networks have as many. What describes them is longer than a packet.
TEST_F(Verdicts, AModuleMayHaveAThousandParameters) {
  const auto module = [](const std::string& name, const std::string& mean) {
    return "class " + name + R"((nn.Module):
    def __init__(self):
        super().__init__()
        self.scales = nn.ParameterList([nn.Parameter(torch.randn(16)) for _ in range(1000)])
    def forward(self, x):
        return x * torch.stack(list(self.scales)).)" +
           mean + R"(
def get_inputs():
    return [torch.randn(8, 16)]
def get_init_inputs():
    return []
)";
  };
  const task::Verdict verdict =
      judge(module("Model", "mean(0)"), module("ModelNew", "sum(0) / 1000"));
  EXPECT_EQ(verdict.outcome, Outcome::kPassed) << described(verdict);
  EXPECT_EQ(judge(module("Model", "mean(0)"), module("ModelNew", "sum(0) / 999")).outcome,
            Outcome::kWrongValue);
}

// gelu with this error in the smallest result of each call. A copy is another text.
task::Verdict Verdicts::gelu_with_error(double error, int copy) {
  static const task::Problem problem = [] {
    auto whole = task::load_problem(KW_SOURCE_DIR "/problems/gelu", {}).value();
    whole.workloads = {whole.workloads.at(1)};  // odd sizes
    // Distributions of its own keep hard inputs away: an absolute error is many budgets there.
    whole.policy.workloads[whole.workloads[0].uuid].inputs["x"] = {};
    whole.policy.any_shape = false;
    return whole;
  }();
  return judge(problem, fmt::format("def run(x):\n"
                                    "    y = F.gelu(x)\n"
                                    "    flat = y.reshape(-1)\n"
                                    "    flat[flat.abs().argmin()] += {:.9e}\n"
                                    "    return y  # copy {}\n",
                                    error, copy));
}

// The candidate is the same one each time, and its error grows in proportion. An error near its
// budget is found by search.
TEST_F(Verdicts, AnErrorNearItsBudgetIsDecidedByFurtherDraws) {
  const auto share_of = [](const task::Verdict& verdict) {
    return verdict.workloads.at(0).errors.at(0).max_of_budget;
  };
  double error = 1e-7;
  task::Verdict verdict = gelu_with_error(error, 0);
  ASSERT_EQ(verdict.outcome, Outcome::kPassed) << described(verdict);
  ASSERT_FALSE(task::is_borderline(verdict));
  for (int i = 1; i < 8 && !verdict.workloads.at(0).borderline; ++i) {
    error /= share_of(verdict);
    verdict = gelu_with_error(error, i);
  }
  ASSERT_TRUE(verdict.workloads.at(0).borderline) << described(verdict);
  const task::Borderline found = *verdict.workloads[0].borderline;
  EXPECT_GE(found.largest, task::Borderline::kFrom);
  EXPECT_LE(found.largest, task::Borderline::kTo);
  EXPECT_EQ(found.further.size(), task::Borderline::kDraws);
  EXPECT_EQ(verdict.outcome == Outcome::kPassed, found.passes()) << described(verdict);
  EXPECT_THAT(described(verdict), testing::HasSubstr("two further draws decided"));
  // Budgets vary from call to call: the error may also be far within those of all calls but the
  // draws, which are the same ones.
  for (int copy = 8; copy < 11; ++copy) {
    const task::Verdict again = gelu_with_error(error, copy);
    if (!again.workloads.at(0).borderline) continue;
    EXPECT_EQ(again.outcome, verdict.outcome) << described(again);
    EXPECT_EQ(again.workloads[0].borderline->further, found.further);
  }
  // A quarter of a budget is clear of it, and ten budgets are far beyond.
  verdict = gelu_with_error(0.25 * error / found.largest, 0);
  EXPECT_EQ(verdict.outcome, Outcome::kPassed) << described(verdict);
  EXPECT_FALSE(verdict.workloads.at(0).borderline);
  verdict = gelu_with_error(10 * error / found.largest, 0);
  EXPECT_EQ(verdict.outcome, Outcome::kWrongValue) << described(verdict);
  EXPECT_FALSE(verdict.workloads.at(0).borderline);
}

TEST_F(Verdicts, AWrongModuleIsToldWhichParametersHaveNoCounterpart) {
  const std::string own_names = R"(
class ModelNew(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(width, width))
        self.norm = nn.LayerNorm(width)
    def forward(self, x):
        return torch.relu(self.norm(x @ self.weight.T))
)";
  task::Verdict verdict = judge(kLayerNorm, own_names);
  EXPECT_EQ(verdict.outcome, Outcome::kWrongValue);
  EXPECT_THAT(described(verdict),
              testing::HasSubstr("ModelNew has no parameter or buffer to take these of the "
                                 "problem: linear.weight [64, 64], linear.bias [64]; its own "
                                 "without a counterpart: weight [64, 64]"));
}

// A narrow output beside a float32 one: each has the budget and the lower precision of its dtype.
constexpr const char* kQuantize = R"(
class Model(nn.Module):
    def forward(self, x):
        scale = x.abs().amax(-1, keepdim=True) / 448.0
        return (x / scale).to(torch.float8_e4m3fn), scale
def get_inputs():
    return [torch.randn(6, 128)]
def get_init_inputs():
    return []
)";

std::string quantize_in(const std::string& dtype) {
  return R"(
class ModelNew(nn.Module):
    def forward(self, x):
        scale = (x.)" +
         dtype + R"(().abs().max(-1, keepdim=True).values / 448.0).float()
        return (x * (1 / scale)).to(torch.float8_e4m3fn), scale
)";
}

TEST_F(Verdicts, OutputsOfSeveralDtypesHaveTheirOwnBudgets) {
  task::Verdict verdict = judge(kQuantize, quantize_in("float"));
  EXPECT_EQ(verdict.outcome, Outcome::kPassed) << described(verdict);
  verdict = judge(kQuantize, quantize_in("bfloat16"));
  EXPECT_EQ(verdict.outcome, Outcome::kWrongValue) << described(verdict);
}

// Rows in which relu leaves nothing: the mean of five equal numbers is off by rounding, and a norm
// divides that by the square root of its eps.
constexpr const char* kConstantRows = R"(
class Model(nn.Module):
    def forward(self, x):
        return F.layer_norm(torch.relu(x) - 3.6, (5,), eps=1e-5)
def get_inputs():
    return [torch.randn(2048, 5)]
def get_init_inputs():
    return []
)";

std::string norm_with(const std::string& eps) {
  return R"(
class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.relu(x) - 3.6
        total = y[:, 0] + y[:, 1] + y[:, 2] + y[:, 3] + y[:, 4]
        y = y - (total / 5)[:, None]
        return y / (y.square().mean(-1, keepdim=True) + )" +
         eps + R"().sqrt()
)";
}

TEST_F(Verdicts, NormsOfConstantRowsRound) {
  task::Verdict verdict = judge(kConstantRows, norm_with("1e-5"));
  EXPECT_EQ(verdict.outcome, Outcome::kPassed) << described(verdict);
  verdict = judge(kConstantRows, norm_with("2e-5"));
  EXPECT_EQ(verdict.outcome, Outcome::kWrongValue) << described(verdict);
}

// A norm's weights are 1 and 0 when it is made: KernelBench never sees that they are left out.
TEST_F(Verdicts, KernelBenchAcceptsWhatLeavesOutConstantWeights) {
  task::Verdict verdict = judge(kLayerNorm, R"(
class ModelNew(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.linear = nn.Linear(width, width)
    def forward(self, x):
        return torch.relu(F.layer_norm(self.linear(x), (x.shape[-1],)))
)");
  EXPECT_EQ(verdict.outcome, Outcome::kWrongValue) << described(verdict);
  EXPECT_TRUE(verdict.kernelbench.correctness);
}

TEST_F(Verdicts, KernelBenchAcceptsWhatWritesToItsInputs) {
  task::Verdict verdict = judge(kLayerNorm, R"(
class ModelNew(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.linear = nn.Linear(width, width)
        self.norm = nn.LayerNorm(width)
    def forward(self, x):
        out = torch.relu(self.norm(self.linear(x)))
        x.zero_()
        return out
)");
  EXPECT_EQ(verdict.outcome, Outcome::kViolation) << described(verdict);
  EXPECT_EQ(verdict.violation, "input_write");
  EXPECT_TRUE(verdict.kernelbench.correctness);
}

// There equal weights come from equal seeds alone, so another order of parameters is wrong.
TEST_F(Verdicts, KernelBenchRefusesAnotherOrderOfParameters) {
  task::Verdict verdict = judge(kLayerNorm, R"(
class ModelNew(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.scratch = nn.Parameter(torch.randn(width))
        self.linear = nn.Linear(width, width)
        self.norm = nn.LayerNorm(width)
    def forward(self, x):
        return torch.relu(self.norm(self.linear(x)))
)");
  EXPECT_EQ(verdict.outcome, Outcome::kPassed) << described(verdict);
  EXPECT_TRUE(verdict.kernelbench.compiled);
  EXPECT_FALSE(verdict.kernelbench.correctness);
}

TEST_F(Verdicts, KernelBenchRefusesWrongValues) {
  task::Verdict verdict = judge(kLayerNorm, R"(
class ModelNew(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.linear = nn.Linear(width, width)
    def forward(self, x):
        return torch.relu(self.linear(x))
)");
  EXPECT_EQ(verdict.outcome, Outcome::kWrongValue) << described(verdict);
  EXPECT_FALSE(verdict.kernelbench.correctness);
}

// A kernel that takes a permuted tensor for a dense one is right here, and not everywhere.
TEST_F(Verdicts, InputsThatGetInputsMakesAsViewsAreARisk) {
  const auto problem = [](const std::string& inputs) {
    return "class Model(nn.Module):\n    def forward(self, x):\n        return torch.sin(x)\n"
           "def get_init_inputs():\n    return []\ndef get_inputs():\n    return [" +
           inputs + "]\n";
  };
  constexpr const char* kDense = R"(
class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty(x.shape)
        y.view(-1)[:] = torch.sin(torch.as_strided(x, (x.numel(),), (1,)))
        return y
)";
  constexpr const char* kRisk = "get_inputs() makes x with strides of a view";
  task::Verdict verdict = judge(problem("torch.randn(4, 20, 3).permute(0, 2, 1)"), kDense);
  EXPECT_EQ(verdict.outcome, Outcome::kPassed) << described(verdict);
  EXPECT_THAT(described(verdict), testing::HasSubstr(kRisk));
  verdict = judge(problem("torch.randn(4, 3, 20)"), kDense);
  EXPECT_THAT(described(verdict), testing::Not(testing::HasSubstr(kRisk)));
}

TEST_F(Verdicts, AReferenceMayWriteToItsInputs) {
  constexpr const char* kProblem = R"(
class Model(nn.Module):
    def forward(self, x, w):
        return F.relu(x, inplace=True).mul_(2) + w
def get_init_inputs():
    return []
def get_inputs():
    return [torch.randn(8, 16), torch.randn(16)]
)";
  constexpr const char* kCandidate = R"(
class ModelNew(nn.Module):
    def forward(self, x, w):
        return torch.relu(x) * 2 + w
)";
  task::Verdict verdict = judge(kProblem, kCandidate);
  EXPECT_EQ(verdict.outcome, Outcome::kPassed) << described(verdict);
  EXPECT_THAT(described(verdict), testing::HasSubstr("the reference writes to x; in each call"));
  verdict = judge(kProblem, std::string(kCandidate) + "        # next\n" +
                                "    forward_of = forward\n    def forward(self, x, w):\n"
                                "        return self.forward_of(x, w) - x\n");
  EXPECT_EQ(verdict.outcome, Outcome::kWrongValue) << described(verdict);
}

// KernelBook's rows make their configurations so.
TEST_F(Verdicts, ConfigurationsAreHandedOver) {
  constexpr const char* kProblem = R"(
from _paritybench_helpers import _mock_config
class Model(nn.Module):
    def __init__(self, config, bias):
        super().__init__()
        self.scale = config.inner.scale
        self.bias = config['biases'][0] + bias
    def forward(self, x):
        return x * self.scale + self.bias
def get_inputs():
    return [torch.randn(4, 4)]
def get_init_inputs():
    return [[], {'config': _mock_config(biases=[2, 3], inner=_mock_config(scale=0.5)), 'bias': 1}]
)";
  constexpr const char* kCandidate = R"(
class ModelNew(nn.Module):
    def __init__(self, config, bias):
        super().__init__()
        assert not hasattr(config, 'absent')
        self.numbers = config.inner.scale, config.biases[0] + bias
    def forward(self, x):
        return torch.add(x * self.numbers[0], self.numbers[1])
)";
  task::Verdict verdict = judge(kProblem, kCandidate);
  EXPECT_EQ(verdict.outcome, Outcome::kPassed) << described(verdict);
  verdict = judge(kProblem, std::string(kCandidate) + "# wrong\n" + R"(
class ModelNew(ModelNew):
    def forward(self, x):
        return super().forward(x) + self.numbers[0]
)");
  EXPECT_EQ(verdict.outcome, Outcome::kWrongValue) << described(verdict);
}

// SOL-ExecBench's: computed axes, and a function of the reference that makes the inputs.
TEST_F(Verdicts, ADefinitionMayMakeItsInputs) {
  task::Problem problem;
  problem.name = "pick_rows";
  problem.body = task::definition_from_json(*parse_json(R"({"name": "pick_rows", "axes": {
      "rows": {"type": "var"}, "width": {"type": "const", "value": 8},
      "picks": {"type": "expr", "expression": "rows * 2"}},
      "inputs": {"x": {"shape": ["rows", "width"], "dtype": "float32"},
                 "place": {"shape": ["picks"], "dtype": "int64"}},
      "outputs": {"y": {"shape": ["picks", "width"], "dtype": "float32"}},
      "custom_inputs_entrypoint": "make",
      "reference": "import torch\ndef make(numbers, device):\n    rows = numbers['rows']\n    assert numbers['picks'] == 2 * rows\n    return {'place': torch.randint(0, rows, (2 * rows,), device=device), 'x': torch.randn(rows, 8)}\ndef run(x, place):\n    return x[place]\n"})"),
                                            "")
                     .value();
  problem.workloads =
      task::workloads_from_jsonl(R"({"uuid": "w", "axes": {"rows": 33}, "inputs":)"
                                 R"( {"x": {"type": "custom"}, "place": {"type": "custom"}}})",
                                 problem.definition(), "w.jsonl")
          .value();
  problem.hash = task::problem_hash(problem);
  const auto candidate = [](const std::string& value) {
    return "def run(x, place):\n    return " + value + "\n";
  };
  task::Verdict verdict = judge(problem, candidate("torch.index_select(x, 0, place)"));
  EXPECT_EQ(verdict.outcome, Outcome::kPassed) << described(verdict);
  verdict = judge(problem, candidate("torch.index_select(x, 0, place.clamp(max=31))"));
  EXPECT_EQ(verdict.outcome, Outcome::kWrongValue) << described(verdict);
}

TEST_F(Verdicts, AnExceptionOfACppCandidateIsARuntimeErrorWithItsText) {
  const task::Verdict verdict = judge(kLayerNorm,
                                      R"(#include <stdexcept>
extern "C" void run(const float*, const float*, const float*, const float*, const float*, float*) {
  throw std::runtime_error("the rows are odd");
}
)",
                                      "candidate.cpp");
  EXPECT_EQ(verdict.outcome, Outcome::kRuntimeError);
  EXPECT_THAT(described(verdict), testing::HasSubstr("it raised an exception during a call"));
  EXPECT_THAT(described(verdict), testing::HasSubstr("the rows are odd"));
}

// A C++ candidate has no weights of its own: it gets those of seed 42.
TEST_F(Verdicts, KernelBenchsTrialsOfACppCandidate) {
  constexpr const char* kProblem = R"(
class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.randn(64))
    def forward(self, x):
        return x * self.scale
def get_inputs():
    return [torch.randn(16, 64)]
def get_init_inputs():
    return []
)";
  auto judge_cpp = [&](const std::string& factor) {
    return judge(kProblem,
                 R"(extern "C" void run(const float* x, const float* scale, float* out) {
  for (int i = 0; i < 16 * 64; ++i) out[i] = x[i] * scale[i % 64])" +
                     factor + ";\n}\n",
                 "candidate.cpp");
  };
  task::Verdict right = judge_cpp("");
  EXPECT_EQ(right.outcome, Outcome::kPassed) << described(right);
  EXPECT_TRUE(right.kernelbench.correctness);
  task::Verdict wrong = judge_cpp(" * 1.01f");
  EXPECT_EQ(wrong.outcome, Outcome::kWrongValue) << described(wrong);
  EXPECT_FALSE(wrong.kernelbench.correctness);
}

// Its bits are looked at as int32, which float64 does not have.
constexpr const char* kBits = R"(
class Model(nn.Module):
    def forward(self, x, y):
        magnitude = (x.view(torch.int32) & 0x7fffffff).view(torch.float32)
        return torch.softmax(magnitude @ y, -1)
def get_inputs():
    return [torch.randn(32, 256), torch.randn(256, 64)]
def get_init_inputs():
    return []
)";

TEST_F(Verdicts, TwoImplementationsWhereFloat64DoesNotRun) {
  task::Verdict verdict = judge(kBits, R"(
class ModelNew(nn.Module):
    def forward(self, x, y):
        z = x.abs()[:, :128] @ y[:128] + x.abs()[:, 128:] @ y[128:]
        e = torch.exp(z - z.max(-1, keepdim=True).values)
        return e / e.sum(-1, keepdim=True)
)");
  EXPECT_EQ(verdict.outcome, Outcome::kPassed) << described(verdict);
  EXPECT_THAT(verdict.diagnostics, Contains(Field(&task::Diagnostic::kind, "oracle")));
}

TEST_F(Verdicts, TwoImplementationsFindLowerPrecision) {
  task::Verdict verdict = judge(kBits, R"(
class ModelNew(nn.Module):
    def forward(self, x, y):
        return torch.softmax((x.abs().bfloat16() @ y.bfloat16()).float(), -1)
)");
  EXPECT_EQ(verdict.outcome, Outcome::kWrongValue) << described(verdict);
}

TEST_F(Verdicts, Float64IsNotMentionedWhereItRan) {
  task::Verdict verdict = judge(kLayerNorm, kHonestLayerNorm);
  EXPECT_THAT(verdict.diagnostics,
              testing::Not(Contains(Field(&task::Diagnostic::kind, "oracle"))));
}

}  // namespace
}  // namespace kw::gym
