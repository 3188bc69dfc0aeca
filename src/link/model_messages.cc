#include "link/model_messages.h"

#include <array>

namespace kw::link {
namespace {

constexpr std::string_view kContextLengthName = "context_length";

template <typename... Writers>
struct Overloaded : Writers... {
  using Writers::operator()...;
};

std::string to_hex(std::string_view bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string out;
  for (char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    out += kDigits[byte >> 4U];
    out += kDigits[byte & 15U];
  }
  return out;
}

Result<std::string> from_hex(std::string_view digits, const std::string& where) {
  auto value_of = [](char c) {
    if (c >= '0' && c <= '9') return c - '0';
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
  };
  std::string out;
  for (std::size_t i = 0; i + 1 < digits.size() && digits.size() % 2 == 0; i += 2) {
    const int high = value_of(digits[i]), low = value_of(digits[i + 1]);
    if (high < 0 || low < 0) break;
    out += static_cast<char>(high * 16 + low);
  }
  if (out.size() * 2 != digits.size())
    return fail(ErrorCode::kInvalidArgument, "{}: expected hexadecimal digits", where);
  return out;
}

// [token, logprob, bytes]
Json report_json(const TokenReport& report) {
  return Json::array({report.token, report.logprob, to_hex(report.bytes)});
}

Result<TokenReport> read_report(const Json& value, const std::string& where) {
  if (!value.is_array() || value.size() != 3 || !value[1].is_number() || !value[2].is_string())
    return fail(ErrorCode::kInvalidArgument, "{}: expected token, logprob and bytes", where);
  TokenReport out;
  KW_TRY(std::vector<std::int32_t> token, read_token_ids(Json::array({value[0]}), where));
  out.token = token.front();
  out.logprob = value[1].get<double>();
  KW_TRY(out.bytes, from_hex(value[2].get_ref<const std::string&>(), where));
  return out;
}

Json logprobs_json(const std::vector<TokenLogprobs>& logprobs) {
  Json out = Json::array();
  for (const TokenLogprobs& one : logprobs) {
    Json list = Json::array({report_json(one.drawn)});
    for (const TokenReport& report : one.top) list.push_back(report_json(report));
    out.push_back(std::move(list));
  }
  return out;
}

Result<std::vector<TokenLogprobs>> read_logprobs(const Json& value, const std::string& where) {
  std::vector<TokenLogprobs> out;
  if (!value.is_array()) return fail(ErrorCode::kInvalidArgument, "{}: expected a list", where);
  for (const Json& list : value) {
    if (!list.is_array() || list.empty())
      return fail(ErrorCode::kInvalidArgument, "{}: expected lists of tokens", where);
    TokenLogprobs one;
    KW_TRY(one.drawn, read_report(list[0], where));
    for (std::size_t i = 1; i < list.size(); ++i) {
      KW_TRY(TokenReport report, read_report(list[i], where));
      one.top.push_back(std::move(report));
    }
    out.push_back(std::move(one));
  }
  return out;
}

Result<RequestId> read_id(ObjectReader& reader, RequestId least = 1) {
  KW_TRY(const Json* value, reader.get("id"));
  if (!value->is_number_unsigned() || value->get<RequestId>() < least)
    return fail(ErrorCode::kInvalidArgument, "id: expected a whole number from {}", least);
  return value->get<RequestId>();
}

Result<Part> read_part(ObjectReader& reader) {
  Part out;
  KW_TRY(out.id, read_id(reader));
  KW_TRY(std::int64_t choice, reader.integer("choice"));
  if (choice < 0 || choice >= kMaxAnswers)
    return fail(ErrorCode::kInvalidArgument, "choice: expected 0 to {}", kMaxAnswers - 1);
  out.choice = static_cast<int>(choice);
  KW_TRY(out.text, reader.string("text"));
  KW_TRY(const Json* tokens, reader.get("tokens"));
  KW_TRY(out.tokens, read_token_ids(*tokens, "tokens"));
  if (const Json* logprobs = reader.find("logprobs")) {
    KW_TRY(out.logprobs, read_logprobs(*logprobs, "logprobs"));
  }
  if (reader.find("finish") != nullptr) {
    KW_TRY(std::string name, reader.string("finish"));
    out.finish = text::finish_from_string(name);
    if (!out.finish || *out.finish == text::Finish::kContext ||
        *out.finish == text::Finish::kRefused)
      return fail(ErrorCode::kInvalidArgument, "finish: unknown");
  }
  return out;
}

Result<ErrorCode> read_code(ObjectReader& reader) {
  KW_TRY(std::string name, reader.string("code"));
  for (int i = 0; i <= static_cast<int>(ErrorCode::kInternal); ++i)
    if (to_string(static_cast<ErrorCode>(i)) == name) return static_cast<ErrorCode>(i);
  return fail(ErrorCode::kInvalidArgument, "code: unknown");
}

Result<Failed> read_failed(ObjectReader& reader) {
  Failed out;
  KW_TRY(out.id, read_id(reader, 0));
  KW_TRY(out.code, read_code(reader));
  KW_TRY(out.message, reader.string("message"));
  KW_TRY(std::string reason, reader.string_or("reason", ""));
  if (!reason.empty() && reason != kContextLengthName)
    return fail(ErrorCode::kInvalidArgument, "reason: unknown");
  if (!reason.empty()) out.reason = FailureReason::kContextLength;
  return out;
}

Result<Welcome> read_welcome(ObjectReader& reader) {
  Welcome out;
  KW_TRY(out.protocol, reader.integer("protocol"));
  KW_TRY(const Json* value, reader.get("model"));
  KW_TRY(ObjectReader model, ObjectReader::make(*value, "model"));
  KW_TRY(out.model.family, model.string("family"));
  KW_TRY(out.model.dtype, model.string("dtype"));
  KW_TRY(out.model.device, model.string("device"));
  KW_TRY(out.model.parameters, model.integer("parameters"));
  KW_TRY(out.model.vocabulary, model.integer("vocabulary"));
  KW_TRY(out.model.context, model.integer("context"));
  KW_TRY(out.model.slots, model.integer("slots"));
  KW_TRY_STATUS(model.no_other_keys());
  return out;
}

Result<Statistics> read_statistics(ObjectReader& reader) {
  Statistics out;
  KW_TRY(out.id, read_id(reader));
  KW_TRY(out.slots, reader.integer("slots"));
  KW_TRY(out.running, reader.integer("running"));
  KW_TRY(out.waiting, reader.integer("waiting"));
  KW_TRY(out.steps, reader.integer("steps"));
  KW_TRY(out.prompt_tokens, reader.integer("prompt_tokens"));
  KW_TRY(out.sampled_tokens, reader.integer("sampled_tokens"));
  KW_TRY(out.copied_tokens, reader.integer("copied_tokens"));
  return out;
}

Result<FrontMessage> read_front(ObjectReader& reader, const std::string& type) {
  if (type == "hello") {
    Hello out;
    KW_TRY(out.protocol, reader.integer("protocol"));
    return FrontMessage(out);
  }
  if (type == "generate") {
    Generate out;
    KW_TRY(out.id, read_id(reader));
    KW_TRY(const Json* request, reader.get("request"));
    KW_TRY(out.request, generate_request_from_json(*request, "request"));
    return FrontMessage(std::move(out));
  }
  if (type == "cancel") {
    KW_TRY(RequestId id, read_id(reader));
    return FrontMessage(Cancel{id});
  }
  if (type == "statistics") {
    KW_TRY(RequestId id, read_id(reader));
    return FrontMessage(StatisticsRequest{id});
  }
  return fail(ErrorCode::kInvalidArgument, "type: not one that a front program sends");
}

Result<EngineMessage> read_engine(ObjectReader& reader, const std::string& type) {
  if (type == "part") {  // nearly all messages are
    KW_TRY(Part out, read_part(reader));
    return EngineMessage(std::move(out));
  }
  if (type == "welcome") {
    KW_TRY(Welcome out, read_welcome(reader));
    return EngineMessage(std::move(out));
  }
  if (type == "accepted") {
    Accepted out;
    KW_TRY(out.id, read_id(reader));
    KW_TRY(out.prompt_tokens, reader.integer("prompt_tokens"));
    return EngineMessage(out);
  }
  if (type == "done") {
    Done out;
    KW_TRY(out.id, read_id(reader));
    KW_TRY(out.prompt_tokens, reader.integer("prompt_tokens"));
    KW_TRY(out.sampled_tokens, reader.integer("sampled_tokens"));
    return EngineMessage(out);
  }
  if (type == "failed") {
    KW_TRY(Failed out, read_failed(reader));
    return EngineMessage(std::move(out));
  }
  if (type == "statistics") {
    KW_TRY(Statistics out, read_statistics(reader));
    return EngineMessage(out);
  }
  return fail(ErrorCode::kInvalidArgument, "type: not one that an engine sends");
}

Json part_json(const Part& part) {
  Json out = {{"type", "part"},
              {"id", part.id},
              {"choice", part.choice},
              {"text", part.text},
              {"tokens", part.tokens}};
  if (!part.logprobs.empty()) out["logprobs"] = logprobs_json(part.logprobs);
  if (part.finish) out["finish"] = to_string(*part.finish);
  return out;
}

}  // namespace

Json to_json(const FrontMessage& message) {
  return std::visit(
      Overloaded{
          [](const Hello& hello) { return Json{{"type", "hello"}, {"protocol", hello.protocol}}; },
          [](const Generate& generate) {
            return Json{
                {"type", "generate"}, {"id", generate.id}, {"request", to_json(generate.request)}};
          },
          [](const Cancel& cancel) { return Json{{"type", "cancel"}, {"id", cancel.id}}; },
          [](const StatisticsRequest& request) {
            return Json{{"type", "statistics"}, {"id", request.id}};
          }},
      message);
}

Json to_json(const EngineMessage& message) {
  return std::visit(Overloaded{[](const Part& part) { return part_json(part); },
                               [](const Welcome& welcome) {
                                 const ModelInfo& model = welcome.model;
                                 return Json{{"type", "welcome"},
                                             {"protocol", welcome.protocol},
                                             {"model",
                                              {{"family", model.family},
                                               {"dtype", model.dtype},
                                               {"device", model.device},
                                               {"parameters", model.parameters},
                                               {"vocabulary", model.vocabulary},
                                               {"context", model.context},
                                               {"slots", model.slots}}}};
                               },
                               [](const Accepted& accepted) {
                                 return Json{{"type", "accepted"},
                                             {"id", accepted.id},
                                             {"prompt_tokens", accepted.prompt_tokens}};
                               },
                               [](const Done& done) {
                                 return Json{{"type", "done"},
                                             {"id", done.id},
                                             {"prompt_tokens", done.prompt_tokens},
                                             {"sampled_tokens", done.sampled_tokens}};
                               },
                               [](const Failed& failed) {
                                 Json out = {{"type", "failed"},
                                             {"id", failed.id},
                                             {"code", to_string(failed.code)},
                                             {"message", failed.message}};
                                 if (failed.reason == FailureReason::kContextLength)
                                   out["reason"] = kContextLengthName;
                                 return out;
                               },
                               [](const Statistics& statistics) {
                                 return Json{{"type", "statistics"},
                                             {"id", statistics.id},
                                             {"slots", statistics.slots},
                                             {"running", statistics.running},
                                             {"waiting", statistics.waiting},
                                             {"steps", statistics.steps},
                                             {"prompt_tokens", statistics.prompt_tokens},
                                             {"sampled_tokens", statistics.sampled_tokens},
                                             {"copied_tokens", statistics.copied_tokens}};
                               }},
                    message);
}

Result<FrontMessage> front_message_from_json(const Json& value) {
  KW_TRY(ObjectReader reader, ObjectReader::make(value, ""));
  KW_TRY(std::string type, reader.string("type"));
  KW_TRY(FrontMessage out, read_front(reader, type));
  KW_TRY_STATUS(reader.no_other_keys());
  return out;
}

Result<EngineMessage> engine_message_from_json(const Json& value) {
  KW_TRY(ObjectReader reader, ObjectReader::make(value, ""));
  KW_TRY(std::string type, reader.string("type"));
  KW_TRY(EngineMessage out, read_engine(reader, type));
  KW_TRY_STATUS(reader.no_other_keys());
  return out;
}

}  // namespace kw::link
