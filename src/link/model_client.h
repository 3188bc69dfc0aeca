// The front program's side of the model service: requests from any thread, answers as they come.
//
// Theory of operation: one thread owns the channel and calls every listener. Others leave commands
// in a mailbox and wake it. When the engine goes away, all that wait hear of it, and what is asked
// later fails at once; the thread stays until the client is destroyed.
#pragma once
#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <thread>
#include <vector>

#include "base/result.h"
#include "link/channel.h"
#include "link/model_messages.h"
#include "os/fd.h"

namespace kw::link {

// Hears of one request, on the client's thread: it must not wait. Destroyed there after done() or
// failed(), of which exactly one comes.
class GenerationListener {
 public:
  virtual ~GenerationListener() = default;
  virtual void accepted(const Accepted& accepted) = 0;
  virtual void part(Part part) = 0;
  virtual void done(const Done& done) = 0;
  virtual void failed(const Failed& failure) = 0;
};

class ModelClient {
 public:
  // Waits until the engine has loaded its model. What the engine says went wrong; kUnavailable when
  // it ends without a word; kCancelled after a stop. on_lost: called once, on the client's thread,
  // when the engine has gone away, with why.
  static Result<std::unique_ptr<ModelClient>> connect(os::UniqueFd socket,
                                                      std::function<void(const Error&)> on_lost,
                                                      const std::stop_token& stop);
  // What is still waited for fails with kCancelled.
  ~ModelClient();
  ModelClient(const ModelClient&) = delete;
  ModelClient& operator=(const ModelClient&) = delete;

  const ModelInfo& model() const { return model_; }
  bool alive() const { return alive_; }

  // A stop cancels: answers that are not finished end as cancelled, and done() comes.
  void generate(GenerateRequest request, std::unique_ptr<GenerationListener> listener,
                std::stop_token stop);
  // The callback is called on the client's thread.
  void statistics(std::function<void(Result<Statistics>)> callback);

 private:
  using OnStop = std::stop_callback<std::function<void()>>;
  struct Pending {
    std::unique_ptr<GenerationListener> listener;  // one of the two
    std::function<void(Result<Statistics>)> statistics;
    std::unique_ptr<OnStop> on_stop;
  };
  struct Command {
    FrontMessage message;
    RequestId id = 0;
    Pending pending;
    std::stop_token stop;
  };

  ModelClient(Channel channel, ModelInfo model, os::UniqueFd wake,
              std::function<void(const Error&)> on_lost);
  void post(Command command);
  void run();
  bool carry_out_commands();
  void carry_out(Command command);
  void receive();
  void hear(EngineMessage message);
  void end(RequestId id, const Failed& failure);
  void lose(Error error);

  // Of the client's thread.
  Channel channel_;
  std::map<RequestId, Pending> pending_;
  std::optional<Error> lost_;
  std::function<void(const Error&)> on_lost_;

  const ModelInfo model_;
  const os::UniqueFd wake_;  // eventfd
  std::atomic<bool> alive_{true};
  std::atomic<RequestId> next_id_{1};
  std::mutex mutex_;
  std::vector<Command> commands_;  // under mutex_
  bool ending_ = false;            // under mutex_
  std::thread thread_;
};

}  // namespace kw::link
