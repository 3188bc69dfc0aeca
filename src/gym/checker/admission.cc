// The battery on the oracle's own data, and the influence of every input.
#include "gym/checker/admission.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "gym/correctness/battery.h"
#include "gym/correctness/share_test.h"
#include "tensor/half.h"

namespace kw::gym {
namespace {

// Runs the reference on the set as it is now; empty when it fails there.
Result<Instance::Outputs> run(const AdmissionInput& in, Precision precision,
                              const Selections& selected) {
  Instance::Outputs outputs;
  KW_TRY(OracleAnswer answer,
         in.reference.run_once(in.set, {.precision = precision}, selected, outputs));
  return answer.ok ? outputs : Instance::Outputs{};
}

// Whether every value is one of the dtype's too. Computed in it, such an output may be right.
bool fits(tensor::DType dtype, const TensorView& view) {
  constexpr std::size_t kChunk = 2048;
  std::vector<double> values;
  for (std::size_t first = 0; first < view.elements(); first += kChunk) {
    values.resize(std::min(kChunk, view.elements() - first));
    load(view.dtype, view.bytes, first, values);
    for (double value : values) {
      if (static_cast<double>(tensor::round_to(dtype, static_cast<float>(value))) != value)
        return false;
    }
  }
  return true;
}

TensorView view_of(const task::Argument& argument, std::span<const std::byte> bytes) {
  return {argument.dtype, argument.shape, bytes};
}

constexpr std::int64_t kFewOutputElements = 65'536;  // further draws are tried on so few anyway
constexpr int kFirstDraws = 3;  // after so many a candidate that never passed is settled
constexpr int kInertDraws = 24;
constexpr int kMaxDraws = 100;
constexpr int kMinDraws = 3;
constexpr int kRunsOfADraw = 10;
constexpr std::chrono::seconds kDrawingTime{20};
constexpr int kConfirmingDraws = 3;

bool contains(const std::vector<std::string>& names, const std::string& name) {
  return std::ranges::find(names, name) != names.end();
}

class Admission {
 public:
  explicit Admission(const AdmissionInput& in) : in_(in), hard_(&in.hard) {}

  Result<AdmissionReport> run_all() {
    for (const task::Argument& output : in_.signature.outputs) {
      if (output.elements() > 0) continue;
      report_.failure = fmt::format("output {} has no elements", output.name);
      return std::move(report_);
    }
    KW_TRY_STATUS(check_reference());
    if (!report_.failure.empty()) return std::move(report_);
    other_ = &in_.learned.instances.front().trusted;
    if (may_draw() && has_few_elements()) {
      KW_TRY_STATUS(begin_repeatable_draws());
    } else {
      KW_TRY_STATUS(try_learned_draw());
    }
    if (may_draw()) KW_TRY_STATUS(try_further_draws());
    if (draws_ == 0) {
      KW_TRY_STATUS(in_.inputs.fill(in_.set, in_.learned.seeds.back()));
      KW_TRY_STATUS(try_learned_draw());
    }
    for (const Tried& one : tried_)
      if (one.passes.is_often()) report_.passing.push_back(one.name);
    return std::move(report_);
  }

 private:
  struct Tried {
    std::string name;
    ShareTest passes;
  };

  // ---- the reference itself
  Result<std::string> own_failure(const Instance& instance) const {
    KW_TRY(OracleComparison comparison, in_.checker.compare_with(instance));
    for (std::size_t j = 0; j < in_.signature.outputs.size(); ++j) {
      const CheckReport own = comparison.check(j, instance.trusted[j]);
      if (own.passed) continue;
      return fmt::format(
          "output {} of the reference at its declared precision does not agree with the reference "
          "in float64 (not deterministic?): {} of {} elements beyond the error budget, at most "
          "{:.3g} of it; bias {:.2g}, worst stretch {:.2g}",
          in_.signature.outputs[j].name, own.wrong, own.elements, own.max_of_budget, own.bias,
          own.worst_tile);
    }
    return std::string();
  }

  // A failure counts where most of further draws show it too, by the budgets that convict.
  Status check_reference() {
    std::string failure;
    for (const Instance& instance : in_.learned.instances) {
      KW_TRY(failure, own_failure(instance));
      if (!failure.empty()) break;
    }
    if (failure.empty()) return {};
    int failures = 0;
    for (int i = 0; i < kConfirmingDraws; ++i) {
      Instance instance;
      KW_TRY(bool is_drawn, draw(kPerturbedRunsToConvict, instance));
      if (!is_drawn) break;
      KW_TRY(std::string again, own_failure(instance));
      failures += again.empty() ? 0 : 1;
    }
    if (2 * failures > kConfirmingDraws) report_.failure = std::move(failure);
    // The first draw is that of the set.
    KW_TRY_STATUS(in_.inputs.fill(in_.set, in_.learned.seeds.back()));
    return {};
  }

