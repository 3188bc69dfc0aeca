// MemoryPlan: how much of the GPU's memory an engine takes, known before any of it is taken.
#pragma once
#include <cstddef>
#include <cstdint>

#include "cuda/context.h"
#include "lm/cuda/matmuls.h"
#include "lm/engine.h"
#include "lm/model/model_config.h"

namespace kw::lm::cuda {

struct MemoryPlan {
  // Decoding steps are filled up to a power of two of rows, this at most.
  std::int64_t most_decode_rows = 1;
  std::int64_t rows = 64;         // room for a step's rows, a multiple of 64
  std::int64_t sample_rows = 64;  // whose logits are there at once
  std::int64_t logit_pitch = 0, mask_words = 0;
  std::int64_t squares = 0;                       // sums of squares of a row
  std::int64_t split_tiles = 1, most_splits = 1;  // of attention when decoding
  std::size_t kv_element = 2;
  std::int64_t kv_plane = 0, kv_slot = 0, kv_layer = 0;  // bytes: keys of a head, a slot, a layer
  std::size_t weight_bytes = 0;  // that the engine takes: 0 where it shares a trainer's
  std::size_t kv_bytes = 0;
  // Buffers of one step.
  std::size_t part_floats = 0, partial_floats = 0, partial_statistics = 0, partial_counters = 0;
  std::size_t logit_bytes = 0, step_bytes = 0;

  std::size_t total() const { return weight_bytes + kv_bytes + step_bytes; }
};

// weight_bytes is left to the caller.
MemoryPlan plan_memory(const ModelConfig& config, WeightType type, const EngineLimits& limits,
                       const Matmuls::Setting& matmuls, int split_tiles);

// kResourceExhausted, with what fits: fewer slots, a shorter context, or other weights.
Status check_fits(const MemoryPlan& plan, const kw::cuda::Context::Memory& memory,
                  const EngineLimits& limits);

}  // namespace kw::lm::cuda
