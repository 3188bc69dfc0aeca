#include "environment_link/environment_messages.h"

#include <optional>
#include <string_view>

#include "environment/environment_json.h"

namespace kw::environment_link {
namespace {

template <typename... Writers>
struct Overloaded : Writers... {
  using Writers::operator()...;
};

Result<RequestId> read_id(ObjectReader& reader, const char* key = "id", RequestId least = 1) {
  KW_TRY(const Json* value, reader.get(key));
  if (!value->is_number_unsigned() || value->get<RequestId>() < least)
    return fail(ErrorCode::kInvalidArgument, "{}: expected a whole number from {}", key, least);
  return value->get<RequestId>();
}

Result<StepRequest> read_step(ObjectReader& reader) {
  StepRequest out;
  KW_TRY(out.id, read_id(reader));
  KW_TRY(out.episode, read_id(reader, "episode"));
  KW_TRY(out.turn, reader.integer("turn"));
  KW_TRY(out.text, reader.string("text"));
  KW_TRY(const std::string finish, reader.string("finish"));
  const auto known = text::finish_from_string(finish);
  if (!known) return fail(ErrorCode::kInvalidArgument, "finish: unknown");
  out.finish = *known;
  return out;
}

Result<TrainerMessage> read_trainer(ObjectReader& reader, const std::string& type) {
  if (type == "step") {
    KW_TRY(StepRequest out, read_step(reader));
    return TrainerMessage(std::move(out));
  }
  if (type == "begin") {
    Begin out;
    KW_TRY(out.id, read_id(reader));
    KW_TRY(out.task, reader.string("task"));
    return TrainerMessage(std::move(out));
  }
  if (type == "end") {
    KW_TRY(const RequestId episode, read_id(reader, "episode"));
    return TrainerMessage(End{episode});
  }
  if (type == "cancel") {
    KW_TRY(const RequestId id, read_id(reader));
    return TrainerMessage(Cancel{id});
  }
  if (type == "paused") return TrainerMessage(Paused{});
  if (type == "hello") {
    Hello out;
    KW_TRY(out.protocol, reader.integer("protocol"));
    KW_TRY(const Json* settings, reader.get("settings"));
    out.settings = *settings;
    return TrainerMessage(std::move(out));
  }
  return fail(ErrorCode::kInvalidArgument, "type: not one that a trainer sends");
}

// The version of a message that begins a conversation, where it is not ours: the rest of such a
// message may be anything.
Result<std::optional<std::int64_t>> other_protocol(ObjectReader& reader, const std::string& type,
                                                   std::string_view beginning) {
  if (type != beginning) return std::optional<std::int64_t>();
  KW_TRY(const std::int64_t protocol, reader.integer("protocol"));
  if (protocol == kEnvironmentProtocol) return std::optional<std::int64_t>();
  return std::optional(protocol);
}

Result<ErrorCode> read_code(ObjectReader& reader) {
  KW_TRY(const std::string name, reader.string("code"));
  for (int i = 0; i <= static_cast<int>(ErrorCode::kInternal); ++i)
    if (kw::to_string(static_cast<ErrorCode>(i)) == name) return static_cast<ErrorCode>(i);
  return fail(ErrorCode::kInvalidArgument, "code: unknown");
}

Result<EnvironmentMessage> read_environment(ObjectReader& reader, const std::string& type) {
  if (type == "stepped") {
    Stepped out;
    KW_TRY(out.id, read_id(reader));
    KW_TRY(out.step, environment::read_step_fields(reader));
    return EnvironmentMessage(std::move(out));
  }
  if (type == "began") {
    Began out;
    KW_TRY(out.id, read_id(reader));
    KW_TRY(const Json* observation, reader.get("observation"));
    KW_TRY(out.observation, environment::observation_from_json(*observation, "observation"));
    return EnvironmentMessage(std::move(out));
  }
  if (type == "failed") {
    Failed out;
    KW_TRY(out.id, read_id(reader, "id", 0));
    KW_TRY(out.code, read_code(reader));
    KW_TRY(out.message, reader.string("message"));
    return EnvironmentMessage(std::move(out));
  }
  if (type == "pause") return EnvironmentMessage(Pause{});
  if (type == "resume") return EnvironmentMessage(Resume{});
  if (type == "welcome") {
    Welcome out;
    KW_TRY(out.protocol, reader.integer("protocol"));
    KW_TRY(out.tasks, reader.strings_or_empty("tasks"));
    KW_TRY(out.about, reader.string("about"));
    return EnvironmentMessage(std::move(out));
  }
  return fail(ErrorCode::kInvalidArgument, "type: not one that an environment sends");
}

}  // namespace

Json to_json(const TrainerMessage& message) {
  return std::visit(
      Overloaded{[](const Hello& hello) {
                   return Json{{"type", "hello"},
                               {"protocol", hello.protocol},
                               {"settings", hello.settings}};
                 },
                 [](const Begin& begin) {
                   return Json{{"type", "begin"}, {"id", begin.id}, {"task", begin.task}};
                 },
                 [](const StepRequest& step) {
                   return Json{{"type", "step"},          {"id", step.id},
                               {"episode", step.episode}, {"turn", step.turn},
                               {"text", step.text},       {"finish", text::to_string(step.finish)}};
                 },
                 [](const End& end) { return Json{{"type", "end"}, {"episode", end.episode}}; },
                 [](const Cancel& cancel) { return Json{{"type", "cancel"}, {"id", cancel.id}}; },
                 [](const Paused&) { return Json{{"type", "paused"}}; }},
      message);
}

Json to_json(const EnvironmentMessage& message) {
  return std::visit(Overloaded{[](const Welcome& welcome) {
                                 return Json{{"type", "welcome"},
                                             {"protocol", welcome.protocol},
                                             {"tasks", welcome.tasks},
                                             {"about", welcome.about}};
                               },
                               [](const Began& began) {
                                 return Json{
                                     {"type", "began"},
                                     {"id", began.id},
                                     {"observation", environment::to_json(began.observation)}};
                               },
                               [](const Stepped& stepped) {
                                 Json out = {{"type", "stepped"}, {"id", stepped.id}};
                                 environment::add_step_fields(out, stepped.step);
                                 return out;
                               },
                               [](const Failed& failed) {
                                 return Json{{"type", "failed"},
                                             {"id", failed.id},
                                             {"code", kw::to_string(failed.code)},
                                             {"message", failed.message}};
                               },
                               [](const Pause&) { return Json{{"type", "pause"}}; },
                               [](const Resume&) { return Json{{"type", "resume"}}; }},
                    message);
}

Result<TrainerMessage> trainer_message_from_json(const Json& value) {
  KW_TRY(ObjectReader reader, ObjectReader::make(value, ""));
  KW_TRY(const std::string type, reader.string("type"));
  KW_TRY(const auto other, other_protocol(reader, type, "hello"));
  if (other) return TrainerMessage(Hello{*other});
  KW_TRY(TrainerMessage out, read_trainer(reader, type));
  KW_TRY_STATUS(reader.no_other_keys());
  return out;
}

Result<EnvironmentMessage> environment_message_from_json(const Json& value) {
  KW_TRY(ObjectReader reader, ObjectReader::make(value, ""));
  KW_TRY(const std::string type, reader.string("type"));
  KW_TRY(const auto other, other_protocol(reader, type, "welcome"));
  if (other) return EnvironmentMessage(Welcome{*other, {}, {}});
  KW_TRY(EnvironmentMessage out, read_environment(reader, type));
  KW_TRY_STATUS(reader.no_other_keys());
  return out;
}

}  // namespace kw::environment_link
