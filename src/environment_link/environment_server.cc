#include "environment_link/environment_server.h"

#include <cerrno>
#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <utility>

#include <poll.h>

#include "environment_link/wake_event.h"
#include "os/workers.h"

namespace kw::environment_link {
namespace {

using environment::Episode;

// Requests that wait for a thread: a trainer has a thread of its own for each.
constexpr std::size_t kMaxWaiting = 4096;

struct Playing {
  std::unique_ptr<Episode> episode;
  std::int64_t turn = 0;  // steps that have succeeded
  bool done = false;
  bool busy = false;   // a thread has it
  bool ended = false;  // the trainer needs it no more
};

// A thread leaves it when its request is carried out.
struct Reply {
  EnvironmentMessage message;
  RequestId request = 0, episode = 0;
  std::unique_ptr<Episode> begun;
  bool stepped = false, done = false;
};

// The trainer at the other end of the channel, whose thread takes what is to be sent to it.
class FarTrainer : public Trainer {
 public:
  explicit FarTrainer(const WakeEvent& wake) : wake_(wake) {}

  void pause() override {
    std::unique_lock lock(mutex_);
    if (!is_served_) return;  // it waits for the welcome, or is gone
    stands_ = false;
    out_.push_back(to_json(EnvironmentMessage(Pause{})));
    wake_.signal();
    change_.wait(lock, [this] { return stands_ || !is_served_; });
  }
  void resume() override {
    std::lock_guard lock(mutex_);
    if (!is_served_) return;
    out_.push_back(to_json(EnvironmentMessage(Resume{})));
    wake_.signal();
  }

  // The channel's thread.
  void serve(bool is_served) {
    std::lock_guard lock(mutex_);
    is_served_ = is_served;
    change_.notify_all();
  }
  void stands() {
    std::lock_guard lock(mutex_);
    stands_ = true;
    change_.notify_all();
  }
  std::deque<Json> take_messages() {
    std::lock_guard lock(mutex_);
    return std::exchange(out_, {});
  }

 private:
  const WakeEvent& wake_;
  std::mutex mutex_;
  std::condition_variable change_;
  bool is_served_ = false, stands_ = false;  // under mutex_
  std::deque<Json> out_;                     // under mutex_
};

class Service {
 public:
  Service(link::Channel& channel, FarTrainer& trainer, ServedEnvironment served,
          const WakeEvent& wake)
      : channel_(channel), trainer_(trainer), served_(std::move(served)), wake_(wake) {}
  Status run(const std::stop_token& stop);

 private:
  Status receive(bool& over);
  Status carry_out(TrainerMessage message);
  void begin(Begin begin);
  void step(StepRequest request);
  void end(RequestId episode);
  Status refuse(RequestId id, std::string why);
  Status send_replies();
  void leave(Reply reply);
  std::stop_token token_of(RequestId id) { return running_[id].get_token(); }

