// Every instruction set of this machine against float64, with sizes that have tails.
#include "lm/cpu/kernels.h"

#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include "base/random.h"
#include "tensor/half.h"

namespace kw::lm::cpu {
namespace {

std::vector<const Kernels*> all_kernels() {
  std::vector<const Kernels*> out;
  for (const char* name : {"generic", "avx2", "avx512"})
    if (const Kernels* found = kernels_named(name)) out.push_back(found);
  return out;
}

std::vector<float> random_values(std::int64_t size, std::uint64_t seed) {
  Rng rng(seed);
  std::vector<float> out(static_cast<std::size_t>(size));
  for (float& one : out) one = static_cast<float>(rng.normal());
  return out;
}

std::vector<std::uint16_t> as_bf16(const std::vector<float>& values) {
  std::vector<std::uint16_t> out;
  for (float one : values) out.push_back(tensor::float_to_bfloat16(one));
  return out;
}

std::vector<float> from_bf16(const std::vector<std::uint16_t>& bits) {
  std::vector<float> out;
  for (std::uint16_t one : bits) out.push_back(tensor::bfloat16_to_float(one));
  return out;
}

struct Product {
  std::int64_t rows, k, columns;

  template <typename X, typename W>
  Matmul<X, W> of(const std::vector<X>& x, const std::vector<W>& w, std::vector<float>& y) const {
    return {.x = x.data(),
            .rows = rows,
            .k = k,
            .w = w.data(),
            .scales = nullptr,
            .first = 0,
            .last = columns,
            .y = y.data(),
            .y_stride = columns};
  }
  void expect_near(const std::vector<float>& y, const std::vector<float>& x,
                   const std::vector<float>& w, double scale) const {
    for (std::int64_t m = 0; m < rows; ++m) {
      for (std::int64_t n = 0; n < columns; ++n) {
        double sum = 0, sizes = 0;
        for (std::int64_t i = 0; i < k; ++i) {
          double one = static_cast<double>(x[static_cast<std::size_t>(m * k + i)]) *
                       w[static_cast<std::size_t>(n * k + i)];
          sum += one;
          sizes += std::abs(one);
        }
        ASSERT_NEAR(y[static_cast<std::size_t>(m * columns + n)], scale * sum, scale * sizes * 1e-6)
            << m << " " << n << " of " << rows << " " << k << " " << columns;
      }
    }
  }
};

const std::vector<Product> kProducts = {{1, 64, 16},   {1, 7, 3},     {2, 100, 9},    {3, 33, 21},
                                        {4, 512, 40},  {5, 129, 13},  {70, 48, 11},   {9, 31, 8},
                                        {1, 1300, 19}, {7, 1025, 71}, {19, 2100, 130}};

TEST(Kernels, MultiplyMatrices) {
  for (const Kernels* kernels : all_kernels()) {
    SCOPED_TRACE(kernels->name);
    for (const Product& p : kProducts) {
      auto x = random_values(p.rows * p.k, 1), w = random_values(p.columns * p.k, 2);
      std::vector<float> y(static_cast<std::size_t>(p.rows * p.columns), NAN);
      kernels->matmul_f32(p.of(x, w, y));
      p.expect_near(y, x, w, 1);

      auto xb = as_bf16(x), wb = as_bf16(w);
      std::fill(y.begin(), y.end(), NAN);
      auto bf16 = p.of(xb, wb, y);
      kernels->matmul_bf16(bf16);
      p.expect_near(y, from_bf16(xb), from_bf16(wb), 1);
      bf16.adds = true;
      kernels->matmul_bf16(bf16);
      p.expect_near(y, from_bf16(xb), from_bf16(wb), 2);

      std::vector<std::int8_t> wi;
      std::vector<float> wf;
      for (float one : w) {
        wi.push_back(static_cast<std::int8_t>(std::lround(std::fmin(127, std::fabs(one) * 40)) *
                                              (one < 0 ? -1 : 1)));
        wf.push_back(wi.back());
      }
      std::vector<std::uint16_t> scales(static_cast<std::size_t>(p.columns),
                                        tensor::float_to_half(0.25F));
      std::fill(y.begin(), y.end(), NAN);
      auto int8 = p.of(xb, wi, y);
      int8.scales = scales.data();
      kernels->matmul_int8(int8);
      p.expect_near(y, from_bf16(xb), wf, 0.25);
    }
  }
}

// A piece of a prompt that nothing is drawn from has no rows for the head, and no logits.
TEST(Kernels, NoRowsTouchNothing) {
  const Product none{0, 64, 77};
  auto w = random_values(none.k * none.columns, 4);
  auto wb = as_bf16(w);
  std::vector<std::int8_t> wi(w.size(), 1);
  std::vector<std::uint16_t> scales(77, tensor::float_to_half(0.25F));
  const std::vector<float> x;
  const std::vector<std::uint16_t> xb;
  std::vector<float> y;
  for (const Kernels* kernels : all_kernels()) {
    kernels->matmul_f32(none.of(x, w, y));
    kernels->matmul_bf16(none.of(xb, wb, y));
    auto int8 = none.of(xb, wi, y);
    int8.scales = scales.data();
    kernels->matmul_int8(int8);
  }
}

// A row alone, in a batch of any size, and by parts of the columns: the same bits.
TEST(Kernels, RowsDoNotDependOnTheBatch) {
  const std::int64_t columns = 77;
  for (const Kernels* kernels : all_kernels()) {
    for (std::int64_t k : {200, 1100}) {
      auto x = random_values(70 * k, 3), w = random_values(columns * k, 4);
      auto xb = as_bf16(x), wb = as_bf16(w);
      std::vector<std::int8_t> wi;
      for (float one : w)
        wi.push_back(static_cast<std::int8_t>(std::fmax(-127, std::fmin(127, one * 40))));
      std::vector<std::uint16_t> scales;
      for (std::int64_t n = 0; n < columns; ++n)
        scales.push_back(tensor::float_to_half(0.01F * static_cast<float>(n + 1)));
      auto run = [&](std::int64_t first_row, std::int64_t rows, std::int64_t first, int type) {
        std::vector<float> y(static_cast<std::size_t>(rows * columns), 0);
        for (auto piece : {std::pair(std::int64_t{0}, first), std::pair(first, columns)}) {
          const auto part = [&](const auto& all, const auto& weights) {
            auto out = Product{rows, k, columns}.of(all, weights, y);
            out.x += first_row * k;
            out.first = piece.first;
            out.last = piece.second;
            return out;
          };
          if (type == 0) {
            kernels->matmul_f32(part(x, w));
          } else if (type == 1) {
            kernels->matmul_bf16(part(xb, wb));
          } else {
            auto int8 = part(xb, wi);
            int8.scales = scales.data();
            kernels->matmul_int8(int8);
          }
        }
        return y;
      };
      for (int type : {0, 1, 2}) {
        const std::vector<float> whole = run(0, 70, 0, type);
        for (std::int64_t rows : {1, 2, 3, 4, 5, 6, 7, 8, 13, 66}) {
          for (std::int64_t first : {0, 8, 13}) {
            std::vector<float> part = run(3, rows, first, type);
            for (std::size_t i = 0; i < part.size(); ++i)
              ASSERT_EQ(part[i], whole[static_cast<std::size_t>(3 * columns) + i])
                  << kernels->name << ", type " << type << ", " << k << " by " << rows
                  << " rows, split at " << first << ", element " << i;
          }
        }
      }
    }
  }
}

TEST(Kernels, NormAndActivation) {
  for (const Kernels* kernels : all_kernels()) {
    SCOPED_TRACE(kernels->name);
    for (std::int64_t size : {1, 15, 64, 77}) {
      auto x = random_values(size, 5), w = random_values(size, 6);
      std::vector<float> y(x.size());
      kernels->rms_norm(x.data(), w.data(), 1e-6F, size, y.data());
      double squares = 0;
      for (float one : x) squares += static_cast<double>(one) * one;
      double factor = 1 / std::sqrt(squares / static_cast<double>(size) + 1e-6);
      for (std::size_t i = 0; i < x.size(); ++i) ASSERT_NEAR(y[i], x[i] * factor * w[i], 2e-6);
      kernels->silu_multiply(x.data(), w.data(), size, y.data());
      for (std::size_t i = 0; i < x.size(); ++i)
        ASSERT_NEAR(y[i], x[i] / (1 + std::exp(-static_cast<double>(x[i]))) * w[i], 2e-6);
    }
    float extreme[4] = {200, -200, 90, -90}, ones[4] = {1, 1, 1, 1}, y[4];
    kernels->silu_multiply(extreme, ones, 4, y);
    EXPECT_EQ(y[0], 200);
    EXPECT_NEAR(y[1], 0, 1e-30);
    EXPECT_EQ(y[2], 90);
    EXPECT_NEAR(y[3], 0, 1e-30);
  }
}

TEST(Kernels, Attention) {
  for (const Kernels* kernels : all_kernels()) {
    SCOPED_TRACE(kernels->name);
    for (std::int64_t d : {8, 64, 80, 128}) {
      for (std::int64_t positions : {1, 2, 16, 17, 50}) {
        const std::int64_t group = 3;
        auto q = random_values(group * d, 7), keys = random_values(positions * d, 8),
             values = random_values(positions * d, 9);
        std::vector<float> out(q.size());
        const auto of = [&](const auto& k, const auto& v, std::vector<float>& to) {
          using T = typename std::decay_t<decltype(k)>::value_type;
          return HeadGroup<T>{q.data(), group, d, k.data(), v.data(), positions, to.data()};
        };
        kernels->attention_f32(of(keys, values, out));
        for (std::int64_t g = 0; g < group; ++g) {
          std::vector<double> shares;
          double sum = 0;
          for (std::int64_t p = 0; p < positions; ++p) {
            double dot = 0;
            for (std::int64_t i = 0; i < d; ++i)
              dot += static_cast<double>(q[static_cast<std::size_t>(g * d + i)]) *
                     keys[static_cast<std::size_t>(p * d + i)];
            shares.push_back(std::exp(dot));
            sum += shares.back();
          }
          for (std::int64_t i = 0; i < d; ++i) {
            double expected = 0;
            for (std::int64_t p = 0; p < positions; ++p)
              expected += shares[static_cast<std::size_t>(p)] / sum *
                          values[static_cast<std::size_t>(p * d + i)];
            ASSERT_NEAR(out[static_cast<std::size_t>(g * d + i)], expected, 2e-5)
                << d << " " << positions;
          }
        }
        auto kb = as_bf16(keys), vb = as_bf16(values);
        auto kf = from_bf16(kb), vf = from_bf16(vb);
        std::vector<float> wide(q.size()), narrow(q.size());
        kernels->attention_f32(of(kf, vf, wide));
        kernels->attention_bf16(of(kb, vb, narrow));
        ASSERT_EQ(wide, narrow);
      }
    }
  }
}

TEST(Kernels, StatisticsOfRows) {
  for (const Kernels* kernels : all_kernels()) {
    SCOPED_TRACE(kernels->name);
    for (std::int64_t size : {1, 100, 1000}) {
      auto x = random_values(size, 10);
      if (size > 10) x[3] = -INFINITY;
      const float scale = 1.7F;
      double largest = -1e30, sum = 0, mean = 0;
      for (float one : x) largest = std::fmax(largest, static_cast<double>(scale * one));
      for (float one : x) {
        if (std::isinf(one)) continue;
        double below = static_cast<double>(scale * one) - largest;
        sum += std::exp(below);
        mean += below * std::exp(below);
      }
      RowStatistics got = kernels->row_statistics(x.data(), size, scale);
      EXPECT_NEAR(got.largest, largest, 1e-6);
      EXPECT_NEAR(got.sum / sum, 1, 1e-6);
      EXPECT_NEAR(got.mean, mean / sum, 1e-5);
      std::vector<float> out(x.size());
      std::vector<double> blocks(static_cast<std::size_t>((size + kSumBlock - 1) / kSumBlock));
      kernels->exponentials(x.data(), size, scale, got.largest, out.data(), blocks.data());
      double total = 0;
      for (double one : blocks) total += one;
      EXPECT_NEAR(total / sum, 1, 1e-6);
      for (std::size_t i = 0; i < x.size(); ++i)
        EXPECT_NEAR(out[i],
                    std::isinf(x[i]) ? 0 : std::exp(static_cast<double>(scale * x[i]) - largest),
                    1e-6);
    }
  }
}

}  // namespace
}  // namespace kw::lm::cpu
