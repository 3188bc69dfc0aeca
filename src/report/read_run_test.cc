// Files as people have them: whole, cut, damaged.
#include "report/read_run.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>

#include <gtest/gtest.h>

#include "os/file.h"
#include "report/metrics.h"
#include "report/report.h"
#include "report/testing/runs.h"
#include "runlog/candidate_text.h"
#include "runlog/run_folder.h"
#include "task/candidate_source.h"
#include "task/trace.h"

namespace kw::report {
namespace {

task::Verdict verdict(const std::string& problem, const std::string& candidate,
                      task::Outcome outcome) {
  task::Verdict out;
  out.problem_name = problem;
  out.problem_hash = "h-" + problem;
  out.candidate_name = candidate;
  out.candidate_hash = "c-" + candidate;
  out.language = "cpp";
  out.outcome = outcome;
  out.cost.total_ms = 1500;
  if (outcome == task::Outcome::kViolation) out.violation = "input_write";
  if (outcome == task::Outcome::kPassed) {
    out.times = task::Times{1, 2, {1, 1}, {2, 2}};
    out.speedup = task::Speedup{2, 1.9, 2.1};
  }
  out.diagnostics = {{"compiler", "says"}};
  return out;
}

task::Trace trace(const std::string& solution, const std::string& uuid, task::TraceStatus status,
                  double factor) {
  task::Trace out;
  out.definition = "add";
  out.workload.uuid = uuid;
  if (solution.empty()) return out;
  out.solution = solution;
  task::Evaluation evaluation;
  evaluation.status = status;
  evaluation.environment.hardware = "a machine";
  evaluation.timestamp = "2025-01-01T00:00:00Z";
  if (status == task::TraceStatus::kPassed) {
    evaluation.correctness = task::TraceCorrectness{0, 0, {}};
    evaluation.performance = task::TracePerformance{1, factor, factor};
  }
  if (status == task::TraceStatus::kRuntimeError) evaluation.log = "violation: input_write\nmore";
  out.evaluation = evaluation;
  return out;
}

class ReadRunTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto made = os::TempDir::make("kw-report");
    ASSERT_TRUE(made);
    folder = std::make_unique<os::TempDir>(std::move(*made));
  }
  std::string write(const std::string& name, const std::string& content) {
    std::filesystem::path path = folder->path() / name;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << content;
    return path.string();
  }
  static Result<report::Run> load(const std::filesystem::path& path) {
    return read_run(path, true);
  }
  static std::string commit(const task::Verdict& v) {
    Json line = {{"schema", 1},
                 {"gym_version", 2},
                 {"trace_bytes", 0},
                 {"judged_with", Json::object()},
                 {"verdict", to_json(v)}};
    return line.dump() + "\n";
  }
  static std::string line(const task::Trace& t) { return to_json(t).dump() + "\n"; }

  std::unique_ptr<os::TempDir> folder;
};

TEST_F(ReadRunTest, Verdicts) {
  std::string path =
      write("o.jsonl.verdicts.jsonl", commit(verdict("a", "s0", task::Outcome::kCompileError)) +
                                          commit(verdict("b", "s0", task::Outcome::kViolation)) +
                                          commit(verdict("a", "s1", task::Outcome::kPassed)));
  auto run = load(path);
  ASSERT_TRUE(run) << run.error().message();
  EXPECT_EQ(run->name, "o");
  EXPECT_EQ(run->kind, "verdicts");
  EXPECT_EQ(run->baseline, "eager");
  EXPECT_EQ(run->target, "cpu");
  ASSERT_EQ(run->problems.size(), 2U);
  const ProblemRecord& a = run->problems[0];
  ASSERT_EQ(a.attempts.size(), 2U);
  EXPECT_EQ(a.hash, "h-a");
  EXPECT_EQ(a.attempts[0].progress, task::Progress::kExtracted);
  EXPECT_EQ(a.attempts[1].id, "1");
  EXPECT_TRUE(a.attempts[1].correct());
  EXPECT_EQ(a.attempts[1].speedup->low, 1.9);
  EXPECT_EQ(a.attempts[1].spent.seconds, 1.5);
  EXPECT_EQ(a.attempts[1].diagnostics[0].message, "says");
  EXPECT_EQ(run->problems[1].attempts[0].violation, "input_write");
}