  // ---- draws
  // Fresh inputs in the set, and what the reference gives for them; false where it fails.
  Result<bool> draw(PerturbedRuns perturbed, Instance& instance) {
    KW_TRY(OracleAnswer answer, in_.inputs.fill(in_.set, in_.seeds.next()));
    if (!answer.ok) return false;
    KW_TRY(answer, in_.reference.run(in_.set, instance, perturbed));
    return answer.ok;
  }

  bool may_draw() const {
    return !in_.fixed_inputs && in_.learned.instances.back().selected.empty();
  }

  // From here on draws, hard inputs and perturbed runs are the same each time.
  Status begin_repeatable_draws() {
    known_.emplace(in_.seeds, known_seed_of(in_.signature));
    if (in_.hard.size() > 0) {
      own_hard_ = HardCases(in_.signature, in_.inputs, in_.checker, in_.seeds);
      hard_ = &own_hard_;
    }
    KW_TRY(OracleAnswer filled, in_.inputs.fill(in_.set, in_.seeds.next()));
    if (!filled.ok) return {};
    KW_TRY(before_, run(in_, Precision::kDeclared, {}));
    if (!before_.empty()) other_ = &before_;
    return {};
  }

  Status try_learned_draw() {
    const Instance& last = in_.learned.instances.back();
    KW_TRY(OracleComparison comparison, in_.checker.compare_with(last));
    return try_draw(last, comparison);
  }

  // The instance's inputs are in the set.
  Status try_draw(const Instance& instance, const OracleComparison& comparison) {
    const bool is_first = draws_++ == 0;
    KW_TRY(BatteryReport found, battery(instance, comparison));
    std::vector<std::string> passing = std::move(found.wrongly_passing);
    // Outputs that are judged in parts are large: this test would copy an input to the host and
    // back.
    if (is_first && instance.selected.empty()) report_.inert = names_of_inputs();
    KW_TRY(report_.inert, inert(comparison, report_.inert));
    KW_TRY_STATUS(try_hard_inputs(passing, !is_first));
    for (const std::string& name : found.tried) count(name, contains(passing, name));
    return {};
  }

  void count(const std::string& name, bool passes) {
    auto found = std::ranges::find(tried_, name, &Tried::name);
    if (found == tried_.end()) found = tried_.insert(found, Tried{name, {}});
    found->passes.add(passes);
  }

  bool wants_draw() const {
    if (draws_ == 0) return true;
    if (draws_ < kInertDraws && !report_.inert.empty()) return true;
    const int first = has_few_elements() ? kFirstDraws : 1;
    return std::ranges::any_of(tried_, [&](const Tried& one) {
      if (one.passes.happened() == 0 && draws_ >= first) return false;
      return !one.passes.is_decided();
    });
  }

  bool has_few_elements() const {
    std::int64_t elements = 0;
    for (const task::Argument& output : in_.signature.outputs) elements += output.elements();
    return elements <= kFewOutputElements;
  }

  Status try_further_draws() {
    const auto draw_time = kRunsOfADraw * std::max(in_.reference_time, std::chrono::nanoseconds(1));
    const auto most = std::clamp<std::int64_t>(kDrawingTime / draw_time, kMinDraws, kMaxDraws);
    while (draws_ < most && wants_draw()) {
      Instance instance;
      KW_TRY(bool is_drawn, draw({.count = 2}, instance));
      if (!is_drawn) break;
      // It gives NaN on some inputs: nothing more is known.
      auto comparison = in_.checker.compare_with(instance);
      if (!comparison && comparison.error().code() == ErrorCode::kInvalidArgument) break;
      if (!comparison) return tl::unexpected(std::move(comparison).error());
      KW_TRY_STATUS(try_draw(instance, *comparison));
      before_ = std::move(instance.trusted);
      other_ = &before_;
    }
    return {};
  }

  // Sampled outputs have no right answer of their own: every single call passes.
  bool judged(std::size_t output) const { return !in_.checker.is_sampled(output); }

  static Accepts accepts(const OracleComparison& comparison) {
    return [&comparison](std::size_t output, const TensorView& bytes) {
      return comparison.check(output, bytes.bytes).passed;
    };
  }

  std::vector<std::string> names_of_inputs() const {
    std::vector<std::string> names;
    for (const task::Argument* tensor : tensors_of(in_.signature.inputs))
      names.push_back(tensor->name);
    return names;
  }

