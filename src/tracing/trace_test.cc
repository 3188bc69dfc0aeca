#include "tracing/trace.h"

#include <gtest/gtest.h>

namespace kw::tracing {
namespace {

// Answers as the tracer's process would.
class FakeTarget : public gym::Target {
 public:
  explicit FakeTarget(Result<std::string> answer) : answer_(std::move(answer)) {}
  std::string name() const override { return "cpu"; }
  gym::Capabilities capabilities() const override { return {}; }
  Result<task::Verdict> judge(const gym::EvalRequest&, std::stop_token) override {
    return fail(ErrorCode::kUnsupported, "fake");
  }
  Result<task::Signature> describe(const task::Problem&) override {
    return fail(ErrorCode::kUnsupported, "fake");
  }
  Result<std::string> trace(const gym::TraceRequest&, const std::stop_token&) override {
    return answer_;
  }

 private:
  Result<std::string> answer_;
};

Result<writer::Graph> traced(Result<std::string> answer) {
  std::vector<std::unique_ptr<gym::Target>> targets;
  targets.push_back(std::make_unique<FakeTarget>(std::move(answer)));
  auto gym = gym::Gym::with_targets(std::move(targets), 1);
  gym::TraceRequest request;
  request.problem.name = "relu";
  return trace(*gym, request, {});
}

TEST(Trace, ReadsTheGraph) {
  auto graph = traced(std::string(
      R"({"schema":1,"sizes":{"N":4},"conditions":[],
          "inputs":[{"name":"x","role":"input","dtype":"float32","shape":["N"]}],
          "nodes":[{"op":"relu.default","arguments":{"self":{"input":"x"}},
                    "outputs":[{"dtype":"float32","shape":["N"]}],"line":3}],
          "outputs":[{"node":0}]})"));
  ASSERT_TRUE(graph) << graph.error().message();
  EXPECT_EQ(writer::to_text(*graph),
            "sizes N=4\ninput x: float32[N]\n%0 = relu.default(self=x) -> float32[N]  # line 3\n"
            "return %0\n");
}

TEST(Trace, AHostileTextIsAnError) {
  auto graph = traced(std::string(R"({"schema":1,"sizes":{},"conditions":[],"inputs":[],"nodes":[],
                                      "outputs":[{"node":0}]})"));
  ASSERT_FALSE(graph);
  EXPECT_EQ(graph.error().message(),
            "graph of relu: outputs: uses node 0, which is not made before");
}

TEST(Trace, ErrorsPass) {
  auto graph = traced(fail(ErrorCode::kUnsupported, "relu: no graph: line 7"));
  ASSERT_FALSE(graph);
  EXPECT_EQ(graph.error().code(), ErrorCode::kUnsupported);
}

}  // namespace
}  // namespace kw::tracing
