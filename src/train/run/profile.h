// Profile: a trace of a few steps, for chrome://tracing or Perfetto: operators of torch, and with a
// GPU every kernel and copy.
#pragma once
#include <cstdint>
#include <string>

#include <ATen/core/Tensor.h>

namespace kw::train {

inline constexpr std::int64_t kProfileFirst = 8, kProfileSteps = 3;  // the first ones are warm-up

// One thread; at most one of them at a time. An empty file: does nothing.
class Profile {
 public:
  Profile(std::string file, at::Device device) : file_(std::move(file)), device_(device) {}
  // steps: how many this process has done. Call it before each step and after the last one.
  void at_step(std::int64_t steps);

 private:
  std::string file_;
  at::Device device_;
  bool runs_ = false;
};

}  // namespace kw::train
