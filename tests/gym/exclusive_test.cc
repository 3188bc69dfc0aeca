// While somebody on this host measures, nothing of another judgement runs; nor does that cost a
// candidate anything: two judged at once get what they get one after the other.
#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <future>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "gym/gym.h"
#include "gym/measure/timing_lock.h"
#include "os/file.h"
#include "task/candidate_source.h"
#include "task/problem_source.h"

namespace kw::gym {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using std::chrono::milliseconds;

constexpr std::string_view kProblem = R"(
import torch
class Model(torch.nn.Module):
    def forward(self, x):
        return x + 1
def get_inputs():
    return [torch.randn(64)]
def get_init_inputs():
    return []
)";

// Its calls take this much core time, however long that is by the clock.
constexpr std::string_view kSpinning = R"(
import time, torch
class ModelNew(torch.nn.Module):
    def forward(self, x):
        end = time.process_time() + 0.5
        while time.process_time() < end:
            pass
        return x + 1
)";
constexpr std::string_view kSines = R"(
import torch
def sines(x):
    for _ in range(8):
        x = torch.sin(x) + 1
    return x
class Model(torch.nn.Module):
    def forward(self, x):
        return sines(x)
def get_inputs():
    return [torch.randn(65536)]
def get_init_inputs():
    return []
)";

// A candidate for them: what its forward does.
std::string sines_candidate(const std::string& body) {
  return "import torch\ndef sines(x):\n    for _ in range(8):\n        x = torch.sin(x) + 1\n"
         "    return x\nclass ModelNew(torch.nn.Module):\n    def forward(self, x):\n        " +
         body + "\n";
}

struct Judged {
  std::string forward;
  task::Outcome outcome = task::Outcome::kPassed;
  double speedup = 1;  // where it is timed
};
const std::vector<Judged> kSineCandidates = {
    {"return sines(x)"},
    {"return sines(x) + 1", task::Outcome::kWrongValue},
    {"return torch.maximum(sines(x), sines(x))", task::Outcome::kPassed, 0.5},
    {"raise ValueError", task::Outcome::kRuntimeError},
    {"return sines(x)[:5]", task::Outcome::kWrongShape},
};
constexpr double kLeeway = 1.25;  // of an interval: whatever else this machine does
constexpr int kRounds = 4;

constexpr double kCallTimeout = 4;  // seconds
constexpr milliseconds kLongerThanACallMayTake = 4500ms;
constexpr milliseconds kTick{10};  // of the kernel's counts

// Core time of every process that descends from this one: checkers, and what is in sandboxes.
std::map<int, milliseconds> times_of_descendants() {
  std::map<int, int> parents;
  std::map<int, milliseconds> times;
  for (const auto& entry : fs::directory_iterator("/proc")) {
    const int pid = std::atoi(entry.path().filename().c_str());
    auto stat = pid > 0 ? os::read_file(entry.path() / "stat", 4096) : Result<std::string>("");
    const std::size_t name_end = stat ? stat->rfind(')') : std::string::npos;
    if (name_end == std::string::npos) continue;
    std::istringstream fields(stat->substr(name_end + 1));
    std::string skipped;
    long user = 0, system = 0;
    fields >> skipped >> parents[pid];
    for (int i = 0; i < 9; ++i) fields >> skipped;
    fields >> user >> system;
    times[pid] = milliseconds((user + system) * 1000 / ::sysconf(_SC_CLK_TCK));
  }
  std::erase_if(times, [&](const auto& item) {
    int pid = item.first;
    while (parents.contains(pid) && pid != ::getpid()) pid = parents[pid];
    return pid != ::getpid() || item.first == pid;
  });
  return times;
}

// The times once nothing runs any more: the kernel counts last moments late.
std::map<int, milliseconds> times_at_rest() {
  auto times = times_of_descendants();
  for (int tries = 0; tries < 100; ++tries) {
    std::this_thread::sleep_for(50ms);
    auto now = times_of_descendants();
    if (now == times) break;
    times = std::move(now);
  }
  return times;
}

// What those that were there before have used since.
milliseconds used_since(const std::map<int, milliseconds>& before) {
  milliseconds used{0};
  for (const auto& [pid, time] : times_of_descendants())
    if (auto found = before.find(pid); found != before.end()) used += time - found->second;
  return used;
}

class JudgingStage : public Progress {
 public:
  void stage(const EvalRequest&, std::string_view stage) override {
    if (stage == "judge") begun = true;
  }
  std::atomic<bool> begun = false;
};

