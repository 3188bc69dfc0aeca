// KeptProcesses runs programs of ours side by side, starts each again when it ends, and ends all
// together.
//
// Theory of operation: one thread starts the processes and waits for all of them in one poll():
// for their ends (a pidfd each), for what they print (a pipe each) and for the stop (an eventfd).
// A process is a group of its own, so that Ctrl-C reaches this program alone, and gets SIGTERM
// from the kernel when the thread that started it is gone.
#pragma once
#include <chrono>
#include <functional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace kw::front {

struct KeptProcess {
  std::string name;               // for messages
  std::vector<std::string> argv;  // argv[0] is a path
  // It prints a line to stdout when it works: an end before the first one ends all.
  bool prints_when_ready = false;
};

struct KeepingOptions {
  std::chrono::milliseconds first_pause{1000};  // before a start again; doubled by each failure
  std::chrono::milliseconds longest_pause{30000};
  std::chrono::milliseconds healthy{60000};  // a process that ran so long has not failed at once
  int most_failures = 5;                     // at once, in a row: then all end
  std::chrono::milliseconds grace{20000};    // from SIGTERM to SIGKILL, when all end
  // A line that a process has printed to stdout. Its stderr is this program's. On the thread of
  // keep_running().
  std::function<void(const KeptProcess&, std::string_view line)> on_line = [](auto&&...) {};
  // "worker-2 has ended (exit code 1) and starts again in 2.0 s"
  std::function<void(std::string_view)> on_event = [](auto&&...) {};
};

// Runs them until the stop, then ends them: SIGTERM to all, SIGKILL to what is left of their groups
// after the grace. An end before the stop, whatever its code, is followed by a new start. An error,
// after all have been ended: kNotFound for a program that cannot be started, kUnavailable when one
// has failed `most_failures` times at once, or before it was ready.
Status keep_running(const std::vector<KeptProcess>& processes, const KeepingOptions& options,
                    const std::stop_token& stop);

}  // namespace kw::front
