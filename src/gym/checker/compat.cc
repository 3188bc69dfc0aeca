// allclose and FlashInfer-Bench's element rule.
#include "gym/checker/compat.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "gym/inputs/half.h"

namespace kw::gym {
namespace {

constexpr std::size_t kChunk = 4096;
constexpr double kFlashInferTolerance = 1e-2;
constexpr double kFlashInferFloor = 1e-12;

// Calls visit(a, b) for every pair of elements as doubles.
template <typename Visit>
void for_pairs(task::DType dtype, std::span<const std::byte> candidate,
               std::span<const std::byte> reference, Visit visit) {
  std::array<double, kChunk> a;
  std::array<double, kChunk> b;
  std::size_t count = reference.size() / task::size_of(dtype);
  for (std::size_t start = 0; start < count; start += kChunk) {
    std::size_t length = std::min(kChunk, count - start);
    load(dtype, candidate, start, std::span(a).first(length));
    load(dtype, reference, start, std::span(b).first(length));
    for (std::size_t i = 0; i < length; ++i) visit(a[i], b[i]);
  }
}

}  // namespace

CompatResult kernelbench_allclose(task::DType dtype, std::span<const std::byte> candidate,
                                  std::span<const std::byte> reference) {
  CompatResult result;
  double tolerance =
      dtype == task::DType::kFloat16 || dtype == task::DType::kBFloat16 ? 1e-2 : 1e-4;
  for_pairs(dtype, candidate, reference, [&](double a, double b) {
    if (a == b) return;
    double difference = std::abs(a - b);
    result.ok = result.ok && difference <= tolerance + tolerance * std::abs(b);
    if (!std::isfinite(difference)) return;
    result.max_absolute = std::max(result.max_absolute, difference);
    if (b != 0) result.max_relative = std::max(result.max_relative, difference / std::abs(b));
  });
  return result;
}

CompatResult flashinfer_close(task::DType dtype, std::span<const std::byte> candidate,
                              std::span<const std::byte> reference) {
  CompatResult result;
  for_pairs(dtype, candidate, reference, [&](double a, double b) {
    if (!std::isfinite(a)) result.ok = false;
    if (a == b) return;
    double difference = std::abs(a - b);
    double relative = difference / (std::abs(b) + kFlashInferFloor);
    if (difference > kFlashInferTolerance && relative > kFlashInferTolerance) result.ok = false;
    if (!std::isfinite(difference)) return;
    result.max_absolute = std::max(result.max_absolute, difference);
    result.max_relative = std::max(result.max_relative, relative);
  });
  return result;
}

}  // namespace kw::gym
