#include "train/cuda/attention.h"

#include <cmath>

#include <ATen/ATen.h>

#include "cuda/tensor_map.h"
#include "train/cuda/launch.h"

namespace kw::train::cuda {
namespace {

constexpr int kBoxRows = 64;
// A launch has at least so many blocks for each multiprocessor, where heads allow: blocks differ in
// their work.
constexpr std::int64_t kBlocksForBalance = 4;

// x [T, N, d] as a matrix [T, N d].
kw::cuda::TensorMap map_of(const at::Tensor& x) {
  return checked(kw::cuda::map_of_boxes(address(x), x.size(0), x.size(1) * x.size(2), kBoxRows));
}

AttentionInput input_of(const at::Tensor& heads, const HeadsShape& shape, const Batch& batch) {
  TORCH_CHECK(heads.scalar_type() == at::kBFloat16 && shape.heads % shape.kv_heads == 0);
  AttentionInput in{};
  in.heads = map_of(heads);
  in.tokens = heads.size(0);
  in.padded = batch.statistics;
  in.scale = 1 / std::sqrt(static_cast<float>(shape.head_dim));
  in.exponent_scale = in.scale * static_cast<float>(M_LOG2E);
  in.heads_q = static_cast<std::int32_t>(shape.heads);
  in.heads_kv = static_cast<std::int32_t>(shape.kv_heads);
  in.parts = 1;
  return in;
}

void run(const AttentionPass& pass, std::int64_t heads, const at::Tensor& tiles,
         AttentionInput in) {
  in.tiles = address(tiles);
  LaunchShape shape;
  shape.grid[0] = static_cast<unsigned>(heads);
  shape.grid[1] = static_cast<unsigned>(tiles.size(0));
  shape.threads = kAttentionThreads;
  shape.shared_bytes = pass.shared_bytes;
  launch(pass.function, shape, in);
}

// Into how many parts the query heads of a key head are cut.
std::int64_t parts_of(const HeadsShape& shape, const at::Tensor& tiles) {
  const std::int64_t blocks = tiles.size(0) * shape.kv_heads;
  const std::int64_t wanted = kBlocksForBalance * kernels().multiprocessors();
  return std::clamp<std::int64_t>((wanted + blocks - 1) / blocks, 1, shape.heads / shape.kv_heads);
}

}  // namespace

bool has_attention(std::int64_t head_dim) {
  return kernels().attention(head_dim).has_value();
}

Attended attention_forward(const at::Tensor& heads, const HeadsShape& shape, const Batch& batch) {
  const AttentionKernels passes = checked(kernels().attention(shape.head_dim));
  Attended out{at::empty({heads.size(0), shape.heads, shape.head_dim}, heads.options()),
               at::empty({shape.heads, batch.statistics}, heads.options().dtype(at::kFloat))};
  AttentionInput in = input_of(heads, shape, batch);
  in.out = address(out.out);
  in.statistics = address(out.statistics);
  run(passes.forward, shape.heads, batch.query_tiles, in);
  return out;
}

HeadSlopesByPart attention_backward(const at::Tensor& heads, const Attended& attended,
                                    const at::Tensor& by_out, const HeadsShape& shape,
                                    const Batch& batch) {
  const AttentionKernels passes = checked(kernels().attention(shape.head_dim));
  const std::int64_t tokens = heads.size(0);
  const at::Tensor deltas = at::empty_like(attended.statistics);
  AttentionInput in = input_of(heads, shape, batch);
  in.attended = map_of(attended.out);
  in.by_out = map_of(by_out);
  in.statistics = address(attended.statistics);
  in.deltas = address(deltas);

  HeadSlopesByPart out;
  out.q = at::empty({tokens, shape.heads, shape.head_dim}, heads.options());
  in.out = address(out.q);
  run(passes.by_q, shape.heads, batch.query_tiles, in);

  const std::int64_t parts = parts_of(shape, batch.key_tiles);
  const at::Tensor both =
      at::empty({2, parts, tokens, shape.kv_heads, shape.head_dim}, heads.options());
  in.parts = static_cast<std::int32_t>(parts);
  in.by_k = address(both[0]);
  in.by_v = address(both[1]);
  run(passes.by_k_v, shape.kv_heads * parts, batch.key_tiles, in);
  out.k = both[0];
  out.v = both[1];
  return out;
}

}  // namespace kw::train::cuda
