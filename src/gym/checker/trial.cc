// The calls of a trial.
#include "gym/checker/trial.h"

#include <algorithm>
#include <array>
#include <utility>

namespace kw::gym {
namespace {

constexpr std::uint32_t kTimedCalls = 6;  // and one before them, which may load code

}  // namespace

Trial::Trial(JudgingContext& context, std::unique_ptr<Side> candidate)
    : context_(context), candidate_(std::move(candidate)), calls_(context, *candidate_, fault_) {}

Result<Tried> Trial::run() {
  StartTimes times;
  KW_TRY(auto fault, candidate_->start(times));
  if (fault) fault_.blame(std::move(*fault));
  if (!fault_.found()) {
    // As a judgement that measures: no turn, but the lease.
    context_.turn.end();
    KW_TRY_STATUS(time_calls());
    KW_TRY_STATUS(context_.turn.begin());
  }
  if (!fault_.found()) KW_TRY_STATUS(calls_.checked_call(0, false, std::nullopt, true));
  // No further draws decide what is near its budget: a failure is one.
  if (auto near = calls_.outputs().take_near_budget(); near && near->mismatch)
    fault_.blame(std::move(*near->mismatch));
  Tried out;
  if (const auto& found = fault_.get()) out.outcome = found->outcome;
  out.call_ns = shortest_.value_or(std::chrono::nanoseconds(0)).count();
  return out;
}

Status Trial::time_calls() {
  KW_TRY(LeaseScope lease, LeaseScope::take(context_.lease));
  for (std::uint32_t call = 0; call <= kTimedCalls; ++call) {
    const std::array sets = {static_cast<std::uint32_t>(call % context_.sets.size())};
    KW_TRY_STATUS(calls_.fill(sets[0], false));
    KW_TRY(const LaunchResult done, calls_.launch(*candidate_, sets));
    if (fault_.found()) return {};
    if (call > 0) shortest_ = std::min(shortest_.value_or(done.device_time), done.device_time);
  }
  return {};
}

}  // namespace kw::gym
