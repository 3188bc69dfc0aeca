// Work between timed calls, over all cores: the executors are frozen then, so their cores are free.
#pragma once
#include <cstddef>
#include <functional>

namespace kw::gym {

// Calls work(0) to work(count - 1), each once, and returns when all have returned. On this thread
// alone when `bytes`, what all of them touch, is too little to be worth a thread. Other threads run
// on any core, whatever this thread is pinned to.
void in_parallel(std::size_t count, std::size_t bytes,
                 const std::function<void(std::size_t)>& work);

}  // namespace kw::gym
