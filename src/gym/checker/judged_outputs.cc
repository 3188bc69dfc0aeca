// Decisions about a candidate's outputs.
#include "gym/checker/judged_outputs.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "base/random.h"
#include "gym/correctness/mismatch.h"
#include "os/parallel.h"

namespace kw::gym {
namespace {

constexpr std::int64_t kMaxAuditedBeside = std::int64_t{1} << 22U;  // elements

constexpr double kFarBeyondBudget = 4096;
constexpr std::uint64_t kFewOf = 8;
constexpr double kJustBeyondBudget = 1.000001;

// Says whether a failing output is close enough to its budget to be judged again. A budget may lack
// the rounding of the mean of a constant row in a norm: three hundred times as much, with the usual
// eps. Of integers only few may be decided otherwise.
bool is_close(const CheckReport& report, tensor::DType dtype) {
  return tensor::is_floating(dtype) ? report.max_of_budget < kFarBeyondBudget
                                    : report.wrong <= 1 + report.elements / kFewOf;
}

const char* words_for(const SamplingTest& test) {
  if (test.impossible() > 0) return "it drew indices of probability 0 or out of range";
  if (!test.is_drawn_anew()) return "its draws repeat where only the probabilities do";
  return "its draws do not follow the given probabilities";
}

}  // namespace

JudgedOutputs::JudgedOutputs(JudgingContext& context, Side& candidate, FirstFault& fault)
    : context_(context), candidate_(candidate), fault_(fault), hard_calls_(context.hard.size()) {
  for (const auto& output : context.signature.outputs) errors_.push_back({output.name, 0, 0, 0, 0});
}

bool JudgedOutputs::is_near(std::size_t output, const CheckReport& report) const {
  return context_.checker.has_budget(output) && is_near_budget(report);
}

bool JudgedOutputs::is_doubtful(std::size_t output, const CheckReport& report) const {
  return context_.checker.has_budget(output) && report.max_of_budget >= Doubt::kFrom;
}

// Whether all outputs pass, none of them near its budget.
bool JudgedOutputs::is_settled(std::span<const CheckReport> reports) const {
  for (std::size_t j = 0; j < reports.size(); ++j)
    if (!reports[j].passed || is_near(j, reports[j])) return false;
  return true;
}

Status JudgedOutputs::record(std::size_t output, const CheckReport& report, std::uint32_t set,
                             const Instance& right, std::optional<std::size_t> hard) {
  task::OutputError& error = errors_[output];
  kw::gym::record(report, error);
  std::optional<Fault> mismatch;
  if (!report.passed) {
    error.max_of_budget = std::max(error.max_of_budget, kJustBeyondBudget);
    KW_TRY(mismatch, mismatch_of(output, report, set, right, hard));
  }
  if (is_near(output, report)) {
    note_near(report.max_of_budget, hard, std::move(mismatch));
  } else if (mismatch) {
    fault_.blame(std::move(*mismatch));
  } else if (is_doubtful(output, report) && (!doubt_ || report.max_of_budget > doubt_->largest)) {
    doubt_ = {report.max_of_budget, hard};
  }
  return {};
}

void JudgedOutputs::note_near(double of_budget, std::optional<std::size_t> hard,
                              std::optional<Fault> mismatch) {
  if (!near_) near_.emplace();
  if (of_budget > near_->largest) {
    near_->largest = of_budget;
    near_->hard = hard;
  }
  if (!near_->mismatch) near_->mismatch = std::move(mismatch);
}

// The mistake is told from the right output in the declared dtype.
Result<Fault> JudgedOutputs::mismatch_of(std::size_t output, const CheckReport& report,
                                         std::uint32_t set, const Instance& right,
                                         std::optional<std::size_t> hard) const {
  const task::Argument& declared = context_.signature.outputs[output];
  const Selection* part = right.part(output);
  KW_TRY(OutputBytes ours, output_of(set, output, part));
  std::size_t unwritten = 0;
  if (part == nullptr && kept_ == nullptr) {
    KW_TRY(unwritten, candidate_.outputs().unwritten(set, output));
  }
  const std::span<const std::int64_t> shape = part != nullptr ? part->shape() : declared.shape;
  Mismatch mismatch =
      describe_mismatch({declared.dtype, shape, ours.bytes},
                        {declared.dtype, shape, right.trusted[output]}, report, unwritten);
  const std::string inputs =
      hard ? fmt::format(" (hard inputs: {})", context_.hard.at(*hard).name()) : "";
  return Fault{task::Outcome::kWrongValue, "",
               fmt::format("output {}{}: {}{}", declared.name,
                           part != nullptr ? " (a part of it)" : "", mismatch.text, inputs)};
}

std::vector<ComparedCall> JudgedOutputs::calls_of(std::span<const std::uint32_t> sets) const {
  std::vector<ComparedCall> calls;
  for (std::uint32_t set : sets) {
    calls.push_back(
        {set, context_.sets[set].get(), &candidate_.outputs(), &context_.baseline.outputs()});
  }
  return calls;
}

Result<Later<ComparedReports>> JudgedOutputs::compare_later(std::span<const std::uint32_t> sets) {
  return context_.comparer.compare_later(context_.checker, calls_of(sets));
}

Status JudgedOutputs::decide(std::span<const std::uint32_t> sets, Later<ComparedReports> compared,
                             bool in_first_block, const FilledCases& hard) {
  if (fault_.found()) return {};
  const std::vector<ComparedCall> calls = calls_of(sets);
  KW_TRY(const ComparedReports reports, compared.get());
  for (std::size_t i = 0; i < sets.size(); ++i)
    KW_TRY_STATUS(compare_call(calls[i], reports[i], in_first_block, hard[sets[i]]));
  return {};
}

Status JudgedOutputs::compare_call(const ComparedCall& call,
                                   const std::vector<CheckReport>& reports, bool in_first_block,
                                   const std::optional<FilledCase>& hard) {
  const std::uint32_t set = call.set;
  if (hard) ++hard_calls_[hard->number];
  bool is_doubtful = false;
  // Calls of the first block may all be hard: then the first ordinary one serves.
  const bool by_benchmark_rules = !hard && (in_first_block || !benchmark_rules_.has_compared());
  for (std::size_t j = 0; j < errors_.size() && !fault_.found(); ++j) {
    if (reports[j].passed) kw::gym::record(reports[j], errors_[j]);
    is_doubtful = is_doubtful || !reports[j].passed;
    if (!by_benchmark_rules) continue;
    KW_TRY(RulesResult by_rules,
           context_.comparer.compare_by_rules(context_.signature.outputs[j], j, call));
    benchmark_rules_.add(by_rules);
  }
  // The baseline errs too: only float64 can convict.
  if (!is_doubtful || fault_.found()) return {};
  if (!hard) return ask_oracle(set, doubtful_parts(reports));
  HardCase& of_set = context_.hard.at(hard->number);
  if (of_set.version != hard->version || !of_set.left_out.empty()) return {};
  return judge_hard(set, hard->number, doubtful_parts(reports));
}

// Whether the reference can be judged by on the set, which has the inputs of the case.
Result<bool> JudgedOutputs::may_judge_by(HardCase& hard, std::uint32_t set) {
  if (!hard.left_out.empty()) return false;
  return context_.hard.know(hard, context_.inputs, context_.reference, *context_.sets[set]);
}

// parts: the doubtful ones of large outputs; of these others were known before, if any.
Status JudgedOutputs::judge_hard(std::uint32_t set, std::size_t number, Selections parts) {
  HardCase& hard = context_.hard.at(number);
  KW_TRY(const bool is_fit, may_judge_by(hard, set));
  if (!is_fit) return {};
  const KnownOutputs* known = hard.known.get();
  KnownOutputs of_parts;
  if (!parts.empty()) {
    of_parts.instance.selected = std::move(parts);
    KW_TRY(hard.left_out,
           context_.hard.learn(hard, context_.reference, *context_.sets[set], of_parts));
    if (!hard.left_out.empty()) return {};
    known = &of_parts;
  }
  KW_TRY(Judged judged, judged_by(*known->comparison, set, &hard));
  if (judged.again != nullptr) known = judged.again.get();
  KW_TRY(const bool upheld, is_upheld(judged.reports, *known->comparison, set, hard));
  return upheld ? record_all(judged.reports, known->instance, set, number) : Status();
}

// A conviction on hard inputs wants more than budgets: other operators, as honest as the
// candidate's might be, must pass. Where they fail, the case is left out.
Result<bool> JudgedOutputs::is_upheld(std::span<const CheckReport> reports,
                                      const OracleComparison& comparison, std::uint32_t set,
                                      HardCase& hard) {
  if (std::ranges::all_of(reports, &CheckReport::passed)) return true;
  KW_TRY(const bool agrees, second_passes(comparison, set));
  if (!agrees) hard.left_out = "other operators give results beyond the error budget";
  return agrees;
}

Result<double> JudgedOutputs::judge_closely(std::uint32_t set, std::optional<std::size_t> hard) {
  ++audits_;
  HardCase* of_set = hard ? &context_.hard.at(*hard) : nullptr;
  if (of_set != nullptr) {
    KW_TRY(const bool is_fit, may_judge_by(*of_set, set));
    if (!is_fit) return 0.0;
  }
  const std::vector<ComparedCall> calls = calls_of(std::array{set});
  KW_TRY(const ComparedReports compared, context_.comparer.compare(context_.checker, calls));
  Instance instance;
  instance.selected = doubtful_parts(compared[0]);
  KW_TRY_STATUS(run_reference(set, kPerturbedRunsToConvict, instance));
  KW_TRY(const OracleComparison comparison,
         context_.checker.compare_with(instance, of_set != nullptr && of_set->is_uneven()));
  KW_TRY(const std::vector<CheckReport> reports, reports_by(comparison, set));
  if (of_set != nullptr) {
    KW_TRY(const bool upheld, is_upheld(reports, comparison, set, *of_set));
    if (!upheld) return 0.0;
  }
  KW_TRY_STATUS(record_all(reports, instance, set, hard));
  double largest = 0;
  for (std::size_t j = 0; j < reports.size(); ++j)
    if (context_.checker.has_budget(j)) largest = std::max(largest, reports[j].max_of_budget);
  return largest;
}

// Whether the reference passes when other operators compute it, as far as it runs so.
Result<bool> JudgedOutputs::second_passes(const OracleComparison& comparison, std::uint32_t set) {
  if (context_.reference.exact_precision() == Precision::kSecond) return true;
  Instance::Outputs second;
  KW_TRY_STATUS(
      context_.reference.run_second(*context_.sets[set], comparison.instance().selected, second));
  for (std::size_t j = 0; j < second.size(); ++j)
    if (!comparison.check(j, second[j]).passed) return false;
  return true;
}

Status JudgedOutputs::audit(std::uint32_t set, const AuditInstance* known) {
  if (known == nullptr) return ask_oracle(set, {});
  ++audits_;
  if (may_audit_beside()) return begin_audit(set, *known);
  return judge_by(*known->comparison, known->instance, set);
}

// Larger outputs are quicker to compare on all cores than on some.
bool JudgedOutputs::may_audit_beside() const {
  std::int64_t elements = 0;
  for (const task::Argument& output : context_.signature.outputs) elements += output.elements();
  return context_.options.timing && candidate_.executor().has_device_clock() && !begun_ &&
         elements <= kMaxAuditedBeside;
}

Status JudgedOutputs::begin_audit(std::uint32_t set, const AuditInstance& known) {
  BegunAudit& audit = begun_.emplace(BegunAudit());
  audit.set = set;
  audit.known = &known;
  for (std::size_t j = 0; j < errors_.size(); ++j) {
    const Selection* part = known.comparison->instance().part(j);
    KW_TRY(std::vector<std::byte> ours, part != nullptr ? candidate_.outputs().part(set, j, *part)
                                                        : candidate_.outputs().copy(set, j));
    audit.outputs.push_back(std::move(ours));
  }
  audit.reports = std::async(std::launch::async, [&outputs = audit.outputs, &known] {
    const os::LoopsBesideTiming loops;
    std::vector<CheckReport> reports;
    for (std::size_t j = 0; j < outputs.size(); ++j)
      reports.push_back(known.comparison->check(j, outputs[j]));
    return reports;
  });
  return {};
}

Status JudgedOutputs::end_audit() {
  if (!begun_ || !begun_->reports.valid()) return {};
  const AuditInstance& known = *begun_->known;
  const std::uint32_t set = begun_->set;
  const std::vector<CheckReport> reports = begun_->reports.get();
  Status judged;
  if (is_settled(reports)) {
    judged = record_all(reports, known.instance, set);
  } else if (!fault_.found()) {
    KW_TRY(OracleAnswer filled, context_.inputs.fill(*context_.sets[set], known.seed));
    if (!filled.ok)
      return fail(ErrorCode::kUnavailable, "the inputs cannot be made: {}", filled.text);
    kept_ = &begun_->outputs;
    judged = judge_by(*known.comparison, known.instance, set);
    kept_ = nullptr;
  }
  begun_.reset();
  return judged;
}

// The parts of large outputs in which wrong elements were seen, and parts at random of others. An
// output is judged whole where it is wrong and no elements were kept.
Selections JudgedOutputs::doubtful_parts(std::span<const CheckReport> reports) {
  Selections parts(reports.size());
  bool any = false;
  for (std::size_t j = 0; j < reports.size(); ++j) {
    if (!context_.reference.is_judged_in_parts(j)) continue;
    any = true;
    const Slices whole = slices_of(context_.signature.outputs[j].shape);
    Rng rng(context_.seeds.next());
    if (!reports[j].passed && reports[j].sample.empty()) continue;
    parts[j] = reports[j].passed
                   ? Selection::random(whole, Oracle::kMaxSelected, rng)
                   : Selection::around(whole, reports[j].sample, Oracle::kMaxSelected);
  }
  return any ? parts : Selections();
}

// selected: what is judged of large outputs; empty: parts at random.
Status JudgedOutputs::ask_oracle(std::uint32_t set, Selections selected) {
  ++audits_;
  Instance instance;
  instance.selected = std::move(selected);
  KW_TRY_STATUS(run_reference(set, {}, instance));
  KW_TRY(OracleComparison comparison, context_.checker.compare_with(instance));
  return judge_by(comparison, instance, set);
}

Status JudgedOutputs::run_reference(std::uint32_t set, PerturbedRuns perturbed,
                                    Instance& instance) {
  KW_TRY(OracleAnswer answer, context_.reference.run(*context_.sets[set], instance, perturbed));
  if (!answer.ok) return fail(ErrorCode::kUnavailable, "the reference failed: {}", answer.text);
  return {};
}

// A perturbed run may by luck move an element far less than rounding does. So an output that is
// close to its budget, on either side, is judged again by the budgets of several runs. These also
// move elementary functions by the accuracy of a vector library.
Result<JudgedOutputs::Judged> JudgedOutputs::judged_by(const OracleComparison& comparison,
                                                       std::uint32_t set, const HardCase* hard) {
  Judged judged;
  KW_TRY(judged.reports, reports_by(comparison, set));
  if (is_settled(judged.reports)) return judged;
  // Runs that round may agree to the bit where honest results are far apart, as a few large scores'
  // softmax. A constant row's variance is nothing but rounding. So no number of budgets is too many
  // for another look there.
  const bool may_be_far = hard != nullptr || comparison.instance().is_rounded;
  bool close = true;
  for (std::size_t j = 0; j < judged.reports.size(); ++j) {
    const CheckReport& report = judged.reports[j];
    const tensor::DType dtype = context_.signature.outputs[j].dtype;
    const bool is_any_close = may_be_far && tensor::is_floating(dtype);
    close = close && (report.passed || is_any_close || is_close(report, dtype));
  }
  if (!close) return judged;
  judged.again = std::make_unique<KnownOutputs>();
  Instance& instance = judged.again->instance;
  instance.selected = comparison.instance().selected;
  KW_TRY_STATUS(run_reference(set, kPerturbedRunsToConvict, instance));
  KW_TRY(OracleComparison closer,
         context_.checker.compare_with(instance, hard != nullptr && hard->is_uneven()));
  judged.again->comparison = std::make_unique<OracleComparison>(std::move(closer));
  KW_TRY(judged.reports, reports_by(*judged.again->comparison, set));
  return judged;
}

Status JudgedOutputs::judge_by(const OracleComparison& comparison, const Instance& instance,
                               std::uint32_t set) {
  KW_TRY(Judged judged, judged_by(comparison, set, nullptr));
  return record_all(judged.reports, judged.again ? judged.again->instance : instance, set);
}

Result<std::vector<CheckReport>> JudgedOutputs::reports_by(const OracleComparison& comparison,
                                                           std::uint32_t set) const {
  std::vector<CheckReport> reports;
  for (std::size_t j = 0; j < errors_.size(); ++j) {
    KW_TRY(OutputBytes ours, output_of(set, j, comparison.instance().part(j)));
    reports.push_back(comparison.check(j, ours.bytes));
  }
  return reports;
}

Result<JudgedOutputs::OutputBytes> JudgedOutputs::output_of(std::uint32_t set, std::size_t j,
                                                            const Selection* part) const {
  OutputBytes out;
  if (kept_ != nullptr) {
    out.bytes = (*kept_)[j];
    return out;
  }
  if (part == nullptr) {
    KW_TRY(out.bytes, candidate_.outputs().output(set, j));
    return out;
  }
  KW_TRY(out.own, candidate_.outputs().part(set, j, *part));
  out.bytes = out.own;
  return out;
}

Status JudgedOutputs::record_all(std::span<const CheckReport> reports, const Instance& instance,
                                 std::uint32_t set, std::optional<std::size_t> hard) {
  for (std::size_t j = 0; j < reports.size() && !fault_.found(); ++j)
    KW_TRY_STATUS(record(j, reports[j], set, instance, hard));
  return {};
}

Status JudgedOutputs::add_samples(std::span<const std::uint32_t> sets) {
  for (std::size_t j = 0; j < errors_.size() && !fault_.found(); ++j) {
    if (!context_.checker.is_sampled(j)) continue;
    Rng rng(context_.seeds.next());
    for (std::uint32_t set : sets) {
      KW_TRY(auto ours, candidate_.outputs().output(set, j));
      KW_TRY(auto probabilities, context_.sets[set]->view(context_.checker.input_of(j)));
      context_.checker.add_samples(j, ours, probabilities, rng, sampled_[j]);
    }
  }
  return {};
}

// Draws say something only together.
void JudgedOutputs::judge_samples() {
  for (const auto& [output, test] : sampled_) {
    if (test.passed() || fault_.found()) continue;
    errors_[output].max_of_budget = std::max(errors_[output].max_of_budget, kJustBeyondBudget);
    fault_.blame({task::Outcome::kWrongValue, "",
                  fmt::format("output {}: {}", errors_[output].output, words_for(test))});
  }
}

}  // namespace kw::gym
