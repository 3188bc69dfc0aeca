// What this machine gives to sandboxes and to timing, as data. `kernelwright doctor` prints it.
#pragma once
#include <string>
#include <vector>

#include "sandbox/sandbox.h"

namespace kw::sandbox {

struct HealthCheck {
  enum class State { kOk, kWarn, kMissing };
  std::string name;  // "isolation level", "freezer", "SMT" ...
  State state;
  std::string detail;  // what was found
  std::string cost;    // what its absence or state costs, and what to do; empty when fine
};
const char* to_string(HealthCheck::State state);  // "ok", "warn", "missing"

// Starts a launcher of its own and measures for about half a second. launcher_program as in
// Launcher::Options.
std::vector<HealthCheck> inspect(const std::string& launcher_program);
// Sources of timing noise only; reads files and sleeps 200 ms.
std::vector<HealthCheck> inspect_timing();

}  // namespace kw::sandbox
