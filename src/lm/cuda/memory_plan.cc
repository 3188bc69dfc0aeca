#include "lm/cuda/memory_plan.h"

#include <algorithm>
#include <bit>

#include "base/text.h"
#include "cuda/lt_matmul.h"
#include "lm/cuda/device_parameters.h"
#include "lm/cuda/kernels.h"
#include "lm/cuda/step_data.h"

namespace kw::lm::cuda {
namespace {

constexpr std::int64_t kMaxDecodeRows = 256;
constexpr std::int64_t kMaxSplits = 64;
constexpr std::size_t kReserve = 512ULL
                                 << 20U;  // cuBLASLt's machine code, graphs, the driver's own

std::int64_t rounded_up(std::int64_t value, std::int64_t unit) {
  return (value + unit - 1) / unit * unit;
}

void plan_attention(MemoryPlan& out, const ModelConfig& c, const EngineLimits& limits,
                    int split_tiles) {
  // A block streams 640 positions in about the time that adding parts up takes.
  out.split_tiles = split_tiles > 0 ? split_tiles : 5;
  auto splits = [&] {
    return (limits.context + kDecodeTile * out.split_tiles - 1) / (kDecodeTile * out.split_tiles);
  };
  while (splits() > kMaxSplits) out.split_tiles *= 2;
  out.most_splits = splits();
  const std::int64_t group = c.heads / c.kv_heads, tiles = (group + 7) / 8;
  const std::int64_t rows = std::min(std::max(limits.slots, out.most_decode_rows), out.rows);
  const std::int64_t pairs = rows * c.kv_heads * tiles;
  const std::int64_t results = pairs * out.most_splits * std::min<std::int64_t>(group, 8);
  out.partial_floats = static_cast<std::size_t>(results * c.head_dim);
  out.partial_statistics = static_cast<std::size_t>(results);
  out.partial_counters = static_cast<std::size_t>(pairs);
}

}  // namespace

MemoryPlan plan_memory(const ModelConfig& c, WeightType type, const EngineLimits& limits,
                       const Matmuls::Setting& matmuls, int split_tiles) {
  MemoryPlan out;
  const auto wanted = static_cast<std::uint64_t>(std::min(limits.step_tokens, kMaxDecodeRows));
  out.most_decode_rows = static_cast<std::int64_t>(std::bit_ceil(wanted));
  out.rows = rounded_up(std::max(limits.step_tokens, out.most_decode_rows), 64);
  out.sample_rows = std::min(out.rows, kMaxDecodeRows);
  out.logit_pitch = rounded_up(c.vocabulary, 8);
  out.squares = (c.hidden + kSquaredColumns - 1) / kSquaredColumns;
  out.mask_words = rounded_up(c.vocabulary, 64) / 64;
  out.kv_element = type == WeightType::kFloat32 ? 4 : 2;
  out.kv_plane = limits.context * c.head_dim * static_cast<std::int64_t>(out.kv_element);
  out.kv_slot = 2 * c.kv_heads * out.kv_plane;
  out.kv_layer = limits.slots * out.kv_slot;
  out.kv_bytes = static_cast<std::size_t>(c.layers * out.kv_layer);
  plan_attention(out, c, limits, split_tiles);
  out.part_floats = Matmuls::part_floats(c, matmuls, out.rows);
  const auto rows = static_cast<std::size_t>(out.rows),
             samples = static_cast<std::size_t>(out.sample_rows);
  const auto element = out.kv_element;  // activations have the weights' type too
  const auto hidden = static_cast<std::size_t>(c.hidden);
  out.logit_bytes = samples * static_cast<std::size_t>(out.logit_pitch) * 4;
  const auto activations = 2 * hidden + static_cast<std::size_t>(c.query_width() + c.intermediate);
  const std::size_t pieces =
      static_cast<std::size_t>((c.vocabulary + kSamplePiece - 1) / kSamplePiece);
  out.step_bytes =
      rows * ((hidden + static_cast<std::size_t>(out.squares)) * 4 + activations * element) +
      out.part_floats * 4 +
      (out.partial_floats + 2 * out.partial_statistics + out.partial_counters) * 4 +
      out.logit_bytes + samples * static_cast<std::size_t>(out.mask_words) * 8 +
      2 * samples * pieces * kPieceStatisticsBytes +
      static_cast<std::size_t>(limits.context * c.head_dim) * 4 + kw::cuda::kLtWorkspaceBytes +
      StepData::bytes_of(out.rows, out.rows) + kReserve;
  return out;
}

Status check_fits(const MemoryPlan& plan, const kw::cuda::Context::Memory& memory,
                  const EngineLimits& limits) {
  if (plan.total() <= memory.free) return {};
  std::string advice = "take a smaller model, or bfloat16 instead of float32 weights";
  const std::size_t others = plan.weight_bytes + plan.step_bytes;
  if (others < memory.free) {
    const std::size_t left = memory.free - others;
    const std::size_t slot = plan.kv_bytes / static_cast<std::size_t>(limits.slots);
    const std::size_t position = plan.kv_bytes / static_cast<std::size_t>(limits.context);
    advice = fmt::format("lower the context to {} with these slots", left / position);
    if (left >= slot)
      advice = fmt::format("lower the slots to {} with this context, or ", left / slot) + advice;
  } else if (plan.weight_bytes < memory.free) {
    advice = fmt::format("lower the step's tokens (now {}), or ", limits.step_tokens) + advice;
  }
  return fail(ErrorCode::kResourceExhausted,
              "the GPU has {} free of {}, and this takes {}: {} of weights, {} of keys and values "
              "({} slots of {} positions), {} for a step of {} tokens; {}",
              format_bytes(memory.free), format_bytes(memory.total), format_bytes(plan.total()),
              format_bytes(plan.weight_bytes), format_bytes(plan.kv_bytes), limits.slots,
              limits.context, format_bytes(plan.step_bytes), limits.step_tokens, advice);
}

}  // namespace kw::lm::cuda