TEST_F(ReadRunTest, AFileOfTracesLeadsToItsVerdicts) {
  std::string traces = write("o.jsonl", line(trace("s", "w", task::TraceStatus::kPassed, 2)));
  write("o.jsonl.verdicts.jsonl", commit(verdict("a", "s", task::Outcome::kPassed)));
  auto run = load(traces);
  ASSERT_TRUE(run) << run.error().message();
  EXPECT_EQ(run->kind, "verdicts");
  EXPECT_EQ(run->hardware, "a machine");
}

TEST_F(ReadRunTest, VerdictsOverSeveralBaselines) {
  task::Verdict other = verdict("b", "s", task::Outcome::kPassed);
  other.baseline = "compile";
  task::Verdict third = verdict("c", "s", task::Outcome::kPassed);
  auto run = load(write("o.jsonl", commit(verdict("a", "s", task::Outcome::kPassed)) +
                                       commit(other) + commit(third)));
  ASSERT_TRUE(run) << run.error().message();
  EXPECT_EQ(run->baseline, kSeveral);
}

TEST_F(ReadRunTest, PrintedVerdicts) {
  std::string path =
      write("printed.jsonl", to_json(verdict("a", "s", task::Outcome::kPassed)).dump() +
                                 "\n{\"error\":{\"code\":\"internal\",\"message\":\"m\"}}\n");
  auto run = load(path);
  ASSERT_TRUE(run) << run.error().message();
  EXPECT_EQ(run->problems[0].attempts.size(), 1U);
  ASSERT_EQ(run->notes.size(), 1U);
  EXPECT_NE(run->notes[0].find("1 candidates could not be judged"), std::string::npos);
}

TEST_F(ReadRunTest, ACandidateJudgedAgainCountsOnce) {
  auto run = load(write("o.jsonl", commit(verdict("a", "s", task::Outcome::kNoisy)) +
                                       commit(verdict("a", "s", task::Outcome::kPassed))));
  ASSERT_TRUE(run) << run.error().message();
  ASSERT_EQ(run->problems[0].attempts.size(), 1U);
  EXPECT_TRUE(run->problems[0].attempts[0].correct());
  EXPECT_EQ(run->notes.size(), 1U);
}

TEST_F(ReadRunTest, AProblemThatChangedIsAnother) {
  task::Verdict changed = verdict("a", "s", task::Outcome::kPassed);
  changed.problem_hash = "0123456789";
  auto run =
      load(write("o.jsonl", commit(verdict("a", "s", task::Outcome::kPassed)) + commit(changed)));
  ASSERT_TRUE(run);
  ASSERT_EQ(run->problems.size(), 2U);
  EXPECT_EQ(run->problems[1].name, "a (01234567)");
}

TEST_F(ReadRunTest, ACutLastLineIsANote) {
  std::string whole = commit(verdict("a", "s0", task::Outcome::kPassed));
  std::string second = commit(verdict("b", "s0", task::Outcome::kPassed));
  for (std::size_t length : {std::size_t{1}, second.size() / 2, second.size() - 2}) {
    auto run = load(write("o.jsonl", whole + second.substr(0, length)));
    ASSERT_TRUE(run) << run.error().message();
    EXPECT_EQ(run->problems.size(), 1U);
    ASSERT_EQ(run->notes.size(), 1U);
    EXPECT_EQ(run->notes[0], "the last line is cut and was left out");
  }
  auto run = load(write("o.jsonl", whole + second.substr(0, second.size() - 1)));
  ASSERT_TRUE(run);
  EXPECT_EQ(run->problems.size(), 2U) << "only its end is missing";
}

TEST_F(ReadRunTest, DamagedLinesNameFileAndLine) {
  std::string whole = commit(verdict("a", "s0", task::Outcome::kPassed));
  auto expect_error = [&](const std::string& content, const std::string& place,
                          const std::string& words) {
    std::string path = write("o.jsonl", content);
    auto run = load(path);
    ASSERT_FALSE(run);
    EXPECT_EQ(run.error().code(), ErrorCode::kInvalidArgument);
    EXPECT_NE(run.error().message().find(path + place), std::string::npos) << run.error().message();
    EXPECT_NE(run.error().message().find(words), std::string::npos) << run.error().message();
  };
  expect_error(whole + whole.substr(0, 40) + "\n" + whole, ":2", "");
  expect_error(whole.substr(0, 40) + "\n", ":1", "");
  expect_error(whole + "{\"verdict\": 3}\n", ":2", "verdict");
  expect_error(whole + "[]\n", ":2", "");
  std::string other = whole;
  other.replace(other.find("passed"), 6, "psased");
  expect_error(whole + other, ":2", "psased");
  expect_error("{", "", "no whole line");
  expect_error("", "", "empty");
}

