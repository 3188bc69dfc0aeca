// kernelwright-torch-smoke: prints the linked torch's version, and checks a matrix product of it
// against a plain float64 loop. exit: 0 the product is right, 1 it is not, 2 torch threw.
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include <ATen/ATen.h>
#include <fmt/format.h>
#include <torch/version.h>

#include "base/hash.h"
#include "base/json.h"

namespace {

constexpr std::int64_t kRows = 33, kInner = 65,
                       kColumns = 17;  // odd sizes: vector loops have tails

// Values with exact float32 sums, so that the product is right to the bit in any order of addition.
at::Tensor small_integers(std::int64_t rows, std::int64_t columns, std::int64_t step) {
  return ((at::arange(rows * columns, at::kLong) * step) % 11 - 5)
      .to(at::kFloat)
      .view({rows, columns});
}

double largest_error(const at::Tensor& a, const at::Tensor& b, const at::Tensor& product) {
  const auto left = a.accessor<float, 2>(), right = b.accessor<float, 2>(),
             got = product.accessor<float, 2>();
  double largest = 0;
  for (std::int64_t i = 0; i < kRows; ++i) {
    for (std::int64_t j = 0; j < kColumns; ++j) {
      double sum = 0;
      for (std::int64_t k = 0; k < kInner; ++k) sum += double{left[i][k]} * double{right[k][j]};
      largest = std::fmax(largest, std::abs(sum - double{got[i][j]}));
    }
  }
  return largest;
}

int run() {
  const at::Tensor a = small_integers(kRows, kInner, 7), b = small_integers(kInner, kColumns, 3);
  const bool cuda = at::hasCUDA();
  const at::Device device = cuda ? at::Device(at::kCUDA, 0) : at::Device(at::kCPU);
  const at::Tensor product = at::matmul(a.to(device), b.to(device)).to(at::kCPU).contiguous();
  const double error = largest_error(a, b, product);
  const std::string_view bytes(static_cast<const char*>(product.const_data_ptr()),
                               product.nbytes());
  const kw::Json result = {{"torch", TORCH_VERSION},
                           {"device", device.str()},
                           {"matmul_error", error},
                           {"product_sha256", kw::sha256_hex(bytes)}};
  fmt::print("{}\n", result.dump());
  return error == 0 ? 0 : 1;
}

}  // namespace

int main() {
  try {
    return run();
  } catch (const std::exception& e) {
    fmt::print(stderr, "kernelwright-torch-smoke: {}\n", e.what());
    return 2;
  }
}
