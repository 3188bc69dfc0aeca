// The memory that an executor writes: a destination for every set and, for results that Python
// returns, the arena.
//
// A session keeps the memory of its candidates and gives it to the next one. Which pages a process
// happens to get changes the time of a kernel bound by memory by a percent and more; so the two
// sides of a measurement get theirs side by side, once, and no candidate pays for new pages.
#pragma once
#include <cstddef>
#include <vector>

#include "base/result.h"
#include "gym/checker/buffers.h"
#include "os/memory.h"
#include "task/signature.h"

namespace kw::gym {

// Belongs to the checker; one executor at a time. Not thread-safe.
struct OutputMemory {
  std::vector<SharedTensors> destinations;  // one a set
  os::UniqueFd arena_fd;                    // only where results are returned
  os::Mapping arena;

  static Result<OutputMemory> make(const task::Signature& signature, std::size_t sets);
  // Room for the results of a go over half of the sets; none is made twice.
  Status ensure_arena(const task::Signature& signature);
  // Zeros, as in new memory: nothing passes from one executor to the next. The last one must be
  // dead.
  void clear();
};

}  // namespace kw::gym
