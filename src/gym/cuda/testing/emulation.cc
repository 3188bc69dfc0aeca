#include "gym/cuda/testing/emulation.h"

#include <memory>
#include <span>
#include <vector>

#include <ucontext.h>

namespace kw::gym::testing {

EmulatedIndex emulated_thread, emulated_block, emulated_block_size, emulated_grid_size;

namespace {

constexpr std::size_t kStackBytes = std::size_t{64} * 1024;

struct Fiber {
  ucontext_t context{};
  std::unique_ptr<char[]> stack = std::make_unique_for_overwrite<char[]>(kStackBytes);
  bool has_ended = false;
};

ucontext_t scheduler;
Fiber* running = nullptr;
const std::function<void()>* work = nullptr;

void start_fiber() {
  (*work)();
  running->has_ended = true;
}

void run_block(std::span<Fiber> fibers) {
  for (Fiber& fiber : fibers) {
    getcontext(&fiber.context);
    fiber.context.uc_stack.ss_sp = fiber.stack.get();
    fiber.context.uc_stack.ss_size = kStackBytes;
    fiber.context.uc_link = &scheduler;
    fiber.has_ended = false;
    makecontext(&fiber.context, start_fiber, 0);
  }
  for (bool any = true; any;) {
    any = false;
    for (std::size_t i = 0; i < fibers.size(); ++i) {
      if (fibers[i].has_ended) continue;
      running = &fibers[i];
      emulated_thread.x = static_cast<unsigned>(i);
      swapcontext(&scheduler, &running->context);
      any = any || !fibers[i].has_ended;
    }
  }
}

}  // namespace

void emulate(unsigned blocks, unsigned threads, const std::function<void()>& body) {
  static std::vector<Fiber> fibers;  // stacks are used again
  if (fibers.size() < threads) fibers.resize(threads);
  work = &body;
  emulated_block_size.x = threads;
  emulated_grid_size.x = blocks;
  for (unsigned block = 0; block < blocks; ++block) {
    emulated_block.x = block;
    run_block(std::span(fibers).first(threads));
  }
}

void emulated_wait() {
  Fiber* self = running;
  const EmulatedIndex index = emulated_thread;
  swapcontext(&self->context, &scheduler);
  emulated_thread = index;
}

}  // namespace kw::gym::testing
