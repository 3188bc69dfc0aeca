// Runs of the reference, with the fallback for references that do not run in float64.
#include "gym/checker/reference_runs.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "tensor/half.h"

namespace kw::gym {
namespace {

std::vector<std::byte> copy_of(std::span<const std::byte> bytes) {
  return {bytes.begin(), bytes.end()};
}

// Values of an int64 or float64 tensor in the declared dtype.
std::vector<std::byte> narrowed(tensor::DType dtype, std::span<const std::byte> wide) {
  constexpr std::size_t kWide = sizeof(double);
  const std::size_t elements = wide.size() / kWide, size = tensor::size_of(dtype);
  if (dtype == tensor::DType::kFloat64) return copy_of(wide);
  std::vector<std::byte> out(elements * size);
  if (tensor::is_floating(dtype)) {
    std::vector<float> values(elements);
    tensor::load(tensor::DType::kFloat64, wide, 0, values);
    tensor::store(dtype, values, 0, out);
    return out;
  }
  for (std::size_t i = 0; i < elements; ++i)
    std::memcpy(out.data() + i * size, wide.data() + i * kWide, size);
  return out;
}

}  // namespace

bool ReferenceRuns::is_judged_in_parts(std::size_t output) const {
  return signature_->outputs[output].elements() > whole_ &&
         checker_->baseline_rule(output).has_value();
}

Selections ReferenceRuns::random_parts() {
  Selections parts(signature_->outputs.size());
  bool any = false;
  for (std::size_t j = 0; j < parts.size(); ++j) {
    if (!is_judged_in_parts(j)) continue;
    Rng rng(seeds_->next());
    const auto most = std::min(Oracle::kMaxSelected, static_cast<std::size_t>(whole_));
    parts[j] = Selection::random(slices_of(signature_->outputs[j].shape), most, rng);
    any = true;
  }
  return any ? parts : Selections();
}

Result<OracleAnswer> ReferenceRuns::run_once(const TensorMemory& inputs, const Oracle::Run& how,
                                             const Selections& selected,
                                             Instance::Outputs& outputs) {
  KW_TRY_STATUS(oracle_->offer(inputs, statics_));
  Oracle::Run run = how;
  if (oracle_->selects()) run.selected = &selected;
  KW_TRY(OracleAnswer answer, oracle_->run(run));
  outputs.clear();
  const bool wide = how.precision == Precision::kFloat64 || how.precision == Precision::kSecond;
  for (std::size_t j = 0; answer.ok && j < signature_->outputs.size(); ++j) {
    const std::span<const std::byte> bytes = wide ? oracle_->output64(j) : oracle_->output(j);
    const std::size_t size = wide ? sizeof(double) : tensor::size_of(signature_->outputs[j].dtype);
    const std::optional<Selection> part = j < selected.size() ? selected[j] : std::nullopt;
    if (!part)
      outputs.push_back(copy_of(bytes));
    else if (oracle_->selects())
      outputs.push_back(copy_of(bytes.first(part->elements() * size)));
    else
      outputs.push_back(part->of(bytes, size));
  }
  return answer;
}

// Whether a reference that failed in float64 is to be tried by other operators instead: only before
// it has run in float64 once.
bool ReferenceRuns::fall_back_to_second(const OracleAnswer& float64) {
  if (float64.ok) exact_precision_is_settled_ = true;
  if (std::exchange(exact_precision_is_settled_, true)) return false;
  exact_precision_ = Precision::kSecond;
  return true;
}

Result<OracleAnswer> ReferenceRuns::run_exact(const TensorMemory& inputs, Instance& instance) {
  const auto run = [&] {
    return run_once(inputs, {.precision = exact_precision_}, instance.selected, instance.exact);
  };
  KW_TRY(OracleAnswer answer, run());
  if (!fall_back_to_second(answer)) return answer;
  KW_TRY(OracleAnswer second, run());
  if (second.ok) return second;
  answer.text += "\nIt does not run by other operators either: " + second.text;
  return answer;
}

Result<OracleAnswer> ReferenceRuns::run_perturbed(const TensorMemory& inputs,
                                                  PerturbedRuns perturbed, Instance& instance) {
  std::vector<Instance::Outputs>& outputs = instance.perturbed;
  // The first two runs move inputs only, to show how many inputs stand behind an element. Runs that
  // round do not show that: of those that would move inputs alone, one is enough.
  int unmoved_functions = perturbed.move_functions ? 2 : perturbed.count;
  instance.is_rounded = exact_precision_ == Precision::kSecond;
  if (instance.is_rounded && perturbed.move_functions) unmoved_functions = 0;
  if (instance.is_rounded && !perturbed.move_functions)
    perturbed.count = std::min(perturbed.count, 1);
  OracleAnswer answer;
  for (int i = 0; answer.ok && !checker_->steps().empty() && i < perturbed.count; ++i) {
    outputs.emplace_back();
    for (const PerturbationStep& step : checker_->steps()) {
      Instance::Outputs moved;
      KW_TRY(answer, run_moved(inputs, step, i >= unmoved_functions, instance.selected, moved));
      if (!answer.ok) break;
      if (outputs.back().empty()) outputs.back().resize(moved.size());
      for (std::size_t j = 0; j < moved.size(); ++j)
        if (checker_->step_of(j) == step) outputs.back()[j] = std::move(moved[j]);
    }
  }
  return answer;
}

Result<OracleAnswer> ReferenceRuns::run_moved(const TensorMemory& inputs,
                                              const PerturbationStep& step, bool move_functions,
                                              const Selections& selected,
                                              Instance::Outputs& outputs) {
  const Oracle::Run moved = {.precision = exact_precision_,
                             .perturb_seed = seeds_->next() | 1U,
                             .perturb_scale = step.inputs};
  if (move_functions) {
    Oracle::Run deeper = moved;
    deeper.function_scale = step.functions;
    KW_TRY(OracleAnswer answer, run_once(inputs, deeper, selected, outputs));
    if (answer.ok) return answer;
    // Not every reference runs operator by operator.
  }
  return run_once(inputs, moved, selected, outputs);
}

Status ReferenceRuns::run_second(const TensorMemory& inputs, const Selections& selected,
                                 Instance::Outputs& outputs) {
  Instance::Outputs wide;
  KW_TRY_STATUS(run_once(inputs, {.precision = Precision::kSecond}, selected, wide));
  outputs.clear();
  for (std::size_t j = 0; j < wide.size(); ++j)
    outputs.push_back(narrowed(signature_->outputs[j].dtype, wide[j]));
  return {};
}

Result<OracleAnswer> ReferenceRuns::run(const TensorMemory& inputs, Instance& instance,
                                        PerturbedRuns perturbed) {
  instance.inputs.clear();
  for (std::size_t i = 0; i < inputs.layout().count(); ++i) {
    instance.inputs.emplace_back();
    if (!checker_->needs_input(i)) continue;
    KW_TRY(auto bytes, inputs.view(i));
    instance.inputs.back() = copy_of(bytes);
  }
  if (instance.selected.empty()) instance.selected = random_parts();
  KW_TRY(OracleAnswer answer, run_once(inputs, {.precision = Precision::kDeclared},
                                       instance.selected, instance.trusted));
  if (!answer.ok) return answer;
  KW_TRY(answer, run_exact(inputs, instance));
  if (!answer.ok) return answer;
  instance.perturbed.clear();
  return run_perturbed(inputs, perturbed, instance);
}

}  // namespace kw::gym
