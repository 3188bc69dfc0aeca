// Opening a workload and passing candidates to its checker.
#include "gym/supervisor/problem_session.h"

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "gym/measure/timing_lock.h"
#include "os/memory.h"
#include "task/safetensors.h"
#include "task/settings.h"

namespace kw::gym {
namespace {

constexpr std::uint64_t kBaseMemory = 2ULL << 30U;
constexpr std::uint64_t kMaxStoredTensor = 16ULL << 30U;
// A/A runs of gelu, softmax and layer_norm: docs/measuring.md.
constexpr double kPlacedBytesPerSecond = 1e9, kPlacedHalfWidthPercent = 2;
constexpr int kManyPairs = 8;  // four times with the memory of one pair, then exchanged

Json distribution_json(const task::InputPolicy& policy) {
  Json json = {{"distribution", static_cast<int>(policy.distribution)}};
  if (policy.low) json["low"] = *policy.low;
  if (policy.high) json["high"] = *policy.high;
  return json;
}

Json input_plan(const task::Problem& problem, const task::Workload& workload,
                const task::TensorSpec& spec) {
  const task::WorkloadPolicy& here = problem.workload_policy(workload.uuid);
  const task::InputPolicy* policy = nullptr;
  if (auto found = problem.policy.inputs.find(spec.name); found != problem.policy.inputs.end())
    policy = &found->second;
  Json ordinary = policy != nullptr ? distribution_json(*policy) : distribution_json({});
  if (auto found = here.inputs.find(spec.name); found != here.inputs.end()) policy = &found->second;
  Json plan = policy != nullptr ? distribution_json(*policy) : distribution_json({});
  plan["name"] = spec.name;
  plan["ordinary"] = ordinary;  // what the problem's other workloads have
  return plan;
}

// One entry a tensor input or static of a definition; safetensors inputs travel as memory files.
Status add_input_plans(const task::Problem& problem, const task::Workload& workload, Json& body,
                       OutgoingFds& fds, std::vector<os::UniqueFd>& keep) {
  Json plans = Json::array();
  for (const task::TensorSpec& spec : problem.definition().inputs) {
    if (!spec.shape) continue;
    Json plan = input_plan(problem, workload, spec);
    for (const auto& [name, source] : workload.inputs) {
      const auto* stored = std::get_if<task::SafetensorsInput>(&source);
      if (name != spec.name || stored == nullptr) continue;
      KW_TRY(
          task::StoredTensor tensor,
          task::read_safetensor(problem.root / stored->path, stored->tensor_key, kMaxStoredTensor));
      if (tensor.dtype != spec.dtype)
        return fail(ErrorCode::kInvalidArgument, "{}: tensor {} is {}, the definition says {}",
                    stored->path, stored->tensor_key, task::to_string(tensor.dtype),
                    task::to_string(spec.dtype));
      KW_TRY(os::UniqueFd file,
             os::make_sealed_file(
                 spec.name, std::string_view(reinterpret_cast<const char*>(tensor.data.data()),
                                             tensor.data.size())));
      plan["fixed"] = "fixed." + spec.name;
      fds.add("fixed." + spec.name, file.get());
      keep.push_back(std::move(file));
    }
    plans.push_back(std::move(plan));
  }
  body["inputs"] = plans;
  return {};
}

Json output_plans(const task::Problem& problem, const std::vector<std::string>& names) {
  Json plans = Json::object();
  for (const std::string& name : names) {
    auto found = problem.policy.outputs.find(name);
    if (found == problem.policy.outputs.end()) continue;
    const task::OutputPolicy& policy = found->second;
    plans[name] = {{"check", static_cast<int>(policy.check)},
                   {"of", policy.of},
                   {"axis", policy.axis},
                   {"largest", policy.largest},
                   {"reduction_length", policy.reduction_length}};
  }
  return plans;
}

Json checker_options(const task::Problem& problem, const EvalOptions& options,
                     const task::Workload& workload) {
  return {{"threads", options.threads},
          {"half_width", options.precise ? kPreciseHalfWidth : options.half_width_percent / 100},
          {"max_seconds", options.max_seconds},
          {"timeout_seconds", options.timeout_seconds},
          {"timing", is_timed(problem, workload, options)},
          {"deterministic", problem.policy.deterministic},
          {"disabled", options.disabled}};
}

std::vector<std::string> strings(const Json& list) {
  std::vector<std::string> out;
  for (const Json& item : list) out.push_back(item.get<std::string>());
  return out;
}

std::uint64_t tensor_bytes(const task::Signature& signature) {
  std::uint64_t bytes = 0;
  for (const auto* list : {&signature.inputs, &signature.statics, &signature.outputs}) {
    for (const task::Argument& argument : *list) bytes += argument.bytes();
  }
  return bytes;
}

Status as_status(const Json& answer) {
  if (!answer.contains("error")) return {};
  const Json& error = answer["error"];
  auto code = static_cast<ErrorCode>(error.value("code", static_cast<int>(ErrorCode::kInternal)));
  return fail(code, error.value("message", "the checker failed"));
}

}  // namespace

bool is_timed(const task::Problem& problem, const task::Workload& workload,
              const EvalOptions& options) {
  return options.timing && problem.workload_policy(workload.uuid).timed;
}

Result<std::string> reference_source(const task::Problem& problem) {
  if (!problem.is_module()) return problem.definition().reference;
  return task::apply_settings(problem.module().source, problem.module().settings);
}

Result<std::unique_ptr<ProblemSession>> ProblemSession::open(
    const Context& context, const task::Problem& problem, const task::Workload& workload,
    const EvalOptions& options, const Opening& opening, const std::stop_token& stop) {
  std::unique_ptr<ProblemSession> session(new ProblemSession);
  session->context_ = context;
  session->options_ = options;
  session->module_ = problem.is_module();
  session->cores_ =
      plan_cores(options.threads, opening.judge && is_timed(problem, workload, options));
  Json body = {{"op", "open"},
               {"kind", problem.is_module() ? "module" : "definition"},
               {"admit", opening.admit},
               {"judge", opening.judge},
               {"oracle_timeout_seconds", opening.oracle_timeout_seconds}};
  OutgoingFds fds;
  std::vector<os::UniqueFd> keep;
  session->memory_bytes_ = options.memory_bytes;
  std::vector<std::string> outputs;
  if (!problem.is_module()) {
    KW_TRY(session->signature_,
           task::signature_of(problem.definition(), workload, problem.policy.statics));
    if (session->memory_bytes_ == 0)
      session->memory_bytes_ = kBaseMemory + 4 * tensor_bytes(session->signature_);
    body["signature"] = task::to_json(session->signature_);
    KW_TRY_STATUS(add_input_plans(problem, workload, body, fds, keep));
    for (const auto& output : session->signature_.outputs) outputs.push_back(output.name);
  } else {
    for (const auto& [name, policy] : problem.policy.outputs) outputs.push_back(name);
  }
  body["outputs"] = output_plans(problem, outputs);
  body["options"] = checker_options(problem, options, workload);
  body["oracle_setup"] = {{"kind", body["kind"]},
                          {"entry", problem.is_module() ? problem.module().entry_point : "run"},
                          {"settings", Json::array()},
                          {"threads", options.threads}};
  KW_TRY(std::string reference, reference_source(problem));
  KW_TRY(os::UniqueFd source, os::make_sealed_file("reference", reference));
  fds.add("reference", source.get());
  RoleLimits oracle_limits{
      session->memory_bytes_ == 0 ? 3 * kBaseMemory : kBaseMemory + 2 * session->memory_bytes_,
      options.threads};
  if (opening.oracle_memory_bytes > 0) oracle_limits.memory_bytes = opening.oracle_memory_bytes;
  KW_TRY(session->oracle_, context.roles->start_oracle(oracle_limits));
  KW_TRY(body["oracle_monitor"], session->oracle_.add_to(fds, "oracle."));
  KW_TRY(TimingLock of_checker, TimingLock::open());
  fds.add("timing.lock", of_checker.lock_fd());
  fds.add("timing.queue", of_checker.queue_fd());
  body["fds"] = fds.names();

  KW_TRY(session->checker_,
         CheckerProcess::start({context.programs->checker, session->cores_.checker}));
  EvaluationLease lease(*context.lease, {session->oracle_.sandbox.get()});
  KW_TRY(Json answer, session->checker_->request(body, fds.fds(), lease, stop));
  session->oracle_.control.reset();
  KW_TRY_STATUS(as_status(answer));
  session->findings_.failure = answer.value("failure", "");
  session->findings_.reference_failed = answer.value("reference_failed", false);
  if (double ms = answer.value("reference_ms", 0.0); ms > 0) session->findings_.reference_ms = ms;
  if (!session->findings_.failure.empty()) return session;
  session->findings_.passing = strings(answer.value("passing", Json::array()));
  session->findings_.inert = strings(answer.value("inert", Json::array()));
  session->init_args_ = answer.value("init_args", "[]");
  KW_TRY(session->signature_, task::signature_from_json(answer["signature"], "checker.signature"));
  if (session->memory_bytes_ == 0)
    session->memory_bytes_ = kBaseMemory + 4 * tensor_bytes(session->signature_);
  return session;
}

Json ProblemSession::executor_setup(const Executable& executable) const {
  Json setup = {{"language", executable.python ? "python" : "cpp"},
                {"kind", module_ ? "module" : "definition"},
                {"entry", executable.entry},
                {"has_prepare", executable.has_prepare},
                {"init_args", init_args_},
                {"threads", options_.threads},
                {"entry_file", executable.entry_file},
                {"compile", executable.compile}};
  setup["destination_passing"] =
      executable.destination_passing ? Json(*executable.destination_passing) : Json(nullptr);
  Json files = Json::array();
  for (const task::SourceFile& file : executable.files)
    files.push_back({{"path", file.path}, {"size", file.content.size()}});
  setup["files"] = files;
  if (executable.triton) {
    Json compiled = Json::array();
    for (const TritonKernel& kernel : executable.triton->build.kernels)
      compiled.push_back(kernel.identity);
    setup["triton"] = {{"arch", kTritonArch},
                       {"compiled", compiled},
                       {"autotune_seed", executable.triton->autotune_seed},
                       {"hide_values", executable.triton->hide_values},
                       {"drop_stores", executable.triton->drop_stores}};
  }
  return setup;
}

Json ProblemSession::call_setup(const Executable& executable) const {
  Json setup = executor_setup(executable);
  setup["signature"] = task::to_json(signature_);
  setup["param_seed"] = 1;
  return setup;
}

Result<RunningRole> ProblemSession::launch(const Executable& executable, OutgoingFds& fds,
                                           const std::string& prefix, Json& body) {
  RoleLimits limits{memory_bytes_, options_.threads};
  Host host = executable.triton   ? Host::kTritonInterpreter
              : executable.python ? Host::kTorch
                                  : Host::kNative;
  KW_TRY(RunningRole role,
         context_.roles->start_executor(host, limits, cores_.executor, executable.compile));
  KW_TRY(Json monitor, role.add_to(fds, prefix + "."));
  if (executable.python) {
    std::string bytes;
    for (const task::SourceFile& file : executable.files) bytes += file.content;
    KW_TRY(source_, os::make_sealed_file("source", bytes));
    fds.add(prefix + ".source", source_.get());
  } else {
    fds.add(prefix + ".source", executable.shared_object.get());
  }
  body[prefix] = {{"setup", executor_setup(executable)}, {"monitor", monitor}};
  return role;
}

Status ProblemSession::start_baseline(const Executable& baseline, PairMemory memory) {
  OutgoingFds fds;
  bool dead = last_candidate_is_dead_ && baseline_ && baseline_->sandbox->kill().has_value();
  Json body = {{"op", "baseline"}, {"memory_is_free", dead && memory != PairMemory::kNew}};
  if (memory == PairMemory::kKept || memory == PairMemory::kExchanged)
    body["exchanged"] = memory == PairMemory::kExchanged;
  KW_TRY(RunningRole role, launch(baseline, fds, "baseline", body));
  body["fds"] = fds.names();
  baseline_ = std::move(role);
  baseline_starts_ = true;
  baseline_used_ = false;
  return checker_->send(body, fds.fds());
}

Status ProblemSession::await_baseline() {
  if (!std::exchange(baseline_starts_, false) || !baseline_) return {};
  RunningRole& baseline = *baseline_;
  EvaluationLease lease(*context_.lease, {oracle_.sandbox.get(), baseline.sandbox.get()});
  KW_TRY(Json answer, checker_->answer(lease, {}));
  baseline.control.reset();
  KW_TRY_STATUS(as_status(answer));
  if (std::string failure = answer.value("failure", ""); !failure.empty()) {
    // The cause is at the end of what it wrote.
    const std::string log = baseline.log->text();
    constexpr std::size_t kShown = 2000;
    const std::string_view end =
        std::string_view(log).substr(log.size() - std::min(log.size(), kShown));
    return fail(ErrorCode::kUnavailable, "the baseline does not run: {}{}{}", failure,
                end.empty() ? "" : "\n", printable(end, kShown));
  }
  reference_seconds_ = answer.value("reference_ns", 0.0) * 1e-9;
  return {};
}

// Where results are written fast, it matters which pages they go to and in which process, by
// several percent: that shows between pairs only.
int ProblemSession::process_pairs() const {
  if (options_.process_pairs > 0) return options_.process_pairs;
  if (options_.precise) return kManyPairs;
  if (options_.baseline == "compile") return 1;  // that process stays
  std::uint64_t written = 0;
  for (const task::Argument& output : signature_.outputs) written += output.bytes();
  bool fast = static_cast<double>(written) > kPlacedBytesPerSecond * reference_seconds_;
  return fast || options_.half_width_percent < kPlacedHalfWidthPercent ? kManyPairs : 1;
}

Result<Json> ProblemSession::judge(const Executable& candidate, const std::stop_token& stop) {
  OutgoingFds fds;
  bool last_is_dead = std::exchange(last_candidate_is_dead_, false);
  Json body = {{"op", "judge"}, {"memory_is_free", last_is_dead}};
  auto start = std::chrono::steady_clock::now();
  KW_TRY(RunningRole role, launch(candidate, fds, "candidate", body));
  KW_TRY_STATUS(await_baseline());
  baseline_used_ = true;
  body["fds"] = fds.names();
  body["process_pairs"] = process_pairs();
  std::chrono::duration<double, std::milli> launched = std::chrono::steady_clock::now() - start;
  std::vector<const sandbox::Sandbox*> own = {oracle_.sandbox.get(), role.sandbox.get()};
  if (baseline_) own.push_back(baseline_->sandbox.get());
  EvaluationLease lease(*context_.lease, own);
  KW_TRY(Json report, checker_->request(body, fds.fds(), lease, stop));
  KW_TRY_STATUS(as_status(report));
  // What else it may have done is proven; a flood is said only where nothing is.
  if (role.log->over_limit() && report.value("violation", "").empty())
    report["outcome"] = task::to_string(task::Outcome::kOutputLimit);
  if (report.contains("cost"))  // the process's start is part of loading
    report["cost"]["load_ms"] = report["cost"].value("load_ms", 0.0) + launched.count();
  report["log"] = role.log->text();
  last_candidate_is_dead_ = role.sandbox->kill().has_value();
  return report;
}

Result<bool> ProblemSession::passes_kernelbench(const Executable& candidate,
                                                const std::stop_token& stop) {
  OutgoingFds fds;
  Json body = {{"op", "kernelbench"}};
  KW_TRY(RunningRole role, launch(candidate, fds, "candidate", body));
  KW_TRY_STATUS(await_baseline());
  body["fds"] = fds.names();
  EvaluationLease lease(*context_.lease, {oracle_.sandbox.get(), role.sandbox.get()});
  KW_TRY(Json answer, checker_->request(body, fds.fds(), lease, stop));
  KW_TRY_STATUS(as_status(answer));
  return answer.value("correctness", false);
}

}  // namespace kw::gym
