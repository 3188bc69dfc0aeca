// eval with a fake gym: output, exit codes, pairing, resume, interruption.
#include "kernelwright/testing/fakes.h"

namespace kw::front {
namespace {

using task::Outcome;

std::vector<std::string> lines(const std::string& text) {
  std::vector<std::string> out;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) out.push_back(line);
  return out;
}

class EvalTest : public FrontTest {
 protected:
  std::string candidate(const std::string& name) {
    return write(name, "extern \"C\" void run(const float* x, float* y, int64_t N) {}\n");
  }

  void solution(const std::string& name, const std::string& definition) {
    write("solutions/" + name + ".json",
          fmt::format(
              R"({{"name": "{}", "definition": "{}", "author": "me", "spec": {{"language": "python",
        "target_hardware": ["cpu"], "entry_point": "main.py::run", "dependencies": [], "destination_passing_style": false}},
        "sources": [{{"path": "main.py", "content": "def run(x):\n    return x  # {}\n"}}]}})",
              name, definition, name));
  }

  std::vector<std::string> many(std::vector<std::string> more = {}) {
    more.insert(more.begin(), {"eval", "--dataset", path("problems"), "--solutions",
                               path("solutions"), "--out", path("out.jsonl")});
    return more;
  }
};

TEST_F(EvalTest, CardsAndExitCodes) {
  std::string a = candidate("a.cpp");
  std::string b = candidate("b.cpp");
  EXPECT_EQ(kernelwright({"eval", "double", a, b}), 0);
  EXPECT_NE(console.out_text.find("a  passed  2x"), std::string::npos);
  gym.outcomes["b"] = Outcome::kWrongValue;
  EXPECT_EQ(kernelwright({"eval", "double", a, b}), 1);
  gym.outcomes["b"] = Outcome::kNoisy;
  EXPECT_EQ(kernelwright({"eval", "double", a, b}), 2);
  gym.errors["a"] = ErrorCode::kUnavailable;
  gym.outcomes["b"] = Outcome::kPassed;
  console.err_text.clear();
  EXPECT_EQ(kernelwright({"eval", "double", a, b}), 2);
  EXPECT_EQ(console.err_text.substr(console.err_text.find("error")),
            "error: a: the fake fails\n2/2, 1 passed\n");
}

TEST_F(EvalTest, JsonLinesInTheOrderGiven) {
  std::vector<std::string> arguments = {"eval", "double", "--json", "--jobs", "4"};
  for (int i = 0; i < 12; ++i) arguments.push_back(candidate(fmt::format("c{:02}.cpp", i)));
  gym.errors["c05"] = ErrorCode::kInternal;
  EXPECT_EQ(kernelwright(arguments), 2);
  auto printed = lines(console.out_text);
  ASSERT_EQ(printed.size(), 12U);
  for (std::size_t i = 0; i < printed.size(); ++i) {
    auto json = parse_json(printed[i]);
    ASSERT_TRUE(json) << printed[i];
    if (i == 5) {
      EXPECT_EQ((*json)["error"]["code"], "internal");
    } else {
      EXPECT_EQ((*json)["candidate"]["name"], fmt::format("c{:02}", i));
      EXPECT_EQ((*json)["schema"], 1);
    }
  }
}

TEST_F(EvalTest, OptionsReachTheGym) {
  EXPECT_EQ(kernelwright({"eval", "double", candidate("a.cpp"), "--threads", "2", "--set",
                          "eval.max_seconds=7", "--jobs", "3", "--isolation-at-least", "basic",
                          "--language", "cuda"}),
            0);
  ASSERT_EQ(gym.seen.size(), 1U);
  EXPECT_EQ(gym.seen[0].options.threads, 2);
  EXPECT_EQ(gym.seen[0].options.max_seconds, 7);
  EXPECT_EQ(gym.seen[0].candidate.language, task::Language::kCuda);
  EXPECT_EQ(gym.seen[0].candidate.hash, candidate_hash(gym.seen[0].candidate));
  EXPECT_EQ(gym.started.at(0).jobs, 3);
  EXPECT_EQ(gym.started.at(0).isolation_at_least, sandbox::Level::kBasic);
}

