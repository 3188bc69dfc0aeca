#include "cuda/context.h"

#include <array>

namespace kw::cuda {

Result<Context> Context::open(int device) {
  KW_TRY(const DriverApi* api, load_driver_api());
  int count = 0;
  KW_TRY_STATUS(driver_status(api->device_count(&count), "cannot count GPUs"));
  if (count == 0) return fail(ErrorCode::kUnsupported, "no GPU that CUDA can use");
  if (device < 0 || device >= count)
    return fail(ErrorCode::kNotFound, "no GPU {}: there are {}, from 0", device, count);
  Context out;
  KW_TRY_STATUS(driver_status(api->device_get(&out.device_, device), "cannot get the GPU"));
  KW_TRY_STATUS(
      driver_status(api->primary_context_retain(&out.handle_, out.device_), "cannot use the GPU"));
  KW_TRY_STATUS(out.make_current());
  KW_TRY_STATUS(out.read_attributes());
  return out;
}

Status Context::read_attributes() {
  std::array<char, 128> name{};
  KW_TRY_STATUS(driver_status(
      driver().device_name(name.data(), static_cast<int>(name.size()), device_), "GPU's name"));
  name_ = name.data();
  auto attribute = [&](DeviceAttribute which, int& value) {
    return driver_status(driver().device_attribute(&value, static_cast<int>(which), device_),
                         "cannot ask the GPU for an attribute");
  };
  int l2 = 0, shared = 0, major = 0, minor = 0;
  KW_TRY_STATUS(attribute(DeviceAttribute::kMultiprocessors, multiprocessors_));
  KW_TRY_STATUS(attribute(DeviceAttribute::kThreadsPerMultiprocessor, threads_per_multiprocessor_));
  KW_TRY_STATUS(attribute(DeviceAttribute::kL2Bytes, l2));
  KW_TRY_STATUS(attribute(DeviceAttribute::kSharedBytesOptIn, shared));
  KW_TRY_STATUS(attribute(DeviceAttribute::kComputeMajor, major));
  KW_TRY_STATUS(attribute(DeviceAttribute::kComputeMinor, minor));
  l2_bytes_ = static_cast<std::size_t>(l2);
  shared_bytes_ = static_cast<std::size_t>(shared);
  compute_capability_ = major * 10 + minor;
  return {};
}

Context::Context(Context&& other) noexcept {
  *this = std::move(other);
}

Context& Context::operator=(Context&& other) noexcept {
  if (this == &other) return *this;
  if (handle_ != nullptr) driver().primary_context_release(device_);
  device_ = other.device_;
  handle_ = std::exchange(other.handle_, nullptr);
  name_ = std::move(other.name_);
  multiprocessors_ = other.multiprocessors_;
  threads_per_multiprocessor_ = other.threads_per_multiprocessor_;
  compute_capability_ = other.compute_capability_;
  l2_bytes_ = other.l2_bytes_;
  shared_bytes_ = other.shared_bytes_;
  return *this;
}

Context::~Context() {
  if (handle_ != nullptr) driver().primary_context_release(device_);
}

Status Context::make_current() const {
  return driver_status(driver().context_set_current(handle_), "cannot use the GPU on this thread");
}

Result<Context::Memory> Context::memory() const {
  Memory out;
  KW_TRY_STATUS(driver_status(driver().memory_info(&out.free, &out.total),
                              "cannot ask for the GPU's free memory"));
  return out;
}

std::string Context::architecture() const {
  return fmt::format("sm_{}{}", compute_capability_, compute_capability_ == 90 ? "a" : "");
}

}  // namespace kw::cuda
