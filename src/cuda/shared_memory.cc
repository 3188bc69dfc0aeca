#include "cuda/shared_memory.h"

#include <cstdint>

#include "base/text.h"

namespace kw::cuda {
namespace {

Result<std::size_t> whole_granules(const AllocationProperties& properties, std::size_t bytes) {
  std::size_t granule = 0;
  KW_TRY_STATUS(driver_status(driver().granularity(&granule, &properties, kMinimumGranularity),
                              "cannot ask for the GPU's allocation granule"));
  return (bytes + granule - 1) / granule * granule;
}

}  // namespace

Result<SharedMemory> SharedMemory::make(int device, std::size_t bytes) {
  AllocationProperties properties;
  properties.device = device;
  SharedMemory out;
  KW_TRY(out.bytes_, whole_granules(properties, bytes));
  KW_TRY_STATUS(driver_status(driver().allocation_create(&out.handle_, out.bytes_, &properties, 0),
                              "no " + format_bytes(out.bytes_) + " of the GPU's memory"));
  KW_TRY_STATUS(out.map(device, MemoryAccess::kReadWrite));
  return out;
}

Result<SharedMemory> SharedMemory::import(int descriptor, int device, std::size_t bytes,
                                          MemoryAccess access) {
  AllocationProperties properties;
  properties.device = device;
  SharedMemory out;
  KW_TRY(out.bytes_, whole_granules(properties, bytes));
  // The driver takes the number as a pointer. NOLINTNEXTLINE(performance-no-int-to-ptr)
  auto* number = reinterpret_cast<void*>(static_cast<std::intptr_t>(descriptor));
  KW_TRY_STATUS(driver_status(driver().allocation_import(&out.handle_, number, kPosixDescriptor),
                              "cannot import memory of the GPU"));
  KW_TRY_STATUS(out.map(device, access));
  return out;
}

Status SharedMemory::map(int device, MemoryAccess access) {
  KW_TRY_STATUS(driver_status(driver().address_reserve(&address_, bytes_, 0, 0, 0),
                              "no addresses for shared memory of the GPU"));
  KW_TRY_STATUS(driver_status(driver().memory_map(address_, bytes_, 0, handle_, 0),
                              "cannot map shared memory of the GPU"));
  mapped_ = true;
  AccessDescription description;
  description.device = device;
  description.access = static_cast<int>(access);
  return driver_status(driver().set_access(address_, bytes_, &description, 1),
                       "cannot set the access to shared memory of the GPU");
}

SharedMemory& SharedMemory::operator=(SharedMemory&& other) noexcept {
  std::swap(handle_, other.handle_);
  std::swap(address_, other.address_);
  std::swap(bytes_, other.bytes_);
  std::swap(mapped_, other.mapped_);
  return *this;
}

SharedMemory::~SharedMemory() {
  if (mapped_) driver().memory_unmap(address_, bytes_);
  if (address_ != 0) driver().address_free(address_, bytes_);
  if (handle_ != 0) driver().allocation_release(handle_);
}

Result<os::UniqueFd> SharedMemory::export_descriptor() const {
  int descriptor = -1;
  KW_TRY_STATUS(driver_status(driver().allocation_export(&descriptor, handle_, kPosixDescriptor, 0),
                              "cannot make a descriptor of the GPU's memory"));
  return os::UniqueFd(descriptor);
}

}  // namespace kw::cuda
