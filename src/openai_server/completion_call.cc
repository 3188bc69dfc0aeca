#include "openai_server/completion_call.h"

#include <algorithm>
#include <utility>

#include "base/text.h"

namespace kw::openai_server {
namespace {

constexpr int kMaxChoices = 128;
constexpr int kMaxTopLogprobs = 20;
constexpr std::size_t kMaxStops = 16, kMaxStopBytes = 1024;
constexpr std::int64_t kUsualMaxTokens = 16;  // of /v1/completions, as OpenAI has it

tl::unexpected<Error> wrong(const std::string& path, std::string_view expected) {
  return fail(ErrorCode::kInvalidArgument, "{}: expected {}", path, expected);
}

// Fields that would change what the answer means, with the values that do not.
struct Neutral {
  const char* field;
  std::vector<Json> values;
};
const std::vector<Neutral>& neutral_values() {
  static const std::vector<Neutral> all = {
      {"audio", {}},
      {"echo", {false}},
      {"frequency_penalty", {0}},
      {"function_call", {"none"}},
      {"functions", {Json::array()}},
      {"logit_bias", {Json::object()}},
      {"modalities", {Json::array({"text"})}},
      {"presence_penalty", {0}},
      {"repetition_penalty", {1}},
      {"response_format", {Json{{"type", "text"}}}},
      {"suffix", {""}},
      {"tool_choice", {"none", "auto"}},
      {"tools", {Json::array()}},
      {"web_search_options", {}},
  };
  return all;
}

ApiResult<void> refuse_unsupported(const Json& body) {
  for (const Neutral& one : neutral_values()) {
    auto found = body.find(one.field);
    if (found == body.end() || found->is_null()) continue;
    if (std::find(one.values.begin(), one.values.end(), *found) != one.values.end()) continue;
    return tl::unexpected(ApiFailure(400, fmt::format("{}: not supported here", one.field),
                                     one.field, "unsupported_parameter"));
  }
  return {};
}

Result<int> read_count(ObjectReader& reader, const char* field, int fallback, int least, int most) {
  KW_TRY(std::int64_t value, reader.integer_or(field, fallback));
  if (value < least || value > most)
    return wrong(reader.path(field), fmt::format("{} to {}, not {}", least, most, value));
  return static_cast<int>(value);
}

Result<double> read_share(ObjectReader& reader, const char* field, double fallback, double most) {
  KW_TRY(double value, reader.number_or(field, fallback));
  if (!(value >= 0) || value > most)
    return wrong(reader.path(field), fmt::format("0 to {}, not {}", most, value));
  return value;
}

Result<std::vector<std::string>> read_stops(ObjectReader& reader) {
  std::vector<std::string> out;
  const Json* value = reader.find("stop");
  if (value == nullptr) return out;
  if (value->is_string()) {
    out.push_back(value->get<std::string>());
  } else {
    KW_TRY(out, reader.strings_or_empty("stop"));
  }
  if (out.size() > kMaxStops)
    return wrong("stop", fmt::format("at most {} texts, not {}", kMaxStops, out.size()));
  for (const std::string& stop : out)
    if (stop.empty() || stop.size() > kMaxStopBytes)
      return wrong("stop", fmt::format("texts of 1 to {} bytes", kMaxStopBytes));
  return out;
}

Status read_stream(ObjectReader& reader, CompletionCall& call) {
  KW_TRY(call.stream, reader.boolean_or("stream", false));
  const Json* options = reader.find("stream_options");
  if (options == nullptr) return {};
  KW_TRY(ObjectReader of_options, ObjectReader::make(*options, "stream_options"));
  if (!call.stream) return wrong("stream_options", "\"stream\": true beside it");
  KW_TRY(call.include_usage, of_options.boolean_or("include_usage", false));
  return {};
}

// What both calls have, into `request`.
Status read_sampling(ObjectReader& reader, std::uint64_t fresh_seed,
                     link::GenerateRequest& request) {
  KW_TRY(request.n, read_count(reader, "n", 1, 1, kMaxChoices));
  KW_TRY(request.temperature, read_share(reader, "temperature", 1, 2));
  KW_TRY(request.top_p, read_share(reader, "top_p", 1, 1));
  if (request.top_p == 0) return wrong("top_p", "more than 0");
  KW_TRY(request.min_p, read_share(reader, "min_p", 0, 1));
  KW_TRY(request.top_k, reader.integer_or("top_k", 0));
  if (request.top_k == -1) request.top_k = 0;  // as vLLM writes "all"
  if (request.top_k < 0) return wrong("top_k", "0 or more");
  KW_TRY(request.stop, read_stops(reader));
  if (const Json* ids = reader.find("stop_token_ids")) {
    KW_TRY(request.stop_token_ids, link::read_token_ids(*ids, "stop_token_ids"));
  }
  KW_TRY(request.ignore_end, reader.boolean_or("ignore_eos", false));
  request.seed = fresh_seed;
  if (const Json* seed = reader.find("seed")) {
    if (!seed->is_number_integer()) return wrong("seed", "a whole number");
    // Negative ones too: any 64 bits are a seed.
    request.seed = seed->is_number_unsigned()
                       ? seed->get<std::uint64_t>()
                       : static_cast<std::uint64_t>(seed->get<std::int64_t>());
  }
  return {};
}

Result<std::int64_t> read_max_tokens(ObjectReader& reader, const char* field,
                                     std::int64_t fallback) {
  KW_TRY(std::int64_t value, reader.integer_or(field, fallback));
  if (value < 1) return wrong(reader.path(field), fmt::format("1 or more, not {}", value));
  return value;
}

ApiResult<void> check_model(ObjectReader& reader, const ServedModel& model) {
  KW_TRY(std::string name, reader.string("model"));
  if (name == model.name) return {};
  return tl::unexpected(ApiFailure(
      404,
      fmt::format("model: \"{}\" is not served here, but \"{}\"", printable(name, 200), model.name),
      "model", "model_not_found"));
}

// A message's content: text, or a list of parts that are text.
Result<std::string> read_content(ObjectReader& message) {
  KW_TRY(const Json* content, message.get("content"));
  if (!content->is_array()) return message.string("content");
  std::string out;
  for (std::size_t i = 0; i < content->size(); ++i) {
    const std::string where = fmt::format("{}[{}]", message.path("content"), i);
    KW_TRY(ObjectReader part, ObjectReader::make((*content)[i], where));
    KW_TRY(std::string type, part.string("type"));
    if (type != "text") return wrong(part.path("type"), "\"text\": the model reads nothing else");
    KW_TRY(std::string text, part.string("text"));
    out += text;
  }
  return out;
}

Result<std::vector<text::ChatMessage>> read_messages(ObjectReader& reader) {
  KW_TRY(const Json* list, reader.get("messages"));
  if (!list->is_array() || list->empty()) return wrong("messages", "a list of messages");
  std::vector<text::ChatMessage> out;
  for (const Json& item : *list) {
    const std::string where = fmt::format("messages[{}]", out.size());
    KW_TRY(ObjectReader message, ObjectReader::make(item, where));
    text::ChatMessage one;
    KW_TRY(one.role, message.string("role"));
    if (one.role == "developer") one.role = "system";  // OpenAI's newer name
    if (one.role != "system" && one.role != "user" && one.role != "assistant")
      return wrong(message.path("role"), "system, developer, user or assistant");
    if (const Json* calls = message.find("tool_calls"); calls != nullptr && !calls->empty())
      return wrong(message.path("tool_calls"), "none: tools are not supported here");
    KW_TRY(one.content, read_content(message));
    out.push_back(std::move(one));
  }
  return out;
}

bool is_token_list(const Json& value) {
  return value.is_array() && !value.empty() && value.front().is_number();
}

Result<std::vector<link::GenerateRequest>> read_prompts(ObjectReader& reader,
                                                        const link::GenerateRequest& settings) {
  KW_TRY(const Json* value, reader.get("prompt"));
  const bool one = value->is_string() || is_token_list(*value);
  if (!one && (!value->is_array() || value->empty()))
    return wrong("prompt", "a text, a list of token ids, or a list of these");
  std::vector<link::GenerateRequest> out;
  for (std::size_t i = 0; i < (one ? 1 : value->size()); ++i) {
    const Json& prompt = one ? *value : (*value)[i];
    link::GenerateRequest request = settings;
    if (prompt.is_string()) {
      request.prompt = prompt.get<std::string>();
    } else {
      KW_TRY(request.prompt,
             link::read_token_ids(prompt, one ? "prompt" : fmt::format("prompt[{}]", i)));
    }
    // Equal prompts of one call get different answers.
    request.first_sequence = i * static_cast<std::uint64_t>(request.n);
    out.push_back(std::move(request));
  }
  return out;
}

// "logprobs": 0 to 5 there, the number of likeliest tokens beside each.
Status read_completion_logprobs(ObjectReader& reader, link::GenerateRequest& request) {
  const Json* value = reader.find("logprobs");
  if (value == nullptr || *value == false) return {};
  request.logprobs = true;
  KW_TRY(request.top_logprobs, read_count(reader, "logprobs", 0, 0, kMaxTopLogprobs));
  return {};
}

Status read_chat_logprobs(ObjectReader& reader, link::GenerateRequest& request) {
  KW_TRY(request.logprobs, reader.boolean_or("logprobs", false));
  KW_TRY(request.top_logprobs, read_count(reader, "top_logprobs", 0, 0, kMaxTopLogprobs));
  if (request.top_logprobs > 0 && !request.logprobs)
    return wrong("top_logprobs", "\"logprobs\": true beside it");
  return {};
}

Status read_template_settings(ObjectReader& reader, link::GenerateRequest& request) {
  KW_TRY(request.continue_final, reader.boolean_or("continue_final_message", false));
  const Json* value = reader.find("chat_template_kwargs");
  if (value == nullptr) return {};
  KW_TRY(request.template_arguments, link::read_template_arguments(*value, "chat_template_kwargs"));
  return {};
}

Status read_best_of(ObjectReader& reader, int n) {
  KW_TRY(std::int64_t best_of, reader.integer_or("best_of", n));
  if (best_of != n) return wrong("best_of", "as many as \"n\"");
  return {};
}

Status read_both(ObjectReader& reader, std::uint64_t fresh_seed, CompletionCall& call,
                 link::GenerateRequest& request) {
  KW_TRY_STATUS(read_stream(reader, call));
  KW_TRY(call.return_token_ids, reader.boolean_or("return_token_ids", false));
  return read_sampling(reader, fresh_seed, request);
}

}  // namespace

ApiFailure::ApiFailure(const Error& error) : message(error.message()) {
  status = http_status(error.code());
  const std::string path = message.substr(0, message.find(": "));
  if (path.size() < message.size() && path.find(' ') == std::string::npos) param = path;
}

ApiResult<CompletionCall> read_completion_call(const Json& body, const ServedModel& model,
                                               std::uint64_t fresh_seed) {
  KW_TRY(ObjectReader reader, ObjectReader::make(body, "request body"));
  // Paths are those of the client's own fields.
  KW_TRY(reader, ObjectReader::make(body, ""));
  KW_TRY_STATUS(check_model(reader, model));
  KW_TRY_STATUS(refuse_unsupported(body));
  CompletionCall call;
  link::GenerateRequest request;
  KW_TRY_STATUS(read_both(reader, fresh_seed, call, request));
  KW_TRY(request.max_tokens, read_max_tokens(reader, "max_tokens", kUsualMaxTokens));
  KW_TRY_STATUS(read_completion_logprobs(reader, request));
  KW_TRY_STATUS(read_best_of(reader, request.n));
  KW_TRY(call.prompts, read_prompts(reader, request));
  return call;
}

ApiResult<CompletionCall> read_chat_call(const Json& body, const ServedModel& model,
                                         std::uint64_t fresh_seed) {
  KW_TRY(ObjectReader reader, ObjectReader::make(body, "request body"));
  KW_TRY(reader, ObjectReader::make(body, ""));
  KW_TRY_STATUS(check_model(reader, model));
  KW_TRY_STATUS(refuse_unsupported(body));
  CompletionCall call;
  call.chat = true;
  link::GenerateRequest request;
  KW_TRY_STATUS(read_both(reader, fresh_seed, call, request));
  // Without one an answer may fill the context.
  KW_TRY(request.max_tokens, read_max_tokens(reader, "max_tokens", model.context));
  KW_TRY(request.max_tokens, read_max_tokens(reader, "max_completion_tokens", request.max_tokens));
  KW_TRY_STATUS(read_chat_logprobs(reader, request));
  KW_TRY_STATUS(read_template_settings(reader, request));
  KW_TRY(request.prompt, read_messages(reader));
  call.prompts.push_back(std::move(request));
  return call;
}

}  // namespace kw::openai_server
