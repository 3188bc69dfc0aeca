#include "train/rl/policy_engine.h"

#include <algorithm>
#include <thread>

#include <ATen/ATen.h>

#include "lm/cpu/cpu_engine.h"
#include "lm/cuda/cuda_engine.h"

namespace kw::train {
namespace {

// Rows of a step at least, so that prompts are computed together.
constexpr std::int64_t kCpuRows = 512, kGpuRows = 4096;

}  // namespace

Result<std::unique_ptr<lm::Engine>> make_policy_engine(const Weights& weights,
                                                       const RlSettings& settings) {
  lm::EngineLimits limits{settings.slots, settings.max_tokens, 0};
  if (weights.device().is_cuda()) {
    limits.step_tokens = std::max(settings.slots, kGpuRows);
    lm::cuda::CudaOptions options;
    options.device = weights.device().index();
    options.limits = limits;
    options.matmuls = lm::cuda::matmul_choice_from_string(settings.matmuls).value();
    return lm::cuda::make_cuda_engine(
        lm::cuda::SharedWeights{&weights.parameters(), weights.base().const_data_ptr(),
                                weights.computed().const_data_ptr()},
        options);
  }
  limits.step_tokens = std::max(settings.slots, kCpuRows);
  lm::cpu::CpuOptions options;
  const auto cores = static_cast<std::int64_t>(std::thread::hardware_concurrency());
  options.threads =
      static_cast<int>(std::max<std::int64_t>(settings.threads > 0 ? settings.threads : cores, 1));
  options.limits = limits;
  return lm::cpu::make_cpu_engine(weights.parameters(), options);
}

}  // namespace kw::train
