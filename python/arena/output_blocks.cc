// Division of the arena into blocks, and their free lists.
#include "output_blocks.h"

#include <algorithm>
#include <cstdlib>

namespace kw::arena {
namespace {

constexpr std::size_t kPage = 4096;
constexpr std::size_t kLarge = std::size_t{64} * 1024;

std::size_t round_up(std::size_t value, std::size_t to) {
  return (value + to - 1) / to * to;
}

// A small result has to match closely, or its class would attract every small tensor.
std::size_t capacity_for(std::size_t size) {
  return round_up(size + OutputBlocks::kAlignment,
                  size >= kLarge ? kPage : OutputBlocks::kAlignment);
}

}  // namespace

void OutputBlocks::add_size(std::size_t size) {
  if (size == 0) return;  // an empty tensor has no memory
  for (std::size_t i = 0; i < class_count_; ++i) {
    if (classes_[i].smallest == size) {
      ++classes_[i].weight;
      return;
    }
  }
  if (class_count_ == kMaxClasses) return;
  SizeClass& added = classes_[class_count_++];
  added.smallest = size;
  added.capacity = capacity_for(size);
  added.weight = 1;
}

std::size_t OutputBlocks::enable(void* base, std::size_t bytes, const std::size_t* sizes,
                                 std::size_t count) {
  LockGuard guard(lock_);
  if (active() || class_count_ != 0) return 0;
  for (std::size_t i = 0; i < count; ++i) add_size(sizes[i]);
  std::size_t per_round = 0, lost = 0;  // lost: at most, in front of a class for its alignment
  for (std::size_t i = 0; i < class_count_; ++i) {
    per_round += classes_[i].capacity * classes_[i].weight;
    if (i > 0) lost += classes_[i].smallest >= kLarge ? kPage : kAlignment;
  }
  std::size_t usable = bytes - std::min(bytes, lost);
  std::size_t rounds = per_round == 0 ? 0 : usable / per_round;
  if (rounds == 0) {
    class_count_ = 0;
    return 0;
  }
  auto next = reinterpret_cast<std::uintptr_t>(base);
  std::size_t total = 0;
  for (std::size_t i = 0; i < class_count_; ++i) {
    SizeClass& c = classes_[i];
    c.base = round_up(next, c.smallest >= kLarge ? kPage : kAlignment);
    c.blocks = static_cast<std::uint32_t>(std::min(rounds * c.weight, kMaxBlocks));
    c.free_count = c.blocks;
    for (std::uint32_t b = 0; b < c.blocks; ++b) c.free[b] = static_cast<std::uint16_t>(b);
    next = c.base + c.blocks * c.capacity;
    total += c.blocks;
  }
  base_.store(reinterpret_cast<std::uintptr_t>(base), std::memory_order_relaxed);
  bytes_.store(bytes, std::memory_order_relaxed);
  active_.store(true, std::memory_order_release);
  return total;
}

void* OutputBlocks::allocate(std::size_t size) {
  LockGuard guard(lock_);
  SizeClass* best = nullptr;
  for (std::size_t i = 0; i < class_count_; ++i) {
    SizeClass& c = classes_[i];
    bool fits = size >= c.smallest && size <= c.capacity && c.free_count > 0;
    if (fits && (best == nullptr || c.capacity < best->capacity)) best = &c;
  }
  if (best == nullptr) return nullptr;
  --best->free_count;
  std::uint16_t block = best->free[(best->head + best->free_count) % best->blocks];
  best->used[block] = true;
  // NOLINTNEXTLINE(performance-no-int-to-ptr)  // the allocator counts in addresses
  return reinterpret_cast<void*>(best->base + block * best->capacity);
}

const OutputBlocks::SizeClass* OutputBlocks::class_of(const void* pointer) const {
  auto address = reinterpret_cast<std::uintptr_t>(pointer);
  for (std::size_t i = 0; i < class_count_; ++i) {
    const SizeClass& c = classes_[i];
    if (address - c.base < c.blocks * c.capacity) return &c;
  }
  return nullptr;
}

void OutputBlocks::release(void* pointer) {
  LockGuard guard(lock_);
  auto* c = const_cast<SizeClass*>(class_of(pointer));
  if (c == nullptr) std::abort();
  std::size_t distance = reinterpret_cast<std::uintptr_t>(pointer) - c->base;
  std::size_t block = distance / c->capacity;
  if (distance % c->capacity != 0 || !c->used[block]) std::abort();
  c->used[block] = false;
  c->free[(c->head + c->free_count) % c->blocks] = static_cast<std::uint16_t>(block);
  ++c->free_count;
}

void OutputBlocks::rotate() {
  LockGuard guard(lock_);
  for (std::size_t i = 0; i < class_count_; ++i) {
    SizeClass& c = classes_[i];
    if (c.free_count < 2) continue;
    // The oldest free block moves from the front of the ring to the end that is taken from.
    std::uint16_t oldest = c.free[c.head];
    c.head = (c.head + 1) % c.blocks;
    c.free[(c.head + c.free_count - 1) % c.blocks] = oldest;
  }
}

std::size_t OutputBlocks::capacity(const void* pointer) const {
  const SizeClass* c = class_of(pointer);
  return c == nullptr ? 0 : c->capacity;
}

}  // namespace kw::arena