  link::Channel& channel_;
  FarTrainer& trainer_;
  const ServedEnvironment served_;
  const WakeEvent& wake_;
  // The channel's thread alone uses these.
  std::map<RequestId, Playing> episodes_;  // by the id of their begin
  std::map<RequestId, std::stop_source> running_;
  RequestId newest_ = 0;
  std::mutex mutex_;
  std::deque<Reply> replies_;  // under mutex_
  std::unique_ptr<os::Workers> judges_, beginner_;
};

Status Service::run(const std::stop_token& stop) {
  judges_ = std::make_unique<os::Workers>(served_.threads, kMaxWaiting);
  beginner_ = std::make_unique<os::Workers>(1, kMaxWaiting);
  std::stop_callback wake(stop, [this] { wake_.signal(); });
  trainer_.serve(true);
  Status out;
  for (bool over = false; out && !over;) {
    if (stop.stop_requested()) out = fail(ErrorCode::kCancelled, "stopped");
    if (out && wake_.wait(channel_, true)) out = receive(over);
    if (out && !over) out = send_replies();
    // A trainer that is gone is no error: what it has sent before is read first.
    if (out && !over && !channel_.flush()) over = true;
  }
  trainer_.serve(false);  // nobody waits for it any more
  for (auto& [id, source] : running_) source.request_stop();
  judges_.reset();  // waits for the threads
  beginner_.reset();
  return out;
}

Status Service::receive(bool& over) {
  std::vector<Json> messages;
  const Status received = channel_.receive(messages);
  for (const Json& one : messages) {
    KW_TRY(TrainerMessage message, trainer_message_from_json(one));
    KW_TRY_STATUS(carry_out(std::move(message)));
  }
  if (received) return {};
  over = received.error().code() == ErrorCode::kUnavailable;
  return over ? Status() : received;
}

Status Service::refuse(RequestId id, std::string why) {
  return channel_.queue(
      to_json(EnvironmentMessage(Failed{id, ErrorCode::kInvalidArgument, std::move(why)})));
}

Status Service::carry_out(TrainerMessage message) {
  if (const auto* one = std::get_if<End>(&message)) {
    end(one->episode);
    return {};
  }
  if (std::holds_alternative<Paused>(message)) {
    trainer_.stands();
    return {};
  }
  if (const auto* one = std::get_if<Cancel>(&message)) {
    if (const auto found = running_.find(one->id); found != running_.end())
      found->second.request_stop();
    return {};
  }
  auto* begins = std::get_if<Begin>(&message);
  auto* steps = std::get_if<StepRequest>(&message);
  if (begins == nullptr && steps == nullptr)
    return fail(ErrorCode::kInvalidArgument, "a second hello");
  const RequestId id = begins != nullptr ? begins->id : steps->id;
  if (id <= newest_) return refuse(id, "the id was used before");
  newest_ = id;
  if (running_.size() >= kMaxWaiting) return refuse(id, "too many requests at once");
  if (begins != nullptr) {
    begin(std::move(*begins));
    return {};
  }
  const auto found = episodes_.find(steps->episode);
  if (found == episodes_.end()) return refuse(id, "no such episode");
  if (found->second.busy) return refuse(id, "the episode's last answer is still judged");
  if (found->second.done) return refuse(id, "the episode has ended");
  if (found->second.turn != steps->turn)
    return refuse(id,
                  fmt::format("turn {}: the episode is at {}", steps->turn, found->second.turn));
  step(std::move(*steps));
  return {};
}

void Service::begin(Begin begin) {
  beginner_->post(
      [this, token = token_of(begin.id), begin = std::move(begin)](const std::stop_token&) {
        auto made = served_.environment->begin(begin.task, token);
        Reply reply{Failed{}, begin.id, begin.id, nullptr};
        if (made) {
          reply.message = Began{begin.id, (*made)->observation()};
          reply.begun = std::move(*made);
        } else {
          reply.message = Failed{begin.id, made.error().code(), made.error().message()};
        }
        leave(std::move(reply));
      });
}

void Service::step(StepRequest request) {
  Playing& playing = episodes_.at(request.episode);
  playing.busy = true;
  Episode* episode = playing.episode.get();  // stays while it is busy
  judges_->post([this, episode, token = token_of(request.id),
                 request = std::move(request)](const std::stop_token&) {
    auto step = episode->step({request.text, request.finish}, token);
    Reply reply{Failed{}, request.id, request.episode, nullptr};
    if (step) {
      reply.stepped = true;
      reply.done = step->done;
      reply.message = Stepped{request.id, std::move(*step)};
    } else {
      reply.message = Failed{request.id, step.error().code(), step.error().message()};
    }
    leave(std::move(reply));
  });
}

void Service::end(RequestId episode) {
  const auto found = episodes_.find(episode);
  if (found == episodes_.end()) return;
  if (found->second.busy) {
    found->second.ended = true;
  } else {
    episodes_.erase(found);
  }
}

void Service::leave(Reply reply) {
  {
    std::lock_guard lock(mutex_);
    replies_.push_back(std::move(reply));
  }
  wake_.signal();
}

Status Service::send_replies() {
  for (const Json& one : trainer_.take_messages()) KW_TRY_STATUS(channel_.queue(one));
  std::deque<Reply> replies;
  {
    std::lock_guard lock(mutex_);
    replies.swap(replies_);
  }
  for (Reply& reply : replies) {
    running_.erase(reply.request);
    if (reply.begun) episodes_[reply.episode].episode = std::move(reply.begun);
    if (const auto found = episodes_.find(reply.episode); found != episodes_.end()) {
      found->second.busy = false;
      found->second.done = reply.done;
      if (reply.stepped) ++found->second.turn;
      if (found->second.ended) episodes_.erase(found);
    }
    const Status queued = channel_.queue(to_json(reply.message));
    if (!queued)
      KW_TRY_STATUS(channel_.queue(to_json(EnvironmentMessage(
          Failed{reply.request, queued.error().code(), queued.error().message()}))));
  }
  return {};
}

Result<Hello> take_hello(link::Channel& channel, const WakeEvent& wake,
                         const std::stop_token& stop) {
  std::vector<Json> messages;
  while (messages.empty()) {
    if (stop.stop_requested()) return fail(ErrorCode::kCancelled, "stopped");
    if (!wake.wait(channel, true)) continue;
    const Status received = channel.receive(messages);
    if (!received && messages.empty()) return tl::unexpected(received.error());
  }
  KW_TRY(TrainerMessage first, trainer_message_from_json(messages.front()));
  auto* hello = std::get_if<Hello>(&first);
  if (hello == nullptr || hello->protocol != kEnvironmentProtocol)
    return fail(ErrorCode::kUnsupported,
                "the trainer and the environment are of different builds: build both from the same "
                "sources");
  return std::move(*hello);
}

Status serve_over(link::Channel& channel, const MakeEnvironment& make,
                  const std::stop_token& stop) {
  KW_TRY(WakeEvent wake, WakeEvent::make());
  std::stop_callback wake_up(stop, [&wake] { wake.signal(); });
  KW_TRY(const Hello hello, take_hello(channel, wake, stop));
  KW_TRY(const WakeEvent service_wake, WakeEvent::make());
  FarTrainer trainer(service_wake);
  KW_TRY(ServedEnvironment served, make(hello.settings, trainer));
  KW_TRY_STATUS(channel.queue(to_json(EnvironmentMessage(
      Welcome{kEnvironmentProtocol, served.environment->tasks(), served.about}))));
  if (!channel.flush()) return {};
  return Service(channel, trainer, std::move(served), service_wake).run(stop);
}

}  // namespace

Status serve_environment(link::Channel& channel, const MakeEnvironment& make,
                         const std::stop_token& stop) {
  Status out = serve_over(channel, make, stop);
  if (out) return out;
  // The trainer prints it. If it is gone, nobody needs it.
  static_cast<void>(channel.queue(
      to_json(EnvironmentMessage(Failed{0, out.error().code(), out.error().message()}))));
  static_cast<void>(channel.flush());
  return out;
}

}  // namespace kw::environment_link
