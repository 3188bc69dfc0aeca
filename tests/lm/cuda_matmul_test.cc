// Every variant of our own matmul against float64, with numbers of rows, columns and splits that
// leave remainders, and against each other to the bit.
#include <cmath>
#include <cstdio>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/random.h"
#include "cuda/context.h"
#include "cuda/memory.h"
#include "cuda_models.h"
#include "lm/cuda/kernels.h"
#include "os/file.h"
#include "tensor/half.h"

namespace kw::lm::cuda {
namespace {

using kw::cuda::Context;
using kw::cuda::DeviceBuffer;
using kw::cuda::LaunchShape;
using kw::cuda::Stream;

std::vector<std::uint16_t> random_bf16(std::size_t size, std::uint64_t seed) {
  Rng rng(seed);
  std::vector<std::uint16_t> out(size);
  for (auto& one : out) one = tensor::float_to_bfloat16(static_cast<float>(rng.normal()));
  return out;
}

struct Shape {
  int rows, n, k, splits;
};

// y = x W^T in float64, and all else that a matmul may read.
struct Problem {
  Shape shape;
  std::vector<double> y;          // [rows, n]
  std::vector<double> factors;    // [rows], of the squares
  std::vector<float> bias, norm;  // [n]
  std::vector<float> residual;    // [rows, n]
  std::vector<float> squares;     // [rows, k / 32]
  DeviceBuffer gpu_x, gpu_w, gpu_bias, gpu_norm, gpu_squares;
};

std::vector<float> numbers(std::size_t size, int modulus) {
  std::vector<float> out(size);
  for (std::size_t i = 0; i < size; ++i)
    out[i] = static_cast<float>(static_cast<int>(i * 7) % modulus - modulus / 2) / 8;
  return out;
}

class CudaMatmul : public ::testing::Test {
 protected:
  static constexpr float kEpsilon = 1e-5F;

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
  template <typename T>
  std::vector<T> from_gpu(const DeviceBuffer& buffer) {
    std::vector<T> out(buffer.bytes() / sizeof(T));
    EXPECT_TRUE(stream_->copy(out.data(), buffer.address(), buffer.bytes()));
    Status done = stream_->synchronize();
    EXPECT_TRUE(done) << done.error().message();
    return out;
  }
  // NaN of every type, where nothing is written.
  DeviceBuffer unwritten(std::size_t bytes) {
    auto out = DeviceBuffer::make(bytes);
    EXPECT_TRUE(out && stream_->fill(out->address(), 0xFF, bytes));
    return std::move(*out);
  }

  Problem problem(const Shape& s) {
    const auto rows = static_cast<std::size_t>(s.rows), n = static_cast<std::size_t>(s.n),
               k = static_cast<std::size_t>(s.k);
    Problem out;
    out.shape = s;
    const auto x = random_bf16(rows * k, 1), w = random_bf16(n * k, 2);
    out.y.resize(rows * n);
    for (std::size_t r = 0; r < rows; ++r)
      for (std::size_t c = 0; c < n; ++c)
        for (std::size_t i = 0; i < k; ++i)
          out.y[r * n + c] += static_cast<double>(tensor::bfloat16_to_float(x[r * k + i])) *
                              static_cast<double>(tensor::bfloat16_to_float(w[c * k + i]));
    out.bias = numbers(n, 13);
    out.norm = numbers(n, 17);
    out.residual = numbers(rows * n, 101);
    Rng rng(3);
    for (std::size_t r = 0; r < rows; ++r) {
      double sum = 0;
      for (std::size_t i = 0; i < k / 32; ++i) {
        out.squares.push_back(static_cast<float>(rng.uniform() * 40 + static_cast<double>(r)));
        sum += static_cast<double>(out.squares.back());
      }
      out.factors.push_back(1 / std::sqrt(sum / s.k + static_cast<double>(kEpsilon)));
    }
    out.gpu_x = on_gpu(x);
    out.gpu_w = on_gpu(w);
    out.gpu_bias = on_gpu(out.bias);
    out.gpu_norm = on_gpu(out.norm);
    out.gpu_squares = on_gpu(out.squares);
    return out;
  }

