// Evaluates a plan's expressions and holds the results against CUDA's limits.
#include "task/resolved_plan.h"

#include <algorithm>
#include <cstring>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "task/plan_scalar.h"

namespace kw::task {
namespace {

constexpr std::int64_t kMaxGridX = 0x7FFFFFFF, kMaxGridYz = 65535;
constexpr std::int64_t kMaxBlockThreads = 1024, kMaxBlockZ = 64;
constexpr std::int64_t kMaxParameterBytes = 32764;
constexpr std::int64_t kTensorMapBytes = 128;
constexpr std::array<char, 3> kDimensions = {'x', 'y', 'z'};

class Resolver {
 public:
  Resolver(const LaunchPlan& plan, const Signature& signature, const DeviceLimits& limits)
      : plan_(plan), signature_(signature), limits_(limits), axes_(axis_values(signature)) {}

  Result<ResolvedPlan> run() {
    KW_TRY_STATUS(add_scratch());
    for (std::size_t i = 0; i < plan_.steps.size(); ++i) {
      const std::string where = fmt::format("plan.steps[{}]", i);
      auto step =
          std::visit([&](const auto& one) -> Result<ResolvedStep> { return resolve(one, where); },
                     plan_.steps[i]);
      if (!step) return tl::unexpected(std::move(step).error());
      out_.steps.push_back(std::move(*step));
    }
    return std::move(out_);
  }

 private:
  Result<std::int64_t> number(const LaunchExpression& expression, const std::string& where) const {
    auto value = expression.evaluate(axes_);
    if (!value) return tl::unexpected(std::move(value).error().with_context(where));
    return value;
  }

  Result<std::int64_t> number_in(const LaunchExpression& expression, const std::string& where,
                                 std::int64_t least, std::int64_t most) const {
    KW_TRY(std::int64_t value, number(expression, where));
    if (value >= least && value <= most) return value;
    return fail(ErrorCode::kInvalidArgument, "{}: \"{}\" is {}, but {} to {} are allowed", where,
                expression.print(), value, least, most);
  }

  Status add_scratch() {
    std::int64_t total = 0;
    for (std::size_t i = 0; i < plan_.scratch.size(); ++i) {
      const PlanScratch& one = plan_.scratch[i];
      const std::string where = fmt::format("plan.scratch[{}].bytes", i);
      KW_TRY(std::int64_t bytes, number_in(one.bytes, where, 0, limits_.memory_bytes));
      total += bytes;
      if (total > limits_.memory_bytes)
        return fail(ErrorCode::kInvalidArgument, "{}: all scratch together is over {} bytes", where,
                    limits_.memory_bytes);
      out_.scratch.push_back({bytes, one.alignment});
      if (one.zeroed && bytes > 0)
        out_.steps.emplace_back(ResolvedFill{{MemoryKind::kScratch, i, 0}, bytes, 1, 0});
    }
    return {};
  }

  // The size of what a reference names; an index out of range is an error.
  Result<std::int64_t> size_of_memory(const PlanMemory& memory, const std::string& where) const {
    auto missing = [&](std::size_t count) {
      return fail(ErrorCode::kInvalidArgument, "{}: there is no {} {}; {}", where,
                  to_string(memory.kind), memory.index,
                  count == 0 ? "there are none" : fmt::format("the last is {}", count - 1));
    };
    auto tensor = [&](const std::vector<Argument>& list) -> Result<std::int64_t> {
      if (memory.index >= list.size()) return missing(list.size());
      const Argument& argument = list[memory.index];
      if (argument.role == Role::kScalar)
        return fail(ErrorCode::kInvalidArgument,
                    "{}: input {} (\"{}\") is a host scalar and has no memory; pass it by value",
                    where, memory.index, printable(argument.name, 80));
      return static_cast<std::int64_t>(argument.bytes());
    };
    switch (memory.kind) {
      case MemoryKind::kInput:
        return tensor(signature_.inputs);
      case MemoryKind::kStatic:
        return tensor(signature_.statics);
      case MemoryKind::kOutput:
        return tensor(signature_.outputs);
      case MemoryKind::kScratch:
        if (memory.index >= out_.scratch.size()) return missing(out_.scratch.size());
        return out_.scratch[memory.index].bytes;
      case MemoryKind::kConstant:
        if (memory.index >= plan_.constants.size()) return missing(plan_.constants.size());
        return plan_.constants[memory.index].bytes;
    }
    return missing(0);
  }

