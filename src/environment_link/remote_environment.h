// RemoteEnvironment: an environment whose episodes are in another process.
//
// Theory of operation: a thread owns the channel; callers leave messages and wait for replies. Once
// the other process is gone, silent for too long, or says what the protocol forbids, the
// environment is lost: every call fails at once with the reason, which alive() has too. The other
// process may ask for a standstill at any time, and while it lasts messages come and go as ever.
#pragma once
#include <chrono>
#include <condition_variable>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "environment/environment.h"
#include "environment_link/environment_messages.h"
#include "environment_link/wake_event.h"
#include "link/channel.h"
#include "os/fd.h"
#include "os/standstill.h"

namespace kw::environment_link {

class RemoteEnvironment : public environment::Environment {
 public:
  using Patience = std::chrono::duration<double>;

  // Says hello with the settings and waits for the tasks. patience: a request that is not answered
  // in this time loses the environment. standstill: of the work that the other process may ask to
  // stand still, borrowed; null: there is none. Errors: what the other process says; kUnavailable
  // when it is gone or silent; kUnsupported for another protocol; kCancelled after a stop.
  static Result<std::unique_ptr<RemoteEnvironment>> connect(os::UniqueFd socket, Json settings,
                                                            Patience patience,
                                                            const std::stop_token& stop,
                                                            os::Standstill* standstill = nullptr);
  ~RemoteEnvironment() override;
  RemoteEnvironment(const RemoteEnvironment&) = delete;
  RemoteEnvironment& operator=(const RemoteEnvironment&) = delete;

  std::vector<std::string> tasks() const override { return tasks_; }
  Result<std::unique_ptr<environment::Episode>> begin(const std::string& task,
                                                      const std::stop_token& stop) override;
  Status alive() const override;
  const std::string& about() const { return about_; }  // a line for people

 private:
  class RemoteEpisode;
  RemoteEnvironment(link::Channel channel, WakeEvent wake, Patience patience,
                    os::Standstill* standstill)
      : patience_(patience),
        standstill_(standstill),
        channel_(std::move(channel)),
        wake_(std::move(wake)) {}

  // `message` gets the id. The reply with that id, or the error that it tells.
  template <typename Message>
  Result<EnvironmentMessage> ask(Message message, const std::stop_token& stop);
  Result<EnvironmentMessage> reply_to(RequestId id, const std::stop_token& stop);
  void post(const TrainerMessage& message);
  void run(const std::stop_token& over);
  Status receive();
  void hear(EnvironmentMessage message);
  void pause();
  void resume();
  void lose(Error error);

  const Patience patience_;
  os::Standstill* const standstill_;
  std::vector<std::string> tasks_;
  std::string about_;
  // The thread alone uses these.
  link::Channel channel_;
  const WakeEvent wake_;

  mutable std::mutex mutex_;
  std::condition_variable_any heard_;
  // All under mutex_.
  std::deque<Json> out_;
  RequestId last_id_ = 0;
  std::map<RequestId, std::optional<EnvironmentMessage>> waiting_;
  std::set<RequestId> cancelled_;  // whose replies nobody waits for
  std::optional<Error> lost_;

  std::jthread thread_;  // last: it uses the others
};

}  // namespace kw::environment_link
