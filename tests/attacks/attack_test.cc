// The red-team corpus: programs of attacks/, adaptive/ and controls/ judged by the real gym, with
// the outcome that their first lines expect (a random tenth, all with KW_ATTACKS=all); and each
// mechanism switched off, to show the attack that it stops (docs/security.md).
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <random>
#include <regex>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.h"
#include "gym/gym.h"
#include "os/file.h"
#include "task/candidate_source.h"
#include "task/problem_source.h"

namespace kw::gym {
namespace {

namespace fs = std::filesystem;
const fs::path kHere = fs::path(KW_SOURCE_DIR) / "tests" / "attacks";
constexpr const char* kSecretText = "planted-secret-7f3a";

constexpr const char* kFolders[] = {"attacks", "adaptive", "controls"};
constexpr std::size_t kShare = 10;  // one program of so many is judged unless all are

struct Program {
  std::string file, folder, name;
  std::vector<std::string> expect;  // alternatives: "wrong_value", "violation input_write"
  std::string classes;              // rows of the table of hacks in docs/security.md
  std::string problem;              // empty: the folder problem/
  double max_speedup = 0;           // 0: none is stated

  bool is_control() const { return folder == "controls"; }
  bool is_triton() const { return name.starts_with("tri_"); }
  // A control without a bound is only asked whether it is right.
  bool is_timed() const { return !is_control() || max_speedup > 0; }
};

std::string tag(const std::string& text, const std::string& name) {
  std::smatch match;
  return std::regex_search(text, match, std::regex("(?:^|\n)[/#]+ " + name + ": ([^\n]*)"))
             ? match[1].str()
             : "";
}

std::vector<Program> programs_of(const std::string& folder) {
  std::vector<Program> programs;
  for (const auto& entry : fs::directory_iterator(kHere / folder)) {
    std::string text = os::read_file(entry.path()).value();
    Program program{.file = entry.path().string(),
                    .folder = folder,
                    .name = entry.path().stem().string(),
                    .expect = split(tag(text, "expect"), '|'),
                    .classes = tag(text, "class"),
                    .problem = tag(text, "problem")};
    if (std::string most = tag(text, "max_speedup"); !most.empty())
      program.max_speedup = std::stod(most);
    programs.push_back(program);
  }
  std::ranges::sort(programs, {}, &Program::name);
  return programs;
}

// All programs with KW_ATTACKS=all, else a tenth of each folder: other ones in every run, the same
// ones again with the seed that is printed in KW_ATTACK_SEED.
std::vector<Program> corpus() {
  const char* wanted = std::getenv("KW_ATTACKS");
  bool all = wanted != nullptr && std::string(wanted) == "all";
  const char* given = std::getenv("KW_ATTACK_SEED");
  std::uint64_t seed = given != nullptr ? std::stoull(given) : std::random_device()();
  std::mt19937_64 random(seed);
  std::vector<Program> corpus;
  for (const char* folder : kFolders) {
    std::vector<Program> programs = programs_of(folder);
    if (!all) {
      std::ranges::shuffle(programs, random);
      programs.resize((programs.size() + kShare - 1) / kShare);
      std::ranges::sort(programs, {}, &Program::name);
    }
    corpus.insert(corpus.end(), programs.begin(), programs.end());
  }
  if (!all) std::cout << "a tenth of the corpus: KW_ATTACK_SEED=" << seed << "\n" << std::flush;
  return corpus;
}

// One gym for all cases: the zygote imports torch once.
class Arena {
 public:
  static Arena& shared() {
    static Arena arena;
    return arena;
  }

