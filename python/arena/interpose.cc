// malloc and its kin, in front of glibc's: results come from the arena, big blocks from the pool.
#include <bit>
#include <cerrno>
#include <cstdint>
#include <cstring>

#include <dlfcn.h>
#include <malloc.h>
#include <pthread.h>

#include "arena.h"
#include "big_pool.h"
#include "output_blocks.h"

// glibc's own allocator under its internal names: no dlsym is needed, which itself allocates.
// NOLINTBEGIN(bugprone-reserved-identifier,readability-identifier-naming)  // glibc chose them
extern "C" {
void* __libc_malloc(std::size_t size);
void* __libc_calloc(std::size_t count, std::size_t size);
void* __libc_realloc(void* pointer, std::size_t size);
void* __libc_memalign(std::size_t alignment, std::size_t size);
void __libc_free(void* pointer);
}
// NOLINTEND(bugprone-reserved-identifier,readability-identifier-naming)

namespace kw::arena {
namespace {

constinit OutputBlocks g_outputs;
constinit BigPool g_pool;

// Only torch's aligned requests may be small results: a class of 4 bytes must not catch every
// malloc.
void* allocate_special(std::size_t alignment, std::size_t size, bool* zeroed) {
  bool big = size >= BigPool::kUnit;
  *zeroed = false;
  if (g_outputs.active() && (big || alignment == OutputBlocks::kAlignment) &&
      alignment <= OutputBlocks::kAlignment) {
    if (void* block = g_outputs.allocate(size)) return block;
  }
  if (big && g_pool.active() && alignment <= BigPool::kUnit) return g_pool.allocate(size, zeroed);
  return nullptr;
}

bool may_be_special(std::size_t alignment, std::size_t size) {
  return size >= BigPool::kUnit ? g_outputs.active() || g_pool.active()
                                : alignment == OutputBlocks::kAlignment && g_outputs.active();
}

void* allocate_aligned(std::size_t alignment, std::size_t size) {
  if (may_be_special(alignment, size)) {
    bool zeroed = false;
    if (void* block = allocate_special(alignment, size, &zeroed)) return block;
  }
  return __libc_memalign(alignment, size);
}

// 0: not ours.
std::size_t special_capacity(const void* pointer) {
  if (g_outputs.owns(pointer)) return g_outputs.capacity(pointer);
  if (g_pool.owns(pointer)) return g_pool.capacity(pointer);
  return 0;
}

// A fork while another thread holds a lock would leave it locked in the child for ever.
void before_fork() {
  g_outputs.lock().lock();
  g_pool.lock().lock();
}
void after_fork() {
  g_pool.lock().unlock();
  g_outputs.lock().unlock();
}
// The child shares the arena's memory with its parent, yet not the free lists: it must not use it.
void after_fork_in_child() {
  after_fork();
  g_outputs.stop_allocating();
}

void install_fork_handlers() {
  ::pthread_atfork(before_fork, after_fork, after_fork_in_child);
}

}  // namespace
}  // namespace kw::arena

using kw::arena::allocate_aligned;
using kw::arena::allocate_special;
using kw::arena::g_outputs;
using kw::arena::g_pool;
using kw::arena::may_be_special;
using kw::arena::special_capacity;

KW_EXPORT void* malloc(std::size_t size) {
  if (may_be_special(1, size)) {
    bool zeroed = false;
    if (void* block = allocate_special(1, size, &zeroed)) return block;
  }
  return __libc_malloc(size);
}

KW_EXPORT void* calloc(std::size_t count, std::size_t size) {
  std::size_t total = 0;
  if (!__builtin_mul_overflow(count, size, &total) && may_be_special(1, total)) {
    bool zeroed = false;
    if (void* block = allocate_special(1, total, &zeroed)) {
      return zeroed ? block : std::memset(block, 0, total);
    }
  }
  return __libc_calloc(count, size);
}

KW_EXPORT void free(void* pointer) {
  if (g_outputs.owns(pointer)) {
    g_outputs.release(pointer);
  } else if (g_pool.owns(pointer)) {
    g_pool.release(pointer);
  } else {
    __libc_free(pointer);
  }
}

KW_EXPORT void* realloc(void* pointer, std::size_t size) {
  if (pointer == nullptr) return malloc(size);
  std::size_t capacity = special_capacity(pointer);
  if (capacity == 0) return __libc_realloc(pointer, size);
  if (size == 0) {
    free(pointer);
    return nullptr;
  }
  // Shrunk to less than half, the memory is worth giving back.
  if (size <= capacity && size >= capacity / 2) return pointer;
  void* moved = malloc(size);
  if (moved == nullptr) return nullptr;
  std::memcpy(moved, pointer, size < capacity ? size : capacity);
  free(pointer);
  return moved;
}

KW_EXPORT int posix_memalign(void** result, std::size_t alignment, std::size_t size) {
  if (!std::has_single_bit(alignment) || alignment % sizeof(void*) != 0) return EINVAL;
  int saved = errno;  // reports by its return value only
  void* block = allocate_aligned(alignment, size);
  errno = saved;
  if (block == nullptr) return ENOMEM;
  *result = block;
  return 0;
}

KW_EXPORT void* aligned_alloc(std::size_t alignment, std::size_t size) {
  return allocate_aligned(alignment, size);
}

KW_EXPORT void* memalign(std::size_t alignment, std::size_t size) {
  return allocate_aligned(alignment, size);
}

KW_EXPORT std::size_t malloc_usable_size(void* pointer) {
  std::size_t capacity = special_capacity(pointer);
  if (capacity != 0 || pointer == nullptr) return capacity;
  // glibc has no internal name for this one; looking it up calls nothing that leads back here.
  using Function = std::size_t (*)(void*);
  static const auto next = reinterpret_cast<Function>(::dlsym(RTLD_NEXT, "malloc_usable_size"));
  return next(pointer);
}

std::size_t kw_arena_enable(void* base, std::size_t bytes, const std::size_t* sizes,
                            std::size_t count) {
  static const bool installed = (kw::arena::install_fork_handlers(), true);
  return installed ? g_outputs.enable(base, bytes, sizes, count) : 0;
}

void kw_arena_rotate() {
  g_outputs.rotate();
}

int kw_pool_enable(std::size_t keep_bytes) {
  // What the pool does not serve stays in glibc's heap: no mmap below 32 MiB (the largest threshold
  // that glibc takes), and the heap's top is not given back.
  // NOLINTBEGIN(concurrency-mt-unsafe)  // glibc's mallopt takes the arena's lock
  ::mallopt(M_MMAP_THRESHOLD, 32 << 20);
  ::mallopt(M_TRIM_THRESHOLD, 1 << 30);
  ::mallopt(M_TOP_PAD, 1 << 20);
  // NOLINTEND(concurrency-mt-unsafe)
  return g_pool.enable(keep_bytes) ? 1 : 0;
}
