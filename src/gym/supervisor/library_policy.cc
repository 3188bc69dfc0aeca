// Rules over what executor and compiler say of a candidate's kernels.
#include "gym/supervisor/library_policy.h"

#include <algorithm>
#include <string>

#include "base/text.h"
#include "gym/protocol.h"
#include "task/verdict.h"

namespace kw::gym {
namespace {

void violate(Json& report, std::string_view violation, const std::string& message) {
  report["outcome"] = task::to_string(task::Outcome::kViolation);
  report["violation"] = violation;
  report["diagnostics"].push_back({{"kind", "hint"}, {"message", message}});
}

const TritonKernel* find_kernel(const TritonBuild& build, const std::string& identity) {
  auto found = std::find_if(build.kernels.begin(), build.kernels.end(),
                            [&](const TritonKernel& k) { return k.identity == identity; });
  return found == build.kernels.end() ? nullptr : &*found;
}

// Names, options and counts of the kernels that ran; true when all of them were compiled.
bool note_kernels(Json& report, const TritonBuild& build) {
  bool all_compiled = true;
  std::vector<std::string> words;
  Json kernels = Json::array();
  for (const Json& ran : report["launches"]["kernels"]) {
    const TritonKernel* kernel = find_kernel(build, ran.value("identity", ""));
    all_compiled = all_compiled && kernel != nullptr;
    auto launches = ran.value("launches", std::uint64_t{0});
    auto programs = ran.value("programs", std::uint64_t{0});
    Json entry = {{"name", kernel != nullptr ? kernel->name : ""},
                  {"launches", launches},
                  {"programs", programs}};
    if (kernel != nullptr) {
      entry["num_warps"] = kernel->num_warps;
      entry["num_stages"] = kernel->num_stages;
      entry["shared_bytes"] = kernel->shared_bytes;
      words.push_back(fmt::format("{}: {} launches, {} programs, {} warps, {} shared", kernel->name,
                                  launches, programs, kernel->num_warps,
                                  format_bytes(kernel->shared_bytes)));
    }
    kernels.push_back(std::move(entry));
  }
  report["kernels"] = std::move(kernels);
  if (!words.empty())
    report["diagnostics"].push_back({{"kind", "kernels"}, {"message", join(words, "; ")}});
  return all_compiled;
}

}  // namespace

void apply_library_policy(Json& report, const TritonBuild& build, task::Library library) {
  if (!report.contains("launches")) return;
  bool all_compiled = note_kernels(report, build);
  const Json& launches = report["launches"];
  auto kernel_count = launches.value("kernel_count", std::uint32_t{0});
  auto library_calls = launches.value("library_calls", std::uint64_t{0});
  if (library_calls > 0) {
    report["diagnostics"].push_back(
        {{"kind", "kernels"},
         {"message", fmt::format("{} operators of torch computed outside the kernels in all calls "
                                 "(the log names them)",
                                 library_calls)}});
  }
  std::string outcome = report.value("outcome", "");
  bool passed = outcome == task::to_string(task::Outcome::kPassed);
  // Host code that computes there sees made-up values: that is why its outputs are wrong.
  bool hidden = library == task::Library::kKernelOnly &&
                outcome == task::to_string(task::Outcome::kWrongValue) &&
                (kernel_count == 0 || library_calls > 0);
  if ((!passed && !hidden) || library == task::Library::kAnything) return;
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
    report["outcome"] = task::to_string(task::Outcome::kUnsupported);
    report["diagnostics"].push_back(
        {{"kind", "hint"},
         {"message", fmt::format("{} different kernels or constants in one workload: {} are "
                                 "supported",
                                 kernel_count, kMaxKernels)}});
  }
}

void report_token_kernel(Json& report) {
  violate(
      report, "token_kernel",
      "the outputs are right even when no kernel writes anything: something else computed them");
}

}  // namespace kw::gym
