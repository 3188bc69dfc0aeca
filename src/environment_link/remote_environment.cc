#include "environment_link/remote_environment.h"

#include <utility>

#include "base/check.h"

namespace kw::environment_link {

using environment::Answer;
using environment::Observation;
using environment::Step;

class RemoteEnvironment::RemoteEpisode : public environment::Episode {
 public:
  RemoteEpisode(RemoteEnvironment& owner, RequestId id, Observation first)
      : owner_(owner), id_(id), observation_(std::move(first)) {}
  ~RemoteEpisode() override { owner_.post(End{id_}); }

  const Observation& observation() const override { return observation_; }
  Result<Step> step(const Answer& answer, const std::stop_token& stop) override {
    KW_CHECK(!done_);
    KW_TRY(EnvironmentMessage reply,
           owner_.ask(StepRequest{0, id_, turn_, answer.text, answer.finish}, stop));
    auto* stepped = std::get_if<Stepped>(&reply);
    if (stepped == nullptr)
      return fail(ErrorCode::kInternal, "the environment answers a step with something else");
    ++turn_;
    done_ = stepped->step.done;
    observation_ = stepped->step.next;
    return std::move(stepped->step);
  }

 private:
  RemoteEnvironment& owner_;
  const RequestId id_;
  Observation observation_;
  std::int64_t turn_ = 0;
  bool done_ = false;
};

Result<std::unique_ptr<RemoteEnvironment>> RemoteEnvironment::connect(os::UniqueFd socket,
                                                                      Json settings,
                                                                      Patience patience,
                                                                      const std::stop_token& stop,
                                                                      os::Standstill* standstill) {
  KW_TRY(WakeEvent wake, WakeEvent::make());
  std::unique_ptr<RemoteEnvironment> out(new RemoteEnvironment(
      link::Channel(std::move(socket)), std::move(wake), patience, standstill));
  out->waiting_.emplace(0, std::nullopt);  // the welcome
  out->thread_ = std::jthread([raw = out.get()](const std::stop_token& over) { raw->run(over); });
  out->post(Hello{kEnvironmentProtocol, std::move(settings)});
  KW_TRY(EnvironmentMessage first, out->reply_to(0, stop));
  auto& welcome = std::get<Welcome>(first);
  if (welcome.protocol != kEnvironmentProtocol)
    return fail(ErrorCode::kUnsupported,
                "the environment speaks version {} of the protocol, and this program {}: build "
                "both from the same sources",
                welcome.protocol, kEnvironmentProtocol);
  out->tasks_ = std::move(welcome.tasks);
  out->about_ = std::move(welcome.about);
  return out;
}

RemoteEnvironment::~RemoteEnvironment() {
  thread_.request_stop();
  wake_.signal();
  if (thread_.joinable()) thread_.join();
  resume();
}

Status RemoteEnvironment::alive() const {
  std::lock_guard lock(mutex_);
  if (lost_) return tl::unexpected(*lost_);
  return {};
}

Result<std::unique_ptr<environment::Episode>> RemoteEnvironment::begin(
    const std::string& task, const std::stop_token& stop) {
  KW_TRY(EnvironmentMessage reply, ask(Begin{0, task}, stop));
  auto* began = std::get_if<Began>(&reply);
  if (began == nullptr)
    return fail(ErrorCode::kInternal, "the environment answers a begin with something else");
  return std::make_unique<RemoteEpisode>(*this, began->id, std::move(began->observation));
}

template <typename Message>
Result<EnvironmentMessage> RemoteEnvironment::ask(Message message, const std::stop_token& stop) {
  RequestId id = 0;
  {
    std::lock_guard lock(mutex_);
    if (lost_) return tl::unexpected(*lost_);
    id = ++last_id_;
    message.id = id;
    waiting_.emplace(id, std::nullopt);
    out_.push_back(to_json(TrainerMessage(std::move(message))));
  }
  wake_.signal();
  return reply_to(id, stop);
}

Result<EnvironmentMessage> RemoteEnvironment::reply_to(RequestId id, const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  const bool heard = heard_.wait_for(
      lock, stop, patience_, [&] { return lost_.has_value() || waiting_.at(id).has_value(); });
  auto entry = waiting_.extract(id);
  if (entry.mapped()) {
    if (const auto* failed = std::get_if<Failed>(&*entry.mapped()))
      return fail(failed->code, "{}", failed->message);
    return std::move(*entry.mapped());
  }
  if (lost_) return tl::unexpected(*lost_);
  cancelled_.insert(id);
  lock.unlock();
  if (id != 0) post(Cancel{id});
  if (heard || stop.stop_requested()) return fail(ErrorCode::kCancelled, "cancelled");
  Error silent(ErrorCode::kUnavailable,
               fmt::format("the environment has not answered for {} s", patience_.count()));
  lose(silent);
  return tl::unexpected(std::move(silent));
}

void RemoteEnvironment::post(const TrainerMessage& message) {
  {
    std::lock_guard lock(mutex_);
    if (lost_) return;
    out_.push_back(to_json(message));
  }
  wake_.signal();
}

void RemoteEnvironment::run(const std::stop_token& over) {
  bool lost = false;
  while (!over.stop_requested()) {
    if (wake_.wait(channel_, !lost) && !lost) {
      if (const Status received = receive(); !received) lose(received.error());
    }
    std::deque<Json> out;
    {
      std::lock_guard lock(mutex_);
      out.swap(out_);
      lost = lost_.has_value();
    }
    if (lost) continue;
    Status sent;
    for (const Json& one : out)
      if (sent) sent = channel_.queue(one);
    if (sent) sent = channel_.flush();
    if (sent) continue;
    // Its last words are worth more than that it is gone.
    if (const Status received = receive(); !received) sent = received;
    lose(sent.error());
    lost = true;
  }
}

Status RemoteEnvironment::receive() {
  std::vector<Json> messages;
  Status received = channel_.receive(messages);
  for (const Json& one : messages) {
    KW_TRY(EnvironmentMessage message, environment_message_from_json(one));
    hear(std::move(message));
  }
  if (received) return {};
  if (received.error().code() != ErrorCode::kUnavailable) return received;
  return fail(ErrorCode::kUnavailable, "the environment's process has ended");
}

void RemoteEnvironment::pause() {
  if (standstill_ == nullptr) return post(Paused{});
  standstill_->ask([this] { post(Paused{}); });
}

void RemoteEnvironment::resume() {
  if (standstill_ != nullptr) standstill_->resume();
}

void RemoteEnvironment::hear(EnvironmentMessage message) {
  if (std::holds_alternative<Pause>(message)) return pause();
  if (std::holds_alternative<Resume>(message)) return resume();
  const RequestId id = std::visit(
      [](const auto& one) -> RequestId {
        if constexpr (requires { one.id; }) {
          return one.id;
        } else {
          return 0;
        }
      },
      message);
  const auto* failed = std::get_if<Failed>(&message);
  if (id == 0 && failed != nullptr) return lose(Error(failed->code, failed->message));
  std::unique_lock lock(mutex_);
  if (cancelled_.erase(id) > 0) return;
  const auto found = waiting_.find(id);
  if (found == waiting_.end() || found->second) {
    lock.unlock();
    return lose(Error(ErrorCode::kInternal,
                      "the environment answers a request twice, or one that nobody made"));
  }
  found->second = std::move(message);
  heard_.notify_all();
}

void RemoteEnvironment::lose(Error error) {
  {
    std::lock_guard lock(mutex_);
    if (lost_) return;
    lost_ = std::move(error);
    heard_.notify_all();
  }
  resume();
}

}  // namespace kw::environment_link
