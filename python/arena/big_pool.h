// A pool for big allocations that are no results: freed blocks are kept, so that an intermediate
// tensor costs no mmap, munmap and page faults on every call.
//
// One range of address space is reserved and cut into blocks of whole units, in steps of at most an
// eighth of the size. The table of blocks is outside of them, indexed by the unit where a block
// starts. A unit is small because glibc 2.36 hardly ever reuses what aligned requests freed: its
// heap would grow, and fault, call by call.
#pragma once
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "spin_lock.h"

namespace kw::arena {

class BigPool {
 public:
  static constexpr std::size_t kUnit = std::size_t{1}
                                       << 15U;  // smallest block, and alignment of all
  static constexpr std::size_t kMaxUnits = std::size_t{1} << 21U;  // 64 GiB of addresses

  bool enable(std::size_t keep_bytes);
  bool active() const { return active_.load(std::memory_order_relaxed); }
  bool owns(const void* pointer) const {
    return reinterpret_cast<std::uintptr_t>(pointer) - base_.load(std::memory_order_relaxed) <
           bytes_.load(std::memory_order_relaxed);
  }
  // nullptr: the addresses are used up. *zeroed: the memory is known to be zero.
  void* allocate(std::size_t size, bool* zeroed);
  void release(void* pointer);  // aborts on a pointer that is not a block in use
  std::size_t capacity(const void* pointer) const;
  SpinLock& lock() { return lock_; }

 private:
  static constexpr std::size_t kClasses = 160;
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};
  struct Block {
    std::uint32_t next = kNone;  // of its free list
    std::uint16_t size_class = 0;
    bool used = false;
  };
  struct FreeLists {
    std::uint32_t warm = kNone;  // memory is kept
    std::uint32_t cold = kNone;  // memory went back to the system: reads as zero
  };
  std::uint32_t index_of(const void* pointer) const;
  std::uint32_t take_free(std::size_t first_class, std::size_t last_class, bool* zeroed);
  std::uint32_t carve(std::size_t size_class);
  void* address_of(std::uint32_t block) const {
    return reinterpret_cast<void*>(base_.load(std::memory_order_relaxed) + block * kUnit);
  }

  std::array<Block, kMaxUnits> blocks_{};
  std::array<FreeLists, kClasses> free_{};
  std::size_t next_unit_ = 0, unit_count_ = 0;
  std::size_t kept_bytes_ = 0, keep_limit_ = 0;
  std::atomic<bool> active_{false};
  std::atomic<std::uintptr_t> base_{0};
  std::atomic<std::size_t> bytes_{0};
  SpinLock lock_;
};

}  // namespace kw::arena