  // One judgement.
  task::Verdict judge(const std::string& source, const std::vector<std::string>& disabled = {},
                      const task::Problem* problem = nullptr, bool timing = true) {
    EvalRequest request;
    request.options.timing = timing;
    request.problem = problem != nullptr ? *problem : problem_;
    request.candidate = candidate(source);
    request.options.disabled = disabled;
    request.options.max_seconds = 4;
    auto judged = gym_->submit(request, std::chrono::steady_clock::time_point::max(), {}).get();
    if (!judged) {
      ADD_FAILURE() << source << ": " << judged.error().message();
      return {};
    }
    return *judged;
  }
  // Judges again once where the machine disturbed the times: noise says nothing about an attack.
  task::Verdict judge_timed(const std::string& source, const task::Problem& problem) {
    task::Verdict verdict = judge(source, {}, &problem);
    return verdict.outcome == task::Outcome::kNoisy ? judge(source, {}, &problem) : verdict;
  }
  // Called when a judgement begins; empty: nothing.
  void on_judge(std::function<void()> action) { progress_.on_judge = std::move(action); }
  const task::Problem& problem() const { return problem_; }
  // Of problems/ here or of the suite; empty: the one of problem/.
  const task::Problem& problem(const std::string& name) {
    if (name.empty()) return problem_;
    auto found = problems_.find(name);
    if (found != problems_.end()) return found->second;
    for (const fs::path& folder : {kHere / "problems", fs::path(KW_SOURCE_DIR) / "problems"}) {
      for (const fs::path& path : {folder / name, folder / (name + ".py")}) {
        if (fs::exists(path))
          return problems_.emplace(name, task::load_problem(path.string(), {}).value())
              .first->second;
      }
    }
    throw std::runtime_error("there is no problem " + name);
  }
  const fs::path& secret() const { return secret_; }
  bool has_triton() const {
    auto languages = gym_->capabilities(task::Target::kCpu).value().languages;
    return std::ranges::find(languages, "triton") != languages.end();
  }

 private:
  Arena() : folder_(os::TempDir::make("kw-attacks-").value()) {
    // Readable for everybody outside the sandbox: only the sandbox keeps it from the candidate.
    fs::permissions(folder_.path(),
                    fs::perms::owner_all | fs::perms::others_read | fs::perms::others_exec);
    secret_ = folder_.path() / "secret.h";
    std::ofstream(secret_) << "#error " << kSecretText << "\n";
    GymOptions options;
    options.programs_folder = fs::path(KW_BINARY_DIR) / "bin";
    options.cache_folder = folder_.path() / "cache";
    options.evidence_folder = folder_.path() / "evidence";
    options.progress = &progress_;
    gym_ = Gym::start(options).value();
    problem_ = task::load_problem((kHere / "problem").string(), {}).value();
  }

  task::Candidate candidate(const std::string& source) {
    std::string text =
        std::regex_replace(os::read_file(source).value(), std::regex("@SECRET@"), secret_.string());
    fs::path copy = folder_.path() / fs::path(source).filename();
    std::ofstream(copy) << text;
    return task::load_candidate(copy).value();
  }

  struct Stages : Progress {
    std::function<void()> on_judge;
    void stage(const EvalRequest&, std::string_view stage) override {
      if (stage == "judge" && on_judge) on_judge();
    }
  };

