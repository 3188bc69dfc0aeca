#include "link/model_client.h"

#include <array>
#include <cerrno>
#include <utility>

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

namespace kw::link {
namespace {

// Prompts that the engine has not taken yet. It takes all that come between two steps, so more than
// this means that it hangs.
constexpr std::size_t kMaxQueuedBytes = std::size_t{256} << 20U;

Result<os::UniqueFd> make_event() {
  os::UniqueFd event(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!event.valid()) return fail_errno(errno, "cannot make an event descriptor");
  return event;
}

void signal_event(int event) {
  const std::uint64_t one = 1;
  [[maybe_unused]] auto written = ::write(event, &one, sizeof one);
}

void clear_event(int event) {
  std::uint64_t count = 0;
  [[maybe_unused]] auto got = ::read(event, &count, sizeof count);
}

// Waits for the channel or the event; true when the channel has something, or its end.
bool wait_for(const Channel& channel, int event, bool with_channel) {
  const auto writing = static_cast<short>(channel.queued_bytes() > 0 ? POLLOUT : 0);
  std::array<pollfd, 2> waits = {
      pollfd{event, POLLIN, 0},
      pollfd{with_channel ? channel.fd() : -1, static_cast<short>(POLLIN | writing), 0}};
  while (::poll(waits.data(), waits.size(), -1) < 0 && errno == EINTR) {
  }
  if (waits[0].revents != 0) clear_event(event);
  return (waits[1].revents & (POLLIN | POLLHUP | POLLERR)) != 0;
}

Result<Json> first_message(Channel& channel, int event, const std::stop_token& stop) {
  std::stop_callback wake(stop, [event] { signal_event(event); });
  std::vector<Json> messages;
  while (messages.empty()) {
    if (stop.stop_requested()) return fail(ErrorCode::kCancelled, "stopped while the model loads");
    KW_TRY_STATUS(channel.flush());
    if (!wait_for(channel, event, true)) continue;
    auto received = channel.receive(messages);
    if (!received && messages.empty()) return tl::unexpected(std::move(received).error());
  }
  // Nothing follows before the front has asked.
  return std::move(messages.front());
}

Result<ModelInfo> welcomed(const Json& message) {
  KW_TRY(EngineMessage first, engine_message_from_json(message));
  if (auto* failed = std::get_if<Failed>(&first)) return fail(failed->code, failed->message);
  auto* welcome = std::get_if<Welcome>(&first);
  if (welcome == nullptr)
    return fail(ErrorCode::kInvalidArgument, "the engine does not begin with its welcome");
  if (welcome->protocol != kModelProtocol)
    return fail(ErrorCode::kUnsupported,
                "the engine speaks version {} of the protocol, and this program {}: build both "
                "from the same sources",
                welcome->protocol, kModelProtocol);
  return welcome->model;
}

}  // namespace

Result<std::unique_ptr<ModelClient>> ModelClient::connect(os::UniqueFd socket,
                                                          std::function<void(const Error&)> on_lost,
                                                          const std::stop_token& stop) {
  KW_TRY(os::UniqueFd wake, make_event());
  Channel channel(std::move(socket));
  KW_TRY_STATUS(channel.queue(to_json(FrontMessage(Hello{}))));
  KW_TRY(Json first, first_message(channel, wake.get(), stop));
  KW_TRY(ModelInfo model, welcomed(first));
  return std::unique_ptr<ModelClient>(
      new ModelClient(std::move(channel), std::move(model), std::move(wake), std::move(on_lost)));
}

ModelClient::ModelClient(Channel channel, ModelInfo model, os::UniqueFd wake,
                         std::function<void(const Error&)> on_lost)
    : channel_(std::move(channel)),
      on_lost_(std::move(on_lost)),
      model_(std::move(model)),
      wake_(std::move(wake)),
      thread_([this] { run(); }) {}

ModelClient::~ModelClient() {
  {
    std::lock_guard lock(mutex_);
    ending_ = true;
  }
  signal_event(wake_.get());
  thread_.join();
}

void ModelClient::post(Command command) {
  {
    std::lock_guard lock(mutex_);
    commands_.push_back(std::move(command));
  }
  signal_event(wake_.get());
}

void ModelClient::generate(GenerateRequest request, std::unique_ptr<GenerationListener> listener,
                           std::stop_token stop) {
  Command command;
  command.id = next_id_++;
  command.message = Generate{command.id, std::move(request)};
  command.pending.listener = std::move(listener);
  command.stop = std::move(stop);
  post(std::move(command));
}

void ModelClient::statistics(std::function<void(Result<Statistics>)> callback) {
  Command command;
  command.id = next_id_++;
  command.message = StatisticsRequest{command.id};
  command.pending.statistics = std::move(callback);
  post(std::move(command));
}

void ModelClient::run() {
  while (carry_out_commands()) {
    // What the engine has to say first: a failed write only says that it is gone.
    if (wait_for(channel_, wake_.get(), !lost_)) receive();
    if (lost_) continue;
    if (auto flushed = channel_.flush(); !flushed) {
      receive();
      lose(std::move(flushed).error());
    }
  }
  while (!pending_.empty())
    end(pending_.begin()->first, {0, ErrorCode::kCancelled, "the server stops"});
}

bool ModelClient::carry_out_commands() {
  std::vector<Command> commands;
  bool ending = false;
  {
    std::lock_guard lock(mutex_);
    commands.swap(commands_);
    ending = ending_;
  }
  for (Command& command : commands) carry_out(std::move(command));
  // Commands are sent before the thread waits, so that it is woken by answers only.
  if (!lost_) {
    if (auto flushed = channel_.flush(); !flushed) {
      receive();
      lose(std::move(flushed).error());
    }
  }
  return !ending;
}

void ModelClient::carry_out(Command command) {
  const RequestId id = command.id;
  if (std::holds_alternative<Cancel>(command.message)) {
    // The engine answers with the ends of the choices, unless they are on their way already.
    if (!lost_ && pending_.contains(id))
      static_cast<void>(channel_.queue(to_json(command.message)));
    return;
  }
  Pending& pending = pending_.emplace(id, std::move(command.pending)).first->second;
  if (lost_) return end(id, {id, lost_->code(), lost_->message()});
  if (channel_.queued_bytes() > kMaxQueuedBytes)
    return end(id, {id, ErrorCode::kResourceExhausted, "the engine takes no requests"});
  if (auto queued = channel_.queue(to_json(command.message)); !queued)
    return end(id, {id, queued.error().code(), queued.error().message()});
  if (!command.stop.stop_possible()) return;
  pending.on_stop = std::make_unique<OnStop>(command.stop, [this, id] {
    Command cancel;
    cancel.id = id;
    cancel.message = Cancel{id};
    post(std::move(cancel));
  });
}

void ModelClient::receive() {
  std::vector<Json> messages;
  auto received = channel_.receive(messages);
  for (const Json& one : messages) {
    auto message = engine_message_from_json(one);
    if (!message) return lose(std::move(message).error().with_context("a message of the engine"));
    hear(std::move(*message));
    if (lost_) return;
  }
  if (!received) lose(std::move(received).error());
}

void ModelClient::hear(EngineMessage message) {
  const RequestId id = std::visit(
      [](const auto& one) -> RequestId {
        if constexpr (requires { one.id; }) return one.id;
        return 0;
      },
      message);
  if (auto* failed = std::get_if<Failed>(&message)) {
    if (id == 0) return lose(Error(failed->code, failed->message));
    return end(id, *failed);
  }
  auto found = pending_.find(id);
  if (found == pending_.end()) return;
  if (auto* statistics = std::get_if<Statistics>(&message)) {
    auto ended = pending_.extract(found);
    if (ended.mapped().statistics) ended.mapped().statistics(*statistics);
    return;
  }
  GenerationListener* listener = found->second.listener.get();
  if (listener == nullptr) return;
  if (auto* part = std::get_if<Part>(&message)) {
    listener->part(std::move(*part));
  } else if (auto* accepted = std::get_if<Accepted>(&message)) {
    listener->accepted(*accepted);
  } else if (auto* done = std::get_if<Done>(&message)) {
    auto ended = pending_.extract(found);
    ended.mapped().listener->done(*done);
  }
}

void ModelClient::end(RequestId id, const Failed& failure) {
  auto ended = pending_.extract(id);
  if (ended.empty()) return;
  if (ended.mapped().listener != nullptr) return ended.mapped().listener->failed(failure);
  ended.mapped().statistics(fail(failure.code, failure.message));
}

void ModelClient::lose(Error error) {
  if (lost_) return;
  if (error.code() == ErrorCode::kUnavailable)
    error = Error(ErrorCode::kUnavailable, "the engine's program has ended");
  alive_ = false;
  lost_ = error;
  while (!pending_.empty()) {
    const RequestId id = pending_.begin()->first;
    end(id, {id, ErrorCode::kUnavailable, error.message()});
  }
  if (on_lost_) on_lost_(error);
}

}  // namespace kw::link
