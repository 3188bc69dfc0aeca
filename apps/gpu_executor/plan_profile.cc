// Events between steps, and sums of their times.
#include "plan_profile.h"

#include <algorithm>
#include <variant>

namespace kw::gpu_executor {

Result<PlanProfile> PlanProfile::make(const gym::PlanRunner& runner) {
  PlanProfile out(runner);
  for (std::size_t i = 0; i <= runner.steps().size(); ++i) {
    KW_TRY(cuda::Event event, cuda::Event::make());
    out.events_.push_back(std::move(event));
  }
  return out;
}

Status PlanProfile::enqueue(const gym::CallAddresses& call, const cuda::Stream& stream) {
  KW_TRY_STATUS(stream.record(events_.front()));
  for (std::size_t i = 0; i < runner_->steps().size(); ++i) {
    KW_TRY_STATUS(runner_->enqueue_step(i, call, stream));
    KW_TRY_STATUS(stream.record(events_[i + 1]));
  }
  return {};
}

Status PlanProfile::read() {
  const bool is_first = times_.empty();
  times_.resize(runner_->steps().size());
  for (std::size_t i = 0; i < times_.size(); ++i) {
    KW_TRY(double ms, cuda::elapsed_ms(events_[i], events_[i + 1]));
    const auto ns = static_cast<std::uint64_t>(std::max(ms, 0.0) * 1e6);
    times_[i] = is_first ? ns : std::min(times_[i], ns);
  }
  return {};
}

std::vector<PlanProfile::Kernel> PlanProfile::kernels() const {
  std::vector<Kernel> out;
  for (std::size_t i = 0; i < times_.size(); ++i) {
    const auto* launch = std::get_if<task::ResolvedLaunch>(&runner_->steps()[i]);
    if (launch == nullptr) continue;
    auto known = std::ranges::find_if(out, [&](const Kernel& kernel) {
      return kernel.module == launch->module && *kernel.function == launch->function;
    });
    if (known == out.end()) {
      out.push_back({launch->module, &launch->function, i, 0, 0, 0, 0});
      known = out.end() - 1;
    }
    known->ns += times_[i];
    known->launches += 1;
    known->threads =
        std::max(known->threads, launch->block[0] * launch->block[1] * launch->block[2]);
    known->dynamic_bytes = std::max(known->dynamic_bytes, launch->shared_bytes);
  }
  return out;
}

Result<gym::PlanKernelReport> PlanProfile::report_of(const Kernel& kernel) const {
  const cuda::Function& function = runner_->function(kernel.step);
  KW_TRY(const cuda::FunctionNeeds needs, function.needs());
  KW_TRY(const int blocks,
         function.resident_blocks(static_cast<int>(kernel.threads), kernel.dynamic_bytes));
  return gym::PlanKernelReport{
      .ns = kernel.ns,
      .launches = kernel.launches,
      .registers = static_cast<std::uint32_t>(needs.registers),
      .local_bytes = static_cast<std::uint32_t>(needs.local_bytes),
      .shared_bytes = static_cast<std::uint32_t>(needs.shared_bytes) + kernel.dynamic_bytes,
      .threads = kernel.threads,
      .resident_threads = kernel.threads * static_cast<std::uint32_t>(blocks)};
}

Status PlanProfile::report(int most_threads, volatile gym::ReplyPage& reply) const {
  const std::vector<Kernel> all = kernels();
  std::uint64_t other_ns = 0;
  for (const std::uint64_t ns : times_) other_ns += ns;
  std::uint64_t other_steps = times_.size();
  for (std::size_t i = 0; i < gym::kMaxPlanKernels; ++i) {
    gym::PlanKernelReport report{};
    if (i < all.size()) {
      KW_TRY(report, report_of(all[i]));
    }
    other_ns -= report.ns;
    other_steps -= report.launches;
    // The page is volatile: member by member.
    volatile gym::PlanKernelReport& to = reply.plan_kernels[i];
    to.ns = report.ns;
    to.launches = report.launches;
    to.registers = report.registers;
    to.local_bytes = report.local_bytes;
    to.shared_bytes = report.shared_bytes;
    to.threads = report.threads;
    to.resident_threads = report.resident_threads;
  }
  reply.other_ns = other_ns;
  reply.other_steps = static_cast<std::uint32_t>(other_steps);
  reply.most_threads = static_cast<std::uint32_t>(most_threads);
  return {};
}

}  // namespace kw::gpu_executor
