// Bodies of /v1/completions and /v1/chat/completions, as OpenAI's API has them, to requests of the
// model service (docs/serving.md has what is read, ignored and refused).
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "link/generate_request.h"

namespace kw::openai_server {

// Why a call is not answered. param: the field, code: for programs; empty where there is none.
struct ApiFailure {
  ApiFailure(int http_status, std::string text, std::string field = "", std::string name = "")
      : status(http_status),
        message(std::move(text)),
        param(std::move(field)),
        code(std::move(name)) {}
  // Of a reader, whose messages begin with the field's path.
  ApiFailure(const Error& error);  // NOLINT(google-explicit-constructor): what KW_TRY hands on

  int status = 400;
  std::string message, param, code;
};
template <typename T>
class [[nodiscard]] ApiResult : public tl::expected<T, ApiFailure> {
 public:
  using tl::expected<T, ApiFailure>::expected;
};

struct ServedModel {
  std::string name;
  std::int64_t context = 0;
};

struct CompletionCall {
  bool chat = false;
  bool stream = false;
  bool include_usage = false;     // a last event with the usage of a stream
  bool return_token_ids = false;  // ours and vLLM's: the tokens beside the text
  // One a prompt; choice i of prompt p is choice p * n + i of the answer.
  std::vector<link::GenerateRequest> prompts;
  std::int64_t n() const { return prompts.front().n; }
  std::int64_t sequences() const { return n() * static_cast<std::int64_t>(prompts.size()); }
};

// fresh_seed: for a call without "seed". Every failure is the caller's fault.
ApiResult<CompletionCall> read_completion_call(const Json& body, const ServedModel& model,
                                               std::uint64_t fresh_seed);
ApiResult<CompletionCall> read_chat_call(const Json& body, const ServedModel& model,
                                         std::uint64_t fresh_seed);

}  // namespace kw::openai_server
