// Launches: the only place where the clock of a measurement is read.
#include "gym/checker/executor_client.h"

#include <algorithm>
#include <atomic>
#include <iterator>
#include <utility>

#include <immintrin.h>

#include "gym/checker/reply.h"
#include "gym/measure/processor_time.h"
#include "os/message.h"
#include "os/urgent.h"

namespace kw::gym {
namespace {

constexpr int kSpinsBetweenLooks =
    20000;  // about 100 us of pauses between looks at the exit and the deadline
constexpr int kUntimedSpins = 2000;  // of a short call; others may want the core
constexpr auto kUntimedPoll = std::chrono::microseconds(50);
// A wait for a timed call spins first, then leaves its core for a thousandth of the time that
// passed.
constexpr auto kSpinFor = std::chrono::milliseconds(100);
constexpr auto kTimedPoll = std::chrono::microseconds(100);
constexpr auto kSlowPoll = std::chrono::microseconds(200);
constexpr auto kBetweenLooksAtRest = std::chrono::milliseconds(1);
constexpr int kMaxLooksAtRest = 20;
constexpr auto kEndIsTold = std::chrono::seconds(1);
constexpr auto kSlowPollAfter = std::chrono::seconds(2);

template <typename T>
T load_acquire(const volatile T& field) {
  return std::atomic_ref<T>(const_cast<T&>(field)).load(std::memory_order_acquire);
}

}  // namespace

Result<std::unique_ptr<ExecutorClient>> ExecutorClient::attach(Attach attach,
                                                               const task::Signature& signature,
                                                               ExecutorMemory memory) {
  std::unique_ptr<ExecutorClient> client(new ExecutorClient);
  KW_TRY(client->pages_, Pages::make());
  client->memory_ = std::move(memory);
  client->monitor_ = std::move(attach.monitor);
  client->freeze_ = attach.freeze && client->monitor_->can_freeze();
  client->timing_ = attach.timing;
  client->turn_ = attach.turn;
  client->clock_ = attach.clock;
  client->interprets_triton_ = attach.setup.triton.has_value();
  client->on_device_ = attach.setup.device.has_value();
  if (client->on_device_) client->gpu_busy_ = attach.gpu_busy;
  for (const task::Argument& input : signature.inputs)
    client->input_is_scalar_.push_back(input.role == task::Role::kScalar);
  KW_TRY_STATUS(client->send_setup(attach, signature));
  client->runs_plan_ = attach.setup.language == ExecutorLanguage::kPlan;
  if (client->runs_plan_) client->control_ = std::move(attach.control);
  return client;
}

Status ExecutorClient::send_setup(Attach& attach, const task::Signature& signature) {
  Json message = to_json(attach.setup);
  std::vector<int> fds = {pages_.command_fd.get(), pages_.reply_fd.get(), attach.source.get()};
  Json names = {"command", "reply", "source"};
  if (memory_.statics != nullptr) {
    names.push_back("statics");
    fds.push_back(memory_.statics->descriptor());
    Json offsets = Json::array();
    for (std::size_t i = 0; i < memory_.statics->layout().count(); ++i)
      offsets.push_back(memory_.statics->layout().offset(i));
    message["static_offsets"] = offsets;
    message["static_bytes"] = memory_.statics->layout().total_bytes();
  }
  if (!memory_.inputs.empty()) {
    message["input_bytes"] = memory_.inputs[0]->layout().total_bytes();
    message["output_bytes"] = memory_.output->destinations[0]->layout().total_bytes();
  }
  if (memory_.output->arena != nullptr) {
    names.push_back("arena");
    fds.push_back(memory_.output->arena->descriptor());
  }
  for (std::size_t s = 0; s < memory_.inputs.size(); ++s) {
    names.push_back("in" + std::to_string(s));
    fds.push_back(memory_.inputs[s]->descriptor());
    names.push_back("out" + std::to_string(s));
    fds.push_back(memory_.output->destinations[s]->descriptor());
  }
  message["op"] = "setup";
  message["fds"] = names;
  message["signature"] = task::to_json(signature);
  message["sets"] = memory_.inputs.size();
  message["frozen"] = freeze_;
  auto sent = os::send_message(attach.control.get(), message, fds);
  if (!sent) return tl::unexpected(std::move(sent).error().with_context("an executor's setup"));
  return {};
}

Status ExecutorClient::replace(os::UniqueFd source) {
  if (!control_.valid()) return Executor::replace(std::move(source));
  KW_TRY_STATUS(
      os::send_message(control_.get(), {{"op", "program"}, {"fds", {"source"}}}, {source.get()}));
  is_replaced_ = true;
  return {};
}

Status ExecutorClient::rest() {
  if (!freeze_ || is_frozen_ || exit_) return {};
  KW_TRY_STATUS(monitor_->freeze());
  is_frozen_ = true;
  return {};
}

Result<LaunchResult> ExecutorClient::load(std::chrono::nanoseconds timeout) {
  return std::exchange(is_replaced_, false) ? run(Op::kLoad, {}, timeout) : wait_ready(timeout);
}

Result<LaunchResult> ExecutorClient::wait_ready(std::chrono::nanoseconds timeout) {
  auto start = clock_->now();
  CallDeadline deadline(start, timeout, *monitor_);
  LaunchResult result;
  while (true) {
    auto state = static_cast<ExecutorState>(load_acquire(pages_.reply().state));
    if (state == ExecutorState::kReady) break;
    if (state == ExecutorState::kFailed) result.end = LaunchEnd::kFailed;
    if (state != ExecutorState::kFailed) exit_ = monitor_->exited();
    if (exit_) result.end = LaunchEnd::kExited;
    if (result.end != LaunchEnd::kDone) return result;
    KW_TRY(bool late, too_late(deadline));
    if (late) result.end = LaunchEnd::kTimeout;
    if (late) return result;
    clock_->sleep_for(std::chrono::microseconds(50));
  }
  result.wall = clock_->now() - start - deadline.aside();
  std::optional<Style> style = style_of(pages_.reply());
  if (!style) {
    result.end = LaunchEnd::kProtocol;
    return result;
  }
  style_ = *style;
  if (!freezes_after_launches()) return result;
  KW_TRY_STATUS(rest());
  if (auto used = monitor_->cpu_time(); used) cpu_at_rest_ = *used;  // none of an ended process
  return result;
}

Result<bool> ExecutorClient::too_late(CallDeadline& deadline) {
  KW_TRY(const std::chrono::nanoseconds aside, turn_->make_way(monitor_.get()));
  deadline.set_aside(aside);
  return deadline.has_passed(clock_->now());
}

Result<LaunchEnd> ExecutorClient::wait_done(std::uint64_t sequence, CallDeadline& deadline) {
  const auto begun = clock_->now();
  const int spins = timing_ ? kSpinsBetweenLooks : kUntimedSpins;
  while (true) {
    for (int i = 0; i < spins; ++i) {
      LaunchProgress progress = launch_progress(load_acquire(pages_.reply().done_seq), sequence);
      if (progress == LaunchProgress::kDone) return LaunchEnd::kDone;
      if (progress == LaunchProgress::kOutOfTurn) return LaunchEnd::kProtocol;
      _mm_pause();
    }
    if (load_acquire(pages_.reply().state) == static_cast<std::uint32_t>(ExecutorState::kFailed))
      return LaunchEnd::kFailed;
    exit_ = monitor_->exited();
    if (exit_) return LaunchEnd::kExited;
    KW_TRY(bool late, too_late(deadline));
    if (late) return LaunchEnd::kTimeout;
    const auto waited = clock_->now() - begun;
    if (waited > kSlowPollAfter)
      clock_->sleep_for(kSlowPoll);
    else if (!timing_)
      clock_->sleep_for(kUntimedPoll);
    else if (waited > kSpinFor)
      clock_->sleep_for(kTimedPoll);
  }
}

void ExecutorClient::write_command(Op op, std::span<const std::uint32_t> sets) {
  CommandPage& page = pages_.command();
  page.op = static_cast<std::uint32_t>(op);
  page.calls = static_cast<std::uint32_t>(sets.size());
  for (std::size_t call = 0; call < sets.size(); ++call) {
    std::uint32_t s = sets[call];
    page.set_of_call[call] = s;
    std::size_t tensor = 0;
    for (std::size_t i = 0; i < input_is_scalar_.size(); ++i) {
      if (!input_is_scalar_[i])
        page.input_offset[s][i] = memory_.inputs[s]->layout().offset(tensor++);
    }
    const Layout& outputs = memory_.output->destinations[s]->layout();
    for (std::size_t i = 0; i < outputs.count(); ++i) page.output_offset[s][i] = outputs.offset(i);
  }
}

Result<ExecutorClient::ResourceUsage> ExecutorClient::resource_usage() {
  ResourceUsage used;
  if (on_device_) return used;
  KW_TRY(used.cpu, monitor_->cpu_time());
  KW_TRY(used.faults, monitor_->page_faults());
  used.first = monitor_->first_thread();
  used.waited = monitor_->waited();
  return used;
}

Result<LaunchResult> ExecutorClient::run(Op op, std::span<const std::uint32_t> sets,
                                         std::chrono::nanoseconds timeout) {
  auto result = run_once(op, sets, timeout);
  if (result || !has_ended()) return result;
  LaunchResult ended;
  ended.end = LaunchEnd::kExited;
  return ended;
}

// Its end is told a moment after what can be asked of it no more.
bool ExecutorClient::has_ended() {
  const auto until = clock_->now() + kEndIsTold;
  while (!exit_ && clock_->now() < until) {
    exit_ = monitor_->exited();
    if (!exit_) clock_->sleep_for(kSlowPoll);
  }
  return exit_.has_value();
}

Result<std::chrono::nanoseconds> ExecutorClient::settled_cpu_time() {
  KW_TRY(std::chrono::nanoseconds used, monitor_->cpu_time());
  for (int look = 0; look < kMaxLooksAtRest; ++look) {
    clock_->sleep_for(kBetweenLooksAtRest);
    KW_TRY(const std::chrono::nanoseconds now, monitor_->cpu_time());
    if (std::exchange(used, now) == now) break;
  }
  return used;
}

Result<LaunchResult> ExecutorClient::run_once(Op op, std::span<const std::uint32_t> sets,
                                              std::chrono::nanoseconds timeout) {
  KW_TRY_STATUS(turn_->make_way(freeze_ && !is_frozen_ ? monitor_.get() : nullptr));
  if (!memory_.output->destinations.empty())
    KW_TRY_STATUS(memory_.output->destinations.front()->settle());
  write_command(op, sets);
  KW_TRY(const ResourceUsage before, resource_usage());
  ++sequence_;
  LaunchResult result;
  if (freezes_after_launches()) {
    result.ran_at_rest = before.cpu - cpu_at_rest_;
    KW_TRY(bool is_still, monitor_->is_still());
    result.was_moving = !is_still;
  }
  std::optional<os::UrgentScope> urgent;
  if (timing_) urgent.emplace();
  const BusyScope busy(gpu_busy_);
  std::atomic_ref<std::uint64_t>(pages_.command().launch_seq)
      .store(sequence_, std::memory_order_release);
  auto start = clock_->now();
  if (std::exchange(is_frozen_, false)) KW_TRY_STATUS(monitor_->thaw());
  CallDeadline deadline(start, timeout, *monitor_);
  KW_TRY(result.end, wait_done(sequence_, deadline));
  if (freezes_after_launches() && result.end != LaunchEnd::kExited) KW_TRY_STATUS(rest());
  result.wall = clock_->now() - start - deadline.aside();
  urgent.reset();
  if (result.end != LaunchEnd::kDone) return result;
  // Frozen now: a second look cannot change any more.
  if (load_acquire(pages_.reply().done_seq) != sequence_) result.end = LaunchEnd::kProtocol;
  KW_TRY(const ResourceUsage after, resource_usage());
  result.cpu_time = after.cpu - before.cpu;
  cpu_at_rest_ = after.cpu;
  if (watches_rest_ && freezes_after_launches()) {
    KW_TRY(cpu_at_rest_, settled_cpu_time());
  }
  result.page_faults = after.faults.since(before.faults);
  const auto first_waited = after.first.waited - before.first.waited;
  const auto sandbox_waited = after.waited - before.waited;
  result.waited = std::max(first_waited, sandbox_waited);
  if (freezes_after_launches() && monitor_->cpu_time_is_whole()) {
    result.processor_time = processor_time({.wall = result.wall,
                                            .all_ran = result.cpu_time,
                                            .first_ran = after.first.ran - before.first.ran,
                                            .first_waited = first_waited,
                                            .sandbox_waited = sandbox_waited});
  }
  // Only a program of ours says this: on the processor the page is the candidate's to write.
  if (on_device_) {
    const auto longest = static_cast<std::uint64_t>(result.wall.count());
    result.device_span =
        std::chrono::nanoseconds(std::min(load_acquire(pages_.reply().device_span_ns), longest));
    result.device_time = std::min(
        std::chrono::nanoseconds(std::min(load_acquire(pages_.reply().device_ns), longest)),
        result.device_span);
  }
  return result;
}

OutputReport ExecutorClient::report(std::uint32_t call, std::uint32_t output) const {
  return report_of(pages_.reply(), call, output);
}

std::optional<KernelLaunches> ExecutorClient::kernel_launches() const {
  if (!interprets_triton_) return std::nullopt;
  const volatile ReplyPage& page = pages_.reply();
  KernelLaunches launches;
  launches.kernel_count = page.kernel_count;
  launches.configurations = page.configurations;
  launches.library_calls = page.library_calls;
  launches.masked_lanes = page.masked_lanes != 0;
  launches.kernels.resize(std::min(launches.kernel_count, kMaxKernels));
  for (std::size_t i = 0; i < launches.kernels.size(); ++i) {
    const volatile KernelReport& from = page.kernels[i];
    KernelReport& copy = launches.kernels[i];
    std::copy(std::begin(from.identity), std::end(from.identity), std::begin(copy.identity));
    copy.launches = from.launches;
    copy.programs = from.programs;
  }
  return launches;
}

PlanCall ExecutorClient::plan_call() const {
  return plan_call_of(pages_.reply());
}

std::optional<std::int64_t> ExecutorClient::call_bytes() const {
  constexpr std::uint64_t kMaxBytes = std::uint64_t{1} << 50U;
  const std::uint64_t bytes = pages_.reply().call_bytes;
  if (!on_device_ || bytes == 0 || bytes > kMaxBytes) return std::nullopt;
  return static_cast<std::int64_t>(bytes);
}

ExecutorEnd ExecutorClient::end() {
  ExecutorEnd end;
  // A failing executor says so in the page and exits right after; its exit status comes a moment
  // later.
  for (int i = 0; i < 200 && !exit_; ++i) {
    exit_ = monitor_->exited();
    if (!exit_) clock_->sleep_for(std::chrono::milliseconds(1));
  }
  end.exit = exit_;
  end.failure = failure_of(pages_.reply());
  end.fault_signal = pages_.reply().fault_signal;
  end.fault_on_input = pages_.reply().fault_on_input == 1;
  return end;
}

}  // namespace kw::gym