  void launch(const MatmulVariant& variant, int width, int splits, const Problem& p,
              MatmulInput in) {
    auto x = kw::cuda::map_of_boxes(p.gpu_x.address(), p.shape.rows, p.shape.k, 64);
    auto w = kw::cuda::map_of_boxes(p.gpu_w.address(), p.shape.n, p.shape.k,
                                    variant.output == MatmulOutput::kSilu ? width / 2 : width);
    ASSERT_TRUE(x && w);
    in.x = *x;
    in.w = *w;
    in.part_rows = in.rows = p.shape.rows;
    in.pitch = in.n = p.shape.n;
    in.k = p.shape.k;
    in.epsilon = kEpsilon;
    const LaunchShape shape = variant.launch_shape(width, splits, in);
    Status done = variant.function.launch(*stream_, shape, in);
    ASSERT_TRUE(done) << done.error().message();
  }

  // The sum of parts, in order.
  std::vector<float> sum_of_parts(const MatmulVariant& variant, int width, const Problem& p,
                                  bool factors) {
    const std::size_t size = p.y.size(), splits = static_cast<std::size_t>(p.shape.splits);
    const DeviceBuffer y = unwritten(splits * size * sizeof(float));
    MatmulInput in{};
    in.y = y.address();
    in.squares = factors ? p.gpu_squares.address() : 0;
    launch(variant, width, p.shape.splits, p, in);
    const auto parts = from_gpu<float>(y);
    std::vector<float> sums(size);
    for (std::size_t s = 0; s < splits; ++s)
      for (std::size_t i = 0; i < size; ++i) sums[i] += parts[s * size + i];
    return sums;
  }

  void expect_silu(const MatmulVariant& variant, int width, const Problem& p, bool factors) {
    const auto n = static_cast<std::size_t>(p.shape.n), inner = n / 2;
    const DeviceBuffer y = unwritten(p.y.size() / 2 * sizeof(std::uint16_t));
    MatmulInput in{};
    in.y = y.address();
    in.bias = p.gpu_bias.address();
    in.squares = factors ? p.gpu_squares.address() : 0;
    launch(variant, width, 1, p, in);
    const auto out = from_gpu<std::uint16_t>(y);
    for (std::size_t r = 0; r < p.factors.size(); ++r) {
      for (std::size_t c = 0; c < inner; ++c) {
        const double factor = factors ? p.factors[r] : 1;
        const double gate = p.y[r * n + c] * factor + static_cast<double>(p.bias[c]),
                     up = p.y[r * n + inner + c] * factor + static_cast<double>(p.bias[inner + c]);
        const double wanted = gate / (1 + std::exp(-gate)) * up;
        ASSERT_NEAR(static_cast<double>(tensor::bfloat16_to_float(out[r * inner + c])), wanted,
                    std::abs(wanted) * 5e-3 + 1e-2)
            << r << " " << c;
      }
    }
  }

  // The residual to the bit as a norm adds parts up: `parts` are the sums of each split.
  void expect_residual(const MatmulVariant& variant, int width, const Problem& p,
                       const std::vector<std::vector<float>>& parts) {
    const auto n = static_cast<std::size_t>(p.shape.n);
    const DeviceBuffer residual = on_gpu(p.residual);
    const DeviceBuffer next = unwritten(p.y.size() * sizeof(std::uint16_t));
    const DeviceBuffer squares = unwritten(p.y.size() / 32 * sizeof(float));
    MatmulInput in{};
    in.y = residual.address();
    in.bias = p.gpu_bias.address();
    in.norm = p.gpu_norm.address();
    in.next = next.address();
    in.next_squares = squares.address();
    launch(variant, width, p.shape.splits, p, in);
    const auto sums = from_gpu<float>(residual);
    const auto normed = from_gpu<std::uint16_t>(next);
    const auto sums_of_squares = from_gpu<float>(squares);
    std::vector<double> expected_squares(sums_of_squares.size());
    for (std::size_t i = 0; i < sums.size(); ++i) {
      float wanted = p.residual[i];
      for (const auto& part : parts) wanted += part[i];
      wanted += p.bias[i % n];
      ASSERT_EQ(sums[i], wanted) << i / n << " " << i % n;
      ASSERT_EQ(normed[i], tensor::float_to_bfloat16(wanted * p.norm[i % n]))
          << i / n << " " << i % n;
      expected_squares[i / 32] += static_cast<double>(wanted) * static_cast<double>(wanted);
    }
    for (std::size_t i = 0; i < sums_of_squares.size(); ++i)
      ASSERT_NEAR(static_cast<double>(sums_of_squares[i]), expected_squares[i],
                  expected_squares[i] * 1e-5);
  }

