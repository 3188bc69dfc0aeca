// Answers and events of OpenAI's completion API, as JSON: values in, values out.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "link/model_messages.h"
#include "net/http_message.h"
#include "openai_server/completion_call.h"
#include "text/usage.h"

namespace kw::openai_server {

// {"error": {"message", "type", "param", "code"}}
Json error_json(const ApiFailure& failure);
net::Response error_answer(const ApiFailure& failure);
// What the engine says about a request. chat: names the field that the prompt came from.
ApiFailure failure_of(const link::Failed& failed, bool chat);

// What all events and the answer of one call have in common.
struct AnswerHead {
  bool chat = false;
  std::string id;  // "chatcmpl-..." or "cmpl-..."
  std::int64_t created = 0;
  std::string model;
};

// One choice as far as it has come; of an event: what is new.
struct ChoiceText {
  std::int64_t index = 0;
  std::string text;
  std::optional<std::vector<link::TokenLogprobs>> logprobs;  // where they were asked for
  std::optional<std::vector<std::int32_t>> token_ids;        // where they were asked for
  std::optional<text::Finish> finish;
  std::size_t text_offset = 0;  // of /v1/completions' logprobs: characters of tokens before
};

Json answer_json(const AnswerHead& head, const std::vector<ChoiceText>& choices,
                 const text::Usage& usage);

// Data of events. with_usage: events that have none say so ("usage": null).
std::string first_event(const AnswerHead& head, std::int64_t index, bool with_usage);  // of a chat
std::string choice_event(const AnswerHead& head, const ChoiceText& choice, bool with_usage);
std::string usage_event(const AnswerHead& head, const text::Usage& usage);

Json model_json(const ServedModel& model, std::int64_t created);

// Characters of the tokens' texts together, for text_offset.
std::size_t characters_of(const std::vector<link::TokenLogprobs>& tokens);

}  // namespace kw::openai_server
