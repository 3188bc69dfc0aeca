// Starting, calibrating and launching an executor.
#include "gym/checker/side.h"

#include "gym/checker/executor_fault.h"

namespace kw::gym {
namespace {

constexpr auto kLoadTimeout = std::chrono::seconds(30);
constexpr auto kPrepareTimeout = std::chrono::seconds(10);
constexpr auto kCompileTimeout = std::chrono::seconds(600);  // torch.compile, tuning included
constexpr std::chrono::nanoseconds kFirstCallTimeout = std::chrono::seconds(60);
constexpr int kNullLaunches = 11;
constexpr int kMaxCalibrations = 4;  // until the null launches are steady
constexpr auto kTimeSlice = std::chrono::milliseconds(5);
constexpr std::chrono::nanoseconds kMinCallTimeout = std::chrono::seconds(2);
constexpr int kCallTimeoutFactor = 20;

}  // namespace

std::chrono::nanoseconds call_timeout(std::chrono::nanoseconds reference) {
  return std::max(kMinCallTimeout, kCallTimeoutFactor * reference);
}

Result<std::optional<Fault>> Side::start(StartTimes& times) {
  KW_TRY(LaunchResult loaded, executor_->load(kLoadTimeout));
  times.load_ms = to_ms(loaded.wall);
  if (loaded.end != LaunchEnd::kDone) return std::optional(fault_of(loaded, *executor_, "loading"));
  KW_TRY(LaunchResult prepared,
         executor_->prepare(compiles_ == Compiles::kAtPrepare ? kCompileTimeout : kPrepareTimeout));
  times.prepare_ms = to_ms(prepared.wall);
  if (prepared.end != LaunchEnd::kDone)
    return std::optional(fault_of(prepared, *executor_, "prepare"));
  return std::optional<Fault>();
}

Status Side::calibrate() {
  if (is_calibrated_ && executor_->has_device_clock()) return {};
  for (int attempt = 0; attempt < kMaxCalibrations; ++attempt) {
    if (attempt > 0) clock_->sleep_for(kTimeSlice);
    KW_TRY(NullLaunches found, measure_null_launches(*executor_, kNullLaunches, *clock_));
    null_launch_ = attempt == 0 ? found.median : lesser(null_launch_, found.median);
    if (found.steady) break;
  }
  is_calibrated_ = true;
  return {};
}

void Side::calibrate_as(const NullLaunch& other) {
  null_launch_ = other;
  is_calibrated_ = true;
}

void Side::limit_null_launch(const Side& other) {
  null_launch_ = lesser(null_launch_, other.null_launch_);
}

Result<std::optional<Fault>> Side::launch(std::span<const std::uint32_t> sets,
                                          std::chrono::nanoseconds timeout, LaunchResult& result) {
  if (has_slow_first_call()) timeout = std::max(timeout, kFirstCallTimeout);
  has_called_ = true;
  KW_TRY(result, executor_->launch(sets, timeout));
  if (result.end != LaunchEnd::kDone) return std::optional(fault_of(result, *executor_, "a call"));
  return std::optional<Fault>();
}

Result<std::optional<Fault>> Side::profile(std::uint32_t set, std::chrono::nanoseconds timeout,
                                           PlanCall& call) {
  KW_TRY(const LaunchResult done, executor_->profile(set, timeout));
  if (done.end != LaunchEnd::kDone) return std::optional(fault_of(done, *executor_, "a call"));
  call = executor_->plan_call();
  return std::optional<Fault>();
}

}  // namespace kw::gym