  // At least `bytes` bytes must lie behind the offset.
  Result<ResolvedMemory> memory(const PlanMemory& memory, std::int64_t bytes,
                                const std::string& where) const {
    KW_TRY(std::int64_t size, size_of_memory(memory, where));
    ResolvedMemory out{memory.kind, memory.index, 0};
    if (memory.offset) {
      KW_TRY(out.offset, number_in(*memory.offset, where + ".offset", 0, size));
    }
    if (bytes > size - out.offset)
      return fail(ErrorCode::kInvalidArgument,
                  "{}: {} bytes at offset {} do not fit {} {} of {} bytes", where, bytes,
                  out.offset, to_string(memory.kind), memory.index, size);
    return out;
  }

  Result<ResolvedMemory> target(const PlanMemory& to, std::int64_t bytes,
                                const std::string& where) const {
    if (to.kind != MemoryKind::kOutput && to.kind != MemoryKind::kScratch)
      return fail(ErrorCode::kInvalidArgument, "{}: {} is never written; only output or scratch",
                  where, to_string(to.kind));
    return memory(to, bytes, where);
  }

  Result<ResolvedArgument> argument(const PlanArgument& one, const std::string& where) const {
    if (const auto* pointer = std::get_if<PlanMemory>(&one)) {
      KW_TRY(ResolvedMemory out, memory(*pointer, 0, where));
      return ResolvedArgument(out);
    }
    if (const auto* scalar = std::get_if<PlanScalar>(&one)) {
      auto out = scalar_bytes(*scalar, signature_, axes_);
      if (!out) return tl::unexpected(std::move(out).error().with_context(where));
      return ResolvedArgument(*out);
    }
    if (const auto* map = std::get_if<PlanTensorMap>(&one)) {
      KW_TRY(ResolvedTensorMap out, tensor_map(*map, where + ".tensor_map"));
      return ResolvedArgument(std::move(out));
    }
    return ResolvedArgument(NullPointer{});
  }

  // The limits of cuTensorMapEncodeTiled.
  Result<ResolvedTensorMap> tensor_map(const PlanTensorMap& map, const std::string& where) const {
    const auto& types = tensor_map_types();
    const auto type = std::find(types.begin(), types.end(), map.type);
    if (type == types.end())
      return fail(ErrorCode::kInvalidArgument, "{}.type: \"{}\" is no type of a tensor map", where,
                  printable(map.type, 60));
    ResolvedTensorMap out;
    out.type = static_cast<int>(type - types.begin());
    const std::int64_t element = element_bytes(map.type);
    for (std::size_t i = 0; i < map.sizes.size(); ++i) {
      KW_TRY(std::int64_t size, number_in(map.sizes[i], fmt::format("{}.sizes[{}]", where, i), 1,
                                          std::int64_t{1} << 32));
      out.sizes.push_back(static_cast<std::uint64_t>(size));
    }
    __int128 extent = static_cast<__int128>(out.sizes[0]) * element;
    for (std::size_t i = 0; i < map.strides.size(); ++i) {
      const std::string place = fmt::format("{}.strides[{}]", where, i);
      KW_TRY(std::int64_t stride, number_in(map.strides[i], place, 0, (std::int64_t{1} << 40) - 1));
      if (stride % 16 != 0)
        return fail(ErrorCode::kInvalidArgument, "{}: {} is no multiple of 16", place, stride);
      out.strides.push_back(static_cast<std::uint64_t>(stride));
      extent += static_cast<__int128>(out.sizes[i + 1] - 1) * stride;
    }
    if (extent > std::int64_t{1} << 62)
      return fail(ErrorCode::kInvalidArgument, "{}: reaches over 2^62 bytes", where);
    KW_TRY(out.memory, memory(map.memory, static_cast<std::int64_t>(extent), where));
    if (out.memory.offset % 16 != 0)
      return fail(ErrorCode::kInvalidArgument, "{}.offset: {} is no multiple of 16", where,
                  out.memory.offset);
    if (map.box[0] * element % 16 != 0)
      return fail(ErrorCode::kInvalidArgument,
                  "{}.box[0]: {} elements are {} bytes, which is no multiple of 16", where,
                  map.box[0], map.box[0] * element);
    const std::int64_t swizzled = std::int64_t{16} << map.swizzle;
    if (map.swizzle != 0 && map.box[0] * element > swizzled)
      return fail(ErrorCode::kInvalidArgument,
                  "{}.box[0]: {} bytes are more than a swizzle of {} takes", where,
                  map.box[0] * element, swizzled);
    for (std::size_t i = 0; i < map.box.size(); ++i) {
      out.box.push_back(static_cast<std::uint32_t>(map.box[i]));
      out.element_strides.push_back(static_cast<std::uint32_t>(map.element_strides[i]));
    }
    out.interleave = map.interleave;
    out.swizzle = map.swizzle;
    out.promotion = map.promotion;
    out.nan_fill = map.nan_fill;
    return out;
  }

