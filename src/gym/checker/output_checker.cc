// One rule an output, by its policy.
#include "gym/checker/output_checker.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <optional>

#include "gym/checker/layout.h"
#include "gym/correctness/indices.h"
#include "tensor/half.h"

namespace kw::gym {
namespace {

using task::CheckKind;

constexpr double kSides = 2;  // candidate and baseline may both err

std::span<const double> doubles(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const double*>(bytes.data()), bytes.size() / sizeof(double)};
}
std::span<const std::int64_t> integers(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const std::int64_t*>(bytes.data()), bytes.size() / sizeof(std::int64_t)};
}

std::vector<double> widened(tensor::DType dtype, std::span<const std::byte> bytes) {
  std::vector<double> values(bytes.size() / tensor::size_of(dtype));
  load(dtype, bytes, 0, values);
  return values;
}

std::vector<std::int64_t> whole_numbers(const TensorView& view) {
  std::vector<std::int64_t> values(view.elements());
  load_whole(view, 0, values);
  return values;
}

// At most so many terms stand behind one element: the widest dimension, a weight's elements per
// output channel, or a whole input reduced.
std::int64_t most_terms(const task::Signature& signature, const task::Argument& output) {
  std::int64_t most = 1;
  for (const auto* list : {&signature.inputs, &signature.statics}) {
    for (const task::Argument& argument : *list) {
      if (argument.role == task::Role::kScalar || argument.elements() == 0) continue;
      for (std::int64_t size : argument.shape) most = std::max(most, size);
      if (argument.shape.size() > 1)
        most = std::max(most, argument.role == task::Role::kStatic
                                  ? argument.elements() / argument.shape[0]
                                  : 1);
      most = std::max(most, argument.elements() / std::max<std::int64_t>(1, output.elements()));
    }
  }
  return most;
}

// Every row in ascending order.
std::vector<std::byte> sorted_rows(const TensorView& view) {
  auto columns = static_cast<std::size_t>(view.shape.empty() ? 1 : view.shape.back());
  std::vector<std::byte> out(view.bytes.begin(), view.bytes.end());
  std::vector<double> row(columns);
  std::vector<std::size_t> order(columns);
  std::size_t size = tensor::size_of(view.dtype);
  for (std::size_t first = 0; first < view.elements(); first += columns) {
    load(view.dtype, view.bytes, first, row);
    std::iota(order.begin(), order.end(), std::size_t{0});
    // NaN last.
    std::ranges::sort(order, [&](std::size_t a, std::size_t b) {
      return row[a] < row[b] || (row[b] != row[b] && row[a] == row[a]);
    });
    for (std::size_t i = 0; i < columns; ++i)
      std::memcpy(out.data() + (first + i) * size, view.bytes.data() + (first + order[i]) * size,
                  size);
  }
  return out;
}

bool points(CheckKind check) {
  return check == CheckKind::kArgmaxOf || check == CheckKind::kTopkOf ||
         check == CheckKind::kSampling;
}

}  // namespace

std::size_t Instance::bytes() const {
  std::size_t total = 0;
  auto add = [&](const std::vector<std::vector<std::byte>>& tensors) {
    for (const auto& tensor : tensors) total += tensor.size();
  };
  add(inputs);
  add(trusted);
  add(exact);
  std::ranges::for_each(perturbed, add);
  return total;
}

