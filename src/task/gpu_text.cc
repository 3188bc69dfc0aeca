#include "task/gpu_text.h"

#include "base/text.h"

namespace kw::task {
namespace {

constexpr std::size_t kMaxName = 80;

std::string bytes_text(std::int64_t bytes) {
  return format_bytes(static_cast<std::uint64_t>(bytes));
}

}  // namespace

std::string kernel_text(const GpuKernel& kernel) {
  std::string out = fmt::format("{} ({}", printable(kernel.name, kMaxName), format_ms(kernel.ms));
  if (kernel.origin == KernelOrigin::kLibrary) out += ", a library's";
  if (kernel.launches != 1) out += fmt::format(", {} launches", kernel.launches);
  out += fmt::format(", {} registers", kernel.registers);
  if (kernel.local_bytes > 0)
    out += fmt::format(", {} bytes of spills and arrays a thread", kernel.local_bytes);
  if (kernel.shared_bytes > 0)
    out += fmt::format(", {} of shared memory a block", bytes_text(kernel.shared_bytes));
  return out + fmt::format(", occupancy {:.0f} %)", 100 * kernel.occupancy);
}

std::string roofline_text(const GpuRoofline& roofline, double candidate_ms) {
  if (roofline.least_ms() <= 0 || candidate_ms <= 0) return {};
  const std::string what =
      roofline.limit() == "memory"
          ? std::string("the memory allows")
          : fmt::format("products in {} allow", printable(roofline.precision, 20));
  return fmt::format("{:.0f} % of what {} ({})", 100 * roofline.least_ms() / candidate_ms, what,
                     format_ms(roofline.least_ms()));
}

std::string call_memory_text(const GpuFacts& facts) {
  std::string out;
  if (facts.candidate_bytes) out = bytes_text(*facts.candidate_bytes);
  if (facts.baseline_bytes)
    out += fmt::format("{}the baseline {}", out.empty() ? "" : ", ",
                       bytes_text(*facts.baseline_bytes));
  return out;
}

}  // namespace kw::task
