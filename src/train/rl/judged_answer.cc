#include "train/rl/judged_answer.h"

#include <utility>

#include "base/json.h"
#include "environment/environment_json.h"
#include "text/jsonl.h"

namespace kw::train {
namespace {

Json row_of(std::uint64_t episode, std::size_t turn, const JudgedAnswer& one) {
  Json out = {{"schema", kJudgedAnswerSchema},
              {"episode", episode},
              {"turn", turn},
              {"answer", environment::to_json(one.answer)}};
  if (one.step && *one.step) environment::add_step_fields(out, **one.step);
  if (one.step && !*one.step) out["failure"] = one.step->error().message();
  return out;
}

Status read_row(const Json& value, JudgedAnswers& into) {
  KW_TRY(ObjectReader reader, ObjectReader::make(value, ""));
  KW_TRY(const std::int64_t schema, reader.integer("schema"));
  if (schema != kJudgedAnswerSchema)
    return fail(ErrorCode::kInvalidArgument, "{}: {}; this program reads {}", reader.path("schema"),
                schema, kJudgedAnswerSchema);
  KW_TRY(const std::int64_t episode, reader.integer("episode"));
  KW_TRY(const std::int64_t turn, reader.integer("turn"));
  std::vector<JudgedAnswer>& turns = into[static_cast<std::uint64_t>(episode)];
  if (turn != std::ssize(turns))
    return fail(ErrorCode::kInvalidArgument, "{}: {}, where {} comes next", reader.path("turn"),
                turn, turns.size());
  JudgedAnswer out;
  KW_TRY(const Json* answer, reader.get("answer"));
  KW_TRY(out.answer, environment::answer_from_json(*answer, reader.path("answer")));
  if (reader.has("failure")) {
    KW_TRY(const std::string message, reader.string("failure"));
    out.step = fail(ErrorCode::kUnsupported, "{}", message);
  } else if (reader.has("reward")) {
    KW_TRY(environment::Step step, environment::read_step_fields(reader));
    out.step = std::move(step);
  }
  KW_TRY_STATUS(reader.no_other_keys());
  turns.push_back(std::move(out));
  return {};
}

}  // namespace

std::string to_jsonl(const JudgedAnswers& answers) {
  std::string out;
  for (const auto& [episode, turns] : answers)
    for (std::size_t turn = 0; turn < turns.size(); ++turn)
      out +=
          row_of(episode, turn, turns[turn]).dump(-1, ' ', false, Json::error_handler_t::replace) +
          "\n";
  return out;
}

Result<JudgedAnswers> judged_answers_from_jsonl(std::string_view text, const std::string& where) {
  JudgedAnswers out;
  KW_TRY_STATUS(text::for_each_json_line(text, where,
                                         [&out](const Json& row) { return read_row(row, out); }));
  return out;
}

}  // namespace kw::train
