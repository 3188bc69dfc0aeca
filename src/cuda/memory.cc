#include "cuda/memory.h"

#include "base/text.h"

namespace kw::cuda {

Result<DeviceBuffer> DeviceBuffer::make(std::size_t bytes) {
  DeviceBuffer out;
  if (bytes == 0) return out;
  KW_TRY_STATUS(driver_status(driver().memory_allocate(&out.address_, bytes),
                              "no " + format_bytes(bytes) + " of the GPU's memory"));
  out.bytes_ = bytes;
  return out;
}

DeviceBuffer::~DeviceBuffer() {
  if (address_ != 0) driver().memory_free(address_);
}

Result<PinnedBuffer> PinnedBuffer::make(std::size_t bytes) {
  PinnedBuffer out;
  if (bytes == 0) return out;
  void* data = nullptr;
  KW_TRY_STATUS(driver_status(driver().host_allocate(&data, bytes, kHostAllocDeviceMap),
                              "no " + format_bytes(bytes) + " of page-locked memory"));
  out.data_ = static_cast<std::byte*>(data);
  out.bytes_ = bytes;
  return out;
}

PinnedBuffer::~PinnedBuffer() {
  if (data_ != nullptr) driver().host_free(data_);
}

}  // namespace kw::cuda
