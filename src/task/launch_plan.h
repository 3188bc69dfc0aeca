// LaunchPlan: what runs on the GPU in one call of a candidate: kernel launches, fills and copies in
// order, on one stream, with grids, sizes and scalars as expressions over the problem's axes. A
// plan has no host code. docs/formats/launch_plan.md.
#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "task/launch.h"
#include "tensor/dtype.h"

namespace kw::task {

// Bytes that travel beside the plan: `bytes` of them, with this hash.
struct PlanBlob {
  std::string name;    // in messages
  std::string sha256;  // 64 hexadecimal digits
  std::int64_t bytes = 0;
};

enum class ModuleKind { kCubin, kPtx };

struct PlanModule {
  ModuleKind kind = ModuleKind::kCubin;
  PlanBlob content;
};

// Memory that lives as long as the plan is used, one for all calls. Its content before a call is
// unknown (the executor may poison it), unless it is zeroed.
struct PlanScratch {
  std::string name;        // in messages
  LaunchExpression bytes;  // 0 is allowed: one granule is made
  std::int64_t alignment = 256;
  bool zeroed = false;  // by a fill in front of the first step, in the timed part of every call
};

// Where bytes are. index: of the signature's inputs (host scalars are none of these), statics or
// outputs; of the plan's scratch or constants.
enum class MemoryKind { kInput, kStatic, kOutput, kScratch, kConstant };
std::string_view to_string(MemoryKind kind);            // "input"
const std::array<std::string_view, 5>& memory_kinds();  // all, in this order

struct PlanMemory {
  MemoryKind kind = MemoryKind::kInput;
  std::size_t index = 0;
  std::optional<LaunchExpression> offset = {};  // in bytes; none: 0
};

// A number by value: an expression over the axes, a floating constant, or a host scalar among the
// signature's inputs.
struct HostScalar {
  std::size_t index = 0;  // of the signature's inputs
};
using ScalarValue = std::variant<LaunchExpression, double, HostScalar>;
struct PlanScalar {
  // Integers and bool: value must fit. float16, bfloat16, float32, float64: rounded to nearest.
  tensor::DType dtype = tensor::DType::kInt32;
  ScalarValue value;
};

// cuTensorMapEncodeTiled's parameters; the innermost dimension is the first. The kernel takes it as
// `const __grid_constant__ CUtensorMap`: 128 bytes by value.
struct PlanTensorMap {
  std::string type;  // "float16", ...: tensor_map_types(), their index is the driver's number
  PlanMemory memory;
  std::vector<LaunchExpression> sizes;    // elements; 1 to 5 dimensions
  std::vector<LaunchExpression> strides;  // bytes, of all dimensions but the innermost
  std::vector<std::int64_t> box;          // elements
  std::vector<std::int64_t> element_strides;
  int interleave = 0;  // 0: none, 1: 16 bytes, 2: 32 bytes
  int swizzle = 0;     // 0: none, 1: 32 bytes, 2: 64 bytes, 3: 128 bytes
  int promotion = 2;   // to L2; 0: none, 1: 64 bytes, 2: 128 bytes, 3: 256 bytes
  bool nan_fill = false;
};

struct NullPointer {};
using PlanArgument = std::variant<PlanMemory, NullPointer, PlanScalar, PlanTensorMap>;

struct PlanLaunch {
  std::size_t module = 0;                     // index of the plan's modules
  std::string function;                       // symbol
  std::vector<LaunchExpression> grid, block;  // 1 to 3 each; those left out are 1. Grid in blocks.
  std::vector<LaunchExpression> cluster;      // 0 (no clusters) to 3; grid is a multiple of it
  bool spread_clusters = false;               // scheduling policy SPREAD, as Triton asks for
  std::optional<LaunchExpression> shared_bytes;  // dynamic; none: 0
  bool cooperative = false;
  bool dependent = false;  // programmatic dependent launch: may start while the step before runs
  std::vector<PlanArgument> arguments;  // in the kernel's order
};

// Sets `bytes` bytes to a pattern of `width` bytes, little endian.
struct PlanFill {
  PlanMemory memory;
  LaunchExpression bytes;  // a multiple of width
  int width = 1;           // 1, 2 or 4
  std::uint32_t value = 0;
};

// Between buffers on the device; the ranges do not overlap.
struct PlanCopy {
  PlanMemory from, to;
  LaunchExpression bytes;
};

// All steps are timed, and run one after the other.
using PlanStep = std::variant<PlanLaunch, PlanFill, PlanCopy>;

// An autotuner of the recorded code took this for one key.
struct PlanChoice {
  std::string kernel;               // in messages, as is text; as the candidate named it
  std::int64_t configurations = 2;  // that it had to choose from, at least two
  std::int64_t chosen = 0;          // the number of one of them, from 0
  std::string text;                 // of that one: "BLOCK: 128, num_warps: 4, ..."
  bool operator==(const PlanChoice&) const = default;
};

struct LaunchPlan {
  static constexpr int kSchema = 1;
  std::string triton;               // version whose packing the arguments follow; "": not Triton's
  std::vector<PlanChoice> choices;  // of autotuners, in their order
  std::vector<PlanModule> modules;
  std::vector<PlanBlob> constants;  // device memory that the plan reads and never writes
  std::vector<PlanScratch> scratch;
  std::vector<PlanStep> steps;  // at least one
};

// Names that PlanTensorMap::type may have.
const std::array<std::string_view, 13>& tensor_map_types();

Json to_json(const LaunchPlan& plan);
// kInvalidArgument names the field, what is wrong and, where one is near, the right name. All
// indices of modules, constants and scratch are in range afterwards; those of inputs, statics and
// outputs are checked by resolve(), which knows the signature.
Result<LaunchPlan> launch_plan_from_json(const Json& value, const std::string& where = "plan");

}  // namespace kw::task
