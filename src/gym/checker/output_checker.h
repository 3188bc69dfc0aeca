// Compares outputs of one problem: learns error budgets from oracle instances, then checks calls
// against float64 (audits) or the baseline (every timed call). Theory: docs/correctness.md. Not
// thread-safe.
#pragma once
#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "gym/checker/buffers.h"
#include "task/problem.h"
#include "task/signature.h"

namespace kw::gym {

// One set of inputs with what the oracle says about it. Vectors are indexed by tensor.
struct Instance {
  std::vector<std::vector<std::byte>>
      inputs;  // of the dynamic tensors; only those that an output policy points into
  std::vector<std::vector<std::byte>> trusted;  // declared dtype
  std::vector<std::vector<std::byte>> exact;    // float64; int64 for integers and booleans
  std::vector<std::vector<std::byte>>
      perturbed;  // float64 again, every input moved by one eps; empty when not run
};

struct Comparison {
  bool ok = true;
  double max_absolute = 0, max_relative = 0;
  double max_of_budget = 0;  // over 1: wrong
  std::string summary;       // when not ok: what kind of difference, without values or places
};

// What errors honest kernels make, by how large an element is beside the RMS of its row (its
// last-dimension slice): in powers of two. Everything is in units of that RMS, so it carries over
// to fresh inputs of the same distribution.
struct ErrorProfile {
  static constexpr int kBins = 48;
  std::array<double, kBins> trusted{};   // largest |declared - float64|
  std::array<double, kBins> response{};  // largest |float64 of inputs moved by one eps - float64|
  std::array<std::int64_t, kBins> seen{};
  static int bin(double share_of_rms);
  // What a bin that was hardly seen may err by: as much as the next larger one (behind a relu the few smallest results err like
  // the large ones, and results that should be zero like the smallest), or in proportion to the next smaller one.
  ErrorProfile completed() const;
};

class OutputChecker {
 public:
  // policies: by output name, as the supervisor's "outputs".
  OutputChecker(const task::Signature& signature, const Json& policies);

  void learn(const Instance& instance);
  // Whether some output's check points into this input tensor.
  bool needs_input(std::size_t tensor) const;
  // Relative step of a perturbed run: the largest eps of the floating inputs and statics.
  double input_epsilon() const { return input_epsilon_; }

  Comparison compare_with_oracle(std::size_t output, std::span<const std::byte> ours,
                                 const Instance& instance) const;
  // theirs: the baseline's output of the same inputs.
  Comparison compare_with_baseline(std::size_t output, std::span<const std::byte> ours,
                                   std::span<const std::byte> theirs,
                                   const SharedTensors& inputs) const;
  // float64 values (or int64) rounded to the declared dtype: what a perfect kernel returns.
  std::vector<std::byte> as_declared(std::size_t output, std::span<const std::byte> exact) const;

 private:
  struct Plan {
    const task::Argument* argument;
    task::OutputPolicy policy;
    std::size_t row = 1;    // elements of a last-dimension slice
    double eps = 0;         // of the dtype
    double sequential = 0;  // sqrt of the terms that a sequential sum may add up
    int of_tensor = -1;     // index of the input that policy.of names
    ErrorProfile measured, profile;  // profile: measured, completed
  };
  Comparison compare_floats(const Plan& plan, std::span<const std::byte> ours,
                            std::span<const double> expected, double slack) const;
  Comparison compare_exact(const Plan& plan, std::span<const std::byte> ours,
                           std::span<const std::byte> theirs, task::DType theirs_dtype) const;
  Comparison compare_indices(const Plan& plan, std::span<const std::byte> ours,
                             std::span<const std::byte> theirs, task::DType theirs_dtype,
                             std::span<const std::byte> source) const;
  double budget(const Plan& plan, double magnitude, double rms, double slack) const;

  std::vector<const task::Argument*> inputs_;
  std::vector<Plan> plans_;
  double input_epsilon_ = 0;
};

}  // namespace kw::gym