  static std::int64_t element_bytes(std::string_view type) {
    if (type == "uint8") return 1;
    if (type == "uint16" || type == "float16" || type == "bfloat16") return 2;
    return type == "uint64" || type == "int64" || type == "float64" ? 8 : 4;
  }

  Result<std::array<std::uint32_t, 3>> extents(const std::vector<LaunchExpression>& list,
                                               const std::string& where,
                                               const std::array<std::int64_t, 3>& most) const {
    std::array<std::uint32_t, 3> out{1, 1, 1};
    for (std::size_t i = 0; i < list.size() && i < out.size(); ++i) {
      KW_TRY(std::int64_t value, number_in(list[i], fmt::format("{}[{}]", where, i), 1, most[i]));
      out[i] = static_cast<std::uint32_t>(value);
    }
    return out;
  }

  Status check_cluster(const ResolvedLaunch& launch, const std::string& where) const {
    const std::int64_t blocks =
        std::int64_t{launch.cluster[0]} * launch.cluster[1] * launch.cluster[2];
    if (blocks > limits_.cluster_blocks)
      return fail(ErrorCode::kInvalidArgument, "{}.cluster: {} blocks, but {} are allowed", where,
                  blocks, limits_.cluster_blocks);
    for (std::size_t i = 0; i < 3; ++i)
      if (launch.grid[i] % launch.cluster[i] != 0)
        return fail(ErrorCode::kInvalidArgument,
                    "{}.grid: {} blocks along {} are no multiple of the cluster's {}", where,
                    launch.grid[i], kDimensions[i], launch.cluster[i]);
    return {};
  }

  Status check_parameters(const ResolvedLaunch& launch, const std::string& where) const {
    std::int64_t at = 0;
    for (const ResolvedArgument& argument : launch.arguments) {
      std::int64_t bytes = 8, alignment = 8;
      if (const auto* scalar = std::get_if<ResolvedScalar>(&argument)) {
        bytes = alignment = static_cast<std::int64_t>(scalar->bytes);
      } else if (std::holds_alternative<ResolvedTensorMap>(argument)) {
        bytes = kTensorMapBytes;
        alignment = 64;
      }
      at = (at + alignment - 1) / alignment * alignment + bytes;
    }
    if (at > kMaxParameterBytes)
      return fail(ErrorCode::kInvalidArgument, "{}.arguments: {} bytes, but {} are allowed", where,
                  at, kMaxParameterBytes);
    return {};
  }

