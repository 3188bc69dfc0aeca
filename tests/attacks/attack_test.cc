// The attack corpus: every program of programs/ judged by the real gym, with the outcome that its
// first lines expect; and each mechanism switched off, to show the attack that it stops
// (docs/security.md).
#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
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

struct Attack {
  std::string file, name;
  std::vector<std::string> expect;  // alternatives: "wrong_value", "violation input_write"
  double max_speedup = 0;           // 0: it must not pass
};

std::string tag(const std::string& text, const std::string& name) {
  std::smatch match;
  return std::regex_search(text, match, std::regex("(?:^|\n)[/#]+ " + name + ": ([^\n]*)"))
             ? match[1].str()
             : "";
}

std::vector<Attack> corpus() {
  std::vector<Attack> attacks;
  for (const auto& entry : fs::directory_iterator(kHere / "programs")) {
    std::string text = os::read_file(entry.path()).value();
    Attack attack{entry.path().string(), entry.path().stem().string(),
                  split(tag(text, "expect"), '|'), 0};
    if (std::string most = tag(text, "max_speedup"); !most.empty())
      attack.max_speedup = std::stod(most);
    attacks.push_back(attack);
  }
  std::sort(attacks.begin(), attacks.end(),
            [](const Attack& a, const Attack& b) { return a.name < b.name; });
  return attacks;
}

// One gym for all cases: the zygote imports torch once.
class Arena {
 public:
  static Arena& shared() {
    static Arena arena;
    return arena;
  }

  task::Verdict judge(const std::string& source, const std::vector<std::string>& disabled = {},
                      const task::Problem* problem = nullptr, bool timing = true) {
    EvalRequest request;
    request.options.timing = timing;
    request.problem = problem != nullptr ? *problem : problem_;
    request.candidate = candidate(source);
    request.options.disabled = disabled;
    request.options.max_seconds = 4;
    // Noise is nobody's fault, and says nothing about an attack.
    constexpr int kTries = 3;
    task::Verdict verdict;
    for (int attempt = 0; attempt < kTries; ++attempt) {
      auto judged = gym_->submit(request, std::chrono::steady_clock::time_point::max(), {}).get();
      if (!judged) {
        ADD_FAILURE() << source << ": " << judged.error().message();
        return {};
      }
      verdict = *judged;
      if (verdict.outcome != task::Outcome::kNoisy) break;
    }
    return verdict;
  }
  // Called when a judgement begins; empty: nothing.
  void on_judge(std::function<void()> action) { progress_.on_judge = std::move(action); }
  const task::Problem& problem() const { return problem_; }
  const fs::path& secret() const { return secret_; }

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
};

