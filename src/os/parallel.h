// Loops spread over all cores.
#pragma once
#include <cstddef>
#include <functional>

namespace kw::os {

// Calls work(0) to work(count - 1), each once, and returns when all have returned. On this thread
// alone when `bytes`, what all of them touch, is too little to be worth a thread, and inside
// another in_parallel. Other threads run on any core, whatever this thread is pinned to; they stay
// until the process ends, so a child of fork() must not come here. work must not throw.
// Thread-safe.
void in_parallel(std::size_t count, std::size_t bytes,
                 const std::function<void(std::size_t)>& work);

// The same over consecutive pieces of [0, size): work(first, last), each piece `piece` long but the
// last. bytes: of one element.
void in_parallel_pieces(std::size_t size, std::size_t piece, std::size_t bytes,
                        const std::function<void(std::size_t, std::size_t)>& work);

// While it lives, loops of this thread use few threads, all on the cores of the thread that began
// the first such loop: it works beside something that is timed, whose cores the others might take.
class LoopsBesideTiming {
 public:
  LoopsBesideTiming();
  LoopsBesideTiming(const LoopsBesideTiming&) = delete;
  LoopsBesideTiming& operator=(const LoopsBesideTiming&) = delete;
  ~LoopsBesideTiming();

 private:
  bool before_;
};

}  // namespace kw::os
