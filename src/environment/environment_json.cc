#include "environment/environment_json.h"

#include <cmath>
#include <cstdint>
#include <type_traits>

namespace kw::environment {
namespace {

Result<double> finite(const Json& value, const std::string& where) {
  if (value.is_number() && std::isfinite(value.get<double>())) return value.get<double>();
  return fail(ErrorCode::kInvalidArgument, "{}: expected a finite number", where);
}

Result<RewardInterval> interval_from(const Json& value, const std::string& where) {
  if (!value.is_array() || value.size() != 2)
    return fail(ErrorCode::kInvalidArgument, "{}: expected two numbers", where);
  RewardInterval out;
  KW_TRY(out.low, finite(value[0], where));
  KW_TRY(out.high, finite(value[1], where));
  if (out.low > out.high) return fail(ErrorCode::kInvalidArgument, "{}: upside down", where);
  return out;
}

template <typename Number>
Result<std::vector<Number>> numbers_from(ObjectReader& reader, const char* key) {
  KW_TRY(const Json* list, reader.get(key));
  std::vector<Number> out;
  if (!list->is_array())
    return fail(ErrorCode::kInvalidArgument, "{}: expected a list", reader.path(key));
  for (const Json& one : *list) {
    const bool fits = std::is_integral_v<Number> ? one.is_number_integer() : one.is_number();
    if (!fits)
      return fail(ErrorCode::kInvalidArgument, "{}: {} does not belong there", reader.path(key),
                  one.dump());
    out.push_back(one.get<Number>());
  }
  return out;
}

}  // namespace

Json to_json(const Observation& observation) {
  return {{"messages", text::to_json(observation.messages)}, {"whole", observation.whole}};
}

Result<Observation> observation_from_json(const Json& value, const std::string& where) {
  KW_TRY(ObjectReader reader, ObjectReader::make(value, where));
  Observation out;
  KW_TRY(const Json* messages, reader.get("messages"));
  KW_TRY(out.messages, text::chat_messages_from_json(*messages, reader.path("messages"),
                                                     text::OtherKeys::kRefused));
  KW_TRY(out.whole, reader.boolean("whole"));
  KW_TRY_STATUS(reader.no_other_keys());
  return out;
}

Json to_json(const Answer& answer) {
  const Sampled& sampled = answer.sampled;
  Json out = {{"text", answer.text},
              {"finish", text::to_string(answer.finish)},
              {"tokens", sampled.tokens},
              {"logprobs", sampled.logprobs},
              {"versions", sampled.versions}};
  if (!sampled.cutoffs.empty()) out["cutoffs"] = sampled.cutoffs;
  return out;
}

Result<Answer> answer_from_json(const Json& value, const std::string& where) {
  KW_TRY(ObjectReader reader, ObjectReader::make(value, where));
  Answer out;
  KW_TRY(out.text, reader.string("text"));
  KW_TRY(const std::string finish, reader.string("finish"));
  const auto known = text::finish_from_string(finish);
  if (!known)
    return fail(ErrorCode::kInvalidArgument, "{}: unknown {:?}", reader.path("finish"), finish);
  out.finish = *known;
  KW_TRY(out.sampled.tokens, numbers_from<std::int32_t>(reader, "tokens"));
  KW_TRY(out.sampled.logprobs, numbers_from<float>(reader, "logprobs"));
  KW_TRY(out.sampled.versions, numbers_from<std::int32_t>(reader, "versions"));
  if (reader.has("cutoffs")) {
    KW_TRY(out.sampled.cutoffs, numbers_from<float>(reader, "cutoffs"));
  }
  KW_TRY_STATUS(reader.no_other_keys());
  return out;
}

void add_step_fields(Json& object, const Step& step) {
  object["reward"] = step.reward;
  if (step.interval) object["interval"] = {step.interval->low, step.interval->high};
  object["done"] = step.done;
  object["facts"] = step.facts;
  if (!step.done) object["next"] = to_json(step.next);
}

Result<Step> read_step_fields(ObjectReader& reader) {
  Step out;
  KW_TRY(const Json* reward, reader.get("reward"));
  KW_TRY(out.reward, finite(*reward, reader.path("reward")));
  if (const Json* interval = reader.find("interval")) {
    KW_TRY(out.interval, interval_from(*interval, reader.path("interval")));
  }
  KW_TRY(out.done, reader.boolean("done"));
  KW_TRY(const Json* facts, reader.get("facts"));
  out.facts = *facts;
  if (out.done) return out;
  KW_TRY(const Json* next, reader.get("next"));
  KW_TRY(out.next, observation_from_json(*next, reader.path("next")));
  return out;
}

}  // namespace kw::environment
