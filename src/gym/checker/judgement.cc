// Calls and blocks of one candidate, and what is reported of them.
#include "gym/checker/judgement.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <thread>

#include "base/hash.h"
#include "gym/checker/fault_cost.h"
#include "gym/gym.h"
#include "gym/measure/stolen_time.h"

namespace kw::gym {
namespace {

using Clock = std::chrono::steady_clock;
constexpr int kCheckedCalls = 3;            // untimed workloads
constexpr std::uint32_t kRotatingSets = 4;  // of each half, where a go is one call
constexpr int kWarmUpBlocks = 1;            // checked like all others, left out of the interval
constexpr auto kWantedSample = std::chrono::microseconds(
    1000);  // shorter kernels are called several times a sample, each on inputs of its own
// Interleaving switched off: the reference is timed during this long since the judgement began, the
// candidate afterwards.
constexpr auto kReferencePhase = std::chrono::milliseconds(1500);
constexpr auto kLateReading = std::chrono::milliseconds(
    20);  // snapshots switched off: as in a harness that compares when all else is done
constexpr std::size_t kHashSample = 1ULL << 20U;
constexpr auto kCpuSlack = std::chrono::milliseconds(2);

// A secret block among the first five is audited, another one among the fifteen that follow, and so
// on.
class AuditSchedule {
 public:
  explicit AuditSchedule(std::uint64_t secret_seed)
      : rng_(secret_seed), next_(rng_.below(kFirst)) {}

  bool due(std::int64_t block) {
    if (static_cast<std::uint64_t>(block) != next_) return false;
    next_ = end_ + rng_.below((kGrowth - 1) * end_);
    end_ *= kGrowth;
    return true;
  }

