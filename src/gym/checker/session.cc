// Opening a workload: reference, inputs, budgets, admission, baseline.
#include "gym/checker/session.h"

#include <algorithm>
#include <optional>
#include <span>
#include <utility>

#include "base/log.h"
#include "base/step_times.h"
#include "base/text.h"
#include "gym/checker/admission.h"
#include "gym/checker/gpu_call.h"
#include "gym/checker/judgement.h"
#include "gym/checker/trial.h"

namespace kw::gym {
namespace {

constexpr std::size_t kSetMemory = 192ULL << 20U;
constexpr std::size_t kMinSets = 2, kMaxSetsUsed = 32;
constexpr auto kOracleTimeout = std::chrono::seconds(60);
constexpr int kBaselineWarmUps = 3;

std::chrono::milliseconds oracle_timeout(double seconds) {
  if (seconds <= 0) return kOracleTimeout;
  return std::chrono::ceil<std::chrono::milliseconds>(std::chrono::duration<double>(seconds));
}

// Python may hold torch.compile or load_inline. Triton's interpreter compiles nothing at a call.
Compiles compiles_of(const ExecutorSetup& setup) {
  if (setup.compilation != Compilation::kNone) return Compiles::kAtPrepare;
  const bool is_plain_python = setup.language == ExecutorLanguage::kPython && !setup.triton;
  return is_plain_python ? Compiles::kAtFirstCall : Compiles::kNothing;
}

// That of a GPU comes with that of the CPU.
Result<TimingLock> take_timing_lock(ReceivedFds& fds) {
  KW_TRY(os::UniqueFd lock, fds.take("timing.lock"));
  KW_TRY(os::UniqueFd queue, fds.take("timing.queue"));
  if (!fds.has("timing.cpu.lock")) return TimingLock(std::move(lock), std::move(queue));
  KW_TRY(os::UniqueFd cpu_lock, fds.take("timing.cpu.lock"));
  KW_TRY(os::UniqueFd cpu_queue, fds.take("timing.cpu.queue"));
  return TimingLock(std::move(lock), std::move(queue),
                    std::make_unique<TimingLock>(std::move(cpu_lock), std::move(cpu_queue)));
}

}  // namespace

Status Session::read_options(const CheckerOptions& options) {
  options_.threads = options.threads;
  options_.timing = options.timing;
  options_.timed = options.timed;
  options_.hard_inputs = options.hard_inputs;
  options_.deterministic = options.deterministic;
  options_.timeout_seconds = options.timeout_seconds;
  KW_TRY(options_.mechanisms, Mechanisms::without(options.disabled));
  return {};
}

Result<std::unique_ptr<Session>> Session::open(const OpenRequest& request, ReceivedFds fds,
                                               Opened& opened, Backend& backend) {
  std::unique_ptr<Session> session(new Session(backend));
  session->module_ = request.kind == ProblemKind::kModule;
  KW_TRY_STATUS(session->read_options(request.options));
  KW_TRY(TimingLock lock, take_timing_lock(fds));
  session->turn_ = std::make_unique<Turn>(std::move(lock));
  KW_TRY(TurnScope turn, TurnScope::begin(*session->turn_));
  KW_TRY(session->oracle_,
         backend.attach_oracle(request.oracle_monitor, fds,
                               oracle_timeout(request.oracle_timeout_seconds), *session->turn_));
  StepTimes times;
  KW_TRY(OracleAnswer prepared, session->prepare_problem(request, fds));
  times.end("the reference's process");
  LearnedInstances learned;
  if (prepared.ok) {
    KW_TRY_STATUS(session->make_sets());
    KW_TRY_STATUS(session->make_checker(request.outputs));
    times.end("memory");
    KW_TRY(prepared, learn(session->learning(), learned, session->unfit_));
    times.end("learning");
    if (prepared.ok) KW_TRY_STATUS(session->find_hard_cases());
    if (prepared.ok && request.judge) KW_TRY_STATUS(session->find_roofline());
    times.end("the GPU's rates");
  }
  if (!prepared.ok) {
    opened.findings.failure = prepared.text;
    opened.findings.reference_failed = !session->unfit_;
    return session;
  }
  opened.findings.timed = session->options_.timed;
  if (request.admit) KW_TRY_STATUS(session->admit(learned, opened.findings));
  times.end("admission");
  if (auto time = session->oracle_->fastest_declared_run())
    opened.findings.reference_ms = std::chrono::duration<double, std::milli>(*time).count();
  if (request.judge) KW_TRY_STATUS(session->audits_.keep(std::move(learned), *session->checker_));
  opened.signature = session->signature_;
  opened.init_args = session->init_args_;
  opened.written_inputs = session->oracle_->written_inputs();
  log::debug("a workload is open: " + times.text());
  return session;
}

// Interface, statics and input source of the problem; not ok when the reference itself fails.
Result<OracleAnswer> Session::prepare_problem(const OpenRequest& request, ReceivedFds& fds) {
  KW_TRY(os::UniqueFd source_fd, fds.take("reference"));
  KW_TRY(std::string source, os::read_whole(source_fd.get(), 64ULL << 20U));
  KW_TRY(OracleAnswer answer, oracle_->setup(request.oracle_setup, source));
  if (!answer.ok) return answer;
  param_seed_ = seeds_.next();
  KW_TRY(answer, describe_problem(request));
  if (!answer.ok) return answer;
  KW_TRY(answer, oracle_->attach_exchange(signature_));
  if (!answer.ok) return answer;
  if (module_ || request.oracle_setup.custom_inputs) {
    KW_TRY(InputSource inputs, InputSource::of_oracle(signature_, request.inputs, *oracle_));
    inputs_ = std::make_unique<InputSource>(std::move(inputs));
  } else {
    KW_TRY(InputSource inputs, InputSource::of_definition(signature_, request.inputs, fds));
    inputs_ = std::make_unique<InputSource>(std::move(inputs));
  }
  return make_statics();
}

// The signature: a definition's comes with the request, a module's from the oracle.
Result<OracleAnswer> Session::describe_problem(const OpenRequest& request) {
  if (!module_) {
    if (!request.signature) return fail(ErrorCode::kInternal, "a definition without a signature");
    signature_ = *request.signature;
    return OracleAnswer{};
  }
  ModuleDescription description;
  KW_TRY(OracleAnswer answer, oracle_->describe(param_seed_, seeds_.next(), description));
  if (!answer.ok) return answer;
  if (description.random_in_forward) {
    unfit_ = true;
    return OracleAnswer{false, "its forward draws random numbers, so no two runs agree"};
  }
  signature_ = std::move(description.signature);
  init_args_ = std::move(description.init_args);
  views_ = std::move(description.views);
  return answer;
}

Result<OracleAnswer> Session::make_statics() {
  if (!signature_.statics.empty()) {
    KW_TRY(statics_, backend_.allocator().allocate(
                         "statics", Layout::for_reading(tensors_of(signature_.statics)), true));
    if (options_.mechanisms.edges) KW_TRY_STATUS(statics_->write_canaries(seeds_.next()));
  }
  if (!module_) {
    if (statics_) KW_TRY_STATUS(inputs_->fill_statics(*statics_, seeds_.next()));
    return OracleAnswer{};
  }
  KW_TRY(OracleAnswer answer, oracle_->state(param_seed_, true));
  for (std::size_t i = 0; answer.ok && i < signature_.statics.size(); ++i)
    KW_TRY_STATUS(statics_->write(i, oracle_->static_tensor(i)));
  return answer;
}

// Rotating sets: two at least (the two halves of a block), more where calls are short and memory
// allows.
Status Session::make_sets() {
  const Layout layout = Layout::for_reading(tensors_of(signature_.inputs));
  const std::size_t per_set =
      layout.total_bytes() + 2 * Layout::for_writing(tensors_of(signature_.outputs)).total_bytes();
  std::size_t count = std::clamp<std::size_t>(kSetMemory / per_set, kMinSets, kMaxSetsUsed) / 2 * 2;
  if (!options_.timing) count = kMinSets;
  for (std::size_t s = 0; s < count; ++s) {
    KW_TRY(auto set, backend_.allocator().allocate("inputs", layout, options_.mechanisms.seal));
    sets_.push_back(std::move(set));
  }
  memory_ = std::make_unique<PairedMemory>(backend_.allocator(), signature_, seeds_,
                                           options_.mechanisms.clear);
  return {};
}

Status Session::make_checker(const std::map<std::string, task::OutputPolicy>& outputs) {
  KW_TRY(OutputChecker checker, OutputChecker::make(signature_, outputs));
  checker_ = std::make_unique<OutputChecker>(std::move(checker));
  reference_ =
      std::make_unique<ReferenceRuns>(*oracle_, signature_, *checker_, statics_.get(), seeds_);
  return {};
}

Status Session::find_hard_cases() {
  const Mechanisms& on = options_.mechanisms;
  if (!options_.hard_inputs || !on.mixed_inputs || !on.fresh_inputs) return {};
  hard_ = HardCases(signature_, *inputs_, *checker_, seeds_);
  hard_.keep_inputs(backend_.allocator(), backend_.kept_input_bytes());
  // The first set has inputs that admission still needs.
  const auto start = backend_.clock().now();
  KW_TRY(OracleAnswer filled, inputs_->fill(*sets_.back(), seeds_.next()));
  if (filled.ok) hard_.set_fill_time(backend_.clock().now() - start);
  return {};
}

// The first set has the inputs of learning.
Status Session::find_roofline() {
  if (!options_.timing) return {};
  KW_TRY_STATUS(oracle_->offer(*sets_[0], statics_.get()));
  KW_TRY(roofline_, oracle_->roofline());
  if (roofline_) roofline_->bytes = static_cast<std::int64_t>(bytes_of_call(signature_));
  return {};
}

Status Session::admit(const LearnedInstances& learned, AdmissionFindings& findings) {
  KW_TRY(AdmissionReport report,
         run_admission_battery(AdmissionInput{
             signature_, *checker_, learned, *reference_, *inputs_, *sets_[0], hard_, seeds_,
             inputs_->fixed(),
             oracle_->fastest_declared_run().value_or(std::chrono::nanoseconds{0})}));
  findings.passing = std::move(report.passing);
  findings.inert = std::move(report.inert);
  findings.failure = std::move(report.failure);
  return {};
}

ExecutorMemory Session::memory_of(OutputMemory& output) const {
  ExecutorMemory memory;
  for (const auto& set : sets_) memory.inputs.push_back(set.get());
  memory.output = &output;
  memory.statics = statics_.get();
  return memory;
}

Result<std::unique_ptr<Side>> Session::attach_to_sets(ExecutorSpec spec, ReceivedFds& fds,
                                                      const std::string& prefix,
                                                      OutputMemory& output) {
  spec.setup.param_seed = param_seed_;
  return attach(std::move(spec), fds, prefix, memory_of(output));
}

Result<std::unique_ptr<Side>> Session::attach(ExecutorSpec spec, ReceivedFds& fds,
                                              const std::string& prefix, ExecutorMemory memory) {
  OutputMemory& output = *memory.output;
  // On a GPU all results go to the given outputs.
  if (spec.setup.language == ExecutorLanguage::kPython && !spec.setup.device)
    KW_TRY_STATUS(output.ensure_arena(backend_.allocator(), signature_));
  spec.setup.init_args = init_args_;
  const Compiles compiles = compiles_of(spec.setup);
  KW_TRY(auto executor,
         backend_.attach_executor({spec.monitor, std::move(spec.setup), fds, prefix, signature_,
                                   std::move(memory), options_.mechanisms.freeze, options_.timing,
                                   *turn_}));
  return std::make_unique<Side>(std::move(executor), output, signature_, compiles,
                                backend_.clock());
}

// The oracle's module becomes KernelBench's meanwhile.
Result<KernelBenchTried> Session::kernelbench(const KernelBenchRequest& request, ReceivedFds& fds) {
  if (!module_) return fail(ErrorCode::kInternal, "KernelBench's trials are for modules");
  if (kernelbench_trials_ == nullptr) {
    KW_TRY(OracleAnswer answer, KernelBenchTrials::make(signature_, *oracle_, backend_.allocator(),
                                                        kernelbench_trials_));
    KW_TRY(OracleAnswer restored, oracle_->state(param_seed_, true));
    if (!answer.ok) return fail(ErrorCode::kUnavailable, "the reference failed: {}", answer.text);
    if (!restored.ok)
      return fail(ErrorCode::kUnavailable, "the reference failed: {}", restored.text);
  }
  KW_TRY(OutputMemory output, OutputMemory::make(backend_.allocator(), signature_,
                                                 KernelBenchTrials::kInputSeeds.size()));
  ExecutorSpec spec = request.candidate;
  spec.setup.param_seed = KernelBenchTrials::kParamSeed;
  spec.setup.hand_over_state = false;  // equal seeds are its only rule
  spec.setup.private_inputs = true;    // there a candidate may write to them
  KW_TRY(auto candidate,
         attach(std::move(spec), fds, "candidate", kernelbench_trials_->memory(output)));
  KW_TRY(bool correct, kernelbench_trials_->run(*candidate));
  return KernelBenchTried{correct};
}

Result<BaselineStarted> Session::start_baseline(const BaselineRequest& request, ReceivedFds& fds) {
  baseline_.reset();
  resident_.reset();
  KW_TRY_STATUS(memory_->renew(sets_.size(), request.memory_is_free, request.exchanged));
  KW_TRY(baseline_, attach_to_sets(request.baseline, fds, "baseline", memory_->baseline()));
  StartTimes times;
  KW_TRY(auto fault, baseline_->start(times));
  // Once: a baseline that has made more calls than its candidate would be ahead of it.
  if (!fault && reference_time_.count() == 0) {
    KW_TRY(fault, warm_up(kBaselineWarmUps));
  }
  if (fault) return BaselineStarted{.failure = fault->message};
  is_awake_ = baseline_->executor().has_device_clock();
  return BaselineStarted{.reference_ns = reference_time_.count()};
}

// Measures the baseline's shortest call.
Result<std::optional<Fault>> Session::warm_up(int calls) {
  const std::uint32_t set = 0;
  std::vector<std::chrono::nanoseconds> walls;
  KW_TRY_STATUS(baseline_->calibrate());
  for (int i = 0; i < calls; ++i) {
    LaunchResult result;
    KW_TRY(auto fault, baseline_->launch(std::span(&set, 1), kOracleTimeout, result));
    if (fault) return fault;
    walls.push_back(result.device_time.count() > 0 ? result.device_time : baseline_->net(result));
  }
  reference_time_ = *std::ranges::min_element(walls);
  return std::optional<Fault>();
}

// The memory that a resident executor has mapped stays the candidates', cleared between them.
Result<std::unique_ptr<Side>> Session::candidate_of(const CandidateStart& request,
                                                    ReceivedFds& fds) {
  auto resident = std::move(resident_);
  const bool is_free = request.memory_is_free || request.resident;
  KW_TRY_STATUS(memory_->renew_candidate(sets_.size(), is_free));
  if (!request.resident)
    return attach_to_sets(request.candidate, fds, "candidate", memory_->candidate());
  if (resident == nullptr) return fail(ErrorCode::kInternal, "there is no resident executor");
  KW_TRY(os::UniqueFd source, fds.take("candidate.source"));
  KW_TRY_STATUS(resident->replace(std::move(source)));
  return resident;
}

JudgingContext Session::context_of(const MeasuringGoal& goal, TimingLease& lease) {
  return {options_,
          goal,
          signature_,
          sets_,
          *inputs_,
          *checker_,
          backend_.comparer(),
          *reference_,
          audits_,
          hard_,
          seeds_,
          *baseline_,
          reference_time_,
          backend_.calls_per_launch(),
          *turn_,
          lease,
          backend_.clock(),
          backend_.machine(),
          roofline_,
          backend_.gpu_busy(),
          &null_launch_of_plans_};
}

void Session::keep_resident(std::unique_ptr<Side> side, task::Outcome outcome) {
  is_awake_ = true;
  if (leaves_context_usable(outcome)) resident_ = std::move(side);
}

// A process that cannot be frozen has ended, which its next launch tells.
void Session::rest() {
  is_awake_ = false;
  for (Side* side : {baseline_.get(), resident_.get()})
    if (side != nullptr) (void)side->rest();
}

Result<Tried> Session::try_out(const TrialRequest& request, ReceivedFds& fds, TimingLease& lease) {
  if (baseline_ == nullptr) return fail(ErrorCode::kInternal, "trial before baseline");
  KW_TRY(auto candidate, candidate_of(request, fds));
  if (!candidate->executor().has_device_clock())
    return fail(ErrorCode::kInternal, "a trial of what does not run on a GPU");
  JudgingContext context = context_of({}, lease);
  Trial trial(context, std::move(candidate));
  KW_TRY(const Tried tried, trial.run());
  keep_resident(trial.take_side(), tried.outcome);
  return tried;
}

Result<WorkloadReport> Session::judge(const JudgeRequest& request, ReceivedFds& fds,
                                      TimingLease& lease) {
  if (baseline_ == nullptr) return fail(ErrorCode::kInternal, "judge before baseline");
  KW_TRY_STATUS(audits_.renew(learning()));
  KW_TRY(auto candidate, candidate_of(request, fds));
  JudgingContext context = context_of(request.goal, lease);
  Judgement judgement(context, std::move(candidate));
  KW_TRY(WorkloadReport report, judgement.run());
  if (!views_.empty())
    report.diagnostics.push_back(
        {"risk", fmt::format("get_inputs() makes {} with strides of a view; it is judged with "
                             "contiguous ones, and may be wrong with others",
                             join(views_, ", "))});
  std::vector<std::string> written;
  for (const std::int64_t place : oracle_->written_inputs())
    written.push_back(signature_.inputs[static_cast<std::size_t>(place)].name);
  if (!written.empty())
    report.diagnostics.push_back(
        {"risk", fmt::format("the reference writes to {}; in each call it gets a copy, which is in "
                             "its time, and a candidate has to leave inputs as they are",
                             join(written, ", "))});
  hard_.save_memory();
  auto side = judgement.take_side();
  if (side->executor().has_device_clock()) keep_resident(std::move(side), report.outcome);
  return report;
}

}  // namespace kw::gym
