// Rules over what executor and compiler say of a candidate's kernels.
#include "gym/supervisor/library_policy.h"

#include <algorithm>
#include <string>

#include "base/check.h"
#include "base/text.h"
#include "gym/protocol.h"
#include "task/verdict.h"

namespace kw::gym {
namespace {

constexpr std::uint32_t kTriedConfigurations = 6;

void violate(WorkloadReport& report, std::string_view violation, std::string message) {
  report.outcome = task::Outcome::kViolation;
  report.violation = violation;
  report.add_hint(std::move(message));
}

const TritonKernel* find_kernel(const TritonBuild& build, const std::string& identity) {
  auto found = std::find_if(build.kernels.begin(), build.kernels.end(),
                            [&](const TritonKernel& k) { return k.identity == identity; });
  return found == build.kernels.end() ? nullptr : &*found;
}

// Names, options and counts of the kernels that ran; true when all of them were compiled.
bool note_kernels(WorkloadReport& report, const TritonBuild& build) {
  bool all_compiled = true;
  std::vector<std::string> words;
  std::vector<RanKernel> kernels;
  KW_CHECK(report.launches.has_value());
  for (const LaunchedKernel& ran : report.launches->kernels) {
    const TritonKernel* kernel = find_kernel(build, ran.identity);
    all_compiled = all_compiled && kernel != nullptr;
    RanKernel entry{kernel != nullptr ? kernel->name : "", ran.launches, ran.programs, {}, {}, {}};
    if (kernel != nullptr) {
      entry.num_warps = kernel->num_warps;
      entry.num_stages = kernel->num_stages;
      entry.shared_bytes = kernel->shared_bytes;
      words.push_back(fmt::format("{}: {} launches, {} programs, {} warps, {} shared", kernel->name,
                                  ran.launches, ran.programs, kernel->num_warps,
                                  format_bytes(kernel->shared_bytes)));
    }
    kernels.push_back(std::move(entry));
  }
  report.kernels = std::move(kernels);
  if (!words.empty()) report.diagnostics.push_back({"kernels", join(words, "; ")});
  return all_compiled;
}

}  // namespace

void apply_library_policy(WorkloadReport& report, const TritonBuild& build, task::Library library) {
  if (!report.launches) return;
  bool all_compiled = note_kernels(report, build);
  const std::uint32_t kernel_count = report.launches->kernel_count;
  const std::uint64_t library_calls = report.launches->library_calls;
  if (library_calls > 0) {
    report.diagnostics.push_back(
        {"kernels", fmt::format("{} operators of torch computed outside the kernels in all calls "
                                "(the log names them)",
                                library_calls)});
  }
  // Host code that computes there sees made-up values: that is why its outputs are wrong.
  bool hidden = library == task::Library::kKernelOnly &&
                report.outcome == task::Outcome::kWrongValue &&
                (kernel_count == 0 || library_calls > 0);
  if ((!report.has_passed() && !hidden) || library == task::Library::kAnything) return;
  if (kernel_count == 0) {
    violate(report, "ghost_kernel", "no Triton kernel ran: something else computed the outputs");
  } else if (library == task::Library::kKernelOnly && library_calls > 0) {
    violate(report, "library_fallback",
            "operators of torch computed beside the kernels, which the problem's policy "
            "(kernel_only) does not allow");
  } else if (!all_compiled) {
    violate(
        report, "uncompiled_kernel",
        "a kernel ran in the interpreter, with constants or options, that was not launched when "
        "the candidate was compiled for the GPU: launches may depend on shapes, not on values "
        "or on where they run");
  } else if (kernel_count > kMaxKernels) {
    report.outcome = task::Outcome::kUnsupported;
    report.add_hint(
        fmt::format("{} different kernels or constants in one workload: {} are "
                    "supported",
                    kernel_count, kMaxKernels));
  }
}

void report_token_kernel(WorkloadReport& report) {
  violate(
      report, "token_kernel",
      "the outputs are right even when no kernel writes anything: something else computed them");
}

void report_masked_zeros(WorkloadReport& report) {
  report.diagnostics.push_back(
      {"risk",
       "the outputs rely on zeros in lanes that a mask leaves out without `other`: Triton gives "
       "them on NVIDIA GPUs"});
}

std::vector<std::uint32_t> other_configurations(std::uint32_t configurations) {
  std::vector<std::uint32_t> numbers;
  if (configurations < 2) return numbers;
  const std::uint32_t count = std::min(configurations - 1, kTriedConfigurations);
  for (std::uint32_t i = 0; i < count; ++i)
    numbers.push_back(1 +
                      static_cast<std::uint32_t>(std::uint64_t{i} * (configurations - 1) / count));
  return numbers;
}

void report_configurations(WorkloadReport& report, const ConfigurationRisk& risk) {
  if (risk.wrong == 0) return;
  report.diagnostics.push_back(
      {"risk",
       fmt::format("{} of {} other configurations tried are wrong (the autotuner has {}): a "
                   "GPU takes the fastest one",
                   risk.wrong, risk.tried, risk.configurations)});
}

}  // namespace kw::gym
