// A vectorised pass that only asks whether a chunk holds anything new (too far off, or a new
// maximum), and a slow one for chunks that do.
#include "gym/correctness/baseline.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <mutex>
#include <vector>

#include "base/check.h"
#include "gym/inputs/wide.h"
#include "os/parallel.h"
#include "tensor/half.h"

namespace kw::gym {
namespace {

using tensor::DType;

constexpr std::size_t kChunk = 1024;
constexpr std::size_t kComparedPiece = 1U << 18U;  // elements that one thread compares at a time
constexpr std::size_t kLanes = 16;
constexpr double kRelativeFloor = 1e-8;

std::size_t bin_of(double ratio) {
  if (!(ratio > 0)) return 0;
  int exponent = std::ilogb(ratio) - BaselineCoefficients::kMinExponent;
  return static_cast<std::size_t>(
      std::clamp(exponent, 0, static_cast<int>(BaselineCoefficients::kBins) - 1));
}

double quantile(std::vector<double>& values, double share) {
  auto place =
      values.begin() + static_cast<std::ptrdiff_t>(share * static_cast<double>(values.size() - 1));
  std::nth_element(values.begin(), place, values.end());
  return *place;
}

// The allowed difference and the largest ones so far, by which a chunk is known to be interesting.
// All are in the precision of the elements.
template <typename T>
struct Limits {
  T relative, absolute;  // allowed difference: relative |b| + absolute
  T most_absolute;       // largest difference so far
  T most_of_budget;      // largest share of the allowed difference so far
  T most_relative;       // largest difference / (|b| + 1e-8) so far
};

template <typename T>
KW_ALWAYS_INLINE bool interesting_body(const T* a, const T* b, std::size_t n,
                                       const Limits<T>& limits) {
  int found = 0;
  for (std::size_t i = 0; i < n; ++i) {
    T magnitude = std::abs(b[i]);
    T difference = std::abs(a[i] - b[i]);
    T allowed = limits.relative * magnitude + limits.absolute;
    found |= static_cast<int>(!(difference <= allowed)) |
             static_cast<int>(difference > limits.most_absolute) |
             static_cast<int>(difference > limits.most_of_budget * allowed) |
             static_cast<int>(difference >
                              limits.most_relative * (magnitude + static_cast<T>(kRelativeFloor)));
  }
  return found != 0;
}

template <typename T>
KW_ALWAYS_INLINE double magnitudes_body(const T* x, std::size_t n) {
  T lanes[kLanes] = {};
  std::size_t whole = n / kLanes * kLanes;
  for (std::size_t i = 0; i < whole; i += kLanes) {
    for (std::size_t j = 0; j < kLanes; ++j) lanes[j] += std::abs(x[i + j]);
  }
  double sum = 0;
  for (T lane : lanes) sum += static_cast<double>(lane);
  for (std::size_t i = whole; i < n; ++i) sum += std::abs(static_cast<double>(x[i]));
  return sum;
}

template <typename T>
bool interesting_baseline(const T* a, const T* b, std::size_t n, const Limits<T>& limits) {
  return interesting_body(a, b, n, limits);
}
template <typename T>
double magnitudes_baseline(const T* x, std::size_t n) {
  return magnitudes_body(x, n);
}
template <typename T>
KW_TARGET_AVX2 bool interesting_avx2(const T* a, const T* b, std::size_t n,
                                     const Limits<T>& limits) {
  return interesting_body(a, b, n, limits);
}
template <typename T>
KW_TARGET_AVX2 double magnitudes_avx2(const T* x, std::size_t n) {
  return magnitudes_body(x, n);
}

// Overflow, infinities and NaN: again, without them and in double.
template <typename T>
double careful_magnitudes(std::span<const T> x) {
  double sum = 0;
  for (T value : x) {
    auto v = static_cast<double>(value);
    if (std::isfinite(v)) sum += std::abs(v);
  }
  return sum;
}

// Pieces of a tensor, each by one thread: whole rows, or runs of one long row.
template <typename T>
class Comparison {
 public:
  Comparison(const TensorView& candidate, const TensorView& baseline,
             const BaselineCoefficients& learned, double sides)
      : candidate_(candidate), baseline_(baseline), learned_(learned), sides_(sides) {}