Result<OutputChecker> OutputChecker::make(
    const task::Signature& signature, const std::map<std::string, task::OutputPolicy>& policies) {
  OutputChecker checker;
  checker.inputs_ = tensors_of(signature.inputs);
  for (const task::Argument& argument : signature.outputs) {
    Plan plan;
    plan.argument = &argument;
    if (auto found = policies.find(argument.name); found != policies.end())
      plan.policy = found->second;
    for (std::size_t i = 0; i < checker.inputs_.size(); ++i) {
      if (checker.inputs_[i]->name == plan.policy.of) plan.of_input = static_cast<int>(i);
    }
    for (std::size_t j = 0; j < signature.outputs.size(); ++j) {
      if (signature.outputs[j].name == plan.policy.of) plan.of_output = static_cast<int>(j);
    }
    bool floating = tensor::is_floating(argument.dtype);
    if (points(plan.policy.check) && (floating || (plan.of_input < 0 && plan.of_output < 0))) {
      return fail(ErrorCode::kInvalidArgument,
                  "policy of output {}: it has to be whole numbers that point into an input or "
                  "output (of = \"{}\")",
                  argument.name, plan.policy.of);
    }
    if (plan.policy.check == CheckKind::kSampling && plan.of_input < 0)
      return fail(ErrorCode::kInvalidArgument,
                  "policy of output {}: sampling needs the input that holds the probabilities",
                  argument.name);
    plan.terms = plan.policy.reduction_length > 0 ? plan.policy.reduction_length
                                                  : most_terms(signature, argument);
    checker.plans_.push_back(std::move(plan));
  }
  checker.choose_steps(signature);
  return checker;
}

void OutputChecker::choose_steps(const task::Signature& signature) {
  PerturbationStep largest;
  const auto widen = [&largest](tensor::DType dtype, double inputs) {
    largest.inputs = std::max(largest.inputs, inputs);
    largest.functions = std::max(largest.functions, function_perturbation_for(dtype));
  };
  for (Plan& plan : plans_) {
    const tensor::DType dtype = plan.argument->dtype;
    if (!tensor::is_floating(dtype)) continue;
    plan.step = {tensor::epsilon_of(dtype), function_perturbation_for(dtype)};
    widen(dtype, plan.step.inputs);
  }
  if (largest.inputs == 0) {
    // Decisions between floating values: as many units as a value's budget has.
    const double units = BudgetRule{}.relative;
    const bool decides = std::ranges::any_of(
        plans_, [](const Plan& plan) { return plan.policy.check == CheckKind::kValues; });
    for (const auto* list : {&signature.inputs, &signature.statics}) {
      for (const task::Argument& argument : *list) {
        if (decides && argument.role != task::Role::kScalar && tensor::is_floating(argument.dtype))
          widen(argument.dtype, units * computing_epsilon(argument.dtype));
      }
    }
  }
  if (largest.inputs == 0) return;
  for (Plan& plan : plans_) {
    if (plan.step.inputs == 0) plan.step = largest;
    if (std::ranges::find(steps_, plan.step) == steps_.end()) steps_.push_back(plan.step);
  }
}

bool OutputChecker::needs_input(std::size_t tensor) const {
  return std::ranges::any_of(
      plans_, [&](const Plan& plan) { return plan.of_input == static_cast<int>(tensor); });
}

bool OutputChecker::is_decided_by_ties() const {
  const bool from_floats = std::ranges::any_of(
      inputs_, [](const task::Argument* input) { return tensor::is_floating(input->dtype); });
  return from_floats && std::ranges::any_of(plans_, [](const Plan& plan) {
           return !tensor::is_floating(plan.argument->dtype) && !points(plan.policy.check);
         });
}

bool OutputChecker::has_budget(std::size_t output) const {
  const Plan& plan = plans_[output];
  return tensor::is_floating(plan.argument->dtype) && plan.policy.check != CheckKind::kExact;
}

TensorView OutputChecker::view(std::size_t output, std::span<const std::byte> bytes) const {
  return {plans_[output].argument->dtype, plans_[output].argument->shape, bytes};
}

TensorView OutputChecker::view(std::size_t output, const Instance& instance,
                               std::span<const std::byte> bytes) const {
  const Selection* part = instance.part(output);
  if (part == nullptr) return view(output, bytes);
  return {plans_[output].argument->dtype, part->shape(), bytes};
}

