// EngineProducts: y = x W^T by the engine's own matmul kernels (lm/cuda/kernels/matmul.cu), for any
// number of rows. A row of y has the bits that the engine gives it, whatever else is computed.
#pragma once
#include <cstdint>
#include <vector>

#include <ATen/core/Tensor.h>

#include "lm/cuda/kernels.h"

namespace kw::train::cuda {

class EngineProducts {
 public:
  // variants: loaded, and they stay so.
  EngineProducts(std::vector<lm::cuda::MatmulVariant> variants, int multiprocessors)
      : variants_(std::move(variants)), multiprocessors_(multiprocessors) {}

  // Into how many parts the engine cuts k where it decodes.
  int decode_splits(const at::Tensor& w) const;
  // x [R, K] and w [N, K] bfloat16, contiguous; K a multiple of 64. The members of `in` that say
  // where results go are the caller's, all others are set here. The operators' stream is the
  // default one.
  void run(lm::cuda::MatmulOutput output, const at::Tensor& x, const at::Tensor& w, int splits,
           lm::cuda::MatmulInput in) const;
  // Undivided, as the engine's head: y [R, N] float32, whose rows may have a pitch.
  void multiply(const at::Tensor& x, const at::Tensor& w, const at::Tensor& y) const;

 private:
  std::vector<lm::cuda::MatmulVariant> variants_;
  int multiprocessors_;
};

}  // namespace kw::train::cuda
