#include "gym/cuda/plan_runner.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <variant>

#include "cuda/tensor_map.h"

namespace kw::gym {
namespace {

constexpr unsigned char kScratchPoison = 0xFF;  // NaN in every floating type
// Poison lies on both sides of scratch and constants, so that a kernel that reads there is wrong.
constexpr std::size_t kBand = std::size_t{64} * 1024;
constexpr std::uint32_t kPortableCluster = 8;
constexpr std::uint32_t kSharedWithoutAsking = 48 * 1024;

// One argument as a kernel reads it.
struct alignas(128) Packed {
  std::array<std::byte, 128> bytes{};
};

Result<cuda::TensorMap> encode(const task::ResolvedTensorMap& map, cuda::DevicePointer address) {
  cuda::TensorMap out;
  KW_TRY_STATUS(cuda::driver_status(
      cuda::driver().tensor_map_encode(&out, map.type, static_cast<unsigned>(map.sizes.size()),
                                       address, map.sizes.data(), map.strides.data(),
                                       map.box.data(), map.element_strides.data(), map.interleave,
                                       map.swizzle, map.promotion, map.nan_fill ? 1 : 0),
      "a tensor map"));
  return out;
}

cuda::LaunchAttribute attribute(unsigned id) {
  cuda::LaunchAttribute out;
  out.id = id;
  return out;
}

std::vector<cuda::LaunchAttribute> attributes_of(const task::ResolvedLaunch& launch) {
  std::vector<cuda::LaunchAttribute> out;
  if (launch.cooperative) {
    out.push_back(attribute(cuda::kCooperative));
    out.back().cooperative = 1;
  }
  if (launch.cluster_blocks() > 1) {
    out.push_back(attribute(cuda::kClusterDimension));
    std::ranges::copy(launch.cluster, out.back().cluster);
  }
  if (launch.spread_clusters) {
    out.push_back(attribute(cuda::kClusterScheduling));
    out.back().scheduling = cuda::kSpreadClusters;
  }
  if (launch.dependent) {
    out.push_back(attribute(cuda::kProgrammaticStreamSerialization));
    out.back().programmatic_allowed = 1;
  }
  return out;
}

// Makes memory of so many bytes between two bands.
Result<cuda::DeviceBuffer> poisoned(std::size_t bytes, const cuda::Stream& stream) {
  KW_TRY(cuda::DeviceBuffer buffer, cuda::DeviceBuffer::make(bytes + 2 * kBand));
  KW_TRY_STATUS(stream.fill(buffer.address(), kScratchPoison, buffer.bytes()));
  return buffer;
}

}  // namespace

Result<PlanRunner> PlanRunner::make(const PlanContents& contents, task::ResolvedPlan plan,
                                    const cuda::Stream& stream) {
  PlanRunner out;
  out.plan_ = std::move(plan);
  KW_TRY_STATUS(out.load(contents));
  KW_TRY_STATUS(out.allocate(contents, stream));
  return out;
}

Status PlanRunner::load(const PlanContents& contents) {
  for (std::size_t i = 0; i < contents.modules.size(); ++i) {
    auto module = cuda::Module::load(contents.modules[i]);
    if (!module)
      return tl::unexpected(
          std::move(module).error().with_context(contents.plan.modules[i].content.name));
    modules_.push_back(std::move(*module));
  }
  for (const task::ResolvedStep& step : plan_.steps) {
    cuda::Function function;
    if (const auto* launch = std::get_if<task::ResolvedLaunch>(&step)) {
      KW_TRY(function, modules_.at(launch->module).function(launch->function));
      if (launch->shared_bytes > kSharedWithoutAsking)
        KW_TRY_STATUS(function.allow_shared_bytes(launch->shared_bytes));
      if (launch->cluster_blocks() > kPortableCluster)
        KW_TRY_STATUS(cuda::driver_status(cuda::driver().function_set_attribute(
                                              function.get(), cuda::kFunctionNonPortableCluster, 1),
                                          "a cluster of more than 8 blocks"));
    }
    functions_.push_back(function);
  }
  return {};
}

Status PlanRunner::allocate(const PlanContents& contents, const cuda::Stream& stream) {
  for (const task::ResolvedScratch& scratch : plan_.scratch) {
    KW_TRY(cuda::DeviceBuffer buffer,
           poisoned(static_cast<std::size_t>(std::max<std::int64_t>(scratch.bytes, 1)), stream));
    scratch_.push_back(std::move(buffer));
  }
  for (const std::string& constant : contents.constants) {
    KW_TRY(cuda::DeviceBuffer buffer, poisoned(std::max<std::size_t>(constant.size(), 1), stream));
    KW_TRY_STATUS(stream.copy(buffer.address() + kBand, constant.data(), constant.size()));
    constants_.push_back(std::move(buffer));
  }
  return stream.synchronize();
}

Status PlanRunner::wipe(const cuda::Stream& stream) const {
  for (const auto* buffers : {&scratch_, &constants_})
    for (const cuda::DeviceBuffer& buffer : *buffers)
      KW_TRY_STATUS(stream.fill(buffer.address(), kScratchPoison, buffer.bytes()));
  return stream.synchronize();
}

cuda::DevicePointer PlanRunner::address(const task::ResolvedMemory& memory,
                                        const CallAddresses& call) const {
  const auto offset = static_cast<std::uint64_t>(memory.offset);
  switch (memory.kind) {
    case task::MemoryKind::kInput:
      return call.inputs.at(memory.index) + offset;
    case task::MemoryKind::kStatic:
      return call.statics.at(memory.index) + offset;
    case task::MemoryKind::kOutput:
      return call.outputs.at(memory.index) + offset;
    case task::MemoryKind::kScratch:
      return scratch_.at(memory.index).address() + kBand + offset;
    case task::MemoryKind::kConstant:
      break;
  }
  return constants_.at(memory.index).address() + kBand + offset;
}

Status PlanRunner::launch(const task::ResolvedLaunch& launch, const cuda::Function& function,
                          const CallAddresses& call, const cuda::Stream& stream) const {
  std::vector<Packed> packed(launch.arguments.size());
  std::vector<void*> pointers;
  for (std::size_t i = 0; i < packed.size(); ++i) {
    std::byte* to = packed[i].bytes.data();
    pointers.push_back(to);
    if (const auto* memory = std::get_if<task::ResolvedMemory>(&launch.arguments[i])) {
      const cuda::DevicePointer pointer = address(*memory, call);
      std::memcpy(to, &pointer, sizeof pointer);
    } else if (const auto* scalar = std::get_if<task::ResolvedScalar>(&launch.arguments[i])) {
      std::memcpy(to, scalar->value.data(), scalar->bytes);
    } else if (const auto* map = std::get_if<task::ResolvedTensorMap>(&launch.arguments[i])) {
      KW_TRY(cuda::TensorMap encoded, encode(*map, address(map->memory, call)));
      std::memcpy(to, &encoded, sizeof encoded);
    }
  }
  std::vector<cuda::LaunchAttribute> attributes = attributes_of(launch);
  const cuda::LaunchConfig config{launch.grid[0],      launch.grid[1],
                                  launch.grid[2],      launch.block[0],
                                  launch.block[1],     launch.block[2],
                                  launch.shared_bytes, stream.get(),
                                  attributes.data(),   static_cast<unsigned>(attributes.size())};
  const int result = cuda::driver().launch(&config, function.get(), pointers.data(), nullptr);
  Status launched = cuda::driver_status(result, "cannot launch kernel " + launch.function);
  if (launched || result == cuda::kOutOfMemory || cuda::is_kernel_fault(result)) return launched;
  return fail(ErrorCode::kInvalidArgument, "{}", launched.error().message());
}

Status PlanRunner::fill(const task::ResolvedFill& fill, const CallAddresses& call,
                        const cuda::Stream& stream) const {
  const auto bytes = static_cast<std::size_t>(fill.bytes);
  if (bytes == 0) return {};
  const cuda::DevicePointer to = address(fill.memory, call);
  const cuda::DriverApi& api = cuda::driver();
  int result = 0;
  if (fill.width == 4)
    result = api.fill_32_bits(to, fill.value, bytes / 4, stream.get());
  else if (fill.width == 2)
    result = api.fill_16_bits(to, static_cast<unsigned short>(fill.value), bytes / 2, stream.get());
  else
    result = api.fill_bytes(to, static_cast<unsigned char>(fill.value), bytes, stream.get());
  return cuda::driver_status(result, "cannot fill memory of the GPU");
}

Status PlanRunner::enqueue(const CallAddresses& call, const cuda::Stream& stream) const {
  for (std::size_t i = 0; i < plan_.steps.size(); ++i) KW_TRY_STATUS(enqueue_step(i, call, stream));
  return {};
}

Status PlanRunner::enqueue_step(std::size_t step, const CallAddresses& call,
                                const cuda::Stream& stream) const {
  if (const auto* one = std::get_if<task::ResolvedLaunch>(&plan_.steps[step]))
    return launch(*one, functions_[step], call, stream);
  if (const auto* pattern = std::get_if<task::ResolvedFill>(&plan_.steps[step]))
    return fill(*pattern, call, stream);
  const auto& copy = std::get<task::ResolvedCopy>(plan_.steps[step]);
  if (copy.bytes == 0) return {};
  return stream.copy(address(copy.to, call), address(copy.from, call),
                     static_cast<std::size_t>(copy.bytes));
}

std::uint64_t PlanRunner::bytes() const {
  std::uint64_t sum = 0;
  for (const auto* buffers : {&scratch_, &constants_})
    for (const cuda::DeviceBuffer& buffer : *buffers) sum += buffer.bytes() - 2 * kBand;
  return sum;
}

}  // namespace kw::gym