Result<InstanceBudget> OutputChecker::budget(std::size_t output, const Instance& instance,
                                             bool is_uneven) const {
  const Plan& plan = plans_[output];
  const TensorView trusted = view(output, instance, instance.trusted[output]);
  OracleRun run{doubles(instance.exact[output]), trusted, {}, instance.is_rounded};
  for (const Instance::Outputs& moved : instance.perturbed)
    run.perturbed.push_back(doubles(moved[output]));
  return InstanceBudget::make({plan.argument->dtype,
                               {trusted.shape.begin(), trusted.shape.end()},
                               plan.terms,
                               plan.uneven || is_uneven},
                              std::move(run));
}

void OutputChecker::learn_terms(const Instance& ordinary) {
  for (std::size_t j = 0; j < plans_.size(); ++j) {
    if (!tensor::is_floating(plans_[j].argument->dtype)) continue;
    auto made = budget(j, ordinary);
    if (!made) continue;
    plans_[j].terms = static_cast<std::int64_t>(made->terms());
    plans_[j].uneven = true;
  }
}

Status OutputChecker::learn(std::span<const Instance> instances) {
  for (std::size_t j = 0; j < plans_.size(); ++j) {
    if (!tensor::is_floating(plans_[j].argument->dtype)) continue;
    std::vector<InstanceBudget> budgets;
    for (const Instance& instance : instances) {
      KW_TRY(InstanceBudget made, budget(j, instance));
      if (budgets.empty()) plans_[j].terms = static_cast<std::int64_t>(made.terms());
      budgets.push_back(std::move(made));
    }
    KW_TRY(plans_[j].learned, learn_baseline(budgets));
  }
  return {};
}

const task::Argument& OutputChecker::pointed_at(const Plan& plan) const {
  return plan.of_input >= 0 ? *inputs_[static_cast<std::size_t>(plan.of_input)]
                            : *plans_[static_cast<std::size_t>(plan.of_output)].argument;
}

Result<OracleComparison> OutputChecker::compare_with(const Instance& instance,
                                                     bool is_uneven) const {
  OracleComparison comparison(*this, instance);
  for (std::size_t j = 0; j < plans_.size(); ++j) {
    comparison.budgets_.emplace_back();
    if (!tensor::is_floating(plans_[j].argument->dtype)) continue;
    KW_TRY(InstanceBudget made, budget(j, instance, is_uneven));
    comparison.budgets_.back() = std::move(made);
  }
  return comparison;
}

CheckReport OracleComparison::check_indices_of(std::size_t output,
                                               const TensorView& candidate) const {
  const OutputChecker::Plan& plan = checker_->plans_[output];
  const task::Argument& target = checker_->pointed_at(plan);
  auto expected = integers(instance_->exact[output]);
  if (plan.of_input >= 0) {
    auto values = widened(target.dtype, instance_->inputs[static_cast<std::size_t>(plan.of_input)]);
    return check_indices(candidate, expected, {values, {}, target.shape, plan.policy.axis});
  }
  auto of = static_cast<std::size_t>(plan.of_output);
  const auto& budget = budgets_[of];
  std::vector<double> budgets(instance_->exact[of].size() / sizeof(double));
  for (std::size_t first = 0; budget && first < budgets.size(); first += budget->slices().columns)
    budget->budgets(first, std::span(budgets).subspan(first, budget->slices().columns));
  return check_indices(candidate, expected,
                       {doubles(instance_->exact[of]), budgets, target.shape, plan.policy.axis});
}

CheckReport OracleComparison::check(std::size_t output, std::span<const std::byte> ours) const {
  const OutputChecker::Plan& plan = checker_->plans_[output];
  const auto& budget = budgets_[output];
  TensorView candidate = checker_->view(output, *instance_, ours);
  switch (plan.policy.check) {
    case CheckKind::kSampling:
      return {};
    case CheckKind::kArgmaxOf:
    case CheckKind::kTopkOf:
      return check_indices_of(output, candidate);
    case CheckKind::kSet:
      return budget ? check_set(candidate, *budget)
                    : check_set(candidate, integers(instance_->exact[output]));
    case CheckKind::kExact:
      if (budget)
        return check_exact(candidate,
                           checker_->view(output, *instance_, instance_->trusted[output]));
      break;
    case CheckKind::kValues:
      if (budget) return check_against_oracle(candidate, *budget);
      break;
  }
  std::vector<std::span<const std::int64_t>> as_right;
  for (const Instance::Outputs& moved : instance_->perturbed) {
    if (plan.policy.check == CheckKind::kValues) as_right.push_back(integers(moved[output]));
  }
  return check_exact(candidate, integers(instance_->exact[output]), as_right);
}

