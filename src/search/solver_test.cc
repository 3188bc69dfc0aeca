// Whole searches with recorded answers and a scripted gym: decisions, failures, and a run that is
// cut after every line of its log and in the middle of each.
#include "search/solver.h"

#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <future>
#include <thread>
#include <utility>

#include <gtest/gtest.h>

#include "base/text.h"
#include "os/file.h"
#include "os/pause.h"
#include "search/recorded.h"
#include "search/testing/scripted_judge.h"

namespace kw::search {
namespace {

namespace fs = std::filesystem;
using runlog::End;

task::Problem small_problem(const std::string& name) {
  task::Problem out;
  out.name = name;
  out.hash = "hash of " + name;
  task::Definition definition;
  definition.name = name;
  definition.axes = {{"N", 8, ""}};
  definition.inputs = {{"x", std::vector<std::string>{"N"}, tensor::DType::kFloat32, ""}};
  definition.outputs = {{"y", std::vector<std::string>{"N"}, tensor::DType::kFloat32, ""}};
  definition.reference = "def run(x):\n    return 2 * x\n";
  out.body = definition;
  out.workloads = {{"w", {}, {{"x", task::RandomInput{}}}}};
  return out;
}

class Watcher : public Observer {
 public:
  void happened(const runlog::Event& event, const runlog::Run&) override {
    if (on_event) on_event(event);
  }
  Status problem_ends(const SearchProblem&, const task::Signature*,
                      const runlog::ProblemTree&) override {
    return {};
  }
  void waits(const runlog::Run&) override {
    if (on_wait) on_wait();
  }
  std::function<void(const runlog::Event&)> on_event;
  std::function<void()> on_wait;
};

// A run's decisions and findings without times: one line an attempt, then the end.
std::string table(const runlog::Run& run) {
  std::string out;
  for (const runlog::ProblemTree& tree : run.problems) {
    for (const runlog::Attempt& a : tree.attempts) {
      const auto speedup = a.judged && a.judged->speedup ? *a.judged->speedup : task::Speedup{};
      out += fmt::format(
          "{} {} parent {} draw {} prompt {} answer {} candidate {} {} {} {} {} {} {}\n", tree.key,
          a.id, a.decided.parent, a.decided.draw.value_or(-1), a.decided.prompt,
          a.answered ? a.answered->answer : "none",
          a.extracted ? a.extracted->candidate_hash : "none", to_string(a.progress()),
          a.judged ? a.judged->error.value_or(-1) : -2, speedup.median, speedup.low, speedup.high,
          a.judged ? a.judged->verdict : "none");
    }
    if (tree.ended)
      out += fmt::format("{} {} best {}\n", tree.key, to_string(tree.ended->end), tree.ended->best);
  }
  return out;
}

std::string code(const std::string& verdict, int number) {
  return fmt::format(
      "Here it is.\n```cpp\n// verdict: {}\nextern \"C\" void run() {{ int x = {}; }}\n```\n",
      verdict, number);
}

class SolverTest : public testing::Test {
 protected:
  SolverTest() {
    settings.method = "best_of_n";
    settings.retry_seconds = 0;
  }

  void answer(const std::string& problem, int attempt, const std::string& text,
              const Json& more = Json::object()) {
    Json line = {{"problem", problem}, {"attempt", attempt}, {"answer", text}};
    line.update(more);
    answers += line.dump() + "\n";
  }
  // Twelve answers of mixed quality; the third comes after these errors.
  void mixed(const std::string& problem, const Json& errors = Json::array()) {
    const std::vector<std::string> verdicts = {"compile_error", "wrong_value 7", "wrong_value 3",
                                               "passed 0.5",    "runtime_error", "passed 1.5",
                                               "wrong_shape",   "passed 1.25",   "violation",
                                               "passed 2.5",    "timeout",       "passed 2"};
    for (std::size_t i = 0; i < verdicts.size(); ++i) {
      const auto id = static_cast<int>(i);
      if (i == 4) {
        answer(problem, id, "I do not know.");
      } else {
        answer(problem, id, code(verdicts[i], i == 7 ? 5 : id),
               {{"usage", {{"prompt_tokens", 100}, {"completion_tokens", 10 + id}}},
                {"errors", i == 2 ? errors : Json::array()}});
      }
    }
  }

