// Products of bfloat16 matrices on a CPU, beside float64 and beside the engine's kernel.
#include "train/model/matmul.h"

#include <array>
#include <vector>

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "lm/cpu/kernels.h"

namespace kw::train {
namespace {

at::Tensor random_bf16(std::int64_t rows, std::int64_t columns) {
  return at::randn({rows, columns}).to(at::kBFloat16);
}

// The largest error of a sum, in parts of the sum of sizes; x [T, K], w [N, K].
double error_of(const at::Tensor& y, const at::Tensor& x, const at::Tensor& w) {
  const at::Tensor a = x.to(at::kDouble), b = w.to(at::kDouble);
  return ((y.to(at::kDouble) - at::mm(a, b.t())).abs() / at::mm(a.abs(), b.abs().t()))
      .max()
      .item<double>();
}

class MatmulOfBFloat16 : public testing::Test {
 protected:
  void SetUp() override { at::manual_seed(1); }
};

// Bfloat16 results would be off by 2e-3.
TEST_F(MatmulOfBFloat16, SumsAreFloat32) {
  for (const auto& [rows, k, columns] :
       {std::array<std::int64_t, 3>{1, 64, 16}, {5, 100, 70}, {130, 1300, 200}}) {
    const at::Tensor x = random_bf16(rows, k), w = random_bf16(columns, k);
    const at::Tensor y = matmul_transposed(x, w);
    ASSERT_EQ(y.scalar_type(), at::kFloat);
    EXPECT_LT(error_of(y, x, w), 1e-6) << rows;
  }
}

TEST_F(MatmulOfBFloat16, NarrowResultsAreRounded) {
  for (const std::int64_t rows : {1, 130}) {
    const at::Tensor x = random_bf16(rows, 256), w = random_bf16(64, 256);
    const at::Tensor y = matmul_transposed(x, w, true);
    EXPECT_EQ(y.scalar_type(), at::kBFloat16);
    EXPECT_LT(error_of(y, x, w), 4e-3) << rows;
  }
}

TEST_F(MatmulOfBFloat16, OuterProductsAreWrittenAndAdded) {
  const at::Tensor a = random_bf16(300, 90), b = random_bf16(300, 33);
  const at::Tensor sum = at::full({90, 33}, 7, at::kFloat);
  write_outer_product(sum, a, b);
  EXPECT_LT(error_of(sum, a.t(), b.t()), 1e-6);
  add_outer_product(sum, a, b);
  EXPECT_LT(error_of(sum / 2, a.t(), b.t()), 1e-6);
}

// Columns of a wider matrix: their rows do not lie one behind the other.
TEST_F(MatmulOfBFloat16, PartsOfMatricesAreTakenAsTheyLie) {
  const at::Tensor wide = random_bf16(20, 128), x = wide.narrow(1, 32, 64);
  const at::Tensor w = random_bf16(40, 64);
  const at::Tensor out = at::zeros({20, 100}, at::kFloat), part = out.narrow(1, 30, 40);
  matmul_transposed_into(part, x, w);
  EXPECT_LT(error_of(part, x, w), 1e-6);
  EXPECT_EQ(out.narrow(1, 0, 30).abs().sum().item<float>(), 0);
  EXPECT_EQ(out.narrow(1, 70, 30).abs().sum().item<float>(), 0);
}

// Recorded and recomputed log-probabilities agree where their sums do.
TEST_F(MatmulOfBFloat16, ASamplersRowHasTheSameBits) {
  const lm::cpu::Kernels* const kernels = lm::cpu::kernels_named("avx512");
  if (kernels == nullptr) GTEST_SKIP() << "no AVX512_BF16 here";
  const at::Tensor x = random_bf16(70, 1300), w = random_bf16(150, 1300);
  const at::Tensor y = matmul_transposed(x, w);
  std::vector<float> row(150);
  const auto bits = [](const at::Tensor& of) {
    return reinterpret_cast<const std::uint16_t*>(of.const_data_ptr<at::BFloat16>());
  };
  kernels->matmul_bf16({.x = bits(x[42]),
                        .rows = 1,
                        .k = 1300,
                        .w = bits(w),
                        .last = 150,
                        .y = row.data(),
                        .y_stride = 150});
  EXPECT_TRUE(y[42].equal(at::tensor(row)));
}

}  // namespace
}  // namespace kw::train
