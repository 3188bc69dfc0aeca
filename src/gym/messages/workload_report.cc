// The fields of a report, each with its key.
#include "gym/messages/workload_report.h"

#include "text/enum_names.h"

namespace kw::gym {

namespace {
constexpr auto kOracleKinds = text::enum_names<OracleKind>({
    {OracleKind::kFloat64, "float64"},
    {OracleKind::kSecondImplementation, "second_implementation"},
});
}  // namespace

template <typename F, Is<task::OutputError> M>
void fields(F& f, M& m) {
  f.required("output", m.output);
  f.or_infinite("max_absolute", m.max_absolute);
  f.or_infinite("max_relative", m.max_relative);
  f.or_infinite("max_of_budget", m.max_of_budget);
  f.required("checked_calls", m.checked_calls);
}

template <typename F, Is<task::Borderline> M>
void fields(F& f, M& m) {
  f.or_infinite("largest", m.largest);
  f("further", m.further);
}

template <typename F, Is<task::CompatKernelBench> M>
void fields(F& f, M& m) {
  f("compiled", m.compiled);
  f("correctness", m.correctness);
}

template <typename F, Is<task::CompatFlashInfer> M>
void fields(F& f, M& m) {
  f("status", m.status);
  f("max_absolute_error", m.max_absolute_error);
  f("max_relative_error", m.max_relative_error);
}

template <typename F, Is<task::Diagnostic> M>
void fields(F& f, M& m) {
  if constexpr (!std::is_const_v<M>) m.kind = "hint";  // stored diagnostics without a kind
  f("kind", m.kind);
  f("message", m.message);
}

template <typename F, Is<task::HardInputs> M>
void fields(F& f, M& m) {
  f("inputs", m.inputs);
  f("calls", m.calls);
  f("left_out", m.left_out);
}

static Status read_json(const Json& value, const std::string& where, Reading /*how*/,
                        task::GpuFacts& out) {
  KW_TRY(ObjectReader reader, ObjectReader::make(value, where));
  KW_TRY(out, task::gpu_facts_from(reader));
  return {};
}

template <typename F, Is<RivalReport> M>
void fields(F& f, M& m) {
  f("baseline", m.baseline);
  f("failure", m.failure);
  f("rival_ns", m.rival_ns);
  f("reference_ns", m.reference_ns);
  f("pair_samples", m.pair_samples);
}

template <typename F, Is<WorkloadCost> M>
void fields(F& f, M& m) {
  f("load_ms", m.load_ms);
  f("prepare_ms", m.prepare_ms);
  f("calibrate_ms", m.calibrate_ms);
  f("fill_ms", m.fill_ms);
  f("check_ms", m.check_ms);
  f("time_ms", m.time_ms);
  f("lease_ms", m.lease_ms);
  f("gpu_busy_ms", m.gpu_busy_ms);
}

template <typename F, Is<LaunchedKernel> M>
void fields(F& f, M& m) {
  f("identity", m.identity);
  f("launches", m.launches);
  f("programs", m.programs);
}

template <typename F, Is<LaunchReport> M>
void fields(F& f, M& m) {
  f("kernel_count", m.kernel_count);
  f("library_calls", m.library_calls);
  f("configurations", m.configurations);
  f("masked_lanes", m.masked_lanes);
  f("kernels", m.kernels);
}

template <typename F, Is<RanKernel> M>
void fields(F& f, M& m) {
  f("name", m.name);
  f("launches", m.launches);
  f("programs", m.programs);
  f("num_warps", m.num_warps);
  f("num_stages", m.num_stages);
  f("shared_bytes", m.shared_bytes);
}

namespace {

template <typename F, Is<WorkloadReport> M>
void report_fields(F& f, M& m, bool is_lenient) {
  f.required("uuid", m.uuid);
  f.required("outcome", m.outcome);
  // Nothing ran, so there is nothing else to report.
  if (m.outcome == task::Outcome::kCompileError && !is_lenient) return;
  f("violation", m.violation);
  f("errors", m.errors);
  f("borderline", m.borderline);
  f("candidate_ns", m.candidate_ns);
  f("reference_ns", m.reference_ns);
  f("clock", m.clock);
  f("timed", m.timed);
  f("pair_samples", m.pair_samples);
  f("null_launch_ns", m.null_launch_ns);
  f("blocks", m.blocks);
  f("disturbed_samples", m.disturbed_samples);
  f("disturbed_by_faults", m.disturbed_by_faults);
  f("audits", m.audits);
  f("oracle", m.oracle);
  f("call_ms", m.call_ms);
  f("candidate_page_faults", m.candidate_page_faults);
  f("reference_page_faults", m.reference_page_faults);
  f("candidate_waited_ns", m.candidate_waited_ns);
  f("reference_waited_ns", m.reference_waited_ns);
  f("cost", m.cost);
  f("rivals", m.rivals);
  f("gpu", m.gpu);
  f("flashinfer", m.flashinfer);
  f("kernelbench", m.kernelbench);
  f("hard_inputs", m.hard_inputs);
  f("diagnostics", m.diagnostics);
  f("launches", m.launches);
  f("kernels", m.kernels);
  f("log", m.log);
}

}  // namespace

std::string_view to_string(OracleKind kind) {
  return kOracleKinds.name(kind);
}

void WorkloadCost::add(const WorkloadCost& more) {
  for (auto part : {&WorkloadCost::load_ms, &WorkloadCost::prepare_ms, &WorkloadCost::calibrate_ms,
                    &WorkloadCost::fill_ms, &WorkloadCost::check_ms, &WorkloadCost::time_ms,
                    &WorkloadCost::lease_ms, &WorkloadCost::gpu_busy_ms})
    this->*part += more.*part;
}

// A fault has cost the context, and who wrote beside its outputs may have written elsewhere.
bool leaves_context_usable(task::Outcome outcome) {
  return outcome == task::Outcome::kPassed || outcome == task::Outcome::kWrongValue;
}

void WorkloadReport::clear_samples() {
  candidate_ns.clear();
  reference_ns.clear();
  pair_samples.clear();
}

Json to_json(const WorkloadReport& report) {
  FieldWriter writer;
  report_fields(writer, report, false);
  return writer.take();
}

Status read_json(const Json& value, const std::string& where, Reading how, WorkloadReport& out) {
  KW_TRY(ObjectReader object, ObjectReader::make(value, where));
  FieldReader reader(std::move(object), how);
  report_fields(reader, out, reader.is_lenient());
  return reader.finish();
}

}  // namespace kw::gym