TEST_F(ReadRunTest, NotThere) {
  auto missing = load(folder->path() / "none.jsonl");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code(), ErrorCode::kNotFound);
  EXPECT_FALSE(load(folder->path()));
}

TEST_F(ReadRunTest, Traces) {
  using enum task::TraceStatus;
  auto run = load(write(
      "t.jsonl", line(trace("", "w1", kPassed, 0)) + line(trace("", "w2", kPassed, 0)) +
                     line(trace("good", "w1", kPassed, 2)) + line(trace("good", "w2", kPassed, 8)) +
                     line(trace("half", "w1", kPassed, 3)) +
                     line(trace("cheat", "w1", kRuntimeError, 0)) +
                     line(trace("cheat", "w2", kPassed, 9))));
  ASSERT_TRUE(run) << run.error().message();
  EXPECT_EQ(run->hardware, "a machine");
  ASSERT_EQ(run->problems.size(), 1U);
  const auto& attempts = run->problems[0].attempts;
  ASSERT_EQ(attempts.size(), 3U);
  EXPECT_TRUE(attempts[0].correct());
  EXPECT_DOUBLE_EQ(attempts[0].speedup->median, 4);
  EXPECT_FALSE(attempts[0].speedup->low);
  EXPECT_EQ(attempts[1].outcome, "not_all_workloads");
  EXPECT_FALSE(attempts[1].correct());
  EXPECT_EQ(attempts[2].outcome, "violation");
  EXPECT_EQ(attempts[2].violation, "input_write");
}

// Two problems: one solved by an attempt that refines another, one where the model said nothing;
// and a third that was not begun.
class RunFolderReaderTest : public ReadRunTest {
 protected:
  void SetUp() override {
    ReadRunTest::SetUp();
    path = folder->path() / "run";
    auto made = runlog::RunFolder::create(path, {{"method", "refine"}});
    ASSERT_TRUE(made);
    run = std::make_unique<runlog::RunFolder>(std::move(*made));
    append(runlog::RunStarted{"0.1",
                              2,
                              "2025-01-01T00:00:00Z",
                              "solve",
                              {{"eval", {{"baseline", "compile"}, {"target", "cpu"}}}},
                              {{"a", "a", "ha"}, {"b", "b", "hb"}, {"c", "c", "hc"}},
                              "a machine"});
    append(runlog::ProblemStarted{"a"});
    attempt("a", 0, runlog::kNoParent, text::Finish::kStop, task::Outcome::kCompileError);
    attempt("a", 1, 0, text::Finish::kStop, task::Outcome::kPassed);
    append(runlog::ProblemStarted{"b"});
    attempt("b", 0, runlog::kNoParent, text::Finish::kLength, std::nullopt);
  }
  // Another run, of one problem, begins.
  std::filesystem::path begin(const std::string& name, const Json& settings = Json::object()) {
    std::filesystem::path other = folder->path() / name;
    run = std::make_unique<runlog::RunFolder>(runlog::RunFolder::create(other, {}).value());
    append(runlog::RunStarted{"0.1", 2, "now", "solve", settings, {{"a", "a", "ha"}}});
    append(runlog::ProblemStarted{"a"});
    return other;
  }
  void append(runlog::EventBody body) { ASSERT_TRUE(run->append({++at, std::move(body)})); }
  // Without an outcome there is no code in the answer, or with it no verdict.
  void attempt(const std::string& problem, int id, int parent, text::Finish finish,
               std::optional<task::Outcome> outcome, bool has_code = false) {
    runlog::Decided decided;
    decided.problem = problem;
    decided.attempt = decided.visible = id;
    decided.parent = parent;
    append(decided);
    runlog::Answered answered;
    answered.problem = problem;
    answered.attempt = id;
    answered.by = "model";
    answered.label = label;
    answered.suspicion = suspicion;
    answered.answer = run->put("the answer of " + problem).value();
    answered.finish = finish;
    answered.usage = {100, 20, 0.5};
    answered.wall_ms = 1000;
    append(answered);
    runlog::Extracted extracted;
    extracted.problem = problem;
    extracted.attempt = id;
    if (outcome || has_code) {
      task::Candidate code =
          task::candidate_from_files(task::Language::kCpp, {{"k.cpp", "int x;\n"}}).value();
      code.definition = problem;
      code.author = "model";
      extracted.candidate = candidate = run->put(runlog::candidate_text(code)).value();
      extracted.candidate_hash = code.hash;
    } else {
      extracted.why_not = "no code block";
    }
    append(extracted);
    if (!outcome) return;
    runlog::Judged judged;
    judged.problem = problem;
    judged.attempt = id;
    judged.outcome = *outcome;
    judged.progress =
        *outcome == task::Outcome::kPassed ? task::Progress::kCorrect : task::Progress::kExtracted;
    task::Verdict of_it = verdict(problem, "s", *outcome);
    judged.speedup = of_it.speedup;
    judged.verdict = run->put(to_json(of_it).dump()).value();
    judged.wall_ms = 500;
    append(judged);
  }

