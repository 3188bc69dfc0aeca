#include "link/generate_request.h"

#include <algorithm>
#include <array>
#include <limits>

#include "base/text.h"

namespace kw::link {

Result<std::vector<std::int32_t>> read_token_ids(const Json& value, const std::string& where) {
  auto wrong = [&] {
    return fail(ErrorCode::kInvalidArgument, "{}: expected a list of token ids", where);
  };
  if (!value.is_array()) return wrong();
  std::vector<std::int32_t> out;
  out.reserve(value.size());
  for (const Json& one : value) {
    if (!one.is_number_integer()) return wrong();
    // A number over 2^63 is negative here.
    const auto id = one.get<std::int64_t>();
    if (id < 0 || id > std::numeric_limits<std::int32_t>::max()) return wrong();
    out.push_back(static_cast<std::int32_t>(id));
  }
  return out;
}

namespace {

Status read_whole_number(ObjectReader& reader, const char* key, std::uint64_t& out) {
  const Json* value = reader.find(key);
  if (value == nullptr) return {};
  if (!value->is_number_unsigned())
    return fail(ErrorCode::kInvalidArgument, "{}: expected a whole number from 0",
                reader.path(key));
  out = value->get<std::uint64_t>();
  return {};
}

Status read_count(ObjectReader& reader, const char* key, int least, int most, int& out) {
  KW_TRY(std::int64_t value, reader.integer_or(key, out));
  if (value < least || value > most)
    return fail(ErrorCode::kInvalidArgument, "{}: expected {} to {}, not {}", reader.path(key),
                least, most, value);
  out = static_cast<int>(value);
  return {};
}

}  // namespace

Result<Json> read_template_arguments(const Json& value, const std::string& where) {
  constexpr std::size_t kMaxArguments = 32;
  constexpr std::array<std::string_view, 4> kTaken = {"messages", "tools", "documents",
                                                      "add_generation_prompt"};
  if (!value.is_object() || value.size() > kMaxArguments)
    return fail(ErrorCode::kInvalidArgument, "{}: expected an object of at most {} values", where,
                kMaxArguments);
  for (const auto& [name, item] : value.items()) {
    if (std::find(kTaken.begin(), kTaken.end(), name) != kTaken.end())
      return fail(ErrorCode::kInvalidArgument, "{}.{}: is not to be given", where, name);
    if (item.is_structured())
      return fail(ErrorCode::kInvalidArgument, "{}.{}: expected a text, a number or a boolean",
                  where, printable(name, 40));
  }
  return value;
}

Status read_prompt(ObjectReader& reader, GenerateRequest& request) {
  const Json *prompt = reader.find("prompt"), *messages = reader.find("messages"),
             *tokens = reader.find("token_ids");
  if ((prompt != nullptr) + (messages != nullptr) + (tokens != nullptr) != 1)
    return fail(ErrorCode::kInvalidArgument,
                "{}: expected one of \"prompt\", \"messages\" and \"token_ids\"",
                reader.where().empty() ? "request" : reader.where());
  if (prompt != nullptr) {
    KW_TRY(request.prompt, reader.string("prompt"));
  } else if (messages != nullptr) {
    KW_TRY(request.prompt, text::chat_messages_from_json(*messages, reader.path("messages"),
                                                         text::OtherKeys::kRefused));
  } else {
    KW_TRY(request.prompt, read_token_ids(*tokens, reader.path("token_ids")));
  }
  return {};
}

Status read_settings(ObjectReader& reader, GenerateRequest& request) {
  constexpr int kMaxTop = 1000;  // a bound for memory; what the engine gives is less
  KW_TRY(request.continue_final, reader.boolean_or("continue_final", request.continue_final));
  if (const Json* given = reader.find("template_arguments")) {
    KW_TRY(request.template_arguments,
           read_template_arguments(*given, reader.path("template_arguments")));
  }
  if (reader.find("enable_thinking") != nullptr) {
    KW_TRY(request.template_arguments["enable_thinking"],
           reader.boolean_or("enable_thinking", true));
  }
  KW_TRY_STATUS(read_count(reader, "n", 1, kMaxAnswers, request.n));
  KW_TRY(request.temperature, reader.number_or("temperature", request.temperature));
  KW_TRY(request.top_p, reader.number_or("top_p", request.top_p));
  KW_TRY(request.top_k, reader.integer_or("top_k", request.top_k));
  KW_TRY(request.min_p, reader.number_or("min_p", request.min_p));
  KW_TRY(request.max_tokens, reader.integer_or("max_tokens", request.max_tokens));
  if (reader.find("stop") != nullptr) {
    KW_TRY(request.stop, reader.strings_or_empty("stop"));
  }
  if (const Json* ids = reader.find("stop_token_ids")) {
    KW_TRY(request.stop_token_ids, read_token_ids(*ids, reader.path("stop_token_ids")));
  }
  KW_TRY(request.ignore_end, reader.boolean_or("ignore_end", request.ignore_end));
  KW_TRY_STATUS(read_whole_number(reader, "seed", request.seed));
  KW_TRY_STATUS(read_whole_number(reader, "first_sequence", request.first_sequence));
  KW_TRY(request.logprobs, reader.boolean_or("logprobs", request.logprobs));
  return read_count(reader, "top_logprobs", 0, kMaxTop, request.top_logprobs);
}

Json settings_to_json(const GenerateRequest& request) {
  Json out = Json::object();
  out["continue_final"] = request.continue_final;
  out["template_arguments"] = request.template_arguments;
  out["n"] = request.n;
  out["temperature"] = request.temperature;
  out["top_p"] = request.top_p;
  out["top_k"] = request.top_k;
  out["min_p"] = request.min_p;
  out["max_tokens"] = request.max_tokens;
  out["stop"] = request.stop;
  out["stop_token_ids"] = request.stop_token_ids;
  out["ignore_end"] = request.ignore_end;
  out["seed"] = request.seed;
  out["first_sequence"] = request.first_sequence;
  out["logprobs"] = request.logprobs;
  out["top_logprobs"] = request.top_logprobs;
  return out;
}

Json to_json(const GenerateRequest& request) {
  Json out = Json::object();
  if (const auto* text = std::get_if<std::string>(&request.prompt)) {
    out["prompt"] = *text;
  } else if (const auto* messages = std::get_if<std::vector<text::ChatMessage>>(&request.prompt)) {
    out["messages"] = to_json(*messages);
  } else {
    out["token_ids"] = std::get<std::vector<std::int32_t>>(request.prompt);
  }
  out.update(settings_to_json(request));
  return out;
}

Result<GenerateRequest> generate_request_from_json(const Json& value, const std::string& where) {
  KW_TRY(ObjectReader reader, ObjectReader::make(value, where));
  GenerateRequest out;
  KW_TRY_STATUS(read_prompt(reader, out));
  KW_TRY_STATUS(read_settings(reader, out));
  KW_TRY_STATUS(reader.no_other_keys());
  return out;
}

}  // namespace kw::link
