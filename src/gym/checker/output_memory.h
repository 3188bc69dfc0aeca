// The memory that an executor writes: a destination for every set and, for results that Python
// returns, the arena.
//
// A session keeps the memory of its candidates and gives it to the next one. Which pages a process
// happens to get changes the time of a kernel bound by memory by a percent and more; so the two
// sides of a measurement get theirs side by side, once, and no candidate pays for new pages.
#pragma once
#include <cstddef>
#include <memory>
#include <vector>

#include "base/result.h"
#include "gym/checker/tensor_memory.h"
#include "task/signature.h"

namespace kw::gym {

// Belongs to the checker; one executor at a time. Not thread-safe.
struct OutputMemory {
  std::vector<std::unique_ptr<TensorMemory>> destinations;  // one for each set
  std::unique_ptr<ResultArena> arena;                       // only where results are returned

  static Result<OutputMemory> make(TensorAllocator& allocator, const task::Signature& signature,
                                   std::size_t sets);
  // Makes room for the results of a launch over half of the sets; a second call changes nothing.
  Status ensure_arena(TensorAllocator& allocator, const task::Signature& signature);
  // Zeros all of it, as in new memory: nothing passes from one executor to the next. The last
  // executor must be dead.
  Status clear();
};

}  // namespace kw::gym