  CheckReport run() {
    Slices slices = slices_of(baseline_.shape);
    if (slices.columns > kComparedPiece) {
      for (std::size_t row = 0; row < slices.rows; ++row) long_row(row * slices.columns, slices);
    } else if (slices.rows > 0) {
      std::size_t rows = std::max<std::size_t>(1, kComparedPiece / slices.columns);
      os::in_parallel_pieces(slices.rows, rows, 2 * sizeof(T) * slices.columns,
                             [&](std::size_t first, std::size_t last) {
                               Piece piece{*this};
                               for (std::size_t row = first; row < last; ++row)
                                 piece.whole_row(row * slices.columns, slices.columns);
                               join(piece.report);
                             });
    }
    report_.elements = baseline_.elements();
    report_.passed = report_.wrong == 0;
    return report_;
  }

 private:
  struct Piece {
    const Comparison& all;
    CheckReport report{};
    std::array<T, kChunk> a{}, b{};

    void whole_row(std::size_t first, std::size_t columns) {
      double scale = magnitudes(first, columns) / static_cast<double>(columns);
      compare(first, columns, scale);
    }
    double magnitudes(std::size_t first, std::size_t columns);
    void compare(std::size_t first, std::size_t columns, double scale);
    void judge(double ours, double theirs, double scale);
  };

  void long_row(std::size_t first, const Slices& slices) {
    // Every eighth chunk gives the mean of so many well enough; too small a budget only asks the
    // oracle.
    constexpr std::size_t kStride = 8 * kChunk;
    double sum = 0, count = 0;
    Piece sample{*this};
    for (std::size_t begin = 0; begin + kChunk <= slices.columns; begin += kStride) {
      sum += sample.magnitudes(first + begin, kChunk);
      count += kChunk;
    }
    os::in_parallel_pieces(slices.columns, kComparedPiece, 2 * sizeof(T),
                           [&](std::size_t begin, std::size_t end) {
                             Piece piece{*this};
                             piece.compare(first + begin, end - begin, sum / count);
                             join(piece.report);
                           });
  }

  void join(const CheckReport& part) {
    std::lock_guard lock(mutex_);
    report_.merge(part);
  }

  // float32 and float64 are read in place; narrower dtypes are widened.
  static const T* elements(const TensorView& view, std::size_t first, std::size_t n,
                           std::array<T, kChunk>& buffer) {
    bool aligned = reinterpret_cast<std::uintptr_t>(view.bytes.data()) % alignof(T) == 0;
    if (tensor::size_of(view.dtype) == sizeof(T) && aligned)
      return reinterpret_cast<const T*>(view.bytes.data()) + first;
    load(view.dtype, view.bytes, first, std::span<T>(buffer).first(n));
    return buffer.data();
  }

