#include "train/cuda/decoded_attention.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <ATen/ATen.h>

#include "cuda/program.h"
#include "lm/cuda/kernel_sources.h"
#include "lm/cuda/operands.h"
#include "os/file.h"
#include "train/cuda/kernel_sources.h"
#include "train/cuda/launch.h"

namespace kw::train::cuda {

namespace engine = lm::cuda;

namespace {

// The input of kernels/decoded_attention.cu.
struct DecodedInput {
  engine::HeadInput heads;
  DevicePointer groups, partial, statistics, arrived, out;
};

// Room for the parts' results of a launch, in numbers.
constexpr std::int64_t kPartialNumbers = std::int64_t{64} << 20;
constexpr std::int64_t kMostGroups = 65535;  // of a launch
constexpr unsigned kThreads = 128;

void check_operands(const DecodedInput& in) {
  constexpr std::string_view kKernel = "kw_decoded_attention";
  checked(engine::check_operands(kKernel, in.heads));
  checked(engine::check_operands(kKernel, {{"groups", in.groups, 8},
                                           {"partial", in.partial, 16},
                                           {"statistics", in.statistics, 8},
                                           {"arrived", in.arrived, 4},
                                           {"out", in.out, 8}}));
}

}  // namespace

Result<DecodedAttention> DecodedAttention::make(const kw::cuda::Context& context,
                                                const lm::ModelConfig& config,
                                                const engine::Kernels& kernels, int split_tiles) {
  namespace source = engine::source;
  std::string text;
  for (const std::string_view one : {source::prelude, source::rounding, source::heads,
                                     source::attention_decode, cuda::source::decoded_attention})
    text.append(one);
  std::vector<std::string> definitions =
      engine::shape_definitions(config, lm::WeightType::kBFloat16, split_tiles);
  definitions.push_back(fmt::format("KW_GROUP_ROWS={}", decoded_group_rows(config.head_dim)));
  definitions.push_back(fmt::format("KW_GROUP_POSITIONS={}", kDecodedTile));
  const kw::cuda::Compiler compiler(context.architecture(), os::cache_home() / "cubin");
  KW_TRY(const std::string cubin,
         compiler.compile({"attention of decoded rows", std::move(text), std::move(definitions)}));
  DecodedAttention out;
  out.config_ = config;
  out.part_positions_ = split_tiles * engine::kDecodeTile;
  out.shared_bytes_ = kernels.decode_shared_bytes;
  KW_TRY(out.module_, kw::cuda::Module::load(cubin));
  KW_TRY(out.keep_, out.module_.function("kw_keep_keys_values"));
  KW_TRY(out.attend_, out.module_.function("kw_decoded_attention"));
  KW_TRY_STATUS(out.attend_.allow_shared_bytes(out.shared_bytes_));
  return out;
}

void DecodedAttention::keep_keys_values(const engine::HeadInput& in, std::int64_t rows) const {
  checked(engine::check_operands("kw_keep_keys_values", in));
  launch(keep_, rows, kThreads, in);
}

void DecodedAttention::attend(const engine::HeadInput& in, const at::Tensor& groups,
                              std::int64_t last_position, const at::Tensor& out) const {
  const std::int64_t heads = config_.heads / config_.kv_heads;  // that share a key
  const std::int64_t blocks = config_.kv_heads * ((heads + 7) / 8);
  const std::int64_t parts = last_position / part_positions_ + 1;
  const std::int64_t pairs = decoded_group_rows(config_.head_dim) * blocks;  // of a group
  const std::int64_t results = pairs * parts * std::min<std::int64_t>(heads, 8);
  const std::int64_t count = groups.size(0);
  const std::int64_t most = std::min(
      count,
      std::clamp<std::int64_t>(kPartialNumbers / (results * config_.head_dim), 1, kMostGroups));
  const auto options = groups.options();
  const at::Tensor partial =
      at::empty({most * results * config_.head_dim}, options.dtype(at::kFloat));
  const at::Tensor statistics = at::empty({most * results * 2}, options.dtype(at::kFloat));
  const at::Tensor arrived = at::zeros({most * pairs}, options);
  for (std::int64_t first = 0; first < count; first += most) {
    const DecodedInput input{in,
                             address(groups) + static_cast<DevicePointer>(first * 8),
                             address(partial),
                             address(statistics),
                             address(arrived),
                             address(out)};
    check_operands(input);
    LaunchShape shape;
    shape.grid[0] = static_cast<unsigned>(parts);
    shape.grid[1] = static_cast<unsigned>(blocks);
    shape.grid[2] = static_cast<unsigned>(std::min(most, count - first));
    shape.threads = kThreads;
    shape.shared_bytes = shared_bytes_;
    launch(attend_, shape, input);
  }
}

}  // namespace kw::train::cuda
