// Element loops in chunks of one row.
#include "gym/correctness/compare.h"

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
constexpr std::size_t kCheckedPiece = 1U << 16U;  // elements that one thread checks at a time
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kRelativeFloor = 1e-8;

void note_difference(double error, double expected, CheckReport& report) {
  report.max_absolute = std::max(report.max_absolute, std::abs(error));
  report.max_relative =
      std::max(report.max_relative, std::abs(error) / (std::abs(expected) + kRelativeFloor));
}

// Both overflowed: the float64 result does not fit the dtype and the trusted one is the infinity on
// its side.
bool overflow_agreed(DType dtype, double exact, double trusted) {
  return std::abs(exact) > max_of(dtype) && std::isinf(trusted) &&
         std::signbit(trusted) == std::signbit(exact);
}

// Returns error / budget; 0 where infinities agree, infinite where the element is wrong under any
// budget.
double judge(double candidate, double exact, bool infinite_is_right, double budget,
             CheckReport& report) {
  if (std::isnan(candidate)) {
    report.nan += 1;
    return kInfinity;
  }
  bool same_side = std::signbit(candidate) == std::signbit(exact);
  if (infinite_is_right && std::isinf(candidate) && same_side) return 0;
  double error = candidate - exact;
  if (!std::isfinite(error)) {
    report.infinite += 1;
    return kInfinity;
  }
  note_difference(error, exact, report);
  return error / budget;
}

struct Part {
  CheckReport report;
  ErrorStructure errors;
};

// Elements [begin, end) of a row.
void check_row(const TensorView& candidate, const InstanceBudget& budget, std::size_t row,
               std::size_t begin, std::size_t end, Part& part) {
  CheckReport& report = part.report;
  const OracleRun& run = budget.run();
  std::array<double, kChunk> ours;
  std::array<double, kChunk> trusted;
  std::array<double, kChunk> scale;
  for (; begin < end; begin += kChunk) {
    std::size_t n = std::min(kChunk, end - begin);
    std::size_t first = row * budget.slices().columns + begin;
    load(candidate.dtype, candidate.bytes, first, std::span(ours).first(n));
    load(candidate.dtype, run.trusted.bytes, first, std::span(trusted).first(n));
    budget.budgets(first, std::span(scale).first(n));
    for (std::size_t i = 0; i < n; ++i) {
      double exact = run.exact[first + i];
      bool infinite = overflow_agreed(candidate.dtype, exact, trusted[i]);
      double error = judge(ours[i], exact, infinite, scale[i], report);
      if (!(std::abs(error) <= 1)) report.wrong += 1;
      report.max_of_budget = std::max(report.max_of_budget, std::abs(error));
      ours[i] = std::clamp(error, -1.0, 1.0);
    }
    part.errors.add(std::span<const double>(ours).first(n));
  }
}

void finish(const ErrorStructure& structure, CheckReport& report) {
  report.bias = structure.mean();
  report.worst_tile = structure.worst_tile();
  report.biased = structure.biased();
  report.clustered = structure.clustered();
  report.passed = report.wrong == 0 && !report.biased && !report.clustered;
}

void mark_wrong(double error, double expected, CheckReport& report) {
  report.wrong += 1;
  report.passed = false;
  report.max_of_budget = kInfinity;
  note_difference(std::isfinite(error) ? error : 0, expected, report);
}

// expected_chunk(first, out) gives what candidate's elements must equal; one that does not may be
// accepted(element, value).
template <typename Load, typename Accept>
CheckReport compare_whole(const TensorView& candidate, Load expected_chunk, Accept accepted) {
  CheckReport report;
  report.elements = candidate.elements();
  std::array<std::int64_t, kChunk> ours;
  std::array<std::int64_t, kChunk> theirs;
  for (std::size_t first = 0; first < report.elements; first += kChunk) {
    std::size_t n = std::min<std::size_t>(kChunk, report.elements - first);
    load_whole(candidate, first, std::span(ours).first(n));
    expected_chunk(first, std::span(theirs).first(n));
    for (std::size_t i = 0; i < n; ++i) {
      bool is_value = candidate.dtype != DType::kBool || ours.at(i) == 0 || ours.at(i) == 1;
      if (is_value && (ours.at(i) == theirs.at(i) || accepted(first + i, ours.at(i)))) continue;
      auto expected = static_cast<double>(theirs.at(i));
      mark_wrong(static_cast<double>(ours.at(i)) - expected, expected, report);
    }
  }
  return report;
}

