// What a model can be asked for: one prompt, its answers and how they are drawn. The same object is
// a line of `kernelwright generate --prompts` and the body of a link's generate message.
#pragma once
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "text/chat_message.h"

namespace kw::link {

struct GenerateRequest {
  // Text, a conversation, or tokens as they are.
  std::variant<std::string, std::vector<text::ChatMessage>, std::vector<std::int32_t>> prompt;
  bool continue_final = false;  // of a conversation: go on with its last message
  // Of a conversation: variables of the chat template, {"enable_thinking": false}.
  Json template_arguments = Json::object();
  int n = 1;  // answers
  double temperature = 1, top_p = 1, min_p = 0;
  std::int64_t top_k = 0, max_tokens = 256;
  std::vector<std::string> stop;
  std::vector<std::int32_t> stop_token_ids;
  bool ignore_end = false;  // the model's own ends are tokens like others
  std::uint64_t seed = 0;   // answer i draws as sequence first_sequence + i
  std::uint64_t first_sequence = 0;
  bool logprobs = false;  // of the tokens that are drawn
  int top_logprobs = 0;   // and of so many of the likeliest beside each
  bool operator==(const GenerateRequest&) const = default;
};
inline constexpr int kMaxAnswers = 1024;

// "prompt", "messages" or "token_ids" of the reader's object: exactly one. Messages of errors begin
// with the field's path.
Status read_prompt(ObjectReader& reader, GenerateRequest& request);
// Everything else, where it is given; the rest stays as it is in `request`. Ranges are the engine's
// to check, but for counts that memory depends on.
Status read_settings(ObjectReader& reader, GenerateRequest& request);

// An object of at most 32 texts, numbers, booleans and nulls, none of which is what a template
// always gets (messages, tools ...). kInvalidArgument begins with `where`.
Result<Json> read_template_arguments(const Json& value, const std::string& where);

// A list of numbers from 0 to 2^31 - 1. kInvalidArgument begins with `where`.
Result<std::vector<std::int32_t>> read_token_ids(const Json& value, const std::string& where);

Json to_json(const GenerateRequest& request);
// All fields but the prompt.
Json settings_to_json(const GenerateRequest& request);
// Both, and no other keys.
Result<GenerateRequest> generate_request_from_json(const Json& value, const std::string& where);

}  // namespace kw::link
