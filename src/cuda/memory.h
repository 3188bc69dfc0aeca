// Memory of the GPU, and memory of the host that it can read and write.
#pragma once
#include <cstddef>
#include <span>
#include <utility>

#include "base/result.h"
#include "cuda/driver_api.h"

namespace kw::cuda {

// Freed on destruction. Offsets are in bytes.
class DeviceBuffer {
 public:
  DeviceBuffer() = default;
  static Result<DeviceBuffer> make(std::size_t bytes);  // kResourceExhausted
  DeviceBuffer(DeviceBuffer&& other) noexcept
      : address_(std::exchange(other.address_, 0)), bytes_(std::exchange(other.bytes_, 0)) {}
  DeviceBuffer& operator=(DeviceBuffer&& other) noexcept {
    std::swap(address_, other.address_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  DeviceBuffer(const DeviceBuffer&) = delete;
  DeviceBuffer& operator=(const DeviceBuffer&) = delete;
  ~DeviceBuffer();

  DevicePointer address() const { return address_; }
  std::size_t bytes() const { return bytes_; }

 private:
  DevicePointer address_ = 0;
  std::size_t bytes_ = 0;
};

// Page-locked: copies to and from it do not wait for the host, and kernels reach it at the same
// address.
class PinnedBuffer {
 public:
  PinnedBuffer() = default;
  static Result<PinnedBuffer> make(std::size_t bytes);  // kResourceExhausted
  PinnedBuffer(PinnedBuffer&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
  PinnedBuffer& operator=(PinnedBuffer&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  PinnedBuffer(const PinnedBuffer&) = delete;
  PinnedBuffer& operator=(const PinnedBuffer&) = delete;
  ~PinnedBuffer();

  std::byte* data() const { return data_; }
  std::size_t bytes() const { return bytes_; }
  template <typename T>
  T* as(std::size_t offset = 0) const {
    return reinterpret_cast<T*>(data_ + offset);
  }

 private:
  std::byte* data_ = nullptr;
  std::size_t bytes_ = 0;
};

}  // namespace kw::cuda
