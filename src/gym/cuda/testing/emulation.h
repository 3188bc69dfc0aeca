// For tests: CUDA's threads on the processor, so that the text of a kernel runs without a GPU.
//
// Theory of operation. The threads of a block are fibers of one thread. Each runs until it waits
// for the others; when all have, each runs on. So a barrier of a warp and one of a block are the
// same, and a kernel may not mix them where its warps wait unequally often. Blocks run one after
// another: a variable in shared memory is a static one.
#pragma once
#include <cstdint>
#include <functional>

namespace kw::gym::testing {

struct EmulatedIndex {
  unsigned x = 0;
};

// These belong to the thread that runs now.
extern EmulatedIndex emulated_thread, emulated_block, emulated_block_size, emulated_grid_size;

// Calls body for each thread of each block.
void emulate(unsigned blocks, unsigned threads, const std::function<void()>& body);
// A thread waits for the others of its block.
void emulated_wait();

}  // namespace kw::gym::testing
