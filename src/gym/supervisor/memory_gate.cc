#include "gym/supervisor/memory_gate.h"

#include "gym/checker/gpu_call.h"
#include "task/signature.h"

namespace kw::gym {
namespace {

// Checker, oracle, baseline and candidate have one each, two of them with torch's libraries.
constexpr std::uint64_t kContexts = std::uint64_t{2560} << 20U;
// A timed workload keeps hard inputs of so many bytes (apps/checker).
constexpr std::uint64_t kKeptInputs = std::uint64_t{1} << 30U;
// These are two sets and two outputs of each side, the baseline's own tensors, and the reference in
// float64 on moved inputs.
constexpr std::uint64_t kDeviceCopies = 12;

std::uint64_t workload_bytes(const task::Problem& problem, const task::Workload& workload) {
  const auto signature = task::signature_of(problem.definition(), workload, problem.policy.statics);
  return signature ? bytes_of_call(*signature) : 0;
}

}  // namespace

Result<MemoryGate::Pass> MemoryGate::enter(std::uint64_t bytes, const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  const std::uint64_t number = next_++;
  waiting_.push_back(number);
  const bool may_enter = changed_.wait(lock, stop, [&] {
    return waiting_.front() == number && (held_ == 0 || held_ + bytes <= bytes_);
  });
  waiting_.remove(number);
  if (may_enter) held_ += bytes;
  lock.unlock();
  changed_.notify_all();  // the next one is in front
  if (!may_enter) return fail(ErrorCode::kCancelled, "stopped while others use the GPU's memory");
  return Pass(*this, bytes);
}

std::size_t MemoryGate::waiting() const {
  std::lock_guard lock(mutex_);
  return waiting_.size();
}

void MemoryGate::leave(std::uint64_t bytes) {
  {
    std::lock_guard lock(mutex_);
    held_ -= bytes;
  }
  changed_.notify_all();
}

std::uint64_t device_bytes_of(const task::Problem& problem, std::uint64_t all_bytes) {
  if (problem.is_module()) return all_bytes / 4;
  std::uint64_t sum = kContexts;  // of a shape that no workload has
  for (const task::Workload* workload : problem.workloads_for(task::Target::kCuda))
    sum += kContexts + kKeptInputs + kDeviceCopies * workload_bytes(problem, *workload);
  return sum;
}

}  // namespace kw::gym
