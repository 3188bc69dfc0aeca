// How large an error an honest kernel may have, element by element: from the oracle's runs on the
// same inputs.
//
// The trusted error of a single element says little (it is zero by luck as often as not), and the
// largest of a tensor is far too much for its small elements. So everything is averaged over slices
// (rows, see slices_of) and then follows the element:
//
// - response: how the float64 result moves when every input moves by one eps, which is what any
//   rounding of intermediate results can do. The largest of: the row's mean response (x 1.25, the
//   deviation of a normal with that mean) x the column's factor; the element's own response in any
//   perturbed run; the row's response as a share of its mean |y|, times |y|.
//
// - error: what the trusted implementation at declared precision was off by. The larger of: the
//   row's mean x 1.25 x the column's factor x sqrt(2 ln N), the largest of N normals; the element's
//   own.
//
// - budget = max(4 error, a eps |y|, b response, eps mean |row|) + sequential + the dtype's least
// step
//
// - sequential = c sqrt(terms) eps_sum / eps max(response, eps |y|): naive summation of that many
//   terms (Higham, Accuracy and Stability of Numerical Algorithms, 4.2: errors grow as sqrt(n) when
//   rounding is random), for up to 65536 terms; eps_sum is 2^-23 for float32 and everything
//   narrower (sums are kept in float32), 2^-52 for float64. Where a few inputs dominate (spikes)
//   rounding is not random: what is added to a large sum is lost one and the same way each time.
//   There 1/2 min(terms, 4096) is added to c sqrt(terms), the bound of 4.2 itself; more would let
//   a float16 of the dominating term pass.
//
// An element that is exactly 0 and that no perturbation moves stands on a plateau (relu): rounding
// may take it over the edge by as much as other elements move. There the response and the error are
// at least the medians over the rows that have any.
//
// a, b, c: BudgetRule, calibrated by calibration_test.cc. The column's factor is the mean over rows
// of |response| / row response where that is over 1 and there are at least 8 rows: one heavy column
// among light ones (weights of wide range). The mean, not the root mean square, because one spike
// or pole in a row must not free its other elements.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/result.h"
#include "gym/correctness/tensor.h"
#include "tensor/dtype.h"

namespace kw::gym {

struct BudgetRule {
  double trusted = 4;     // x error
  double relative = 4;    // x eps |y|
  double response = 8;    // x response
  double sequential = 5;  // x sqrt(terms)
};

// float32 and float64 have 4, 4, 8. Narrower dtypes have 4, 2, 2, because an honest kernel computes
// in float32 and rounds once. With more, a float16 result that was computed in bfloat16 (up to 4
// eps off) would pass.
BudgetRule rule_for(tensor::DType dtype);

// Eps of the precision that kernels compute in: float64, else float32.
double computing_epsilon(tensor::DType dtype);

// The relative amount by which a perturbed run moves the results of elementary functions. The
// response to it times BudgetRule::response makes four units in the last place, the accuracy of
// vector libraries (libmvec), in the precision that kernels compute in: float64 for float64, else
// float32.
double function_perturbation_for(tensor::DType dtype);

// The oracle's outputs for one set of inputs, each of `elements` elements. It borrows its data.
struct OracleRun {
  std::span<const double> exact;  // float64 run
  TensorView trusted;             // reference at declared precision; dtype and shape of the output
  // float64 runs, every input times 1 +- eps of the output's dtype at random; those after the first
  // two may move the results of elementary functions too
  std::vector<std::span<const double>> perturbed;
  // True where exact and perturbed are runs at the declared precision instead: each has rounding of
  // its own, so they cannot tell how many inputs stand behind an element.
  bool is_rounded = false;
};

struct OutputSpec {
  tensor::DType dtype = tensor::DType::kFloat32;  // floating
  std::vector<std::int64_t> shape;
  std::int64_t reduction_length = 0;  // terms summed per element; 0: none
  // True where few inputs dominate: these runs cannot tell the reduction length, so
  // reduction_length was learned from other inputs.
  bool uneven = false;
};

// The budget of every element of one set of inputs. Borrows the run, which must outlive it.
// Immutable: any thread.
class InstanceBudget {
 public:
  // kInvalidArgument: sizes differ, no perturbed run, or the oracle's float64 or trusted result
  // holds a NaN (the problem is to blame).
  static Result<InstanceBudget> make(OutputSpec spec, OracleRun run);

  const OutputSpec& spec() const { return spec_; }
  const OracleRun& run() const { return run_; }
  Slices slices() const { return slices_; }

  // Budgets of elements [first, first + out.size()), all within one row. Infinite where the float64
  // result is.
  void budgets(std::size_t first, std::span<double> out) const;
  // Terms that the sequential allowance counts: reduction_length, unless two perturbed runs show
  // that at most six inputs reach any element that moves at all: with n inputs behind it an element
  // moves alike in both, sign for sign, once in 2^n.
  double terms() const { return terms_; }
  // Mean |y| of a row, without what overflows the dtype.
  double magnitude(std::size_t row) const { return rows_[row].magnitude; }
  // The part of every budget that grows with |y|: times |y|.
  double relative_budget() const {
    return (rule_.relative + sequential_) * tensor::epsilon_of(spec_.dtype);
  }
  double least_budget() const;
  // The part of the budget that all elements of a row share.
  double row_budget(std::size_t row) const;

 private:
  struct Row {
    double response = 0, error = 0, magnitude = 0;
    double share = 0;  // response / mean |y|
  };
  InstanceBudget(OutputSpec spec, OracleRun run) : spec_(std::move(spec)), run_(std::move(run)) {}
  Status learn_rows();
  void learn_columns();
  void learn_plateau();
  void learn_terms();
  std::optional<double> inputs_behind(std::size_t row) const;
  double combine(double error, double magnitude, double response, double row_magnitude) const;

  OutputSpec spec_;
  OracleRun run_;
  BudgetRule rule_;
  Slices slices_;
  std::vector<Row> rows_;
  double plateau_response_ = 0, plateau_error_ = 0;
  std::vector<double> columns_;  // factors; empty: all 1
  double tail_ = 1;              // sqrt(2 ln N)
  double terms_ = 0;
  double sequential_ = 0;  // c sqrt(terms) eps_sum / eps
};

}  // namespace kw::gym
