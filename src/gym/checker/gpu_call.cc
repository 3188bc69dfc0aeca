#include "gym/checker/gpu_call.h"

#include <algorithm>

namespace kw::gym {
namespace {

// More than any cache of today's GPUs.
constexpr std::int64_t kCacheBytes = std::int64_t{256} << 20U;
constexpr double kGenerous = 1.5;

}  // namespace

task::GpuCall gpu_call_of(const PlanCall& call) {
  task::GpuCall out;
  for (const PlanKernelReport& kernel : call.kernels) {
    const double share = call.most_threads == 0 ? 0
                                                : static_cast<double>(kernel.resident_threads) /
                                                      static_cast<double>(call.most_threads);
    out.kernels.push_back({.name = {},
                           .origin = task::KernelOrigin::kOwn,
                           .launches = kernel.launches,
                           .ms = static_cast<double>(kernel.ns) / 1e6,
                           .registers = kernel.registers,
                           .local_bytes = kernel.local_bytes,
                           .shared_bytes = kernel.shared_bytes,
                           .threads = kernel.threads,
                           .occupancy = std::min(share, 1.0)});
  }
  out.other_steps = call.other_steps;
  out.other_ms = static_cast<double>(call.other_time.count()) / 1e6;
  return out;
}

std::uint64_t bytes_of_call(const task::Signature& signature) {
  std::uint64_t sum = 0;
  for (const auto* tensors : {&signature.inputs, &signature.statics, &signature.outputs}) {
    for (const task::Argument& tensor : *tensors)
      if (tensor.role != task::Role::kScalar) sum += tensor.bytes();
  }
  return sum;
}

std::chrono::nanoseconds least_time_of_outputs(const task::Signature& signature,
                                               const task::GpuRoofline& roofline) {
  std::int64_t written = 0;
  for (const task::Argument& output : signature.outputs)
    written += static_cast<std::int64_t>(output.bytes());
  written = std::max<std::int64_t>(written - kCacheBytes, 0);
  if (!(roofline.bytes_per_second > 0)) return {};
  return std::chrono::nanoseconds(static_cast<std::int64_t>(
      static_cast<double>(written) / (kGenerous * roofline.bytes_per_second) * 1e9));
}

}  // namespace kw::gym
