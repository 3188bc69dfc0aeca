// Batch: whole sequences one after the other, without padding, on the device of the model.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include <ATen/core/Tensor.h>

#include "lm/engine.h"

namespace kw::train {

// T tokens of S sequences.
struct Batch {
  at::Tensor tokens, positions, targets;  // [T] i64; positions count from 0 in each sequence
  at::Tensor sequences;                   // [T] i64, the index of the token's sequence
  at::Tensor starts;                      // [S + 1] i32: first token of each sequence, then T
  std::vector<std::int64_t> bounds;       // the same on the host
  // On a GPU [B, 4] i32: attention_tiles.h. Undefined on the CPU.
  at::Tensor query_tiles, key_tiles;
  std::int64_t statistics = 0;  // AttentionTiles::statistics
  std::int64_t longest = 0;     // tokens of the longest sequence
  // [T]: how the engine computed each token, where its forward pass is repeated. Empty: as prompts.
  std::vector<lm::Phase> phases;
};

// A copy on the device, which later work there sees; host itself on the CPU.
at::Tensor on_device(const at::Tensor& host, at::Device device);

// lengths: tokens of each sequence; they add up to the number of tokens and targets (KW_CHECK).
// A token's target is what the model is asked for after it.
Batch make_batch(std::span<const std::int32_t> tokens, std::span<const std::int32_t> targets,
                 std::span<const std::int64_t> lengths, at::Device device);

}  // namespace kw::train
