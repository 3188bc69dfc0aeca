// Blocks, comparisons and audits of one candidate.
#include "gym/checker/judgement.h"

#include <algorithm>
#include <cmath>

#include "gym/checker/compat.h"
#include "gym/checker/fault_cost.h"
#include "gym/checker/lease_client.h"

namespace kw::gym {
namespace {

using Clock = std::chrono::steady_clock;
constexpr int kCheckedCalls = 3;         // untimed workloads
constexpr int kWarmUpBlocks = 2;         // checked like all others, left out of the interval
constexpr double kAuditShare = 0.06;     // of timed blocks, besides the first
constexpr double kMaxFaultShare = 0.01;  // gym_contract 5
constexpr double kMaxDisturbedShare = 0.1;
constexpr auto kWantedGo = std::chrono::microseconds(
    1000);  // shorter kernels run several times a go, each on inputs of its own
constexpr auto kMinTimeout = std::chrono::seconds(2);
constexpr int kTimeoutFactor = 20;
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
  canary_seed_ = session.next_seed();
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

void Judgement::record(std::size_t output, const Comparison& comparison) {
  task::OutputError& error = errors_[output];
  error.max_absolute = std::max(error.max_absolute, comparison.max_absolute);
  error.max_relative = std::max(error.max_relative, comparison.max_relative);
  error.max_of_budget = std::max(error.max_of_budget, comparison.max_of_budget);
  ++error.checked_calls;
  if (comparison.ok) return;
  error.max_of_budget = std::max(error.max_of_budget, 1.000001);
  blame({task::Outcome::kWrongValue, "",
         fmt::format("output {}: {}", error.output, comparison.summary)});
}

void Judgement::compat(std::size_t output, std::span<const std::byte> candidate,
                       std::span<const std::byte> reference) {
  const task::Argument& declared = session_.signature_.outputs[output];
  kernelbench_ok_ =
      kernelbench_ok_ && kernelbench_allclose(declared.dtype, candidate, reference).ok;
  CompatResult flashinfer = flashinfer_close(declared.dtype, candidate, reference);
  flashinfer_ok_ = flashinfer_ok_ && flashinfer.ok;
  flashinfer_abs_ = std::max(flashinfer_abs_, flashinfer.max_absolute);
  flashinfer_rel_ = std::max(flashinfer_rel_, flashinfer.max_relative);
}

// Fresh inputs, poisoned outputs and canaries in these sets, for both sides.
Status Judgement::fill(const Group& sets) {
  const Mechanisms& on = session_.options_.mechanisms;
  Rng places(session_.next_seed());
  for (std::uint32_t s : sets) {
    SharedTensors& set = session_.sets_[s];
    if (on.moving_addresses) set.layout().move(places);
    KW_TRY(OracleAnswer filled,
           session_.inputs_->fill(set, on.fresh_inputs ? session_.next_seed() : first_seed_));
    if (!filled.ok) return fail(ErrorCode::kUnavailable, "get_inputs() failed: {}", filled.text);
    input_hashes_[s] = on.rehash ? set.hash(hash_seed_ + s, kHashSample) : 0;
  }
  candidate_->poison(sets, canary_seed_, places, on.moving_addresses, on.poison);
  if (session_.baseline_)
    session_.baseline_->poison(sets, canary_seed_, places, on.moving_addresses, false);
  return {};
}

void Judgement::check_memory(const Group& sets) {
  const Mechanisms& on = session_.options_.mechanisms;
  for (std::uint32_t s : sets) {
    if (on.rehash && session_.sets_[s].hash(hash_seed_ + s, kHashSample) != input_hashes_[s]) {
      blame({task::Outcome::kViolation, "input_write", "an input changed during a call"});
    }
  }
  if (on.canaries && !candidate_->canaries_intact(sets, canary_seed_)) {
    blame({task::Outcome::kViolation, "out_of_bounds", "it wrote outside its output buffers"});
  }
}

// The second witness: what the sandbox's processes used of the cores cannot be more than the clock
// allows.
bool Judgement::judge_clock(const GoResult& go, std::size_t) {
  return go.cpu_time <= session_.options_.threads * go.wall + go.wall / 10 + kCpuSlack;
}

Result<GoResult> Judgement::go(Side& side, const Group& sets) {
  GoResult result;
  KW_TRY(auto fault, side.call(sets, timeout() * static_cast<int>(sets.size()), result));
  (&side == candidate_.get() ? candidate_faults_ : reference_faults_) += result.minor_faults;
  if (fault && &side != candidate_.get())
    return fail(ErrorCode::kUnavailable, "the baseline failed: {}", fault->message);
  if (fault) blame(std::move(*fault));
  if (!fault_ && !judge_clock(result, sets.size())) {
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

void Judgement::compare(const Group& sets) {
  for (std::uint32_t set : sets) {
    for (std::size_t j = 0; j < errors_.size() && !fault_; ++j) {
      auto ours = candidate_->output(set, j);
      auto theirs = session_.baseline_->output(set, j);
      record(j, session_.checker_->compare_with_baseline(j, ours, theirs, session_.sets_[set]));
      if (blocks_ == 0) compat(j, ours, theirs);
    }
  }
}

Status Judgement::audit(std::uint32_t set) {
  ++audits_;
  Instance instance;
  KW_TRY(OracleAnswer answer, session_.run_oracle(session_.sets_[set], instance, true));
  if (!answer.ok) return fail(ErrorCode::kUnavailable, "the reference failed: {}", answer.text);
  for (std::size_t j = 0; j < errors_.size() && !fault_; ++j) {
    auto ours = candidate_->output(set, j);
    if (!session_.options_.timing) compat(j, ours, instance.trusted[j]);
    record(j, session_.checker_->compare_with_oracle(j, ours, instance));
  }
  return {};
}

Status Judgement::checked_calls() {
  auto start = Clock::now();
  for (int i = 0; i < kCheckedCalls && !fault_; ++i) {
    Group sets = {static_cast<std::uint32_t>(i % static_cast<int>(session_.sets_.size()))};
    KW_TRY_STATUS(fill(sets));
    KW_TRY(GoResult done, go(*candidate_, sets));
    if (done.end != GoEnd::kDone) break;
    if (!session_.options_.mechanisms.snapshot) snapshot(*candidate_, sets);
    check_memory(sets);
    if (!fault_) KW_TRY_STATUS(audit(sets[0]));
  }
  check_ms_ += ms(Clock::now() - start);
  return {};
}

// A B B A or B A A B on two groups of sets: linear drift cancels inside a block.
Result<Judgement::Sample> Judgement::block(const Group& first, const Group& second) {
  Sample sample;
  Side& reference = *session_.baseline_;
  bool interleave = session_.options_.mechanisms.interleaving;
  bool swap = interleave && (session_.next_seed() & 1U) != 0;
  std::array<std::pair<Side*, const Group*>, 4> order = {{{&reference, &first},
                                                          {candidate_.get(), &first},
                                                          {candidate_.get(), &second},
                                                          {&reference, &second}}};
  if (swap)
    std::for_each(order.begin(), order.end(), [&](auto& step) {
      step.first = step.first == &reference ? candidate_.get() : &reference;
    });
  KW_TRY(LeaseScope lease, LeaseScope::take(control_));
  for (auto& [side, sets] : order) {
    KW_TRY(GoResult done, go(*side, *sets));
    if (fault_) return sample;
    auto net = static_cast<double>(side->net(done).count());
    sample.disturbed =
        sample.disturbed ||
        fault_cost_ns() * static_cast<double>(done.minor_faults) > kMaxFaultShare * net;
    (side == &reference ? sample.reference_ns : sample.candidate_ns) +=
        net / static_cast<double>(2 * sets->size());
  }
  return sample;
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
  SequentialInterval interval(session_.options_.precise ? IntervalGoal::kPrecise
                                                        : IntervalGoal::kReward);
  const auto deadline =
      Clock::now() + std::chrono::duration_cast<Clock::duration>(
                         std::chrono::duration<double>(session_.options_.max_seconds));
  Rng secret(session_.next_seed());
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
      snapshot(*session_.baseline_, *late);
      snapshot(*candidate_, *late);
    }
    if (!fault_) check_memory(all);
    if (session_.options_.mechanisms.check_timed || blocks_ == 0) {
      compare(all);
    }
    bool audited = blocks_ == 0 || secret.uniform() < kAuditShare;
    if (!fault_ && audited && session_.options_.mechanisms.audit) {
      KW_TRY_STATUS(audit(all[secret.below(all.size())]));
    }
    time_ms_ += ms(timed - filled);
    check_ms_ += ms(Clock::now() - timed) + ms(filled - start);
    if (fault_) break;
    if (blocks_ < kWarmUpBlocks) continue;
    if (sample.disturbed) {
      ++disturbed_;
    } else {
      candidate_ns_.push_back(sample.candidate_ns);
      reference_ns_.push_back(sample.reference_ns);
      interval.add(std::log(sample.reference_ns / sample.candidate_ns));
    }
    if (interval.done()) break;
    if (Clock::now() > deadline) break;
  }
  auto measured = static_cast<double>(candidate_ns_.size());
  if (!fault_ && static_cast<double>(disturbed_) >
                     kMaxDisturbedShare * (measured + static_cast<double>(disturbed_))) {
    candidate_ns_.clear();
    reference_ns_.clear();
    blame({task::Outcome::kNoisy, "",
           "page faults took more than 1 % of the calls' time: allocate scratch memory once, in "
           "prepare()"});
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
  Json report = {{"outcome", task::to_string(fault_ ? fault_->outcome : task::Outcome::kPassed)},
                 {"violation", fault_ ? fault_->violation : ""},
                 {"errors", errors},
                 {"candidate_ns", candidate_ns_},
                 {"reference_ns", reference_ns_},
                 {"process_pairs", 1},
                 {"blocks", blocks_},
                 {"disturbed_blocks", disturbed_},
                 {"audits", audits_},
                 {"candidate_page_faults", candidate_faults_},
                 {"reference_page_faults", reference_faults_},
                 {"kernelbench", {{"compiled", true}, {"correctness", !fault_ && kernelbench_ok_}}},
                 {"flashinfer",
                  {{"status", flashinfer_ok_ ? "PASSED" : "INCORRECT_NUMERICAL"},
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
  if (!fault_ && session_.options_.timing && session_.baseline_) {
    KW_TRY_STATUS(timed_blocks());
  } else if (!fault_) {
    KW_TRY_STATUS(checked_calls());
  }
  return report();
}

Result<Json> Session::judge(const Json& body, ReceivedFds& fds, int control) {
  KW_TRY(auto candidate, attach(body["candidate"], fds, "candidate"));
  return Judgement(*this, std::move(candidate), control).run();
}

}  // namespace kw::gym
