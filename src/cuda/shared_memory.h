// SharedMemory: memory of the GPU that several processes map, each with its own access.
#pragma once
#include <cstddef>
#include <utility>

#include "base/result.h"
#include "cuda/driver_api.h"
#include "os/fd.h"

namespace kw::cuda {

// The rights of this process's kernels and copies on a mapping. Another access faults: the kernel
// ends with "illegal address" and the process's context is of no use afterwards.
enum class MemoryAccess : int { kRead = 1, kReadWrite = 3 };

// One allocation and this process's mapping of it. Both are given back on destruction, and the
// memory itself is freed when the last process has done so. Movable; a context is current.
class SharedMemory {
 public:
  SharedMemory() = default;
  // New memory of at least this many bytes, mapped for reading and writing. Its content is
  // undefined. kResourceExhausted.
  static Result<SharedMemory> make(int device, std::size_t bytes);
  // The memory behind a descriptor that export_descriptor() gave, here or in another process. bytes
  // is what make() was given. The descriptor stays the caller's.
  static Result<SharedMemory> import(int descriptor, int device, std::size_t bytes,
                                     MemoryAccess access);
  SharedMemory(SharedMemory&& other) noexcept { *this = std::move(other); }
  SharedMemory& operator=(SharedMemory&& other) noexcept;
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;
  ~SharedMemory();

  Result<os::UniqueFd> export_descriptor() const;
  DevicePointer address() const { return address_; }
  std::size_t bytes() const { return bytes_; }  // mapped: a multiple of the GPU's granule
  bool valid() const { return address_ != 0; }

 private:
  Status map(int device, MemoryAccess access);
  AllocationHandle handle_ = 0;
  DevicePointer address_ = 0;
  std::size_t bytes_ = 0;
  bool mapped_ = false;
};

}  // namespace kw::cuda