  Result<ResolvedStep> resolve(const PlanLaunch& launch, const std::string& step) const {
    const std::string where = step + ".launch";
    if (launch.module >= plan_.modules.size())
      return fail(ErrorCode::kInvalidArgument, "{}.module: there is no module {}", where,
                  launch.module);
    ResolvedLaunch out;
    out.module = launch.module;
    out.function = launch.function;
    KW_TRY(out.grid, extents(launch.grid, where + ".grid", {kMaxGridX, kMaxGridYz, kMaxGridYz}));
    KW_TRY(out.block, extents(launch.block, where + ".block",
                              {kMaxBlockThreads, kMaxBlockThreads, kMaxBlockZ}));
    const std::int64_t threads = std::int64_t{out.block[0]} * out.block[1] * out.block[2];
    if (threads > kMaxBlockThreads)
      return fail(ErrorCode::kInvalidArgument, "{}.block: {} threads, but {} are allowed", where,
                  threads, kMaxBlockThreads);
    const std::int64_t most = limits_.cluster_blocks;
    KW_TRY(out.cluster, extents(launch.cluster, where + ".cluster", {most, most, most}));
    KW_TRY_STATUS(check_cluster(out, where));
    if (launch.shared_bytes) {
      KW_TRY(std::int64_t shared,
             number_in(*launch.shared_bytes, where + ".shared_bytes", 0, limits_.shared_bytes));
      out.shared_bytes = static_cast<std::uint32_t>(shared);
    }
    out.spread_clusters = launch.spread_clusters;
    out.cooperative = launch.cooperative;
    out.dependent = launch.dependent;
    for (std::size_t i = 0; i < launch.arguments.size(); ++i) {
      KW_TRY(ResolvedArgument one,
             argument(launch.arguments[i], fmt::format("{}.arguments[{}]", where, i)));
      out.arguments.push_back(std::move(one));
    }
    KW_TRY_STATUS(check_parameters(out, where));
    return ResolvedStep(std::move(out));
  }

  Result<ResolvedStep> resolve(const PlanFill& fill, const std::string& step) const {
    const std::string where = step + ".fill";
    KW_TRY(std::int64_t bytes, number_in(fill.bytes, where + ".bytes", 0, kMaxTensorBytes));
    ResolvedFill out{{}, bytes, fill.width, fill.value};
    KW_TRY(out.memory, target(fill.memory, bytes, where));
    if (bytes % fill.width != 0 || out.memory.offset % fill.width != 0)
      return fail(ErrorCode::kInvalidArgument, "{}: {} bytes at offset {} are no whole {}", where,
                  bytes, out.memory.offset, fill.width == 2 ? "pairs" : "fours");
    return ResolvedStep(out);
  }

  Result<ResolvedStep> resolve(const PlanCopy& copy, const std::string& step) const {
    const std::string where = step + ".copy";
    KW_TRY(std::int64_t bytes, number_in(copy.bytes, where + ".bytes", 0, kMaxTensorBytes));
    ResolvedCopy out;
    out.bytes = bytes;
    KW_TRY(out.from, memory(copy.from, bytes, where + ".from"));
    KW_TRY(out.to, target(copy.to, bytes, where + ".to"));
    const bool same = out.from.kind == out.to.kind && out.from.index == out.to.index;
    if (same && out.from.offset < out.to.offset + bytes && out.to.offset < out.from.offset + bytes)
      return fail(ErrorCode::kInvalidArgument, "{}: the two ranges overlap", where);
    return ResolvedStep(out);
  }

  const LaunchPlan& plan_;
  const Signature& signature_;
  const DeviceLimits& limits_;
  AxisValues axes_;
  ResolvedPlan out_;
};

bool is_whole(const Json& value) {
  return value.is_number_integer() &&
         (!value.is_number_unsigned() || value.get<std::uint64_t>() <= INT64_MAX);
}

}  // namespace

AxisValues axis_values(const Signature& signature) {
  AxisValues out = signature.axes;
  for (const auto& [name, value] : signature.constants)
    if (is_whole(value)) out.emplace_back(name, value.get<std::int64_t>());
  if (!signature.of_module()) return out;
  for (const auto* list : {&signature.inputs, &signature.statics, &signature.outputs})
    for (const Argument& argument : *list)
      for (std::size_t i = 0; i < argument.shape.size(); ++i)
        out.emplace_back(fmt::format("{}_{}", argument.name, i), argument.shape[i]);
  return out;
}

Result<ResolvedPlan> resolve(const LaunchPlan& plan, const Signature& signature,
                             const DeviceLimits& limits) {
  return Resolver(plan, signature, limits).run();
}

}  // namespace kw::task