class Exclusive : public testing::Test {
 protected:
  fs::path write(const std::string& name, std::string_view text) {
    std::ofstream(folder_.path() / name) << text;
    return folder_.path() / name;
  }
  std::unique_ptr<Gym> start_gym(int jobs) {
    GymOptions options;
    options.jobs = jobs;
    options.programs_folder = fs::path(KW_BINARY_DIR) / "bin";
    options.cache_folder = folder_.path() / "cache";
    options.evidence_folder = folder_.path() / "evidence";
    options.progress = &stage_;
    return Gym::start(options).value();
  }
  EvalRequest spinning() {
    EvalRequest request;
    request.options.timing = false;
    request.options.timeout_seconds = kCallTimeout;
    request.problem = task::load_problem(write("problem.py", kProblem), {}).value();
    request.candidate = task::load_candidate(write("candidate.py", kSpinning)).value();
    return request;
  }
  // Until a call of the candidate is under way (nothing else takes that long), or the judgement is
  // over.
  static bool await_call(std::future<Result<task::Verdict>>& judged) {
    std::map<int, milliseconds> first;
    while (judged.wait_for(5ms) != std::future_status::ready) {
      for (const auto& [pid, time] : times_of_descendants())
        if (time - first.try_emplace(pid, time).first->second > 200ms) return true;
    }
    return false;
  }

  os::TempDir folder_ = os::TempDir::make("kw-exclusive-").value();
  JudgingStage stage_;
};

TEST_F(Exclusive, AnotherJudgementStandsStillAndItsClocksToo) {
  auto gym = start_gym(1);
  if (!gym->capabilities(task::Target::kCpu).value().freeze)
    GTEST_SKIP() << "nothing can be frozen here";
  auto judged = gym->submit(spinning(), std::chrono::steady_clock::time_point::max(), {});
  while (!stage_.begun) std::this_thread::sleep_for(1ms);
  TimingLock measuring = TimingLock::open().value();
  for (milliseconds length : {200ms, kLongerThanACallMayTake, 200ms}) {
    ASSERT_TRUE(await_call(judged)) << "the judgement was over before its time";
    ASSERT_TRUE(measuring.take_alone());
    const auto before = times_at_rest();
    std::this_thread::sleep_for(length);
    EXPECT_LE(used_since(before), 2 * kTick) << "in " << length.count() << " ms";
    measuring.give_back();
  }
  auto verdict = judged.get();
  ASSERT_TRUE(verdict) << verdict.error().message();
  EXPECT_EQ(verdict->outcome, task::Outcome::kPassed);
}

// What is wrong with a verdict; nothing where it is as expected.
std::string difference(const task::Verdict& verdict, const Judged& expected) {
  if (verdict.outcome == task::Outcome::kNoisy) return "";  // nobody's fault
  if (verdict.outcome != expected.outcome) return std::string(task::to_string(verdict.outcome));
  if (!verdict.speedup) return "";
  const auto& [median, low, high] = *verdict.speedup;
  if (low <= expected.speedup * kLeeway && high >= expected.speedup / kLeeway) return "";
  return fmt::format("{}x ({} to {})", median, low, high);
}

TEST_F(Exclusive, TwoAtOnceGetTheVerdictsOfOneAfterTheOther) {
  for (int jobs : {1, 2}) {
    auto gym = start_gym(jobs);
    std::vector<Judged> left = kSineCandidates;
    std::string differences;
    // Other programs disturb a measurement now and then: what differs is judged again.
    for (int round = 0; round < kRounds && !left.empty(); ++round) {
      std::vector<std::future<Result<task::Verdict>>> verdicts;
      for (const Judged& candidate : left) {
        EvalRequest request;
        request.options.half_width_percent = 20;
        request.options.max_seconds = 2;
        request.options.process_pairs = 1;
        request.problem = task::load_problem(write("sines.py", kSines), {}).value();
        // Equal candidates are judged once: each has a text of its own in each round.
        const std::string text =
            sines_candidate(candidate.forward) + "# round " + std::to_string(round) + "\n";
        request.candidate = task::load_candidate(write("sines_new.py", text)).value();
        verdicts.push_back(
            gym->submit(std::move(request), std::chrono::steady_clock::time_point::max(), {}));
      }
      std::vector<Judged> different;
      for (std::size_t i = 0; i < verdicts.size(); ++i) {
        auto verdict = verdicts[i].get();
        ASSERT_TRUE(verdict) << verdict.error().message();
        const std::string what = difference(*verdict, left[i]);
        if (what.empty()) continue;
        differences += left[i].forward + ": " + what + "\n";
        different.push_back(left[i]);
      }
      left = std::move(different);
    }
    EXPECT_TRUE(left.empty()) << "jobs " << jobs << "\n" << differences;
  }
}

}  // namespace
}  // namespace kw::gym