  std::unique_ptr<RecordedProposer> proposer() {
    const fs::path path = temporary.path() / "answers.jsonl";
    std::ofstream(path) << answers;
    return std::move(RecordedProposer::load(path)).value();
  }

  // Begins a run in this folder, or goes on with it.
  Status solve(const fs::path& folder, Proposer& from) {
    Settings resolved = settings;
    EXPECT_TRUE(resolve(resolved, 2));
    std::vector<SearchProblem> list;
    runlog::RunStarted start{"0.1", 3, "now", "solve", to_json(resolved), {}};
    for (const std::string& name : names) {
      list.push_back({name, small_problem(name)});
      start.problems.push_back({name, name, list.back().problem.hash});
    }
    run = {};
    const bool there =
        fs::exists(folder / "events.jsonl") && fs::file_size(folder / "events.jsonl") > 0;
    auto opened = there ? runlog::RunFolder::resume(folder, run)
                        : runlog::RunFolder::create(folder, to_json(resolved));
    if (!opened && opened.error().code() == ErrorCode::kNotFound) {
      // Cut before its first event was whole: it has not begun.
      opened = runlog::RunFolder::create(folder, to_json(resolved));
    }
    if (!opened) return tl::unexpected(std::move(opened).error());
    SolverParts parts;
    parts.proposer = &from;
    parts.judge = judging;
    parts.observer = &watcher;
    parts.folder = &*opened;
    parts.now = [this] { return std::chrono::steady_clock::time_point(seconds.load()); };
    const bool begun = !run.header.at.empty();
    Solver solver(resolved, list, parts, run);
    return solver.run(
        begun ? runlog::EventBody(runlog::RunResumed{"0.1", "later"}) : runlog::EventBody(start),
        stop.get_token());
  }
  Status solve(const std::string& folder) {
    auto from = proposer();
    return solve(temporary.path() / folder, *from);
  }
  const runlog::ProblemTree& tree(const std::string& name = "p") { return *run.find(name); }

