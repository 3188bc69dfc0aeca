#include "openai_server/answer_format.h"

#include <algorithm>
#include <utility>

#include <fmt/core.h>

#include "net/replies.h"

namespace kw::openai_server {
namespace {

Json or_null(const std::string& text) {
  return text.empty() ? Json(nullptr) : Json(text);
}

std::string_view type_of(int status) {
  if (status == 429) return "rate_limit_error";
  return status >= 500 ? "server_error" : "invalid_request_error";
}

// A token alone, as text: bytes that are no UTF-8 become U+FFFD, as in OpenAI's answers.
std::string token_text(const std::string& bytes) {
  const std::string quoted = Json(bytes).dump(-1, ' ', false, Json::error_handler_t::replace);
  return Json::parse(quoted).get<std::string>();
}

// A token's name among the likeliest of a text completion: its text; bytes that are no UTF-8 as
// OpenAI's API named them. Where another token has the name already, the token's id is the name, so
// that none is lost.
std::string top_name(const link::TokenReport& report, const Json& taken) {
  std::string name = report.bytes;
  if (token_text(report.bytes) != report.bytes) {
    name = "bytes:";
    for (char c : report.bytes) name += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
  }
  return taken.contains(name) ? fmt::format("token_id:{}", report.token) : name;
}

std::size_t characters(std::string_view utf8) {
  return static_cast<std::size_t>(std::count_if(utf8.begin(), utf8.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U;
  }));
}

Json chat_token(const link::TokenReport& report) {
  Json bytes = Json::array();
  for (char c : report.bytes) bytes.push_back(static_cast<unsigned char>(c));
  return {{"token", token_text(report.bytes)},
          {"logprob", report.logprob},
          {"bytes", std::move(bytes)}};
}

Json chat_logprobs(const std::vector<link::TokenLogprobs>& tokens) {
  Json content = Json::array();
  for (const link::TokenLogprobs& one : tokens) {
    Json token = chat_token(one.drawn);
    token["top_logprobs"] = Json::array();
    for (const link::TokenReport& report : one.top)
      token["top_logprobs"].push_back(chat_token(report));
    content.push_back(std::move(token));
  }
  return {{"content", std::move(content)}, {"refusal", nullptr}};
}

Json completion_logprobs(const std::vector<link::TokenLogprobs>& tokens, std::size_t offset) {
  Json texts = Json::array(), logprobs = Json::array(), tops = Json::array(),
       offsets = Json::array();
  for (const link::TokenLogprobs& one : tokens) {
    std::string text = token_text(one.drawn.bytes);
    offsets.push_back(offset);
    offset += characters(text);
    texts.push_back(std::move(text));
    logprobs.push_back(one.drawn.logprob);
    Json top = Json::object();
    for (const link::TokenReport& report : one.top) top[top_name(report, top)] = report.logprob;
    tops.push_back(std::move(top));
  }
  return {{"tokens", std::move(texts)},
          {"token_logprobs", std::move(logprobs)},
          {"top_logprobs", std::move(tops)},
          {"text_offset", std::move(offsets)}};
}

// What comes behind a choice's text.
void add_rest(const AnswerHead& head, const ChoiceText& choice, Json& out) {
  out["logprobs"] = nullptr;
  if (choice.logprobs && !choice.logprobs->empty())
    out["logprobs"] = head.chat ? chat_logprobs(*choice.logprobs)
                                : completion_logprobs(*choice.logprobs, choice.text_offset);
  out["finish_reason"] = choice.finish ? Json(to_string(*choice.finish)) : Json(nullptr);
  if (choice.token_ids) out["token_ids"] = *choice.token_ids;
}

Json whole_choice(const AnswerHead& head, const ChoiceText& choice) {
  Json out = {{"index", choice.index}};
  if (head.chat)
    out["message"] = {{"role", "assistant"}, {"content", choice.text}, {"refusal", nullptr}};
  else
    out["text"] = choice.text;
  add_rest(head, choice, out);
  return out;
}

Json start_of(const AnswerHead& head, bool event) {
  std::string_view object = "text_completion";
  if (head.chat) object = event ? "chat.completion.chunk" : "chat.completion";
  return {{"id", head.id}, {"object", object}, {"created", head.created}, {"model", head.model}};
}

Json usage_json(const text::Usage& usage) {
  return {{"prompt_tokens", usage.prompt_tokens},
          {"completion_tokens", usage.completion_tokens},
          {"total_tokens", usage.prompt_tokens + usage.completion_tokens}};
}

std::string event(const AnswerHead& head, Json choices, std::optional<Json> usage) {
  Json out = start_of(head, true);
  out["choices"] = std::move(choices);
  if (usage) out["usage"] = std::move(*usage);
  return out.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::optional<Json> no_usage(bool with_usage) {
  return with_usage ? std::optional<Json>(nullptr) : std::nullopt;
}

}  // namespace

Json error_json(const ApiFailure& failure) {
  return {{"error",
           {{"message", failure.message},
            {"type", type_of(failure.status)},
            {"param", or_null(failure.param)},
            {"code", or_null(failure.code)}}}};
}

net::Response error_answer(const ApiFailure& failure) {
  return net::json_response(error_json(failure), failure.status);
}

ApiFailure failure_of(const link::Failed& failed, bool chat) {
  const std::string field = chat ? "messages" : "prompt";
  if (failed.reason == link::FailureReason::kContextLength)
    return {400, failed.message, field, "context_length_exceeded"};
  if (failed.code == ErrorCode::kInvalidArgument) {
    ApiFailure out(Error(failed.code, failed.message));
    if (out.param.empty()) out.param = field;
    return out;
  }
  if (failed.code == ErrorCode::kInternal) return {500, "internal error", "", "internal"};
  const int status = failed.code == ErrorCode::kCancelled ? 503 : http_status(failed.code);
  return {status, failed.message, "", std::string(to_string(failed.code))};
}

Json answer_json(const AnswerHead& head, const std::vector<ChoiceText>& choices,
                 const text::Usage& usage) {
  Json out = start_of(head, false);
  out["choices"] = Json::array();
  for (const ChoiceText& choice : choices) out["choices"].push_back(whole_choice(head, choice));
  out["usage"] = usage_json(usage);
  return out;
}

std::string first_event(const AnswerHead& head, std::int64_t index, bool with_usage) {
  Json choice = {{"index", index},
                 {"delta", {{"role", "assistant"}, {"content", ""}}},
                 {"logprobs", nullptr},
                 {"finish_reason", nullptr}};
  return event(head, Json::array({std::move(choice)}), no_usage(with_usage));
}

std::string choice_event(const AnswerHead& head, const ChoiceText& choice, bool with_usage) {
  Json out = {{"index", choice.index}};
  if (head.chat) {
    out["delta"] = Json::object();
    if (!choice.text.empty()) out["delta"]["content"] = choice.text;
  } else {
    out["text"] = choice.text;
  }
  add_rest(head, choice, out);
  return event(head, Json::array({std::move(out)}), no_usage(with_usage));
}

std::string usage_event(const AnswerHead& head, const text::Usage& usage) {
  return event(head, Json::array(), usage_json(usage));
}

Json model_json(const ServedModel& model, std::int64_t created) {
  return {{"id", model.name},
          {"object", "model"},
          {"created", created},
          {"owned_by", "kernelwright"},
          {"max_model_len", model.context}};
}

std::size_t characters_of(const std::vector<link::TokenLogprobs>& tokens) {
  std::size_t out = 0;
  for (const link::TokenLogprobs& one : tokens) out += characters(token_text(one.drawn.bytes));
  return out;
}

}  // namespace kw::openai_server
