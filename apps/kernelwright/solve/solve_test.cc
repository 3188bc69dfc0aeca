// solve with recorded answers and a fake gym: what it prints and writes, exit codes, resuming, bad
// input, a full disk.
#include "kernelwright/solve/solve.h"

#include <csignal>
#include <set>

#include <sys/resource.h>

#include "base/text.h"
#include "kernelwright/solve/counts.h"
#include "kernelwright/solve/files.h"
#include "kernelwright/testing/fakes.h"

namespace kw::front {
namespace {

namespace fs = std::filesystem;
using task::Outcome;

class SolveTest : public FrontTest {
 protected:
  // An answer whose code is unlike all others.
  Json answer(const std::string& problem, int attempt, const std::string& text = "") {
    const std::string code = fmt::format(
        "```cpp\nextern \"C\" void run(const float* x, float* y, int64_t N) {{ /* {} {} */ "
        "}}\n```\n",
        problem, attempt);
    return {{"problem", problem},
            {"attempt", attempt},
            {"answer", text.empty() ? code : text},
            {"usage", {{"prompt_tokens", 100}, {"completion_tokens", 20}}}};
  }
  std::string answers(const std::vector<Json>& lines) {
    std::string text;
    for (const Json& line : lines) text += line.dump() + "\n";
    return write("answers.jsonl", text);
  }
  std::string three() {
    return answers({answer("double", 0), answer("double", 1, "I cannot."), answer("double", 2)});
  }
  int solve(std::vector<std::string> more, const std::string& problem = "double") {
    std::vector<std::string> words = {
        "solve", problem,     "--answers",       path("answers.jsonl"),
        "--run", path("run"), "--retry-seconds", "0"};
    words.insert(words.end(), more.begin(), more.end());
    return kernelwright(words);
  }
  int resume() { return kernelwright({"solve", "--resume", "--run", path("run"), "--json"}); }
};

TEST_F(SolveTest, ACard) {
  three();
  gym.outcomes["attempt_0"] = Outcome::kWrongValue;
  EXPECT_EQ(solve({"--samples", "3"}), 0);
  EXPECT_EQ(console.out_text,
            "double  2x (1.9 to 2.1) over eager\n"
            "  attempts   3: 2 extracted, 2 compiled, 1 correct (1 no_code, 1 wrong_value)\n"
            "  kernel     " +
                path("run/solutions/double/kernel.cpp") +
                "\n"
                "  tokens     360\n"
                "  next       kernelwright eval " +
                path("problems/double") + " " + path("run/solutions/double/solution.json") +
                " --precise\n"
                "\n"
                "1 of 1 problems have a correct kernel, 1 one faster than eager\n"
                "run        " +
                path("run") + "\n");
  EXPECT_NE(console.err_text.find("plan: 1 problem, best_of_n with at most 3 attempts each, 3 in "
                                  "all\n  proposer   recorded, "),
            std::string::npos)
      << console.err_text;
  EXPECT_NE(console.err_text.find("double  faster 2x (1.9 to 2.1)  1 of 3 attempts correct"),
            std::string::npos)
      << console.err_text;
}

TEST_F(SolveTest, ABorderlineKernelIsNotTakenAndTheCardSaysWhy) {
  three();
  gym.on_verdict = [](task::Verdict& verdict) {
    verdict.workloads.at(0).borderline = task::Borderline{1.03, {0.97, 1.02}};
    verdict.workloads.at(0).errors = {{"y", 1, 1, 1.03, 3}};
  };
  EXPECT_EQ(solve({"--samples", "1"}), 1);
  EXPECT_TRUE(console.out_text.starts_with(
      "double  no correct kernel\n"
      "  attempts   1: 1 extracted, 1 compiled, 0 correct (1 borderline)\n"
      "  closest    attempt 0: borderline, 1.03 x the error allowed, too near the limit to be "
      "taken as correct\n"))
      << console.out_text;
  EXPECT_FALSE(fs::exists(path("run/solutions/double/solution.json")));
}

TEST_F(SolveTest, FilesOfTheBestKernel) {
  three();
  EXPECT_EQ(solve({"--samples", "3"}), 0);
  const std::string kernel = read("run/solutions/double/kernel.cpp");
  EXPECT_TRUE(kernel.starts_with("// build: g++ -O3 -shared -fPIC -o kernel.so kernel.cpp\n"));
  EXPECT_NE(kernel.find("extern \"C\" void run(\n    const float* x"), std::string::npos) << kernel;
  EXPECT_NE(kernel.find("/* double 0 */"), std::string::npos);
  auto solution = parse_json(read("run/solutions/double/solution.json"));
  ASSERT_TRUE(solution);
  EXPECT_EQ((*solution)["definition"], "double");
  EXPECT_EQ((*solution)["spec"]["entry_point"], "kernel.cpp::run");
  EXPECT_NE(read("run/run.toml").find("samples = 3"), std::string::npos);
}

TEST_F(SolveTest, JsonAndExitCodes) {
  three();
  gym.outcomes["attempt_0"] = gym.outcomes["attempt_2"] = Outcome::kWrongValue;
  EXPECT_EQ(solve({"--json", "--samples", "3"}), 1);
  auto row = parse_json(console.out_text);
  ASSERT_TRUE(row) << console.out_text;
  EXPECT_EQ((*row)["problem"], "double");
  EXPECT_TRUE((*row)["best"].is_null());
  EXPECT_EQ((*row)["attempts"], 3);
  EXPECT_EQ((*row)["compiled"], 2);
  EXPECT_EQ((*row)["correct"], 0);
  EXPECT_EQ((*row)["tokens"], 360);
  EXPECT_EQ((*row)["end"], "attempts");

  fs::remove_all(path("run"));
  gym.outcomes.clear();
  console.out_text.clear();
  EXPECT_EQ(solve({"--json", "--samples", "3"}), 0);
  row = parse_json(console.out_text);
  EXPECT_EQ((*row)["best"]["outcome"], "faster");
  EXPECT_EQ((*row)["best"]["speedup"]["low"], 1.9);
  EXPECT_EQ((*row)["best"]["source"], path("run/solutions/double/kernel.cpp"));

  fs::remove_all(path("run"));
  gym.outcomes["attempt_0"] = Outcome::kQuarantined;
  EXPECT_EQ(solve({"--json", "--samples", "3"}), 2);

  fs::remove_all(path("run"));
  start_error = Error(ErrorCode::kIsolationTooWeak, "reached basic, asked for full");
  EXPECT_EQ(solve({"--json", "--samples", "3"}), 3);
}

TEST_F(SolveTest, HeadlinesAndEvidence) {
  three();
  const auto card = [&](double low, double high) {
    gym.on_verdict = [=](task::Verdict& verdict) {
      verdict.speedup = task::Speedup{(low + high) / 2, low, high};
      verdict.evidence = "/data/evidence/5b2f";
    };
    fs::remove_all(path("run"));
    console.out_text.clear();
    EXPECT_EQ(solve({"--method", "base"}), 0);
    return console.out_text;
  };
  EXPECT_TRUE(card(1.5, 1.7).starts_with("double  1.6x (1.5 to 1.7) over eager\n"))
      << console.out_text;
  EXPECT_NE(console.out_text.find("\n  evidence   /data/evidence/5b2f\n"), std::string::npos)
      << console.out_text;
  EXPECT_TRUE(
      card(0.9, 1.1).starts_with("double  no kernel beats eager here: the best correct one "
                                 "is as fast, 1x (0.9 to 1.1)\n"))
      << console.out_text;
  EXPECT_NE(console.out_text.find("0 one faster than eager"), std::string::npos);
  EXPECT_TRUE(
      card(0.5, 0.7).starts_with("double  no kernel beats eager here: the best correct one "
                                 "is slower, 0.6x (0.5 to 0.7)\n"))
      << console.out_text;
}

TEST_F(SolveTest, Standings) {
  const auto standing = [](double low, double high) {
    runlog::ProblemTree tree;
    tree.attempts.resize(1);
    tree.attempts[0].judged = runlog::Judged{};
    tree.attempts[0].judged->progress = task::Progress::kCorrect;
    if (high > 0) tree.attempts[0].judged->speedup = task::Speedup{(low + high) / 2, low, high};
    return standing_of(tree);
  };
  EXPECT_EQ(standing(1.01, 1.2), Standing::kFaster);
  EXPECT_EQ(standing(0.99, 1.2), Standing::kNotFaster);
  EXPECT_EQ(standing(0.8, 0.99), Standing::kSlower);
  EXPECT_EQ(standing(0, 0), Standing::kCorrect);
  EXPECT_EQ(standing_of(runlog::ProblemTree{}), Standing::kNone);
}

TEST_F(SolveTest, ADataSetWithBothProblems) {
  answers({answer("double", 0), answer("halve", 0)});
  EXPECT_EQ(solve({"--json", "--method", "base"}, path("problems")), 0);
  EXPECT_EQ(std::count(console.out_text.begin(), console.out_text.end(), '\n'), 2);
  EXPECT_LT(console.out_text.find("\"double\""), console.out_text.find("\"halve\""));
}

TEST_F(SolveTest, AResumedRunHasTheSettingsOfItsFolder) {
  three();
  gym.on_judge = [&](const gym::EvalRequest& request) {
    if (request.turn == 2) stop.request_stop();
  };
  EXPECT_EQ(solve({"--samples", "3", "--parallel", "1"}), 130);
  EXPECT_NE(console.err_text.find("interrupted; kernelwright solve --resume --run " + path("run") +
                                  " goes on"),
            std::string::npos)
      << console.err_text;
  gym.on_judge = nullptr;
  stop = {};
  EXPECT_EQ(kernelwright({"solve", "--resume"}), 2);
  EXPECT_EQ(kernelwright({"solve", "--resume", "--run", path("run"), "--samples", "5"}), 2);
  EXPECT_NE(console.err_text.find("leave out --samples"), std::string::npos) << console.err_text;
  EXPECT_EQ(kernelwright({"solve", "--resume", "--run", path("none")}), 2);
  fs::current_path(fs::temp_directory_path());  // paths in run.toml are whole
  gym.seen.clear();
  console.out_text.clear();
  EXPECT_EQ(resume(), 0);
  auto row = parse_json(console.out_text);
  ASSERT_TRUE(row) << console.out_text;
  EXPECT_EQ((*row)["attempts"], 3);
  EXPECT_LE(gym.seen.size(), 1U);  // attempt 2 perhaps; the others have their verdicts
  // Once more: nothing is left to do.
  gym.seen.clear();
  EXPECT_EQ(resume(), 0);
  EXPECT_EQ(gym.seen.size(), 0U);
  fs::current_path(folder.path());
}

TEST_F(SolveTest, AResumedRunHasTheBaselineOfItsFolder) {
  three();
  write("theirs.cpp", "extern \"C\" void run(const float* x, float* out) { out[0] = x[0]; }\n");
  gym.on_judge = [&](const gym::EvalRequest& request) {
    if (request.turn == 0) stop.request_stop();
  };
  EXPECT_EQ(solve({"--samples", "3", "--parallel", "1", "--baseline", path("theirs.cpp")}), 130);
  gym.on_judge = nullptr;
  stop = {};
  fs::remove(path("theirs.cpp"));  // the run has its content
  gym.seen.clear();
  EXPECT_EQ(resume(), 0) << console.err_text;
  ASSERT_FALSE(gym.seen.empty());
  EXPECT_EQ(gym::name_of(gym.seen[0].options.baseline), "theirs");
}

TEST_F(SolveTest, AProblemThatHasChangedIsNotGoneOnWith) {
  three();
  EXPECT_EQ(solve({"--samples", "3"}), 0);
  write("problems/double/policy.toml", "schema = 1\nfamily = \"another\"\n");
  console.out_text.clear();
  EXPECT_EQ(resume(), 2);
  EXPECT_NE(console.out_text.find("double in " + path("problems/double") +
                                  " has changed since the run began"),
            std::string::npos)
      << console.out_text;
}

TEST_F(SolveTest, AFullDiskLosesNothing) {
  std::vector<Json> lines;
  for (int i = 0; i < 40; ++i) lines.push_back(answer("double", i));
  answers(lines);
  rlimit usual{};
  ::getrlimit(RLIMIT_FSIZE, &usual);
  auto handler = std::signal(SIGXFSZ, SIG_IGN);
  rlimit small = usual;
  small.rlim_cur = 9000;  // the log is longer
  ::setrlimit(RLIMIT_FSIZE, &small);
  const int code = solve({"--samples", "40", "--json"});
  ::setrlimit(RLIMIT_FSIZE, &usual);
  std::signal(SIGXFSZ, handler);
  EXPECT_EQ(code, 2);
  EXPECT_NE(console.out_text.find("events.jsonl"), std::string::npos) << console.out_text;
  EXPECT_NE(console.out_text.find("File too large"), std::string::npos) << console.out_text;
  EXPECT_NE(console.out_text.find("--resume --run"), std::string::npos) << console.out_text;
  const std::size_t judged = gym.seen.size();
  EXPECT_GT(judged, 0U);
  console.out_text.clear();
  EXPECT_EQ(resume(), 0);
  auto row = parse_json(console.out_text);
  ASSERT_TRUE(row) << console.out_text;
  EXPECT_EQ((*row)["attempts"], 40);
}

TEST_F(SolveTest, BadInput) {
  three();
  const auto says = [&](const std::vector<std::string>& words, const std::string& text) {
    console.err_text.clear();
    EXPECT_EQ(kernelwright(words), 2) << text;
    EXPECT_NE(console.err_text.find(text), std::string::npos) << console.err_text;
  };
  says({"solve"}, "solve needs a PROBLEM or a data set");
  says({"solve", "double", "--model", path("none")}, "config.json is missing");
  says({"solve", "double", "--model", "http://127.0.0.1:1"}, "cannot connect");
  says({"solve", "double", "--proposer", "oracle"}, "--proposer: unknown \"oracle\"");
  says({"solve", "double", "--proposer", "recorded"}, "needs --answers");
  says({"solve", "double", "--answers", path("none.jsonl")}, "none.jsonl");
  says({"solve", "double", "--method", "metro"}, "did you mean metr?");
  says({"solve", "double", "--samples", "0"}, "--samples: 0 is not between");
  says({"solve", "double", "--template", "full_shot"}, "full_shot");
  fs::create_directories(path("nothing"));
  says({"solve", path("nothing"), "--answers", path("answers.jsonl")}, "no problems in it");
  write("empty.jsonl", "\n");
  says({"solve", path("empty.jsonl"), "--answers", path("answers.jsonl")}, "empty.jsonl");
  write("rows.jsonl", "{\"code\": \"x\"}\n");
  says({"solve", path("rows.jsonl"), "--answers", path("answers.jsonl")}, "rows.jsonl:1");
  EXPECT_FALSE(fs::exists(path("run")));
  EXPECT_FALSE(fs::exists(path("data/runs")));  // nothing has begun
  EXPECT_EQ(gym.seen.size(), 0U);
}

TEST_F(SolveTest, ThePlanAlone) {
  three();
  EXPECT_EQ(solve({"--plan", "--judges", "2", "--samples", "3", "--target-speedup", "1.5",
                   "--seconds", "60"}),
            0);
  EXPECT_NE(console.out_text.find("plan: 1 problem"), std::string::npos);
  // A workload's timing may take a quarter of the 60 s.
  EXPECT_NE(console.out_text.find("time       about 15s of judging, 48s where each of 3 timings "
                                  "takes as long as it may; no attempt begins after 1m00s\n"),
            std::string::npos)
      << console.out_text;
  EXPECT_NE(console.out_text.find("a speedup of 1.5 by its interval's lower end"),
            std::string::npos);
  EXPECT_FALSE(fs::exists(path("run")));
}

TEST_F(SolveTest, ThePlanSaysThatAServerHereDisturbs) {
  const auto is_told = [&](const std::string& model, const std::string& more) {
    console.out_text.clear();
    EXPECT_EQ(kernelwright({"solve", "double", "--plan", "--proposer", "both", "--model", model,
                            "--run", path("run"), more}),
              0);
    return console.out_text.find("disturbed") != std::string::npos;
  };
  for (const char* here : {"http://127.0.0.1:8000/v1", "http://localhost/v1", "http://[::1]:80/v1"})
    EXPECT_TRUE(is_told(here, "--json")) << here;
  EXPECT_FALSE(is_told("http://127.0.0.1:8000/v1", "--no-timing"));
  EXPECT_FALSE(is_told("http://example.org/v1", "--json"));
  EXPECT_FALSE(is_told("127.0.0.1", "--json"));  // a folder
}

TEST_F(SolveTest, ThePlansTimeIsBoundedByTheLimits) {
  three();
  const auto plan = [&](std::vector<std::string> words) {
    console.out_text.clear();
    words.insert(words.begin(), {"--plan", "--judges", "1"});
    EXPECT_EQ(solve(words), 0) << console.err_text;
    return console.out_text;
  };
  // 100 attempts of 5.5 s, or of 31.5 s.
  EXPECT_NE(plan({"--samples", "100"}).find("about 9m10s of judging, 52m30s where each of 100"),
            std::string::npos)
      << console.out_text;
  // With the last attempt, which is finished.
  EXPECT_NE(plan({"--samples", "100", "--seconds", "60"})
                .find("about 1m06s of judging, 1m17s where each of 100 timings"),
            std::string::npos)
      << console.out_text;
  EXPECT_NE(plan({"--samples", "100", "--total-seconds", "60"})
                .find("about 1m06s of judging, 1m32s where each of 100 timings"),
            std::string::npos)
      << console.out_text;
}

TEST_F(SolveTest, WhatIsNotTimedHereTakesNoTimeOfThePlan) {
  three();
  std::string rows = read("problems/double/workloads.jsonl");
  std::string policy = "schema = 1\nfamily = \"elementwise\"\n";
  for (const char* more : {"timed = false", "targets = ['cuda']"}) {
    std::string row = read("problems/double/workloads.jsonl");
    const std::string uuid = fmt::format("w-{}", rows.size());
    row.replace(row.find("w-double"), 8, uuid);
    rows += row;
    policy += fmt::format("[workloads.\"{}\"]\n{}\n", uuid, more);
  }
  write("problems/double/workloads.jsonl", rows);
  write("problems/double/policy.toml", policy);
  EXPECT_EQ(solve({"--samples", "2", "--plan"}), 0) << console.err_text;
  EXPECT_NE(console.out_text.find("each of 2 timings"), std::string::npos) << console.out_text;
  EXPECT_EQ(solve({"--samples", "2", "--seconds", "60"}), 0) << console.err_text;
  EXPECT_EQ(gym.seen.at(0).options.max_seconds, 15);
}

TEST_F(SolveTest, TheModelsTimeIsInThePlan) {
  const auto plan = [&](std::vector<std::string> words) {
    console.out_text.clear();
    words.insert(words.begin(), {"solve", "double", "--plan", "--model", "http://127.0.0.1:1",
                                 "--samples", "9", "--max-tokens", "1000", "--run", path("run")});
    EXPECT_EQ(kernelwright(words), 0) << console.err_text;
    return console.out_text;
  };
  EXPECT_NE(plan({}).find(", and the model's own time: unknown until the first answers"),
            std::string::npos)
      << console.out_text;
  EXPECT_NE(plan({"--tokens-per-second", "50"}).find(", and 3m00s of the model at 50 tokens a "),
            std::string::npos)
      << console.out_text;
  // Every second attempt is the writer's: 5 of 9 at the most.
  const std::string both = plan({"--tokens-per-second", "50", "--proposer", "both"});
  EXPECT_NE(both.find(", and 1m40s of the model at 50 tokens a second"), std::string::npos) << both;
  EXPECT_NE(both.find("tokens     about 11.3k where"), std::string::npos) << both;
}

TEST_F(SolveTest, TheWriterHasAMinuteWhereNothingSaysWhenToStop) {
  const auto seconds = [&](std::vector<std::string> words) {
    words.insert(words.begin(), {"solve", "double", "--run", path("run")});
    fs::remove_all(path("run"));
    kernelwright(words);
    auto settings = runlog::RunFolder::read_settings(path("run"));
    return settings ? (*settings)["search"]["seconds"].get<double>() : -1;
  };
  EXPECT_EQ(seconds({}), 60);
  ASSERT_FALSE(gym.seen.empty());
  EXPECT_EQ(gym.seen[0].options.max_seconds, 15);
  EXPECT_EQ(seconds({"--method", "best_of_n"}), 60);
  EXPECT_EQ(seconds({"--seconds", "0"}), 0);
  EXPECT_EQ(seconds({"--seconds", "5"}), 5);
  EXPECT_EQ(gym.seen.back().options.max_seconds, 4);  // in less there may be no time at all
  for (const char* flag : {"--samples", "--target-speedup", "--tokens", "--total-seconds"})
    EXPECT_EQ(seconds({flag, "9"}), 0) << flag;
  EXPECT_EQ(seconds({"--first-correct"}), 0);
  EXPECT_EQ(gym.seen.back().options.max_seconds, 30);
  three();
  EXPECT_EQ(seconds({"--answers", path("answers.jsonl")}), 0);  // whatever time they took
}

TEST_F(SolveTest, ATimeOnceGivenIsThatOfAResumedRun) {
  EXPECT_EQ(kernelwright(
                {"solve", "double", "--run", path("run"), "--seconds", "0", "--max-seconds", "1"}),
            0);
  console.err_text.clear();
  EXPECT_EQ(kernelwright({"solve", "--resume", "--run", path("run")}), 0);
  EXPECT_EQ(console.err_text.find("no attempt begins"), std::string::npos) << console.err_text;
}

TEST_F(SolveTest, FoldersOfKeysThatLookAlike) {
  std::set<std::string> folders;
  const std::vector<std::string> keys = {"a_b", "a b", "a/b",   "",        "_",
                                         ".",   "..",  "a_b#2", "\xC3\xA4"};
  for (const std::string& key : keys) {
    const fs::path folder_of_it = solution_folder("run", key);
    EXPECT_EQ(folder_of_it.parent_path(), fs::path("run/solutions"));
    folders.insert(folder_of_it.filename().string());
  }
  EXPECT_EQ(folders.size(), keys.size());
  EXPECT_FALSE(folders.contains("..") || folders.contains("."));
  EXPECT_TRUE(folders.contains("a_b"));
}

TEST_F(SolveTest, WhatCouldNotBeJudgedIsJudgedWhenTheRunGoesOn) {
  three();
  gym.errors["attempt_0"] = gym.errors["attempt_2"] = ErrorCode::kUnavailable;
  EXPECT_EQ(solve({"--samples", "3"}), 2);
  EXPECT_NE(console.out_text.find("double  not finished: we failed, --resume goes on\n  because    "
                                  "attempt 0 could not be judged: the fake fails\n"),
            std::string::npos)
      << console.out_text;
  EXPECT_NE(console.out_text.find("(1 no_code, 2 not_judged)"), std::string::npos)
      << console.out_text;
  gym.errors.clear();
  console.out_text.clear();
  write("answers.jsonl", answer("other", 0).dump());  // nobody is asked again
  EXPECT_EQ(resume(), 0);
  EXPECT_EQ(parse_json(console.out_text).value()["correct"], 2) << console.out_text;
}

TEST_F(SolveTest, ABrokenRowIsPassedOver) {
  const std::string module =
      "import torch\nfrom torch import nn\n\nclass Model(nn.Module):\n    def forward(self, x):\n"
      "        return x\n\ndef get_inputs():\n    return [torch.rand(4)]\n\n"
      "def get_init_inputs():\n    return []\n";
  const auto row = [&](const std::string& name, const std::string& code) {
    return Json{{"name", name}, {"code", code}}.dump() + "\n";
  };
  const std::string rows = write("rows.jsonl", row("1_Good", module) + row("2_Bad", "x = (") +
                                                   "{not json\n" + row("4_Good", module + "# 4\n"));
  const auto answer_to = [&](const std::string& problem) {
    return answer(problem, 0,
                  "```cpp\nextern \"C\" void run(const float* x, float* out) { /* " + problem +
                      " */ }\n```\n");
  };
  answers({answer_to("1_Good"), answer_to("4_Good")});
  EXPECT_EQ(solve({"--json", "--method", "base"}, rows), 2);
  std::vector<Json> lines;
  for (const std::string& line : split(console.out_text, '\n'))
    if (!line.empty()) lines.push_back(parse_json(line).value());
  ASSERT_EQ(lines.size(), 4U) << console.out_text;
  for (std::size_t i : {0U, 1U}) {
    EXPECT_EQ(lines[i]["problem"], i == 0 ? "1_Good" : "4_Good");
    EXPECT_EQ(lines[i]["best"]["outcome"], "faster");
  }
  for (std::size_t i : {2U, 3U}) {
    EXPECT_EQ(lines[i]["problem"], i == 2 ? "2_Bad" : "line 3");
    EXPECT_TRUE(lines[i]["best"].is_null());
    EXPECT_EQ(lines[i]["end"], "unread");
    EXPECT_NE(lines[i]["reason"].get<std::string>().find(fmt::format("rows.jsonl:{}: ", i)),
              std::string::npos);
  }
  EXPECT_NE(console.err_text.find("passed over 2_Bad: " + rows + ":2: "), std::string::npos)
      << console.err_text;
  EXPECT_NE(console.err_text.find("plan: 2 problems"), std::string::npos);
  // The report counts every request.
  console.out_text.clear();
  EXPECT_EQ(kernelwright({"report", path("run"), "--json"}), 0);
  const Json report = parse_json(console.out_text).value()["runs"][0];
  EXPECT_EQ(report["metrics"]["problems"], 4);
  EXPECT_EQ(report["metrics"]["correctness"]["value"], 0.5);
  EXPECT_EQ(report["problems"][2]["problem"], "2_Bad");
  EXPECT_TRUE(
      report["problems"][3]["failure"].get<std::string>().starts_with("unread: " + rows + ":3: "));
  // Gone on with: nothing is left to do, and the broken ones are still told.
  gym.seen.clear();
  console.out_text.clear();
  EXPECT_EQ(kernelwright({"solve", "--resume", "--run", path("run")}), 2);
  EXPECT_TRUE(gym.seen.empty());
  EXPECT_NE(console.out_text.find("2_Bad  not read: passed over\n  because    " + rows + ":2: "),
            std::string::npos)
      << console.out_text;
  EXPECT_NE(console.out_text.find("2 of 4 problems have a correct kernel, 2 one faster than eager\n"
                                  "2 could not be read and were passed over\n"),
            std::string::npos)
      << console.out_text;
}

TEST_F(SolveTest, WhatHasEndedIsPrintedWhateverEndsTheRest) {
  answers({answer("double", 0), answer("halve", 0)});
  gym.on_judge = [&](const gym::EvalRequest& request) {
    if (request.problem.name == "halve") stop.request_stop();
  };
  gym.on_verdict = [](task::Verdict& verdict) {  // kept, if it comes in time
    if (verdict.problem_name == "halve") verdict.outcome = Outcome::kWrongValue;
  };
  const std::vector<std::string> words = {"--method", "base", "--jobs", "1"};
  EXPECT_EQ(solve(words, path("problems")), 130);
  EXPECT_TRUE(console.out_text.starts_with("double  2x (1.9 to 2.1) over eager\n"))
      << console.out_text;
  EXPECT_EQ(console.out_text.find("halve  "), std::string::npos);
  EXPECT_NE(console.out_text.find("1 of 2 problems have a correct kernel, 1 one faster than eager\n"
                                  "1 have not come to their end\n"),
            std::string::npos)
      << console.out_text;
  // A server that is gone: what had ended before the third failure is printed.
  stop = {};
  gym.on_judge = nullptr;
  gym.on_verdict = nullptr;
  fs::remove_all(path("run"));
  console.out_text.clear();
  std::vector<Json> lines = {answer("double", 0)};
  for (const char* name : {"h1", "h2", "h3", "h4"}) {
    std::string definition = read("problems/halve/definition.json");
    definition.replace(definition.find("\"halve\""), 7, fmt::format("\"{}\"", name));
    write(fmt::format("problems/{}/definition.json", name), definition);
    std::string workloads = read("problems/halve/workloads.jsonl");
    for (const std::string old : {"\"halve\"", "\"w-halve\""})
      workloads.replace(workloads.find(old), old.size(), fmt::format("\"{}\"", name));
    write(fmt::format("problems/{}/workloads.jsonl", name), workloads);
    lines.push_back(answer(name, 0));
    lines.back()["errors"] = {{{"code", "permission_denied"}, {"message", "401"}}};
  }
  answers(lines);
  EXPECT_EQ(solve({"--method", "base", "--jobs", "1", "--json"}, path("problems")), 2);
  const auto printed = split(console.out_text, '\n');
  ASSERT_EQ(printed.size(), 5U) << console.out_text;
  EXPECT_EQ(parse_json(printed[0]).value()["best"]["outcome"], "faster");
  EXPECT_EQ(parse_json(printed[1]).value()["end"], "failed");
  EXPECT_EQ(parse_json(printed[2]).value()["problem"], "h2");
  EXPECT_NE(printed[3].find("no answer for 3 problems in a row: 401"), std::string::npos);
}

TEST_F(SolveTest, AStatusLineOnATerminal) {
  three();
  console.terminal = true;
  console.columns = 200;
  EXPECT_EQ(solve({"--samples", "3", "--parallel", "1"}), 0);
  EXPECT_NE(console.err_text.find("3/3 attempts, 2 extracted, 2 compiled, 2 correct, best 2x (1.9 "
                                  "to 2.1), 360 tokens"),
            std::string::npos)
      << console.err_text;
  EXPECT_TRUE(console.err_text.ends_with("\r\x1b[K")) << console.err_text;
}

// One sum, whoever prints it.
TEST_F(SolveTest, TheReportCountsTokensAsSolveDoes) {
  Json line = answer("double", 0);
  line["errors"] = {{{"code", "unavailable"},
                     {"message", "cut"},
                     {"usage", {{"completion_tokens", 7}, {"cost_usd", 0.25}}}}};
  line["usage"]["cost_usd"] = 0.5;
  answers({line, answer("double", 1, "I cannot.")});
  gym.errors["attempt_0"] = ErrorCode::kUnavailable;
  EXPECT_EQ(solve({"--samples", "2", "--json"}), 2);
  const Json row = parse_json(split(console.out_text, '\n').at(0)).value();
  EXPECT_EQ(row["tokens"], 247);
  console.out_text.clear();
  EXPECT_EQ(kernelwright({"report", path("run"), "--json"}), 0);
  const Json found = parse_json(console.out_text).value()["runs"][0]["metrics"];
  EXPECT_EQ(found["tokens"]["prompt"].get<int>() + found["tokens"]["completion"].get<int>(), 247);
  EXPECT_EQ(found["cost_usd"], row["cost_usd"]);
  EXPECT_EQ(found["best_so_far"].back()["tokens"], 247);
}

TEST_F(SolveTest, AServerThatFailsIsToldApart) {
  Json line = answer("double", 0);
  line["errors"] = {{{"code", "unavailable"}, {"message", "connection refused"}}};
  answers({line});
  EXPECT_EQ(solve({"--method", "base"}), 0);
  EXPECT_NE(console.err_text.find("double attempt 0: propose failed: connection refused; trying "
                                  "again"),
            std::string::npos);
  EXPECT_NE(console.out_text.find("  failures   1, not of candidates: 1 propose_unavailable\n"),
            std::string::npos)
      << console.out_text;
  EXPECT_NE(console.out_text.find("failures of ours or the world's, not of candidates: 1 (1 "
                                  "propose_unavailable)\n"),
            std::string::npos);
  fs::remove_all(path("run"));
  EXPECT_EQ(solve({"--method", "base", "--tries", "1", "--json"}), 2);
}

}  // namespace
}  // namespace kw::front
