#include "gym/supervisor/device_builder.h"

#include <cerrno>
#include <chrono>
#include <utility>

#include "base/check.h"
#include "base/hash.h"
#include "base/log.h"
#include "gym/compile/shared_object.h"

namespace kw::gym {

using Clock = std::chrono::steady_clock;

DeviceBuilder::DeviceBuilder(Roles& roles, const HostLease& lease, Result<CudaToolchain> toolchain,
                             DeviceBuilderOptions options)
    : roles_(roles),
      lease_(lease),
      toolchain_(std::move(toolchain)),
      options_(std::move(options)),
      cache_(options_.cache_folder) {}

Status DeviceBuilder::fill() {
  if (!toolchain_ || toolchain_->nvrtc.empty()) return {};
  while (true) {
    {
      std::lock_guard lock(mutex_);
      if (spares_.size() >= options_.spares) return {};
    }
    // Outside the mutex: a start takes milliseconds. Several threads may make one too many.
    KW_TRY(RunningRole spare, roles_.start_device_compiler(*toolchain_, true));
    std::lock_guard lock(mutex_);
    spares_.push_back(std::move(spare));
  }
}

Result<RunningRole> DeviceBuilder::take(bool can_be_spare) {
  while (can_be_spare) {
    std::optional<RunningRole> spare;
    {
      std::lock_guard lock(mutex_);
      if (spares_.empty()) break;
      spare = std::move(spares_.back());
      spares_.pop_back();
    }
    // One that ended while it waited would be taken for a compiler that failed.
    if (!spare->sandbox->monitor().exited()) return std::move(*spare);
  }
  return roles_.start_device_compiler(*toolchain_, false);
}

Result<BuildOutcome> DeviceBuilder::compile(const CompilePlan& plan) {
  KW_TRY(auto found, find_build(plan, cache_));
  if (found) return std::move(*found);
  KW_TRY(RunningRole role, take(plan.commands.at(0).at(0) == "nvrtc"));
  CompilerLink link;
  link.control = role.control.get();
  link.log = [&] { return role.log->text(); };
  link.frozen = [this] { return lease_.held(); };
  auto outcome = run_compile(plan, link, cache_);
  if (options_.spares > 0) refill();
  return outcome;
}

void DeviceBuilder::refill() {
  std::lock_guard lock(refill_mutex_);
  refill_ = std::jthread([this] {
    if (auto filled = fill(); !filled)
      log::warning("no spare compiler: " + filled.error().message());
  });
}

std::string DeviceBuilder::compiler() const {
  if (!toolchain_) return {};
  for (const std::filesystem::path& each :
       {toolchain_->nvrtc, std::filesystem::path(toolchain_->nvcc),
        std::filesystem::path(toolchain_->ptxas)})
    if (!each.empty()) return each.filename().string();
  return {};
}

Result<DeviceBuild> DeviceBuilder::build(const task::Candidate& candidate,
                                         const task::Signature& signature) {
  const auto start = Clock::now();
  DeviceBuild build;
  if (!toolchain_) return tl::unexpected(toolchain_.error());
  auto plan = plan_device(candidate, signature, options_.architecture, *toolchain_);
  if (!plan && plan.error().code() != ErrorCode::kInvalidArgument)
    return tl::unexpected(std::move(plan).error());
  if (!plan) {
    build.mistake = plan.error().message();
    return build;
  }
  KW_TRY(BuildOutcome outcome, compile(*plan));
  build.cached = outcome.cached;
  build.wall_ms = std::chrono::duration<double, std::milli>(Clock::now() - start).count();
  if (outcome.status != BuildStatus::kBuilt) {
    build.mistake = std::move(outcome.diagnostics);
    return build;
  }
  KW_TRY(std::string cubin, os::read_whole(outcome.artifact.get(), kMaxArtifactBytes));
  std::optional<task::LaunchPlan>& launches = plan->launches;
  KW_CHECK(launches.has_value());
  task::PlanBlob& content = launches->modules.at(0).content;
  content.sha256 = sha256_hex(cubin);
  content.bytes = static_cast<std::int64_t>(cubin.size());
  build.plan = std::move(launches);
  build.cubin = std::move(outcome.artifact);
  return build;
}

}  // namespace kw::gym
