// EngineProducts: y = x W^T as the engine multiplies (lm/cuda/matmuls.h), for any number of rows: a
// row of y has the bits that the engine gives it, whatever else is computed.
//
// The engine's own matmul kernels do it, or cuBLASLt where that is faster and has the same bits: k
// is cut as the engine cuts it, and each piece is a product. Which of cuBLASLt's ways add in the
// right order is found by their results, as in the engine (lm/cuda/plain_matmuls.cc), when a shape
// first comes up; numbers of rows that differ by less than a quarter share it.
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include <ATen/core/Tensor.h>

#include "cuda/lt_matmul.h"
#include "lm/cuda/kernels.h"

namespace kw::train::cuda {

// x [R, K] and w [N, K] are bfloat16, contiguous, K a multiple of 64. Work is put on the default
// stream. One thread at a time.
class EngineProducts {
 public:
  // variants: loaded, and they stay so.
  EngineProducts(std::vector<lm::cuda::MatmulVariant> variants, int multiprocessors);

  // Into how many pieces the engine cuts k where it decodes.
  int decode_splits(const at::Tensor& w) const;
  // The engine's own kernel. The members of `in` that say where results go are the caller's, all
  // others are set here.
  void run_own(lm::cuda::MatmulOutput output, const at::Tensor& x, const at::Tensor& w, int splits,
               lm::cuda::MatmulInput in) const;

  // cuBLASLt's way for each piece of k. Null: the own kernels do it.
  using Ways = std::vector<kw::cuda::LtAlgorithm>;
  const Ways* ways(const at::Tensor& x, const at::Tensor& w, int splits) const;
  // y [pieces, R, N] float32, whose rows lie row_pitch(N) apart: each piece for itself.
  void run(const Ways& ways, const at::Tensor& x, const at::Tensor& w, const at::Tensor& y) const;
  // y [R, N] float32: pieces are added to what it has, in order.
  void add(const Ways& ways, const at::Tensor& x, const at::Tensor& w, const at::Tensor& y) const;

  // Undivided, as the engine's head: y [R, N] float32, whose rows lie row_pitch(N) apart.
  void multiply(const at::Tensor& x, const at::Tensor& w, const at::Tensor& y) const;

  // For people: what does which shape, and the time of both.
  std::vector<std::string> lines() const;

 private:
  using Key = std::tuple<std::int64_t, std::int64_t, std::int64_t, int>;  // rows, N, K, pieces
  struct Choice {
    std::optional<Ways> ways;
    std::vector<std::size_t> equal;  // how many of cuBLASLt's have the bits, of each piece
    double own_ms = 0, ms = 0;
  };
  kw::cuda::LtShape shape_of(const at::Tensor& x, const at::Tensor& w, int piece, int pieces,
                             const at::Tensor& y, bool adds) const;
  Status run_piece(const kw::cuda::LtAlgorithm& way, const at::Tensor& x, const at::Tensor& w,
                   int piece, int pieces, const at::Tensor& y, bool adds) const;
  void run_all_own(const at::Tensor& x, const at::Tensor& w, const at::Tensor& y) const;
  at::Tensor own_pieces(const at::Tensor& x, const at::Tensor& w, int pieces) const;
  Choice choose(const at::Tensor& x, const at::Tensor& w, int splits) const;

  std::vector<lm::cuda::MatmulVariant> variants_;
  int multiprocessors_;
  std::optional<kw::cuda::Lt> lt_;  // none: cuBLASLt cannot be loaded
  kw::cuda::Stream stream_;         // torch's
  mutable std::map<Key, Choice> choices_;
};

}  // namespace kw::train::cuda
