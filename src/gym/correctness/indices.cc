// Walks over slices; indices are range-checked before they are used.
#include "gym/correctness/indices.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "base/check.h"
#include "tensor/half.h"

namespace kw::gym {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

void mark(double difference, double budget, CheckReport& report) {
  double of_budget = difference == 0 ? 0 : difference / budget;  // infinite with budget 0
  report.max_of_budget = std::max(report.max_of_budget, of_budget);
  if (std::isfinite(difference)) report.max_absolute = std::max(report.max_absolute, difference);
  if (of_budget <= 1) return;
  report.wrong += 1;
  report.passed = false;
}

class Picks {
 public:
  Picks(const IndexedValues& of, std::size_t count) : of_(of) {
    auto rank = static_cast<std::int64_t>(of.shape.size());
    auto axis = static_cast<std::size_t>(of.axis < 0 ? of.axis + rank : of.axis);
    KW_CHECK(axis < of.shape.size());
    length_ = static_cast<std::size_t>(of.shape[axis]);
    inner_ = static_cast<std::size_t>(elements_of(of.shape.subspan(axis + 1)));
    outer_ = static_cast<std::size_t>(elements_of(of.shape.first(axis)));
    KW_CHECK(outer_ * inner_ > 0 && count % (outer_ * inner_) == 0);
    picks_ = count / (outer_ * inner_);
  }

  void check(std::span<const std::int64_t> ours, std::span<const std::int64_t> theirs,
             CheckReport& report) {
    std::vector<std::int64_t> slice(picks_);
    for (std::size_t o = 0; o < outer_; ++o) {
      for (std::size_t n = 0; n < inner_; ++n) {
        for (std::size_t k = 0; k < picks_; ++k) {
          std::size_t place = (o * picks_ + k) * inner_ + n;
          slice[k] = ours[place];
          check_one(o, n, ours[place], theirs[place], report);
        }
        if (picks_ > 1) check_distinct(slice, report);
      }
    }
  }

 private:
  void check_one(std::size_t o, std::size_t n, std::int64_t ours, std::int64_t theirs,
                 CheckReport& report) const {
    if (ours == theirs) return;
    auto end = static_cast<std::int64_t>(length_);
    if (ours < 0 || ours >= end || theirs < 0 || theirs >= end) return mark(kInfinity, 0, report);
    auto at = [&](std::int64_t index) {
      return (o * length_ + static_cast<std::size_t>(index)) * inner_ + n;
    };
    double a = of_.values[at(ours)], b = of_.values[at(theirs)];
    double budget = of_.budgets.empty() ? 0 : of_.budgets[at(ours)] + of_.budgets[at(theirs)];
    if (a == b || (std::isnan(a) && std::isnan(b))) return;
    double difference = std::abs(a - b);
    mark(std::isnan(difference) ? kInfinity : difference, budget, report);
  }

  static void check_distinct(std::vector<std::int64_t>& slice, CheckReport& report) {
    std::ranges::sort(slice);
    for (std::size_t k = 1; k < slice.size(); ++k) {
      if (slice[k] == slice[k - 1]) mark(kInfinity, 0, report);
    }
  }

  const IndexedValues& of_;
  std::size_t length_ = 0, inner_ = 1, outer_ = 1, picks_ = 1;
};

std::size_t row_length(std::span<const std::int64_t> shape) {
  return shape.empty() ? 1 : static_cast<std::size_t>(shape.back());
}

}  // namespace

CheckReport check_indices(const TensorView& candidate, std::span<const std::int64_t> expected,
                          const IndexedValues& of) {
  KW_CHECK(candidate.elements() == expected.size());
  CheckReport report;
  report.elements = expected.size();
  if (expected.empty()) return report;
  std::vector<std::int64_t> ours(expected.size());
  load_whole(candidate, 0, ours);
  Picks(of, expected.size()).check(ours, expected, report);
  return report;
}

CheckReport check_set(const TensorView& candidate, std::span<const std::int64_t> expected) {
  KW_CHECK(candidate.elements() == expected.size());
  CheckReport report;
  report.elements = expected.size();
  std::size_t columns = row_length(candidate.shape);
  std::vector<std::int64_t> ours(columns), theirs(columns);
  for (std::size_t first = 0; first < expected.size(); first += columns) {
    load_whole(candidate, first, ours);
    std::copy_n(expected.begin() + static_cast<std::ptrdiff_t>(first), columns, theirs.begin());
    std::ranges::sort(ours);
    std::ranges::sort(theirs);
    for (std::size_t i = 0; i < columns; ++i)
      mark(std::abs(static_cast<double>(ours[i]) - static_cast<double>(theirs[i])), 0, report);
  }
  return report;
}

CheckReport check_set(const TensorView& candidate, const InstanceBudget& budget) {
  std::span<const double> exact = budget.run().exact;
  KW_CHECK(candidate.elements() == exact.size());
  CheckReport report;
  report.elements = exact.size();
  std::size_t columns = row_length(candidate.shape);
  std::vector<double> ours(columns), scale(columns);
  std::vector<std::size_t> order(columns);
  for (std::size_t first = 0; first < exact.size(); first += columns) {
    load(candidate.dtype, candidate.bytes, first, ours);
    for (double v : ours) report.nan += std::isnan(v) ? 1 : 0;
    // NaN sorts last: as an infinity.
    for (double& v : ours) v = std::isnan(v) ? kInfinity : v;
    std::ranges::sort(ours);
    for (std::size_t i = 0; i < columns; ++i)
      budget.budgets(first + i, std::span(scale).subspan(i, 1));
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::sort(order, {}, [&](std::size_t i) { return exact[first + i]; });
    for (std::size_t i = 0; i < columns; ++i) {
      double expected = exact[first + order[i]];
      if (ours[i] == expected) continue;
      mark(std::abs(ours[i] - expected), std::isfinite(expected) ? scale[order[i]] : 0, report);
    }
  }
  report.passed = report.passed && report.nan == 0;
  return report;
}

}  // namespace kw::gym
