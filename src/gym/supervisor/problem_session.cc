// Opening a workload and passing candidates to its checker.
#include "gym/supervisor/problem_session.h"

#include <algorithm>
#include <thread>
#include <utility>

#include "base/log.h"
#include "base/step_times.h"
#include "base/text.h"
#include "gym/checker/gpu_call.h"
#include "gym/checker/hard_cases.h"
#include "gym/measure/timing_lock.h"
#include "os/memory.h"
#include "task/settings.h"
#include "tensor/safetensors.h"

namespace kw::gym {
namespace {

constexpr std::uint64_t kBaseMemory = 2ULL << 30U;
constexpr std::uint64_t kMaxStoredTensor = 16ULL << 30U;
// A/A runs of gelu, softmax and layer_norm: docs/measuring.md.
constexpr double kPlacedBytesPerSecond = 1e9, kPlacedHalfWidthPercent = 2;
constexpr int kManyPairs = 8;  // four times with the memory of one pair, then exchanged

InputPlan input_plan(const task::Problem& problem, const task::Workload& workload,
                     const std::string& name) {
  InputPlan plan;
  plan.name = name;
  if (auto found = problem.policy.inputs.find(name); found != problem.policy.inputs.end())
    plan.ordinary = found->second;
  const task::WorkloadPolicy& here = problem.workload_policy(workload.uuid);
  auto found = here.inputs.find(name);
  plan.policy = found != here.inputs.end() ? found->second : plan.ordinary;
  if (!plan.policy.domain) plan.policy.domain = plan.ordinary.domain;
  return plan;
}

// Modules: one entry an input that the policy names.
std::vector<InputPlan> module_plans(const task::Problem& problem, const task::Workload& workload) {
  std::vector<InputPlan> plans;
  auto named = problem.policy.inputs;
  named.insert(problem.workload_policy(workload.uuid).inputs.begin(),
               problem.workload_policy(workload.uuid).inputs.end());
  for (const auto& [name, policy] : named) plans.push_back(input_plan(problem, workload, name));
  return plans;
}

// A function of its own gives inputs a structure: offsets and indices stay as they are, and other
// values stay among those that are drawn.
task::InputDomain domain_of_custom(tensor::DType dtype) {
  return tensor::is_floating(dtype) ? task::InputDomain::kOwn : task::InputDomain::kFixed;
}

// One entry a tensor input or static of a definition; safetensors inputs travel as memory files.
Status add_input_plans(const task::Problem& problem, const task::Workload& workload,
                       std::vector<InputPlan>& plans, OutgoingFds& fds,
                       std::vector<os::UniqueFd>& keep) {
  for (const task::TensorSpec& spec : problem.definition().inputs) {
    if (!spec.shape) continue;
    InputPlan plan = input_plan(problem, workload, spec.name);
    if (workload.has_custom_inputs() && !plan.policy.domain)
      plan.policy.domain = domain_of_custom(spec.dtype);
    for (const auto& [name, source] : workload.inputs) {
      const auto* stored = std::get_if<task::SafetensorsInput>(&source);
      if (name != spec.name || stored == nullptr) continue;
      KW_TRY(tensor::StoredTensor tensor,
             tensor::read_safetensor(problem.root / stored->path, stored->tensor_key,
                                     kMaxStoredTensor));
      if (tensor.dtype != spec.dtype)
        return fail(ErrorCode::kInvalidArgument, "{}: tensor {} is {}, the definition says {}",
                    stored->path, stored->tensor_key, tensor::to_string(tensor.dtype),
                    tensor::to_string(spec.dtype));
      KW_TRY(os::UniqueFd file,
             os::make_sealed_file(
                 spec.name, std::string_view(reinterpret_cast<const char*>(tensor.data.data()),
                                             tensor.data.size())));
      plan.fixed = "fixed." + spec.name;
      fds.add(*plan.fixed, file.get());
      keep.push_back(std::move(file));
    }
    plans.push_back(std::move(plan));
  }
  return {};
}

std::optional<CustomInputs> custom_inputs(const task::Problem& problem,
                                          const task::Workload& workload) {
  if (!workload.has_custom_inputs()) return std::nullopt;
  CustomInputs custom{problem.definition().custom_inputs_entrypoint};
  for (const task::Axis& axis : problem.definition().axes)
    if (axis.value) custom.numbers[axis.name] = *axis.value;
  for (const auto& [name, value] : workload.axes) custom.numbers[name] = value;
  for (const auto& [name, source] : workload.inputs)
    if (const auto* scalar = std::get_if<task::ScalarInput>(&source))
      custom.numbers[name] = scalar->value;
  return custom;
}

CheckerOptions checker_options(const task::Problem& problem, const EvalOptions& options,
                               const task::Workload& workload) {
  CheckerOptions out;
  out.threads = options.threads;
  out.timeout_seconds = options.timeout_seconds;
  out.timing = is_timed(problem, workload, options);
  const task::WorkloadPolicy& policy = problem.workload_policy(workload.uuid);
  out.timed = policy.timed;
  // A workload that is not timed and has distributions of its own has what it is for.
  out.hard_inputs = policy.timed || policy.inputs.empty();
  out.deterministic = problem.policy.deterministic;
  out.disabled = options.disabled;
  return out;
}

// On a GPU neither side's executor is frozen while the other one launches. Each has a core where
// there are many.
int cores_of_executors(int threads, bool on_gpu) {
  constexpr unsigned kCoresToSpare = 8;
  return on_gpu && std::thread::hardware_concurrency() >= kCoresToSpare ? threads + 1 : threads;
}

// torch's and the driver's words. Others may use the GPU: that is no fault of the problem.
bool is_out_of_memory(std::string_view failure) {
  return failure.find("CUDA error: out of memory") != std::string_view::npos ||
         failure.find("CUDA out of memory") != std::string_view::npos;
}

void add_lock(const TimingLock& lock, const std::string& prefix, OutgoingFds& fds) {
  fds.add(prefix + "lock", lock.lock_fd());
  fds.add(prefix + "queue", lock.queue_fd());
}

}  // namespace

Result<std::string> reference_source(const task::Problem& problem) {
  if (!problem.is_module()) return problem.definition().reference;
  return task::apply_settings(problem.module().source, problem.module().settings);
}

Result<std::unique_ptr<ProblemSession>> ProblemSession::open(
    const Context& context, const task::Problem& problem, const task::Workload& workload,
    const EvalOptions& options, const Opening& opening, const std::stop_token& stop) {
  StepTimes times;
  std::unique_ptr<ProblemSession> session(new ProblemSession);
  session->context_ = context;
  session->threads_ = options.threads;
  session->module_ = problem.is_module();
  const bool is_measured = opening.judge && is_timed(problem, workload, options);
  session->cores_ = plan_cores(cores_of_executors(options.threads, context.device.has_value()),
                               is_measured ? std::optional(context.timed_place) : std::nullopt);
  OpenRequest request;
  request.kind = session->kind();
  request.admit = opening.admit;
  request.judge = opening.judge;
  request.oracle_timeout_seconds = opening.oracle_timeout_seconds;
  OutgoingFds fds;
  std::vector<os::UniqueFd> keep;
  session->memory_bytes_ = options.memory_bytes;
  if (!problem.is_module()) {
    KW_TRY(session->signature_,
           task::signature_of(problem.definition(), workload, problem.policy.statics));
    if (session->memory_bytes_ == 0)
      session->memory_bytes_ = kBaseMemory + 4 * bytes_of_call(session->signature_);
    request.signature = session->signature_;
    KW_TRY_STATUS(add_input_plans(problem, workload, request.inputs, fds, keep));
  } else {
    request.inputs = module_plans(problem, workload);
  }
  request.outputs = problem.policy.outputs;
  request.options = checker_options(problem, options, workload);
  request.oracle_setup = {request.kind, problem.is_module() ? problem.module().entry_point : "run",
                          options.threads, context.device, custom_inputs(problem, workload)};
  KW_TRY(std::string reference, reference_source(problem));
  KW_TRY(os::UniqueFd source, os::make_sealed_file("reference", reference));
  fds.add("reference", source.get());
  RoleLimits oracle_limits{
      session->memory_bytes_ == 0 ? 3 * kBaseMemory : kBaseMemory + 2 * session->memory_bytes_,
      options.threads, context.device.has_value()};
  if (opening.oracle_memory_bytes > 0) oracle_limits.memory_bytes = opening.oracle_memory_bytes;
  KW_TRY(session->oracle_, context.roles->start_oracle(oracle_limits));
  times.end("the oracle's process");
  KW_TRY(request.oracle_monitor, session->oracle_.add_to(fds, "oracle."));
  KW_TRY(const TimingLock of_checker, TimingLock::open(context.timed_on));
  add_lock(of_checker, "timing.", fds);
  if (of_checker.cpu() != nullptr) add_lock(*of_checker.cpu(), "timing.cpu.", fds);

  KW_TRY(session->checker_, context.start_checker({context.programs->checker,
                                                   session->cores_.checker, context.device}));
  times.end("the checker's process");
  EvaluationLease lease(*context.lease, {session->oracle_.sandbox.get()});
  KW_TRY(Opened opened, session->checker_->request<Opened>(request, fds, lease, stop));
  times.end("opening");
  log::debug(fmt::format("{} {}: {}", problem.name, workload.uuid, times.text()));
  session->oracle_.control.reset();
  session->findings_ = std::move(opened.findings);
  if (context.device && is_out_of_memory(session->findings_.failure))
    return fail(ErrorCode::kResourceExhausted, "the GPU's memory is full: {}",
                session->findings_.failure);
  if (!session->findings_.failure.empty()) return session;
  if (!opened.signature) return fail(ErrorCode::kInternal, "the checker gave no signature");
  session->init_args_ = std::move(opened.init_args);
  session->written_inputs_ = std::move(opened.written_inputs);
  session->signature_ = std::move(*opened.signature);
  if (session->memory_bytes_ == 0)
    session->memory_bytes_ = kBaseMemory + 4 * bytes_of_call(session->signature_);
  return session;
}

ExecutorSetup ProblemSession::executor_setup(const Executable& executable) const {
  ExecutorSetup setup;
  setup.language = executable.python         ? ExecutorLanguage::kPython
                   : executable.plan.valid() ? ExecutorLanguage::kPlan
                                             : ExecutorLanguage::kCpp;
  setup.device = context_.device;
  setup.kind = kind();
  setup.entry = executable.entry;
  setup.has_prepare = executable.has_prepare;
  setup.init_args = init_args_;
  if (executable.is_reference) setup.copied_inputs = written_inputs_;
  setup.threads = threads_;
  setup.entry_file = executable.entry_file;
  setup.compilation = executable.compilation;
  setup.destination_passing = executable.destination_passing;
  for (const task::SourceFile& file : executable.files)
    setup.files.push_back({file.path, file.content.size()});
  if (executable.triton) {
    const TritonRun& run = *executable.triton;
    setup.triton = TritonSetup{
        kTritonArch, {}, run.configuration, run.hide_values, run.drop_stores, run.poison_masked};
    for (const TritonKernel& kernel : run.build.kernels)
      setup.triton->compiled.push_back(kernel.identity);
  }
  return setup;
}

Json ProblemSession::call_setup(const Executable& executable) const {
  Json setup = to_json(executor_setup(executable));
  setup["signature"] = task::to_json(signature_);
  setup["param_seed"] = 1;
  return setup;
}

Result<RunningRole> ProblemSession::launch(const Executable& executable, OutgoingFds& fds,
                                           const std::string& prefix, ExecutorSpec& spec) {
  RoleLimits limits{memory_bytes_, threads_};
  Host host = executable.triton   ? Host::kTritonInterpreter
              : executable.python ? Host::kTorch
                                  : Host::kNative;
  const bool may_compile = executable.compilation != Compilation::kNone;
  KW_TRY(RunningRole role,
         context_.device
             ? context_.roles->start_gpu_executor(host, limits, cores_.executor, may_compile)
             : context_.roles->start_executor(host, limits, cores_.executor, may_compile));
  KW_TRY(spec.monitor, role.add_to(fds, prefix + "."));
  spec.setup = executor_setup(executable);
  if (executable.python) {
    std::string bytes;
    for (const task::SourceFile& file : executable.files) bytes += file.content;
    KW_TRY(source_, os::make_sealed_file("source", bytes));
    fds.add(prefix + ".source", source_.get());
  } else {
    const os::UniqueFd& program =
        executable.plan.valid() ? executable.plan : executable.shared_object;
    fds.add(prefix + ".source", program.get());
  }
  return role;
}

Status ProblemSession::start_baseline(const Executable& baseline, PairMemory memory) {
  OutgoingFds fds;
  end_resident();
  bool dead = last_candidate_is_dead_ && baseline_ && baseline_->sandbox->kill().has_value();
  BaselineRequest request;
  request.memory_is_free = dead && memory != PairMemory::kNew;
  if (memory == PairMemory::kKept || memory == PairMemory::kExchanged)
    request.exchanged = memory == PairMemory::kExchanged;
  KW_TRY(RunningRole role, launch(baseline, fds, "baseline", request.baseline));
  baseline_ = std::move(role);
  baseline_starts_ = true;
  baseline_used_ = false;
  return checker_->send(request, fds);
}

Status ProblemSession::await_baseline() {
  if (!std::exchange(baseline_starts_, false) || !baseline_) return {};
  StepTimes times;
  RunningRole& baseline = *baseline_;
  EvaluationLease lease(*context_.lease, {oracle_.sandbox.get(), baseline.sandbox.get()});
  auto answer = checker_->answer<BaselineStarted>(lease, {});
  times.end("waiting for the baseline");
  log::debug(times.text());
  baseline.control.reset();
  KW_TRY(BaselineStarted started, std::move(answer));
  if (!started.failure.empty()) {
    // The cause is at the end of what it wrote.
    const std::string log = baseline.log->text();
    constexpr std::size_t kShown = 2000;
    const std::string_view end =
        std::string_view(log).substr(log.size() - std::min(log.size(), kShown));
    return fail(ErrorCode::kUnavailable, "the baseline does not run: {}{}{}", started.failure,
                end.empty() ? "" : "\n", printable(end, kShown));
  }
  reference_seconds_ = static_cast<double>(started.reference_ns) * 1e-9;
  return {};
}

std::uint64_t ProblemSession::resident_bytes() const {
  // Two Python processes that imported torch, and the checker. Both sides have inputs and outputs
  // of their own, in two sets, and the oracle's answers have twice the width.
  constexpr std::uint64_t kProcesses = 600ULL << 20U;
  constexpr std::uint64_t kCopies = 8;
  // On a GPU, hard inputs of about so many kinds are kept besides, as far as they may.
  constexpr std::uint64_t kHardCopies = 16;
  const std::uint64_t bytes = bytes_of_call(signature_);
  const std::uint64_t hard =
      context_.device ? std::min(kHardCopies * bytes, HardCases::kMaxKeptBytes) : 0;
  return kProcesses + kCopies * bytes + hard;
}

// If results are written fast, it matters which pages they go to and in which process, by
// several percent: that shows between pairs only.
int ProblemSession::process_pairs(const EvalOptions& options) const {
  if (options.process_pairs > 0) return options.process_pairs;
  if (options.precise) return kManyPairs;
  if (context_.device) return 1;  // its memory comes in granules of 2 MiB, whoever asks
  if (is_compiled(options.baseline)) return 1;  // that process stays
  std::uint64_t written = 0;
  for (const task::Argument& output : signature_.outputs) written += output.bytes();
  bool fast = static_cast<double>(written) > kPlacedBytesPerSecond * reference_seconds_;
  return fast || options.half_width_percent < kPlacedHalfWidthPercent ? kManyPairs : 1;
}

void ProblemSession::end_resident() {
  if (!resident_) return;
  last_candidate_is_dead_ = resident_->sandbox->kill().has_value();
  resident_.reset();
}

// The executor that stayed, or one of its own.
Result<RunningRole> ProblemSession::candidates_role(const Executable& candidate, OutgoingFds& fds,
                                                    CandidateStart& request) {
  if (resident_) {
    RunningRole role = std::move(*resident_);
    resident_.reset();
    request.resident = true;
    request.candidate.monitor = Json::object();
    fds.add("candidate.source", candidate.plan.get());
    return role;
  }
  request.memory_is_free = std::exchange(last_candidate_is_dead_, false);
  return launch(candidate, fds, "candidate", request.candidate);
}

template <typename Answer>
Result<Answer> ProblemSession::ask_beside_baseline(const CheckerRequest& request,
                                                   const OutgoingFds& fds, const RunningRole& role,
                                                   const std::stop_token& stop) {
  std::vector<const sandbox::Sandbox*> own = {oracle_.sandbox.get(), role.sandbox.get()};
  if (baseline_) own.push_back(baseline_->sandbox.get());
  EvaluationLease lease(*context_.lease, own);
  return checker_->request<Answer>(request, fds, lease, stop);
}

void ProblemSession::keep_resident(RunningRole role, bool is_usable) {
  resident_ = std::move(role);
  if (!is_usable) end_resident();
}

Result<Tried> ProblemSession::try_out(const Executable& plan, const std::stop_token& stop) {
  OutgoingFds fds;
  TrialRequest request;
  KW_TRY(RunningRole role, candidates_role(plan, fds, request));
  KW_TRY_STATUS(await_baseline());
  KW_TRY(const Tried tried, ask_beside_baseline<Tried>(request, fds, role, stop));
  const bool is_quiet = role.log->text().empty();
  keep_resident(std::move(role), leaves_context_usable(tried.outcome) && is_quiet);
  return tried;
}

Result<WorkloadReport> ProblemSession::judge(const Executable& candidate,
                                             const EvalOptions& options,
                                             const std::stop_token& stop, Run run) {
  const bool is_plan = context_.device && candidate.plan.valid();
  if (!is_plan || run.wants_fresh) end_resident();
  OutgoingFds fds;
  JudgeRequest request;
  auto start = std::chrono::steady_clock::now();
  KW_TRY(RunningRole role, candidates_role(candidate, fds, request));
  KW_TRY_STATUS(await_baseline());
  baseline_used_ = true;
  request.goal = {options.precise ? kPreciseHalfWidth : options.half_width_percent / 100,
                  options.max_seconds, process_pairs(options), run.pair};
  std::chrono::duration<double, std::milli> launched = std::chrono::steady_clock::now() - start;
  KW_TRY(WorkloadReport report, ask_beside_baseline<WorkloadReport>(request, fds, role, stop));
  if (is_plan) {
    if (!report.gpu) report.gpu.emplace();
    report.gpu->context = request.resident ? task::GpuContext::kResident : task::GpuContext::kFresh;
  }
  report.cost.load_ms += launched.count();  // the process's start is part of loading
  report.log = role.log->text();
  const bool is_usable = is_plan && leaves_context_usable(report.outcome) && report.log.empty();
  // A violation is proven; a flood of output is reported only where nothing is.
  if (role.log->over_limit() && report.violation.empty())
    report.outcome = task::Outcome::kOutputLimit;
  keep_resident(std::move(role), is_usable);
  return report;
}

Result<bool> ProblemSession::passes_kernelbench(const Executable& candidate,
                                                const std::stop_token& stop) {
  OutgoingFds fds;
  end_resident();
  KernelBenchRequest request;
  KW_TRY(RunningRole role, launch(candidate, fds, "candidate", request.candidate));
  KW_TRY_STATUS(await_baseline());
  EvaluationLease lease(*context_.lease, {oracle_.sandbox.get(), role.sandbox.get()});
  KW_TRY(KernelBenchTried tried, checker_->request<KernelBenchTried>(request, fds, lease, stop));
  return tried.correctness;
}

}  // namespace kw::gym
