// The system call filter of every sandbox: a deny list, compiled once by the supervisor and
// installed as it is.
#pragma once
#include "base/result.h"
#include "os/fd.h"
#include "sandbox/syscalls.h"

namespace kw::sandbox {

struct FilterOptions {
  bool may_set_affinity = true;
  bool system_v_ipc = true;  // false where no IPC namespace holds the objects
};
// The program as a memory file of sock_filter instructions.
Result<os::UniqueFd> compile_filter(const FilterOptions& options);

}  // namespace kw::sandbox
