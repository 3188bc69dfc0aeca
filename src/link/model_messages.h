// The model service's messages between a front program and the engine's program (docs/serving.md).
// Requests carry an id of the front's choice, above 0; the engine answers a generate message by
// `accepted`, parts and `done`, or by `failed` in place of any of these, and then not again.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "link/generate_request.h"
#include "text/finish.h"

namespace kw::link {

// Both sides must have the same. Raised with every change of a message.
inline constexpr std::int64_t kModelProtocol = 1;

using RequestId = std::uint64_t;

// ---- from the front

struct Hello {  // first, at once
  std::int64_t protocol = kModelProtocol;
  bool operator==(const Hello&) const = default;
};
struct Generate {
  RequestId id = 0;
  GenerateRequest request;
  bool operator==(const Generate&) const = default;
};
struct Cancel {  // of a generate message; nothing when it has ended
  RequestId id = 0;
  bool operator==(const Cancel&) const = default;
};
struct StatisticsRequest {
  RequestId id = 0;
  bool operator==(const StatisticsRequest&) const = default;
};
using FrontMessage = std::variant<Hello, Generate, Cancel, StatisticsRequest>;

// ---- from the engine

struct ModelInfo {
  std::string family;  // "qwen2", ...
  std::string dtype;   // of the weights in memory
  std::string device;
  std::int64_t parameters = 0, vocabulary = 0;
  std::int64_t context = 0;  // tokens of prompt and answer
  std::int64_t slots = 0;    // sequences at once
  bool operator==(const ModelInfo&) const = default;
};
struct Welcome {  // the model is loaded
  std::int64_t protocol = kModelProtocol;
  ModelInfo model;
  bool operator==(const Welcome&) const = default;
};
struct Accepted {
  RequestId id = 0;
  std::int64_t prompt_tokens = 0;
  bool operator==(const Accepted&) const = default;
};

struct TokenReport {
  std::int32_t token = 0;
  double logprob = 0;
  std::string bytes;  // what the token adds to text: any bytes
  bool operator==(const TokenReport&) const = default;
};
struct TokenLogprobs {
  TokenReport drawn;
  std::vector<TokenReport> top;  // the likeliest first
  bool operator==(const TokenLogprobs&) const = default;
};
// A piece of one answer. Its text is not just that of its tokens: what may still change is held
// back.
struct Part {
  RequestId id = 0;
  int choice = 0;
  std::string text;  // UTF-8
  std::vector<std::int32_t> tokens;
  std::vector<TokenLogprobs> logprobs;  // one a token where they were asked for
  std::optional<text::Finish> finish;   // of the last part: kStop, kLength or kCancelled
  bool operator==(const Part&) const = default;
};
struct Done {  // all answers have finished
  RequestId id = 0;
  std::int64_t prompt_tokens = 0, sampled_tokens = 0;
  bool operator==(const Done&) const = default;
};

enum class FailureReason {
  kOther,
  kContextLength,  // the prompt leaves no room for an answer
};
struct Failed {  // id 0: of the engine as a whole, and its last message
  RequestId id = 0;
  ErrorCode code = ErrorCode::kInternal;
  std::string message;
  FailureReason reason = FailureReason::kOther;
  bool operator==(const Failed&) const = default;
};
struct Statistics {
  RequestId id = 0;
  std::int64_t slots = 0, running = 0, waiting = 0;  // sequences, now
  // Since the start.
  std::int64_t steps = 0, prompt_tokens = 0, sampled_tokens = 0, copied_tokens = 0;
  bool operator==(const Statistics&) const = default;
};
using EngineMessage = std::variant<Welcome, Accepted, Part, Done, Failed, Statistics>;

// One object with "type". Readers refuse what the writers do not write.
Json to_json(const FrontMessage& message);
Json to_json(const EngineMessage& message);
Result<FrontMessage> front_message_from_json(const Json& value);
Result<EngineMessage> engine_message_from_json(const Json& value);

}  // namespace kw::link
