// Messages between a trainer and the process of its environment (docs/environment.md). Requests
// carry an id above 0 of the trainer's choice, which is never used again; each begin and each step
// is answered once, by `began`, `stepped` or `failed`.
#pragma once
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "environment/environment.h"

namespace kw::environment_link {

// Both sides must have the same. Raised with every change of a message.
inline constexpr std::int64_t kEnvironmentProtocol = 2;

using RequestId = std::uint64_t;

// ---- from the trainer

struct Hello {  // first, at once
  std::int64_t protocol = kEnvironmentProtocol;
  Json settings = Json::object();  // of the environment
};
struct Begin {
  RequestId id = 0;
  std::string task;
};
struct StepRequest {
  RequestId id = 0;
  RequestId episode = 0;  // the id of its Begin
  std::int64_t turn = 0;  // steps of the episode that have succeeded so far
  std::string text;
  text::Finish finish = text::Finish::kStop;
};
struct End {  // of an episode that is needed no more
  RequestId episode = 0;
};
struct Cancel {  // of a begin or a step, which is answered all the same
  RequestId id = 0;
};
struct Paused {};  // nothing of the trainer's works until Resume
using TrainerMessage = std::variant<Hello, Begin, StepRequest, End, Cancel, Paused>;

// ---- from the environment

struct Welcome {
  std::int64_t protocol = kEnvironmentProtocol;
  std::vector<std::string> tasks;
  std::string about;  // a line for people, may be empty
};
struct Began {
  RequestId id = 0;
  environment::Observation observation;
};
struct Stepped {
  RequestId id = 0;
  environment::Step step;
};
struct Failed {  // id 0: of the environment as a whole, and its last message
  RequestId id = 0;
  ErrorCode code = ErrorCode::kInternal;
  std::string message;
};
struct Pause {};  // answered by Paused; the next one comes behind a Resume
struct Resume {};
using EnvironmentMessage = std::variant<Welcome, Began, Stepped, Failed, Pause, Resume>;

// One object with "type". Readers refuse what the writers do not write; of a Hello or Welcome with
// another protocol they read that number alone.
Json to_json(const TrainerMessage& message);
Json to_json(const EnvironmentMessage& message);
Result<TrainerMessage> trainer_message_from_json(const Json& value);
Result<EnvironmentMessage> environment_message_from_json(const Json& value);

}  // namespace kw::environment_link
