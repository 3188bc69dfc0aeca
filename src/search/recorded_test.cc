// Recorded answers: what a file may hold, and what is wrong in one.
#include "search/recorded.h"

#include <fstream>

#include <gtest/gtest.h>

#include "os/file.h"

namespace kw::search {
namespace {

class RecordedTest : public testing::Test {
 protected:
  Result<std::unique_ptr<RecordedProposer>> load(const std::string& text) {
    std::ofstream(path) << text;
    return RecordedProposer::load(path);
  }
  std::string error_of(const std::string& text) {
    auto loaded = load(text);
    return loaded ? "" : loaded.error().message().substr(path.string().size());
  }
  Result<Proposed> ask(RecordedProposer& from, const std::string& problem, int attempt) {
    ProposalRequest request;
    request.key = problem;
    request.attempt = attempt;
    return from.propose(request, {});
  }

  os::TempDir temporary = os::TempDir::make("kw_recorded").value();
  std::filesystem::path path = temporary.path() / "answers.jsonl";
};

TEST_F(RecordedTest, AnswersByProblemAndAttempt) {
  auto from = load(
      R"({"problem": "p", "attempt": 1, "answer": "one", "by": "m", "label": "tiled", "finish": "length", "reasoning": "why", "suspicion": "empty",)"
      R"( "usage": {"prompt_tokens": 3, "completion_tokens": 4, "cost_usd": 0.5}})"
      "\n\n"
      R"({"problem": "q", "attempt": 0, "answer": "two"})"
      "\n");
  ASSERT_TRUE(from) << from.error().message();
  auto one = std::get<Proposal>(ask(**from, "p", 1).value());
  EXPECT_EQ(one.answer, "one");
  EXPECT_EQ(one.by, "m");
  EXPECT_EQ(one.label, "tiled");
  EXPECT_EQ(one.reasoning, "why");
  EXPECT_EQ(one.suspicion, "empty");
  EXPECT_EQ(one.finish, text::Finish::kLength);
  EXPECT_EQ(one.usage, (text::Usage{3, 4, 0.5}));
  EXPECT_EQ(std::get<Proposal>(ask(**from, "q", 0).value()).by, "recorded");
  EXPECT_TRUE(std::holds_alternative<Exhausted>(ask(**from, "p", 0).value()));
}

TEST_F(RecordedTest, ErrorsComeOnceBeforeTheAnswer) {
  auto from = load(
      R"({"problem": "p", "attempt": 0, "answer": "a", "errors": [{"code": "unavailable", "message": "gone"}]})");
  ASSERT_TRUE(from);
  const auto none = std::get<NoAnswer>(ask(**from, "p", 0).value());
  EXPECT_EQ(none.failed.at(0).error.code(), ErrorCode::kUnavailable);
  EXPECT_TRUE(none.again);
  EXPECT_EQ(std::get<Proposal>(ask(**from, "p", 0).value()).answer, "a");
}

TEST_F(RecordedTest, AnErrorMayHaveAKindAndACost) {
  auto from = load(
      R"({"problem": "p", "attempt": 0, "answer": "a", "errors": [{"code": "resource_exhausted", "message": "no money", "kind": "refused",)"
      R"( "again": false, "usage": {"prompt_tokens": 3, "cost_usd": 0.5, "estimated": true}}]})");
  ASSERT_TRUE(from) << from.error().message();
  const auto none = std::get<NoAnswer>(ask(**from, "p", 0).value());
  EXPECT_FALSE(none.again);
  EXPECT_EQ(none.failed.at(0).kind, "refused");
  EXPECT_EQ(none.failed.at(0).usage, (text::Usage{3, 0, 0.5, true}));
}

TEST_F(RecordedTest, WhatIsWrongIsNamed) {
  EXPECT_EQ(error_of("{}\n"), ":1: problem: missing");
  EXPECT_EQ(error_of(R"({"problem": "p", "attempt": -1, "answer": "a"})"),
            ":1: attempt: -1 is out of range");
  EXPECT_EQ(error_of(R"({"problem": "p", "attempt": 0, "answer": "a", "finish": "done"})"),
            ":1: finish: unknown \"done\"");
  EXPECT_NE(error_of(R"({"problem": "p", "attempt": 0, "answer": "a", "labell": "x"})")
                .find("did you mean"),
            std::string::npos);
  EXPECT_EQ(error_of("{\"problem\": \"p\", \"attempt\": 0, \"answer\": \"a\"}\n"
                     "{\"problem\": \"p\", \"attempt\": 0, \"answer\": \"b\"}\n"),
            ":2: attempt 0 of p is there already");
  EXPECT_FALSE(RecordedProposer::load(temporary.path() / "missing.jsonl"));
  EXPECT_FALSE(RecordedProposer::load(temporary.path()));  // a folder without a run
}

}  // namespace
}  // namespace kw::search
