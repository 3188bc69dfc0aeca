#include "train/run/profile.h"

#include <set>

#include <torch/csrc/autograd/profiler_kineto.h>

namespace kw::train {

void Profile::at_step(std::int64_t steps) {
  using torch::profiler::impl::ActivityType;
  if (file_.empty()) return;
  if (!runs_ && steps == kProfileFirst) {
    std::set<ActivityType> activities = {ActivityType::CPU};
    if (device_.is_cuda()) activities.insert(ActivityType::CUDA);
    const torch::profiler::impl::ProfilerConfig config(
        torch::profiler::impl::ProfilerState::KINETO);
    torch::autograd::profiler::prepareProfiler(config, activities);
    torch::autograd::profiler::enableProfiler(config, activities);
    runs_ = true;
  } else if (runs_ && steps >= kProfileFirst + kProfileSteps) {
    torch::autograd::profiler::disableProfiler()->save(file_);
    runs_ = false;
  }
}

}  // namespace kw::train