CheckReport compare_bits(const TensorView& candidate, const TensorView& expected) {
  CheckReport report;
  report.elements = candidate.elements();
  std::array<double, kChunk> ours;
  std::array<double, kChunk> theirs;
  for (std::size_t first = 0; first < report.elements; first += kChunk) {
    std::size_t n = std::min<std::size_t>(kChunk, report.elements - first);
    load(candidate.dtype, candidate.bytes, first, std::span(ours).first(n));
    load(expected.dtype, expected.bytes, first, std::span(theirs).first(n));
    for (std::size_t i = 0; i < n; ++i) {
      if (std::isnan(ours.at(i))) report.nan += 1;
      if (!(ours.at(i) == theirs.at(i)))
        mark_wrong(ours.at(i) - theirs.at(i), theirs.at(i), report);
    }
  }
  return report;
}

}  // namespace

bool is_near_budget(const CheckReport& report) {
  return report.max_of_budget >= task::Borderline::kFrom &&
         report.max_of_budget <= task::Borderline::kTo && report.nan == 0 && report.infinite == 0 &&
         !report.biased && !report.clustered;
}

void CheckReport::merge(const CheckReport& other) {
  passed = passed && other.passed;
  elements += other.elements;
  wrong += other.wrong;
  nan += other.nan;
  infinite += other.infinite;
  max_absolute = std::max(max_absolute, other.max_absolute);
  max_relative = std::max(max_relative, other.max_relative);
  max_of_budget = std::max(max_of_budget, other.max_of_budget);
  bias = std::abs(other.bias) > std::abs(bias) ? other.bias : bias;
  worst_tile = std::max(worst_tile, other.worst_tile);
  biased = biased || other.biased;
  clustered = clustered || other.clustered;
}

void record(const CheckReport& report, task::OutputError& error) {
  error.max_absolute = std::max(error.max_absolute, report.max_absolute);
  error.max_relative = std::max(error.max_relative, report.max_relative);
  error.max_of_budget = std::max(error.max_of_budget, report.max_of_budget);
  error.checked_calls += 1;
}

CheckReport check_against_oracle(const TensorView& candidate, const InstanceBudget& budget) {
  KW_CHECK(candidate.dtype == budget.spec().dtype &&
           candidate.elements() == budget.run().exact.size());
  CheckReport report;
  ErrorStructure structure;
  std::mutex mutex;
  Slices slices = budget.slices();
  // Runs of elements within one row, so that tiles do not straddle rows.
  std::size_t rows =
      std::max<std::size_t>(1, kCheckedPiece / std::max<std::size_t>(1, slices.columns));
  bool long_rows = slices.columns > kCheckedPiece;
  auto check = [&](std::size_t first_row, std::size_t last_row, std::size_t begin,
                   std::size_t end) {
    Part part;
    for (std::size_t row = first_row; row < last_row; ++row)
      check_row(candidate, budget, row, begin, end, part);
    std::lock_guard lock(mutex);
    report.merge(part.report);
    structure.merge(part.errors);
  };
  if (!long_rows) {
    os::in_parallel_pieces(
        slices.rows, rows, 2 * sizeof(double) * slices.columns,
        [&](std::size_t first, std::size_t last) { check(first, last, 0, slices.columns); });
  }
  for (std::size_t row = 0; long_rows && row < slices.rows; ++row) {
    os::in_parallel_pieces(
        slices.columns, kCheckedPiece, 2 * sizeof(double),
        [&](std::size_t begin, std::size_t end) { check(row, row + 1, begin, end); });
  }
  report.elements = budget.run().exact.size();
  finish(structure, report);
  return report;
}

CheckReport check_exact(const TensorView& candidate, std::span<const std::int64_t> expected,
                        std::span<const std::span<const std::int64_t>> as_right) {
  KW_CHECK(candidate.elements() == expected.size());
  const auto chunk = [&](std::size_t first, std::span<std::int64_t> out) {
    std::copy_n(expected.begin() + static_cast<std::ptrdiff_t>(first), out.size(), out.begin());
  };
  return compare_whole(candidate, chunk, [&](std::size_t element, std::int64_t value) {
    return std::ranges::any_of(as_right, [&](auto run) { return run[element] == value; });
  });
}

CheckReport check_exact(const TensorView& candidate, const TensorView& expected) {
  KW_CHECK(candidate.dtype == expected.dtype && candidate.elements() == expected.elements());
  if (tensor::is_floating(candidate.dtype)) return compare_bits(candidate, expected);
  const auto chunk = [&](std::size_t first, std::span<std::int64_t> out) {
    load_whole(expected, first, out);
  };
  return compare_whole(candidate, chunk, [](std::size_t, std::int64_t) { return false; });
}

}  // namespace kw::gym
