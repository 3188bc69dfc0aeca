// Both rules in the arithmetic that torch uses.
#include "gym/correctness/compat.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <mutex>

#include "base/check.h"
#include "os/parallel.h"
#include "tensor/half.h"

namespace kw::gym {
namespace {

using tensor::DType;

constexpr std::size_t kChunk = 2048;
constexpr std::size_t kTrialPiece = 1U << 18U;  // elements that one thread compares at a time

// visit(candidate, reference) for the elements [first, last), widened to T.
template <typename T, typename Visit>
void for_pairs(const TensorView& candidate, const TensorView& reference, std::size_t first,
               std::size_t last, Visit visit) {
  std::array<T, kChunk> ours;
  std::array<T, kChunk> theirs;
  for (; first < last; first += kChunk) {
    std::size_t n = std::min(kChunk, last - first);
    load(candidate.dtype, candidate.bytes, first, std::span<T>(ours).first(n));
    load(reference.dtype, reference.bytes, first, std::span<T>(theirs).first(n));
    for (std::size_t i = 0; i < n; ++i) visit(ours[i], theirs[i]);
  }
}

// compare(first, last, part) for pieces of the tensors, each by one thread; join(part) one after
// the other.
template <typename Part, typename Compare, typename Join>
void in_pieces(const TensorView& reference, Compare compare, Join join) {
  std::mutex mutex;
  os::in_parallel_pieces(reference.elements(), kTrialPiece, 2 * tensor::size_of(reference.dtype),
                         [&](std::size_t first, std::size_t last) {
                           Part part;
                           compare(first, last, part);
                           std::lock_guard lock(mutex);
                           join(part);
                         });
}

bool coarse_tolerance(DType dtype) {
  return tensor::is_floating(dtype) && tensor::size_of(dtype) <= 2;
}

struct Differences {
  bool close = true, nan = false;
  double max = 0, sum = 0;
};

void join_differences(const Differences& part, Differences& all) {
  all.close = all.close && part.close;
  all.nan = all.nan || part.nan;
  all.max = std::max(all.max, part.max);
  all.sum += part.sum;
}

// allclose of floating tensors. torch rounds each operation's result to the tensors' dtype; the
// tolerance is a double until then.
template <typename T, bool rounds>
void compare_floats(const TensorView& candidate, const TensorView& reference, double tolerance,
                    std::size_t first, std::size_t last, Differences& part) {
  DType dtype = reference.dtype;
  auto rounded = [&](T value) {
    return rounds ? static_cast<T>(round_to(dtype, static_cast<float>(value))) : value;
  };
  auto limit = static_cast<T>(tolerance);
  int outside = 0, nan = 0;
  T most = 0;
  for_pairs<T>(candidate, reference, first, last, [&](T c, T r) {
    T difference = std::abs(rounded(r - c));
    T allowed = rounded(limit + std::abs(rounded(limit * c)));
    bool within = difference <= allowed && difference <= std::numeric_limits<T>::max();
    outside |= static_cast<int>(r != c) & static_cast<int>(!within);
    nan |= static_cast<int>(difference != difference);
    most = difference > most ? difference : most;
    part.sum += static_cast<double>(difference);
  });
  part.close = outside == 0;
  part.nan = nan != 0;
  part.max = static_cast<double>(most);
}

void compare_whole(const TensorView& candidate, const TensorView& reference, double tolerance,
                   std::size_t first, std::size_t last, Differences& part) {
  for_pairs<double>(candidate, reference, first, last, [&](double c, double r) {
    double difference = std::abs(r - c);
    // rtol x other promotes to float32; booleans: see the header.
    float allowed = static_cast<float>(tolerance) +
                    std::abs(static_cast<float>(tolerance) * static_cast<float>(c));
    bool close =
        r == c || (reference.dtype != DType::kBool && difference <= static_cast<double>(allowed));
    part.close = part.close && close;
    part.max = std::max(part.max, difference);
    part.sum += difference;
  });
}

}  // namespace

double kernelbench_tolerance(DType dtype) {
  return coarse_tolerance(dtype) ? 1e-2 : 1e-4;
}

KernelBenchResult kernelbench_compare(const TensorView& candidate, const TensorView& reference) {
  KernelBenchResult result;
  result.shape_equal = std::ranges::equal(candidate.shape, reference.shape);
  if (!result.shape_equal || candidate.dtype != reference.dtype) {
    result.close = false;
    return result;
  }
  const double tolerance = kernelbench_tolerance(reference.dtype);
  Differences all;
  in_pieces<Differences>(
      reference,
      [&](std::size_t first, std::size_t last, Differences& part) {
        if (!tensor::is_floating(reference.dtype))
          compare_whole(candidate, reference, tolerance, first, last, part);
        else if (reference.dtype == DType::kFloat64)
          compare_floats<double, false>(candidate, reference, tolerance, first, last, part);
        else if (reference.dtype == DType::kFloat32)
          compare_floats<float, false>(candidate, reference, tolerance, first, last, part);
        else
          compare_floats<float, true>(candidate, reference, tolerance, first, last, part);
      },
      [&](const Differences& part) { join_differences(part, all); });
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  result.close = all.close;
  result.max_difference = all.nan ? kNan : all.max;
  result.average_difference =
      all.sum / static_cast<double>(std::max<std::size_t>(1, reference.elements()));
  return result;
}

FlashInferResult flashinfer_result(const FlashInferCounts& counts, std::size_t elements,
                                   const FlashInferRule& rule) {
  FlashInferResult result;
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  result.max_absolute_error = counts.nan_error ? kNan : static_cast<double>(counts.max_absolute);
  result.max_relative_error = counts.nan_error ? kNan : static_cast<double>(counts.max_relative);
  result.status = FlashInferStatus::kIncorrectNumerical;
  if (counts.infinite || counts.nan) {
    result.max_absolute_error = result.max_relative_error =
        counts.infinite ? std::numeric_limits<double>::infinity() : kNan;
    return result;
  }
  if (elements > 0) result.matched_ratio = 1 - counts.wrong / static_cast<double>(elements);
  if (!(result.matched_ratio < rule.required_matched_ratio))
    result.status = FlashInferStatus::kPassed;
  return result;
}

FlashInferResult flashinfer_compare(const TensorView& candidate, const TensorView& reference,
                                    const FlashInferRule& rule) {
  FlashInferResult refused;
  if (!std::ranges::equal(candidate.shape, reference.shape)) {
    refused.status = FlashInferStatus::kIncorrectShape;
    return refused;
  }
  if (candidate.dtype != reference.dtype) {
    refused.status = FlashInferStatus::kIncorrectDtype;
    return refused;
  }
  FlashInferCounts all;
  auto atol = static_cast<float>(rule.atol), rtol = static_cast<float>(rule.rtol);
  auto compare = [&](std::size_t first, std::size_t last, FlashInferCounts& part) {
    int infinite = 0, nan = 0, nan_error = 0, wrong = 0;
    for_pairs<float>(candidate, reference, first, last, [&](float c, float r) {
      float difference = std::abs(c - r);
      float relative = difference / (std::abs(r) + 1e-8F);
      infinite |= static_cast<int>(std::abs(c) > std::numeric_limits<float>::max());
      nan |= static_cast<int>(c != c);
      nan_error |= static_cast<int>(difference != difference || relative != relative);
      wrong += static_cast<int>(difference > atol) & static_cast<int>(relative > rtol);
      part.max_absolute = difference > part.max_absolute ? difference : part.max_absolute;
      part.max_relative = relative > part.max_relative ? relative : part.max_relative;
    });
    part.infinite = infinite != 0;
    part.nan = nan != 0;
    part.nan_error = nan_error != 0;
    part.wrong = wrong;
  };
  in_pieces<FlashInferCounts>(reference, compare, [&](const FlashInferCounts& part) {
    all.infinite = all.infinite || part.infinite;
    all.nan = all.nan || part.nan;
    all.nan_error = all.nan_error || part.nan_error;
    all.wrong += part.wrong;
    all.max_absolute = std::max(all.max_absolute, part.max_absolute);
    all.max_relative = std::max(all.max_relative, part.max_relative);
  });
  return flashinfer_result(all, reference.elements(), rule);
}

}  // namespace kw::gym