  os::TempDir folder_;
  Stages progress_;
  fs::path secret_;
  std::unique_ptr<Gym> gym_;
  task::Problem problem_;
  std::map<std::string, task::Problem> problems_;
};

std::string program(const std::string& name) {
  for (const char* folder : kFolders) {
    if (fs::exists(kHere / folder / name)) return (kHere / folder / name).string();
  }
  throw std::runtime_error("there is no program " + name);
}

std::string described(const task::Verdict& verdict) {
  std::string text(task::to_string(verdict.outcome));
  if (!verdict.violation.empty()) text += " " + verdict.violation;
  return text;
}

std::string story(const task::Verdict& verdict) {
  std::string text = described(verdict);
  if (verdict.speedup) text += fmt::format(", {:.2f}x", verdict.speedup->median);
  for (const auto& workload : verdict.workloads) {
    for (const auto& diagnostic : workload.diagnostics)
      text += "\n  " + diagnostic.kind + ": " + diagnostic.message;
  }
  for (const auto& diagnostic : verdict.diagnostics)
    text += "\n  " + diagnostic.kind + ": " + diagnostic.message;
  return text;
}

void PrintTo(const Program& program, std::ostream* out) {
  *out << program.name;
}

// The table for docs/security.md, written at the end to the file that KW_ATTACK_TABLE names.
class Table : public testing::Environment {
 public:
  static std::vector<std::string>& rows() {
    static std::vector<std::string> rows;
    return rows;
  }
  static void add(const Program& program, const task::Verdict& verdict) {
    rows().push_back(fmt::format(
        "| {}/{} | {} | {} | {} | {} | {} |", program.folder, program.name,
        program.is_control() ? "control" : program.classes, join(program.expect, " or "),
        described(verdict), verdict.speedup ? fmt::format("{:.2f}", verdict.speedup->median) : "",
        program.max_speedup > 0 ? fmt::format("{:g}", program.max_speedup) : ""));
  }
  void TearDown() override {
    const char* file = std::getenv("KW_ATTACK_TABLE");
    if (file == nullptr) return;
    std::ofstream out(file);
    out << "| program | class | expected | outcome | speedup | highest true speedup |\n"
        << "|---|---|---|---|---|---|\n";
    for (const std::string& row : rows()) out << row << "\n";
  }
};
const testing::Environment* const kTable = testing::AddGlobalTestEnvironment(new Table);

class Corpus : public testing::TestWithParam<Program> {};

TEST_P(Corpus, EndsAsExpected) {
  const Program& program = GetParam();
  ASSERT_FALSE(program.expect.empty()) << program.file << " has no expect line";
  ASSERT_EQ(program.is_control(), program.classes.empty()) << program.file << ": its class line";
  if (program.is_triton() && !Arena::shared().has_triton()) {
    ASSERT_EQ(std::getenv("KW_REQUIRE_TRITON"), nullptr) << "triton is not installed";
    GTEST_SKIP() << "triton is not installed";
  }
  const task::Problem& problem = Arena::shared().problem(program.problem);
  task::Verdict verdict = program.is_timed()
                              ? Arena::shared().judge_timed(program.file, problem)
                              : Arena::shared().judge(program.file, {}, &problem, false);
  bool may_pass = std::ranges::find(program.expect, "passed") != program.expect.end();
  // A machine that gives no honest time leaves the question whether the program is right.
  if (verdict.outcome == task::Outcome::kNoisy && may_pass)
    verdict = Arena::shared().judge(program.file, {}, &problem, false);
  Table::add(program, verdict);
  std::string outcome = described(verdict);
  bool as_expected = std::ranges::any_of(program.expect, [&](const std::string& wanted) {
    return wanted == outcome ||
           (wanted.find(' ') == std::string::npos && wanted == task::to_string(verdict.outcome));
  });
  EXPECT_TRUE(as_expected) << program.name << " expects " << join(program.expect, " or ") << "\n"
                           << story(verdict);
  // A disturbed machine may show a gain now and then. An attack shows it in every judgement.
  if (verdict.speedup && verdict.speedup->median > program.max_speedup) {
    bool is_gain = true;
    int timed = 0;
    for (int more = 0; more < 6 && timed < 2 && is_gain; ++more) {
      const task::Verdict again = Arena::shared().judge_timed(program.file, problem);
      if (!again.speedup) continue;  // the machine gave no honest time
      ++timed;
      is_gain = again.speedup->median > program.max_speedup;
      EXPECT_FALSE(is_gain && timed == 2) << story(verdict) << "\nand again " << story(again);
    }
    EXPECT_GT(timed, 0) << story(verdict);
  }
  EXPECT_THAT(task::to_json(verdict).dump(), testing::Not(testing::HasSubstr(kSecretText)));
}

INSTANTIATE_TEST_SUITE_P(Programs, Corpus, testing::ValuesIn(corpus()), [](const auto& program) {
  return program.param.folder + "_" + program.param.name;
});

// Whether calls are timed: only a timed workload has more than eight calls.
enum class Timing : bool { kOff, kOn };

task::Verdict judge_without(const std::string& attack, const std::vector<std::string>& mechanisms,
                            Timing timing, const task::Problem* problem = nullptr) {
  return Arena::shared().judge(program(attack), mechanisms, problem, timing == Timing::kOn);
}

// All calls were found right. A busy machine gives no time, which no mechanism here is about.
bool got_through(const task::Verdict& verdict) {
  return verdict.outcome == task::Outcome::kPassed || verdict.outcome == task::Outcome::kNoisy;
}

// With the mechanisms off the attack gets through; with them on (the corpus above, or the second
// call here) it does not.
void expect_stopped_only_by(const std::string& attack, const std::vector<std::string>& mechanisms,
                            Timing timing) {
  task::Verdict without = judge_without(attack, mechanisms, timing);
  EXPECT_TRUE(got_through(without)) << "with " << join(mechanisms, ", ") << " off\n"
                                    << story(without);
  task::Verdict with = judge_without(attack, {}, timing);
  EXPECT_FALSE(got_through(with)) << story(with);
}

TEST(Mechanism, FreshInputs) {
  expect_stopped_only_by("shape_cache.cpp", {"fresh_inputs"}, Timing::kOff);
}
TEST(Mechanism, CheckingTimedCalls) {
  expect_stopped_only_by("right_then_wrong.cpp", {"check_timed", "audit"}, Timing::kOn);
}
TEST(Mechanism, Canaries) {
  expect_stopped_only_by("out_of_bounds.cpp", {"canaries"}, Timing::kOff);
}

// The attack's thread races with the late reading of its outputs, and may lose on a busy machine.
TEST(Mechanism, FreezeAndSnapshot) {
  const std::string attack = "compute_after_done.cpp";
  constexpr int kTries = 5;
  bool gets_through = false;
  std::string stories;
  for (int i = 0; i < kTries && !gets_through; ++i) {
    const auto without = judge_without(attack, {"freeze", "snapshot", "cpu_witness"}, Timing::kOn);
    gets_through = got_through(without);
    stories += story(without) + "\n";
  }
  EXPECT_TRUE(gets_through) << stories;
  const task::Verdict with = judge_without(attack, {}, Timing::kOn);
  EXPECT_FALSE(got_through(with)) << story(with);
}

// With `off` switched off in both runs, because it stops the attack as well, only `mechanism`
// decides.
void expect_decides(const std::string& mechanism, const std::vector<std::string>& off,
                    const std::string& attack, task::Outcome stopped, Timing timing) {
  task::Verdict with = judge_without(attack, off, timing);
  EXPECT_EQ(with.outcome, stopped) << story(with);
  std::vector<std::string> all = off;
  all.push_back(mechanism);
  task::Verdict without = judge_without(attack, all, timing);
  EXPECT_TRUE(got_through(without)) << "with " << mechanism << " off\n" << story(without);
}

TEST(Mechanism, Poison) {
  expect_decides("poison", {"fresh_inputs", "moving_addresses"}, "stale_output.cpp",
                 task::Outcome::kWrongValue, Timing::kOn);
}
TEST(Mechanism, MovingAddresses) {
  expect_decides("moving_addresses", {"fresh_inputs"}, "known_pointers.cpp",
                 task::Outcome::kWrongValue, Timing::kOn);
}
TEST(Mechanism, Edges) {
  expect_decides("edges", {"moving_addresses"}, "reads_behind.cpp", task::Outcome::kWrongValue,
                 Timing::kOff);
}
TEST(Mechanism, ReHash) {
  expect_decides("rehash", {"seal"}, "in_place_mprotect.cpp", task::Outcome::kViolation,
                 Timing::kOff);
}

TEST(Mechanism, MixedInputs) {
  const std::string attack = "hard_scaled_up.cpp";
  expect_stopped_only_by(attack, {"mixed_inputs"}, Timing::kOn);
  expect_stopped_only_by(attack, {"mixed_inputs"}, Timing::kOff);
}

TEST(Mechanism, HiddenShape) {
  auto problem = task::load_problem((kHere / "problems" / "any_size").string(), {});
  ASSERT_TRUE(problem) << problem.error().message();
  const std::string attack = "announced_sizes.cpp";
  const auto without = judge_without(attack, {"hidden_shape"}, Timing::kOff, &*problem);
  EXPECT_TRUE(got_through(without)) << story(without);
  const auto with = judge_without(attack, {}, Timing::kOff, &*problem);
  EXPECT_EQ(with.outcome, task::Outcome::kWrongValue) << story(with);
}

// Burns both cores for a while: a second job of the same author, started to slow the reference.
class Accomplice {
 public:
  void work_for(std::chrono::milliseconds time) {
    auto until = std::chrono::steady_clock::now() + time;
    for (unsigned i = 0; i < 2 * std::thread::hardware_concurrency(); ++i) {
      threads_.emplace_back([until] {
        volatile double x = 1;
        while (std::chrono::steady_clock::now() < until) {
          for (int k = 0; k < 1000; ++k) x = x * 1.0000001;
        }
      });
    }
  }