std::string program(const std::string& name) {
  return (kHere / "programs" / name).string();
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

void PrintTo(const Attack& attack, std::ostream* out) {
  *out << attack.name;
}

class Corpus : public testing::TestWithParam<Attack> {};

TEST_P(Corpus, EndsAsExpected) {
  const Attack& attack = GetParam();
  ASSERT_FALSE(attack.expect.empty()) << attack.file << " has no expect line";
  task::Verdict verdict = Arena::shared().judge(attack.file);
  std::string outcome = described(verdict);
  bool as_expected =
      std::any_of(attack.expect.begin(), attack.expect.end(), [&](const std::string& wanted) {
        return wanted == outcome || (wanted.find(' ') == std::string::npos &&
                                     wanted == task::to_string(verdict.outcome));
      });
  EXPECT_TRUE(as_expected) << attack.name << " expects " << join(attack.expect, " or ") << "\n"
                           << story(verdict);
  if (verdict.speedup) {
    EXPECT_LE(verdict.speedup->median, attack.max_speedup) << story(verdict);
  }
  EXPECT_THAT(task::to_json(verdict).dump(), testing::Not(testing::HasSubstr(kSecretText)));
}

INSTANTIATE_TEST_SUITE_P(Attacks, Corpus, testing::ValuesIn(corpus()),
                         [](const auto& attack) { return attack.param.name; });

// With the mechanisms off the attack gets through; with them on (the corpus above, or the second
// call here) it does not.
void expect_stopped_only_by(const std::string& attack, const std::vector<std::string>& mechanisms) {
  task::Verdict without = Arena::shared().judge(program(attack), mechanisms);
  EXPECT_EQ(without.outcome, task::Outcome::kPassed)
      << "with " << join(mechanisms, ", ") << " off\n"
      << story(without);
  task::Verdict with = Arena::shared().judge(program(attack));
  EXPECT_NE(with.outcome, task::Outcome::kPassed) << story(with);
}

TEST(Mechanism, FreshInputs) {
  expect_stopped_only_by("shape_cache.cpp", {"fresh_inputs"});
}
TEST(Mechanism, CheckingTimedCalls) {
  expect_stopped_only_by("right_then_wrong.cpp", {"check_timed", "audit"});
}
TEST(Mechanism, Canaries) {
  expect_stopped_only_by("out_of_bounds.cpp", {"canaries"});
}

TEST(Mechanism, FreezeAndSnapshot) {
  expect_stopped_only_by("compute_after_done.cpp", {"freeze", "snapshot", "cpu_witness"});
}

// With `off` switched off in both runs, because it stops the attack as well, only `mechanism`
// decides.
void expect_decides(const std::string& mechanism, const std::vector<std::string>& off,
                    const std::string& attack, task::Outcome stopped) {
  task::Verdict with = Arena::shared().judge(program(attack), off);
  EXPECT_EQ(with.outcome, stopped) << story(with);
  std::vector<std::string> all = off;
  all.push_back(mechanism);
  task::Verdict without = Arena::shared().judge(program(attack), all);
  EXPECT_EQ(without.outcome, task::Outcome::kPassed) << "with " << mechanism << " off\n"
                                                     << story(without);
}

TEST(Mechanism, Poison) {
  expect_decides("poison", {"fresh_inputs", "moving_addresses"}, "stale_output.cpp",
                 task::Outcome::kWrongValue);
}
TEST(Mechanism, MovingAddresses) {
  expect_decides("moving_addresses", {"fresh_inputs"}, "known_pointers.cpp",
                 task::Outcome::kWrongValue);
}
TEST(Mechanism, ReHash) {
  expect_decides("rehash", {"seal"}, "in_place_mprotect.cpp", task::Outcome::kViolation);
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

task::Verdict judge_with_accomplice(const std::vector<std::string>& disabled,
                                    std::chrono::milliseconds time) {
  Accomplice accomplice;
  Arena::shared().on_judge([&] { accomplice.work_for(time); });
  task::Verdict verdict = Arena::shared().judge(program("py_honest.py"), disabled);
  Arena::shared().on_judge({});
  return verdict;
}

TEST(Mechanism, Interleaving) {
  // Opens the session: the next runs begin with their timing at once.
  Arena::shared().judge(program("py_honest.py"));
  // Disturbed blocks are dropped; where they are too many, there is no time at all.
  task::Verdict with = judge_with_accomplice({}, std::chrono::milliseconds(600));
  EXPECT_TRUE(with.outcome == task::Outcome::kPassed || with.outcome == task::Outcome::kNoisy)
      << story(with);
  if (with.speedup) {
    EXPECT_LT(with.speedup->median, 1.15);
  }
  // The accomplice begins with the judgement, and ends before the reference's part does. How much
  // of that part it hits is the scheduler's choice: one success in a few tries is an attack that
  // works.
  double best = 0;
  for (int attempt = 0; attempt < 4 && best <= 1.25; ++attempt) {
    task::Verdict without =
        judge_with_accomplice({"interleaving"}, std::chrono::milliseconds(1500));
    if (without.speedup) best = std::max(best, without.speedup->median);
  }
  EXPECT_GT(best, 1.25);
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
  task::Verdict with = Arena::shared().judge(program("zeros.cpp"), {}, &constant);
  EXPECT_EQ(with.outcome, task::Outcome::kQuarantined) << story(with);
  task::Verdict without = Arena::shared().judge(program("zeros.cpp"), {"admission"}, &constant);
  EXPECT_EQ(without.outcome, task::Outcome::kPassed) << story(without);
}

}  // namespace
}  // namespace kw::gym
