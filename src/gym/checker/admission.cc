// The battery on the oracle's own data, and the influence of every input.
#include "gym/checker/admission.h"

#include <cstring>
#include <optional>
#include <utility>

#include "gym/correctness/battery.h"

namespace kw::gym {
namespace {

void offer(const AdmissionInput& in) {
  for (std::size_t i = 0; i < in.set.layout().count(); ++i)
    std::memcpy(in.oracle.input(i).data(), in.set.tensor(i).data(), in.set.layout().bytes(i));
  for (std::size_t i = 0; in.statics != nullptr && i < in.statics->layout().count(); ++i) {
    std::memcpy(in.oracle.static_tensor(i).data(), in.statics->tensor(i).data(),
                in.statics->layout().bytes(i));
  }
}

// Runs the reference on the set as it is now; empty when it fails there.
Result<Instance::Outputs> run(const AdmissionInput& in, Precision precision) {
  offer(in);
  KW_TRY(OracleAnswer answer, in.oracle.run({.precision = precision}));
  Instance::Outputs outputs;
  for (std::size_t j = 0; answer.ok && j < in.signature.outputs.size(); ++j) {
    auto bytes = in.oracle.output(j);
    outputs.emplace_back(bytes.begin(), bytes.end());
  }
  return outputs;
}

TensorView view_of(const task::Argument& argument, std::span<const std::byte> bytes) {
  return {argument.dtype, argument.shape, bytes};
}

class Admission {
 public:
  explicit Admission(const AdmissionInput& in) : in_(in), last_(in.instances.back()) {}

  Result<AdmissionReport> run_all() {
    for (const task::Argument& output : in_.signature.outputs) {
      if (output.elements() > 0) continue;
      report_.failure = fmt::format("output {} has no elements", output.name);
      return std::move(report_);
    }
    for (const Instance& instance : in_.instances) {
      KW_TRY(OracleComparison comparison, in_.checker.compare_with(instance));
      for (std::size_t j = 0; j < in_.signature.outputs.size(); ++j) {
        CheckReport own = comparison.check(j, instance.trusted[j]);
        if (own.passed) continue;
        report_.failure = fmt::format(
            "output {} of the reference at its declared precision does not agree with the "
            "reference "
            "in float64 (not deterministic?): {} of {} elements beyond the error budget, at most "
            "{:.3g} "
            "of it; bias {:.2g}, worst stretch {:.2g}",
            in_.signature.outputs[j].name, own.wrong, own.elements, own.max_of_budget, own.bias,
            own.worst_tile);
        return std::move(report_);
      }
    }
    KW_TRY(last_comparison_, in_.checker.compare_with(last_));
    KW_TRY_STATUS(battery());
    KW_TRY_STATUS(find_inert());
    return std::move(report_);
  }

 private:
  // Sampled outputs have no right answer of their own: every single call passes.
  bool judged(std::size_t output) const { return !in_.checker.is_sampled(output); }

  Accepts accepts() {
    return [this](std::size_t output, const TensorView& bytes) {
      return last_comparison_->check(output, bytes.bytes).passed;
    };
  }

  Status battery() {
    KW_TRY(Instance::Outputs lower, run(in_, Precision::kLower));
    std::vector<BatteryOutput> outputs;
    for (std::size_t j = 0; j < in_.signature.outputs.size(); ++j) {
      if (!judged(j)) continue;
      const task::Argument& argument = in_.signature.outputs[j];
      positions_.push_back(j);
      const auto& other = in_.instances.front().trusted[j];
      bool has_lower = !lower.empty() && task::is_floating(argument.dtype) && lowered(j);
      outputs.push_back(
          {view_of(argument, last_.trusted[j]),
           view_of(argument, in_.fixed_inputs ? std::span<const std::byte>{} : std::span(other)),
           view_of(argument, has_lower ? std::span<const std::byte>(lower[j])
                                       : std::span<const std::byte>{})});
    }
    std::vector<TensorView> inputs;
    auto tensors = tensors_of(in_.signature.inputs);
    for (std::size_t i = 0; i < tensors.size(); ++i)
      inputs.push_back(view_of(*tensors[i], std::as_const(in_.set).tensor(i)));
    Accepts accept = accepts();
    BatteryReport found = run_battery(outputs, inputs, [&](std::size_t j, const TensorView& bytes) {
      return accept(positions_[j], bytes);
    });
    report_.passing = std::move(found.wrongly_passing);
    return {};
  }

  // Exact and index outputs may be right when computed in a lower dtype.
  bool lowered(std::size_t output) const { return in_.checker.has_budget(output); }

  Status find_inert() {
    auto tensors = tensors_of(in_.signature.inputs);
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      auto data = in_.set.tensor(i);
      std::vector<std::byte> before(data.begin(), data.end());
      KW_TRY(OracleAnswer changed, in_.inputs.refill(in_.set, i, in_.seed + i + 1));
      if (!changed.ok) return {};
      bool same_input = std::memcmp(before.data(), data.data(), before.size()) == 0;
      KW_TRY(Instance::Outputs outputs, run(in_, Precision::kDeclared));
      std::memcpy(data.data(), before.data(), before.size());
      if (same_input || outputs.empty()) continue;
      bool matters = false;
      for (std::size_t j = 0; j < outputs.size(); ++j)
        matters =
            matters || !judged(j) || !accepts()(j, view_of(in_.signature.outputs[j], outputs[j]));
      if (!matters) report_.inert.push_back(tensors[i]->name);
    }
    return {};
  }

  const AdmissionInput& in_;
  const Instance& last_;
  std::optional<OracleComparison> last_comparison_;
  std::vector<std::size_t> positions_;  // of the battery's outputs among all
  AdmissionReport report_;
};

}  // namespace

Result<AdmissionReport> run_admission_battery(const AdmissionInput& input) {
  return Admission(input).run_all();
}

}  // namespace kw::gym