  // Trivial candidates on one instance, whose inputs the set holds.
  Result<BatteryReport> battery(const Instance& instance, const OracleComparison& comparison) {
    positions_.clear();
    KW_TRY(Instance::Outputs lower, run(in_, Precision::kLower, instance.selected));
    std::vector<BatteryOutput> outputs;
    for (std::size_t j = 0; j < in_.signature.outputs.size(); ++j) {
      if (!judged(j)) continue;
      const task::Argument& argument = in_.signature.outputs[j];
      positions_.push_back(j);
      // Parts of large outputs may differ in size: then there is no other output to try.
      const bool has_other = !in_.fixed_inputs && (*other_)[j].size() == instance.trusted[j].size();
      const Selection* part = instance.part(j);
      const auto view = [&](std::span<const std::byte> bytes) {
        return part != nullptr ? TensorView{argument.dtype, part->shape(), bytes}
                               : view_of(argument, bytes);
      };
      const bool has_lower = !lower.empty() && may_be_lowered(j, view(instance.trusted[j]));
      outputs.push_back(
          {view(instance.trusted[j]),
           view(has_other ? std::span<const std::byte>((*other_)[j])
                          : std::span<const std::byte>{}),
           view(has_lower ? std::span<const std::byte>(lower[j]) : std::span<const std::byte>{})});
    }
    std::vector<TensorView> inputs;
    auto tensors = tensors_of(in_.signature.inputs);
    // Whole inputs are no answers for parts.
    for (std::size_t i = 0; i < tensors.size() && instance.selected.empty(); ++i) {
      KW_TRY(auto bytes, in_.set.view(i));
      inputs.push_back(view_of(*tensors[i], bytes));
    }
    Accepts accept = accepts(comparison);
    return run_battery(outputs, inputs, [&](std::size_t j, const TensorView& bytes) {
      return accept(positions_[j], bytes);
    });
  }

  // Whether the output, computed in the next lower dtype, is wrong for certain. Exact and index
  // outputs may be right, and so may those of few values: 0 and 1, small whole numbers, float8.
  bool may_be_lowered(std::size_t output, const TensorView& right) const {
    if (!in_.checker.has_budget(output) || tensor::size_of(right.dtype) == 1) return false;
    const auto lower = tensor::next_lower(right.dtype);
    return lower && !fits(*lower, right);
  }

  // The inputs of `names` whose other values are no wrong answer to those that the set holds.
  Result<std::vector<std::string>> inert(const OracleComparison& comparison,
                                         const std::vector<std::string>& names) {
    std::vector<std::string> out;
    auto tensors = tensors_of(in_.signature.inputs);
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      if (std::ranges::find(names, tensors[i]->name) == names.end()) continue;
      KW_TRY(auto held, in_.set.view(i));
      const std::vector<std::byte> before(held.begin(), held.end());
      KW_TRY(OracleAnswer changed, in_.inputs.refill(in_.set, i, in_.seeds.next()));
      if (!changed.ok) return out;
      KW_TRY(auto now, in_.set.view(i));
      bool same_input = std::ranges::equal(before, now);
      KW_TRY(Instance::Outputs outputs, run(in_, Precision::kDeclared, {}));
      KW_TRY_STATUS(in_.set.write(i, before));
      if (same_input || outputs.empty()) continue;
      bool matters = false;
      for (std::size_t j = 0; j < outputs.size(); ++j)
        matters = matters || !judged(j) ||
                  !accepts(comparison)(j, view_of(in_.signature.outputs[j], outputs[j]));
      if (!matters) out.push_back(tensors[i]->name);
    }
    return out;
  }

  // A candidate that passes on ordinary inputs may fail on hard ones that every judgement has.
  Status try_hard_inputs(std::vector<std::string>& passing, bool with_others) {
    for (std::size_t number : hard_->certain()) {
      if (passing.empty() && report_.inert.empty()) return {};
      HardCase& hard = hard_->at(number);
      if (with_others) hard_->renew(hard);
      KW_TRY(bool is_fit, fill_with(hard));
      if (!is_fit) continue;
      const KnownOutputs& known = *hard.known;
      KW_TRY(BatteryReport found, battery(known.instance, *known.comparison));
      std::erase_if(passing, [&](const std::string& name) {
        return contains(found.tried, name) && !contains(found.wrongly_passing, name);
      });
      KW_TRY(report_.inert, inert(*known.comparison, report_.inert));
    }
    return {};
  }

  // Whether outputs can be judged by the reference's for these inputs. A mix may lose kinds first.
  Result<bool> fill_with(HardCase& hard) {
    constexpr int kTries = 2;
    for (int i = 0; i < kTries && hard.left_out.empty(); ++i) {
      KW_TRY(OracleAnswer filled, hard_->fill(hard, in_.inputs, in_.set));
      if (!filled.ok) return false;
      KW_TRY(bool is_fit, hard_->know(hard, in_.inputs, in_.reference, in_.set));
      if (is_fit) return true;
    }
    return false;
  }

  const AdmissionInput& in_;
  HardCases* hard_;
  HardCases own_hard_;  // of repeatable draws
  std::optional<SessionSeeds::Known> known_;
  // Outputs for other inputs: of the instances, then of the draw before.
  const Instance::Outputs* other_ = nullptr;
  Instance::Outputs before_;
  int draws_ = 0;
  std::vector<Tried> tried_;
  std::vector<std::size_t> positions_;  // of the battery's outputs among all
  AdmissionReport report_;
};

}  // namespace

Result<AdmissionReport> run_admission_battery(const AdmissionInput& input) {
  return Admission(input).run_all();
}

}  // namespace kw::gym
