// Blocks, comparisons and audits of one candidate.
#include "gym/checker/judgement.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <thread>

#include "gym/checker/fault_cost.h"
#include "gym/checker/lease_client.h"
#include "gym/correctness/compat.h"
#include "gym/correctness/mismatch.h"
#include "gym/gym.h"
#include "gym/measure/stolen_time.h"
#include "os/parallel.h"

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
constexpr std::size_t kLargeSet = 4ULL << 20U;
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
    std::string identity;
    for (std::uint8_t byte : kernel.identity) identity += fmt::format("{:02x}", byte);
    kernels.push_back(
        {{"identity", identity}, {"launches", kernel.launches}, {"programs", kernel.programs}});
  }
  return {{"kernel_count", launches.kernel_count},
          {"library_calls", launches.library_calls},
          {"kernels", kernels}};
}

// work(i) for every set; a few large ones one after the other, since each is worked on by all
// cores.
void for_sets(std::span<const std::uint32_t> sets, std::size_t bytes_of_one,
              const std::function<void(std::size_t)>& work) {
  if (bytes_of_one < kLargeSet)
    return os::in_parallel(sets.size(), sets.size() * bytes_of_one, work);
  for (std::size_t i = 0; i < sets.size(); ++i) work(i);
}

}  // namespace

Judgement::Judgement(Session& session, std::unique_ptr<Side> candidate, int control)
    : session_(session),
      candidate_(std::move(candidate)),
      control_(control),
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

// expected: the right output in the declared dtype, to tell what kind of mistake it is.
void Judgement::record(std::size_t output, const CheckReport& report, std::uint32_t set,
                       std::span<const std::byte> expected) {
  task::OutputError& error = errors_[output];
  kw::gym::record(report, error);
  if (report.passed) return;
  error.max_of_budget = std::max(error.max_of_budget, 1.000001);
  const task::Argument& declared = session_.signature_.outputs[output];
  Mismatch mismatch = describe_mismatch(
      {declared.dtype, declared.shape, candidate_->output(set, output)},
      {declared.dtype, declared.shape, expected}, report, candidate_->unwritten(set, output));
  blame(
      {task::Outcome::kWrongValue, "", fmt::format("output {}: {}", error.output, mismatch.text)});
}

void Judgement::compat(std::size_t output, std::span<const std::byte> candidate,
                       std::span<const std::byte> reference) {
  const task::Argument& declared = session_.signature_.outputs[output];
  ++compared_;
  TensorView ours{declared.dtype, declared.shape, candidate};
  TensorView theirs{declared.dtype, declared.shape, reference};
  if (!session_.module_)
    kernelbench_ok_ = kernelbench_ok_ && kernelbench_compare(ours, theirs).close;
  FlashInferResult flashinfer = flashinfer_compare(ours, theirs);
  flashinfer_ok_ = flashinfer_ok_ && flashinfer.status == FlashInferStatus::kPassed;
  flashinfer_abs_ = std::max(flashinfer_abs_, flashinfer.max_absolute_error);
  flashinfer_rel_ = std::max(flashinfer_rel_, flashinfer.max_relative_error);
}

// Fresh inputs, poisoned outputs and canaries in these sets, for both sides. The audited set gets
// the inputs of an instance whose outputs are known, if there is one that this candidate has not
// seen.
Status Judgement::fill(const Group& sets, std::optional<std::uint32_t> audited) {
  const Mechanisms& on = session_.options_.mechanisms;
  Rng places(session_.next_seed());
  std::vector<std::uint64_t> seeds;
  audited_set_ = audited;
  audit_instance_ = nullptr;
  if (audited && next_audit_instance_ < session_.audit_instances_.size()) {
    audit_instance_ = session_.audit_instances_[next_audit_instance_++].get();
    audit_instance_->uses += 1;
  }
  for (std::uint32_t s : sets) {
    bool known = audit_instance_ != nullptr && s == *audited;
    seeds.push_back(known ? audit_instance_->seed : session_.next_seed());
    if (!on.fresh_inputs) seeds.back() = first_seed_;
    if (on.moving_addresses) session_.sets_[s].layout().move(places);
  }
  if (!on.fresh_inputs) audit_instance_ = nullptr;
  // A module's inputs come from the one oracle.
  std::vector<Result<OracleAnswer>> filled(sets.size());
  for (std::size_t i = 0; session_.module_ && i < sets.size(); ++i)
    filled[i] = session_.inputs_->fill(session_.sets_[sets[i]], seeds[i]);
  auto fill_one = [&](std::size_t i) {
    SharedTensors& set = session_.sets_[sets[i]];
    if (!session_.module_) filled[i] = session_.inputs_->fill(set, seeds[i]);
    input_hashes_[sets[i]] = on.rehash ? set.hash(hash_seed_ + sets[i], kHashSample) : 0;
  };
  for_sets(sets, session_.sets_[0].layout().file_bytes(), fill_one);
  for (auto& answer : filled) {
    if (!answer) return tl::unexpected(std::move(answer).error());
    if (!answer->ok) return fail(ErrorCode::kUnavailable, "get_inputs() failed: {}", answer->text);
  }
  candidate_->guard_outputs(sets, places, {on.moving_addresses, on.poison, on.canaries});
  session_.baseline_->guard_outputs(sets, places, {on.moving_addresses, false, false});
  return {};
}

