// Starting an executor, its gos and its outputs.
#include "gym/checker/side.h"

#include <algorithm>
#include <csignal>
#include <thread>
#include <utility>

#include "gym/correctness/returned.h"
#include "gym/inputs/poison.h"
#include "os/parallel.h"

namespace kw::gym {
namespace {

constexpr auto kLoadTimeout = std::chrono::seconds(30);
constexpr auto kPrepareTimeout = std::chrono::seconds(10);
constexpr auto kCompileTimeout = std::chrono::seconds(180);  // torch.compile of a baseline
constexpr int kNullGos = 11;
constexpr int kCalibrations = 4;  // at most, until one is steady
constexpr auto kTimeSlice = std::chrono::milliseconds(5);
constexpr std::chrono::nanoseconds kLeastCallTimeout = std::chrono::seconds(2);
constexpr int kCallTimeoutFactor = 20;

double milliseconds(std::chrono::nanoseconds duration) {
  return std::chrono::duration<double, std::milli>(duration).count();
}

std::string signal_name(int number) {
  switch (number) {
    case SIGSEGV:
      return "a segmentation fault";
    case SIGBUS:
      return "a bus error";
    case SIGABRT:
      return "abort()";
    case SIGFPE:
      return "an arithmetic fault (division by zero?)";
    case SIGILL:
      return "an illegal instruction";
    case SIGKILL:
      return "SIGKILL";
    case SIGSYS:
      return "a system call that the sandbox forbids";
    default:
      return "signal " + std::to_string(number);
  }
}

std::string_view failure_text(Failure failure) {
  switch (failure) {
    case Failure::kLoad:
      return "it does not load";
    case Failure::kEntryMissing:
      return "its entry point is missing";
    case Failure::kException:
      return "it raised an exception";
    case Failure::kOutputKind:
      return "a returned value is not a plain dense CPU tensor";
    case Failure::kOutputCount:
      return "it returned another number of outputs than declared";
    case Failure::kUnsupported:
      return "it needs something that the executor does not offer";
    case Failure::kNone:
      break;
  }
  return "it failed";
}

}  // namespace

std::chrono::nanoseconds call_timeout(std::chrono::nanoseconds reference) {
  return std::max(kLeastCallTimeout, kCallTimeoutFactor * reference);
}

Fault Side::fault_of(const GoResult& go, const char* stage) {
  Fault fault;
  if (go.end == GoEnd::kTimeout) {
    fault.outcome = task::Outcome::kTimeout;
    fault.message = fmt::format("no answer in time during {}", stage);
    return fault;
  }
  if (go.end == GoEnd::kProtocol) {
    fault.outcome = task::Outcome::kViolation;
    fault.violation = "protocol";
    fault.message = fmt::format("the shared page was written out of turn during {}", stage);
    return fault;
  }
  ExecutorEnd end = client_->end();
  if (end.exit && end.exit->out_of_memory) {
    fault.outcome = task::Outcome::kMemoryLimit;
    fault.message = fmt::format("the memory limit was reached during {}", stage);
  } else if (end.fault_on_input && end.exit && end.exit->signalled) {
    fault.outcome = task::Outcome::kViolation;
    fault.violation = "input_write";
    fault.message =
        "it wrote to an input, which is read-only (in-place operators like relu_() do that: write "
        "to the output instead)";
  } else if (end.exit && end.exit->signalled) {
    fault.message = fmt::format("{} during {}", signal_name(end.exit->code), stage);
  } else if (end.failure != Failure::kNone) {
    // Its own word for it is no excuse: `unsupported` would be nobody's fault.
    fault.outcome = end.failure == Failure::kOutputKind || end.failure == Failure::kOutputCount
                        ? task::Outcome::kWrongShape
                        : task::Outcome::kRuntimeError;
    fault.message = fmt::format("{} during {}", failure_text(end.failure), stage);
  } else {
    fault.message = end.exit ? fmt::format("the process ended with exit code {} during {}",
                                           end.exit->code, stage)
                             : fmt::format("it failed during {}", stage);
  }
  return fault;
}

Result<std::optional<Fault>> Side::start(StartTimes& times) {
  KW_TRY(GoResult ready, client_->wait_ready(kLoadTimeout));
  times.load_ms = milliseconds(ready.wall);
  if (ready.end != GoEnd::kDone) return std::optional(fault_of(ready, "loading"));
  KW_TRY(GoResult prepared,
         client_->go(Op::kPrepare, {}, compiles_ ? kCompileTimeout : kPrepareTimeout));
  times.prepare_ms = milliseconds(prepared.wall);
  if (prepared.end != GoEnd::kDone) return std::optional(fault_of(prepared, "prepare"));
  return std::optional<Fault>();
}

Status Side::calibrate() {
  for (int attempt = 0; attempt < kCalibrations; ++attempt) {
    if (attempt > 0) std::this_thread::sleep_for(kTimeSlice);
    KW_TRY(NullGos found, client_->null_gos(kNullGos));
    null_go_ = attempt == 0 ? found.median : lesser(null_go_, found.median);
    if (found.steady) break;
  }
  return {};
}

void Side::limit_null_go(const Side& other) {
  null_go_ = lesser(null_go_, other.null_go_);
}

Result<std::optional<Fault>> Side::call(std::span<const std::uint32_t> sets,
                                        std::chrono::nanoseconds timeout, GoResult& go) {
  KW_TRY(go, client_->go(Op::kCall, sets, timeout));
  if (go.end != GoEnd::kDone) return std::optional(fault_of(go, "a call"));
  return std::optional<Fault>();
}

std::chrono::nanoseconds Side::net(const GoResult& go) const {
  return std::max(go.wall - null_go_.wall, std::chrono::nanoseconds(1));
}

void Side::guard_outputs(std::span<const std::uint32_t> sets, Rng& rng, OutputGuards guards) {
  if (client_->style() != Style::kDestinationPassing) return;
  for (std::uint32_t s : sets) {
    if (guards.move) client_->memory().output->destinations[s].layout().move(rng);
    auto& seeds = poison_seeds_[s];
    seeds.clear();
    for (std::size_t j = 0; guards.poison && j < signature_->outputs.size(); ++j)
      seeds.push_back(rng.next());
    canary_seeds_.erase(s);
    if (guards.canaries) canary_seeds_[s] = rng.next();
  }
  std::size_t bytes =
      client_->memory().output->destinations[sets[0]].layout().file_bytes() * sets.size();
  os::in_parallel(sets.size(), bytes, [&](std::size_t i) {
    SharedTensors& outputs = client_->memory().output->destinations[sets[i]];
    const auto& seeds = poison_seeds_.at(sets[i]);
    for (std::size_t j = 0; j < seeds.size(); ++j)
      poison(signature_->outputs[j].dtype, seeds[j], outputs.tensor(j));
    auto canary = canary_seeds_.find(sets[i]);
    if (canary != canary_seeds_.end()) outputs.write_canaries(canary->second);
  });
}

bool Side::canaries_intact(std::span<const std::uint32_t> sets) const {
  return std::ranges::all_of(sets, [&](std::uint32_t s) {
    auto seed = canary_seeds_.find(s);
    return seed == canary_seeds_.end() ||
           client_->memory().output->destinations[s].canaries_intact(seed->second);
  });
}

std::size_t Side::unwritten(std::uint32_t set, std::size_t output) const {
  auto seeds = poison_seeds_.find(set);
  if (seeds == poison_seeds_.end() || output >= seeds->second.size()) return 0;
  return count_poisoned(signature_->outputs[output].dtype, seeds->second[output],
                        this->output(set, output));
}

std::vector<std::span<const std::byte>> Side::outputs(std::uint32_t set) const {
  std::vector<std::span<const std::byte>> out;
  for (const Snapshot& snapshot : snapshots_.at(set)) out.push_back(snapshot.bytes);
  return out;
}

std::optional<Fault> Side::take_snapshot(std::span<const std::uint32_t> sets) {
  for (std::uint32_t call = 0; call < sets.size(); ++call) {
    auto& outputs = snapshots_[sets[call]];
    outputs.resize(signature_->outputs.size());
    for (std::uint32_t j = 0; j < outputs.size(); ++j) {
      Snapshot& snapshot = outputs[j];
      if (client_->style() == Style::kDestinationPassing) {
        snapshot.bytes =
            std::as_const(client_->memory().output->destinations[sets[call]]).tensor(j);
      } else if (auto fault = snapshot_returned(call, j, snapshot)) {
        return fault;
      }
      if (client_->frozen_between_gos() || snapshot.bytes.data() == snapshot.copy.data()) continue;
      snapshot.copy.assign(snapshot.bytes.begin(), snapshot.bytes.end());
      snapshot.bytes = snapshot.copy;
    }
  }
  return std::nullopt;
}

std::optional<Fault> Side::snapshot_returned(std::uint32_t call, std::uint32_t j,
                                             Snapshot& snapshot) {
  const task::Argument& declared = signature_->outputs[j];
  std::span<const std::byte> arena = client_->memory().output->arena.bytes();
  OutputReport report = client_->report(call, j);
  ReturnedCheck check = check_returned(report, declared, arena.size());
  if (check.outcome != task::Outcome::kPassed) {
    bool forged = check.outcome == task::Outcome::kViolation;
    return Fault{check.outcome, forged ? "forged_report" : "", check.message};
  }
  snapshot.bytes = returned_bytes(report, arena, declared.bytes(), snapshot.copy);
  return std::nullopt;
}

}  // namespace kw::gym
