// Gos: the only place where the clock of a measurement is read.
#include "gym/checker/executor_client.h"

#include <algorithm>
#include <atomic>
#include <iterator>
#include <thread>

#include <immintrin.h>

#include "gym/checker/reply.h"
#include "os/message.h"

namespace kw::gym {
namespace {

constexpr int kSpinsBetweenLooks =
    20000;  // about 100 us of pauses between looks at the exit and the deadline
constexpr int kUntimedSpins = 2000;  // of a short call; others may want the core
constexpr auto kUntimedPoll = std::chrono::microseconds(50);
constexpr auto kSlowPoll = std::chrono::microseconds(200);
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
  client->interprets_triton_ = attach.setup.contains("triton");
  for (const task::Argument& input : signature.inputs)
    client->input_is_scalar_.push_back(input.role == task::Role::kScalar);
  KW_TRY_STATUS(client->send_setup(attach, signature));
  return client;
}

Status ExecutorClient::send_setup(Attach& attach, const task::Signature& signature) {
  std::vector<int> fds = {pages_.command_fd.get(), pages_.reply_fd.get(), attach.source.get()};
  Json names = {"command", "reply", "source"};
  if (memory_.statics != nullptr) {
    names.push_back("statics");
    fds.push_back(memory_.statics->fd());
    Json offsets = Json::array();
    for (std::size_t i = 0; i < memory_.statics->layout().count(); ++i)
      offsets.push_back(memory_.statics->layout().offset(i));
    attach.setup["static_offsets"] = offsets;
  }
  if (memory_.output->arena.valid()) {
    names.push_back("arena");
    fds.push_back(memory_.output->arena_fd.get());
  }
  for (std::size_t s = 0; s < memory_.inputs.size(); ++s) {
    names.push_back("in" + std::to_string(s));
    fds.push_back(memory_.inputs[s]->fd());
    names.push_back("out" + std::to_string(s));
    fds.push_back(memory_.output->destinations[s].fd());
  }
  attach.setup["op"] = "setup";
  attach.setup["fds"] = names;
  attach.setup["signature"] = task::to_json(signature);
  attach.setup["sets"] = memory_.inputs.size();
  attach.setup["frozen"] = freeze_;
  auto sent = os::send_message(attach.control.get(), attach.setup, fds);
  if (!sent) return tl::unexpected(std::move(sent).error().with_context("an executor's setup"));
  return {};
}

Result<GoResult> ExecutorClient::wait_ready(std::chrono::nanoseconds timeout) {
  auto start = Clock::now();
  Wait wait{start + timeout};
  GoResult result;
  while (true) {
    auto state = static_cast<ExecutorState>(load_acquire(pages_.reply().state));
    if (state == ExecutorState::kReady) break;
    if (state == ExecutorState::kFailed) result.end = GoEnd::kFailed;
    if (state != ExecutorState::kFailed) exit_ = monitor_->exited();
    if (exit_) result.end = GoEnd::kExited;
    if (result.end != GoEnd::kDone) return result;
    KW_TRY(bool late, too_late(wait));
    if (late) result.end = GoEnd::kTimeout;
    if (late) return result;
    std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
  result.wall = Clock::now() - start - wait.aside;
  std::optional<Style> style = style_of(pages_.reply());
  if (!style) {
    result.end = GoEnd::kProtocol;
    return result;
  }
  style_ = *style;
  if (freeze_) KW_TRY_STATUS(monitor_->freeze());
  return result;
}

Result<bool> ExecutorClient::too_late(Wait& wait) {
  KW_TRY(std::chrono::nanoseconds aside, turn_->make_way(monitor_.get()));
  wait.aside += aside;
  return Clock::now() > wait.deadline + wait.aside;
}

Result<GoEnd> ExecutorClient::wait_done(std::uint64_t sequence, Wait& wait) {
  const auto slow_after = Clock::now() + kSlowPollAfter;
  const int spins = timing_ ? kSpinsBetweenLooks : kUntimedSpins;
  while (true) {
    for (int i = 0; i < spins; ++i) {
      GoProgress progress = go_progress(load_acquire(pages_.reply().done_seq), sequence);
      if (progress == GoProgress::kDone) return GoEnd::kDone;
      if (progress == GoProgress::kOutOfTurn) return GoEnd::kProtocol;
      _mm_pause();
    }
    if (load_acquire(pages_.reply().state) == static_cast<std::uint32_t>(ExecutorState::kFailed))
      return GoEnd::kFailed;
    exit_ = monitor_->exited();
    if (exit_) return GoEnd::kExited;
    KW_TRY(bool late, too_late(wait));
    if (late) return GoEnd::kTimeout;
    if (Clock::now() > slow_after)
      std::this_thread::sleep_for(kSlowPoll);
    else if (!timing_)
      std::this_thread::sleep_for(kUntimedPoll);
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
    const Layout& outputs = memory_.output->destinations[s].layout();
    for (std::size_t i = 0; i < outputs.count(); ++i) page.output_offset[s][i] = outputs.offset(i);
  }
}

Result<GoResult> ExecutorClient::go(Op op, std::span<const std::uint32_t> sets,
                                    std::chrono::nanoseconds timeout) {
  KW_TRY_STATUS(turn_->make_way(nullptr));
  write_command(op, sets);
  KW_TRY(auto cpu_before, monitor_->cpu_time());
  KW_TRY(std::uint64_t faults_before, monitor_->minor_faults());
  std::chrono::nanoseconds waited_before = monitor_->waiting_time();
  ++sequence_;
  GoResult result;
  std::atomic_ref<std::uint64_t>(pages_.command().go_seq)
      .store(sequence_, std::memory_order_release);
  auto start = Clock::now();
  if (freeze_) KW_TRY_STATUS(monitor_->thaw());
  Wait wait{start + timeout};
  KW_TRY(result.end, wait_done(sequence_, wait));
  if (freeze_ && result.end != GoEnd::kExited) KW_TRY_STATUS(monitor_->freeze());
  result.wall = Clock::now() - start - wait.aside;
  if (result.end != GoEnd::kDone) return result;
  // Frozen now: a second look cannot change any more.
  if (load_acquire(pages_.reply().done_seq) != sequence_) result.end = GoEnd::kProtocol;
  KW_TRY(auto cpu_after, monitor_->cpu_time());
  KW_TRY(std::uint64_t faults_after, monitor_->minor_faults());
  result.cpu_time = cpu_after - cpu_before;
  result.minor_faults = faults_after - faults_before;
  result.waited = monitor_->waiting_time() - waited_before;
  return result;
}

Result<NullGos> ExecutorClient::null_gos(int count) {
  std::vector<NullGo> gos;
  for (int i = 0; i < count; ++i) {
    KW_TRY(GoResult result, go(Op::kNullCall, {}, std::chrono::seconds(2)));
    if (result.end != GoEnd::kDone) return NullGos{};
    gos.push_back({result.wall, result.waited, result.cpu_time});
  }
  return null_gos_of(gos);
}

OutputReport ExecutorClient::report(std::uint32_t call, std::uint32_t output) const {
  return report_of(pages_.reply(), call, output);
}

std::optional<ExecutorClient::Launches> ExecutorClient::launches() const {
  if (!interprets_triton_) return std::nullopt;
  const volatile ReplyPage& page = pages_.reply();
  Launches launches;
  launches.kernel_count = page.kernel_count;
  launches.library_calls = page.library_calls;
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

ExecutorEnd ExecutorClient::end() {
  ExecutorEnd end;
  // A failing executor says so in the page and exits right after; its exit status comes a moment
  // later.
  for (int i = 0; i < 200 && !exit_; ++i) {
    exit_ = monitor_->exited();
    if (!exit_) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  end.exit = exit_;
  end.failure = failure_of(pages_.reply());
  end.fault_signal = pages_.reply().fault_signal;
  end.fault_on_input = pages_.reply().fault_on_input == 1;
  return end;
}

}  // namespace kw::gym
