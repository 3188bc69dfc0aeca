#include "gym/checker/testing/scripted_executor.h"

#include <utility>

namespace kw::gym::testing {

LaunchResult ScriptedExecutor::took(std::chrono::nanoseconds wall) {
  clock_->advance(wall);
  LaunchResult result;
  result.wall = wall;
  result.cpu_time = wall;
  return result;
}

Status ScriptedExecutor::replace(os::UniqueFd source) {
  if (script_.next == nullptr || script_.next->empty()) return Executor::replace(std::move(source));
  auto* next = script_.next;
  script_ = next->front();
  script_.next = next;
  next->erase(next->begin());
  launches_ = 0;
  return {};
}

Result<LaunchResult> ScriptedExecutor::launch(std::span<const std::uint32_t> sets,
                                              std::chrono::nanoseconds timeout) {
  if (late_ != nullptr) late_->happen();
  LaunchResult result = took(script_.null_wall + script_.wall * static_cast<int>(sets.size()));
  const int number = launches_++;
  for (std::uint32_t set : sets) {
    // The executor maps its inputs for reading; a scripted one may break that on purpose.
    auto& inputs = const_cast<HostTensors&>(dynamic_cast<const HostTensors&>(*memory_.inputs[set]));
    auto& outputs = dynamic_cast<HostTensors&>(*memory_.output->destinations[set]);
    const auto* statics = dynamic_cast<const HostTensors*>(memory_.statics);
    if (script_.kernel) script_.kernel({number, inputs, outputs, statics});
  }
  if (script_.device_clock) {
    result.device_time = script_.wall * static_cast<int>(sets.size());
    result.device_span = result.device_time;
  }
  if (script_.on_launch) script_.on_launch(number, result);
  if (result.end == LaunchEnd::kDone && result.wall > timeout) result.end = LaunchEnd::kTimeout;
  return result;
}

}  // namespace kw::gym::testing