TEST_F(EvalTest, OurFailures) {
  start_error = Error(ErrorCode::kIsolationTooWeak, "reached basic, asked for full");
  EXPECT_EQ(kernelwright({"eval", "double", candidate("a.cpp")}), 3);
  EXPECT_EQ(console.err_text, "error: reached basic, asked for full\n");
  EXPECT_EQ(kernelwright({"eval", "double", candidate("a.cpp"), "--json"}), 3);
  EXPECT_EQ(console.out_text,
            "{\"error\":{\"code\":\"isolation_too_weak\",\"message\":\"reached basic, asked for "
            "full\"}}\n");
}

TEST_F(EvalTest, ClosedOutputEndsTheRun) {
  console.closed = true;
  EXPECT_EQ(
      kernelwright({"eval", "double", candidate("a.cpp"), candidate("b.cpp"), candidate("c.cpp")}),
      2);
  EXPECT_EQ(gym.seen.size(), 1U);
}

TEST_F(EvalTest, OutputThatIsNoFile) {
  solution("a", "double");
  std::filesystem::create_directory("folder");
  std::filesystem::create_directory("x.verdicts.jsonl");
  for (const char* out : {"folder", "/dev/null", "x"}) {
    console.err_text.clear();
    EXPECT_EQ(
        kernelwright({"eval", "--dataset", "problems", "--solutions", "solutions", "--out", out}),
        2);
    EXPECT_NE(console.err_text.find("not a regular file"), std::string::npos) << console.err_text;
  }
  EXPECT_FALSE(std::filesystem::exists("folder.verdicts.jsonl")) << "nothing is left behind";
  EXPECT_FALSE(std::filesystem::exists("x"));
  EXPECT_TRUE(gym.started.empty());
}

TEST_F(EvalTest, BaselineFileIsReadFirst) {
  EXPECT_EQ(kernelwright({"eval", "double", candidate("a.cpp"), "--baseline", "none.cpp"}), 2);
  EXPECT_EQ(console.err_text, "error: --baseline: none.cpp: no such file or folder\n");
  EXPECT_TRUE(gym.started.empty());
  EXPECT_EQ(kernelwright({"eval", "double", "a.cpp", "--baseline", candidate("b.cpp")}), 0);
}

TEST_F(EvalTest, CombinationsThatMakeNoSense) {
  std::string c = candidate("c.cpp");
  for (const std::vector<std::string>& words : std::vector<std::vector<std::string>>{
           {"eval"},
           {"eval", "double"},
           {"eval", "double", c, "--out", "x"},
           {"eval", "double", c, "--resume"},
           {"eval", "double", c, "--fail-on-candidate"},
           {"eval", "--dataset", "problems"},
           {"eval", "--solutions", "s"},
           {"eval", "--dataset", "d", "--solutions", "s"},
           {"eval", "double", c, "--dataset", "d", "--solutions", "s", "--out", "o"}}) {
    EXPECT_EQ(kernelwright(words), 2);
  }
  EXPECT_TRUE(gym.started.empty());
}

TEST_F(EvalTest, ManyWritesTracesVerdictsAndASummary) {
  solution("good", "double");
  solution("bad", "halve");
  gym.outcomes["bad"] = Outcome::kWrongValue;
  EXPECT_EQ(kernelwright(many()), 0);
  EXPECT_NE(console.out_text.find("2 of 2 judged\n  passed         1\n  wrong_value    1\n"),
            std::string::npos)
      << console.out_text;
  auto traces = lines(read("out.jsonl"));
  ASSERT_EQ(traces.size(), 2U);
  EXPECT_EQ((*parse_json(traces[0]))["evaluation"]["status"], "PASSED");
  EXPECT_EQ((*parse_json(traces[0]))["evaluation"]["timestamp"], "2023-11-14T22:13:20Z");
  EXPECT_EQ(lines(read("out.jsonl.verdicts.jsonl")).size(), 2U);
  EXPECT_EQ(kernelwright(many({"--resume", "--fail-on-candidate"})), 1)
      << "results of the earlier run count";
}

