// The server of an environment: the process that has the gym answers a trainer over a channel.
//
// Theory of operation: one thread owns the channel and the table of episodes. Others judge answers,
// and one begins episodes, so that no beginning waits for a judgement; each has one request at a
// time, and leaves its reply in a queue. An
// episode has one request at a time too: a second one before the reply is refused, so no answer is
// paid twice. When the trainer goes away, everything that runs is stopped.
#pragma once
#include <functional>
#include <memory>
#include <stop_token>

#include "base/result.h"
#include "environment/environment.h"
#include "environment_link/environment_messages.h"
#include "link/channel.h"

namespace kw::environment_link {

// The trainer, as what is served sees it: its sampling and training stand still while something is
// timed.
class Trainer {
 public:
  virtual ~Trainer() = default;
  // Any thread, pause() and resume() in turn. pause() returns when nothing of the trainer's works,
  // or when the trainer is gone.
  virtual void pause() = 0;
  virtual void resume() = 0;
};

struct ServedEnvironment {
  std::unique_ptr<environment::Environment> environment;
  std::string about;  // of Welcome
  int threads = 1;    // answers that are judged at once
};
// Makes the environment of a trainer's settings. The trainer outlives it.
using MakeEnvironment =
    std::function<Result<ServedEnvironment>(const Json& settings, Trainer& trainer)>;

// Reads the trainer's hello, makes the environment and serves until the trainer closes its end,
// which is no error, or until a stop (kCancelled). An error that ends the service goes to the
// trainer as Failed with id 0. kUnsupported for another protocol.
Status serve_environment(link::Channel& channel, const MakeEnvironment& make,
                         const std::stop_token& stop);

}  // namespace kw::environment_link
