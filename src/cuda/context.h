// Context: one GPU, as this process uses it.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "base/result.h"
#include "cuda/driver_api.h"

namespace kw::cuda {

// The device's primary context, which all users in the process share. Movable. Streams, memory and
// modules are made, used and freed while it is current on their thread, and before it goes.
class Context {
 public:
  // kUnsupported: no driver or no GPU; kNotFound: no GPU of this number.
  static Result<Context> open(int device);
  Context(Context&& other) noexcept;
  Context& operator=(Context&& other) noexcept;
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;
  ~Context();

  Status make_current() const;
  struct Memory {
    std::size_t free = 0, total = 0;  // bytes
  };
  Result<Memory> memory() const;

  const std::string& name() const { return name_; }
  int multiprocessors() const { return multiprocessors_; }
  int threads_per_multiprocessor() const { return threads_per_multiprocessor_; }
  std::size_t l2_bytes() const { return l2_bytes_; }
  std::size_t shared_bytes() const { return shared_bytes_; }      // of a block, at most
  int compute_capability() const { return compute_capability_; }  // 90 for 9.0
  // What programs are compiled for: "sm_90a" on Hopper, whose own instructions need the a.
  std::string architecture() const;

 private:
  Context() = default;
  Status read_attributes();

  DeviceHandle device_ = 0;
  ContextHandle handle_ = nullptr;
  std::string name_;
  int multiprocessors_ = 0, threads_per_multiprocessor_ = 0, compute_capability_ = 0;
  std::size_t l2_bytes_ = 0, shared_bytes_ = 0;
};

}  // namespace kw::cuda
