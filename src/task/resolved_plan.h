// ResolvedPlan: a launch plan at one workload. Every expression is a number, every reference is
// known to exist, every range lies in its buffer and CUDA's limits are kept, so an executor only
// fills in addresses.
#pragma once
#include <array>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "base/result.h"
#include "task/launch_plan.h"
#include "task/signature.h"

namespace kw::task {

// What a GPU allows; the defaults are Hopper's.
struct DeviceLimits {
  std::int64_t shared_bytes = std::int64_t{227} * 1024;  // of a block, dynamic
  int cluster_blocks = 16;                               // over 8 a kernel is not portable
  std::int64_t memory_bytes = std::int64_t{80} << 30;    // all scratch together
};

// Bytes [offset, offset + bytes) of a buffer.
struct ResolvedMemory {
  MemoryKind kind = MemoryKind::kInput;
  std::size_t index = 0;
  std::int64_t offset = 0;
};

struct ResolvedScalar {
  std::array<std::byte, 8> value{};  // as the kernel reads it, in the first `bytes`
  std::size_t bytes = 0;             // 1, 2, 4 or 8: also its alignment among the parameters
};

struct ResolvedTensorMap {
  int type = 0;  // the driver's number
  ResolvedMemory memory;
  std::vector<std::uint64_t> sizes, strides;  // strides: one fewer
  std::vector<std::uint32_t> box, element_strides;
  int interleave = 0, swizzle = 0, promotion = 0;
  bool nan_fill = false;
};

using ResolvedArgument =
    std::variant<ResolvedMemory, NullPointer, ResolvedScalar, ResolvedTensorMap>;

struct ResolvedLaunch {
  std::size_t module = 0;
  std::string function;
  std::array<std::uint32_t, 3> grid{1, 1, 1}, block{1, 1, 1};
  std::array<std::uint32_t, 3> cluster{1, 1, 1};  // 1, 1, 1: no clusters
  bool spread_clusters = false;
  std::uint32_t shared_bytes = 0;
  bool cooperative = false, dependent = false;
  std::vector<ResolvedArgument> arguments;

  std::uint32_t cluster_blocks() const { return cluster[0] * cluster[1] * cluster[2]; }
};

struct ResolvedFill {
  ResolvedMemory memory;
  std::int64_t bytes = 0;  // a multiple of width; 0: nothing to do
  int width = 1;
  std::uint32_t value = 0;
};

struct ResolvedCopy {
  ResolvedMemory from, to;
  std::int64_t bytes = 0;
};

using ResolvedStep = std::variant<ResolvedLaunch, ResolvedFill, ResolvedCopy>;

struct ResolvedScratch {
  std::int64_t bytes = 0, alignment = 256;
};

struct ResolvedPlan {
  std::vector<ResolvedScratch> scratch;
  std::vector<ResolvedStep> steps;  // the fills of zeroed scratch come first
};

// Names and values that a plan's expressions may use: the variable axes, then whole-number
// constants, then (modules) the dimensions x_0, x_1, ... as problem.h has them.
AxisValues axis_values(const Signature& signature);

// kInvalidArgument names the place ("plan.steps[2].launch.grid[0]"), the expression that cannot be
// evaluated, or the limit and the value that breaks it. An input, a static or a constant is never
// the target of a fill or copy. Pure; any thread.
Result<ResolvedPlan> resolve(const LaunchPlan& plan, const Signature& signature,
                             const DeviceLimits& limits = {});

}  // namespace kw::task
