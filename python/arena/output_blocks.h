// Equal blocks for results, cut from the arena that checker and executor share.
//
// Each output size is a class with its own run of blocks, divided once, so that one class cannot
// starve another. Within a launch the block freed last is used first: temporaries of an output's
// size stay in the cache, as they do with an ordinary allocator. rotate() brings the block that was
// freed longest ago to the front: results of successive launches move through the arena.
#pragma once
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "spin_lock.h"

namespace kw::arena {

class OutputBlocks {
 public:
  static constexpr std::size_t kMaxClasses = 8;
  static constexpr std::size_t kMaxBlocks = 1024;  // of one class
  static constexpr std::size_t kAlignment = 64;

  std::size_t enable(void* base, std::size_t bytes, const std::size_t* sizes, std::size_t count);
  void rotate();
  void stop_allocating() { active_.store(false, std::memory_order_relaxed); }

  bool active() const { return active_.load(std::memory_order_relaxed); }
  bool owns(const void* pointer) const {
    return reinterpret_cast<std::uintptr_t>(pointer) - base_.load(std::memory_order_relaxed) <
           bytes_.load(std::memory_order_relaxed);
  }
  void* allocate(std::size_t size);  // nullptr: no class of that size, or all its blocks are in use
  void release(void* pointer);       // aborts on a pointer that is not a block in use
  std::size_t capacity(const void* pointer) const;
  SpinLock& lock() { return lock_; }

 private:
  // free_ is a ring: [head, head + free_count) are free blocks, the last one is taken next.
  struct SizeClass {
    std::size_t smallest = 0, capacity = 0, weight = 0;
    std::uintptr_t base = 0;
    std::uint32_t blocks = 0, head = 0, free_count = 0;
    std::array<std::uint16_t, kMaxBlocks> free{};
    std::array<bool, kMaxBlocks> used{};
  };
  void add_size(std::size_t size);
  const SizeClass* class_of(const void* pointer) const;

  std::array<SizeClass, kMaxClasses> classes_{};
  std::size_t class_count_ = 0;
  std::atomic<bool> active_{false};
  std::atomic<std::uintptr_t> base_{0};
  std::atomic<std::size_t> bytes_{0};
  SpinLock lock_;
};

}  // namespace kw::arena
