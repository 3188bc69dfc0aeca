#include "gym/eval_request.h"

#include <fstream>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "task/candidate_source.h"
#include "task/problem_source.h"

namespace kw::gym {
namespace {

using testing::HasSubstr;

EvalRequest relu_request() {
  const std::string root = KW_SOURCE_DIR;
  EvalRequest out;
  out.problem = task::load_problem(root + "/problems/relu", {}).value();
  out.candidate = task::load_candidate(root + "/examples/relu/good.cpp").value();
  out.options.threads = 2;
  out.options.baseline =
      task::candidate_from_source("theirs.py", "def run(x):\n    return x.clamp(min=0)\n").value();
  out.tenant = "team";
  out.trajectory = "t-7";
  out.turn = 3;
  out.priority = -1;
  return out;
}

// The form of docs/formats/request.md, which other versions have stored. KW_ACCEPT=1 writes it.
TEST(EvalRequest, TheGoldenFileIsWrittenAndRead) {
  const std::string path = std::string(KW_SOURCE_DIR) + "/src/gym/testdata/request.json";
  const EvalRequest request = relu_request();
  const auto json = to_json(request);
  ASSERT_TRUE(json) << json.error().message();
  if (std::getenv("KW_ACCEPT") != nullptr) std::ofstream(path) << json->dump(2) << "\n";
  std::stringstream golden;
  golden << std::ifstream(path).rdbuf();
  EXPECT_EQ(json->dump(2) + "\n", golden.str());
  const auto again = eval_request_from_json(parse_json(golden.str()).value(), "");
  ASSERT_TRUE(again) << again.error().message();
  EXPECT_EQ(again->hash(), request.hash());
  EXPECT_EQ(again->problem.hash, request.problem.hash);
  EXPECT_EQ(again->candidate.name, request.candidate.name);
  EXPECT_EQ(again->tenant, "team");
  EXPECT_EQ(again->trajectory, "t-7");
  EXPECT_EQ(again->turn, 3);
  EXPECT_EQ(again->priority, -1);
}

TEST(EvalRequest, AnEditedBaselineIsAnotherRequest) {
  EvalRequest a = relu_request(), b = relu_request();
  EXPECT_EQ(a.hash(), b.hash());
  b.options.baseline =
      task::candidate_from_source("theirs.py", "def run(x):\n    return x.relu()\n").value();
  EXPECT_NE(a.hash(), b.hash());
}

TEST(EvalRequest, WhoAsksIsNoPartOfTheHash) {
  EvalRequest other = relu_request();
  other.tenant = "others";
  other.priority = 5;
  other.turn = 0;
  EXPECT_EQ(other.hash(), relu_request().hash());
}

TEST(EvalRequest, ErrorsNameTheKey) {
  const Json good = to_json(relu_request()).value();
  const auto message = [&](const char* pointer, const Json& value) {
    Json bad = good;
    bad[Json::json_pointer(pointer)] = value;
    const auto read = eval_request_from_json(bad, "r");
    return read ? "no error" : read.error().message();
  };
  EXPECT_THAT(message("/schema", 2), HasSubstr("r.schema"));
  EXPECT_THAT(message("/turn", 1LL << 40), HasSubstr("r.turn"));
  EXPECT_THAT(message("/options/threads", 0), HasSubstr("r.options.threads"));
  EXPECT_THAT(message("/candidate/hash", "0"), HasSubstr("r.candidate.hash"));
  EXPECT_THAT(message("/problem/hash", "0"), HasSubstr("problem.hash"));
  EXPECT_THAT(message("/tenat", ""), HasSubstr("tenant"));
}

}  // namespace
}  // namespace kw::gym
