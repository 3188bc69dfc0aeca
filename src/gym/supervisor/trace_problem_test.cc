// The request to the tracer for a workload, and the reasons why no graph comes.
#include "gym/supervisor/trace_problem.h"

#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gym/protocol.h"
#include "gym/supervisor/testing/fake_session.h"

namespace kw::gym {
namespace {

using sandbox::FakeLaunch;
using ::testing::HasSubstr;

constexpr std::uint32_t kDone = 0, kReferenceFails = 1, kNoGraph = 3;

class TraceProblemTest : public ::testing::Test {
 protected:
  TraceProblemTest() { request_.problem = testing::line_problem(); }

  Result<std::string> trace(const std::stop_token& stop = {}) {
    return trace_problem(*sessions_.roles.roles, sessions_.lease, request_, stop);
  }
  // The tracer takes one request, writes the text and answers.
  void will_answer(std::uint32_t status, const std::string& text) {
    sessions_.roles.launches.on_launch = [this, status, text](FakeLaunch& launch) {
      tracer_ = std::jthread([this, status, text, control = std::move(launch.spec.control)] {
        os::Message message = os::receive_message(control.get(), std::chrono::seconds(10)).value();
        asked_ = message.body;
        auto out = os::Mapping::shared(message.fds.at(0).get(), text.size() + 1, true).value();
        std::copy(text.begin(), text.end(), reinterpret_cast<char*>(out.data()));
        OracleReply reply{};
        reply.status = status;
        reply.text_bytes = text.size();
        EXPECT_TRUE(os::send_struct(control.get(), &reply, sizeof reply));
      });
    };
  }
  // The tracer ends before it has read anything.
  void will_end(sandbox::Exit exit) {
    sessions_.roles.launches.on_launch = [exit](FakeLaunch& launch) {
      launch.spec.control.reset();
      launch.exit = exit;
    };
  }
  Error error(const std::stop_token& stop = {}) {
    auto graph = trace(stop);
    EXPECT_FALSE(graph);
    return graph ? Error(ErrorCode::kInternal, "") : graph.error();
  }

  testing::FakeSessions sessions_;
  TraceRequest request_;
  Json asked_;
  std::jthread tracer_;
};

TEST_F(TraceProblemTest, ADefinitionIsTracedAtItsWorkload) {
  will_answer(kDone, "a graph");
  auto graph = trace();
  ASSERT_TRUE(graph) << graph.error().message();
  EXPECT_EQ(*graph, "a graph");
  tracer_.join();
  EXPECT_EQ(asked_["op"], "trace");
  EXPECT_EQ(asked_["kind"], "definition");
  EXPECT_EQ(asked_["axes"], Json::parse(R"([["N", 256]])"));
  EXPECT_EQ(asked_["inputs"][0]["name"], "x");
  EXPECT_EQ(asked_["output_count"], 1);
  EXPECT_EQ(sessions_.roles.launches.launches.at(0)->spec.role, "tracer");
}

TEST_F(TraceProblemTest, TheWorkloadIsTheNamedOneOrTheFirstForTheCpu) {
  auto add = [&](const std::string& uuid, std::int64_t n, task::Target target) {
    task::Problem& problem = request_.problem;
    problem.workloads.push_back(problem.workloads[0]);
    problem.workloads.back().uuid = uuid;
    problem.workloads.back().axes = {{"N", n}};
    problem.policy.workloads[uuid].targets = {target};
  };
  request_.problem.policy.workloads["w"].targets = {task::Target::kCuda};
  add("here", 3, task::Target::kCpu);
  add("interpreted", 5, task::Target::kInterpret);
  for (auto [uuid, n] : {std::pair("", 3), {"here", 3}, {"interpreted", 5}, {"w", 256}}) {
    request_.workload = uuid;
    will_answer(kDone, "a graph");
    ASSERT_TRUE(trace());
    tracer_.join();
    EXPECT_EQ(asked_["axes"][0][1], n) << uuid;
  }
  request_.workload = "nowhere";
  EXPECT_EQ(error().code(), ErrorCode::kNotFound);
  request_.problem.workloads.clear();
  EXPECT_EQ(error().code(), ErrorCode::kInvalidArgument);
}

TEST_F(TraceProblemTest, FailuresAreTheProblemsOrALackOfSupport) {
  will_answer(kReferenceFails, "run: x is \x1bnot here");
  Error failed = error();
  EXPECT_EQ(failed.code(), ErrorCode::kInvalidArgument);
  EXPECT_THAT(failed.message(), HasSubstr("line: the reference fails: run: x is"));
  EXPECT_EQ(failed.message().find('\x1b'), std::string::npos);  // printable
  will_answer(kNoGraph, "a loop over values");
  Error unsupported = error();
  EXPECT_EQ(unsupported.code(), ErrorCode::kUnsupported);
  EXPECT_EQ(unsupported.message(), "line: no graph: a loop over values");
}

TEST_F(TraceProblemTest, ATracerThatEndsSaysWhy) {
  sandbox::Exit exit;
  exit.out_of_memory = true;
  will_end(exit);
  Error out_of_memory = error();
  EXPECT_EQ(out_of_memory.code(), ErrorCode::kResourceExhausted);
  EXPECT_THAT(out_of_memory.message(), HasSubstr("--set NAME=VALUE"));
  will_end({});
  EXPECT_EQ(error().code(), ErrorCode::kInvalidArgument);
}

TEST_F(TraceProblemTest, ItEndsByItsDeadlineOrAStop) {
  request_.timeout_seconds = 0;
  EXPECT_EQ(error().code(), ErrorCode::kDeadlineExceeded);  // nobody answers
  request_.timeout_seconds = 1000;
  std::stop_source stop;
  stop.request_stop();
  EXPECT_EQ(error(stop.get_token()).code(), ErrorCode::kCancelled);
}

}  // namespace
}  // namespace kw::gym
