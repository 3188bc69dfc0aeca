// OutputChecker: the rule of every output of one problem, learned from the oracle's runs
// (src/gym/correctness, docs/correctness.md). Learn once, then any thread.
#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/random.h"
#include "base/result.h"
#include "gym/correctness/baseline.h"
#include "gym/correctness/budget.h"
#include "gym/correctness/compare.h"
#include "gym/correctness/sampling.h"
#include "gym/correctness/selection.h"
#include "task/problem.h"
#include "task/signature.h"

namespace kw::gym {

// One set of inputs with what the oracle gave for it. Indexed by input tensor or by output.
struct Instance {
  using Outputs = std::vector<std::vector<std::byte>>;
  std::vector<std::vector<std::byte>> inputs;  // only those that an output's policy names
  Outputs trusted;                             // declared dtype
  Outputs exact;                               // float64; int64 for integers and booleans
  std::vector<Outputs> perturbed;  // float64 runs, every floating input moved by one eps
  // True where exact and perturbed are runs at the declared precision (Precision::kSecond).
  bool is_rounded = false;
  // All of these hold only a part of large outputs.
  Selections selected;

  std::size_t bytes() const;  // of all of them together
  // The part of an output; null: all of it.
  const Selection* part(std::size_t output) const {
    if (output >= selected.size()) return nullptr;
    const std::optional<Selection>& one = selected[output];
    return one ? &*one : nullptr;
  }
};

// Relative steps of a perturbed run, for outputs of one dtype.
struct PerturbationStep {
  // Inputs move by the dtype's eps. Whole numbers have the largest of the problem's floating
  // outputs, or, without such, what kernels compute in where they are made of floating inputs.
  double inputs = 0;
  // Elementary functions' results move by what makes a budget of four units in the last place of
  // the precision that kernels compute in, the accuracy of vector libraries.
  double functions = 0;

  bool operator==(const PerturbationStep&) const = default;
};

// The rule by which an output is compared with the baseline's, where single elements decide.
struct BaselineRule {
  bool is_exact = false;         // equal, else:
  BaselineCoefficients learned;  // check_against_baseline() with these
  double sides = 2;
};

class OracleComparison;

class OutputChecker {
 public:
  // policies: by output name; an output without a policy has the default. kInvalidArgument for a
  // policy that does not fit the signature.
  static Result<OutputChecker> make(const task::Signature& signature,
                                    const std::map<std::string, task::OutputPolicy>& policies);

  // Before learn(), where the inputs of this problem are dominated by a few (spikes, wide range):
  // how many terms stand behind an element, from an instance of ordinary inputs with two perturbed
  // runs. Does nothing where the reference gives NaN on it.
  void learn_terms(const Instance& ordinary);
  // From at least three instances, the first with two perturbed runs: they show how many terms
  // stand behind an element. kInvalidArgument: the reference cannot be judged (it gives NaN).
  Status learn(std::span<const Instance> instances);

  // Borrows both. is_uneven: a few inputs of this instance dominate, as inputs do not elsewhere.
  // kInvalidArgument: the reference gives NaN on these inputs.
  Result<OracleComparison> compare_with(const Instance& instance, bool is_uneven = false) const;

  // The number of outputs.
  std::size_t count() const { return plans_.size(); }
  const task::Argument& declared(std::size_t output) const { return *plans_[output].argument; }
  // Whether some output's check looks at this input tensor.
  bool needs_input(std::size_t tensor) const;
  // The steps of the perturbed runs, each once; none: such runs are not needed. An output is judged
  // by the runs with its own step.
  const std::vector<PerturbationStep>& steps() const { return steps_; }
  const PerturbationStep& step_of(std::size_t output) const { return plans_[output].step; }
  // Whether equal inputs leave more than one right answer: an output's whole numbers are decided
  // between floating values.
  bool is_decided_by_ties() const;
  // Whether it is compared within an error budget.
  bool has_budget(std::size_t output) const;
  bool is_sampled(std::size_t output) const {
    return plans_[output].policy.check == task::CheckKind::kSampling;
  }

  // theirs: all outputs of the baseline on the same inputs. inputs: by tensor; those that no check
  // looks at may be empty. Coarser for floats: OracleComparison settles what fails here.
  CheckReport against_baseline(std::size_t output, std::span<const std::byte> ours,
                               std::span<const std::span<const std::byte>> theirs,
                               std::span<const std::span<const std::byte>> inputs) const;
  // The rule that against_baseline() applies; nullopt: more than a look at single elements.
  // Borrowed parts live as long as the checker.
  std::optional<BaselineRule> baseline_rule(std::size_t output) const;
  // The input tensors that hold the probabilities of sampled outputs.
  std::vector<std::size_t> probability_inputs() const;
  // check = "sampling": adds the call's draws. Sampled outputs pass the two comparisons above.
  // probabilities: the bytes of input_of(output).
  void add_samples(std::size_t output, std::span<const std::byte> ours,
                   std::span<const std::byte> probabilities, Rng& rng, SamplingTest& test) const;
  // The input tensor that a sampled output's probabilities are in.
  std::size_t input_of(std::size_t output) const {
    return static_cast<std::size_t>(plans_[output].of_input);
  }

 private:
  friend class OracleComparison;
  struct Plan {
    const task::Argument* argument = nullptr;
    task::OutputPolicy policy;
    std::int64_t terms = 0;  // summed per element at most
    bool uneven = false;     // a few inputs dominate: terms is known from others
    int of_input = -1;       // the tensor that policy.of names
    int of_output = -1;
    PerturbationStep step;
    BaselineCoefficients learned;
  };
  OutputChecker() = default;
  void choose_steps(const task::Signature& signature);
  TensorView view(std::size_t output, std::span<const std::byte> bytes) const;
  // The same of an instance's output, or of another output's part of the same shape.
  TensorView view(std::size_t output, const Instance& instance,
                  std::span<const std::byte> bytes) const;
  Result<InstanceBudget> budget(std::size_t output, const Instance& instance,
                                bool is_uneven = false) const;
  const task::Argument& pointed_at(const Plan& plan) const;
  CheckReport indices_against_baseline(const Plan& plan, const TensorView& candidate,
                                       const TensorView& baseline,
                                       std::span<const std::span<const std::byte>> theirs,
                                       std::span<const std::span<const std::byte>> inputs) const;

  std::vector<const task::Argument*>
      inputs_;  // borrowed from the signature, as are the plans' arguments
  std::vector<Plan> plans_;
  std::vector<PerturbationStep> steps_;
};

// The oracle's side of one set of inputs: budgets are made once, any number of outputs compared.
class OracleComparison {
 public:
  // ours: contiguous, declared dtype; the part of the output that the instance has.
  CheckReport check(std::size_t output, std::span<const std::byte> ours) const;
  const Instance& instance() const { return *instance_; }

 private:
  friend class OutputChecker;
  OracleComparison(const OutputChecker& checker, const Instance& instance)
      : checker_(&checker), instance_(&instance) {}
  CheckReport check_indices_of(std::size_t output, const TensorView& candidate) const;

  const OutputChecker* checker_;
  const Instance* instance_;
  std::vector<std::optional<InstanceBudget>> budgets_;  // by output; of the floating ones
};

}  // namespace kw::gym
