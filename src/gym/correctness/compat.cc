// Both rules in the arithmetic that torch uses.
#include "gym/correctness/compat.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "base/check.h"
#include "gym/inputs/half.h"

namespace kw::gym {
namespace {

using task::DType;

constexpr std::size_t kChunk = 2048;

// visit(candidate, reference) for all elements, widened to T.
template <typename T, typename Visit>
void for_pairs(const TensorView& candidate, const TensorView& reference, Visit visit) {
  std::array<T, kChunk> ours;
  std::array<T, kChunk> theirs;
  for (std::size_t first = 0; first < reference.elements(); first += kChunk) {
    std::size_t n = std::min(kChunk, reference.elements() - first);
    load(candidate.dtype, candidate.bytes, first, std::span<T>(ours).first(n));
    load(reference.dtype, reference.bytes, first, std::span<T>(theirs).first(n));
    for (std::size_t i = 0; i < n; ++i) visit(ours.at(i), theirs.at(i));
  }
}

// Like torch.max: a NaN wins.
double larger(double a, double b) {
  return std::isnan(a) || std::isnan(b) ? std::numeric_limits<double>::quiet_NaN() : std::max(a, b);
}

bool coarse_tolerance(DType dtype) {
  return task::is_floating(dtype) && task::size_of(dtype) <= 2;
}

// allclose of floating tensors. torch rounds each operation's result to the tensors' dtype; the
// tolerance is a double until then.
template <typename T>
void compare_floats(const TensorView& candidate, const TensorView& reference, double tolerance,
                    KernelBenchResult& result) {
  DType dtype = reference.dtype;
  auto rounded = [&](T value) {
    return sizeof(T) == task::size_of(dtype)
               ? value
               : static_cast<T>(round_to(dtype, static_cast<float>(value)));
  };
  auto limit = static_cast<T>(tolerance);
  double sum = 0;
  for_pairs<T>(candidate, reference, [&](T c, T r) {
    T difference = std::abs(rounded(r - c));
    T allowed = rounded(limit + std::abs(rounded(limit * c)));
    bool close = r == c || (std::isfinite(difference) && difference <= allowed);
    result.close = result.close && close;
    result.max_difference = larger(result.max_difference, static_cast<double>(difference));
    sum += static_cast<double>(difference);
  });
  result.average_difference =
      sum / static_cast<double>(std::max<std::size_t>(1, reference.elements()));
}

void compare_whole(const TensorView& candidate, const TensorView& reference, double tolerance,
                   KernelBenchResult& result) {
  double sum = 0;
  for_pairs<double>(candidate, reference, [&](double c, double r) {
    double difference = std::abs(r - c);
    // rtol x other promotes to float32; booleans: see the header.
    float allowed = static_cast<float>(tolerance) +
                    std::abs(static_cast<float>(tolerance) * static_cast<float>(c));
    bool close =
        r == c || (reference.dtype != DType::kBool && difference <= static_cast<double>(allowed));
    result.close = result.close && close;
    result.max_difference = std::max(result.max_difference, difference);
    sum += difference;
  });
  result.average_difference =
      sum / static_cast<double>(std::max<std::size_t>(1, reference.elements()));
}

}  // namespace

KernelBenchResult kernelbench_compare(const TensorView& candidate, const TensorView& reference) {
  KernelBenchResult result;
  result.shape_equal = std::ranges::equal(candidate.shape, reference.shape);
  if (!result.shape_equal || candidate.dtype != reference.dtype) {
    result.close = false;
    return result;
  }
  double tolerance = coarse_tolerance(reference.dtype) ? 1e-2 : 1e-4;
  if (!task::is_floating(reference.dtype)) {
    compare_whole(candidate, reference, tolerance, result);
  } else if (reference.dtype == DType::kFloat64) {
    compare_floats<double>(candidate, reference, tolerance, result);
  } else {
    compare_floats<float>(candidate, reference, tolerance, result);
  }
  return result;
}

FlashInferResult flashinfer_compare(const TensorView& candidate, const TensorView& reference,
                                    const FlashInferRule& rule) {
  FlashInferResult result;
  auto finish = [&](FlashInferStatus status) {
    result.status = status;
    return result;
  };
  if (!std::ranges::equal(candidate.shape, reference.shape))
    return finish(FlashInferStatus::kIncorrectShape);
  if (candidate.dtype != reference.dtype) return finish(FlashInferStatus::kIncorrectDtype);
  bool infinite = false, nan = false;
  double wrong = 0;
  auto atol = static_cast<float>(rule.atol), rtol = static_cast<float>(rule.rtol);
  for_pairs<float>(candidate, reference, [&](float c, float r) {
    infinite = infinite || std::isinf(c);
    nan = nan || std::isnan(c);
    float difference = std::abs(c - r);
    float relative = difference / (std::abs(r) + 1e-8F);
    wrong += difference > atol && relative > rtol ? 1 : 0;
    result.max_absolute_error = larger(result.max_absolute_error, static_cast<double>(difference));
    result.max_relative_error = larger(result.max_relative_error, static_cast<double>(relative));
  });
  if (infinite || nan) {
    double value = infinite ? std::numeric_limits<double>::infinity()
                            : std::numeric_limits<double>::quiet_NaN();
    result.max_absolute_error = result.max_relative_error = value;
    return finish(FlashInferStatus::kIncorrectNumerical);
  }
  if (reference.elements() > 0)
    result.matched_ratio = 1 - wrong / static_cast<double>(reference.elements());
  return finish(result.matched_ratio < rule.required_matched_ratio
                    ? FlashInferStatus::kIncorrectNumerical
                    : FlashInferStatus::kPassed);
}

}  // namespace kw::gym