 private:
  std::vector<std::jthread> threads_;
};

// What interleaving is for; timed_blocks_test shows what happens without it.
TEST(Mechanism, Interleaving) {
  task::Verdict with;
  // Other work on this machine may show a gain in some judgements.
  for (int i = 0; i < 6 && (i == 0 || (with.speedup && with.speedup->median >= 1.15)); ++i) {
    // Opens the session: the next judgement begins with its timing at once.
    Arena::shared().judge(program("py_honest.py"));
    Accomplice accomplice;
    Arena::shared().on_judge([&] { accomplice.work_for(std::chrono::milliseconds(600)); });
    with = Arena::shared().judge(program("py_honest.py"));
    Arena::shared().on_judge({});
  }
  // Disturbed blocks are dropped; where they are too many, there is no time at all.
  EXPECT_TRUE(with.outcome == task::Outcome::kPassed || with.outcome == task::Outcome::kNoisy)
      << story(with);
  if (with.speedup) {
    EXPECT_LT(with.speedup->median, 1.15);
  }
}

// The verdict on a candidate that looks for what the one before it left. Without timing, where the
// two sides keep their memory.
task::Verdict after_a_message(const std::vector<std::string>& disabled) {
  Arena::shared().judge(program("py_leaves_message.py"), disabled, nullptr, false);
  return Arena::shared().judge(program("py_reads_message.py"), disabled, nullptr, false);
}

TEST(Mechanism, ClearedMemory) {
  task::Verdict with = after_a_message({});
  EXPECT_EQ(with.outcome, task::Outcome::kPassed) << story(with);
  task::Verdict without = after_a_message({"clear"});
  EXPECT_EQ(without.outcome, task::Outcome::kRuntimeError) << story(without);
}

TEST(Mechanism, Admission) {
  task::Problem constant = Arena::shared().problem();
  constant.name = "constant_zero";
  std::get<task::Definition>(constant.body).reference = "def run(x):\n    return x * 0.0\n";
  constant.hash = task::problem_hash(constant);
  task::Verdict with = judge_without("zeros.cpp", {}, Timing::kOff, &constant);
  EXPECT_EQ(with.outcome, task::Outcome::kQuarantined) << story(with);
  task::Verdict without = judge_without("zeros.cpp", {"admission"}, Timing::kOff, &constant);
  EXPECT_EQ(without.outcome, task::Outcome::kPassed) << story(without);
}

}  // namespace
}  // namespace kw::gym