CheckReport OutputChecker::indices_against_baseline(
    const Plan& plan, const TensorView& candidate, const TensorView& baseline,
    std::span<const std::span<const std::byte>> theirs,
    std::span<const std::span<const std::byte>> inputs) const {
  const task::Argument& target = pointed_at(plan);
  if (plan.of_input >= 0) {
    auto values = widened(target.dtype, inputs[static_cast<std::size_t>(plan.of_input)]);
    return check_indices(candidate, whole_numbers(baseline),
                         {values, {}, target.shape, plan.policy.axis});
  }
  auto of = static_cast<std::size_t>(plan.of_output);
  auto values = widened(target.dtype, theirs[of]);
  const BaselineCoefficients& learned = plans_[of].learned;
  double mean = 0;
  for (double value : values) mean += std::abs(value) / static_cast<double>(values.size());
  std::vector<double> budgets;
  budgets.reserve(values.size());
  for (double value : values)
    budgets.push_back(kSides *
                      (learned.relative * std::abs(value) + learned.slice * mean + learned.least));
  return check_indices(candidate, whole_numbers(baseline),
                       {values, budgets, target.shape, plan.policy.axis});
}

CheckReport OutputChecker::against_baseline(
    std::size_t output, std::span<const std::byte> ours,
    std::span<const std::span<const std::byte>> theirs,
    std::span<const std::span<const std::byte>> inputs) const {
  const Plan& plan = plans_[output];
  TensorView candidate = view(output, ours);
  TensorView baseline = view(output, theirs[output]);
  bool floating = tensor::is_floating(plan.argument->dtype);
  switch (plan.policy.check) {
    case CheckKind::kSampling:
      return {};
    case CheckKind::kExact:
      return check_exact(candidate, baseline);
    case CheckKind::kArgmaxOf:
    case CheckKind::kTopkOf:
      return indices_against_baseline(plan, candidate, baseline, theirs, inputs);
    case CheckKind::kSet: {
      if (!floating) return check_set(candidate, whole_numbers(baseline));
      auto a = sorted_rows(candidate);
      auto b = sorted_rows(baseline);
      return check_against_baseline(view(output, a), view(output, b), plan.learned, kSides);
    }
    case CheckKind::kValues:
      break;
  }
  return floating ? check_against_baseline(candidate, baseline, plan.learned, kSides)
                  : check_exact(candidate, baseline);
}

std::optional<BaselineRule> OutputChecker::baseline_rule(std::size_t output) const {
  const Plan& plan = plans_[output];
  const bool is_value = plan.policy.check == CheckKind::kValues;
  if (!is_value && plan.policy.check != CheckKind::kExact) return std::nullopt;
  return BaselineRule{!is_value || !tensor::is_floating(plan.argument->dtype), plan.learned,
                      kSides};
}

std::vector<std::size_t> OutputChecker::probability_inputs() const {
  std::vector<std::size_t> inputs;
  for (std::size_t j = 0; j < plans_.size(); ++j) {
    if (is_sampled(j)) inputs.push_back(input_of(j));
  }
  return inputs;
}

void OutputChecker::add_samples(std::size_t output, std::span<const std::byte> ours,
                                std::span<const std::byte> probabilities, Rng& rng,
                                SamplingTest& test) const {
  const task::Argument& declared = pointed_at(plans_[output]);
  auto values = widened(declared.dtype, probabilities);
  test.add(view(output, ours), values, static_cast<std::size_t>(declared.shape.back()), rng);
}

}  // namespace kw::gym
