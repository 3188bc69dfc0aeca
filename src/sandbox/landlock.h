// Landlock: a second wall around the file tree, TCP, abstract sockets and signals. Raw system
// calls; no privileges needed.
#pragma once
#include <string>
#include <vector>

#include "sandbox/syscalls.h"

namespace kw::sandbox {

int landlock_abi();  // 0: the kernel has none, or it is switched off

struct LandlockRules {
  std::vector<std::string> readable;  // read and execute; missing paths are skipped
  std::vector<std::string> writable;  // everything
  int program = -1;                   // one more executable file
};
// For the calling thread and what it creates; needs no_new_privs.
StepError enter_landlock(int abi, const LandlockRules& rules);

}  // namespace kw::sandbox