  std::unique_ptr<Context> context_;
  std::unique_ptr<Kernels> kernels_;
  std::unique_ptr<Stream> stream_;
};

// Of the kernel's columns all, and the fewest that a tiling gives it.
std::vector<int> widths_of(const MatmulVariant& variant) {
  const int unit = width_unit(variant.output);
  return {variant.columns, variant.columns / 2 / unit * unit + unit};
}

std::string name_of(const MatmulVariant& variant, int width, const Shape& s) {
  return fmt::format("{} of {}x{}, output {}, for {} rows, n {}, k {}, splits {}", width,
                     variant.columns, variant.stages, static_cast<int>(variant.output), s.rows, s.n,
                     s.k, s.splits);
}

const std::vector<Shape> kShapes = {{1, 64, 64, 1},     {16, 128, 128, 2},  {7, 208, 320, 2},
                                    {33, 1152, 896, 4}, {64, 160, 1536, 6}, {100, 288, 1024, 8}};

TEST_F(CudaMatmul, PartsAndSiluAgainstFloat64) {
  for (const Shape& s : kShapes) {
    const Problem p = problem(s);
    std::vector<float> first[2];
    for (const MatmulVariant& variant : kernels_->matmuls) {
      if (variant.output == MatmulOutput::kResidual) continue;
      for (int width : widths_of(variant)) {
        for (bool factors : {false, true}) {
          SCOPED_TRACE(name_of(variant, width, s));
          if (variant.output == MatmulOutput::kSilu) {
            expect_silu(variant, width, p, factors);
            continue;
          }
          const auto sums = sum_of_parts(variant, width, p, factors);
          for (std::size_t i = 0; i < sums.size(); ++i) {
            const double factor = factors ? p.factors[i / static_cast<std::size_t>(s.n)] : 1;
            ASSERT_NEAR(static_cast<double>(sums[i]), p.y[i] * factor,
                        1e-3 * factor * std::sqrt(static_cast<double>(s.k)))
                << i;
          }
          // The order of additions is the same in every variant.
          if (first[factors].empty()) first[factors] = sums;
          for (std::size_t i = 0; i < sums.size(); ++i) ASSERT_EQ(sums[i], first[factors][i]);
        }
      }
    }
  }
}

TEST_F(CudaMatmul, ResidualIsTheSumOfParts) {
  for (const Shape& s : kShapes) {
    if (s.n % 32 != 0) continue;
    const Problem p = problem(s);
    const MatmulVariant& of_parts = kernels_->matmuls[0];
    ASSERT_EQ(of_parts.output, MatmulOutput::kParts);
    const DeviceBuffer y =
        unwritten(static_cast<std::size_t>(s.splits) * p.y.size() * sizeof(float));
    MatmulInput in{};
    in.y = y.address();
    launch(of_parts, of_parts.columns, s.splits, p, in);
    const auto all = from_gpu<float>(y);
    std::vector<std::vector<float>> parts;
    for (std::size_t at = 0; at < all.size(); at += p.y.size())
      parts.emplace_back(all.begin() + static_cast<std::ptrdiff_t>(at),
                         all.begin() + static_cast<std::ptrdiff_t>(at + p.y.size()));
    for (const MatmulVariant& variant : kernels_->matmuls) {
      if (variant.output != MatmulOutput::kResidual) continue;
      for (int width : widths_of(variant)) {
        SCOPED_TRACE(name_of(variant, width, s));
        expect_residual(variant, width, p, parts);
      }
    }
  }
}

}  // namespace
}  // namespace kw::lm::cuda