void Judgement::add_samples(const Group& sets) {
  for (std::size_t j = 0; j < errors_.size() && !fault_; ++j) {
    if (!session_.checker_->is_sampled(j)) continue;
    Rng rng(session_.next_seed());
    for (std::uint32_t set : sets) {
      session_.checker_->add_samples(j, candidate_->output(set, j), session_.sets_[set], rng,
                                     sampled_[j]);
    }
  }
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

Status Judgement::compare(const Group& sets) {
  if (fault_) return {};
  std::size_t outputs = errors_.size();
  std::vector<CheckReport> reports(sets.size() * outputs);
  std::size_t bytes = 0;
  for (const task::Argument& output : session_.signature_.outputs) bytes += 2 * output.bytes();
  for_sets(sets, bytes, [&](std::size_t i) {
    auto theirs = session_.baseline_->outputs(sets[i]);
    for (std::size_t j = 0; j < outputs; ++j) {
      reports[i * outputs + j] = session_.checker_->against_baseline(
          j, candidate_->output(sets[i], j), theirs, session_.sets_[sets[i]]);
    }
  });
  for (std::size_t s = 0; s < sets.size(); ++s) {
    bool doubtful = false;
    for (std::size_t j = 0; j < outputs && !fault_; ++j) {
      const CheckReport& report = reports[s * outputs + j];
      auto theirs = session_.baseline_->output(sets[s], j);
      if (report.passed) record(j, report, sets[s], theirs);
      doubtful = doubtful || !report.passed;
      if (blocks_ == 0) compat(j, candidate_->output(sets[s], j), theirs);
    }
    // The baseline errs too: only float64 can convict.
    if (doubtful && !fault_) KW_TRY_STATUS(ask_oracle(sets[s]));
  }
  return {};
}

Status Judgement::audit(std::uint32_t set) {
  if (audit_instance_ == nullptr) return ask_oracle(set);
  ++audits_;
  judge_by(*audit_instance_->comparison, audit_instance_->instance, set);
  return {};
}

Status Judgement::ask_oracle(std::uint32_t set) {
  ++audits_;
  Instance instance;
  KW_TRY(OracleAnswer answer, session_.run_oracle(session_.sets_[set], instance));
  if (!answer.ok) return fail(ErrorCode::kUnavailable, "the reference failed: {}", answer.text);
  KW_TRY(OracleComparison comparison, session_.checker_->compare_with(instance));
  judge_by(comparison, instance, set);
  return {};
}

void Judgement::judge_by(const OracleComparison& comparison, const Instance& instance,
                         std::uint32_t set) {
  for (std::size_t j = 0; j < errors_.size() && !fault_; ++j)
    record(j, comparison.check(j, candidate_->output(set, j)), set, instance.trusted[j]);
}

// Draws say something only together.
void Judgement::judge_samples() {
  for (const auto& [output, test] : sampled_) {
    if (test.passed() || fault_) continue;
    errors_[output].max_of_budget = std::max(errors_[output].max_of_budget, 1.000001);
    blame({task::Outcome::kWrongValue, "",
           fmt::format("output {}: {}", errors_[output].output,
                       test.impossible() > 0 ? "it drew indices of probability 0 or out of range"
                                             : "its draws do not follow the given probabilities")});
  }
}

// All calls are compared with the baseline, a secret one with float64.
Status Judgement::checked_calls() {
  auto start = Clock::now();
  Rng secret(session_.next_seed());
  auto audited = static_cast<int>(secret.below(kCheckedCalls));
  for (int i = 0; i < kCheckedCalls && !fault_; ++i, ++blocks_) {
    auto set = static_cast<std::uint32_t>(i) % static_cast<std::uint32_t>(session_.sets_.size());
    Group sets = {set};
    KW_TRY_STATUS(fill(sets, i == audited ? std::optional(set) : std::nullopt));
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
  KW_TRY(LeaseScope lease, LeaseScope::take(control_));
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
    KW_TRY_STATUS(fill(set, audited == s ? audited : std::nullopt));
    KW_TRY_STATUS(pair_of_gos(order, set, sample));
    if (!fault_ && session_.options_.mechanisms.snapshot) KW_TRY_STATUS(check(set));
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

void Judgement::add_go(Side& side, const GoResult& done, Sample& sample) const {
  bool reference = &side == session_.baseline_.get();
  Disturbance& disturbance = reference ? sample.reference : sample.candidate;
  disturbance.wall += side.net(done);
  // Executors that cannot be frozen spin beside each other: then each waits all the time.
  if (side.client().frozen_between_gos()) disturbance.waited += side.net_waited(done);
  disturbance.faults += std::chrono::nanoseconds(
      std::llround(fault_cost_ns() * static_cast<double>(done.minor_faults)));
  (reference ? sample.reference_ns : sample.candidate_ns) +=
      static_cast<double>(side.net(done).count());
}

// Snapshots switched off: outputs are read when all else is done.
Status Judgement::check_late(const Group& sets) {
  if (session_.options_.mechanisms.snapshot || fault_) return {};
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

Status Judgement::calibrate() {
  KW_TRY(LeaseScope lease, LeaseScope::take(control_));
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

Status Judgement::timed_blocks() {
  KW_TRY_STATUS(calibrate());
  SequentialInterval interval(session_.options_.half_width, session_.options_.process_pairs);
  const auto begun = Clock::now();
  const auto deadline = begun + std::chrono::duration_cast<Clock::duration>(
                                    std::chrono::duration<double>(session_.options_.max_seconds));
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
    double timed_before = time_ms_;
    KW_TRY(auto samples, block(groups, audited));
    for (const Group& sets : groups) KW_TRY_STATUS(check_late(sets));
    check_ms_ += ms(Clock::now() - start) - (time_ms_ - timed_before);
    if (fault_) break;
    late = Clock::now() > deadline;
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
  if (!fault_ && filter_.noisy()) {
    candidate_ns_.clear();
    reference_ns_.clear();
    blame({task::Outcome::kNoisy, "",
           filter_.reason() == DisturbanceKind::kFaults
               ? "page faults took more than 1 % of the calls' time: allocate scratch memory once, "
                 "in prepare()"
               : "other work on the machine took time from the calls"});
  }
  return {};
}

// Whether the benchmarks' own harnesses would have had outputs to compare: they find no violations.
bool Judgement::ran_by_their_rules() const {
  if (compared_ == 0) return false;
  switch (fault_ ? fault_->outcome : task::Outcome::kPassed) {
    case task::Outcome::kPassed:
    case task::Outcome::kWrongValue:
    case task::Outcome::kViolation:
    case task::Outcome::kNoisy:
      return true;
    default:
      return false;
  }
}

std::string Judgement::flashinfer_status() const {
  if (ran_by_their_rules()) return flashinfer_ok_ ? "PASSED" : "INCORRECT_NUMERICAL";
  switch (fault_ ? fault_->outcome : task::Outcome::kRuntimeError) {
    case task::Outcome::kWrongShape:
      return "INCORRECT_SHAPE";
    case task::Outcome::kWrongDtype:
      return "INCORRECT_DTYPE";
    case task::Outcome::kTimeout:
      return "TIMEOUT";
    default:
      return "RUNTIME_ERROR";
  }
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
      {"process_pairs", 1},
      {"null_go_ns", candidate_->null_go().count()},
      {"blocks", blocks_},
      {"disturbed_samples", filter_.dropped()},
      {"audits", audits_},
      {"oracle",
       session_.exact_precision_ == Precision::kSecond ? "second_implementation" : "float64"},
      {"call_ms", call_ms_},
      {"candidate_page_faults", candidate_faults_},
      {"reference_page_faults", reference_faults_},
      {"candidate_waited_ns", candidate_waited_.count()},
      {"reference_waited_ns", reference_waited_.count()},
      {"flashinfer",
       {{"status", flashinfer_status()},
        {"max_absolute_error", flashinfer_abs_},
        {"max_relative_error", flashinfer_rel_}}},
      {"cost",
       {{"load_ms", start_times_.load_ms},
        {"prepare_ms", start_times_.prepare_ms},
        {"check_ms", check_ms_},
        {"time_ms", time_ms_}}}};
  if (!session_.module_) {  // modules have trials of their own
    report["kernelbench"] = {{"compiled", true},
                             {"correctness", ran_by_their_rules() && kernelbench_ok_}};
  }
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
  if (!fault_) KW_TRY_STATUS(session_.options_.timing ? timed_blocks() : checked_calls());
  judge_samples();
  return report();
}

Result<Json> Session::judge(const Json& body, ReceivedFds& fds, int control) {
  if (baseline_ == nullptr) return fail(ErrorCode::kInternal, "judge before baseline");
  KW_TRY_STATUS(renew_audit_instances());
  KW_TRY_STATUS(renew_candidate_memory(body.value("memory_is_free", false)));
  KW_TRY(auto candidate, attach(body["candidate"], fds, "candidate", candidate_memory_));
  return Judgement(*this, std::move(candidate), control).run();
}

}  // namespace kw::gym
