// Words to commands, and what is said about words that are none.
#include "kernelwright/cli/command_line.h"

#include <gtest/gtest.h>

namespace kw::front {
namespace {

template <typename T>
T parsed(const std::vector<std::string>& arguments) {
  auto command = parse_command_line(arguments);
  EXPECT_TRUE(command) << command.error().message();
  EXPECT_TRUE(command && std::holds_alternative<T>(*command));
  return command && std::holds_alternative<T>(*command) ? std::get<T>(*command) : T{};
}

std::string error_of(const std::vector<std::string>& arguments) {
  auto command = parse_command_line(arguments);
  return command ? "" : command.error().message();
}

TEST(CommandLine, EvalTakesAllItsFlags) {
  auto eval = parsed<EvalCommand>({"eval",        "relu",
                                   "a.cpp",       "b.py",
                                   "--json",      "--set",
                                   "n=(1, 2)",    "--set",
                                   "m=3",         "--threads",
                                   "2",           "--memory",
                                   "1GiB",        "--isolation-at-least",
                                   "full",        "--no-evidence",
                                   "--no-timing", "--timeout",
                                   "2.5",         "--jobs=4",
                                   "--language",  "triton",
                                   "--baseline",  "compile",
                                   "--precise",   "--target",
                                   "cuda",        "--max-seconds",
                                   "5",           "--disable",
                                   "freeze"});
  EXPECT_EQ(eval.problem, "relu");
  EXPECT_EQ(eval.candidates, (std::vector<std::string>{"a.cpp", "b.py"}));
  EXPECT_EQ(eval.set, (std::vector<std::string>{"n=(1, 2)", "m=3"}));
  EXPECT_TRUE(eval.json);
  EXPECT_EQ(eval.jobs, 4);
  EXPECT_EQ(eval.language, "triton");
  EXPECT_EQ(eval.isolation_at_least, sandbox::Level::kFull);
  EXPECT_EQ(eval.options.threads, 2);
  EXPECT_EQ(eval.options.memory_bytes, 1ULL << 30U);
  EXPECT_EQ(eval.options.timeout_seconds, 2.5);
  EXPECT_EQ(eval.options.max_seconds, 5);
  EXPECT_EQ(eval.baseline, "compile");
  EXPECT_EQ(eval.options.target, task::Target::kCuda);
  EXPECT_TRUE(eval.options.precise);
  EXPECT_FALSE(eval.options.store_evidence);
  EXPECT_FALSE(eval.options.timing);
  EXPECT_EQ(eval.options.disabled, (std::vector<std::string>{"freeze"}));
}

TEST(CommandLine, CheckTakesAllItsFlags) {
  auto check = parsed<ProblemsCheckCommand>({"problems", "check", "kb", "--json", "--set", "n=1",
                                             "--out", "o.jsonl", "--resume", "--markdown", "o.md",
                                             "--jobs", "2", "--timeout", "2.5", "--memory", "1GiB",
                                             "--isolation-at-least", "full"});
  EXPECT_EQ(check.problems, "kb");
  EXPECT_EQ(check.set, std::vector<std::string>{"n=1"});
  EXPECT_EQ(check.out, "o.jsonl");
  EXPECT_EQ(check.markdown, "o.md");
  EXPECT_TRUE(check.resume);
  EXPECT_TRUE(check.json);
  EXPECT_EQ(check.jobs, 2);
  EXPECT_EQ(check.timeout_seconds, 2.5);
  EXPECT_EQ(check.memory_bytes, 1ULL << 30U);
  EXPECT_EQ(check.isolation_at_least, sandbox::Level::kFull);
}

TEST(CommandLine, DefaultsAreThoseOfTheStructs) {
  auto eval = parsed<EvalCommand>({"eval", "p", "c.cpp"});
  EXPECT_EQ(eval.options.threads, gym::EvalOptions{}.threads);
  EXPECT_EQ(eval.options.max_seconds, gym::EvalOptions{}.max_seconds);
  EXPECT_TRUE(eval.options.store_evidence);
  EXPECT_TRUE(eval.options.timing);
  EXPECT_EQ(eval.jobs, 1);
}

TEST(CommandLine, OtherCommands) {
  auto list =
      parsed<ProblemsListCommand>({"problems", "list", "--folder", "x", "--family", "norm"});
  EXPECT_EQ(list.folder, "x");
  EXPECT_EQ(list.family, "norm");
  EXPECT_TRUE(parsed<ProblemsShowCommand>({"problems", "show", "relu", "--signature"}).signature);
  EXPECT_EQ(
      parsed<ProblemsTraceCommand>({"problems", "trace", "relu", "--timeout", "9"}).timeout_seconds,
      9);
  EXPECT_EQ(parsed<PromptCommand>({"prompt", "relu", "--language", "python"}).language, "python");
  EXPECT_EQ(parsed<RejudgeCommand>({"rejudge", "e.json"}).evidence, "e.json");
  EXPECT_TRUE(parsed<CacheCleanCommand>({"cache", "clean", "--evidence"}).evidence);
  parsed<CacheSizeCommand>({"cache", "size"});
  EXPECT_TRUE(parsed<DoctorCommand>({"doctor", "--json"}).json);
  EXPECT_TRUE(parsed<VersionCommand>({"--version", "--json"}).json);
}

TEST(CommandLine, HelpOfEveryCommandWithDefaults) {
  for (const std::vector<std::string>& words :
       std::vector<std::vector<std::string>>{{},
                                             {"eval"},
                                             {"problems"},
                                             {"problems", "list"},
                                             {"problems", "show"},
                                             {"problems", "check"},
                                             {"problems", "trace"},
                                             {"prompt"},
                                             {"rejudge"},
                                             {"cache"},
                                             {"cache", "size"},
                                             {"cache", "clean"},
                                             {"doctor"}}) {
    auto with_help = words;
    with_help.emplace_back("--help");
    auto help = parsed<HelpCommand>(with_help);
    EXPECT_TRUE(help.asked_for);
    EXPECT_NE(help.text.find("--help"), std::string::npos);
  }
  std::string eval = parsed<HelpCommand>({"eval", "--help"}).text;
  for (const char* shown : {"--max-seconds", "[default: 30]", "[default: eager]", "[default: cpu]",
                            "[default: none]", "[default: 1]", "[default: 0]"}) {
    EXPECT_NE(eval.find(shown), std::string::npos) << shown;
  }
}

TEST(CommandLine, NothingGivenIsNotFine) {
  EXPECT_FALSE(parsed<HelpCommand>({}).asked_for);
  EXPECT_FALSE(parsed<HelpCommand>({"problems"}).asked_for);
}

TEST(CommandLine, SuggestsWhatWasMeant) {
  EXPECT_EQ(error_of({"evla", "p", "c"}),
            "unknown command \"evla\" (did you mean eval?); see kernelwright --help");
  EXPECT_EQ(error_of({"problems", "lst"}),
            "unknown command \"lst\" (did you mean list?); see kernelwright problems --help");
  EXPECT_EQ(error_of({"eval", "p", "c", "--job", "2"}),
            "unknown flag \"--job\" (did you mean --jobs?); see kernelwright eval --help");
  EXPECT_EQ(error_of({"eval", "p", "c", "--theads=2"}),
            "unknown flag \"--theads=2\" (did you mean --threads?); see kernelwright eval --help");
  EXPECT_EQ(error_of({"frobnicate"}), "unknown command \"frobnicate\"; see kernelwright --help");
  EXPECT_EQ(error_of({"doctor", "who"}),
            "unknown argument \"who\"; see kernelwright doctor --help");
  EXPECT_NE(
      error_of({"eval", "p", "c", "--isolation-at-least", "ful"}).find("did you mean \"full\""),
      std::string::npos);
}

TEST(CommandLine, WordsBehindACommandAreNoCommands) {
  auto eval = parsed<EvalCommand>({"eval", "problems", "cache", "doctor"});
  EXPECT_EQ(eval.problem, "problems");
  EXPECT_EQ(eval.candidates, (std::vector<std::string>{"cache", "doctor"}));
  EXPECT_EQ(parsed<ProblemsShowCommand>({"problems", "show", "list"}).problem, "list");
  EXPECT_EQ(parsed<RejudgeCommand>({"rejudge", "cache"}).evidence, "cache");
  EXPECT_EQ(parsed<EvalCommand>({"eval", "p", "--", "-x.cpp"}).candidates,
            (std::vector<std::string>{"-x.cpp"}));
}

TEST(CommandLine, SaysWhatIsWrongWithAValue) {
  for (const auto& [words, message] : std::vector<std::pair<std::vector<std::string>, std::string>>{
           {{"eval", "p", "c", "--jobs", "0"}, "--jobs: 0 is not between 1 and 1024"},
           {{"eval", "p", "c", "--jobs", "two"},
            "--jobs: expected a whole number, found \"two\"; see kernelwright eval --help"},
           {{"eval", "p", "c", "--jobs", "99999999999999999999"},
            "--jobs: expected a smaller whole number, found \"99999999999999999999\"; see "
            "kernelwright eval --help"},
           {{"eval", "p", "c", "--timeout", "soon"},
            "--timeout: expected a number, found \"soon\"; see kernelwright eval --help"},
           {{"eval", "p", "c", "--jobs"},
            "--jobs: its value is missing; see kernelwright eval --help"},
           {{"eval", "p", "c", "--json=no"},
            "--json: takes no value; see kernelwright eval --help"},
           {{"prompt", "p", "--threads", "-1"}, "--threads: -1 is not between 1 and 1024"},
           {{"prompt"}, "PROBLEM is required; see kernelwright prompt --help"},
           {{"problems", "check", "p", "--memory", "much"},
            "--memory: expected a size such as 512MiB or 4GiB, found \"much\""},
           {{"problems", "check", "p", "--jobs", "0"}, "--jobs: 0 is not between 1 and 1024"},
           {{"problems", "check"}, "PROBLEMS is required; see kernelwright problems check --help"},
           {{"problems", "trace"}, "PROBLEM is required; see kernelwright problems trace --help"},
           {{"problems", "show"}, "PROBLEM is required; see kernelwright problems show --help"},
           {{"rejudge"}, "EVIDENCE is required; see kernelwright rejudge --help"}}) {
    EXPECT_EQ(error_of(words), message);
  }
}

TEST(CommandLine, AbsurdValues) {
  for (const std::vector<std::string>& words :
       std::vector<std::vector<std::string>>{{"--jobs", "0"},
                                             {"--jobs", "99999999999999999999"},
                                             {"--jobs", "two"},
                                             {"--jobs"},
                                             {"--memory", "-1"},
                                             {"--memory", "1e99"},
                                             {"--threads", "x"},
                                             {"--timeout", "soon"}}) {
    std::vector<std::string> arguments = {"eval", "p", "c"};
    arguments.insert(arguments.end(), words.begin(), words.end());
    EXPECT_FALSE(parse_command_line(arguments)) << words[0] << (words.size() > 1 ? words[1] : "");
  }
}

}  // namespace
}  // namespace kw::front
