// Size classes, free lists and the reserved range of the big pool.
#include "big_pool.h"

#include <algorithm>
#include <bit>
#include <cstdlib>

#include <sys/mman.h>

namespace kw::arena {
namespace {

// Classes 1 to 8 are so many units; above, eight classes for each doubling.
std::size_t class_for(std::size_t units) {
  if (units <= 8) return units;
  auto shift = static_cast<std::size_t>(std::bit_width(units - 1)) - 4;
  std::size_t eighths = (units + (std::size_t{1} << shift) - 1) >> shift;  // 9 to 16
  return shift * 8 + eighths;
}

std::size_t units_of(std::size_t size_class) {
  if (size_class <= 8) return size_class;
  std::size_t shift = (size_class - 9) / 8;
  return (size_class - shift * 8) << shift;
}

}  // namespace

bool BigPool::enable(std::size_t keep_bytes) {
  LockGuard guard(lock_);
  if (active()) return true;
  // Less where the address space is limited. One unit more than used, to align the base.
  for (std::size_t units = kMaxUnits; units >= 1024; units /= 4) {
    void* range = ::mmap(nullptr, (units + 1) * kUnit, PROT_NONE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (range == MAP_FAILED) continue;
    auto base = (reinterpret_cast<std::uintptr_t>(range) + kUnit - 1) / kUnit * kUnit;
    unit_count_ = units;
    keep_limit_ = keep_bytes;
    base_.store(base, std::memory_order_relaxed);
    bytes_.store(units * kUnit, std::memory_order_relaxed);
    active_.store(true, std::memory_order_release);
    return true;
  }
  return false;
}

std::uint32_t BigPool::take_free(std::size_t first_class, std::size_t last_class, bool* zeroed) {
  for (std::size_t c = first_class; c <= std::min(last_class, kClasses - 1); ++c) {
    FreeLists& lists = free_[c];
    *zeroed = lists.warm == kNone;
    std::uint32_t& head = *zeroed ? lists.cold : lists.warm;
    if (head == kNone) continue;
    std::uint32_t block = head;
    head = blocks_[block].next;
    if (!*zeroed) kept_bytes_ -= units_of(c) * kUnit;
    return block;
  }
  return kNone;
}

std::uint32_t BigPool::carve(std::size_t size_class) {
  std::size_t units = units_of(size_class);
  if (unit_count_ - next_unit_ < units) return kNone;
  auto block = static_cast<std::uint32_t>(next_unit_);
  if (::mprotect(address_of(block), units * kUnit, PROT_READ | PROT_WRITE) != 0) return kNone;
  next_unit_ += units;
  blocks_[block].size_class = static_cast<std::uint16_t>(size_class);
  return block;
}

void* BigPool::allocate(std::size_t size, bool* zeroed) {
  if (size > kMaxUnits * kUnit) return nullptr;
  std::size_t wanted = class_for((size + kUnit - 1) / kUnit);
  LockGuard guard(lock_);
  std::uint32_t block = take_free(wanted, wanted + 1, zeroed);
  if (block == kNone) {
    block = carve(wanted);
    *zeroed = true;
  }
  if (block == kNone) block = take_free(wanted, kClasses - 1, zeroed);
  if (block == kNone) return nullptr;
  blocks_[block].used = true;
  return address_of(block);
}

std::uint32_t BigPool::index_of(const void* pointer) const {
  auto distance = reinterpret_cast<std::uintptr_t>(pointer) - base_.load(std::memory_order_relaxed);
  if (distance % kUnit != 0) std::abort();
  auto block = static_cast<std::uint32_t>(distance / kUnit);
  if (!blocks_[block].used) std::abort();
  return block;
}

void BigPool::release(void* pointer) {
  LockGuard guard(lock_);
  std::uint32_t block = index_of(pointer);
  Block& freed = blocks_[block];
  std::size_t bytes = units_of(freed.size_class) * kUnit;
  freed.used = false;
  FreeLists& lists = free_[freed.size_class];
  bool keep = bytes <= keep_limit_ - kept_bytes_;
  // Where the system refuses to take the memory back, it is kept: a cold block must read as zero.
  if (!keep) keep = ::madvise(pointer, bytes, MADV_DONTNEED) != 0;
  std::uint32_t& head = keep ? lists.warm : lists.cold;
  freed.next = head;
  head = block;
  if (keep) kept_bytes_ += bytes;
}

std::size_t BigPool::capacity(const void* pointer) const {
  return units_of(blocks_[index_of(pointer)].size_class) * kUnit;
}

}  // namespace kw::arena
