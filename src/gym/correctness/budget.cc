// Two passes over the oracle's runs: row means, then column factors relative to them.
#include "gym/correctness/budget.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "base/check.h"
#include "tensor/half.h"

namespace kw::gym {
namespace {

using tensor::DType;

constexpr std::size_t kChunk = 2048;
constexpr double kDeviationOfMean =
    1.2533141373155003;  // sqrt(pi / 2): deviation of a normal over its mean absolute value
constexpr double kMaxTerms = 65536;
constexpr double kMaxLostTerms = 4096;
constexpr double kFewTerms = 8;  // sums this short need no allowance of their own

// Results this small may be flushed to zero: candidates may be built with -ffast-math, which
// flushes subnormal floats.
double least_step(DType dtype) {
  switch (dtype) {
    case DType::kFloat64:
      return std::numeric_limits<double>::min();
    case DType::kFloat32:
    case DType::kBFloat16:
      return static_cast<double>(std::numeric_limits<float>::min());
    case DType::kFloat16:
      return 0x1p-24;
    case DType::kFloat8E5M2:
      return 0x1p-16;
    case DType::kFloat8E4M3Fn:
      return 0x1p-9;
    default:
      return 0.5;
  }
}

double difference(double a, double b) {
  double d = std::abs(a - b);
  return std::isfinite(d) ? d : 0;  // overflow is judged by itself, not by the budget
}

}  // namespace

double computing_epsilon(DType dtype) {
  return tensor::epsilon_of(dtype == DType::kFloat64 ? dtype : DType::kFloat32);
}

BudgetRule rule_for(DType dtype) {
  if (dtype == DType::kFloat32 || dtype == DType::kFloat64) return {};
  return {.trusted = 4, .relative = 2, .response = 2};
}

double function_perturbation_for(DType dtype) {
  constexpr double kUnits = 4;
  return kUnits * computing_epsilon(dtype) / rule_for(dtype).response;
}

Result<InstanceBudget> InstanceBudget::make(OutputSpec spec, OracleRun run) {
  auto elements = static_cast<std::size_t>(elements_of(spec.shape));
  bool sizes = run.exact.size() == elements && run.trusted.dtype == spec.dtype &&
               run.trusted.elements() == elements;
  for (std::span<const double> p : run.perturbed) sizes = sizes && p.size() == elements;
  if (!sizes)
    return fail(ErrorCode::kInvalidArgument, "the oracle's runs do not have the output's size");
  if (run.perturbed.empty())
    return fail(ErrorCode::kInvalidArgument, "a budget needs a perturbed run");
  KW_CHECK(tensor::is_floating(spec.dtype));

  InstanceBudget budget(std::move(spec), std::move(run));
  budget.rule_ = rule_for(budget.spec_.dtype);
  budget.slices_ = slices_of(budget.spec_.shape);
  budget.tail_ = std::sqrt(2 * std::log(std::max(2.0, static_cast<double>(elements))));
  KW_TRY_STATUS(budget.learn_rows());
  budget.learn_columns();
  budget.learn_plateau();
  budget.learn_terms();
  return budget;
}

Status InstanceBudget::learn_rows() {
  rows_.resize(slices_.rows);
  std::array<double, kChunk> trusted;
  // An overflowing element must not set the budget of its row.
  double largest = max_of(spec_.dtype);
  for (std::size_t r = 0; r < slices_.rows; ++r) {
    Row& row = rows_[r];
    double response = 0, error = 0, magnitude = 0, count = 0;
    for (std::size_t begin = 0; begin < slices_.columns; begin += kChunk) {
      std::size_t n = std::min(kChunk, slices_.columns - begin);
      std::size_t first = r * slices_.columns + begin;
      load(spec_.dtype, run_.trusted.bytes, first, std::span(trusted).first(n));
      for (std::size_t i = 0; i < n; ++i) {
        double y = run_.exact[first + i];
        if (std::isnan(y) || std::isnan(trusted.at(i))) {
          return fail(ErrorCode::kInvalidArgument,
                      "the reference itself gives NaN on these inputs");
        }
        if (!(std::abs(y) <= largest)) continue;
        count += 1;
        magnitude += std::abs(y);
        error += difference(trusted.at(i), y);
        for (std::span<const double> p : run_.perturbed) response += difference(p[first + i], y);
      }
    }
    count = std::max(count, 1.0);
    row.magnitude = magnitude / count;
    row.error = kDeviationOfMean * error / count;
    row.response = kDeviationOfMean * response / count / static_cast<double>(run_.perturbed.size());
    row.share = magnitude > 0 ? row.response / row.magnitude : 0;
  }
  return {};
}

void InstanceBudget::learn_columns() {
  constexpr std::size_t kMinRows = 8;
  if (slices_.rows < kMinRows) return;
  std::vector<double> sum(slices_.columns, 0);
  double used = 0;
  double largest = max_of(spec_.dtype);
  for (std::size_t r = 0; r < slices_.rows; ++r) {
    double scale =
        kDeviationOfMean / rows_[r].response / static_cast<double>(run_.perturbed.size());
    if (!std::isfinite(scale)) continue;  // no input moves this element, or only subnormally
    used += 1;
    for (std::span<const double> p : run_.perturbed) {
      const double* moved = p.data() + r * slices_.columns;
      const double* exact = run_.exact.data() + r * slices_.columns;
      for (std::size_t c = 0; c < slices_.columns; ++c)
        if (std::abs(exact[c]) <= largest) sum[c] += scale * difference(moved[c], exact[c]);
    }
  }
  if (used < kMinRows) return;
  for (double& s : sum) s = std::max(1.0, s / used);
  columns_ = std::move(sum);
}

void InstanceBudget::learn_plateau() {
  auto median = [&](double Row::* field) {
    std::vector<double> values;
    for (const Row& row : rows_)
      if (row.*field > 0) values.push_back(row.*field);
    if (values.empty()) return 0.0;
    auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    return *middle;
  };
  plateau_response_ = median(&Row::response);
  plateau_error_ = median(&Row::error);
}

void InstanceBudget::learn_terms() {
  terms_ = std::clamp(static_cast<double>(spec_.reduction_length), 0.0, kMaxTerms);
  double eps = tensor::epsilon_of(spec_.dtype);
  if (run_.perturbed.size() >= 2 && !spec_.uneven && !run_.is_rounded) {
    std::optional<double>
        most;  // unset: sums of what comparisons decided, say, which nothing moves
    for (std::size_t r = 0; r < slices_.rows && most.value_or(0) < terms_; ++r) {
      if (auto behind = inputs_behind(r)) most = std::max(most.value_or(0), *behind);
    }
    terms_ = std::min(terms_, most.value_or(terms_));
  }
  double steps = rule_.sequential * std::sqrt(terms_);
  if (spec_.uneven) steps += 0.5 * std::min(terms_, kMaxLostTerms);
  sequential_ = terms_ > kFewTerms ? steps * computing_epsilon(spec_.dtype) / eps : 0;
}

// How many inputs move an element of this row; kMaxTerms where the runs cannot tell; nullopt where
// nothing moves.
std::optional<double> InstanceBudget::inputs_behind(std::size_t row) const {
  double moved = 0, equal = 0;
  for (std::size_t i = row * slices_.columns; i < (row + 1) * slices_.columns; ++i) {
    double a = run_.perturbed[0][i] - run_.exact[i], b = run_.perturbed[1][i] - run_.exact[i];
    if (a == 0 || b == 0 || !std::isfinite(a) || !std::isfinite(b)) continue;
    moved += 1;
    // A float64 reference may differ in its last bits between runs where it reduces in another
    // order.
    if (std::abs(a - b) <= 1e-6 * std::abs(a)) equal += 1;
  }
  if (moved == 0) return std::nullopt;
  // Too few elements, or agreement by fewer than one in 64 (more than six inputs): the share is no
  // evidence.
  if (moved < 32 || equal < moved / 64) return kMaxTerms;
  return std::round(-std::log2(equal / moved));
}

double InstanceBudget::combine(double error, double magnitude, double response,
                               double row_magnitude) const {
  double eps = tensor::epsilon_of(spec_.dtype);
  double rounding = std::max({rule_.trusted * error, rule_.relative * eps * magnitude,
                              rule_.response * response, eps * row_magnitude});
  return rounding + sequential_ * std::max(response, eps * magnitude) + least_step(spec_.dtype);
}

double InstanceBudget::least_budget() const {
  return least_step(spec_.dtype);
}

double InstanceBudget::row_budget(std::size_t row) const {
  return combine(tail_ * rows_[row].error, 0, rows_[row].response, rows_[row].magnitude);
}

void InstanceBudget::budgets(std::size_t first, std::span<double> out) const {
  if (out.empty()) return;
  std::size_t r = first / slices_.columns;
  KW_CHECK((first + out.size() - 1) / slices_.columns == r);
  const Row& row = rows_[r];
  std::array<double, kChunk> trusted;
  for (std::size_t begin = 0; begin < out.size(); begin += kChunk) {
    std::size_t n = std::min(kChunk, out.size() - begin);
    load(spec_.dtype, run_.trusted.bytes, first + begin, std::span(trusted).first(n));
    for (std::size_t i = 0; i < n; ++i) {
      std::size_t element = first + begin + i;
      double y = run_.exact[element];
      double magnitude = std::min(std::abs(y), max_of(spec_.dtype));
      double column = columns_.empty() ? 1 : columns_[element % slices_.columns];
      double response = std::max(column * row.response, row.share * magnitude);
      double moved = 0;
      for (std::span<const double> p : run_.perturbed)
        moved = std::max(moved, difference(p[element], y));
      double error = std::max(tail_ * column * row.error, difference(trusted.at(i), y));
      if (y == 0 && moved == 0) {
        moved = plateau_response_;
        error = std::max(error, tail_ * plateau_error_);
      }
      response = std::max(response, moved);
      out[begin + i] = std::isfinite(y) ? combine(error, magnitude, response, row.magnitude)
                                        : std::numeric_limits<double>::infinity();
    }
  }
}

}  // namespace kw::gym
