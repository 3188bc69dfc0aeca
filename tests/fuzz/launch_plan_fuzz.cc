// Launch plans: what is read is written again with the same bytes, and what is resolved keeps
// CUDA's limits and stays in its buffers.
#include "fuzz.h"
#include "task/resolved_plan.h"

namespace kw::fuzz {
namespace {

task::Signature fixed_plan_signature() {
  task::Signature out;
  out.inputs = {{.name = "x", .shape = {6, 512}},
                {.name = "scale",
                 .role = task::Role::kScalar,
                 .dtype = tensor::DType::kFloat32,
                 .value = 0.5}};
  out.statics = {{.name = "w", .role = task::Role::kStatic, .shape = {512}}};
  out.outputs = {{.name = "y", .role = task::Role::kOutput, .shape = {6, 512}}};
  out.axes = {{"rows", 6}, {"large", INT64_MAX}, {"low", INT64_MIN}};
  out.constants = {{"columns", 512}};
  out.output_axes = {{"rows", "columns"}};
  return out;
}

// The bytes of a buffer, or -1: a reference that resolve() should have refused.
std::int64_t bytes_of(const task::ResolvedMemory& memory, const task::LaunchPlan& plan,
                      const task::ResolvedPlan& resolved) {
  switch (memory.kind) {
    case task::MemoryKind::kInput:
    case task::MemoryKind::kOutput:
      return memory.index == 0 ? 4 * 6 * 512 : -1;
    case task::MemoryKind::kStatic:
      return memory.index == 0 ? 4 * 512 : -1;
    case task::MemoryKind::kScratch:
      return memory.index < resolved.scratch.size() ? resolved.scratch[memory.index].bytes : -1;
    case task::MemoryKind::kConstant:
      return memory.index < plan.constants.size() ? plan.constants[memory.index].bytes : -1;
  }
  return -1;
}

struct CheckStep {
  const task::LaunchPlan& plan;
  const task::ResolvedPlan& resolved;

  void inside(const task::ResolvedMemory& memory, std::int64_t bytes) const {
    const std::int64_t size = bytes_of(memory, plan, resolved);
    KW_CHECK(size >= 0 && bytes >= 0 && memory.offset >= 0 && memory.offset <= size);
    KW_CHECK(bytes <= size - memory.offset);
  }
  void written(const task::ResolvedMemory& memory, std::int64_t bytes) const {
    KW_CHECK(memory.kind == task::MemoryKind::kOutput || memory.kind == task::MemoryKind::kScratch);
    inside(memory, bytes);
  }
  void operator()(const task::ResolvedFill& fill) const {
    written(fill.memory, fill.bytes);
    KW_CHECK(fill.bytes % fill.width == 0);
  }
  void operator()(const task::ResolvedCopy& copy) const {
    inside(copy.from, copy.bytes);
    written(copy.to, copy.bytes);
  }
  void operator()(const task::ResolvedLaunch& launch) const {
    KW_CHECK(launch.module < plan.modules.size());
    for (std::size_t i = 0; i < 3; ++i) {
      KW_CHECK(launch.grid[i] >= 1 && launch.grid[i] <= (i == 0 ? 0x7FFFFFFFU : 65535U));
      KW_CHECK(launch.cluster[i] >= 1 && launch.grid[i] % launch.cluster[i] == 0);
    }
    KW_CHECK(launch.cluster_blocks() <= 16);
    const std::uint64_t threads =
        std::uint64_t{launch.block[0]} * launch.block[1] * launch.block[2];
    KW_CHECK(threads >= 1 && threads <= 1024 && launch.block[2] <= 64);
    KW_CHECK(launch.shared_bytes <= 227 * 1024);
    for (const task::ResolvedArgument& argument : launch.arguments) {
      if (const auto* memory = std::get_if<task::ResolvedMemory>(&argument)) inside(*memory, 0);
      if (const auto* scalar = std::get_if<task::ResolvedScalar>(&argument))
        KW_CHECK(scalar->bytes >= 1 && scalar->bytes <= 8);
      if (const auto* map = std::get_if<task::ResolvedTensorMap>(&argument)) {
        KW_CHECK(map->sizes.size() == map->strides.size() + 1);
        KW_CHECK(map->box.size() == map->sizes.size());
        inside(map->memory, 0);
      }
    }
  }
};

}  // namespace

KW_FUZZ(launch_plan, text) {
  static const task::Signature signature = fixed_plan_signature();
  auto read = [](const Json& value) -> Result<task::LaunchPlan> {
    KW_TRY(task::LaunchPlan plan, task::launch_plan_from_json(value));
    auto resolved = task::resolve(plan, signature);
    if (accepted(resolved))
      for (const task::ResolvedStep& step : resolved->steps)
        std::visit(CheckStep{plan, *resolved}, step);
    return plan;
  };
  round_trip(text, read, [](const task::LaunchPlan& plan) { return to_json(plan); });
}

}  // namespace kw::fuzz
