// Blocks of timed launches and their samples.
#include "gym/checker/timed_blocks.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

namespace kw::gym {
namespace {

constexpr std::uint32_t kRotatingSets = 4;  // sets of each half, where a half is one call
constexpr auto kLongestLease = std::chrono::milliseconds(100);  // of a GPU
constexpr int kWarmUpBlocks = 1;  // checked like all others, left out of the interval
// Shorter kernels are called several times a sample, each on inputs of its own.
constexpr auto kWantedSample = std::chrono::microseconds(1000);
// By a GPU's events, whose error is a fraction of a microsecond.
constexpr auto kWantedDeviceSample = std::chrono::microseconds(10);
// Interleaving switched off: the reference is timed during this long since the judgement began, the
// candidate afterwards.
constexpr auto kReferencePhase = std::chrono::milliseconds(1500);
// Snapshots switched off: outputs are read as in a harness that compares when all else is done.
constexpr auto kLateReading = std::chrono::milliseconds(20);
// Two bad samples among ten may be bad luck: it shows in three times as many blocks.
constexpr std::int64_t kPatience = 3;

// Time of both sides in hard calls, their inputs included. Where it is too short,
// kMinHardCalls.
constexpr auto kHardTime = std::chrono::milliseconds(200);
constexpr std::int64_t kMinHardCalls = 5, kMaxHardCalls = 32;

int pairs_of(const MeasuringGoal& goal) {
  return std::max(1, goal.process_pairs);
}

std::vector<std::size_t> hard_cases_of(const JudgingContext& context) {
  const auto one =
      2 * std::max(context.reference_time, std::chrono::nanoseconds(1)) + context.hard.fill_time();
  const auto most = std::clamp<std::int64_t>(kHardTime / one, kMinHardCalls, kMaxHardCalls);
  return context.hard.choose(static_cast<std::size_t>(most), pairs_of(context.goal),
                             context.goal.pair);
}

// Four process pairs have the larger half of their hard cases early, the next four late, and so on.
bool has_early_cases(const MeasuringGoal& goal) {
  return pairs_of(goal) > 1 && goal.pair / 4 % 2 == 0;
}

}  // namespace

bool TimedBlocks::Half::is_hard() const {
  return std::ranges::any_of(hard, [](const HardSchedule::Call& call) { return call.has_value(); });
}

TimedBlocks::TimedBlocks(JudgingContext& context, Side& candidate, JudgedCalls& calls,
                         FirstFault& fault)
    : context_(context),
      candidate_(candidate),
      calls_(calls),
      fault_(fault),
      begun_(context.clock.now()),
      secret_(context.seeds.next()),
      audits_(context.seeds.next()),
      hard_(context.options.timing ? hard_cases_of(context) : std::vector<std::size_t>{},
            context.seeds.next(), has_early_cases(context.goal)),
      measured_{ClockedSamples(context.goal.half_width, pairs_of(context.goal))} {}

// Others' measurements are no part of this one's limit.
Result<LeaseScope> TimedBlocks::take_lease() {
  const auto asked = context_.clock.now();
  auto lease = LeaseScope::take(context_.lease);
  lease_wait_ += context_.clock.now() - asked;
  measured_.lease_ms += to_ms(context_.clock.now() - asked);
  return lease;
}

// A GPU's blocks are a few milliseconds long. Where two sessions took turns after each one, both
// needed half as many samples again and waited longer than the other one measured: together they
// made half as many verdicts as one.
Status TimedBlocks::keep_lease() {
  if (held_ && context_.clock.now() - held_since_ < kLongestLease) return {};
  held_.reset();
  KW_TRY(LeaseScope lease, take_lease());
  held_.emplace(std::move(lease));
  held_since_ = context_.clock.now();
  return {};
}

Status TimedBlocks::calibrate() {
  KW_TRY(LeaseScope lease, take_lease());
  const auto start = context_.clock.now();
  KW_TRY_STATUS(context_.baseline.calibrate());
  KW_TRY_STATUS(calibrate_candidate());
  candidate_.limit_null_launch(context_.baseline);
  measured_.calibrate_ms = to_ms(context_.clock.now() - start);
  return {};
}

// A plan has no part in its executor's null launches: those of a fresh context, which take 0.3 s,
// would tell nothing new.
Status TimedBlocks::calibrate_candidate() {
  std::optional<NullLaunch>* known = context_.null_launch_of_plans;
  if (known == nullptr || !candidate_.executor().runs_plan()) return candidate_.calibrate();
  if (*known) {
    candidate_.calibrate_as(**known);
    return {};
  }
  KW_TRY_STATUS(candidate_.calibrate());
  const bool has_failed = candidate_.null_launch() == std::chrono::nanoseconds(0);
  if (!has_failed) *known = candidate_.null_launch_parts();
  return {};
}

TimedBlocks::Phase TimedBlocks::phase() const {
  if (is_closing_) return Phase::kClosing;
  return measured_.blocks < kWarmUpBlocks ? Phase::kWarmUp : Phase::kMeasuring;
}

// Two groups of sets, one call each; other sets every time.
TimedBlocks::Halves TimedBlocks::next_halves() {
  auto half = static_cast<std::uint32_t>(context_.sets.size() / 2);
  const auto wanted_sample = context_.baseline.executor().has_device_clock()
                                 ? std::chrono::nanoseconds(kWantedDeviceSample)
                                 : std::chrono::nanoseconds(kWantedSample);
  auto wanted = std::max<std::int64_t>(
      1, wanted_sample / std::max(context_.reference_time, std::chrono::nanoseconds(1)));
  auto calls = static_cast<std::uint32_t>(std::min<std::int64_t>(half, wanted));
  std::uint32_t used = std::min(half, std::max(calls, kRotatingSets));
  Halves halves(2);
  for (std::uint32_t i = 0; i < calls; ++i) {
    std::uint32_t s = (first_set_ + i) % used;
    halves[0].sets.push_back(s);
    halves[1].sets.push_back(half + s);
  }
  halves[0].hard = hard_.next(calls, phase());
  if (is_closing_ && hard_.is_over())
    halves.pop_back();
  else  // ordinary ones for an audit are left in the first block
    halves[1].hard = hard_.next(calls, is_closing_ ? Phase::kClosing : Phase::kMeasuring);
  first_set_ = (first_set_ + calls) % used;
  return halves;
}

// A secret set of this block with ordinary inputs is audited, if the block is.
void TimedBlocks::choose_audit(Halves& halves, bool is_late) {
  audit_is_due_ = audits_.due(measured_.blocks) || audit_is_due_;
  if (!audit_is_due_ && !(is_late && calls_.outputs().audits() == 0)) return;
  std::vector<std::pair<Half*, std::uint32_t>> ordinary;
  for (Half& half : halves) {
    for (std::size_t i = 0; i < half.sets.size(); ++i)
      if (!half.hard[i]) ordinary.emplace_back(&half, half.sets[i]);
  }
  if (ordinary.empty()) return;
  const auto [half, set] = ordinary[secret_.below(ordinary.size())];
  half->audited = set;
  audit_is_due_ = false;
}

Status TimedBlocks::run() {
  KW_TRY_STATUS(calibrate());
  lease_wait_ = {};
  const auto deadline =
      context_.clock.now() +
      std::chrono::duration_cast<CheckerClock::Duration>(
          std::chrono::duration<double>(context_.goal.max_seconds / pairs_of(context_.goal)));
  for (bool is_late = false; !fault_.found(); ++measured_.blocks) {
    Halves halves = next_halves();
    choose_audit(halves, is_late);
    if (std::ranges::any_of(halves, [](const Half& half) { return half.audited.has_value(); }))
      KW_TRY_STATUS(calls_.outputs().end_audit());
    if (fault_.found()) break;
    KW_TRY(auto samples, timed_block(halves));
    if (fault_.found()) break;
    is_late = context_.clock.now() - lease_wait_ > deadline;
    for (const Sample& sample : samples) add_sample(sample);
    if (is_over(is_late)) break;
  }
  KW_TRY_STATUS(calls_.outputs().end_audit());
  held_.reset();
  measured_.samples.end();
  return {};
}

// Without an audit no measurement ends, and none before its last hard call.
bool TimedBlocks::is_over(bool is_late) {
  is_closing_ = is_closing_ || has_enough(is_late);
  return is_closing_ && hard_.is_over();
}

bool TimedBlocks::has_enough(bool is_late) {
  if (calls_.outputs().audits() == 0 && context_.options.mechanisms.audit) return false;
  if (is_late) return true;
  if (!measured_.samples.is_narrow()) return false;
  if (patience_ == 0) patience_ = kPatience * measured_.blocks;
  return !measured_.samples.is_noisy() || measured_.blocks >= patience_;
}

void TimedBlocks::add_sample(Sample sample) {
  if (measured_.blocks < kWarmUpBlocks || sample.is_hard ||
      (!context_.options.mechanisms.interleaving && separate(sample.clocked)))
    return;
  measured_.samples.add(sample.clocked);
}

// A block, with the time that it took split into launches and checks.
Result<std::vector<TimedBlocks::Sample>> TimedBlocks::timed_block(const Halves& halves) {
  const auto start = context_.clock.now();
  const double timed_before = measured_.time_ms;
  const auto waited_before = lease_wait_;
  KW_TRY(auto samples, block(halves));
  const double block_ms = to_ms(context_.clock.now() - start - (lease_wait_ - waited_before));
  // Rounded sums of launches may be longer than the block by less than a nanosecond.
  measured_.check_ms += std::max(0.0, block_ms - (measured_.time_ms - timed_before));
  return samples;
}

// A B B A or B A A B: each side is the first as often as the second. Each launch is checked before
// anything else runs. A launch's inputs appear when the launch before it has been looked at, so no
// launch can compute a later one along with it.
Result<std::vector<TimedBlocks::Sample>> TimedBlocks::block(const Halves& halves) {
  std::vector<Sample> samples(halves.size());
  const std::vector<Launches> all = launches_of(halves, samples);
  KW_TRY_STATUS(keep_lease());
  KW_TRY_STATUS(fill(all.front()));
  for (std::size_t i = 0; i < all.size() && !fault_.found(); ++i) {
    KW_TRY_STATUS(pair_of_launches(all[i].order, all[i].sets, all[i].sample->clocked));
    if (!fault_.found()) KW_TRY_STATUS(check(all[i], i + 1 < all.size() ? &all[i + 1] : nullptr));
  }
  if (!context_.baseline.executor().has_device_clock()) held_.reset();
  for (std::size_t half = 0; half < halves.size(); ++half) {
    for (PairedTimes* times : {&samples[half].clocked.wall, &samples[half].clocked.processor}) {
      times->candidate_ns /= static_cast<double>(halves[half].sets.size());
      times->reference_ns /= static_cast<double>(halves[half].sets.size());
    }
  }
  return samples;
}

std::vector<TimedBlocks::Launches> TimedBlocks::launches_of(const Halves& halves,
                                                            std::vector<Sample>& samples) {
  std::array<Side*, 2> order = {&context_.baseline, &candidate_};
  if ((context_.seeds.next() & 1U) != 0) std::swap(order[0], order[1]);
  const std::size_t calls = context_.calls_per_launch;
  std::vector<Launches> out;
  for (std::size_t half = 0; half < halves.size(); ++half) {
    const Group& sets = halves[half].sets;
    samples[half].is_hard = halves[half].is_hard();
    for (std::size_t first = 0; first < sets.size(); first += calls) {
      const auto begin = sets.begin() + static_cast<std::ptrdiff_t>(first);
      const auto end =
          sets.begin() + static_cast<std::ptrdiff_t>(std::min(first + calls, sets.size()));
      out.push_back({order, &halves[half], first, Group(begin, end), &samples[half]});
    }
    std::swap(order[0], order[1]);
  }
  return out;
}

Status TimedBlocks::fill(const Launches& launches) {
  for (std::size_t i = 0; i < launches.sets.size(); ++i) {
    const std::uint32_t set = launches.sets[i];
    KW_TRY_STATUS(
        calls_.fill(set, launches.half->audited == set, launches.half->hard[launches.first + i]));
  }
  return {};
}

// Fills the sets of the next launches as well, all of which are others. A GPU has these inputs
// queued behind the check; they are of no use where that fails.
Status TimedBlocks::check(const Launches& launches, const Launches* next) {
  const bool in_first_block = measured_.blocks == 0;
  if (context_.options.mechanisms.snapshot && context_.baseline.executor().has_device_clock()) {
    KW_TRY(auto begun, calls_.begin_check(launches.sets, in_first_block));
    if (next != nullptr) KW_TRY_STATUS(fill(*next));
    return calls_.end_check(launches.sets, std::move(begun));
  }
  KW_TRY_STATUS(context_.options.mechanisms.snapshot ? calls_.check(launches.sets, in_first_block)
                                                     : check_late(launches.sets));
  return next != nullptr && !fault_.found() ? fill(*next) : Status();
}

Status TimedBlocks::pair_of_launches(const std::array<Side*, 2>& order, const Group& sets,
                                     ClockedSample& sample) {
  const auto begun = context_.clock.now();
  // A GPU's events do not count what happens to the host's cores.
  const bool on_gpu = context_.baseline.executor().has_device_clock();
  const auto stolen_time = [&] {
    return on_gpu ? std::chrono::nanoseconds(0) : context_.machine.stolen_time();
  };
  const std::chrono::nanoseconds stolen_before = stolen_time();
  for (Side* side : order) {
    KW_TRY(LaunchResult done, calls_.launch(*side, sets));
    if (fault_.found()) return {};
    add_launch(*side, done, sample);
    if (context_.options.mechanisms.snapshot) KW_TRY_STATUS(calls_.take_snapshot(*side, sets));
  }
  const std::chrono::nanoseconds stolen = stolen_time() - stolen_before;
  sample.candidate.stolen += stolen;
  sample.reference.stolen += stolen;
  measured_.time_ms += to_ms(context_.clock.now() - begun);
  return {};
}

// The larger of two witnesses: an executor that says done too early works on while it is being
// frozen, within the time that is taken off as the cost of a launch. What it did since the launch
// before is added, on whatever core that was.
std::chrono::nanoseconds TimedBlocks::witnessed(const Side& side, const LaunchResult& done,
                                                std::chrono::nanoseconds time) const {
  if (!context_.options.mechanisms.cpu_witness) return time;
  return std::max(time, side.net_cpu_time(done) / context_.options.threads) + done.worked_at_rest();
}

std::chrono::nanoseconds TimedBlocks::time_of(const Side& side, const LaunchResult& done) const {
  // The GPU's own clock, whose agreement with the checker's is a condition of every sample.
  if (done.device_time.count() > 0) return done.device_time;
  return witnessed(side, done, side.net(done));
}

// 0: the machine has no such clock.
std::chrono::nanoseconds TimedBlocks::processor_time_of(const Side& side,
                                                        const LaunchResult& done) const {
  const std::chrono::nanoseconds time = side.net_processor_time(done);
  return time.count() > 0 ? witnessed(side, done, time) : time;
}

void TimedBlocks::add_launch(const Side& side, const LaunchResult& done,
                             ClockedSample& sample) const {
  const bool is_reference = &side == &context_.baseline;
  const std::chrono::nanoseconds time = time_of(side, done);
  Disturbance& disturbance = is_reference ? sample.reference : sample.candidate;
  disturbance.wall += time;
  auto add = [&](PairedTimes& times, std::chrono::nanoseconds more) {
    (is_reference ? times.reference_ns : times.candidate_ns) += static_cast<double>(more.count());
  };
  add(sample.wall, time);
  add(sample.processor, processor_time_of(side, done));
  if (done.device_time.count() > 0) {
    // A GPU's time does not contain what happens to the host's threads meanwhile. A form of the
    // reference is no adversary on either side, and Python's copies its results besides.
    if (!is_reference && side.executor().runs_plan())
      disturbance.unexplained += side.unexplained(done);
    disturbance.launches += 1;
    return;
  }
  // Executors that cannot be frozen spin beside each other: then each waits all the time.
  if (side.executor().is_still_between_launches()) disturbance.waited += side.net_waited(done);
  disturbance.faults += std::chrono::nanoseconds(
      std::llround(context_.machine.page_fault_ns() * static_cast<double>(done.page_faults)));
}

// Snapshots switched off: outputs are read a while after both launches.
Status TimedBlocks::check_late(const Group& sets) {
  context_.clock.sleep_for(kLateReading);
  KW_TRY_STATUS(calls_.take_snapshot(context_.baseline, sets));
  KW_TRY_STATUS(calls_.take_snapshot(candidate_, sets));
  return fault_.found() ? Status() : calls_.check(sets, measured_.blocks == 0);
}

// With interleaving switched off: returns true for a sample of the reference's phase, which does
// not count. Later samples get the mean of that phase as the reference's time.
bool TimedBlocks::separate(ClockedSample& sample) {
  if (context_.clock.now() < begun_ + kReferencePhase) {
    reference_phase_ns_.push_back(sample.wall.reference_ns);
    return true;
  }
  sample.processor = {};
  sample.wall.reference_ns =
      std::accumulate(reference_phase_ns_.begin(), reference_phase_ns_.end(), 0.0) /
      static_cast<double>(std::max<std::size_t>(1, reference_phase_ns_.size()));
  return false;
}

}  // namespace kw::gym
