// The library policy on a Triton candidate: whether its own kernels did the work.
#pragma once
#include <cstdint>
#include <vector>

#include "gym/compile/triton_build.h"
#include "gym/messages/workload_report.h"
#include "task/problem.h"

namespace kw::gym {

// Changes a passed workload's report (docs/formats/evidence.md) to a violation where the policy is
// broken, and notes the kernels that ran, by name, in `kernels` and a diagnostic.
//   ghost_kernel       no Triton kernel ran
//   uncompiled_kernel  a kernel ran in the interpreter that was not compiled for the GPU
//   library_fallback   kernel_only: operators of torch computed as well
// `anything` allows all of it. A report of another outcome only gets the names.
void apply_library_policy(WorkloadReport& report, const TritonBuild& build, task::Library library);

// Makes a passed workload a violation: the outputs are right although no kernel wrote anything.
void report_token_kernel(WorkloadReport& report);

// Masked lanes without `other`: the outputs are right only as they are zero.
void report_masked_zeros(WorkloadReport& report);

struct ConfigurationRisk {
  std::uint32_t configurations = 0;    // of the autotuner with the most
  std::uint32_t tried = 0, wrong = 0;  // of the others
};

// The numbers of the configurations that are tried beside the one that is judged: at most six,
// spread over all of them.
std::vector<std::uint32_t> other_configurations(std::uint32_t configurations);
// A diagnostic where others are wrong: a GPU takes the fastest one.
void report_configurations(WorkloadReport& report, const ConfigurationRisk& risk);

}  // namespace kw::gym
