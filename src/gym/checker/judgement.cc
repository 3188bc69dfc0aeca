// Blocks, comparisons and audits of one candidate.
#include "gym/checker/judgement.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <thread>

#include "gym/checker/fault_cost.h"
#include "gym/checker/lease_client.h"
#include "gym/checker/parallel.h"
#include "gym/correctness/compat.h"
#include "gym/correctness/mismatch.h"
#include "gym/gym.h"
#include "gym/measure/stolen_time.h"

namespace kw::gym {
namespace {

using Clock = std::chrono::steady_clock;
constexpr int kCheckedCalls = 3;          // untimed workloads
constexpr int kWarmUpBlocks = 2;          // checked like all others, left out of the interval
constexpr double kAuditShare = 0.06;      // of timed blocks, besides the first, at most
constexpr double kAuditTimeShare = 0.15;  // of the time of the others, where audits are slow
constexpr auto kWantedGo = std::chrono::microseconds(
    1000);  // shorter kernels run several times a go, each on inputs of its own
constexpr auto kMinTimeout = std::chrono::seconds(2);
constexpr int kTimeoutFactor = 20;
// Interleaving switched off: the reference is timed during this long since the judgement began, the
// candidate afterwards.
constexpr auto kReferencePhase = std::chrono::milliseconds(1500);
constexpr auto kLateReading = std::chrono::milliseconds(
    20);  // snapshots switched off: as in a harness that compares when all else is done
constexpr std::size_t kHashSample = 4ULL << 20U;
constexpr auto kCpuSlack = std::chrono::milliseconds(2);

double ms(Clock::duration duration) {
  return std::chrono::duration<double, std::milli>(duration).count();
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
  return std::max<std::chrono::nanoseconds>(kMinTimeout, kTimeoutFactor * session_.reference_time_);
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
  kernelbench_ok_ = kernelbench_ok_ && kernelbench_compare(ours, theirs).close;
  FlashInferResult flashinfer = flashinfer_compare(ours, theirs);
  flashinfer_ok_ = flashinfer_ok_ && flashinfer.status == FlashInferStatus::kPassed;
  flashinfer_abs_ = std::max(flashinfer_abs_, flashinfer.max_absolute_error);
  flashinfer_rel_ = std::max(flashinfer_rel_, flashinfer.max_relative_error);
}

// Fresh inputs, poisoned outputs and canaries in these sets, for both sides.
Status Judgement::fill(const Group& sets) {
  const Mechanisms& on = session_.options_.mechanisms;
  Rng places(session_.next_seed());
  std::vector<std::uint64_t> seeds;
  for (std::uint32_t s : sets) {
    seeds.push_back(on.fresh_inputs ? session_.next_seed() : first_seed_);
    if (on.moving_addresses) session_.sets_[s].layout().move(places);
  }
  // A module's inputs come from the one oracle.
  std::vector<Result<OracleAnswer>> filled(sets.size());
  for (std::size_t i = 0; session_.module_ && i < sets.size(); ++i)
    filled[i] = session_.inputs_->fill(session_.sets_[sets[i]], seeds[i]);
  std::size_t bytes = session_.sets_[0].layout().file_bytes() * sets.size();
  in_parallel(sets.size(), bytes, [&](std::size_t i) {
    SharedTensors& set = session_.sets_[sets[i]];
    if (!session_.module_) filled[i] = session_.inputs_->fill(set, seeds[i]);
    input_hashes_[sets[i]] = on.rehash ? set.hash(hash_seed_ + sets[i], kHashSample) : 0;
  });
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
  if (fault && &side != candidate_.get())
    return fail(ErrorCode::kUnavailable, "the baseline failed: {}", fault->message);
  if (fault) blame(std::move(*fault));
  if (!fault_ && !judge_clock(result)) {
    blame({task::Outcome::kViolation, "background_work",
           "its processes used more core time than the call lasted"});
  }
  if (!fault_ && session_.options_.mechanisms.snapshot) snapshot(side, sets);
  return result;
}

void Judgement::snapshot(Side& side, const Group& sets) {
  auto fault = side.take_snapshot(sets);
  if (!fault) return;
  if (&side != candidate_.get()) fault->message.insert(0, "the baseline: ");
  blame(std::move(*fault));
}

Status Judgement::compare(const Group& sets) {
  if (fault_) return {};
  std::size_t outputs = errors_.size();
  std::vector<CheckReport> reports(sets.size() * outputs);
  std::size_t bytes = 0;
  for (const task::Argument& output : session_.signature_.outputs)
    bytes += 2 * sets.size() * output.bytes();
  in_parallel(reports.size(), bytes, [&](std::size_t i) {
    std::uint32_t set = sets[i / outputs];
    std::size_t j = i % outputs;
    reports[i] = session_.checker_->against_baseline(
        j, candidate_->output(set, j), session_.baseline_->outputs(set), session_.sets_[set]);
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
    if (doubtful && !fault_) KW_TRY_STATUS(audit(sets[s]));
  }
  return {};
}

Status Judgement::audit(std::uint32_t set) {
  ++audits_;
  Instance instance;
  KW_TRY(OracleAnswer answer, session_.run_oracle(session_.sets_[set], instance));
  if (!answer.ok) return fail(ErrorCode::kUnavailable, "the reference failed: {}", answer.text);
  KW_TRY(OracleComparison comparison, session_.checker_->compare_with(instance));
  for (std::size_t j = 0; j < errors_.size() && !fault_; ++j) {
    auto ours = candidate_->output(set, j);
    record(j, comparison.check(j, ours), set, instance.trusted[j]);
  }
  return {};
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
  for (int i = 0; i < static_cast<int>(kCheckedCalls) && !fault_; ++i, ++blocks_) {
    Group sets = {static_cast<std::uint32_t>(i % static_cast<int>(session_.sets_.size()))};
    KW_TRY_STATUS(fill(sets));
    KW_TRY(GoResult done, go(*candidate_, sets));
    if (done.end != GoEnd::kDone) break;
    if (!session_.options_.mechanisms.snapshot) snapshot(*candidate_, sets);
    check_memory(sets);
    add_samples(sets);
    if (fault_) break;
    auto reference = go(*session_.baseline_, sets);
    if (!reference) return tl::unexpected(std::move(reference).error());
    if (!session_.options_.mechanisms.snapshot) snapshot(*session_.baseline_, sets);
    KW_TRY_STATUS(compare(sets));
    if (!fault_ && i == audited) KW_TRY_STATUS(audit(sets[0]));
  }
  check_ms_ += ms(Clock::now() - start);
  return {};
}

// A B B A or B A A B on two groups of sets: linear drift cancels inside a block.
Result<Judgement::Sample> Judgement::block(const Group& first, const Group& second) {
  Sample sample;
  Side& reference = *session_.baseline_;
  bool swap = (session_.next_seed() & 1U) != 0;
  std::array<std::pair<Side*, const Group*>, 4> order = {{{&reference, &first},
                                                          {candidate_.get(), &first},
                                                          {candidate_.get(), &second},
                                                          {&reference, &second}}};
  if (swap)
    std::for_each(order.begin(), order.end(), [&](auto& step) {
      step.first = step.first == &reference ? candidate_.get() : &reference;
    });
  KW_TRY(LeaseScope lease, LeaseScope::take(control_));
  std::chrono::nanoseconds stolen_before = stolen_time();
  for (auto& [side, sets] : order) {
    KW_TRY(GoResult done, go(*side, *sets));
    if (fault_) return sample;
    auto net = static_cast<double>(side->net(done).count());
    Disturbance& disturbance = side == &reference ? sample.reference : sample.candidate;
    disturbance.wall += side->net(done);
    // Executors that cannot be frozen spin beside each other: then each waits all the time.
    if (side->client().frozen_between_gos()) disturbance.waited += side->net_waited(done);
    disturbance.faults += std::chrono::nanoseconds(
        std::llround(fault_cost_ns() * static_cast<double>(done.minor_faults)));
    (side == &reference ? sample.reference_ns : sample.candidate_ns) +=
        net / static_cast<double>(2 * sets->size());
  }
  sample.candidate.stolen = sample.reference.stolen = stolen_time() - stolen_before;
  return sample;
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

Status Judgement::timed_blocks() {
  std::size_t half = session_.sets_.size() / 2;
  auto wanted = static_cast<std::size_t>(std::max<std::int64_t>(
      1, kWantedGo / std::max(session_.reference_time_, std::chrono::nanoseconds(1))));
  std::size_t calls = std::min(half, wanted);
  Group first;
  Group second;
  for (std::uint32_t i = 0; i < calls; ++i) first.push_back(i);
  for (std::uint32_t i = 0; i < calls; ++i) second.push_back(static_cast<std::uint32_t>(half) + i);
  SequentialInterval interval(
      session_.options_.precise ? IntervalGoal::kPrecise : IntervalGoal::kReward,
      session_.options_.precise ? kPrecisePairs : 1);
  const auto begun = Clock::now();
  const auto deadline = begun + std::chrono::duration_cast<Clock::duration>(
                                    std::chrono::duration<double>(session_.options_.max_seconds));
  Rng secret(session_.next_seed());
  double audit_share = kAuditShare;
  for (; !fault_; ++blocks_) {
    auto start = Clock::now();
    Group all = first;
    all.insert(all.end(), second.begin(), second.end());
    KW_TRY_STATUS(fill(all));
    auto filled = Clock::now();
    KW_TRY(Sample sample, block(first, second));
    auto timed = Clock::now();
    for (const Group* late : {&first, &second}) {
      if (fault_ || session_.options_.mechanisms.snapshot) break;
      std::this_thread::sleep_for(kLateReading);
      snapshot(*session_.baseline_, *late);
      snapshot(*candidate_, *late);
    }
    if (!fault_) check_memory(all);
    if (session_.options_.mechanisms.check_timed || blocks_ == 0) {
      KW_TRY_STATUS(compare(all));
    }
    add_samples(all);
    auto compared = Clock::now();
    bool audited = blocks_ == 0 || secret.uniform() < audit_share;
    if (!fault_ && audited && session_.options_.mechanisms.audit) {
      KW_TRY_STATUS(audit(all[secret.below(all.size())]));
      std::chrono::duration<double> block_time = compared - start;
      std::chrono::duration<double> audit_time = Clock::now() - compared;
      audit_share = std::min(kAuditShare, kAuditTimeShare * block_time / audit_time);
    }
    time_ms_ += ms(timed - filled);
    check_ms_ += ms(Clock::now() - timed) + ms(filled - start);
    if (fault_) break;
    if (blocks_ < kWarmUpBlocks) continue;
    if (!session_.options_.mechanisms.interleaving && separate(sample)) continue;
    if (filter_.keep(sample.candidate, sample.reference)) {
      candidate_ns_.push_back(sample.candidate_ns);
      reference_ns_.push_back(sample.reference_ns);
      interval.add(std::log(sample.reference_ns / sample.candidate_ns));
    }
    if (interval.done()) break;
    if (Clock::now() > deadline) break;
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
  Json report = {{"outcome", task::to_string(fault_ ? fault_->outcome : task::Outcome::kPassed)},
                 {"violation", fault_ ? fault_->violation : ""},
                 {"errors", errors},
                 {"candidate_ns", candidate_ns_},
                 {"reference_ns", reference_ns_},
                 {"timed", session_.options_.timing},
                 {"process_pairs", 1},
                 {"null_go_ns", candidate_->null_go().count()},
                 {"blocks", blocks_},
                 {"disturbed_blocks", filter_.dropped()},
                 {"audits", audits_},
                 {"candidate_page_faults", candidate_faults_},
                 {"reference_page_faults", reference_faults_},
                 {"candidate_waited_ns", candidate_waited_.count()},
                 {"reference_waited_ns", reference_waited_.count()},
                 {"kernelbench",
                  {{"compiled", true}, {"correctness", ran_by_their_rules() && kernelbench_ok_}}},
                 {"flashinfer",
                  {{"status", flashinfer_status()},
                   {"max_absolute_error", flashinfer_abs_},
                   {"max_relative_error", flashinfer_rel_}}},
                 {"cost",
                  {{"load_ms", start_times_.load_ms},
                   {"prepare_ms", start_times_.prepare_ms},
                   {"check_ms", check_ms_},
                   {"time_ms", time_ms_}}}};
  Json diagnostics = Json::array();
  if (fault_)
    diagnostics.push_back(
        {{"kind", fault_->outcome == task::Outcome::kWrongValue ? "mismatch" : "hint"},
         {"message", fault_->message}});
  report["diagnostics"] = diagnostics;
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
  KW_TRY(auto candidate, attach(body["candidate"], fds, "candidate"));
  return Judgement(*this, std::move(candidate), control).run();
}

}  // namespace kw::gym
