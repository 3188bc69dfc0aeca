#include "environment/recorded_environment.h"

#include <utility>

#include "base/check.h"
#include "base/hash.h"
#include "environment/environment_json.h"
#include "text/jsonl.h"

namespace kw::environment {
namespace {

Status read_record_step(ObjectReader& reader, Record& out) {
  KW_TRY(const Json* answer, reader.get("answer"));
  KW_TRY(out.answer, answer_from_json(*answer, reader.path("answer")));
  KW_TRY(out.step, read_step_fields(reader));
  return {};
}

}  // namespace

std::string first_state(std::string_view task) {
  return sha256_hex(task);
}

std::string state_after(std::string_view state, const Answer& answer) {
  return Sha256()
      .update(state)
      .update(text::to_string(answer.finish))
      .update("\n")
      .update(answer.text)
      .finish();
}

Json to_json(const Record& record) {
  Json out = {{"schema", kRecordSchema}, {"task", record.task}, {"state", record.state}};
  if (!record.is_step) {
    out["observation"] = to_json(record.observation);
    return out;
  }
  out["answer"] = to_json(record.answer);
  add_step_fields(out, record.step);
  return out;
}

Result<Record> record_from_json(const Json& value, const std::string& where) {
  KW_TRY(ObjectReader reader, ObjectReader::make(value, where));
  KW_TRY(const std::int64_t schema, reader.integer("schema"));
  if (schema != kRecordSchema)
    return fail(ErrorCode::kInvalidArgument, "{}: {}; this program reads {}", reader.path("schema"),
                schema, kRecordSchema);
  Record out;
  KW_TRY(out.task, reader.string("task"));
  KW_TRY(out.state, reader.string("state"));
  out.is_step = reader.has("answer");
  if (out.is_step) {
    KW_TRY_STATUS(read_record_step(reader, out));
  } else {
    KW_TRY(const Json* observation, reader.get("observation"));
    KW_TRY(out.observation, observation_from_json(*observation, reader.path("observation")));
  }
  KW_TRY_STATUS(reader.no_other_keys());
  return out;
}

class RecordedEnvironment::Replay : public Episode {
 public:
  Replay(const RecordedEnvironment& owner, const Record& first)
      : owner_(owner), state_(first.state), observation_(first.observation) {}
  const Observation& observation() const override { return observation_; }
  Result<Step> step(const Answer& answer, const std::stop_token& stop) override {
    KW_CHECK(!done_);
    if (stop.stop_requested()) return fail(ErrorCode::kCancelled, "cancelled");
    const std::string state = state_after(state_, answer);
    const auto found = owner_.records_.find(state);
    if (found == owner_.records_.end())
      return fail(ErrorCode::kNotFound, "the record has no such answer: there is no reward");
    state_ = state;
    done_ = found->second.step.done;
    observation_ = found->second.step.next;
    return found->second.step;
  }

 private:
  const RecordedEnvironment& owner_;
  std::string state_;
  Observation observation_;
  bool done_ = false;
};

Result<std::unique_ptr<RecordedEnvironment>> RecordedEnvironment::make(std::string_view text,
                                                                       const std::string& where) {
  auto out = std::make_unique<RecordedEnvironment>();
  KW_TRY_STATUS(text::for_each_json_line(text, where, [&](const Json& row) -> Status {
    KW_TRY(Record record, record_from_json(row, ""));
    const bool begins = !record.is_step;
    const std::string task = record.task, state = record.state;
    const bool added = out->records_.try_emplace(state, std::move(record)).second;
    if (begins && added) out->tasks_.push_back(task);
    return {};
  }));
  return out;
}

Result<std::unique_ptr<Episode>> RecordedEnvironment::begin(const std::string& task,
                                                            const std::stop_token& stop) {
  if (stop.stop_requested()) return fail(ErrorCode::kCancelled, "cancelled");
  const auto found = records_.find(first_state(task));
  if (found == records_.end())
    return fail(ErrorCode::kNotFound, "the record has no task {:?}", task);
  return std::make_unique<Replay>(*this, found->second);
}

}  // namespace kw::environment
