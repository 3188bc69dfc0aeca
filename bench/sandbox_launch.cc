// What a sandbox costs: launch and end of a program that does nothing, against bare fork+exec; a
// Python candidate's start through the zygote, against a fresh interpreter that imports torch; how
// many of both a second when several threads launch at once.
// usage: kw_bench_sandbox_launch BUILD_FOLDER ZYGOTE.PY [PYTHON]
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "os/file.h"
#include "sandbox/process_launcher.h"

namespace {

using Clock = std::chrono::steady_clock;
using kw::Result;
using kw::Status;
using kw::sandbox::Exit;
using kw::sandbox::Launcher;
using kw::sandbox::Level;
using kw::sandbox::ProcessLauncher;
using kw::sandbox::Spec;
using kw::sandbox::Tuning;
using kw::sandbox::Where;

constexpr int kRounds = 300;
constexpr auto kPace = std::chrono::milliseconds(20);
constexpr int kPythonRounds = 40;
constexpr int kFreshRounds = 5;
constexpr double kRateMs = 3000;

double ms_since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

struct Series {
  std::string name;
  std::vector<double> ms;
  double quantile(double q) {
    std::sort(ms.begin(), ms.end());
    return ms[std::min(ms.size() - 1,
                       static_cast<std::size_t>(q * static_cast<double>(ms.size())))];
  }
  void print(double reference) {
    std::printf("%-44s p50 %8.2f ms   p99 %8.2f ms   %6.2fx\n", name.c_str(), quantile(0.5),
                quantile(0.99), quantile(0.5) / reference);
  }
};

// Bare posix_spawn and wait; the exit code is the answer that is checked.
Result<double> run_bare(const std::vector<std::string>& argv) {
  std::vector<char*> pointers;
  for (const std::string& argument : argv) pointers.push_back(const_cast<char*>(argument.c_str()));
  pointers.push_back(nullptr);
  auto start = Clock::now();
  pid_t pid = -1;
  int status = -1;
  if (int error = ::posix_spawn(&pid, pointers[0], nullptr, nullptr, pointers.data(), environ);
      error != 0)
    return kw::fail_errno(error, argv[0]);
  ::waitpid(pid, &status, 0);
  if (status != 0) return kw::fail(kw::ErrorCode::kInternal, "{} failed", argv[0]);
  return ms_since(start);
}

struct Times {
  double launch, run,
      end;  // until launch() returned; until the exit was known; until all was given back
};
Result<Times> run_sandboxed(ProcessLauncher& launcher, int program) {
  Spec spec;
  spec.role = "bench";
  spec.program_fd = program;
  spec.argv = {"kernelwright-launcher", "--self-test"};
  auto start = Clock::now();
  Times times{};
  KW_TRY(auto sandbox, launcher.launch(Where::kNative, std::move(spec)));
  times.launch = ms_since(start);
  KW_TRY(Exit exit, sandbox->wait(std::chrono::seconds(10)));
  times.run = ms_since(start);
  if (exit.signalled || exit.code != 0)
    return kw::fail(kw::ErrorCode::kInternal, "the sandboxed program failed");
  sandbox.reset();
  times.end = ms_since(start);
  return times;
}

// Sandboxes a second of `at_once` threads, each launching the next when its last has ended.
Result<double> rate(int at_once, const std::function<Status()>& launch) {
  std::atomic<int> launched = 0;
  std::vector<Status> ends(static_cast<std::size_t>(at_once));
  auto start = Clock::now();
  {
    std::vector<std::jthread> threads;
    for (Status& end : ends) {
      threads.emplace_back([&] {
        while (end && ms_since(start) < kRateMs) {
          end = launch();
          ++launched;
        }
      });
    }
  }
  double ms = ms_since(start);
  for (Status& end : ends) KW_TRY_STATUS(std::move(end));
  return 1000.0 * launched / ms;
}

Status print_rates(const char* name, const std::function<Status()>& launch) {
  for (int at_once : {1, 2, 4, 8, 16}) {
    KW_TRY(double per_second, rate(at_once, launch));
    std::printf("%-44s %3d at once: %7.1f a second\n", name, at_once, per_second);
  }
  return {};
}

// `pause` lies before every sandbox: an evaluation starts a few within 100 ms and then none for
// seconds.
Status bench_native(const std::string& program, std::chrono::milliseconds pause) {
  Launcher::Options options;
  options.launcher_program = program;
  KW_TRY(auto with_groups, ProcessLauncher::start(options));
  KW_TRY(auto without_groups, ProcessLauncher::start(options, Tuning{Level::kNamespaces, {}}));
  kw::os::UniqueFd fd(::open(program.c_str(), O_RDONLY | O_CLOEXEC));
  Series bare{"fork+exec, wait", {}}, launch{"sandbox with cgroups: launch() returns", {}},
      run{"sandbox with cgroups: launch, run, wait", {}};
  Series end{"sandbox with cgroups: ... and all removed", {}},
      plain{"sandbox without cgroups: launch, run, wait", {}};
  for (int round = 0; round < kRounds; ++round) {
    KW_TRY(double base, run_bare({program, "--self-test"}));
    std::this_thread::sleep_for(pause);
    KW_TRY(Times times, run_sandboxed(*with_groups, fd.get()));
    std::this_thread::sleep_for(pause);
    KW_TRY(Times no_groups, run_sandboxed(*without_groups, fd.get()));
    bare.ms.push_back(base);
    launch.ms.push_back(times.launch);
    run.ms.push_back(times.run);
    end.ms.push_back(times.end);
    plain.ms.push_back(no_groups.run);
  }
  std::printf("native, level %d, %d rounds, interleaved, %s\n",
              static_cast<int>(with_groups->level()), kRounds,
              pause.count() == 0 ? "back to back" : "paced");
  for (Series* series : {&bare, &launch, &run, &end, &plain}) series->print(bare.quantile(0.5));
  if (pause.count() != 0) return {};
  return print_rates("sandbox with cgroups: ... and all removed", [&]() -> Status {
    KW_TRY([[maybe_unused]] Times times, run_sandboxed(*with_groups, fd.get()));
    return {};
  });
}

// A leaf that tells when its first line ran, on the same clock as ours.
constexpr const char* kLeaf =
    "import os, time\ndef main(fd):\n    os.write(1, "
    "str(time.clock_gettime_ns(time.CLOCK_MONOTONIC)).encode())\n    os._exit(0)\n";

Result<double> run_zygote(ProcessLauncher& launcher) {
  KW_TRY(kw::os::Pipe pipe, kw::os::make_pipe());
  Spec spec;
  spec.role = "executor";
  spec.log = std::move(pipe.write_end);
  auto start = Clock::now();
  KW_TRY(auto sandbox, launcher.launch(Where::kZygote, std::move(spec)));
  KW_TRY([[maybe_unused]] Exit exit, sandbox->wait(std::chrono::seconds(30)));
  KW_TRY(std::string text, kw::os::read_to_end(pipe.read_end.get(), 4096));
  std::chrono::nanoseconds first_line(std::strtoll(text.c_str(), nullptr, 10));
  if (first_line.count() == 0)
    return kw::fail(kw::ErrorCode::kInternal, "the leaf did not run: {}", text);
  return std::chrono::duration<double, std::milli>(first_line - start.time_since_epoch()).count();
}

Status bench_python(const std::string& build, const std::string& zygote,
                    const std::string& python) {
  KW_TRY(kw::os::TempDir folder, kw::os::TempDir::make("kw-bench-"));
  ::chmod(folder.path().c_str(), 0755);
  KW_TRY(std::string text, kw::os::read_file(zygote));
  std::ofstream(folder.path() / "zygote.py") << text;
  std::ofstream(folder.path() / "executor.py") << kLeaf;
  Launcher::Options options;
  options.launcher_program = build + "/bin/kernelwright-launcher";
  options.zygote_argv = {python,
                         "-I",
                         (folder.path() / "zygote.py").string(),
                         build + "/lib/libkw_sandbox_leaf.so",
                         "executor=executor",
                         "oracle=oracle"};
  options.zygote_environment = {{"OMP_NUM_THREADS", "1"}};
  KW_TRY(auto launcher, ProcessLauncher::start(std::move(options)));
  KW_TRY_STATUS(launcher->warm_zygote());
  Series fresh{"fresh python3 -c 'import torch'", {}},
      forked{"through the zygote: first line of Python", {}};
  for (int round = 0; round < kFreshRounds; ++round) {
    KW_TRY(double ms, run_bare({python, "-c", "import torch"}));
    fresh.ms.push_back(ms);
    for (int fork = 0; fork < kPythonRounds / kFreshRounds; ++fork) {
      KW_TRY(double fork_ms, run_zygote(*launcher));
      forked.ms.push_back(fork_ms);
    }
  }
  std::printf("python, %d fresh starts and %d forks, interleaved\n", kFreshRounds, kPythonRounds);
  fresh.print(fresh.quantile(0.5));
  forked.print(fresh.quantile(0.5));
  std::printf("ratio fresh / zygote: %.0fx\n", fresh.quantile(0.5) / forked.quantile(0.5));
  return print_rates("through the zygote: launch, run, wait", [&]() -> Status {
    KW_TRY([[maybe_unused]] double ms, run_zygote(*launcher));
    return {};
  });
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fprintf(stderr, "usage: %s BUILD_FOLDER ZYGOTE.PY [PYTHON]\n", argv[0]);
    return 2;
  }
  std::string build = argv[1];
  std::string program = build + "/bin/kernelwright-launcher";
  Status result = bench_native(program, kPace);
  if (result) result = bench_native(program, std::chrono::milliseconds(0));
  if (result && argc > 3) result = bench_python(build, argv[2], argv[3]);
  if (!result) {
    std::fprintf(stderr, "%s\n", result.error().message().c_str());
    return 1;
  }
  return 0;
}
