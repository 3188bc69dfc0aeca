// DecodedAttention: the engine's attention of rows that it decoded, to the bit, for many rows of a
// sequence at once (kernels/decoded_attention.cu). The engine's own kernel takes a row alone, and
// so would load the keys and values of its sequence for each row anew.
#pragma once
#include <cstdint>

#include <ATen/core/Tensor.h>

#include "cuda/context.h"
#include "cuda/module.h"
#include "lm/cuda/kernels.h"
#include "lm/model/model_config.h"

namespace kw::train::cuda {

// Most rows of a group, which a block takes together; as many as registers allow.
constexpr std::int64_t decoded_group_rows(std::int64_t head_dim) {
  return head_dim <= 64 ? 4 : 2;
}
// Positions of rows of one group, divided by this, are equal.
inline constexpr std::int64_t kDecodedTile = 16;

class DecodedAttention {
 public:
  // The program is compiled for the model, as `kernels` with split_tiles. The context lives longer.
  static Result<DecodedAttention> make(const kw::cuda::Context& context,
                                       const lm::ModelConfig& config,
                                       const lm::cuda::Kernels& kernels, int split_tiles);

  // Rows [0, rows) of `in`: keys and values into the cache.
  void keep_keys_values(const lm::cuda::HeadInput& in, std::int64_t rows) const;
  // Keys and values up to each row's position are kept before. groups: [N, 2] i32, the first of
  // `in`'s rows and how many; last_position: the largest of all rows'. out: [rows, H d] bfloat16.
  void attend(const lm::cuda::HeadInput& in, const at::Tensor& groups, std::int64_t last_position,
              const at::Tensor& out) const;

 private:
  lm::ModelConfig config_;
  std::int64_t part_positions_ = 0;  // most positions of a part of attention
  unsigned shared_bytes_ = 0;
  kw::cuda::Module module_;
  kw::cuda::Function keep_, attend_;
};

}  // namespace kw::train::cuda