  const TensorView& candidate_;
  const TensorView& baseline_;
  const BaselineCoefficients& learned_;
  double sides_;
  std::mutex mutex_;
  CheckReport report_;
};

template <typename T>
double Comparison<T>::Piece::magnitudes(std::size_t first, std::size_t columns) {
  double sum = 0;
  for (std::size_t begin = 0; begin < columns; begin += kChunk) {
    std::size_t n = std::min(kChunk, columns - begin);
    const T* theirs = elements(all.baseline_, first + begin, n, b);
    double part = has_avx2() ? magnitudes_avx2(theirs, n) : magnitudes_baseline(theirs, n);
    sum += std::isfinite(part) ? part : careful_magnitudes(std::span(theirs, n));
  }
  return sum;
}

template <typename T>
void Comparison<T>::Piece::compare(std::size_t first, std::size_t columns, double scale) {
  for (std::size_t begin = 0; begin < columns; begin += kChunk) {
    std::size_t n = std::min(kChunk, columns - begin);
    const T* ours = elements(all.candidate_, first + begin, n, a);
    const T* theirs = elements(all.baseline_, first + begin, n, b);
    Limits<T> limits{static_cast<T>(all.sides_ * all.learned_.relative),
                     static_cast<T>(all.sides_ * (all.learned_.slice * scale + all.learned_.least)),
                     static_cast<T>(report.max_absolute), static_cast<T>(report.max_of_budget),
                     static_cast<T>(report.max_relative)};
    bool look = has_avx2() ? interesting_avx2(ours, theirs, n, limits)
                           : interesting_baseline(ours, theirs, n, limits);
    for (std::size_t i = 0; look && i < n; ++i)
      judge(static_cast<double>(ours[i]), static_cast<double>(theirs[i]), scale);
  }
}

template <typename T>
void Comparison<T>::Piece::judge(double ours, double theirs, double scale) {
  if (ours == theirs) return;  // equal infinities included
  double difference = std::abs(ours - theirs);
  if (!std::isfinite(difference)) {
    (std::isnan(ours) ? report.nan : report.infinite) += 1;
    report.wrong += 1;
    report.max_of_budget = std::numeric_limits<double>::infinity();
    return;
  }
  const BaselineCoefficients& learned = all.learned_;
  double magnitude = std::abs(theirs);
  double allowed = learned.relative * magnitude + learned.slice * scale + learned.least;
  if (difference > all.sides_ * allowed)
    allowed = std::max(allowed, learned.by_magnitude.at(bin_of(magnitude / scale)) * scale);
  report.max_absolute = std::max(report.max_absolute, difference);
  report.max_relative = std::max(report.max_relative, difference / (magnitude + kRelativeFloor));
  report.max_of_budget = std::max(report.max_of_budget, difference / (all.sides_ * allowed));
  if (difference > all.sides_ * allowed) report.wrong += 1;
}

}  // namespace

Result<BaselineCoefficients> learn_baseline(std::span<const InstanceBudget> instances) {
  constexpr std::size_t kSampledRows = 256;
  constexpr std::size_t kSampledColumns = 1024;
  if (instances.size() < 3)
    return fail(ErrorCode::kInvalidArgument,
                "budgets are learned from at least three seeds, not {}", instances.size());
  BaselineCoefficients learned;
  std::vector<double> rows;
  std::array<std::vector<double>, BaselineCoefficients::kBins> bins;
  for (const InstanceBudget& instance : instances) {
    learned.relative = std::max(learned.relative, instance.relative_budget());
    learned.least = instance.least_budget();
    Slices slices = instance.slices();
    for (std::size_t r = 0; r < slices.rows;
         r += std::max<std::size_t>(1, slices.rows / kSampledRows)) {
      double scale = instance.magnitude(r);
      if (!(scale > 0)) continue;
      rows.push_back(instance.row_budget(r) / scale);
      for (std::size_t c = 0; c < slices.columns;
           c += std::max<std::size_t>(1, slices.columns / kSampledColumns)) {
        std::size_t i = r * slices.columns + c;
        double budget = 0;
        instance.budgets(i, std::span(&budget, 1));
        if (std::isfinite(budget))
          bins.at(bin_of(std::abs(instance.run().exact[i]) / scale)).push_back(budget / scale);
      }
    }
  }
  if (!rows.empty()) learned.slice = quantile(rows, 0.9);
  for (std::size_t k = 0; k < bins.size(); ++k) {
    if (!bins.at(k).empty()) learned.by_magnitude.at(k) = quantile(bins.at(k), 0.9);
  }
  return learned;
}

CheckReport check_against_baseline(const TensorView& candidate, const TensorView& baseline,
                                   const BaselineCoefficients& learned, double sides) {
  KW_CHECK(tensor::is_floating(candidate.dtype) && candidate.dtype == baseline.dtype &&
           candidate.elements() == baseline.elements());
  if (candidate.dtype == DType::kFloat64)
    return Comparison<double>(candidate, baseline, learned, sides).run();
  return Comparison<float>(candidate, baseline, learned, sides).run();
}

}  // namespace kw::gym
