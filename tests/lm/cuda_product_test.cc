// Every variant of our own product against float64, with numbers of rows, columns and splits that
// leave remainders; and against itself with other rows beside.
#include <cmath>
#include <cstdio>

#include <gtest/gtest.h>

#include "base/random.h"
#include "cuda/context.h"
#include "cuda/memory.h"
#include "cuda_models.h"
#include "lm/cuda/kernels.h"
#include "os/file.h"
#include "task/half.h"

namespace kw::lm::cuda {
namespace {

using kw::cuda::Context;
using kw::cuda::DeviceBuffer;
using kw::cuda::LaunchShape;
using kw::cuda::Stream;

std::vector<std::uint16_t> random_bf16(std::size_t size, std::uint64_t seed) {
  Rng rng(seed);
  std::vector<std::uint16_t> out(size);
  for (auto& one : out) one = task::float_to_bfloat16(static_cast<float>(rng.normal()));
  return out;
}

struct Shape {
  int rows, n, k, splits;
};

class CudaProduct : public ::testing::Test {
 protected:
  void SetUp() override {
    KW_SKIP_WITHOUT_GPU();
    auto context = Context::open(0);
    context_ = std::make_unique<Context>(std::move(*context));
    auto kernels = Kernels::make(*context_, config_of(test_shape("qwen2")), WeightType::kBFloat16,
                                 1, os::cache_home() / "cubin");
    ASSERT_TRUE(kernels) << kernels.error().message();
    kernels_ = std::make_unique<Kernels>(std::move(*kernels));
    auto stream = Stream::make();
    ASSERT_TRUE(stream);
    stream_ = std::make_unique<Stream>(std::move(*stream));
  }
  void TearDown() override {
    stream_.reset();
    kernels_.reset();
  }

  template <typename T>
  DeviceBuffer on_gpu(const std::vector<T>& values) {
    auto out = DeviceBuffer::make(values.size() * sizeof(T));
    EXPECT_TRUE(out && stream_->copy(out->address(), values.data(), values.size() * sizeof(T)) &&
                stream_->synchronize());
    return std::move(*out);
  }

  // float32 [splits, rows, n] or, with silu, bfloat16 [rows, n / 2]; NaN where nothing was written.
  template <typename T>
  std::vector<T> run(const ProductVariant& variant, const Shape& s, const DeviceBuffer& x,
                     const DeviceBuffer& w, DevicePointer bias) {
    std::vector<T> out(
        static_cast<std::size_t>(variant.silu ? s.rows * s.n / 2 : s.splits * s.rows * s.n));
    auto y = DeviceBuffer::make(out.size() * sizeof(T));
    EXPECT_TRUE(y && stream_->fill(y->address(), 0xFF, y->bytes()));
    ProductInput in{};
    in.x = x.address();
    in.w = w.address();
    in.y = y->address();
    in.bias = bias;
    in.part_rows = s.rows;
    in.pitch = s.n;
    in.rows = s.rows;
    in.n = s.n;
    in.k = s.k;
    in.steps = (s.k / 64 + s.splits - 1) / s.splits;
    in.row_blocks = (s.rows + variant.rows - 1) / variant.rows;
    LaunchShape shape;
    shape.grid[0] =
        static_cast<unsigned>((s.n + variant.columns - 1) / variant.columns * in.row_blocks);
    shape.grid[1] = static_cast<unsigned>(s.splits);
    shape.threads = 128;
    shape.shared_bytes = variant.shared_bytes();
    EXPECT_TRUE(variant.function.launch(*stream_, shape, in));
    EXPECT_TRUE(stream_->copy(out.data(), y->address(), out.size() * sizeof(T)));
    Status done = stream_->synchronize();
    EXPECT_TRUE(done) << done.error().message();
    return out;
  }

  std::unique_ptr<Context> context_;
  std::unique_ptr<Kernels> kernels_;
  std::unique_ptr<Stream> stream_;
};

TEST_F(CudaProduct, EveryVariantAgainstFloat64) {
  const std::vector<Shape> shapes = {{1, 64, 64, 1},     {16, 128, 128, 2},  {7, 208, 320, 2},
                                     {33, 1152, 896, 4}, {64, 144, 1536, 5}, {100, 272, 448, 3}};
  for (const Shape& s : shapes) {
    const auto rows = static_cast<std::size_t>(s.rows), n = static_cast<std::size_t>(s.n),
               k = static_cast<std::size_t>(s.k);
    const std::size_t room = (rows + 63) / 64 * 64;
    const auto x = random_bf16(room * k, 1), w = random_bf16(n * k, 2);
    std::vector<float> bias(n);
    for (std::size_t i = 0; i < n; ++i) bias[i] = static_cast<float>(i % 13) - 6;
    const DeviceBuffer gpu_x = on_gpu(x), gpu_w = on_gpu(w), gpu_bias = on_gpu(bias);
    std::vector<double> expected(rows * n);
    for (std::size_t r = 0; r < rows; ++r)
      for (std::size_t c = 0; c < n; ++c)
        for (std::size_t i = 0; i < k; ++i)
          expected[r * n + c] += static_cast<double>(task::bfloat16_to_float(x[r * k + i])) *
                                 static_cast<double>(task::bfloat16_to_float(w[c * k + i]));
    std::vector<float> first;
    for (const ProductVariant& variant : kernels_->products) {
      SCOPED_TRACE(testing::Message()
                   << variant.rows << "x" << variant.columns << "x" << variant.stages
                   << (variant.silu ? " silu" : "") << " for " << s.rows << " " << s.n << " " << s.k
                   << " split " << s.splits);
      if (variant.silu) {
        Shape whole = s;
        whole.splits = 1;
        const auto y = run<std::uint16_t>(variant, whole, gpu_x, gpu_w, gpu_bias.address());
        for (std::size_t r = 0; r < rows; ++r) {
          for (std::size_t c = 0; c < n / 2; ++c) {
            const double gate = expected[r * n + c] + static_cast<double>(bias[c]),
                         up = expected[r * n + n / 2 + c] + static_cast<double>(bias[n / 2 + c]);
            const double wanted = gate / (1 + std::exp(-gate)) * up;
            ASSERT_NEAR(static_cast<double>(task::bfloat16_to_float(y[r * (n / 2) + c])), wanted,
                        std::abs(wanted) * 5e-3 + 1e-2)
                << r << " " << c;
          }
        }
        continue;
      }
      const auto parts = run<float>(variant, s, gpu_x, gpu_w, 0);
      std::vector<float> sums(rows * n);
      for (std::size_t p = 0; p < static_cast<std::size_t>(s.splits); ++p)
        for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += parts[p * sums.size() + i];
      for (std::size_t i = 0; i < sums.size(); ++i)
        ASSERT_NEAR(static_cast<double>(sums[i]), expected[i],
                    1e-3 * std::sqrt(static_cast<double>(k)))
            << i;
      // The order of additions is the same in every variant.
      if (first.empty()) first = sums;
      for (std::size_t i = 0; i < sums.size(); ++i) ASSERT_EQ(sums[i], first[i]);
    }
  }
}

}  // namespace
}  // namespace kw::lm::cuda
