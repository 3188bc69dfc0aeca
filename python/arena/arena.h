// The preload library of Python executors: where results and large intermediates are allocated, and
// what is recorded of a crash. python/arena.py calls these functions through ctypes.
//
// Theory of operation. torch gives big tensors back to the system on every call, so a result costs
// a page fault per 4 KiB that a kernel with given buffers does not pay. The library stands in front
// of malloc and its kin. Until something is enabled every call goes straight to glibc. Then
//   output blocks  allocations of an output's byte size come from the arena that the checker maps,
//                  so a result is where the checker reads it (output_blocks.h);
//   big pool       other allocations of 32 KiB and more come from a pool that keeps freed memory
//                  (big_pool.h).
// All bookkeeping is outside of the memory handed out. The functions below are called once each, by
// one thread, before the candidate's calls (kw_arena_rotate: between them); the malloc family by
// any.
#pragma once
#include <cstddef>

#define KW_EXPORT extern "C" __attribute__((visibility("default")))

struct KwRange {
  const void* begin;
  std::size_t bytes;
};

// Serves allocations of sizes[i] bytes, or a little more, from [base, base + bytes), which must be
// page-aligned and stay mapped. Returns the number of blocks made; 0: too small, nothing changes.
// An output's block takes its size + 64 bytes, rounded up to 64, from 64 KiB on to 4 KiB; there are
// as many of each output, as fit. A launch needs one for each call, and one or two for temporaries.
KW_EXPORT std::size_t kw_arena_enable(void* base, std::size_t bytes, const std::size_t* sizes,
                                      std::size_t count);
// Makes the next result of each size come from another address than the last one.
KW_EXPORT void kw_arena_rotate();
// Keeps up to keep_bytes of freed big allocations, and tells glibc to keep what is smaller.
// Returns 0 when no address space could be reserved: glibc then serves big allocations as well.
KW_EXPORT int kw_pool_enable(std::size_t keep_bytes);
// From now on SIGSEGV and SIGBUS are recorded in the ReplyPage, and then take the action that was
// installed before. Ranges: the read-only input mappings, at most 128.
KW_EXPORT void kw_arena_watch(void* reply_page, const KwRange* ranges, std::size_t count);