TEST_F(EvalTest, ResumeJudgesOnlyWhatIsMissing) {
  solution("a", "double");
  solution("b", "double");
  gym.errors["b"] = ErrorCode::kUnavailable;
  EXPECT_EQ(kernelwright(many()), 2);
  EXPECT_EQ(kernelwright(many()), 2) << "without --resume nothing is overwritten";
  gym.seen.clear();
  gym.errors.clear();
  solution("c", "halve");
  EXPECT_EQ(kernelwright(many({"--resume"})), 0);
  ASSERT_EQ(gym.seen.size(), 2U);
  EXPECT_EQ(gym.seen[0].candidate.name, "b");
  EXPECT_EQ(lines(read("out.jsonl")).size(), 3U);
  gym.seen.clear();
  gym.started.clear();
  EXPECT_EQ(kernelwright(many({"--resume"})), 0);
  EXPECT_TRUE(gym.seen.empty());
  EXPECT_TRUE(gym.started.empty()) << "no gym is started for nothing";
  gym.seen.clear();
  EXPECT_EQ(kernelwright(many({"--resume", "--target", "cuda"})), 0)
      << "another target is another result";
  EXPECT_EQ(gym.seen.size(), 3U);
}

TEST_F(EvalTest, ResumeJudgesAgainWhatOtherToolsDecided) {
  solution("a", "double");
  const auto run = [&](const std::string& compiler) {
    gym.seen.clear();
    gym.on_verdict = [&](task::Verdict& verdict) { verdict.made_with.compiler = compiler; };
    EXPECT_EQ(kernelwright(many({"--resume"})), 0);
    return gym.seen.size();
  };
  EXPECT_EQ(run("gcc version 4.2.0 (theirs)"), 1U);
  console.err_text.clear();
  EXPECT_EQ(run("gcc version 12.2.0 (Debian 12.2.0-14+deb12u1)"), 1U);
  EXPECT_NE(console.err_text.find("1 verdicts were made with another compiler"), std::string::npos);
  EXPECT_EQ(run(""), 0U);
}

TEST_F(EvalTest, ResumeJudgesAgainWhatOtherOptionsDecided) {
  solution("a", "double");
  write("theirs.py", "def run(x):\n    return 2 * x\n");
  const auto judged_with = [&](const std::vector<std::string>& flags) {
    std::vector<std::string> words = {"--resume"};
    words.insert(words.end(), flags.begin(), flags.end());
    gym.seen.clear();
    EXPECT_EQ(kernelwright(many(words)), 0) << console.err_text;
    return gym.seen.size();
  };
  EXPECT_EQ(kernelwright(many({"--pairs", "1", "--max-seconds", "2"})), 0);
  EXPECT_EQ(judged_with({"--pairs", "1", "--max-seconds", "2"}), 0U);
  EXPECT_EQ(judged_with({"--pairs", "1", "--max-seconds", "2", "--no-evidence"}), 0U);
  EXPECT_EQ(judged_with({"--pairs", "8", "--max-seconds", "2"}), 1U);
  EXPECT_EQ(judged_with({"--pairs", "8", "--max-seconds", "30"}), 1U);
  EXPECT_EQ(judged_with({"--pairs", "8", "--baseline", "theirs.py"}), 1U);
  EXPECT_EQ(judged_with({"--pairs", "8", "--baseline", "theirs.py"}), 0U);
  write("theirs.py", "def run(x):\n    return x + x\n");
  EXPECT_EQ(judged_with({"--pairs", "8", "--baseline", "theirs.py"}), 1U) << "an edited baseline";
}

