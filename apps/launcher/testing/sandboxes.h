// Tests of real sandboxes: a launcher per kind of walls, and the probe program inside.
#pragma once
#include <chrono>
#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sandbox/process_launcher.h"
#include "sandbox/testing/probe.h"

namespace kw::sandbox {

using std::chrono::milliseconds;
using std::chrono::seconds;

// What GoogleTest shows of the parameters.
inline void PrintTo(FreezeKind kind, std::ostream* out) {
  *out << (kind == FreezeKind::kUnified   ? "Unified"
           : kind == FreezeKind::kV1      ? "V1"
           : kind == FreezeKind::kSignals ? "Signals"
                                          : "None");
}
inline void PrintTo(Level level, std::ostream* out) {
  *out << "level " << static_cast<int>(level);
}

std::string binary(const std::string& name);  // bin/<name> or lib/<name> of the build

// The deadline for wishes about other processes; generous, because nothing waits for it when the
// wish comes true.
bool eventually(const std::function<bool()>& wish, seconds limit = seconds(10));

// Whether the processor time of what was frozen stands still, over 20 ms: the kernel counts the
// last moments before the freeze late. False where it has not after `eventually`'s time.
bool comes_to_rest(Monitor& monitor);

// What this user should reach on this machine, found without the launcher: root with cgroups full,
// a user with namespaces 2 ...
Level expected_level();

// A launcher that lives as long as the test program; made on first use.
ProcessLauncher& launcher_for(const Tuning& tuning);

class SandboxTest : public ::testing::Test {
 protected:
  ProcessLauncher& launcher() { return launcher_for(tuning_); }
  Result<std::unique_ptr<Sandbox>> start(std::vector<std::string> probe,
                                         const std::function<void(Spec&)>& change = {});
  // Runs a probe to its end; a failure to do so fails the test and gives exit code -1.
  Exit run(std::vector<std::string> probe, const std::function<void(Spec&)>& change = {});
  // The same without any sandbox: shows that the probe works where nothing stops it.
  static int run_bare(const std::vector<std::string>& probe);
  // No process, no cgroup, no uid lease of the launcher's sandboxes is left; its spares may be.
  void expect_nothing_left();

  Tuning tuning_;
};

// The probe as a memory file that only this test program executes: its processes can be told from
// everybody else's.
int probe_program();
// All processes of the host that run it.
std::vector<std::string> sandbox_processes();

}  // namespace kw::sandbox