  std::filesystem::path path;
  std::unique_ptr<runlog::RunFolder> run;
  std::string candidate;
  std::string label, suspicion;  // of the next answers
  std::int64_t at = 0;
};

TEST_F(RunFolderReaderTest, AttemptsInOrder) {
  auto read = load(path);
  ASSERT_TRUE(read) << read.error().message();
  EXPECT_EQ(read->kind, "solve");
  EXPECT_EQ(read->name, "run");
  EXPECT_NE(read->settings.find("refine"), std::string::npos);
  EXPECT_FALSE(read->finished);
  EXPECT_FALSE(read->independent);
  EXPECT_EQ(read->baseline, "compile");
  EXPECT_EQ(read->target, "cpu");
  EXPECT_EQ(read->hardware, "a machine");
  ASSERT_EQ(read->problems.size(), 3U) << "one that was not begun was asked too";
  const auto& attempts = read->problems[0].attempts;
  ASSERT_EQ(attempts.size(), 2U);
  EXPECT_EQ(attempts[0].outcome, "compile_error");
  EXPECT_EQ(attempts[0].code.text, "int x;\n");
  EXPECT_EQ(attempts[0].language, "cpp");
  EXPECT_EQ(attempts[0].diagnostics[0].message, "says");
  EXPECT_EQ(attempts[1].parent, "0");
  EXPECT_EQ(attempts[1].speedup->high, 2.1);
  EXPECT_EQ(attempts[1].spent.prompt_tokens, 100);
  EXPECT_EQ(attempts[1].spent.cost_usd, 0.5);
  EXPECT_EQ(attempts[1].spent.seconds, 1.5);
  const Attempt& silent = read->problems[1].attempts.at(0);
  EXPECT_EQ(silent.outcome, "cut_answer");
  EXPECT_EQ(silent.progress, task::Progress::kNothing);
  EXPECT_EQ(silent.answer.text, "the answer of b");
  EXPECT_EQ(silent.diagnostics[0].message, "no code block");
  EXPECT_EQ(failure_of(silent), "cut_answer: no code block");
  EXPECT_TRUE(read->problems[2].attempts.empty());
  EXPECT_EQ(read->problems[2].failure, "not begun");
}

TEST_F(RunFolderReaderTest, AnAttemptUnderWayIsNotCounted) {
  runlog::Decided decided;
  decided.problem = "b";
  decided.attempt = decided.visible = 1;
  append(decided);
  auto read = load(path);
  ASSERT_TRUE(read) << read.error().message();
  EXPECT_EQ(read->problems[1].attempts.size(), 1U);
  EXPECT_NE(std::find(read->notes.begin(), read->notes.end(),
                      "1 attempts without a verdict are not counted"),
            read->notes.end());
}

TEST_F(RunFolderReaderTest, OneThatWasResumedElsewhereRanOnSeveralMachines) {
  append(runlog::RunResumed{"0.1", "later", "a machine"});
  EXPECT_EQ(load(path)->hardware, "a machine");
  append(runlog::RunResumed{"0.1", "later", "another"});
  EXPECT_EQ(load(path)->hardware, kSeveral);
}

