// problems check with a fake gym: rows, exit codes, the record, resume, interruption.
#include "kernelwright/problems/report.h"
#include "kernelwright/testing/fakes.h"

namespace kw::front {
namespace {

using Cause = gym::QuarantineCause;

class ProblemsCheck : public FrontTest {
 protected:
  std::vector<Json> record(const std::string& name = "o.jsonl") const {
    std::vector<Json> out;
    std::istringstream stream(read(name));
    for (std::string line; std::getline(stream, line);) {
      auto json = parse_json(line);
      EXPECT_TRUE(json) << line;
      if (json) out.push_back(*json);
    }
    return out;
  }
  std::string module(const std::string& name, const std::string& constant = "rows = 4") const {
    return write(name, constant +
                           "\nclass Model:\n    pass\n\ndef get_inputs():\n    return []\n\ndef "
                           "get_init_inputs():\n    return []\n");
  }
  int check(std::vector<std::string> more = {}) {
    console.out_text.clear();
    console.err_text.clear();
    gym.checked.clear();
    gym.started.clear();
    more.insert(more.begin(), {"problems", "check", path("problems")});
    return kernelwright(more);
  }
};

TEST_F(ProblemsCheck, AllAdmitted) {
  EXPECT_EQ(check(), 0) << console.err_text;
  EXPECT_EQ(console.out_text,
            "admitted          double\n"
            "admitted          halve\n"
            "2 of 2 problems checked\n"
            "  admitted           2\n");
}

TEST_F(ProblemsCheck, EveryVerdictIsARow) {
  module("problems/level1/3_Fine.py");
  module("problems/level1/4_Fails.py");
  write("problems/level1/5_Broken.py", "def run(): pass\n");
  write("problems/gpu/definition.json", read("problems/halve/definition.json"));
  write("problems/gpu/workloads.jsonl", read("problems/halve/workloads.jsonl"));
  write("problems/gpu/policy.toml", "schema = 1\n[workloads.w-halve]\ntargets = [\"cuda\"]\n");
  gym.quarantines["double"] = {Cause::kTrivialCandidate,
                               {"zeros", "every row its mean"},
                               "trivial candidates pass: zeros, every row its mean"};
  gym.quarantines["4_Fails"] = {Cause::kReferenceFailed, {}, "boom\n|pipe|"};
  EXPECT_EQ(check({"--markdown", path("o.md"), "--jobs", "1"}), 1);
  EXPECT_EQ(console.out_text,
            "quarantined       double  trivial candidates pass: zeros, every row its mean\n"
            "not_checked       halve  none of its workloads is for the CPU\n"
            "admitted          halve\n"
            "admitted          1/3_Fine\n"
            "reference_failed  1/4_Fails  boom; |pipe|\n"
            "unreadable        5_Broken  " +
                path("problems/level1/5_Broken.py") +
                ": the problem does not define Model at top level\n"
                "6 of 6 problems checked\n"
                "  admitted           2\n"
                "  quarantined        1\n"
                "    trivial_candidate 1: every row its mean 1, zeros 1\n"
                "  reference_failed   1\n"
                "  unreadable         1\n"
                "  not_checked        1\n"
                "table     " +
                path("o.md") + "\n");
  std::string table = read("o.md");
  for (const char* row :
       {"# Admission of 6 problems\n",
        "| double | elementwise | quarantined | trivial candidates pass | zeros, every row its "
        "mean | w-double | 1.5 ms |\n",
        "| 1/4_Fails |  | reference_failed | boom; \\|pipe\\| |  | module | 1.5 ms |\n",
        "| 1/3_Fine |  | admitted |  |  |  |  |\n"}) {
    EXPECT_NE(table.find(row), std::string::npos) << row << table;
  }
}

TEST_F(ProblemsCheck, OurFailureIsNotTheProblems) {
  gym.errors["double"] = ErrorCode::kUnavailable;
  EXPECT_EQ(check({"--out", path("o.jsonl")}), 2);
  EXPECT_NE(console.err_text.find("error: double: the fake fails\n"), std::string::npos);
  EXPECT_NE(console.out_text.find("  failed             1: --resume tries again\n"),
            std::string::npos)
      << console.out_text;
  ASSERT_EQ(record().size(), 1U);
  gym.errors.clear();
  EXPECT_EQ(check({"--out", path("o.jsonl"), "--resume"}), 0);
  ASSERT_EQ(gym.checked.size(), 1U);
  EXPECT_EQ(gym.checked[0].problem.name, "double");
}

TEST_F(ProblemsCheck, ResumeTakesWhatIsRecorded) {
  gym.quarantines["halve"] = {Cause::kInertInput, {"x"}, "inputs that change nothing: x"};
  write("problems/broken/definition.json", "{");
  std::vector<std::string> again = {"--out", path("o.jsonl"), "--resume"};
  EXPECT_EQ(check({"--out", path("o.jsonl")}), 1);
  ASSERT_EQ(record().size(), 3U);
  EXPECT_EQ(check({"--out", path("o.jsonl")}), 2) << "without --resume nothing is overwritten";
  EXPECT_EQ(check(again), 1) << "rows of the earlier run count";
  EXPECT_TRUE(gym.started.empty()) << "no gym is started for nothing";
  EXPECT_NE(console.out_text.find("3 of 3 problems checked (3 in an earlier run)\n"),
            std::string::npos)
      << console.out_text;
  EXPECT_EQ(record().size(), 3U);
  // A changed problem has another hash, a repaired file is a new problem.
  write("problems/double/policy.toml", "schema = 1\n");
  write("problems/broken/definition.json", read("problems/double/definition.json"));
  write("problems/broken/workloads.jsonl", read("problems/double/workloads.jsonl"));
  EXPECT_EQ(check(again), 1);
  EXPECT_EQ(gym.checked.size(), 2U);
  EXPECT_EQ(record().size(), 5U);
}

TEST_F(ProblemsCheck, AnotherNameForTheSameProblemIsRecordedToo) {
  module("problems/level1/3_A.py");
  EXPECT_EQ(check({"--out", path("o.jsonl")}), 0);
  module("problems/level2/4_B.py");
  EXPECT_EQ(check({"--out", path("o.jsonl"), "--resume"}), 0);
  EXPECT_TRUE(gym.checked.empty());
  auto rows = record();
  ASSERT_EQ(rows.size(), 4U);
  EXPECT_EQ(rows[3]["name"], "4_B");
  EXPECT_EQ(rows[3]["level"], 2);
  EXPECT_EQ(rows[3]["hash"], rows[2]["hash"]);
  EXPECT_EQ(check({"--out", path("o.jsonl"), "--resume"}), 0);
  EXPECT_EQ(record().size(), 4U) << "once";
}

TEST_F(ProblemsCheck, OtherLimitsOrAnotherGymDoNotStandForThese) {
  EXPECT_EQ(check({"--out", path("o.jsonl"), "--memory", "1GiB"}), 0);
  EXPECT_EQ(check({"--out", path("o.jsonl"), "--resume"}), 0);
  ASSERT_EQ(gym.checked.size(), 2U);
  EXPECT_EQ(gym.checked[0].memory_bytes, 0U);
  std::string text = read("o.jsonl");
  for (std::size_t at = 0; (at = text.find("\"gym_version\":", at)) != std::string::npos; at += 15)
    text.insert(at + 14, "9");
  write("o.jsonl", text);
  EXPECT_EQ(check({"--out", path("o.jsonl"), "--resume", "--timeout", "3"}), 0);
  ASSERT_EQ(gym.checked.size(), 2U);
  EXPECT_EQ(gym.checked[0].timeout_seconds, 3);
}

TEST_F(ProblemsCheck, InterruptLeavesAResumableRecord) {
  for (int i = 1; i <= 4; ++i) module(fmt::format("problems/{}_M.py", i), fmt::format("n = {}", i));
  gym.on_check = [this](const gym::CheckRequest& request) {
    if (request.problem.name == "2_M") stop.request_stop();
  };
  EXPECT_EQ(check({"--out", path("o.jsonl"), "--markdown", path("o.md")}), 130);
  EXPECT_NE(console.err_text.find("error: interrupted after 3 of 6; --resume goes on from here\n"),
            std::string::npos)
      << console.err_text;
  EXPECT_EQ(record().size(), 3U);
  EXPECT_NE(read("o.md").find("# Admission of 3 problems\n"), std::string::npos);
  // The file is as after a crash in the middle of a line.
  std::ofstream(path("o.jsonl"), std::ios::app) << R"({"schema":1,"gym_)";
  gym.on_check = nullptr;
  stop = std::stop_source();
  EXPECT_EQ(check({"--out", path("o.jsonl"), "--resume"}), 0);
  EXPECT_EQ(gym.checked.size(), 3U);
  EXPECT_EQ(record().size(), 6U);
}

TEST_F(ProblemsCheck, ManyAtOnce) {
  for (int i = 1; i <= 20; ++i)
    module(fmt::format("problems/{}_M.py", i), fmt::format("n = {}", i));
  EXPECT_EQ(check({"--jobs", "4", "--out", path("o.jsonl"), "--json"}), 0);
  EXPECT_EQ(gym.started.at(0).jobs, 4);
  EXPECT_EQ(record().size(), 22U);
  EXPECT_EQ(read("o.jsonl"), console.out_text);
}

TEST_F(ProblemsCheck, WhatConcernsTheWholeArgument) {
  auto error = [this](const std::vector<std::string>& words) {
    console.err_text.clear();
    EXPECT_EQ(kernelwright(words), 2);
    return console.err_text;
  };
  EXPECT_NE(error({"problems", "check", "problms"}).find("no such file, and no such problem"),
            std::string::npos);
  EXPECT_NE(error({"problems", "check", "problems", "--resume"}).find("--resume goes with --out"),
            std::string::npos);
  EXPECT_NE(error({"problems", "check", "problems", "--set", "n=1"}).find("--set n"),
            std::string::npos);
  EXPECT_NE(error({"problems", "check", "problems", "--timeout", "-1"}).find("--timeout: -1"),
            std::string::npos);
  EXPECT_NE(
      error({"problems", "check", "problems", "--out", "problems"}).find("not a regular file"),
      std::string::npos);
  EXPECT_NE(
      error({"problems", "check", "problems", "--markdown", "problems"}).find("not a regular file"),
      std::string::npos);
  EXPECT_NE(error({"problems", "check", write("one.py", "x = 1\n")}).find("does not define Model"),
            std::string::npos)
      << "nothing else to go on with";
  EXPECT_TRUE(gym.started.empty());
  start_error = Error(ErrorCode::kIsolationTooWeak, "reached basic, asked for full");
  EXPECT_EQ(check({"--isolation-at-least", "full"}), 3);
}

TEST(ProblemReport, ARowIsReadAsItWasWritten) {
  ProblemReport row;
  row.name = "n";
  row.origin = "o";
  row.kind = "definition";
  row.hash = "h";
  row.family = "f";
  row.level = 2;
  row.problem_id = 80;
  row.verdict = CheckVerdict::kQuarantined;
  row.cause = "trivial_candidate";
  row.reason = "r";
  row.names = {"zeros"};
  row.failing = {"u"};
  row.seconds = 1.5;
  row.workloads = {
      {"u", "main", {task::Target::kCpu}, true, {"", false, true, {"zeros"}, {"x"}, 2.5}},
      {"v", "", {task::Target::kCuda}, false, {}}};
  Json json = to_json(row);
  auto again = problem_report_from_json(json);
  ASSERT_TRUE(again) << again.error().message();
  EXPECT_EQ(to_json(*again), json);
  EXPECT_EQ(report_line(*again), "quarantined       2/n  r (main)\n");
  json["verdict"] = "fine";
  EXPECT_FALSE(problem_report_from_json(json));
}

// A trivial candidate that passes on one workload is reported even if another workload catches it.
TEST(ProblemReport, WeakWorkloadsOfAnAdmittedProblem) {
  ProblemReport row;
  row.name = "n";
  row.verdict = CheckVerdict::kAdmitted;
  row.workloads = {
      {"u", "main", {task::Target::kCpu}, true, {"", false, false, {"zeros"}, {}, 2.5}},
      {"12345678-9", "", {task::Target::kCpu}, true, {"", false, false, {}, {}, 3.5}}};
  EXPECT_EQ(report_line(row),
            "admitted          n  (zeros passes on main: other workloads catch it)\n");
  EXPECT_NE(
      markdown_table({&row}).find("| n |  | admitted |  | zeros passes on main |  | 3.5 ms |"),
      std::string::npos)
      << markdown_table({&row});
}

}  // namespace
}  // namespace kw::front
