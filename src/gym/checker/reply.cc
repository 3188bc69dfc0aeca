// The page is volatile: no field is loaded a second time after its check.
#include "gym/checker/reply.h"

#include <algorithm>

namespace kw::gym {
namespace {

constexpr std::uint64_t kLongestCall = 1'000'000'000'000;  // ns
constexpr std::uint32_t kMaxSteps = 1U << 20U;
constexpr std::uint32_t kMaxOfABlock = 1U << 20U;  // bytes, threads, registers

}  // namespace

std::optional<Style> style_of(const volatile ReplyPage& page) {
  switch (static_cast<Style>(page.style)) {
    case Style::kDestinationPassing:
      return Style::kDestinationPassing;
    case Style::kReturning:
      return Style::kReturning;
    case Style::kUnknown:
      break;
  }
  return std::nullopt;
}

Failure failure_of(const volatile ReplyPage& page) {
  std::uint32_t failure = page.failure;
  return failure <= static_cast<std::uint32_t>(Failure::kKernelTimeout)
             ? static_cast<Failure>(failure)
             : Failure::kNone;
}

OutputReport report_of(const volatile ReplyPage& page, std::uint32_t call, std::uint32_t output) {
  const volatile OutputReport& from = page.reports[call][output];
  OutputReport copy{};
  copy.offset = from.offset;
  copy.dtype = from.dtype;
  copy.rank = from.rank;
  for (std::uint32_t d = 0; d < kMaxRank; ++d) {
    copy.shape[d] = from.shape[d];
    copy.stride[d] = from.stride[d];
  }
  return copy;
}

PlanCall plan_call_of(const volatile ReplyPage& page) {
  const auto limited = [](std::uint32_t value, std::uint32_t most) {
    return std::min(value, most);
  };
  const auto time = [](std::uint64_t ns) { return std::min(ns, kLongestCall); };
  PlanCall out;
  for (const volatile PlanKernelReport& from : page.plan_kernels) {
    const std::uint32_t launches = from.launches;
    if (launches == 0) break;
    out.kernels.push_back({.ns = time(from.ns),
                           .launches = limited(launches, kMaxSteps),
                           .registers = limited(from.registers, kMaxOfABlock),
                           .local_bytes = limited(from.local_bytes, kMaxOfABlock),
                           .shared_bytes = limited(from.shared_bytes, kMaxOfABlock),
                           .threads = limited(from.threads, kMaxOfABlock),
                           .resident_threads = limited(from.resident_threads, kMaxOfABlock)});
  }
  out.other_time = std::chrono::nanoseconds(time(page.other_ns));
  out.other_steps = limited(page.other_steps, kMaxSteps);
  out.most_threads = limited(page.most_threads, kMaxOfABlock);
  return out;
}

}  // namespace kw::gym