TEST_F(RunFolderReaderTest, OurFailuresAreNotTheCandidates) {
  attempt("b", 1, runlog::kNoParent, text::Finish::kStop, std::nullopt, true);
  runlog::Failed failure;
  failure.problem = "b";
  failure.attempt = 1;
  failure.stage = "judge";
  append(failure);
  failure.stage = "propose";
  failure.kind = "rate_limited";
  failure.usage = {100, 20, 0.25};
  failure.again = true;
  append(failure);
  auto read = load(path);
  ASSERT_TRUE(read) << read.error().message();
  EXPECT_EQ(read->problems[1].attempts.size(), 1U);
  auto has = [&](const std::string& words) {
    return std::any_of(read->notes.begin(), read->notes.end(), [&](const std::string& note) {
      return note.find(words) != std::string::npos;
    });
  };
  EXPECT_TRUE(has("1 attempts could not be judged, by no fault of theirs"));
  EXPECT_TRUE(
      has("2 tries failed, by no fault of a candidate: judge_internal 1, rate_limited 1; "
          "they cost 120 tokens and $0.25, counted with all"));
  // One sum in solve and here: three answers, and one that failed.
  const runlog::Run log = runlog::RunFolder::read(path).value();
  text::Usage told;
  for (const runlog::ProblemTree& tree : log.problems) told += tree.usage();
  const Metrics m = measure(*read, {});
  EXPECT_EQ(m.spent.tokens(), told.tokens());
  EXPECT_EQ(m.spent.cost_usd, told.cost_usd);
  EXPECT_EQ(m.best_so_far.back().spent.cost_usd, told.cost_usd);
}

TEST_F(RunFolderReaderTest, RowsThatCouldNotBeReadWereAskedToo) {
  std::filesystem::path other = folder->path() / "other";
  run = std::make_unique<runlog::RunFolder>(runlog::RunFolder::create(other, {}).value());
  append(runlog::RunStarted{"0.1",
                            2,
                            "now",
                            "solve",
                            Json::object(),
                            {{"a", "a", "ha"}},
                            "",
                            {{"line 3", "rows.jsonl:3: no JSON"}}});
  const report::Run read = load(other).value();
  ASSERT_EQ(read.problems.size(), 2U);
  EXPECT_EQ(read.problems[1].name, "line 3");
  EXPECT_EQ(read.problems[1].failure, "unread: rows.jsonl:3: no JSON");
}

TEST_F(RunFolderReaderTest, ReasoningIsShown) {
  runlog::Decided decided;
  decided.problem = "b";
  decided.attempt = decided.visible = 1;
  append(decided);
  runlog::Answered answered;
  answered.problem = "b";
  answered.attempt = 1;
  answered.answer = run->put("no").value();
  answered.reasoning = run->put("It is <hard>.").value();
  append(answered);
  append(runlog::Extracted{"b", 1, "", "", "no code block"});
  const report::Run read = load(path).value();
  EXPECT_EQ(read.problems[1].attempts.at(1).reasoning.text, "It is <hard>.");
  EXPECT_NE(to_html(make_report({read}, 0, {0, 20, 0.95})).find("It is &lt;hard&gt;."),
            std::string::npos);
}

// By what the run was asked to do, not by whether chance gave an attempt a parent.
TEST_F(RunFolderReaderTest, AMethodThatRefinesMakesDependentAttempts) {
  for (const char* method : {"base", "best_of_n", "refine", "metr"}) {
    const std::filesystem::path other = begin(method, {{"search", {{"method", method}}}});
    attempt("a", 0, runlog::kNoParent, text::Finish::kStop, task::Outcome::kPassed);
    const std::string name = method;
    EXPECT_EQ(load(other).value().independent, name == "base" || name == "best_of_n") << name;
  }
}

TEST_F(RunFolderReaderTest, SamplesAreIndependentUnlessSuccessEndsThem) {
  report::Run whole = load(path).value();
  EXPECT_FALSE(whole.independent) << "an attempt has a parent";
  const std::filesystem::path other = begin("other");
  attempt("a", 0, runlog::kNoParent, text::Finish::kStop, task::Outcome::kPassed);
  EXPECT_TRUE(load(other).value().independent);
  runlog::ProblemEnded ended;
  ended.problem = "a";
  ended.end = runlog::End::kFirstCorrect;
  ended.best = 0;
  append(ended);
  append(runlog::RunEnded{});
  report::Run stopped = load(other).value();
  EXPECT_FALSE(stopped.independent);
  EXPECT_TRUE(stopped.finished);
}

