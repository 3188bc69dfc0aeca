// What is asked of a chat model and what it answers: the values of OpenAI's chat completion API
// that kernelwright uses. Plain values, no threads.
#pragma once
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "text/chat_message.h"
#include "text/usage.h"

namespace kw::openai {

struct ChatRequest {
  std::string tag;  // the caller's name for it, in Attempt; not sent
  std::string model;
  std::vector<text::ChatMessage> messages;
  std::optional<double> temperature = 1, top_p = 1;  // none: the server's own
  int max_tokens = 4096;                             // of each choice
  std::optional<std::uint64_t> seed;
  std::vector<std::string> stop;
  int n = 1;
  bool stream = true;  // a server that has died is seen by its silence, not at the deadline
  // From complete() to its return, retries and waits included. none: the client's.
  std::optional<std::chrono::milliseconds> deadline;
  Json extra = Json::object();  // more fields of the body, sent as they are; null takes one away
};

// What a choice's text looks like beside an answer.
enum class Suspicion {
  kNone,
  kEmpty,           // no text, whatever the reasoning
  kPromptEcho,      // begins with the prompt
  kTemplateTokens,  // has a chat template's special tokens in it
};
std::string_view to_string(Suspicion suspicion);  // "none", "empty", ...

struct Choice {
  int index = 0;
  std::string text;       // UTF-8
  std::string reasoning;  // of fields beside the text (reasoning_content, reasoning)
  // "stop", "length", "content_filter", ... as the server says; "" when it does not.
  std::string finish_reason;
  // kPromptEcho and kTemplateTokens mean that the server's chat template is not the model's.
  Suspicion suspicion = Suspicion::kNone;
};

struct ChatAnswer {
  std::vector<Choice> choices;  // 1 to n, by index: a server may not know n
  text::Usage usage;            // of the attempt that answered, by bytes if no server told
  double cost = 0;              // of all attempts, in the currency of the prices
  bool cost_known = true;       // false: estimated for some attempt
  int tries = 1;
  std::string id;                       // of the body
  std::string request_id;               // of the field x-request-id; "" when there is none
  std::string model;                    // the one that answered, as the server calls it
  std::chrono::milliseconds waited{0};  // for rates, slots and before retries
};

// A third of the bytes, rounded up: more than English or code has, on the safe side.
std::int64_t estimate_tokens(std::size_t bytes);
// With what a chat template puts around each message.
std::int64_t estimate_prompt_tokens(const std::vector<text::ChatMessage>& messages);

}  // namespace kw::openai
