// GpuFacts: what a judgement on a GPU tells beside outcome and times (docs/gpu.md): the kernels of
// a call, its memory, and how near its time is to what the GPU can do.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"

namespace kw::task {

// The context of a GPU in which a candidate was judged: one that no candidate had used before, or
// one that others had.
enum class GpuContext { kFresh, kResident };
std::string_view to_string(GpuContext context);  // "fresh", "resident"
std::optional<GpuContext> gpu_context_from_string(std::string_view name);

// Whose work a kernel is. kLibrary: its name is that of a known library's kernel. kMover: it fills
// or copies for recorded host code, as a memset would.
enum class KernelOrigin { kOwn, kLibrary, kMover };
std::string_view to_string(KernelOrigin origin);  // "own", "library", "mover"
std::optional<KernelOrigin> kernel_origin_from_string(std::string_view name);

// All launches of one function in a call.
struct GpuKernel {
  std::string name;
  KernelOrigin origin = KernelOrigin::kOwn;
  std::int64_t launches = 0;
  double ms = 0;                  // of all of them, each timed alone
  std::int64_t registers = 0;     // of a thread
  std::int64_t local_bytes = 0;   // of a thread: spilled registers and arrays
  std::int64_t shared_bytes = 0;  // of a block, static and dynamic
  std::int64_t threads = 0;       // of a block, the largest
  double occupancy = 0;           // resident warps as a share of what a multiprocessor holds
  bool operator==(const GpuKernel&) const = default;
};

// One call, step by step. Steps that overlap when they are timed together do not here.
struct GpuCall {
  std::vector<GpuKernel> kernels;  // in the order of their first launches
  // Fills and copies of the plan, and kernels beyond the first 32.
  std::int64_t other_steps = 0;
  double other_ms = 0;
  bool operator==(const GpuCall&) const = default;

  double ms() const;
  std::int64_t steps() const;
};

// What a call at least takes if each input, static and output crosses the memory's bus once and the
// matrix products of the reference run at the rate of torch's, whichever is longer. Rates are
// measured on the same GPU, in the reference's process. A candidate that needs less than that (half
// of a triangular product, parts of an input) can be faster.
struct GpuRoofline {
  std::int64_t bytes = 0;       // of inputs, statics and outputs
  std::int64_t flops = 0;       // of products and convolutions of the reference: two for each
                                // multiplication with its addition
  double bytes_per_second = 0;  // read and written by a copy
  double flops_per_second = 0;  // of a matrix product; 0 where flops is
  std::string precision;        // of that product: "float32" (without TF32), "bfloat16", ...
  bool operator==(const GpuRoofline&) const = default;

  double memory_ms() const;
  double compute_ms() const;
  double least_ms() const;         // the longer of the two
  std::string_view limit() const;  // its name: "memory" or "compute"
};

struct GpuFacts {
  GpuContext context = GpuContext::kFresh;
  std::optional<GpuCall> call = std::nullopt;  // of timed candidates that passed
  // Memory that a call takes beside its inputs and statics: outputs, scratch, what torch allocates.
  std::optional<std::int64_t> candidate_bytes = std::nullopt, baseline_bytes = std::nullopt;
  std::optional<GpuRoofline> roofline = std::nullopt;
  bool operator==(const GpuFacts&) const = default;
};

// Shares of a GPU's work that the candidate's own kernels did, each in [0, 1].
struct Coverage {
  double time = 0, count = 0;
};
// Of all these calls together; nullopt: none is known.
std::optional<Coverage> coverage_of(const std::vector<const GpuCall*>& calls);

// kInvalidArgument names what no measurement gives: negative and infinite numbers, shares over 1.
Status check(const GpuFacts& facts, const std::string& where);

// candidate_ms: a call's time, if there is one; with it the roofline has the share that its least
// time is of that.
Json to_json(const GpuFacts& facts, std::optional<double> candidate_ms = std::nullopt);
Result<GpuFacts> gpu_facts_from(ObjectReader& reader);

}  // namespace kw::task