 private:
  static constexpr std::uint64_t kFirst = 5, kGrowth = 4;
  Rng rng_;
  std::uint64_t next_;
  std::uint64_t end_ = kFirst;
};

double ms(Clock::duration duration) {
  return std::chrono::duration<double, std::milli>(duration).count();
}

Json to_json(const ExecutorClient::Launches& launches) {
  Json kernels = Json::array();
  for (const KernelReport& kernel : launches.kernels) {
    kernels.push_back({{"identity", hex(kernel.identity)},
                       {"launches", kernel.launches},
                       {"programs", kernel.programs}});
  }
  return {{"kernel_count", launches.kernel_count},
          {"library_calls", launches.library_calls},
          {"kernels", kernels}};
}

}  // namespace

Judgement::Judgement(Session& session, std::unique_ptr<Side> candidate, int process_pairs,
                     int control)
    : session_(session),
      candidate_(std::move(candidate)),
      process_pairs_(process_pairs),
      control_(control),
      benchmark_rules_(!session.module_),
      input_hashes_(session.sets_.size()) {
  for (const auto& output : session.signature_.outputs)
    errors_.push_back({output.name, 0, 0, 0, 0});
  hash_seed_ = session.next_seed();
  first_seed_ = session.next_seed();
}

std::chrono::nanoseconds Judgement::timeout() const {
  if (session_.options_.timeout_seconds > 0) {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(
        std::chrono::duration<double>(session_.options_.timeout_seconds));
  }
  return call_timeout(session_.reference_time_);
}

void Judgement::blame(Fault fault) {
  if (!fault_) fault_ = std::move(fault);
}

// Fresh inputs, poisoned outputs and canaries, for both sides. An audited set gets the inputs of an
// instance whose outputs are known, if there is one that this candidate has not seen.
Status Judgement::fill(std::uint32_t s, bool audited) {
  const Mechanisms& on = session_.options_.mechanisms;
  Rng places(session_.next_seed());
  std::uint64_t seed = session_.next_seed();
  audited_set_ = audited ? std::optional(s) : std::nullopt;
  audit_instance_ = nullptr;
  if (audited && on.fresh_inputs && next_audit_instance_ < session_.audit_instances_.size()) {
    audit_instance_ = session_.audit_instances_[next_audit_instance_++].get();
    audit_instance_->uses += 1;
    seed = audit_instance_->seed;
  }
  SharedTensors& set = session_.sets_[s];
  if (on.moving_addresses) set.layout().move(places);
  KW_TRY(OracleAnswer filled, session_.inputs_->fill(set, on.fresh_inputs ? seed : first_seed_));
  if (filled.ok && audit_instance_ == nullptr) {
    KW_TRY(filled, repeat_probabilities(set));
  }
  if (!filled.ok) return fail(ErrorCode::kUnavailable, "get_inputs() failed: {}", filled.text);
  input_hashes_[s] = on.rehash ? set.hash(hash_seed_ + s, kHashSample) : 0;
  const Group group = {s};
  candidate_->guard_outputs(group, places, {on.moving_addresses, on.poison, on.canaries});
  session_.baseline_->guard_outputs(group, places, {on.moving_addresses, false, false});
  return {};
}

// Sampled outputs: every second call has the probabilities of the one before, and all else fresh.
Result<OracleAnswer> Judgement::repeat_probabilities(SharedTensors& set) {
  OracleAnswer filled;
  bool again = std::exchange(has_new_probabilities_, !has_new_probabilities_);
  for (std::size_t input : session_.checker_->probability_inputs()) {
    if (!again) probabilities_seed_ = session_.next_seed();
    KW_TRY(filled, session_.inputs_->refill(set, input, probabilities_seed_ + input));
    if (!filled.ok) break;
  }
  return filled;
}

void Judgement::check_memory(const Group& sets) {
  const Mechanisms& on = session_.options_.mechanisms;
  for (std::uint32_t s : sets) {
    if (on.rehash && session_.sets_[s].hash(hash_seed_ + s, kHashSample) != input_hashes_[s]) {
      blame({task::Outcome::kViolation, "input_write", "an input changed during a call"});
    }
  }
  if (!candidate_->canaries_intact(sets)) {
    blame({task::Outcome::kViolation, "out_of_bounds", "it wrote outside its output buffers"});
  }
}

// The second witness: what the sandbox's processes used of the cores cannot be more than the clock
// allows.
bool Judgement::judge_clock(const GoResult& go) {
  if (!session_.options_.mechanisms.cpu_witness) return true;
  return go.cpu_time <= session_.options_.threads * go.wall + go.wall / 10 + kCpuSlack;
}

Result<GoResult> Judgement::go(Side& side, const Group& sets) {
  GoResult result;
  KW_TRY(auto fault, side.call(sets, timeout() * static_cast<int>(sets.size()), result));
  (&side == candidate_.get() ? candidate_faults_ : reference_faults_) += result.minor_faults;
  (&side == candidate_.get() ? candidate_waited_ : reference_waited_) += result.waited;
  if (&side == candidate_.get()) call_ms_ += ms(result.wall);
  if (fault && &side != candidate_.get())
    return fail(ErrorCode::kUnavailable, "the baseline failed: {}", fault->message);
  if (fault) blame(std::move(*fault));
  if (!fault_ && !judge_clock(result)) {
    blame({task::Outcome::kViolation, "background_work",
           "its processes used more core time than the call lasted"});
  }
  return result;
}

void Judgement::snapshot(Side& side, const Group& sets) {
  auto fault = side.take_snapshot(sets);
  if (!fault) return;
  if (&side != candidate_.get()) fault->message.insert(0, "the baseline: ");
  blame(std::move(*fault));
}

// What the calls on these sets left: memory, outputs, draws, and the audit if one of them is due.
Status Judgement::check(const Group& sets) {
  check_memory(sets);
  bool compares = session_.options_.mechanisms.check_timed || !session_.options_.timing;
  if (compares || blocks_ == 0) KW_TRY_STATUS(compare(sets));
  add_samples(sets);
  bool audits = session_.options_.mechanisms.audit || !session_.options_.timing;
  if (!fault_ && audits && audited_set_ && std::ranges::find(sets, *audited_set_) != sets.end())
    KW_TRY_STATUS(audit(*audited_set_));
  return {};
}

// All calls are compared with the baseline, a secret one with float64.
Status Judgement::checked_calls() {
  auto start = Clock::now();
  Rng secret(session_.next_seed());
  auto audited = static_cast<int>(secret.below(kCheckedCalls));
  for (int i = 0; i < kCheckedCalls && !fault_; ++i, ++blocks_) {
    auto set = static_cast<std::uint32_t>(i) % static_cast<std::uint32_t>(session_.sets_.size());
    Group sets = {set};
    KW_TRY_STATUS(fill(set, i == audited));
    for (Side* side : {candidate_.get(), session_.baseline_.get()}) {
      if (fault_) break;
      KW_TRY(GoResult done, go(*side, sets));
      if (done.end == GoEnd::kDone && !fault_) snapshot(*side, sets);
    }
    if (!fault_) KW_TRY_STATUS(check(sets));
  }
  check_ms_ += ms(Clock::now() - start);
  return {};
}

// A B B A or B A A B: each side is the first as often as the second. Each call is checked before
// anything else runs.
Result<std::array<Judgement::Sample, 2>> Judgement::block(const std::array<Group, 2>& groups,
                                                          std::optional<std::uint32_t> audited) {
  std::array<Sample, 2> samples;
  std::array<Side*, 2> order = {session_.baseline_.get(), candidate_.get()};
  if ((session_.next_seed() & 1U) != 0) std::swap(order[0], order[1]);
  KW_TRY(LeaseScope lease, take_lease());
  for (std::size_t half = 0; half < groups.size() && !fault_; ++half) {
    KW_TRY_STATUS(half_block(order, groups[half], audited, samples[half]));
    std::swap(order[0], order[1]);
  }
  return samples;
}

// A call's inputs appear right before its go, when the call before it has been checked: what is not
// there yet cannot be computed along with it.
Status Judgement::half_block(const std::array<Side*, 2>& order, const Group& sets,
                             std::optional<std::uint32_t> audited, Sample& sample) {
  for (std::uint32_t s : sets) {
    const Group set = {s};
    KW_TRY_STATUS(fill(s, audited == s));
    KW_TRY_STATUS(pair_of_gos(order, set, sample));
    if (!fault_)
      KW_TRY_STATUS(session_.options_.mechanisms.snapshot ? check(set) : check_late(set));
    if (fault_) return {};
  }
  sample.candidate_ns /= static_cast<double>(sets.size());
  sample.reference_ns /= static_cast<double>(sets.size());
  return {};
}

Status Judgement::pair_of_gos(const std::array<Side*, 2>& order, const Group& set, Sample& sample) {
  auto begun = Clock::now();
  std::chrono::nanoseconds stolen_before = stolen_time();
  for (Side* side : order) {
    KW_TRY(GoResult done, go(*side, set));
    if (fault_) return {};
    add_go(*side, done, sample);
    if (session_.options_.mechanisms.snapshot) snapshot(*side, set);
  }
  std::chrono::nanoseconds stolen = stolen_time() - stolen_before;
  sample.candidate.stolen += stolen;
  sample.reference.stolen += stolen;
  time_ms_ += ms(Clock::now() - begun);
  return {};
}

// The larger of two witnesses: who says done too early works on while it is being frozen, within
// the time that is taken off as the cost of a go.
std::chrono::nanoseconds Judgement::time_of(const Side& side, const GoResult& done) const {
  const std::chrono::nanoseconds wall = side.net(done);
  if (!session_.options_.mechanisms.cpu_witness) return wall;
  return std::max(wall, side.net_cpu_time(done) / session_.options_.threads);
}

void Judgement::add_go(Side& side, const GoResult& done, Sample& sample) const {
  bool reference = &side == session_.baseline_.get();
  const std::chrono::nanoseconds time = time_of(side, done);
  Disturbance& disturbance = reference ? sample.reference : sample.candidate;
  disturbance.wall += time;
  // Executors that cannot be frozen spin beside each other: then each waits all the time.
  if (side.client().frozen_between_gos()) disturbance.waited += side.net_waited(done);
  disturbance.faults += std::chrono::nanoseconds(
      std::llround(fault_cost_ns() * static_cast<double>(done.minor_faults)));
  (reference ? sample.reference_ns : sample.candidate_ns) += static_cast<double>(time.count());
}

// Snapshots switched off: outputs are read a while after both calls.
Status Judgement::check_late(const Group& sets) {
  std::this_thread::sleep_for(kLateReading);
  snapshot(*session_.baseline_, sets);
  snapshot(*candidate_, sets);
  return fault_ ? Status() : check(sets);
}

// Interleaving switched off: true for a block of the reference's phase, which gives no sample;
// later blocks get the mean of that phase as the reference's time.
bool Judgement::separate(Sample& sample) {
  if (Clock::now() < begun_ + kReferencePhase) {
    reference_phase_ns_.push_back(sample.reference_ns);
    return true;
  }
  sample.reference_ns =
      std::accumulate(reference_phase_ns_.begin(), reference_phase_ns_.end(), 0.0) /
      static_cast<double>(std::max<std::size_t>(1, reference_phase_ns_.size()));
  return false;
}

// Others' measurements are no part of this one's limit.
Result<LeaseScope> Judgement::take_lease() {
  const auto asked = Clock::now();
  auto lease = LeaseScope::take(control_);
  lease_wait_ += Clock::now() - asked;
  return lease;
}

Status Judgement::calibrate() {
  KW_TRY(LeaseScope lease, take_lease());
  KW_TRY_STATUS(session_.baseline_->calibrate());
  KW_TRY_STATUS(candidate_->calibrate());
  candidate_->limit_null_go(*session_.baseline_);
  return {};
}

// Two groups of sets, one call each; other sets every time.
std::array<Judgement::Group, 2> Judgement::next_groups() {
  auto half = static_cast<std::uint32_t>(session_.sets_.size() / 2);
  auto wanted = std::max<std::int64_t>(
      1, kWantedSample / std::max(session_.reference_time_, std::chrono::nanoseconds(1)));
  auto calls = static_cast<std::uint32_t>(std::min<std::int64_t>(half, wanted));
  std::uint32_t used = std::min(half, std::max(calls, kRotatingSets));
  std::array<Group, 2> groups;
  for (std::uint32_t i = 0; i < calls; ++i) {
    std::uint32_t s = (first_set_ + i) % used;
    groups[0].push_back(s);
    groups[1].push_back(half + s);
  }
  first_set_ = (first_set_ + calls) % used;
  return groups;
}

// Who measures has no turn: it leases the whole host, block by block.
Status Judgement::measure() {
  session_.turn().end();
  KW_TRY_STATUS(timed_blocks());
  return session_.turn().begin();
}

Status Judgement::timed_blocks() {
  KW_TRY_STATUS(calibrate());
  lease_wait_ = {};
  SequentialInterval interval(session_.options_.half_width, process_pairs_);
  const auto begun = Clock::now();
  const auto deadline =
      begun + std::chrono::duration_cast<Clock::duration>(
                  std::chrono::duration<double>(session_.options_.max_seconds / process_pairs_));
  Rng secret(session_.next_seed());
  std::int64_t patience = 0;
  AuditSchedule audits(session_.next_seed());
  for (bool late = false; !fault_; ++blocks_) {
    auto start = Clock::now();
    const std::array<Group, 2> groups = next_groups();
    Group all = groups[0];
    all.insert(all.end(), groups[1].begin(), groups[1].end());
    std::optional<std::uint32_t> audited;
    if (audits.due(blocks_) || (late && audits_ == 0)) audited = all[secret.below(all.size())];
    const double timed_before = time_ms_;
    const Clock::duration waited_before = lease_wait_;
    KW_TRY(auto samples, block(groups, audited));
    check_ms_ +=
        ms(Clock::now() - start - (lease_wait_ - waited_before)) - (time_ms_ - timed_before);
    if (fault_) break;
    late = Clock::now() - lease_wait_ > deadline;
    for (Sample& sample : samples) {
      if (blocks_ < kWarmUpBlocks ||
          (!session_.options_.mechanisms.interleaving && separate(sample)) ||
          !filter_.keep(sample.candidate, sample.reference))
        continue;
      candidate_ns_.push_back(sample.candidate_ns);
      reference_ns_.push_back(sample.reference_ns);
      interval.add(std::log(sample.reference_ns / sample.candidate_ns));
    }
    bool audit_missing = audits_ == 0 && session_.options_.mechanisms.audit;
    if (late && !audit_missing) break;
    if (!interval.done() || audit_missing) continue;
    // Two bad samples among ten may be bad luck: it shows in three times as many.
    if (patience == 0) patience = 3 * blocks_;
    if (!filter_.noisy() || blocks_ >= patience) break;
  }
  return {};
}

Json Judgement::report() const {
  Json errors = Json::array();
  for (const task::OutputError& error : errors_) {
    errors.push_back({{"output", error.output},
                      {"max_absolute", error.max_absolute},
                      {"max_relative", error.max_relative},
                      {"max_of_budget", error.max_of_budget},
                      {"checked_calls", error.checked_calls}});
  }
  Json report = {
      {"outcome", task::to_string(fault_ ? fault_->outcome : task::Outcome::kPassed)},
      {"violation", fault_ ? fault_->violation : ""},
      {"errors", errors},
      {"candidate_ns", candidate_ns_},
      {"reference_ns", reference_ns_},
      {"timed", session_.options_.timing},
      {"pair_samples", Json::array({candidate_ns_.size()})},
      {"null_go_ns", candidate_->null_go().count()},
      {"blocks", blocks_},
      {"disturbed_samples", filter_.dropped()},
      {"disturbed_by_faults", filter_.dropped_by(DisturbanceKind::kFaults)},
      {"audits", audits_},
      {"oracle",
       session_.exact_precision_ == Precision::kSecond ? "second_implementation" : "float64"},
      {"call_ms", call_ms_},
      {"candidate_page_faults", candidate_faults_},
      {"reference_page_faults", reference_faults_},
      {"candidate_waited_ns", candidate_waited_.count()},
      {"reference_waited_ns", reference_waited_.count()},
      {"cost",
       {{"load_ms", start_times_.load_ms},
        {"prepare_ms", start_times_.prepare_ms},
        {"check_ms", check_ms_},
        {"time_ms", time_ms_}}}};
  benchmark_rules_.add_to(report, fault_);
  Json diagnostics = Json::array();
  if (fault_)
    diagnostics.push_back(
        {{"kind", fault_->outcome == task::Outcome::kWrongValue ? "mismatch" : "hint"},
         {"message", fault_->message}});
  report["diagnostics"] = diagnostics;
  if (auto launches = candidate_->client().launches()) report["launches"] = to_json(*launches);
  return report;
}

Result<Json> Judgement::run() {
  KW_TRY(auto fault, candidate_->start(start_times_));
  if (fault) blame(std::move(*fault));
  if (!fault_) KW_TRY_STATUS(session_.options_.timing ? measure() : checked_calls());
  judge_samples();
  return report();
}

Result<Json> Session::judge(const Json& body, ReceivedFds& fds, int control) {
  if (baseline_ == nullptr) return fail(ErrorCode::kInternal, "judge before baseline");
  KW_TRY_STATUS(renew_audit_instances());
  KW_TRY_STATUS(renew_candidate_memory(body.value("memory_is_free", false)));
  KW_TRY(auto candidate, attach(body["candidate"], fds, "candidate", candidate_memory_));
  const int process_pairs = std::max(1, body.value("process_pairs", 1));
  return Judgement(*this, std::move(candidate), process_pairs, control).run();
}

}  // namespace kw::gym
