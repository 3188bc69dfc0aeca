// DeviceBytes: one allocation in a GPU's memory, as tensor memory needs it. The seam between the
// logic (device_memory.h) and the driver: tests put a vector behind it.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "base/result.h"
#include "cuda/context.h"
#include "gym/cuda/kernel_runner.h"
#include "gym/measure/busy_time.h"

namespace kw::gym {

// One thread, on which the GPU's context is current. Offsets and sizes are in bytes, and a caller
// stays inside size(). Everything happens in the order of the calls, our kernels' work on this
// memory included; what is written by them may still be queued when a call returns. The bytes
// given to upload() are the caller's again at once. A destructor waits for what is queued.
class DeviceBytes {
 public:
  virtual ~DeviceBytes() = default;
  virtual std::size_t size() const = 0;
  virtual std::uint64_t address() const = 0;  // the GPU's, as kernels take it
  virtual int descriptor() const = 0;         // by which another process maps it; -1: none
  virtual Status upload(std::size_t offset, std::span<const std::byte> from) = 0;
  // Waits for what is queued.
  virtual Status download(std::size_t offset, std::span<std::byte> to) const = 0;
  // From another allocation of the same source.
  virtual Status copy(std::size_t offset, const DeviceBytes& from, std::size_t from_offset,
                      std::size_t bytes) = 0;
  // May be queued. All of it, the rest of its last granule too; or a part.
  virtual Status zero() = 0;
  virtual Status zero(std::size_t offset, std::size_t bytes) = 0;
  // Waits for all that is queued, so that other processes see it.
  virtual Status settle() const = 0;
};

// Makes allocations. One thread.
class DeviceSource {
 public:
  virtual ~DeviceSource() = default;
  // kResourceExhausted. Its content is zero.
  virtual Result<std::unique_ptr<DeviceBytes>> make(std::size_t bytes) = 0;
  // Our kernels on this memory; null: there are none, and the host does their work.
  virtual KernelRunner* kernels() = 0;
};

// The memory of a GPU, shared through descriptors (cuda/shared_memory.h). kUnsupported without a
// GPU. device: the number of the GPU. kernels: what compile_kernels() gave; empty: none. busy:
// borrowed; counts from what is queued first until it is waited for; null: nobody counts.
Result<std::unique_ptr<DeviceSource>> cuda_source(int device, const std::string& kernels,
                                                  BusyTime* busy = nullptr);

}  // namespace kw::gym
