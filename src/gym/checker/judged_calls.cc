// Filling, launching and checking of calls.
#include "gym/checker/judged_calls.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "base/present.h"
#include "base/random.h"

namespace kw::gym {
namespace {

constexpr std::size_t kHashSample = 1ULL << 20U;
constexpr auto kCpuSlack = std::chrono::milliseconds(2);
// A machine whose hypervisor takes its cores away counts some launches late all the same.
constexpr int kMaxRestless = 5;

// Nobody's verdict: the candidate is not at fault.
tl::unexpected<Error> baseline_failed(const std::string& how) {
  return fail(ErrorCode::kUnavailable, "the baseline failed: {}", how);
}

}  // namespace

JudgedCalls::JudgedCalls(JudgingContext& context, Side& candidate, FirstFault& fault)
    : context_(context),
      candidate_(candidate),
      fault_(fault),
      outputs_(context, candidate, fault),
      hash_seed_(context.seeds.next()),
      first_seed_(context.seeds.next()),
      input_hashes_(context.sets.size()),
      filled_cases_(context.sets.size()) {}

std::chrono::nanoseconds JudgedCalls::timeout() const {
  if (context_.options.timeout_seconds > 0) {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(
        std::chrono::duration<double>(context_.options.timeout_seconds));
  }
  return call_timeout(context_.reference_time);
}

Result<OracleAnswer> JudgedCalls::fill_ordinary(std::uint32_t s, std::uint64_t seed,
                                                bool is_known) {
  TensorMemory& set = *context_.sets[s];
  const bool is_fresh = context_.options.mechanisms.fresh_inputs;
  KW_TRY(OracleAnswer filled, context_.inputs.fill(set, is_fresh ? seed : first_seed_));
  return filled.ok && !is_known ? repeat_probabilities(set) : filled;
}

Result<OracleAnswer> JudgedCalls::fill_hard(std::uint32_t s, std::size_t number) {
  HardCase& hard = context_.hard.at(number);
  filled_cases_[s] = FilledCase{number, hard.version};
  return context_.hard.fill(hard, context_.inputs, *context_.sets[s]);
}

Status JudgedCalls::fill(std::uint32_t s, bool audited, std::optional<std::size_t> hard) {
  const auto start = context_.clock.now();
  KW_TRY_STATUS(fill_and_guard(s, audited, hard));
  fill_ms_ += to_ms(context_.clock.now() - start);
  return {};
}

Status JudgedCalls::fill_and_guard(std::uint32_t s, bool audited, std::optional<std::size_t> hard) {
  const Mechanisms& on = context_.options.mechanisms;
  Rng places(context_.seeds.next());
  std::uint64_t seed = context_.seeds.next();
  AuditInstance* known = nullptr;
  if (audited && on.fresh_inputs) known = context_.audits.use(next_audit_instance_);
  if (known != nullptr) {
    ++next_audit_instance_;
    seed = known->seed;
  }
  if (audited) {
    audited_set_ = s;
    audit_instance_ = known;
  } else if (audited_set_ == s) {
    audited_set_.reset();
  }
  TensorMemory& set = *context_.sets[s];
  if (on.moving_addresses) set.move(places);
  filled_cases_[s].reset();
  KW_TRY(OracleAnswer filled,
         hard ? fill_hard(s, *hard) : fill_ordinary(s, seed, known != nullptr));
  if (!filled.ok)
    return fail(ErrorCode::kUnavailable, "the inputs cannot be made: {}", filled.text);
  if (on.edges) KW_TRY_STATUS(set.write_canaries(places.next()));
  if (on.rehash) {
    KW_TRY(Later<std::uint64_t> hash, set.hash_later(hash_seed_ + s, kHashSample));
    input_hashes_[s] = std::move(hash);
  }
  KW_TRY_STATUS(
      candidate_.outputs().guard(s, places, {on.moving_addresses, on.poison, on.canaries}));
  return context_.baseline.outputs().guard(s, places, {on.moving_addresses, false, false});
}

// Sampled outputs: every second call has the probabilities of the call before, and all else fresh.
Result<OracleAnswer> JudgedCalls::repeat_probabilities(TensorMemory& set) {
  OracleAnswer filled;
  const bool again = std::exchange(has_new_probabilities_, !has_new_probabilities_);
  for (std::size_t input : context_.checker.probability_inputs()) {
    if (!again) probabilities_seed_ = context_.seeds.next();
    KW_TRY(filled, context_.inputs.refill(set, input, probabilities_seed_ + input));
    if (!filled.ok) break;
  }
  return filled;
}

Result<JudgedCalls::MemoryLater> JudgedCalls::look_at_memory(std::span<const std::uint32_t> sets) {
  std::vector<Later<std::uint64_t>> hashes;
  for (std::uint32_t s : sets) {
    if (!context_.options.mechanisms.rehash) break;
    KW_TRY(Later<std::uint64_t> now, context_.sets[s]->hash_later(hash_seed_ + s, kHashSample));
    hashes.push_back(std::move(now));
  }
  KW_TRY(Later<bool> canaries, candidate_.outputs().canaries_intact_later(sets));
  return MemoryLater{std::move(hashes), std::move(canaries)};
}

Status JudgedCalls::check_memory(std::span<const std::uint32_t> sets, MemoryLater memory) {
  for (std::size_t i = 0; i < memory.hashes.size(); ++i) {
    KW_TRY(const std::uint64_t before, present(input_hashes_[sets[i]]).get());
    KW_TRY(const std::uint64_t now, memory.hashes[i].get());
    input_hashes_[sets[i]].emplace(before);
    if (now == before) continue;
    fault_.blame({task::Outcome::kViolation, "input_write", "an input changed during a call"});
  }
  KW_TRY(const bool intact, memory.canaries.get());
  if (!intact) {
    fault_.blame(
        {task::Outcome::kViolation, "out_of_bounds", "it wrote outside its output buffers"});
  }
  return {};
}

// The second witness: what the sandbox's processes used of the cores cannot be more than the clock
// allows.
bool JudgedCalls::exceeds_clock(const LaunchResult& launch) const {
  if (!context_.options.mechanisms.cpu_witness) return false;
  return launch.cpu_time > context_.options.threads * launch.wall + launch.wall / 10 + kCpuSlack;
}

// Frozen processes use no core time. Where freezing is by signals, something may continue them. A
// busy machine counts the ends of some launches late: so a first sight only begins the watch, which
// gives the kernel time to count them. The next call's time has what they do at rest, so even then
// it may happen by chance now and then.
bool JudgedCalls::ran_while_frozen(const LaunchResult& launch) {
  const bool is_restless = launch.worked_at_rest().count() > 0;
  if (!is_watched_) {
    is_watched_ = is_restless || launch.was_moving;
    if (is_watched_) candidate_.watch_at_rest();
    return false;
  }
  ++watched_launches_;
  if (is_restless) ++restless_launches_;
  return launch.was_moving ||
         (restless_launches_ > kMaxRestless && 2 * restless_launches_ > watched_launches_);
}

Result<LaunchResult> JudgedCalls::launch(Side& side, std::span<const std::uint32_t> sets) {
  LaunchResult result;
  KW_TRY(auto fault, side.launch(sets, timeout() * static_cast<int>(sets.size()), result));
  const bool is_candidate = &side == &candidate_;
  LaunchTotals& totals = is_candidate ? candidate_totals_ : baseline_totals_;
  totals.page_faults += result.page_faults;
  totals.waited += result.waited;
  totals.wall += result.wall;
  if (fault && !is_candidate) return baseline_failed(fault->message);
  if (fault) fault_.blame(std::move(*fault));
  if (is_candidate && !fault_.found() && ran_while_frozen(result)) {
    fault_.blame({task::Outcome::kViolation, "background_work",
                  "its processes ran between two calls, while they were stopped"});
  }
  if (fault_.found() || !exceeds_clock(result)) return result;
  const std::string words =
      fmt::format("its processes used {:.2f} ms of core time, more than a call of {:.2f} ms allows",
                  to_ms(result.cpu_time), to_ms(result.wall));
  if (!is_candidate) return baseline_failed(words);
  fault_.blame({task::Outcome::kViolation, "background_work", words});
  return result;
}

Status JudgedCalls::take_snapshot(Side& side, std::span<const std::uint32_t> sets) {
  KW_TRY(auto fault, side.outputs().take_snapshot(sets));
  if (!fault) return {};
  if (&side != &candidate_) return baseline_failed(fault->message);
  fault_.blame(std::move(*fault));
  return {};
}

Status JudgedCalls::checked_call(std::uint32_t set, bool is_audited,
                                 std::optional<std::size_t> hard, bool in_first_block) {
  KW_TRY_STATUS(call_both(set, is_audited, hard));
  return fault_.found() ? Status() : check(std::array{set}, in_first_block);
}

Status JudgedCalls::unjudged_call(std::uint32_t set, std::optional<std::size_t> hard) {
  KW_TRY_STATUS(call_both(set, false, hard));
  if (fault_.found()) return {};
  const std::array sets = {set};
  KW_TRY(MemoryLater memory, look_at_memory(sets));
  return check_memory(sets, std::move(memory));
}

Status JudgedCalls::call_both(std::uint32_t set, bool is_audited, std::optional<std::size_t> hard) {
  const std::array sets = {set};
  KW_TRY_STATUS(fill(set, is_audited, hard));
  for (Side* side : {&candidate_, &context_.baseline}) {
    if (fault_.found()) return {};
    KW_TRY(LaunchResult done, launch(*side, sets));
    if (done.end == LaunchEnd::kDone && !fault_.found()) KW_TRY_STATUS(take_snapshot(*side, sets));
  }
  return {};
}

Status JudgedCalls::check(std::span<const std::uint32_t> sets, bool in_first_block) {
  KW_TRY(BegunCheck begun, begin_check(sets, in_first_block));
  return end_check(sets, std::move(begun));
}

// All is begun before anything is waited for: a GPU works through it in one go.
Result<JudgedCalls::BegunCheck> JudgedCalls::begin_check(std::span<const std::uint32_t> sets,
                                                         bool in_first_block) {
  KW_TRY(MemoryLater memory, look_at_memory(sets));
  BegunCheck begun(std::move(memory));
  begun.in_first_block_ = in_first_block;
  if (context_.options.mechanisms.check_timed || !context_.options.timing || in_first_block) {
    KW_TRY(begun.compared_, outputs_.compare_later(sets));
  }
  return begun;
}

Status JudgedCalls::end_check(std::span<const std::uint32_t> sets, BegunCheck begun) {
  KW_TRY_STATUS(check_memory(sets, std::move(begun.memory_)));
  if (begun.compared_) {
    KW_TRY_STATUS(
        outputs_.decide(sets, std::move(*begun.compared_), begun.in_first_block_, filled_cases_));
  }
  KW_TRY_STATUS(outputs_.add_samples(sets));
  const bool audits = context_.options.mechanisms.audit || !context_.options.timing;
  if (!fault_.found() && audits && audited_set_ &&
      std::ranges::find(sets, *audited_set_) != sets.end())
    KW_TRY_STATUS(outputs_.audit(*audited_set_, audit_instance_));
  return {};
}

}  // namespace kw::gym
