#include "gym/compile/kernel_origin.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace kw::gym {
namespace {

// The recorder's own kernels (python/triton_support).
constexpr std::array<std::string_view, 2> kMovers = {"kw_copy", "kw_fill"};
// Parts of names in cuBLAS, cuDNN, torch and NCCL. A template of CUTLASS that a candidate compiles
// is its own; "cutlass_80_" begins the kernels that cuBLAS has of it.
constexpr std::array<std::string_view, 12> kLibraryParts = {
    "cublas",      "cudnn",       "xmma_",        "cutlass_70_",   "cutlass_75_", "cutlass_80_",
    "cutlass_90_", "volta_sgemm", "ampere_sgemm", "gemv2T_kernel", "at6native",   "ncclDevKernel"};

}  // namespace

task::KernelOrigin kernel_origin(std::string_view function) {
  if (std::ranges::find(kMovers, function) != kMovers.end()) return task::KernelOrigin::kMover;
  const bool is_librarys = std::ranges::any_of(kLibraryParts, [&](std::string_view part) {
    return function.find(part) != std::string_view::npos;
  });
  return is_librarys ? task::KernelOrigin::kLibrary : task::KernelOrigin::kOwn;
}

// The executor counts functions of modules in the order of their first launches.
void name_kernels(const task::LaunchPlan& plan, task::GpuCall& call) {
  std::vector<std::pair<std::size_t, std::string>> functions;
  for (const task::PlanStep& step : plan.steps) {
    const auto* launch = std::get_if<task::PlanLaunch>(&step);
    if (launch == nullptr) continue;
    std::pair<std::size_t, std::string> function(launch->module, launch->function);
    if (std::ranges::find(functions, function) == functions.end())
      functions.push_back(std::move(function));
  }
  for (std::size_t i = 0; i < std::min(functions.size(), call.kernels.size()); ++i) {
    call.kernels[i].name = functions[i].second;
    call.kernels[i].origin = kernel_origin(functions[i].second);
  }
}

}  // namespace kw::gym