TEST_F(EvalTest, InterruptLeavesResumableFiles) {
  for (const char* name : {"a", "b", "c", "d"}) solution(name, "double");
  gym.on_judge = [this](const gym::EvalRequest& request) {
    if (request.candidate.name == "c") stop.request_stop();
  };
  EXPECT_EQ(kernelwright(many()), 130);
  EXPECT_NE(console.err_text.find("error: interrupted after 2 of 4; --resume goes on from here\n"),
            std::string::npos)
      << console.err_text;
  EXPECT_EQ(lines(read("out.jsonl.verdicts.jsonl")).size(), 2U);
  gym.on_judge = nullptr;
  gym.seen.clear();
  stop = std::stop_source();
  EXPECT_EQ(kernelwright(many({"--resume"})), 0);
  EXPECT_EQ(gym.seen.size(), 2U);
  EXPECT_EQ(lines(read("out.jsonl")).size(), 4U);
}

TEST_F(EvalTest, StatusLineCountsWhatPassedEarlier) {
  solution("a", "double");
  EXPECT_EQ(kernelwright(many()), 0);
  solution("b", "double");
  solution("c", "double");
  console.err_text.clear();
  EXPECT_EQ(kernelwright(many({"--resume"})), 0);
  EXPECT_EQ(console.err_text, "1/3, 1 passed\n3/3, 3 passed\n");
}

TEST_F(EvalTest, ASolutionOfAnotherDefinitionIsNamed) {
  solution("a", "halve");
  EXPECT_EQ(kernelwright({"eval", "double", "solutions/a.json"}), 0);
  EXPECT_EQ(console.err_text, "warning: a says that it is for halve; it is judged on double\n");
}

TEST_F(EvalTest, SolutionsWithoutAProblemAreNamed) {
  solution("a", "double");
  solution("lost", "triple");
  EXPECT_EQ(kernelwright(many()), 0);
  EXPECT_NE(
      console.err_text.find("warning: no problem in the data set for 1 of 2 solutions: lost\n"),
      std::string::npos);
}

TEST_F(EvalTest, KernelBenchRunGetsItsResultsFile) {
  write("kb/level1/19_ReLU.py",
        "import torch\n\nclass Model(torch.nn.Module):\n    pass\n\ndef get_inputs():\n    return "
        "[]\n\ndef get_init_inputs():\n    return []\n");
  for (int sample : {0, 1}) {
    write(fmt::format("runs/r/level_1_problem_19_sample_{}_kernel.py", sample),
          fmt::format("class ModelNew:\n    sample = {}\n", sample));
  }
  gym.outcomes["level_1_problem_19_sample_1_kernel"] = Outcome::kWrongValue;
  EXPECT_EQ(kernelwright({"eval", "--dataset", path("kb"), "--solutions", path("runs/r"), "--out",
                          path("res/t.jsonl")}),
            0)
      << console.err_text;
  auto results = parse_json(read("res/eval_results.json"));
  ASSERT_TRUE(results);
  ASSERT_EQ((*results)["19"].size(), 2U);
  EXPECT_EQ((*results)["19"][0]["correctness"], true);
  EXPECT_EQ((*results)["19"][1]["correctness"], false);
}

TEST_F(EvalTest, NonsenseInFilesIsNamed) {
  std::string good = candidate("good.cpp");
  auto message = [&](const std::vector<std::string>& words) {
    console.err_text.clear();
    EXPECT_EQ(kernelwright(words), 2);
    return console.err_text;
  };
  EXPECT_NE(message({"eval", "duoble", good}).find("did you mean \"double\""), std::string::npos);
  EXPECT_NE(message({"eval", "double", path("none.cpp")}).find("none.cpp"), std::string::npos);
  EXPECT_NE(message({"eval", "double", write("empty.cpp", "")}).find("empty"), std::string::npos);
  EXPECT_NE(message({"eval", "double", write("latin.cpp", "// \xe9\n")}).find("UTF-8"),
            std::string::npos);
  EXPECT_NE(message({"eval", write("p/definition.json", "{"), good}).find("JSON"),
            std::string::npos);
  EXPECT_NE(message({"eval", "double", good, "--set", "n=1"}).find('n'), std::string::npos);
  EXPECT_TRUE(gym.started.empty()) << "nothing is started for input that cannot be read";
}

}  // namespace
}  // namespace kw::front
