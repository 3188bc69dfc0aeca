#include "gym_environment/judge_once.h"

#include <algorithm>
#include <barrier>
#include <thread>

#include <gtest/gtest.h>

#include "gym/testing/fake_judge.h"
#include "os/file.h"

namespace kw::gym_environment {
namespace {

gym::EvalRequest request(const std::string& source) {
  gym::EvalRequest out;
  out.problem.hash = "p";
  out.candidate.sources = {{"kernel.cpp", source}};
  return out;
}

TEST(JudgeOnce, TheSameKernelIsJudgedOnce) {
  gym::FakeJudge fake;
  JudgeOnce once(fake);
  gym::EvalRequest first = request("a");
  first.candidate.name = "attempt_0";
  ASSERT_TRUE(once.judge(first, {}).has_value());
  first.candidate.name = "attempt_1";
  ASSERT_TRUE(once.judge(first, {}).has_value());
  EXPECT_EQ(fake.judged, 1);
  ASSERT_TRUE(once.judge(request("b"), {}).has_value());
  gym::EvalRequest other = request("a");
  other.problem.hash = "q";
  ASSERT_TRUE(once.judge(other, {}).has_value());
  other.options.half_width_percent = 1;
  ASSERT_TRUE(once.judge(other, {}).has_value());
  other.candidate.flags = {"-ffast-math"};
  ASSERT_TRUE(once.judge(other, {}).has_value());
  other.candidate.launches.resize(1);
  ASSERT_TRUE(once.judge(other, {}).has_value());
  EXPECT_EQ(fake.judged, 6);
}

TEST(JudgeOnce, WhoComesMeanwhileWaits) {
  gym::FakeJudge fake;
  JudgeOnce once(fake);
  std::barrier judging(2);
  fake.on_judge = [&](const gym::EvalRequest&, const std::stop_token&) -> Result<task::Verdict> {
    judging.arrive_and_wait();
    task::Verdict out;
    out.outcome = task::Outcome::kPassed;
    return out;
  };
  std::jthread first([&] { EXPECT_TRUE(once.judge(request("a"), {}).has_value()); });
  std::jthread second([&] { EXPECT_TRUE(once.judge(request("a"), {}).has_value()); });
  judging.arrive_and_wait();
  first.join();
  second.join();
  EXPECT_EQ(fake.judged, 1);
}

TEST(JudgeOnce, FailuresAndNoiseAreTriedAgain) {
  gym::FakeJudge fake;
  JudgeOnce once(fake);
  fake.on_judge = [&](const gym::EvalRequest&, const std::stop_token&) -> Result<task::Verdict> {
    if (fake.judged == 1) return fail(ErrorCode::kUnavailable, "the checker went away");
    task::Verdict out;
    out.outcome = fake.judged == 2 ? task::Outcome::kNoisy : task::Outcome::kPassed;
    return out;
  };
  EXPECT_FALSE(once.judge(request("a"), {}).has_value());
  EXPECT_EQ(once.judge(request("a"), {}).value().outcome, task::Outcome::kNoisy);
  EXPECT_EQ(once.judge(request("a"), {}).value().outcome, task::Outcome::kPassed);
  EXPECT_EQ(once.judge(request("a"), {}).value().outcome, task::Outcome::kPassed);
  EXPECT_EQ(fake.judged, 3);
}

TEST(JudgeOnce, ASpeedupThatIsMissingIsMeasuredAgain) {
  gym::FakeJudge fake;
  JudgeOnce once(fake);
  fake.on_judge = [&](const gym::EvalRequest&, const std::stop_token&) -> Result<task::Verdict> {
    task::Verdict out;
    out.outcome = task::Outcome::kPassed;
    if (fake.judged == 2) out.speedup = task::Speedup{2, 1.5, 2.5};
    return out;
  };
  gym::EvalRequest timed = request("a");
  timed.problem.workloads.resize(1);
  EXPECT_FALSE(once.judge(timed, {}).value().speedup.has_value());
  for (int i = 0; i < 2; ++i) EXPECT_TRUE(once.judge(timed, {}).value().speedup.has_value());
  EXPECT_EQ(fake.judged, 2);
  // Nobody asked for its time.
  timed.options.timing = false;
  for (int i = 0; i < 2; ++i) ASSERT_TRUE(once.judge(timed, {}).has_value());
  EXPECT_EQ(fake.judged, 3);
}

TEST(JudgeOnce, WhatCannotBeMeasuredIsNotTriedForEver) {
  gym::FakeJudge fake;
  JudgeOnce once(fake);
  fake.on_judge = [&](const gym::EvalRequest&, const std::stop_token&) -> Result<task::Verdict> {
    if (fake.judged == 1) return fail(ErrorCode::kUnavailable, "the checker went away");
    task::Verdict out;
    out.outcome = task::Outcome::kPassed;
    return out;
  };
  gym::EvalRequest timed = request("a");
  timed.problem.workloads.resize(1);
  EXPECT_FALSE(once.judge(timed, {}).has_value());
  for (int i = 0; i < 4; ++i) EXPECT_FALSE(once.judge(timed, {}).value().speedup.has_value());
  EXPECT_EQ(fake.judged, 1 + JudgeOnce::kMeasurements);
}

// A run after the first one, and one that was killed while it wrote.
TEST(JudgeOnce, RunsShareAFileOfVerdicts) {
  const os::TempDir dir = os::TempDir::make("verdicts").value();
  const std::filesystem::path file = dir.path() / "verdicts.jsonl";
  gym::FakeJudge fake;
  fake.on_judge = [&](const gym::EvalRequest&, const std::stop_token&) -> Result<task::Verdict> {
    task::Verdict out;
    out.outcome = fake.judged == 2 ? task::Outcome::kNoisy : task::Outcome::kPassed;
    out.speedup = task::Speedup{2, 1.5, 2.5};
    return out;
  };
  {
    JudgeOnce first(fake);
    ASSERT_TRUE(first.keep_in(file));
    ASSERT_TRUE(first.judge(request("a"), {}).has_value());
    ASSERT_TRUE(first.judge(request("noisy"), {}).has_value());
  }
  const std::string kept = os::read_file(file).value();
  EXPECT_EQ(std::count(kept.begin(), kept.end(), '\n'), 1);
  ASSERT_TRUE(os::write_file_atomic(file, kept + R"({"key": "cut)"));
  JudgeOnce second(fake);
  ASSERT_TRUE(second.keep_in(file));
  EXPECT_DOUBLE_EQ(second.judge(request("a"), {}).value().speedup->low, 1.5);
  EXPECT_EQ(fake.judged, 2);
  ASSERT_TRUE(second.judge(request("b"), {}).has_value());
  JudgeOnce third(fake);
  ASSERT_TRUE(third.keep_in(file));
  ASSERT_TRUE(third.judge(request("b"), {}).has_value());
  EXPECT_EQ(fake.judged, 3);
  // What made the verdicts of the file is not known to be what makes them now.
  fake.on_capabilities = [](task::Target) {
    gym::Capabilities out;
    out.made_with.torch = "2.13.0";
    return out;
  };
  JudgeOnce fourth(fake);
  ASSERT_TRUE(fourth.keep_in(file));
  ASSERT_TRUE(fourth.judge(request("b"), {}).has_value());
  EXPECT_EQ(fake.judged, 4);
  ASSERT_TRUE(os::write_file_atomic(file, kept + "{}\n"));
  const Status broken = JudgeOnce(fake).keep_in(file);
  ASSERT_FALSE(broken);
  EXPECT_NE(broken.error().message().find("verdicts.jsonl, line 2"), std::string::npos)
      << broken.error().message();
}

TEST(JudgeOnce, AStopEndsTheWaiting) {
  gym::FakeJudge fake;
  JudgeOnce once(fake);
  std::barrier judging(2), ending(2);
  fake.on_judge = [&](const gym::EvalRequest&, const std::stop_token&) -> Result<task::Verdict> {
    judging.arrive_and_wait();
    ending.arrive_and_wait();
    return fail(ErrorCode::kUnavailable, "gone");
  };
  std::jthread first([&] { EXPECT_FALSE(once.judge(request("a"), {}).has_value()); });
  judging.arrive_and_wait();
  std::stop_source stop;
  stop.request_stop();
  EXPECT_EQ(once.judge(request("a"), stop.get_token()).error().code(), ErrorCode::kCancelled);
  ending.arrive_and_wait();
}

}  // namespace
}  // namespace kw::gym_environment
