// Opening a workload: reference, inputs, budgets, admission, baseline.
#include "gym/checker/session.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/text.h"
#include "gym/checker/admission.h"

namespace kw::gym {
namespace {

constexpr int kLearnInstances = 3;  // gym_contract 19: at least three seeds
constexpr std::size_t kAuditMemory = 256ULL << 20U;
constexpr std::size_t kSetMemory = 192ULL << 20U;
constexpr std::size_t kMinSets = 2, kMaxSetsUsed = 32;
constexpr auto kOracleTimeout = std::chrono::seconds(60);
constexpr int kBaselineWarmUps = 3;

std::chrono::milliseconds oracle_timeout(const Json& body) {
  double seconds = body.value("oracle_timeout_seconds", 0.0);
  if (seconds <= 0) return kOracleTimeout;
  return std::chrono::ceil<std::chrono::milliseconds>(std::chrono::duration<double>(seconds));
}

std::vector<std::byte> copy_of(std::span<const std::byte> bytes) {
  return {bytes.begin(), bytes.end()};
}

// Which memory a pair after the first one asks for.
std::optional<bool> exchanged_of(const Json& body) {
  if (!body.contains("exchanged")) return std::nullopt;
  return body.value("exchanged", false);
}

}  // namespace

Result<Mechanisms> Mechanisms::without(const std::vector<std::string>& disabled) {
  Mechanisms on;
  bool admission = true;  // the supervisor's
  const std::pair<std::string_view, bool*> switches[] = {
      {"freeze", &on.freeze},
      {"poison", &on.poison},
      {"rehash", &on.rehash},
      {"moving_addresses", &on.moving_addresses},
      {"fresh_inputs", &on.fresh_inputs},
      {"canaries", &on.canaries},
      {"seal", &on.seal},
      {"interleaving", &on.interleaving},
      {"snapshot", &on.snapshot},
      {"check_timed", &on.check_timed},
      {"audit", &on.audit},
      {"clear", &on.clear},
      {"cpu_witness", &on.cpu_witness},
      {"admission", &admission},
  };
  for (const std::string& name : disabled) {
    const auto* found =
        std::ranges::find(switches, name, &std::pair<std::string_view, bool*>::first);
    if (found == std::end(switches)) {
      std::vector<std::string> names;
      for (const auto& [known, flag] : switches) names.emplace_back(known);
      return fail(ErrorCode::kInvalidArgument, "--disable {}: no such mechanism; there are {}",
                  printable(name, 40), join(names, ", "));
    }
    *found->second = false;
  }
  return on;
}

Status Session::read_options(const Json& options) {
  KW_TRY(ObjectReader reader, ObjectReader::make(options, "options"));
  KW_TRY(std::int64_t threads, reader.integer("threads"));
  options_.threads = static_cast<int>(threads);
  KW_TRY(options_.half_width, reader.number("half_width"));
  KW_TRY(options_.timing, reader.boolean("timing"));
  KW_TRY(options_.deterministic, reader.boolean("deterministic"));
  KW_TRY(options_.max_seconds, reader.number("max_seconds"));
  KW_TRY(options_.timeout_seconds, reader.number("timeout_seconds"));
  KW_TRY(auto disabled, reader.strings_or_empty("disabled"));
  KW_TRY(options_.mechanisms, Mechanisms::without(disabled));
  return {};
}

Result<std::unique_ptr<Session>> Session::open(Json body, ReceivedFds fds, Json& answer) {
  std::unique_ptr<Session> session(new Session);
  session->module_ = body.value("kind", "") == "module";
  KW_TRY_STATUS(session->read_options(body["options"]));
  KW_TRY(os::UniqueFd lock, fds.take("timing.lock"));
  KW_TRY(os::UniqueFd queue, fds.take("timing.queue"));
  session->turn_ = std::make_unique<Turn>(TimingLock(std::move(lock), std::move(queue)));
  KW_TRY(TurnScope turn, TurnScope::begin(*session->turn_));
  KW_TRY(os::UniqueFd control, fds.take("oracle.control"));
  KW_TRY(auto monitor,
         sandbox::open_monitor(body["oracle_monitor"], fds.take_all("oracle.monitor")));
  KW_TRY(session->oracle_, OracleClient::attach(std::move(control), std::move(monitor),
                                                oracle_timeout(body), *session->turn_));
  KW_TRY(OracleAnswer prepared, session->prepare_problem(body, fds));
  if (prepared.ok) KW_TRY_STATUS(session->make_sets());
  if (prepared.ok) {
    KW_TRY(OutputChecker checker, OutputChecker::make(session->signature_, body["outputs"]));
    session->checker_ = std::make_unique<OutputChecker>(std::move(checker));
    KW_TRY(prepared, session->learn());
  }
  if (!prepared.ok) {
    answer["failure"] = prepared.text;
    answer["reference_failed"] = !session->unfit_;
    return session;
  }
  if (body.value("admit", false)) KW_TRY_STATUS(session->admit(answer));
  if (auto time = session->oracle_->fastest_declared_run())
    answer["reference_ms"] = std::chrono::duration<double, std::milli>(*time).count();
  if (body.value("judge", true)) KW_TRY_STATUS(session->keep_audit_instances());
  answer["signature"] = task::to_json(session->signature_);
  answer["init_args"] = session->init_args_;
  return session;
}

// Interface, statics and input source of the problem; not ok when the reference itself fails.
Result<OracleAnswer> Session::prepare_problem(const Json& body, ReceivedFds& fds) {
  KW_TRY(os::UniqueFd source_fd, fds.take("reference"));
  KW_TRY(std::string source, os::read_to_end(source_fd.get(), 64ULL << 20U));
  KW_TRY(OracleAnswer answer, oracle_->setup(body["oracle_setup"], source));
  if (!answer.ok) return answer;
  param_seed_ = next_seed();
  if (module_) {
    ModuleDescription description;
    KW_TRY(answer, oracle_->describe(param_seed_, next_seed(), description));
    if (!answer.ok) return answer;
    if (description.random_in_forward) {
      unfit_ = true;
      return OracleAnswer{false, "its forward draws random numbers, so no two runs agree"};
    }
    signature_ = std::move(description.signature);
    init_args_ = std::move(description.init_args);
  } else {
    KW_TRY(signature_, task::signature_from_json(body["signature"], "signature"));
  }
  input_tensors_ = tensors_of(signature_.inputs);
  KW_TRY(answer, oracle_->attach_exchange(signature_));
  if (!answer.ok) return answer;
  if (!signature_.statics.empty()) {
    KW_TRY(
        SharedTensors statics,
        SharedTensors::make("statics", Layout::for_reading(tensors_of(signature_.statics)), true));
    statics_ = std::make_unique<SharedTensors>(std::move(statics));
  }
  if (module_) {
    inputs_ = std::make_unique<InputSource>(InputSource::of_module(signature_, *oracle_));
    KW_TRY(answer, oracle_->state(param_seed_, true));
    for (std::size_t i = 0; answer.ok && i < signature_.statics.size(); ++i) {
      std::memcpy(statics_->tensor(i).data(), oracle_->static_tensor(i).data(),
                  statics_->layout().bytes(i));
    }
    return answer;
  }
  KW_TRY(InputSource inputs, InputSource::of_definition(signature_, body["inputs"], fds));
  inputs_ = std::make_unique<InputSource>(std::move(inputs));
  if (statics_) inputs_->fill_statics(*statics_, next_seed());
  return answer;
}

// Rotating sets: two at least (the two halves of a block), more where calls are short and memory
// allows.
Status Session::make_sets() {
  Layout layout = Layout::for_reading(input_tensors_);
  std::size_t per_set =
      layout.file_bytes() + 2 * Layout::for_writing(tensors_of(signature_.outputs)).file_bytes();
  std::size_t count = std::clamp<std::size_t>(kSetMemory / per_set, kMinSets, kMaxSetsUsed) / 2 * 2;
  if (!options_.timing) count = kMinSets;
  for (std::size_t s = 0; s < count; ++s) {
    KW_TRY(SharedTensors set, SharedTensors::make("inputs", layout, options_.mechanisms.seal));
    sets_.push_back(std::move(set));
  }
  return {};
}

// Whether a reference that failed in float64 is to be tried by other operators instead: only before
// it has run in float64 once.
bool Session::fall_back_to_second(const OracleAnswer& float64) {
  if (float64.ok) exact_precision_is_settled_ = true;
  if (std::exchange(exact_precision_is_settled_, true)) return false;
  exact_precision_ = Precision::kSecond;
  return true;
}

// Runs the reference on the inputs of a set at the declared precision, in float64, and with moved
// inputs.
Result<OracleAnswer> Session::run_oracle(const SharedTensors& inputs, Instance& instance,
                                         PerturbedRuns perturbed) {
  auto offer = [&] {
    for (std::size_t i = 0; i < input_tensors_.size(); ++i)
      std::memcpy(oracle_->input(i).data(), inputs.tensor(i).data(), inputs.layout().bytes(i));
    for (std::size_t i = 0; statics_ && i < statics_->layout().count(); ++i) {
      std::memcpy(oracle_->static_tensor(i).data(), statics_->tensor(i).data(),
                  statics_->layout().bytes(i));
    }
  };
  auto run = [&](const OracleClient::Run& how, Instance::Outputs& into) -> Result<OracleAnswer> {
    offer();
    KW_TRY(OracleAnswer answer, oracle_->run(how));
    into.clear();
    for (std::size_t j = 0; answer.ok && j < signature_.outputs.size(); ++j) {
      bool wide = how.precision == exact_precision_;
      into.push_back(copy_of(wide ? oracle_->output64(j) : oracle_->output(j)));
    }
    return answer;
  };
  instance.inputs.clear();
  for (std::size_t i = 0; i < input_tensors_.size(); ++i) {
    instance.inputs.push_back(checker_->needs_input(i) ? copy_of(inputs.tensor(i))
                                                       : std::vector<std::byte>());
  }
  KW_TRY(OracleAnswer answer, run({.precision = Precision::kDeclared}, instance.trusted));
  if (!answer.ok) return answer;
  KW_TRY(answer, run({.precision = exact_precision_}, instance.exact));
  if (fall_back_to_second(answer)) {
    KW_TRY(OracleAnswer second, run({.precision = exact_precision_}, instance.exact));
    if (!second.ok) {
      answer.text += "\nIt does not run by other operators either: " + second.text;
      return answer;
    }
    answer = second;
  }
  // The first two show how many inputs stand behind an element, so only inputs move there. Where
  // results are rounded they do not show it, and one is enough.
  int unmoved_functions = perturbed.move_functions ? 2 : perturbed.count;
  if (exact_precision_ == Precision::kSecond) {
    perturbed.count = std::min(perturbed.count, 1);
    if (perturbed.move_functions) unmoved_functions = 0;
  }
  instance.perturbed.clear();
  for (int i = 0; answer.ok && checker_->perturbation() > 0 && i < perturbed.count; ++i) {
    instance.perturbed.emplace_back();
    OracleClient::Run moved = {.precision = exact_precision_,
                               .perturb_seed = next_seed() | 1U,
                               .perturb_scale = checker_->perturbation()};
    OracleClient::Run deeper = moved;
    if (i >= unmoved_functions) deeper.function_scale = checker_->function_perturbation();
    KW_TRY(answer, run(deeper, instance.perturbed.back()));
    // Not every reference runs operator by operator.
    if (!answer.ok && deeper.function_scale > 0) {
      KW_TRY(answer, run(moved, instance.perturbed.back()));
    }
  }
  return answer;
}

Result<OracleAnswer> Session::learn_from(std::uint64_t seed, int perturbed_runs,
                                         Instance& instance) {
  KW_TRY(OracleAnswer answer, inputs_->fill(sets_[0], seed));
  if (!answer.ok) return answer;
  return run_oracle(sets_[0], instance, {.count = perturbed_runs});
}

// Spikes hide how many terms an element is a sum of.
Status Session::learn_terms() {
  if (!inputs_->uneven()) return {};
  inputs_->fill_ordinary(sets_[0], next_seed());
  Instance ordinary;
  KW_TRY(OracleAnswer answer, run_oracle(sets_[0], ordinary, {.count = 2}));
  if (answer.ok && exact_precision_ != Precision::kSecond) checker_->learn_terms(ordinary);
  return {};
}

Result<OracleAnswer> Session::learn() {
  KW_TRY_STATUS(learn_terms());
  for (int i = 0; i < kLearnInstances; ++i) {
    learned_seeds_.push_back(next_seed());
    learned_from_.emplace_back();
    KW_TRY(OracleAnswer answer,
           learn_from(learned_seeds_.back(), i == 0 ? 2 : 1, learned_from_.back()));
    if (!answer.ok) return answer;
  }
  if (auto learned = checker_->learn(learned_from_); !learned) {
    if (learned.error().code() != ErrorCode::kInvalidArgument)
      return tl::unexpected(std::move(learned).error());
    unfit_ = true;
    return OracleAnswer{false, learned.error().message()};
  }
  return OracleAnswer{};
}

// As many as memory allows, those with the fewest runs first.
Status Session::keep_audit_instances() {
  std::size_t bytes = 0;
  while (!learned_from_.empty()) {
    bytes += learned_from_.back().bytes();
    if (bytes > kAuditMemory) break;
    auto audit = std::make_unique<AuditInstance>();
    audit->seed = learned_seeds_.back();
    audit->instance = std::move(learned_from_.back());
    KW_TRY(OracleComparison comparison, checker_->compare_with(audit->instance));
    audit->comparison = std::make_unique<OracleComparison>(std::move(comparison));
    audit_instances_.push_back(std::move(audit));
    learned_seeds_.pop_back();
    learned_from_.pop_back();
  }
  learned_from_ = {};
  return {};
}

Status Session::renew_audit_instances() {
  for (auto& audit : audit_instances_) {
    if (audit->uses < AuditInstance::kMostUses) continue;
    auto fresh = std::make_unique<AuditInstance>();
    fresh->seed = next_seed();
    KW_TRY(OracleAnswer answer, learn_from(fresh->seed, 1, fresh->instance));
    if (!answer.ok) return fail(ErrorCode::kUnavailable, "the reference failed: {}", answer.text);
    KW_TRY(OracleComparison comparison, checker_->compare_with(fresh->instance));
    fresh->comparison = std::make_unique<OracleComparison>(std::move(comparison));
    audit = std::move(fresh);
  }
  return {};
}

Status Session::admit(Json& answer) {
  KW_TRY(AdmissionReport report, run_admission_battery(AdmissionInput{
                                     signature_, *checker_, learned_from_, *oracle_, *inputs_,
                                     sets_[0], statics_.get(), next_seed(), inputs_->fixed()}));
  answer["passing"] = report.passing;
  answer["inert"] = report.inert;
  if (!report.failure.empty()) answer["failure"] = report.failure;
  return {};
}

Result<std::unique_ptr<Side>> Session::attach(const Json& spec, ReceivedFds& fds,
                                              const std::string& prefix, OutputMemory& output) {
  ExecutorMemory memory;
  for (const SharedTensors& set : sets_) memory.inputs.push_back(&set);
  memory.output = &output;
  memory.statics = statics_.get();
  Json with_seed = spec;
  with_seed["setup"]["param_seed"] = param_seed_;
  return attach(with_seed, fds, prefix, std::move(memory));
}

Result<std::unique_ptr<Side>> Session::attach(const Json& spec, ReceivedFds& fds,
                                              const std::string& prefix, ExecutorMemory memory) {
  if (spec["setup"].value("language", "") == "python")
    KW_TRY_STATUS(memory.output->ensure_arena(signature_));
  ExecutorClient::Attach attach;
  KW_TRY(attach.control, fds.take(prefix + ".control"));
  KW_TRY(attach.source, fds.take(prefix + ".source"));
  KW_TRY(attach.monitor, sandbox::open_monitor(spec["monitor"], fds.take_all(prefix + ".monitor")));
  attach.setup = spec["setup"];
  attach.setup["init_args"] = init_args_;
  attach.freeze = options_.mechanisms.freeze;
  attach.timing = options_.timing;
  attach.turn = turn_.get();
  KW_TRY(auto client, ExecutorClient::attach(std::move(attach), signature_, std::move(memory)));
  return std::make_unique<Side>(std::move(client), signature_,
                                spec["setup"].value("compile", false));
}

// The oracle's module becomes KernelBench's meanwhile.
Result<Json> Session::kernelbench(const Json& body, ReceivedFds& fds) {
  if (!module_) return fail(ErrorCode::kInternal, "KernelBench's trials are for modules");
  if (kernelbench_trials_ == nullptr) {
    KW_TRY(OracleAnswer answer, KernelBenchTrials::make(signature_, *oracle_, kernelbench_trials_));
    KW_TRY(OracleAnswer restored, oracle_->state(param_seed_, true));
    if (!answer.ok) return fail(ErrorCode::kUnavailable, "the reference failed: {}", answer.text);
    if (!restored.ok)
      return fail(ErrorCode::kUnavailable, "the reference failed: {}", restored.text);
  }
  KW_TRY(OutputMemory output,
         OutputMemory::make(signature_, KernelBenchTrials::kInputSeeds.size()));
  Json spec = body["candidate"];
  spec["setup"]["param_seed"] = KernelBenchTrials::kParamSeed;
  spec["setup"]["hand_over_state"] = false;  // equal seeds are its only rule
  spec["setup"]["private_inputs"] = true;    // there a candidate may write to them
  KW_TRY(auto candidate, attach(spec, fds, "candidate", kernelbench_trials_->memory(output)));
  KW_TRY(bool correct, kernelbench_trials_->run(*candidate));
  return Json{{"correctness", correct}};
}

Status Session::renew_output_memory(bool is_free, std::optional<bool> exchanged) {
  if (is_free && !candidate_memory_.destinations.empty()) {
    // Which side gets which must not be known beforehand: one may lie better than the other. A pair
    // that is tried again keeps what it had.
    bool swaps = exchanged ? *exchanged != memory_exchanged_ : (next_seed() & 1U) != 0;
    if (swaps) std::swap(baseline_memory_, candidate_memory_);
    memory_exchanged_ = exchanged.value_or(false);
  } else {
    memory_exchanged_ = false;
    KW_TRY(baseline_memory_, OutputMemory::make(signature_, sets_.size()));
    KW_TRY(candidate_memory_, OutputMemory::make(signature_, sets_.size()));
  }
  // New memory too: the first writes to it are slow even where its pages are there.
  for (OutputMemory* memory : {&baseline_memory_, &candidate_memory_})
    if (options_.mechanisms.clear) memory->clear();
  candidate_memory_is_clear_ = true;
  return {};
}

Status Session::renew_candidate_memory(bool is_free) {
  if (std::exchange(candidate_memory_is_clear_, false)) return {};
  if (is_free) {
    if (options_.mechanisms.clear) candidate_memory_.clear();
    return {};
  }
  KW_TRY(candidate_memory_, OutputMemory::make(signature_, sets_.size()));
  return {};
}

Result<Json> Session::start_baseline(const Json& body, ReceivedFds& fds) {
  baseline_.reset();
  KW_TRY_STATUS(renew_output_memory(body.value("memory_is_free", false), exchanged_of(body)));
  KW_TRY(baseline_, attach(body["baseline"], fds, "baseline", baseline_memory_));
  StartTimes times;
  KW_TRY(auto fault, baseline_->start(times));
  std::vector<std::chrono::nanoseconds> walls;
  const std::uint32_t set = 0;
  // Once: a baseline that has made more calls than its candidate would be ahead of it.
  int warm_ups = reference_time_.count() == 0 ? kBaselineWarmUps : 0;
  if (!fault && warm_ups > 0) KW_TRY_STATUS(baseline_->calibrate());
  for (int i = 0; !fault && i < warm_ups; ++i) {
    GoResult go;
    KW_TRY(fault, baseline_->call(std::span(&set, 1), kOracleTimeout, go));
    walls.push_back(baseline_->net(go));
  }
  if (fault) return Json{{"failure", fault->message}};
  if (!walls.empty()) reference_time_ = *std::min_element(walls.begin(), walls.end());
  return Json{{"reference_ns", reference_time_.count()}};
}

}  // namespace kw::gym
