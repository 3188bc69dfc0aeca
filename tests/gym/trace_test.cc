// Traces by the real gym: problems of both kinds, and problems that do not want to be traced.
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gym/gym.h"
#include "os/file.h"
#include "task/problem_source.h"
#include "task/settings.h"
#include "writer/graph/graph.h"

namespace kw::gym {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

constexpr const char* kScaledSum = R"({"name": "scaled_sum", "op_type": "reduction",
  "axes": {"M": {"type": "var"}, "N": {"type": "var"}},
  "inputs": {"x": {"shape": ["M", "N"], "dtype": "float32"},
             "w": {"shape": ["N"], "dtype": "float32"}, "a": {"shape": null, "dtype": "float32"}},
  "outputs": {"y": {"shape": ["M"], "dtype": "float32"}},
  "reference": "def run(x, w, a):\n    return (x * w).sum(dim=-1) * (1 - a)\n"})";
constexpr const char* kWorkload =
    R"({"uuid": "w", "axes": {"M": 8, "N": 8}, "inputs": )"
    R"({"x": {"type": "random"}, "w": {"type": "random"}, "a": {"type": "scalar", "value": 0.5}}})";

constexpr const char* kModule = R"(import torch
import torch.nn as nn

rows = 4000000
columns = 16


class Model(nn.Module):
    def __init__(self, columns):
        super().__init__()
        self.fc = nn.Linear(columns, 12)
        self.bn = nn.BatchNorm1d(12)

    def forward(self, x):
        FORWARD


def get_inputs():
    return [torch.randn(rows, columns)]


def get_init_inputs():
    return [columns]
)";

// The gym's text, read as the writer reads it.
Result<writer::Graph> trace(Gym& gym, const TraceRequest& request, const std::stop_token& stop) {
  KW_TRY(std::string text, gym.trace(request, task::Target::kCpu, stop));
  return writer::graph_from_json(text, "graph of " + request.problem.name);
}

class Trace : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = new os::TempDir(os::TempDir::make("kw-trace-").value());
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

  static TraceRequest definition() {
    const fs::path folder = folder_->path() / "definition";
    fs::create_directories(folder);
    std::ofstream(folder / "definition.json") << kScaledSum;
    std::ofstream(folder / "workloads.jsonl") << kWorkload << "\n";
    std::ofstream(folder / "policy.toml") << "schema = 1\nstatic = [\"w\"]\n";
    TraceRequest request;
    request.problem = task::load_problem(folder.string(), {}).value();
    return request;
  }

  static TraceRequest module(const std::string& forward,
                             const std::vector<std::string>& settings = {}) {
    std::string source = kModule;
    const std::string word = "FORWARD";
    source.replace(source.find(word), word.size(), forward);
    const fs::path file = folder_->path() / "1_Module.py";
    std::ofstream(file) << source;
    TraceRequest request;
    request.problem =
        task::load_problem(file.string(), task::parse_settings(settings).value()).value();
    return request;
  }

  static Error error_of(const TraceRequest& request) {
    auto graph = trace(*gym_, request, {});
    return graph ? Error(ErrorCode::kInternal, "traced") : graph.error();
  }

  static os::TempDir* folder_;
  static Gym* gym_;
};
os::TempDir* Trace::folder_ = nullptr;
Gym* Trace::gym_ = nullptr;

TEST_F(Trace, ADefinitionHasItsAxes) {
  auto graph = trace(*gym_, definition(), {});
  ASSERT_TRUE(graph) << graph.error().message();
  EXPECT_EQ(writer::to_text(*graph),
            "sizes M=8 N=8\n"
            "input x: float32[M, N]\n"
            "scalar a: float64[]\n"
            "static w: float32[N]\n"
            "%0 = mul.Tensor(self=x, other=w) -> float32[M, N]  # line 2\n"
            "%1 = sum.dim_IntList(self=%0, dim=[1], keepdim=False, dtype=None) -> float32[M]  # "
            "line 2\n"
            "%2 = mul.Tensor(self=-1.0, other=a) -> float64[]  # line 2\n"
            "%3 = add.Tensor(self=1.0, other=%2, alpha=1) -> float64[]  # line 2\n"
            "%4 = mul.Tensor(self=%1, other=%3) -> float32[M]  # line 2\n"
            "return %4\n");
}

TEST_F(Trace, AModuleHasItsDimensions) {
  auto graph = trace(*gym_, module("return torch.relu(self.bn(self.fc(x)))", {"columns=20"}), {});
  ASSERT_TRUE(graph) << graph.error().message();
  EXPECT_EQ(writer::to_text(*graph),
            "sizes fc_weight_0=12 x_0=4000000 x_1=20\n"
            "input x: float32[x_0, x_1]\n"
            "static fc_weight: float32[fc_weight_0, x_1]\n"
            "static fc_bias: float32[fc_weight_0]\n"
            "static bn_weight: float32[fc_weight_0]\n"
            "static bn_bias: float32[fc_weight_0]\n"
            "%0 = permute.default(self=fc_weight, dims=[1, 0]) -> float32[x_1, fc_weight_0]  # "
            "line 15\n"
            "%1 = addmm.default(self=fc_bias, mat1=x, mat2=%0, beta=1, alpha=1) -> float32[x_0, "
            "fc_weight_0]  # line 15\n"
            "%2 = _native_batch_norm_legit.no_stats(input=%1, weight=bn_weight, bias=bn_bias, "
            "training=True, momentum=0.1, eps=1e-05) -> float32[x_0, fc_weight_0], float32[0], "
            "float32[0]  # line 15\n"
            "%3 = relu.default(self=%2.0) -> float32[x_0, fc_weight_0]  # line 15\n"
            "return %3\n");
}

TEST_F(Trace, WhatHasNoGraphSaysSoWithItsLine) {
  Error error = error_of(module("return x * x.sum().item()"));
  EXPECT_EQ(error.code(), ErrorCode::kUnsupported);
  EXPECT_THAT(error.message(), HasSubstr("1_Module: no graph: line 15: _local_scalar_dense"));
  error = error_of(module("return x @ x"));
  EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument);
  EXPECT_THAT(error.message(), HasSubstr("1_Module: the reference fails: line 15: RuntimeError"));
}

TEST_F(Trace, HostileCodeEndsItsOwnProcessOnly) {
  EXPECT_THAT(error_of(module("import os; os._exit(0)")).message(),
              HasSubstr("the problem's code ended the tracer"));
  TraceRequest slow = module("import time; time.sleep(1000)");
  slow.timeout_seconds = 1;
  Error error = error_of(slow);
  EXPECT_EQ(error.code(), ErrorCode::kDeadlineExceeded);
  EXPECT_EQ(error.message(), "the trace did not finish within 1 s");
  // What it writes itself is read like any stranger's text.
  error = error_of(
      module("import os, struct; [os.write(3, struct.pack('<IIQ6Q', 0, 0, 2**40, *[0] * 6)), "
             "os._exit(0)]"));
  EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument);
  EXPECT_THAT(error.message(), HasSubstr("graph of 1_Module: "));
  EXPECT_TRUE(trace(*gym_, definition(), {}));
}

}  // namespace
}  // namespace kw::gym