  os::TempDir temporary = os::TempDir::make("kw_solver").value();
  std::vector<std::string> names = {"p"};
  std::string answers;
  Settings settings;
  ScriptedJudge judge;
  gym::Judge* judging = &judge;
  Watcher watcher;
  runlog::Run run;
  std::stop_source stop;
  std::atomic<std::chrono::seconds> seconds = std::chrono::seconds(0);  // the clock
};

TEST_F(SolverTest, BestOfN) {
  mixed("p");
  settings.samples = 12;
  ASSERT_TRUE(solve("run"));
  ASSERT_TRUE(tree().ended);
  EXPECT_EQ(tree().ended->end, End::kAttempts);
  EXPECT_EQ(tree().ended->best, 9);
  EXPECT_EQ(tree().attempts.size(), 12U);
  EXPECT_EQ(tree().usage().tokens(), 11 * 110 + 66 - 4);
  EXPECT_EQ(tree().attempts[4].extracted->why_not.empty(), false);
  EXPECT_TRUE(run.ended);
}

TEST_F(SolverTest, RefineGoesOnFromTheFurthestAndShowsItsCode) {
  mixed("p");
  settings.method = "refine";
  settings.samples = 12;
  ASSERT_TRUE(solve("run"));
  std::vector<int> parents;
  for (const auto& attempt : tree().attempts) parents.push_back(attempt.decided.parent);
  EXPECT_EQ(parents, (std::vector<int>{-1, 0, 1, 2, 3, 3, 5, 5, 5, 5, 9, 9}));
  auto prompt = runlog::RunFolder::get(temporary.path() / "run", tree().attempts[4].decided.prompt);
  ASSERT_TRUE(prompt);
  EXPECT_NE(prompt->find("verdict: passed 0.5"), std::string::npos);
}

TEST_F(SolverTest, TheOrderOfCompletionChangesNothing) {
  names = {"p", "q", "r"};
  for (const std::string& name : names) mixed(name);
  settings.method = "metr";
  settings.samples = 12;
  settings.parallel = 3;
  settings.jobs = 2;
  ASSERT_TRUE(solve("first"));
  const std::string first = table(run);
  EXPECT_NE(first.find("draw 0."), std::string::npos);
  judge.before_judge = [](const gym::EvalRequest& request) -> Status {
    // Later attempts come back sooner.
    std::this_thread::sleep_for(std::chrono::milliseconds(2 * (2 - request.turn % 3)));
    return {};
  };
  ASSERT_TRUE(solve("second"));
  EXPECT_EQ(table(run), first);
  settings.seed = 1;
  ASSERT_TRUE(solve("third"));
  EXPECT_NE(table(run), first);
}

TEST_F(SolverTest, CutAnywhereAndGoneOnWith) {
  names = {"p", "q"};
  // Failures that pass are in the log too.
  for (const std::string& name : names)
    mixed(name, {{{"code", "unavailable"}, {"message", "busy"}}});
  settings.method = "metr";
  settings.samples = 7;
  settings.first = 3;
  settings.jobs = 1;
  settings.parallel = 2;
  std::atomic<int> went_away = 0;  // by this process: once
  judge.before_judge = [&](const gym::EvalRequest& request) -> Status {
    if (request.turn != 2 || went_away++ > 0) return {};
    return fail(ErrorCode::kUnavailable, "a process went away");
  };
  ASSERT_TRUE(solve("whole"));
  const std::string expected = table(run);
  const fs::path whole = temporary.path() / "whole";
  const std::string log = os::read_file(whole / "events.jsonl").value();
  std::vector<std::size_t> cuts = {0};
  for (std::size_t at = 0; at < log.size();) {
    const std::size_t end = log.find('\n', at) + 1;
    cuts.push_back((at + end) / 2);
    cuts.push_back(end);
    at = end;
  }
  ASSERT_GT(cuts.size(), 100U);
  for (const char* stage : {runlog::kProposeStage.data(), runlog::kJudgeStage.data()})
    ASSERT_NE(log.find(fmt::format("\"stage\":\"{}\"", stage)), std::string::npos);
  for (std::size_t cut : cuts) {
    const fs::path folder = temporary.path() / fmt::format("cut{}", cut);
    fs::copy(whole, folder, fs::copy_options::recursive);
    fs::resize_file(folder / "events.jsonl", cut);
    judge.judged = 0;
    went_away = 0;
    auto from = proposer();
    auto status = solve(folder, *from);
    ASSERT_TRUE(status) << cut << ": " << status.error().message();
    ASSERT_EQ(table(run), expected) << cut;
    // Attempts that had a verdict are not judged again.
    runlog::Run before;
    const std::string kept = log.substr(0, cut);
    int judged_before = 0, judged_in_all = 0;
    for (const std::string& line : split(kept.substr(0, kept.rfind('\n') + 1), '\n')) {
      if (line.find("\"type\":\"judged\"") != std::string::npos &&
          line.find("\"same_as\":-1") != std::string::npos)
        ++judged_before;
    }
    for (const std::string& line : split(log, '\n')) {
      if (line.find("\"type\":\"judged\"") != std::string::npos &&
          line.find("\"same_as\":-1") != std::string::npos)
        ++judged_in_all;
    }
    const int again = went_away > 0 ? 1 : 0;
    EXPECT_EQ(judge.judged - again, judged_in_all - judged_before) << cut;
    // And what was read back from the log is what was in memory.
    EXPECT_EQ(table(runlog::RunFolder::read(folder).value()), expected);
    fs::remove_all(folder);
  }
}

TEST_F(SolverTest, ARunIsItsOwnRecording) {
  mixed("p");
  settings.method = "metr";
  settings.samples = 12;
  ASSERT_TRUE(solve("first"));
  const std::string first = table(run);
  const runlog::Run recorded = run;
  // Without the gym: its verdicts are the first run's.
  ScriptedJudge interfaces_only;
  interfaces_only.before_judge = [](const gym::EvalRequest&) -> Status {
    return fail(ErrorCode::kInternal, "asked");
  };
  RecordedJudge again(temporary.path() / "first", recorded, interfaces_only);
  judging = &again;
  auto from = std::move(RecordedProposer::load(temporary.path() / "first")).value();
  ASSERT_TRUE(solve(temporary.path() / "second", *from));
  EXPECT_EQ(table(run), first);
  EXPECT_EQ(interfaces_only.judged, 0);
}

TEST_F(SolverTest, ReasoningIsKeptAndReplayed) {
  answer("p", 0, code("passed 2", 0), {{"reasoning", "Let me think."}});
  answer("p", 1, code("passed 2", 1));
  settings.samples = 2;
  ASSERT_TRUE(solve("first"));
  auto again = std::move(RecordedProposer::load(temporary.path() / "first")).value();
  ASSERT_TRUE(solve(temporary.path() / "second", *again));
  const std::string blob = tree().attempts[0].answered->reasoning;
  EXPECT_EQ(runlog::RunFolder::get(temporary.path() / "second", blob).value(), "Let me think.");
  EXPECT_EQ(tree().attempts[1].answered->reasoning, "");
}

TEST_F(SolverTest, StopRules) {
  mixed("p");
  settings.samples = 12;
  settings.parallel = 1;
  settings.first_correct = true;
  ASSERT_TRUE(solve("first_correct"));
  EXPECT_EQ(tree().ended->end, End::kFirstCorrect);
  EXPECT_EQ(tree().attempts.size(), 4U);
  settings.first_correct = false;
  settings.target_speedup = 1.3;  // the lower end of 1.5 is 1.35, of 1.25 less
  ASSERT_TRUE(solve("target"));
  EXPECT_EQ(tree().ended->end, End::kTarget);
  EXPECT_EQ(tree().attempts.size(), 6U);
  settings.target_speedup = 0;
  settings.tokens = 300;
  ASSERT_TRUE(solve("tokens"));
  EXPECT_EQ(tree().ended->end, End::kTokens);
  EXPECT_EQ(tree().attempts.size(), 3U);
  settings.tokens = 0;
  settings.seconds = 1;
  judge.before_judge = [&](const gym::EvalRequest&) -> Status {
    seconds = seconds.load() + std::chrono::seconds(1);
    return {};
  };
  ASSERT_TRUE(solve("seconds"));
  EXPECT_EQ(tree().ended->end, End::kSeconds);
}

// A judgement that would never end: the run ends without it, with what it has.
TEST_F(SolverTest, WhatIsInFlightLongAfterTheSecondsIsStopped) {
  names = {"p", "q"};
  for (const std::string& name : names) {
    answer(name, 0, code("passed 2", 0));
    answer(name, 1, code("passed 3", 1));
  }
  settings.samples = 2;
  settings.parallel = 1;
  settings.jobs = 1;
  settings.seconds = 1;
  std::atomic<int> stopped = 0;
  judge.on_judge = [&](const gym::EvalRequest& request,
                       const std::stop_token& asked) -> Result<task::Verdict> {
    if (request.candidate.name != "attempt_1") return scripted_verdict(request);
    seconds = seconds.load() + std::chrono::seconds(2);
    os::pause(std::chrono::hours(1), asked);
    ++stopped;
    return fail(ErrorCode::kCancelled, "stopped");
  };
  ASSERT_TRUE(solve("run"));
  EXPECT_EQ(stopped, 2);
  for (const std::string& name : names) {
    EXPECT_EQ(tree(name).ended->best, 0);
    EXPECT_FALSE(tree(name).attempts[1].judged);
    EXPECT_TRUE(tree(name).failures.empty());
  }
  EXPECT_TRUE(run.ended);
}

TEST_F(SolverTest, TheRunsCostIsBounded) {
  names = {"p", "q"};
  for (const std::string& name : names) {
    for (int i = 0; i < 4; ++i)
      answer(name, i, code("passed 2", i), {{"usage", {{"cost_usd", 0.5}}}});
  }
  settings.samples = 4;
  settings.parallel = 1;
  settings.jobs = 1;
  settings.cost_usd = 1;
  ASSERT_TRUE(solve("run"));
  EXPECT_EQ(tree("p").attempts.size(), 2U);
  EXPECT_EQ(tree("p").ended->end, End::kCost);
  EXPECT_EQ(tree("q").attempts.size(), 0U);
  EXPECT_EQ(tree("q").ended->end, End::kCost);
}

TEST_F(SolverTest, TriesThatFailedCountAsTokensAndCost) {
  const Json cut = {{"code", "unavailable"},
                    {"message", "cut"},
                    {"kind", "cut"},
                    {"usage", {{"completion_tokens", 60}, {"cost_usd", 0.6}, {"estimated", true}}}};
  for (int i = 0; i < 4; ++i)
    answer("p", i, code("passed 2", i),
           {{"errors", {cut}}, {"usage", {{"completion_tokens", 40}, {"cost_usd", 0.4}}}});
  settings.samples = 4;
  settings.parallel = 1;
  settings.tokens = 200;
  ASSERT_TRUE(solve("tokens"));
  EXPECT_EQ(tree().attempts.size(), 2U);
  EXPECT_EQ(tree().ended->end, End::kTokens);
  EXPECT_EQ(tree().usage(), (text::Usage{0, 200, 2, true}));
  EXPECT_EQ(kind_of(tree().failures.at(0)), "cut");
  // A replay from the run's own answers stops where it did.
  auto again = std::move(RecordedProposer::load(temporary.path() / "tokens")).value();
  ASSERT_TRUE(solve(temporary.path() / "replay", *again));
  EXPECT_EQ(tree().attempts.size(), 2U);
  EXPECT_EQ(tree().ended->end, End::kTokens);
  settings.tokens = 0;
  settings.cost_usd = 2;
  ASSERT_TRUE(solve("cost"));
  EXPECT_EQ(tree().attempts.size(), 2U);
  EXPECT_EQ(tree().ended->end, End::kCost);
}

TEST_F(SolverTest, WhatCannotSucceedIsNotAskedAgain) {
  answer("p", 0, code("passed 2", 0),
         {{"errors", {{{"code", "resource_exhausted"}, {"message", "quota"}, {"again", false}}}}});
  settings.method = "base";
  ASSERT_TRUE(solve("run"));
  EXPECT_EQ(tree().ended->end, End::kFailed);
  EXPECT_EQ(tree().failures.size(), 1U);
  EXPECT_FALSE(tree().failures[0].again);
}

TEST_F(SolverTest, SeedsHaveTheBitsThatServersKeep) {
  mixed("p");
  settings.samples = 12;
  ASSERT_TRUE(solve("run"));
  for (const auto& attempt : tree().attempts)
    EXPECT_LT(attempt.decided.seed, std::uint64_t{1} << 53U);
}

TEST_F(SolverTest, NothingMoreToPropose) {
  answer("p", 0, code("passed 2", 0));
  ASSERT_TRUE(solve("run"));
  EXPECT_EQ(tree().ended->end, End::kExhausted);
  EXPECT_EQ(tree().ended->best, 0);
}

TEST_F(SolverTest, TheSameCodeIsJudgedOnce) {
  for (int i = 0; i < 8; ++i) answer("p", i, code("passed 2", i % 2));
  ASSERT_TRUE(solve("run"));
  EXPECT_EQ(judge.judged, 2);
  for (const auto& attempt : tree().attempts) EXPECT_TRUE(attempt.correct());
}

TEST_F(SolverTest, FailuresThatPassAreTriedAgainAndToldApart) {
  answer("p", 0, code("passed 2", 0),
         {{"errors",
           {{{"code", "unavailable"}, {"message", "busy"}},
            {{"code", "resource_exhausted"}, {"message", "429"}}}}});
  int failures = 0;
  judge.before_judge = [&](const gym::EvalRequest&) -> Status {
    if (++failures <= 2) return fail(ErrorCode::kUnavailable, "a process went away");
    return {};
  };
  settings.method = "base";
  ASSERT_TRUE(solve("run"));
  EXPECT_EQ(tree().ended->end, End::kAttempts);
  EXPECT_EQ(tree().ended->best, 0);
  ASSERT_EQ(tree().failures.size(), 4U);
  EXPECT_EQ(tree().failures[0].message, "busy");
  EXPECT_TRUE(tree().failures[3].again);
  EXPECT_EQ(tree().attempts.size(), 1U);
}

TEST_F(SolverTest, AFailureThatStaysEndsTheProblemAndAResumedRunGoesOn) {
  names = {"p", "q"};
  answer("q", 0, code("passed 2", 0));
  const Json busy = {{"code", "unavailable"}, {"message", "busy"}};
  answer("p", 0, code("passed 3", 0), {{"errors", {busy, busy, busy, busy}}});
  settings.method = "base";
  auto from = proposer();
  ASSERT_TRUE(solve(temporary.path() / "run", *from));
  EXPECT_EQ(tree("p").ended->end, End::kFailed);
  EXPECT_EQ(tree("p").ended->reason, "busy");
  EXPECT_EQ(tree("q").ended->end, End::kAttempts);
  ASSERT_TRUE(solve(temporary.path() / "run", *from));
  EXPECT_EQ(tree("p").ended->end, End::kAttempts);
  EXPECT_EQ(tree("p").ended->best, 0);
  EXPECT_EQ(tree("q").attempts.size(), 1U);
}

TEST_F(SolverTest, AServerThatIsGoneEndsTheRun) {
  names = {"a", "b", "c", "d", "e"};
  for (const std::string& name : names)
    answer(name, 0, code("passed 3", 0),
           {{"errors", {{{"code", "permission_denied"}, {"message", "401"}}}}});
  settings.method = "base";
  settings.jobs = 1;
  auto from = proposer();
  auto status = solve(temporary.path() / "run", *from);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().message(), "no answer for 3 problems in a row: 401");
  EXPECT_FALSE(tree("d").started);
  // Those three have had their error; the other two are too few to end a run.
  ASSERT_TRUE(solve(temporary.path() / "run", *from));
  EXPECT_EQ(tree("a").ended->best, 0);
  EXPECT_EQ(tree("c").ended->best, 0);
  EXPECT_EQ(tree("e").ended->end, End::kFailed);
}

TEST_F(SolverTest, ABorderlineCandidateNeverWins) {
  answer("p", 0, code("borderline 9", 0));
  answer("p", 1, code("passed 2", 1));
  settings.samples = 2;
  ASSERT_TRUE(solve("run"));
  EXPECT_EQ(tree().ended->best, 1);
  const runlog::Attempt& near = tree().attempts[0];
  EXPECT_TRUE(near.borderline());
  EXPECT_EQ(near.outcome_name(), "borderline");
  EXPECT_FALSE(near.judged->speedup);
  EXPECT_EQ(near.judged->error, 1.03);
  EXPECT_FALSE(tree().attempts[1].borderline());
}

TEST_F(SolverTest, ACandidateThatCannotBeJudgedIsLeftAside) {
  for (int i = 0; i < 3; ++i) answer("p", i, code("passed 2", i));
  judge.before_judge = [&](const gym::EvalRequest& request) -> Status {
    if (request.turn == 1) return fail(ErrorCode::kUnavailable, "it takes the checker with it");
    return {};
  };
  settings.samples = 3;
  ASSERT_TRUE(solve("run"));
  EXPECT_EQ(tree().ended->end, End::kAttempts);
  EXPECT_TRUE(tree().attempts[1].abandoned);
  EXPECT_TRUE(tree().attempts[2].correct());
  EXPECT_EQ(tree().failures.size(), 4U);
}

TEST_F(SolverTest, AnswersThatCouldNotBeJudgedAreJudgedWhenTheRunGoesOn) {
  for (int i = 0; i < 3; ++i) answer("p", i, code("passed 2", i));
  bool broken = true;
  judge.before_judge = [&](const gym::EvalRequest&) -> Status {
    if (broken) return fail(ErrorCode::kUnavailable, "no space left in the cache");
    return {};
  };
  settings.samples = 3;
  ASSERT_TRUE(solve("run"));
  EXPECT_EQ(tree().ended->end, End::kFailed);
  EXPECT_TRUE(tree().ended->reason.ends_with("could not be judged: no space left in the cache"))
      << tree().ended->reason;
  // Still broken: nothing is lost by going on.
  ASSERT_TRUE(solve("run"));
  EXPECT_EQ(tree().ended->end, End::kFailed);
  broken = false;
  answers.clear();  // nobody is asked again
  answer("p", 9, "");
  ASSERT_TRUE(solve("run"));
  EXPECT_EQ(tree().ended->end, End::kAttempts);
  ASSERT_EQ(tree().attempts.size(), 3U);
  for (const auto& attempt : tree().attempts) EXPECT_TRUE(attempt.correct()) << attempt.id;
}

TEST_F(SolverTest, ARunWithACandidateThatCouldNotBeJudgedReplays) {
  settings.method = "refine";
  settings.samples = 4;
  // 1 and 2 have the same code: the second try at it succeeds.
  for (int i = 0; i < 4; ++i) answer("p", i, code("wrong_value 3", i == 2 ? 1 : i));
  judge.before_judge = [&](const gym::EvalRequest& request) -> Status {
    if (request.turn == 1) return fail(ErrorCode::kUnavailable, "it takes the checker with it");
    return {};
  };
  for (const bool best : {false, true}) {
    if (best) answer("p", 4, code("passed 2", 4));
    if (best) settings.samples = 5;
    const std::string name = best ? "best" : "none";
    ASSERT_TRUE(solve(name));
    ASSERT_TRUE(tree().attempts[1].abandoned);
    ASSERT_TRUE(tree().attempts[2].judged);
    EXPECT_EQ(tree().ended->end, best ? End::kAttempts : End::kFailed);
    const std::string first = table(run);
    const runlog::Run recorded = run;
    ScriptedJudge interfaces_only;
    RecordedJudge again(temporary.path() / name, recorded, interfaces_only);
    judging = &again;
    settings.retry_seconds = 1000;  // nothing passes with time here
    auto from = std::move(RecordedProposer::load(temporary.path() / name)).value();
    ASSERT_TRUE(solve(temporary.path() / (name + " again"), *from));
    EXPECT_EQ(table(run), first);
    EXPECT_EQ(interfaces_only.judged, 0);
    judging = &judge;
    settings.retry_seconds = 0;
  }
}

TEST_F(SolverTest, SecondsOfAProblemAreThoseInWhichItIsSearched) {
  names = {"p", "q"};
  const Json busy = {{"code", "unavailable"}, {"message", "busy"}};
  answer("p", 0, code("passed 3", 0), {{"errors", {busy}}});
  answer("p", 1, code("passed 3", 1));
  answer("q", 0, code("passed 2", 0));
  answer("q", 1, code("passed 2", 1));
  settings.tries = 1;
  settings.samples = 2;
  settings.parallel = 1;
  settings.jobs = 1;
  settings.seconds = 100;
  judge.before_judge = [&](const gym::EvalRequest& request) -> Status {
    seconds = seconds.load() + std::chrono::seconds(request.problem.name == "q" ? 90 : 1);
    return {};
  };
  auto from = proposer();
  ASSERT_TRUE(solve(temporary.path() / "run", *from));
  EXPECT_EQ(tree("p").ended->end, End::kFailed);
  EXPECT_EQ(tree("q").ended->end, End::kSeconds);
  EXPECT_DOUBLE_EQ(tree("q").ended->wall_s, 180);
  // q's 180 s are not p's.
  ASSERT_TRUE(solve(temporary.path() / "run", *from));
  EXPECT_EQ(tree("p").ended->end, End::kAttempts);
  EXPECT_EQ(tree("p").attempts.size(), 2U);
  EXPECT_DOUBLE_EQ(tree("p").ended->wall_s, 2);
}

TEST_F(SolverTest, AMachineTooBusyToMeasureIsAskedAgain) {
  answer("p", 0, code("noisy", 0));
  settings.method = "base";
  settings.tries = 3;
  ASSERT_TRUE(solve("run"));
  EXPECT_EQ(judge.judged, 3);
  EXPECT_EQ(tree().attempts[0].judged->outcome, task::Outcome::kNoisy);
}

TEST_F(SolverTest, AProblemThatCannotBeJudged) {
  for (int i = 0; i < 8; ++i) answer("p", i, code("quarantined", i));
  settings.parallel = 1;
  ASSERT_TRUE(solve("run"));
  EXPECT_EQ(tree().ended->end, End::kQuarantined);
  EXPECT_EQ(tree().ended->reason, "zeros pass");
  EXPECT_EQ(tree().attempts.size(), 1U);
  judge.on_describe = [](const task::Problem&) -> Result<task::Signature> {
    return fail(ErrorCode::kInvalidArgument, "its reference raises");
  };
  ASSERT_TRUE(solve("other"));
  EXPECT_EQ(tree().ended->end, End::kFailed);
  EXPECT_EQ(tree().ended->reason, "its reference raises");
}

TEST_F(SolverTest, WhoeverWatchesHearsThatNothingHappens) {
  answer("p", 0, code("passed 2", 0));
  settings.method = "base";
  std::promise<void> heard;
  bool waited = false;
  watcher.on_wait = [&] {
    if (!std::exchange(waited, true)) heard.set_value();
  };
  judge.before_judge = [&](const gym::EvalRequest&) -> Status {
    heard.get_future().wait();
    return {};
  };
  ASSERT_TRUE(solve("run"));
  EXPECT_TRUE(waited);
}

TEST_F(SolverTest, AStopLosesWhatIsInFlightOnly) {
  mixed("p");
  settings.samples = 12;
  settings.parallel = 1;
  watcher.on_event = [&](const runlog::Event& event) {
    const auto* judged = std::get_if<runlog::Judged>(&event.body);
    if (judged != nullptr && judged->attempt == 5) stop.request_stop();
  };
  auto status = solve("run");
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code(), ErrorCode::kCancelled);
  EXPECT_GE(runlog::RunFolder::read(temporary.path() / "run").value().problems[0].attempts.size(),
            6U);
  stop = {};
  watcher.on_event = nullptr;
  ASSERT_TRUE(solve("run"));
  const std::string resumed = table(run);
  ASSERT_TRUE(solve("whole"));
  EXPECT_EQ(table(run), resumed);
}

}  // namespace
}  // namespace kw::search
