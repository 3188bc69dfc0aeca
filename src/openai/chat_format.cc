#include "openai/chat_format.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/text.h"

namespace kw::openai {
namespace {

constexpr int kMaxChoices = 128;

tl::unexpected<ReadFailure> malformed(std::string message) {
  return tl::unexpected(ReadFailure{Outcome::kMalformed, std::move(message)});
}

Status check_number(const char* field, const std::optional<double>& value, double most) {
  if (value && !(*value >= 0 && *value <= most))
    return fail(ErrorCode::kInvalidArgument, "{}: expected 0 to {}, not {}", field, most, *value);
  return {};
}

Status check_text(const std::string& where, const std::string& text) {
  if (!is_valid_utf8(text)) return fail(ErrorCode::kInvalidArgument, "{}: not UTF-8", where);
  return {};
}

Status check_request(const ChatRequest& request) {
  if (request.model.empty()) return fail(ErrorCode::kInvalidArgument, "model: missing");
  if (request.messages.empty()) return fail(ErrorCode::kInvalidArgument, "messages: none");
  KW_TRY_STATUS(check_text("model", request.model));
  for (std::size_t i = 0; i < request.messages.size(); ++i) {
    KW_TRY_STATUS(check_text(fmt::format("messages[{}].role", i), request.messages[i].role));
    KW_TRY_STATUS(check_text(fmt::format("messages[{}].content", i), request.messages[i].content));
  }
  for (const std::string& stop : request.stop) KW_TRY_STATUS(check_text("stop", stop));
  if (request.n < 1 || request.n > kMaxChoices)
    return fail(ErrorCode::kInvalidArgument, "n: expected 1 to {}, not {}", kMaxChoices, request.n);
  if (request.max_tokens < 1)
    return fail(ErrorCode::kInvalidArgument, "max_tokens: expected 1 or more, not {}",
                request.max_tokens);
  KW_TRY_STATUS(check_number("temperature", request.temperature, 2));
  KW_TRY_STATUS(check_number("top_p", request.top_p, 1));
  if (!request.extra.is_object())
    return fail(ErrorCode::kInvalidArgument, "extra: expected an object of fields");
  return {};
}

// The text of a field that is text or a list of parts; parts without text are passed over.
ReadResult<std::string> read_content(const Json& value) {
  if (value.is_null()) return std::string();
  if (value.is_string()) return value.get<std::string>();
  if (!value.is_array()) return malformed("a message's content is neither text nor parts");
  std::string out;
  for (const Json& part : value) {
    if (!part.is_object()) return malformed("a part of a message's content is no object");
    out += string_or_empty(part, "text");
  }
  return out;
}

// A count that a server may write as 12 or 12.0; nothing for what is no count.
std::optional<std::int64_t> read_count(const Json& object, const char* key) {
  auto found = object.find(key);
  if (found == object.end() || !found->is_number()) return std::nullopt;
  constexpr double kMax = 1e12;
  const double value = found->get<double>();
  if (!(value >= 0 && value <= kMax) || std::floor(value) != value) return std::nullopt;
  return static_cast<std::int64_t>(value);
}

int read_status(const Json& object) {
  for (const char* key : {"code", "status", "status_code"}) {
    auto found = object.find(key);
    if (found == object.end()) continue;
    if (found->is_number_integer()) {
      const auto status = found->get<std::int64_t>();
      if (status >= 400 && status <= 599) return static_cast<int>(status);
    } else if (found->is_string()) {
      const auto& text = found->get_ref<const std::string&>();
      if (text.size() == 3 && (text[0] == '4' || text[0] == '5') && is_digit(text[1]) &&
          is_digit(text[2]))
        return std::stoi(text);
    }
  }
  return 0;
}

ServerError error_from(const Json& value) {
  ServerError out;
  if (value.is_string()) {
    out.message = value.get<std::string>();
  } else if (value.is_object()) {
    out.status = read_status(value);
    out.code = string_or_empty(value, "code");
    out.type = string_or_empty(value, "type");
    out.message = string_or_empty(value, "message");
  }
  if (out.message.empty()) out.message = value.dump(-1, ' ', false, Json::error_handler_t::replace);
  return out;
}

// Where an error is in an object, or nullptr.
const Json* find_error(const Json& object) {
  auto found = object.find("error");
  return found == object.end() || found->is_null() ? nullptr : &*found;
}

ReadResult<Choice> read_choice(const Json& value, int position) {
  if (!value.is_object()) return malformed("a choice is no object");
  Choice out;
  KW_TRY(out.index, read_index(value, position));
  auto message = value.find("message");
  if (message == value.end() || !message->is_object()) return malformed("a choice has no message");
  KW_TRY(MessageText text, read_message(*message));
  out.text = std::move(text.text);
  out.reasoning = std::move(text.reasoning);
  out.finish_reason = string_or_empty(value, "finish_reason");
  return out;
}

}  // namespace

Result<std::string> request_body(const ChatRequest& request, bool max_completion_tokens) {
  KW_TRY_STATUS(check_request(request));
  Json body = {{"model", request.model}};
  body["messages"] = Json::array();
  for (const text::ChatMessage& message : request.messages)
    body["messages"].push_back({{"role", message.role}, {"content", message.content}});
  body[max_completion_tokens ? "max_completion_tokens" : "max_tokens"] = request.max_tokens;
  if (request.temperature) body["temperature"] = *request.temperature;
  if (request.top_p) body["top_p"] = *request.top_p;
  if (request.seed) body["seed"] = *request.seed;
  if (!request.stop.empty()) body["stop"] = request.stop;
  if (request.n != 1) body["n"] = request.n;
  if (request.stream) {
    body["stream"] = true;
    body["stream_options"] = {{"include_usage", true}};
  }
  for (const auto& [key, value] : request.extra.items()) {
    if (value.is_null()) {
      body.erase(key);
    } else {
      body[key] = value;
    }
  }
  return body.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string string_or_empty(const Json& object, const char* key) {
  auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

ServerError read_error(std::string_view body) {
  auto parsed = parse_json(body);
  if (parsed && parsed->is_object()) {
    if (const Json* error = find_error(*parsed)) return error_from(*error);
    if (auto detail = parsed->find("detail"); detail != parsed->end()) return error_from(*detail);
    return error_from(*parsed);
  }
  ServerError out;
  out.message = std::string(trim(body));
  return out;
}

Outcome outcome_of(int status, const ServerError& error) {
  if (status == 0) status = error.status;
  // OpenAI: a quota that is used up comes as 429, and no waiting helps.
  const bool no_quota = error.code == "insufficient_quota" || error.type == "insufficient_quota";
  if (no_quota) return Outcome::kRefused;
  if (status == 429) return Outcome::kRateLimited;
  if (status == 501 || status == 505) return Outcome::kRefused;
  if (status == 0 || status >= 500) return Outcome::kServerError;
  if (status >= 400) return Outcome::kRefused;
  return status >= 300 ? Outcome::kRedirected : Outcome::kMalformed;
}

ReadResult<Json> read_body(std::string_view body) {
  auto parsed = parse_json(body);
  if (!parsed) return malformed("no JSON: " + parsed.error().message());
  if (!parsed->is_object()) return malformed("the JSON is no object");
  if (const Json* error = find_error(*parsed)) {
    ServerError said = error_from(*error);
    return tl::unexpected(ReadFailure{outcome_of(0, said), std::move(said.message)});
  }
  return std::move(*parsed);
}

ReadResult<int> read_index(const Json& choice, int fallback) {
  auto found = choice.find("index");
  if (found == choice.end() || found->is_null()) return fallback;
  if (!found->is_number_integer()) return malformed("a choice's index is no whole number");
  const auto index = found->get<std::int64_t>();
  if (index < 0 || index > kMaxIndex)
    return malformed(fmt::format("a choice's index is {}", index));
  return static_cast<int>(index);
}

ReadResult<MessageText> read_message(const Json& message) {
  MessageText out;
  if (auto content = message.find("content"); content != message.end()) {
    KW_TRY(out.text, read_content(*content));
  }
  out.reasoning = string_or_empty(message, "reasoning_content");
  if (out.reasoning.empty()) out.reasoning = string_or_empty(message, "reasoning");
  return out;
}

void read_usage(const Json& body, std::optional<text::Usage>& usage) {
  auto found = body.find("usage");
  if (found == body.end() || !found->is_object()) return;
  auto prompt = read_count(*found, "prompt_tokens");
  auto completion = read_count(*found, "completion_tokens");
  if (!prompt || !completion) return;
  usage = text::Usage{.prompt_tokens = *prompt, .completion_tokens = *completion};
  auto details = found->find("prompt_tokens_details");
  if (details == found->end() || !details->is_object()) return;
  usage->cached_tokens = std::min(read_count(*details, "cached_tokens").value_or(0), *prompt);
}

ReadResult<AnswerParts> read_answer(std::string_view body) {
  KW_TRY(Json answer, read_body(body));
  auto choices = answer.find("choices");
  if (choices == answer.end() || !choices->is_array() || choices->empty())
    return malformed("the answer has no choices");
  AnswerParts out;
  for (const Json& value : *choices) {
    KW_TRY(Choice choice, read_choice(value, static_cast<int>(out.choices.size())));
    out.choices.push_back(std::move(choice));
  }
  std::sort(out.choices.begin(), out.choices.end(),
            [](const Choice& a, const Choice& b) { return a.index < b.index; });
  for (std::size_t i = 1; i < out.choices.size(); ++i)
    if (out.choices[i].index == out.choices[i - 1].index)
      return malformed(fmt::format("two choices have the index {}", out.choices[i].index));
  read_usage(answer, out.usage);
  out.id = string_or_empty(answer, "id");
  out.model = string_or_empty(answer, "model");
  return out;
}

ReadResult<std::vector<std::string>> read_models(std::string_view body) {
  KW_TRY(Json answer, read_body(body));
  auto data = answer.find("data");
  if (data == answer.end() || !data->is_array()) return malformed("no list of models");
  std::vector<std::string> out;
  for (const Json& model : *data) {
    std::string name = model.is_object() ? string_or_empty(model, "id") : std::string();
    if (!name.empty()) out.push_back(std::move(name));
  }
  return out;
}

}  // namespace kw::openai