// A suspicious answer is a sample like any other; only what a program proposes depends on the rest.
TEST_F(RunFolderReaderTest, SuspiciousAnswersStayIndependent) {
  auto one_more = [&](const std::string& name, const std::string& labelled,
                      const std::string& suspected) {
    const std::filesystem::path other = begin(name);
    label = suspicion = "";
    attempt("a", 0, runlog::kNoParent, text::Finish::kStop, task::Outcome::kPassed);
    label = labelled;
    suspicion = suspected;
    attempt("a", 1, runlog::kNoParent, text::Finish::kStop, std::nullopt);
    return load(other).value();
  };
  report::Run read = one_more("model", "", "prompt_echo");
  EXPECT_TRUE(read.independent);
  EXPECT_EQ(measure(read, {}).pass_at_k.size(), 2U);
  EXPECT_EQ(failure_of(read.problems[0].attempts[1]), "no_code: no code block (prompt_echo)");
  EXPECT_FALSE(one_more("program", "tiled lanes=8", "").independent);
}

TEST_F(RunFolderReaderTest, SeveralFiles) {
  task::Candidate code = task::candidate_from_files(task::Language::kCpp,
                                                    {{"k.cpp", "int x;\n"}, {"part.h", "int y;\n"}})
                             .value();
  runlog::Decided decided;
  decided.problem = "b";
  decided.attempt = decided.visible = 1;
  append(decided);
  runlog::Answered answered;
  answered.problem = "b";
  answered.attempt = 1;
  answered.answer = run->put("an answer").value();
  append(answered);
  append(runlog::Extracted{"b", 1, run->put(runlog::candidate_text(code)).value(), code.hash, ""});
  runlog::Judged judged;
  judged.problem = "b";
  judged.attempt = 1;
  judged.outcome = task::Outcome::kCompileError;
  judged.verdict = run->put(to_json(verdict("b", "s", judged.outcome)).dump()).value();
  append(judged);
  auto read = load(path);
  ASSERT_TRUE(read) << read.error().message();
  EXPECT_EQ(read->problems[1].attempts.at(1).code.text,
            "==== k.cpp\nint x;\n==== part.h\nint y;\n");
}

TEST_F(RunFolderReaderTest, KilledAtAnyByte) {
  std::string events = os::read_file(path / "events.jsonl").value();
  run.reset();
  std::size_t first = events.find('\n') + 1;
  for (std::size_t length = first; length < events.size(); length += 37) {
    std::ofstream(path / "events.jsonl") << events.substr(0, length);
    auto read = load(path);
    ASSERT_TRUE(read) << length << ": " << read.error().message();
    EXPECT_EQ(read->problems.size(), 3U);
  }
}

TEST_F(RunFolderReaderTest, DamageIsNamed) {
  std::string events = os::read_file(path / "events.jsonl").value();
  std::size_t third = events.find('\n', events.find('\n') + 1) + 1;
  std::string broken = events;
  broken[third + 1] = '!';
  std::ofstream(path / "events.jsonl") << broken;
  auto read = load(path);
  ASSERT_FALSE(read);
  EXPECT_NE(read.error().message().find("events.jsonl:3"), std::string::npos)
      << read.error().message();

  std::ofstream(path / "events.jsonl") << events;
  std::ofstream(path / "blobs" / candidate.substr(0, 2) / candidate) << "another";
  read = load(path);
  ASSERT_TRUE(read) << "the numbers do not need the code";
  EXPECT_NE(
      read->problems[0].attempts[1].diagnostics.at(0).message.find("does not have its name's hash"),
      std::string::npos);
}

TEST_F(ReadRunTest, ProblemsAskedAndNames) {
  report::Run run = run_of("r", {problem("a", {})});
  EXPECT_EQ(add_problems_asked(run, {"a", "b", "b"}), 1U);
  EXPECT_EQ(run.problems.size(), 2U);

  std::vector<report::Run> runs(4);
  const char* paths[] = {"x/run", "y/run", "y/run", "other"};
  const char* names[] = {"run", "run", "run", "other"};
  for (std::size_t i = 0; i < 4; ++i) {
    runs[i].path = paths[i];
    runs[i].name = names[i];
  }
  name_apart(runs);
  EXPECT_EQ(runs[0].name, "x/run");
  EXPECT_EQ(runs[1].name, "y/run");
  EXPECT_EQ(runs[2].name, "y/run#2");
  EXPECT_EQ(runs[3].name, "other");
}

}  // namespace
}  // namespace kw::report
