#include "gym/eval_request.h"

#include "base/hash.h"
#include "base/settings_json.h"
#include "gym/version.h"
#include "task/portable_candidate.h"
#include "task/portable_problem.h"

namespace kw::gym {

std::string EvalRequest::hash() const {
  Json identity = Json::object();
  identity["problem"] = problem.hash;
  identity["candidate"] = candidate.hash;
  identity["options"] = to_json(options);
  if (const auto* baseline = std::get_if<task::Candidate>(&options.baseline))
    identity["options"]["baseline"] = Json{{"hash", baseline->hash}};
  identity["gym_version"] = kGymVersion;
  return sha256_hex(canonical_json(identity));
}

Result<Json> to_json(const EvalRequest& request) {
  KW_TRY(const task::PortableProblem problem, task::portable_problem(request.problem));
  Json out = {{"schema", EvalRequest::kSchema},
              {"problem", task::to_json(problem)},
              {"candidate", task::portable_candidate_to_json(request.candidate)},
              {"options", to_json(request.options)}};
  if (!request.tenant.empty()) out["tenant"] = request.tenant;
  if (!request.trajectory.empty()) out["trajectory"] = request.trajectory;
  if (request.turn != 0) out["turn"] = request.turn;
  if (request.priority != 0) out["priority"] = request.priority;
  return out;
}

Result<EvalRequest> eval_request_from_json(const Json& value, const std::string& where,
                                           const task::ProblemReader& read_problem,
                                           const task::CandidateReader& read_baseline) {
  EvalRequest out;
  KW_TRY(ObjectReader reader, ObjectReader::make(value, where));
  KW_TRY(const std::int64_t schema, reader.integer("schema"));
  if (schema != EvalRequest::kSchema)
    return fail(ErrorCode::kInvalidArgument, "{}: {}, where this version reads {}",
                reader.path("schema"), schema, EvalRequest::kSchema);
  KW_TRY(const Json* problem, reader.get("problem"));
  KW_TRY(out.problem, read_problem(*problem, reader.path("problem")));
  KW_TRY(const Json* candidate, reader.get("candidate"));
  KW_TRY(out.candidate, task::portable_candidate_from_json(*candidate, reader.path("candidate")));
  KW_TRY(const Json* options, reader.get("options"));
  KW_TRY(out.options, eval_options_from_json(*options, reader.path("options"), read_baseline));
  KW_TRY_STATUS(read_setting(reader, "tenant", out.tenant));
  KW_TRY_STATUS(read_setting(reader, "trajectory", out.trajectory));
  KW_TRY_STATUS(read_setting(reader, "turn", out.turn));
  KW_TRY_STATUS(read_setting(reader, "priority", out.priority));
  KW_TRY_STATUS(reader.no_other_keys());
  return out;
}

}  // namespace kw::gym
