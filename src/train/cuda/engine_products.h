// EngineProducts: y = x W^T as the engine multiplies (lm/cuda/matmuls.h), for any number of rows: a
// row of y has the bits that the engine gives it, whatever else is computed. The engine cuts k into
// pieces where it decodes.
//
// Our own kernels do it, or cuBLASLt where that is faster and has the same bits: each piece is a
// product then. Which of cuBLASLt's ways add in the right order is found by their results, as in
// the engine (lm/cuda/plain_matmuls.cc), when a shape first comes up; numbers of rows that differ
// by less than a quarter share it.
#pragma once
#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "cuda/context.h"
#include "cuda/lt_matmul.h"
#include "cuda/module.h"
#include "lm/cuda/kernels.h"

namespace kw::train::cuda {

// The factors of a product's rows, [R] float32, and the squares from which the engine's kernel
// makes them, [R, K / 32] float32.
struct RowFactors {
  at::Tensor factors, squares;
  float epsilon = 0;  // of the norm
};

// x [R, K] and w [N, K] are bfloat16, contiguous, K a multiple of 64. Work is put on the default
// stream. One thread at a time.
class EngineProducts {
 public:
  // The program of kernels/adding_matmul.cu is compiled. kernels: loaded, and they stay so.
  static Result<EngineProducts> make(const kw::cuda::Context& context,
                                     const lm::cuda::Kernels& kernels);

  // The number of pieces into which the engine cuts k where it decodes.
  int decode_splits(const at::Tensor& w) const;
  // [pieces, R, N] float32: each piece for itself.
  at::Tensor sums(const at::Tensor& x, const at::Tensor& w, int pieces,
                  const RowFactors& factors = {}) const;
  // y [R, N] float32: pieces are added to what it has, in order.
  void add(const at::Tensor& x, const at::Tensor& w, int pieces, const at::Tensor& y) const;
  // Undivided, as the engine's head: y [R, N] float32, whose rows lie row_pitch(N) apart.
  void multiply(const at::Tensor& x, const at::Tensor& w, const at::Tensor& y) const;

  // For people: what does which shape, and the time of both.
  std::vector<std::string> lines() const;

 private:
  // Two matrices, the pieces of k, and whether they are added to what there is.
  struct Product {
    const at::Tensor &x, &w;
    int pieces = 1;
    bool adds = false;
  };
  struct Key {
    std::int64_t rows = 0, n = 0, k = 0;
    int pieces = 1;
    bool adds = false;
    friend auto operator<=>(const Key&, const Key&) = default;
  };
  using Ways = std::vector<kw::cuda::LtAlgorithm>;  // cuBLASLt's, for each piece
  struct Choice {
    std::optional<Ways> ways;        // none: our own kernel does it
    std::vector<std::size_t> equal;  // how many of cuBLASLt's have the bits, of each piece
    double own_ms = 0, ms = 0;
  };

  EngineProducts() = default;
  const Ways* ways(const Product& product) const;
  Choice choose(const Product& product) const;
  kw::cuda::LtShape shape_of(const Product& product, int piece, const at::Tensor& y) const;
  Status run_piece(const kw::cuda::LtAlgorithm& way, const Product& product, int piece,
                   const at::Tensor& y) const;
  // y [pieces, R, N].
  void run_parts(const Product& product, const at::Tensor& y, const RowFactors& factors = {}) const;
  void run_adding(const Product& product, const at::Tensor& y) const;  // y [R, N]
  at::Tensor parts_of(const Product& product) const;

  std::vector<lm::cuda::MatmulVariant> variants_;  // of parts
  kw::cuda::Module module_;
  lm::cuda::MatmulVariant adding_{};
  int multiprocessors_ = 1;
  std::optional<kw::cuda::Lt> lt_;  // none: it cannot be loaded
  kw::cuda::Stream stream_;         // torch's
  mutable std::map<Key, Choice> choices_;
};

}  // namespace kw::train::cuda
