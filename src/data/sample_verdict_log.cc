#include "data/sample_verdict_log.h"

#include <utility>

namespace kw::data {
namespace {

constexpr int kLogSchema = 2;

std::string_view to_string(Fault fault) {
  switch (fault) {
    case Fault::kNone:
      return "none";
    case Fault::kAnswer:
      return "answer";
    case Fault::kProblem:
      return "problem";
  }
  return "none";
}

Result<Fault> fault_of(ObjectReader& reader) {
  KW_TRY(const std::string name, reader.string("fault"));
  for (const Fault fault : {Fault::kNone, Fault::kAnswer, Fault::kProblem}) {
    if (to_string(fault) == name) return fault;
  }
  return fail(ErrorCode::kInvalidArgument, "fault: expected none, answer or problem");
}

Json verdict_json(const SampleVerdict& verdict, task::Target target) {
  Json out = {{"outcome", verdict.outcome}, {"speedup", Json()}};
  if (verdict.speedup)
    out["speedup"] = {{"median", verdict.speedup->median},
                      {"low", verdict.speedup->low},
                      {"high", verdict.speedup->high}};
  out["size_sets"] = verdict.size_sets;
  out["reason"] = verdict.reason;
  if (!verdict.cause.empty()) out["cause"] = verdict.cause;
  out["evidence"] = verdict.evidence;
  out["gym_version"] = gym::kGymVersion;
  out["target"] = to_string(target);
  return out;
}

Result<std::pair<std::string, StoredSampleVerdict>> stored_of(const Json& line) {
  KW_TRY(ObjectReader reader, ObjectReader::make(line, ""));
  std::pair<std::string, StoredSampleVerdict> out;
  KW_TRY(out.first, reader.string("id"));
  KW_TRY(out.second.passed, reader.boolean("passed"));
  KW_TRY(out.second.fault, fault_of(reader));
  KW_TRY(const Json* verdict, reader.get("verdict"));
  out.second.verdict = verdict->dump(-1, ' ', false, Json::error_handler_t::replace);
  if (const Json* question = reader.find("question"))
    out.second.question = question->dump(-1, ' ', false, Json::error_handler_t::replace);
  return out;
}

}  // namespace

Result<SampleVerdictLog> SampleVerdictLog::open(const std::filesystem::path& log,
                                                const gym::EvalOptions& options) {
  const Json header = {
      {"schema", kLogSchema}, {"gym_version", gym::kGymVersion}, {"eval", gym::to_json(options)}};
  std::unordered_map<std::string, StoredSampleVerdict> found;
  KW_TRY(SessionLog session,
         SessionLog::open(log, header, [&](const Json& line, SessionLog::Place) -> Status {
           KW_TRY(auto entry, stored_of(line));
           found.insert_or_assign(std::move(entry.first), std::move(entry.second));
           return {};
         }));
  return SampleVerdictLog(std::move(session), std::move(found), options.target);
}

Status SampleVerdictLog::add(const std::string& id, const SampleVerdict& verdict) {
  Json line = {{"id", id},
               {"passed", verdict.passed},
               {"fault", to_string(verdict.fault)},
               {"verdict", verdict_json(verdict, target_)}};
  if (!verdict.question.empty()) line["question"] = to_json(verdict.question);
  KW_TRY(const SessionLog::Place ignored, log_.append(line));
  static_cast<void>(ignored);
  KW_TRY(auto entry, stored_of(line));
  found_.insert_or_assign(id, std::move(entry.second));
  return {};
}

const StoredSampleVerdict* SampleVerdictLog::find(const std::string& id) const {
  const auto found = found_.find(id);
  return found == found_.end() ? nullptr : &found->second;
}

}  // namespace kw::data
